"""Every setting that shapes the network: the rows and columns that the contract promises."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pairtile.declare.tables import EXACT
from pairtile.methods.mutual_information.scores import SCORES
from workflow_runs import Analysis, write_data

GENES, REGULATORS = 60, 6
PAIRS = GENES * (GENES - 1) // 2
REGULATED = REGULATORS * (GENES - 1) - REGULATORS * (REGULATORS - 1) // 2
COLUMNS = ["source", "target", "mi_bits", "p_value", "q_value"]
SIGNS = ["spearman", "mode"]
LAST = ["p_method"]
ONE_OF_SCORES = [
    pytest.param(score, marks=() if score == "target_z" else pytest.mark.complete)
    for score in SCORES
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("settings")
    write_data(folder)
    return folder


def own_column(score: str) -> list[str]:
    """That of a score, beside ``COLUMNS``, which have mutual information."""
    return [] if score == "mi" else [SCORES[score].column]


def network(data: Path, **changes: object) -> tuple[pd.DataFrame, Analysis]:
    """``network.tsv`` of an analysis without DPI unless asked for, and the analysis."""
    name = f"net-{len(list((data / 'results').glob('*')))}"
    analysis = Analysis(data, {"dpi": False} | changes, name=name).pairs().network().results()
    table = pd.read_csv(analysis.out / "network.tsv", sep="\t", float_precision=EXACT)
    return table, analysis


def assert_same_edges(table: pd.DataFrame, of_all: pd.DataFrame) -> None:
    """The same rows; q-values of a part of the pairs are bounds from a histogram of all."""
    of_all = of_all.reset_index(drop=True)
    pd.testing.assert_frame_equal(table.drop(columns="q_value"), of_all.drop(columns="q_value"))
    assert (table["q_value"] >= of_all["q_value"] * (1 - 1e-12)).all()


def edges(regulators: str | None, score: str) -> tuple[int, int]:
    """Pairs, and edges if all are kept: both directions where the score tells them apart."""
    if regulators is None:
        return PAIRS, PAIRS * (2 if score == "target_z" else 1)
    both = REGULATORS * (REGULATORS - 1) // 2
    return REGULATED, REGULATED + (0 if score == "mi" else both)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("regulators", [None, "regulators.txt"])
def test_all_pairs_are_listed_with_the_columns_of_their_score(
    data: Path, regulators: str | None, score: str
) -> None:
    table, analysis = network(data, keep="all", score=score, regulators=regulators)
    pairs, all_edges = edges(regulators, score)
    assert list(table.columns) == [*COLUMNS, *own_column(score), *SIGNS, *LAST]
    assert len(table) == all_edges
    stored = pd.read_parquet(analysis.out / "pairs.parquet")
    assert list(stored.columns) == ["i", "j", "mi_bits", "n_samples"]
    assert [str(kind) for kind in stored.dtypes] == ["int32", "int32", "float64", "int32"]
    assert len(stored) == pairs
    assert not stored.duplicated(["i", "j"]).any()
    assert stored[["i", "j"]].equals(stored[["i", "j"]].sort_values(["i", "j"]))
    assert not table.duplicated(["source", "target"]).any()
    ranked = table[SCORES[score].column]
    assert (np.diff(ranked) <= 0).all()
    if regulators is None:
        assert (stored["i"] < stored["j"]).all()
    else:
        listed = set((data / "regulators.txt").read_text().split())
        assert set(table["source"]) == listed


@pytest.mark.parametrize("score", ONE_OF_SCORES)
def test_top_edges_gives_that_many_the_best_of_all(data: Path, score: str) -> None:
    fixed = {"null": {"permutations": 200_000}, "score": score}
    everything, _ = network(data, keep="all", **fixed)
    table, _ = network(data, keep={"top_edges": 50}, **fixed)
    assert len(table) == 50
    assert_same_edges(table, everything.head(50))


@pytest.mark.parametrize("score", ONE_OF_SCORES)
def test_score_keeps_what_reaches_it(data: Path, score: str) -> None:
    fixed = {"null": {"permutations": 200_000}, "score": score, "regulators": "regulators.txt"}
    everything, _ = network(data, keep="all", **fixed)
    ranked = everything[SCORES[score].column]
    limit = float(ranked.iloc[30])
    table, _ = network(data, keep={"score": limit}, **fixed)
    assert_same_edges(table, everything[ranked >= limit])
    assert len(table) == 31


@pytest.mark.parametrize(("keep", "column"), [("p_value", "p_value"), ("fdr", "q_value")])
def test_significance_keeps_what_is_below_it(data: Path, keep: str, column: str) -> None:
    """Fewer permutations are drawn for a larger p, so the draws are fixed here."""
    fixed = {"null": {"permutations": 200_000}, "regulators": "regulators.txt"}
    everything, _ = network(data, keep="all", **fixed)
    loose, _ = network(data, keep={keep: 0.05}, **fixed)
    strict, _ = network(data, keep={keep: 0.001}, **fixed)
    for table, limit in ((loose, 0.05), (strict, 0.001)):
        assert (table[column] <= limit).all()
        assert_same_edges(table, everything[everything[column] <= limit])
    assert 0 < len(strict) < len(loose) < len(everything)


def test_nothing_significant_gives_empty_files_not_an_error(data: Path) -> None:
    every = ["tsv", "parquet", "graphml", "gexf", "sif", "cx2", "adjacency", "h5ad", "regulon"]
    table, analysis = network(
        data, keep={"score": 9.0}, gold_standard="gold_standard.tsv", export=[*every, "html"]
    )
    assert len(table) == 0
    assert list(table.columns) == COLUMNS + SIGNS + LAST
    kinds = {f.name: str(f.type) for f in pq.read_schema(analysis.out / "network.parquet")}
    text = dict.fromkeys(["source", "target", "mode", "p_method"], "string")
    assert kinds == text | dict.fromkeys([*COLUMNS[2:], "spearman"], "double")
    assert (analysis.report().out / "report.html").stat().st_size > 10_000
    assert json.loads((analysis.out / "summary.json").read_text())["counts"]["edges"] == 0


@pytest.mark.parametrize("score", ONE_OF_SCORES)
@pytest.mark.parametrize("regulators", [None, "regulators.txt"])
def test_bootstraps_list_support_last(data: Path, regulators: str | None, score: str) -> None:
    bootstraps = {"number": 6, "alpha": 1.0}
    table, analysis = network(
        data, bootstraps=bootstraps, dpi={}, score=score, regulators=regulators
    )
    scored = [*COLUMNS, *own_column(score)]
    assert list(table.columns) == [*scored, *SIGNS, "support", "local_fdr", "p_method"]
    assert table["support"].dtype == np.int64
    assert table["support"].between(1, 6).all()
    assert len(table) > 0
    stored = list(pd.read_parquet(analysis.out / "network.parquet").columns)
    assert stored == list(table.columns)


def test_bootstraps_without_any_edge_give_an_empty_network(data: Path) -> None:
    table, analysis = network(data, bootstraps=2, keep={"score": 9.0})
    schema = pq.read_schema(analysis.out / "network.parquet")
    assert str(schema.field("support").type) == "int64"
    assert list(table.columns) == [*COLUMNS, *SIGNS, "support", "local_fdr", "p_method"]
    assert len(table) == 0


# --- incomplete data ----------------------------------------------------------------------------


def incomplete(folder: Path) -> np.ndarray:
    """Some values missing; G01 with few values, G02 constant; returns what is observed."""
    write_data(folder)
    rows = [line.split("\t") for line in (folder / "expression.tsv").read_text().splitlines()]
    random = np.random.default_rng(5)
    observed = random.random((60, 60)) > 0.1
    observed[0, 10:] = False
    observed[1] = True
    for gene, sample in zip(*np.nonzero(~observed), strict=True):
        rows[gene + 1][sample + 1] = "NA" if sample % 2 else ""
    rows[2][1:] = ["7.5"] * 60
    text = "".join("\t".join(row) + "\n" for row in rows)
    (folder / "expression.tsv").write_text(text)
    return observed


@pytest.mark.parametrize("score", ONE_OF_SCORES)
def test_missing_values_and_constant_genes_run_through(tmp_path: Path, score: str) -> None:
    observed = incomplete(tmp_path)
    changes = {"keep": "all", "score": score, "gold_standard": "gold_standard.tsv", "dpi": False}
    analysis = Analysis(tmp_path, changes).all()
    items = pd.read_parquet(analysis.out / "items.parquet")
    names = [f"G{number:02d}" for number in range(1, 61)]
    assert list(items["name"]) == [*names[1:], names[0]]  # kept ones first, each in input order
    assert list(items["item"]) == list(range(60))
    assert list(items["kept"]) == [True] * 59 + [False]
    assert items["reason"].iloc[-1] == "too few samples"
    assert list(items["name"][items["constant"]]) == ["G02"]
    assert list(items["n_observed"]) == [*observed[1:].sum(axis=1), observed[0].sum()]

    pairs = pd.read_parquet(analysis.out / "pairs.parquet")
    kept = observed[1:].astype(int)
    assert list(pairs["n_samples"]) == list((kept @ kept.T)[pairs["i"], pairs["j"]])
    assert len(pairs) == 59 * 58 // 2
    assert (pairs["mi_bits"][pairs["i"] == 0] < 1e-12).all()  # G02 tells nothing of any other
    table = pd.read_parquet(analysis.out / "network.parquet")
    varies = ~(table[["source", "target"]] == "G02").any(axis=1)
    assert table[SIGNS].notna().all(axis=1).equals(varies)
    assert table.drop(columns=["source", "target", "p_method", *SIGNS]).notna().all(axis=None)
    if score != "mi":  # and rounding is not taken for a difference between its sources
        assert (table[score][table["target"] == "G02"] == 0).all()
    assert "G01" not in set(table["source"]) | set(table["target"])
    counts = json.loads((analysis.out / "summary.json").read_text())["counts"]
    assert counts["genes_read"] == 60
    assert counts["genes_kept"] == 59
    assert counts["genes_dropped_too_few_samples"] == 1


def test_pairs_with_too_few_common_samples_are_not_scored(tmp_path: Path) -> None:
    incomplete(tmp_path)
    changes = {"keep": "all", "preprocess": {"min_samples": 49}}
    analysis = Analysis(tmp_path, changes).all()
    pairs = pd.read_parquet(analysis.out / "pairs.parquet")
    counts = json.loads((analysis.out / "summary.json").read_text())["counts"]
    kept = counts["genes_kept"]
    assert (pairs["n_samples"] >= 49).all()
    assert counts["pairs"] == kept * (kept - 1) // 2
    assert counts["pairs_scored"] == len(pairs) < counts["pairs"]
