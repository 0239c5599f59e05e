"""A score is declared once: whoever adds one gets it everywhere, and no other place names any."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.declare.columns import explained
from pairtile.methods.mutual_information.scores import MUTUAL_INFORMATION, SCORES
from pairtile.report.text import read_references
from paths import ROOT

PACKAGE = "pairtile.methods.mutual_information"

# What a person writes to add a score: in scores.py, and its column in columns.toml.
ADDED_SCORE = """
from pairtile.methods.mutual_information.scores import SCORES, Score
SCORES["weaker_z"] = Score(
    "weaker_z",
    "weaker_z",
    "standard deviations",
    "the lesser of both z-scores, as a share of both entropies.",
    lambda pair: pair.xp.minimum(pair.z_source, pair.z_target) / sum(pair.entropies),
    methods="Pairs were scored by the lesser of both z-scores ([FAITH_2007]).",
)
"""
ADDED_COLUMN = """
from pairtile.declare.columns import _declared
_declared("pairtile.methods.mutual_information")["network.parquet"]["weaker_z"] = {
    "type": "double",
    "unit": "standard deviations",
    "meaning": "the lesser of both z-scores of mutual information",
    "heading": "weaker z",
}
"""
RUN = """
import json, sys
import pandas as pd
from pairtile import analyse, infer_network, simulate_kinetic
made = simulate_kinetic(n_genes=24, n_samples=60, n_regulators=4)
table = pd.DataFrame(made.values, index=made.genes, columns=made.samples)
pd.DataFrame(made.edges[["source", "target"]]).to_csv("gold.tsv", sep="\\t", index=False)
asked = {"score": "weaker_z", "keep": {"top_edges": 50}, "dpi": False}
null = {"permutations": 1000}
analyse(
    "mutual_information", folder="net", page=True, backend="cpu", expression=table, null=null,
    gold_standard="gold.tsv", export=["tsv", "html"], estimator={"transform": "none"}, **asked,
)
json.dump(infer_network(made, permutations=1000, **asked).attrs["score"], sys.stdout)
"""


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of an analysis by a score that was added, and what the library ranked by."""
    folder = tmp_path_factory.mktemp("score")
    command = [sys.executable, "-W", "ignore", "-c", ADDED_SCORE + ADDED_COLUMN + RUN]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def z_scores(folder: Path) -> np.ndarray:
    """Of every pair among the pairs of its first gene, (genes, genes); NaN on the diagonal."""
    pairs = pd.read_parquet(folder / "net/pairs.parquet")
    genes = len(pd.read_parquet(folder / "net/items.parquet"))
    assert len(pairs) == genes * (genes - 1) // 2
    mi = np.full((genes, genes), np.nan)
    mi[pairs["i"], pairs["j"]] = mi[pairs["j"], pairs["i"]] = pairs["mi_bits"]
    return (mi - np.nanmean(mi, axis=1)[:, None]) / np.nanstd(mi, axis=1)[:, None]


def test_a_score_takes_thirty_lines_in_two_places() -> None:
    assert len((ADDED_SCORE + ADDED_COLUMN).strip().splitlines()) <= 30


def test_network_evaluation_and_library_rank_by_a_score_that_was_added(added) -> None:
    folder, ranked_in_library = added
    z = z_scores(folder)
    entropy_bits = np.load(folder / "net/state/entropy_bits.npy")
    assert entropy_bits.std() > 0.0
    weaker = np.minimum(z, z.T) / (entropy_bits[:, None] + entropy_bits)
    network = pd.read_parquet(folder / "net/network.parquet")
    names = pd.read_parquet(folder / "net/items.parquet")["name"].tolist()
    i, j = (network[end].map(names.index).to_numpy() for end in ("source", "target"))
    np.testing.assert_allclose(network["weaker_z"], weaker[i, j], atol=1e-6)
    best = np.sort(weaker[np.triu_indices(len(z), 1)])[::-1][:50]
    np.testing.assert_allclose(network["weaker_z"], best, atol=1e-6)
    assert not network["mi_bits"].is_monotonic_decreasing
    written = pd.read_csv(folder / "net/network.tsv", sep="\t")
    assert written["weaker_z"].is_monotonic_decreasing
    summary = json.loads((folder / "net/summary.json").read_text())
    assert summary["ranked_by"] == {"score": "weaker_z", "value": "mi_bits"}
    assert summary["threshold"]["least_score"] == pytest.approx(best[-1])
    assert ranked_in_library == "weaker_z"
    gold = pd.read_csv(folder / "gold.tsv", sep="\t")
    known = set(map(frozenset, gold[["source", "target"]].to_numpy().tolist()))
    inside = sum(frozenset(pair) in known for pair in network[["source", "target"]].to_numpy())
    found = json.loads((folder / "net/evaluation.json").read_text())
    assert found["network"]["true_positives"] == inside


def test_a_score_of_entropies_is_refused_beside_scores_in_place_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "scores.tsv").write_text("gene\tA\tB\tC\nA\t0\t1\t2\nB\t1\t0\t3\nC\t2\t3\t0\n")
    call = "from pairtile import analyse\nanalyse('mutual_information', scores='scores.tsv', "
    call += "score='weaker_z', keep={'top_edges': 2}, dpi=False)"
    command = [sys.executable, "-c", ADDED_SCORE + ADDED_COLUMN + call]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "scores: found a table of scores; expected `expression` under this `score`, which needs "
        "the entropies of genes"
    )


def test_page_and_methods_paragraph_tell_of_a_score_that_was_added(added) -> None:
    folder, _ = added
    page = (folder / "net/report.html").read_text()
    network = pd.read_parquet(folder / "net/network.parquet")
    first = page.split("The strongest edges", 1)[1].split("</table>", 1)[0]
    assert "weaker z" in first
    cells = [first.find(name) for name in network.loc[0, ["source", "target"]]]
    assert 0 < min(cells) < first.index("<td", first.index("</tr>", max(cells)))
    assert "Pairs were scored by the lesser of both z-scores (Faith" in page
    assert "weaker_z" in (folder / "net/network.html").read_text()


@pytest.mark.parametrize("score", SCORES.values(), ids=list(SCORES))
def test_each_score_has_its_column_and_its_papers(score) -> None:
    column = explained(PACKAGE, "network.parquet", score.column)
    assert column is not None
    assert column.unit == score.unit
    papers = read_references(PACKAGE)
    score.methods_sentence(lambda key: getattr(papers, key).cited)


def test_one_place_knows_scores_by_name() -> None:
    names = {score.name for score in SCORES.values()} - {MUTUAL_INFORMATION.name, "clr"}
    assert len(names) >= 2  # two of other meanings are left out: clr also is a normalisation
    found = {  # but for the signature of `infer_network`, which a test holds equal to the model
        path.name
        for path in (ROOT / "workflow/pairtile").rglob("*.py")
        if path.name != "api_network.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert found == {"scores.py"}
