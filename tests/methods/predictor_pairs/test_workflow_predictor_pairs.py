"""``method: predictor_pairs`` through its steps: golden results, chunking, forms of the search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.engine import tiles
from pairtile.engine.custody import Custody, custody
from pairtile.methods.predictor_pairs import tables as predictor_tables
from pairtile.methods.predictor_pairs.search import extend_sets
from pairtile.runtime.files import read_arrays, read_json, write_arrays
from predictor_levels import random_levels, section, write_levels
from workflow_runs import Analysis, run, write_config

GOLDEN = {
    "bool60__lag_q2_none_self": ("bool60", {"penalty": "none", "self": True}),
    "pf3d7_200ext__lag_q3_no_obs_a1": ("pf3d7_200.q3ext", {}),
}
"""Golden table -> its data and settings; test_predictor_golden.py has the others."""


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", keep_default_na=False, na_values=["NA"])


def golden_levels(folder: Path, shared: Path, data: str) -> list[str]:
    source = shared / "golden/predictor_pairs" / f"{data}.data.tsv"
    table = pd.read_csv(source, sep="\t", header=None, index_col=0)
    return write_levels(folder, table.to_numpy().astype(np.int8))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_best_pairs_ties_and_scores(shared: Path, tmp_path: Path, name: str) -> None:
    data, changes = GOLDEN[name]
    genes = golden_levels(tmp_path, shared, data)
    changes = dict(changes)
    lag = changes.pop("lag", 1)
    Analysis(tmp_path, section(lag=lag, estimator={"penalty": "no_obs"} | changes)).all()
    found = read(tmp_path / "results/net/predictors.tsv")
    best = found[found["rank"] == 1].reset_index(drop=True)
    golden = pd.read_csv(shared / "golden/predictor_pairs" / f"{name}.tsv", sep="\t")
    assert best["target"].tolist() == [genes[k] for k in golden["target"]]
    assert best["predictor_1"].tolist() == [genes[k] for k in golden["x1"]]
    assert best["predictor_2"].tolist() == [genes[k] for k in golden["x2"]]
    assert best["n_ties"].tolist() == golden["n_ties"].tolist()
    for column, of_golden in (
        ("mce_bits", "mce_bits"),
        ("target_entropy_bits", "H_target"),
        ("imp_bits", "imp_bits"),
    ):
        np.testing.assert_allclose(best[column], golden[of_golden], atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"null": {"permutations": 9}},
        {"estimator": {"top": 3, "penalty": "none"}},
        {"estimator": {"cardinality": 1}},
        {"estimator": {"cardinality": 3, "top": 4}},
        {"estimator": {"cardinality": 4, "top": 4}, "null": {"permutations": 1}},
        {"estimator": {"cardinality": 3, "search": "sffs"}, "null": {"permutations": 2}},
        {"null": {"permutations": 3, "kind": "circular_shift"}},
        {"lag": [1, 3], "rules": True},
        {"lag": [0, 1], "estimator": {"cardinality": 1}},
    ],
    ids=[
        "permutations",
        "top",
        "single",
        "triples",
        "fours",
        "sffs",
        "shifts",
        "lags",
        "single_lags",
    ],
)
def test_results_are_the_same_bytes_for_any_number_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr(tiles, "TILE_EDGE", 7)
    write_levels(tmp_path, random_levels(23, 30, 3, missing=0.02))
    files = ("pairs.parquet", "network.parquet", "predictors.tsv", "hyperedges.tsv")
    found = {}
    for chunks in (1, 5):
        analysis = Analysis(tmp_path, section(chunks=chunks, **changes), name=f"n{chunks}").all()
        assert len(analysis.plan.chunks) == chunks
        found[chunks] = [(analysis.out / name).read_bytes() for name in files]
    monkeypatch.setattr(tiles, "TILE_EDGE", 1024)
    whole = Analysis(tmp_path, section(**changes), name="whole").all()
    assert len(whole.plan.tiles) == 1
    found["whole"] = [(whole.out / name).read_bytes() for name in files]
    assert found[1] == found[5] == found["whole"]


def test_triples_are_grown_once_and_judged_alike_by_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = []

    def counted(*arguments: Any) -> Any:
        grown.append(arguments)
        return extend_sets(*arguments)

    monkeypatch.setattr(predictor_tables, "extend_sets", counted)
    genes = write_levels(tmp_path, random_levels(14, 40, 3, missing=0.02))
    (tmp_path / "gold.tsv").write_text(f"{genes[1]}\t{genes[0]}\n{genes[2]}\t{genes[5]}\n")
    estimator = {"cardinality": 3, "search": "sffs", "top": 3}
    changes = {"null": {"permutations": 9}, "gold_standard": "gold.tsv", "estimator": estimator}
    analysis = Analysis(tmp_path, section(**changes)).pairs().network().tables().evaluate()
    assert len(grown) == 1
    files = [analysis.out / name for name in ("predictors.tsv", "evaluation.json")]
    once = [path.read_bytes() for path in files]
    # Without what the network step stored, the later steps find the same by themselves.
    scores = analysis.out / "scores.npz"
    with custody(Custody(analysis.out, analysis.model, analysis.seed, "network")):
        arrays = read_arrays(scores)
        write_arrays(scores, {k: v for k, v in arrays.items() if not k.startswith("set_")})
        assert len(read_arrays(scores)) < len(arrays)
    analysis.tables().evaluate()
    assert len(grown) == 3
    assert [path.read_bytes() for path in files] == once


def test_every_row_of_the_table_says_how_many_sets_tie_with_it(tmp_path: Path) -> None:
    """Against counting all pairs of a small table."""
    levels = random_levels(12, 14)
    genes = write_levels(tmp_path, levels)
    Analysis(tmp_path, section(estimator={"penalty": "none", "top": 60})).all()
    found = read(tmp_path / "results/net/predictors.tsv")
    for gene in genes:
        rows = found[found["target"] == gene]
        assert len(rows) == 55  # all pairs of the eleven others
        keys = np.rint(rows["mce_bits"] * 1e9)
        assert rows["n_ties"].tolist() == [int((keys == key).sum()) for key in keys]
        assert rows["mce_bits"].is_monotonic_increasing


def test_p_values_of_noise_are_uniform_and_those_of_truth_small(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    levels = random.integers(0, 2, (60, 41)).astype(np.int8)
    levels[0, 1:] = levels[1, :-1] ^ levels[2, :-1]
    write_levels(tmp_path, levels)
    Analysis(tmp_path, section(null={"permutations": 200})).all()
    found = read(tmp_path / "results/net/predictors.tsv")
    best = found[found["rank"] == 1].set_index("target")["p_value"].astype(float)
    assert best["g000"] == pytest.approx(1 / 201)
    noise = best.drop("g000")
    # 59 p-values of nothing: their mean is 1/2 give or take 4 standard errors, 4 x .29 / sqrt(59).
    assert abs(noise.mean() - 0.5) < 0.15
    assert (noise <= 0.05).sum() <= 10


def test_keep_by_fdr_makes_the_network_and_its_hyperedges(tmp_path: Path) -> None:
    levels = random_levels(30, 40)
    levels[0, 1:] = levels[1, :-1] ^ levels[2, :-1]
    write_levels(tmp_path, levels)
    null = {"permutations": 999}
    analysis = Analysis(tmp_path, section(null=null, keep={"fdr": 0.05})).all()
    edges = read(analysis.out / "network.tsv")
    assert set(zip(edges["source"], edges["target"], strict=True)) >= {
        ("g001", "g000"),
        ("g002", "g000"),
    }
    assert (edges["q_value"].astype(float) <= 0.05).all()
    hyperedges = read(analysis.out / "hyperedges.tsv")
    assert hyperedges["hyperedge"].tolist() == list(range(1, len(hyperedges) + 1))
    assert (hyperedges["predictor_1"] + hyperedges["predictor_2"]).tolist()[0] == "g001g002"
    summary = read_json(analysis.out / "summary.json")
    assert summary["counts"]["hyperedges"] == len(hyperedges)
    assert summary["directed"] is True


@pytest.mark.parametrize(("draws", "keep"), [(999, {"best_fdr": 0.05}), (98, "best")])
def test_by_default_targets_are_tested_where_draws_suffice(
    tmp_path: Path, draws: int, keep: Any
) -> None:
    """One gene is predicted, 29 are independent."""
    levels = random_levels(30, 40)
    levels[0, 1:] = levels[1, :-1] ^ levels[2, :-1]
    write_levels(tmp_path, levels)
    analysis = Analysis(tmp_path, section(null={"permutations": draws}, keep="auto")).all()
    edges = read(analysis.out / "network.tsv")
    assert edges["target"].nunique() == 30 if keep == "best" else edges["target"].nunique() <= 3
    assert {("g001", "g000"), ("g002", "g000")} <= set(
        zip(edges["source"], edges["target"], strict=True)
    )
    assert read_json(analysis.out / "summary.json")["parameters"]["keep"] == keep


def test_regulators_and_targets_bound_the_search(tmp_path: Path) -> None:
    write_levels(tmp_path, random_levels(15, 30))
    (tmp_path / "tfs.txt").write_text("g003\ng001\ng007\n")
    (tmp_path / "targets.txt").write_text("g007\ng010\n")
    Analysis(tmp_path, section(regulators="tfs.txt", targets="targets.txt")).all()
    found = read(tmp_path / "results/net/predictors.tsv")
    seven = found[found["target"] == "g007"]
    assert seven[["predictor_1", "predictor_2"]].values.tolist() == [["g001", "g003"]]
    ten = found[found["target"] == "g010"]
    assert len(ten) == 3
    assert set(found["target"]) == {"g007", "g010"}


def test_the_whole_workflow_through_snakemake(tmp_path: Path) -> None:
    write_levels(tmp_path, random_levels(20, 30, 3))
    write_config(tmp_path, {"net": section(null={"permutations": 5}, rules=True)})
    done = run(tmp_path)
    assert done.code == 0, done.text
    out = tmp_path / "results/net"
    tables = ("predictors.tsv", "hyperedges.tsv", "rules.tsv", "network.bnet", "network.sbml")
    for name in (*tables, "network.tsv", "report.html", "summary.json"):
        assert (out / name).stat().st_size > 0
    assert run(tmp_path).done_before
    # Another rule for edges scores nothing again.
    write_config(
        tmp_path, {"net": section(null={"permutations": 5}, rules=True, keep={"p_value": 0.5})}
    )
    planned = run(tmp_path, "-n")
    assert "network" in planned.rules
    assert not planned.rules & {"prepare", "plan", "chunk", "merge"}
