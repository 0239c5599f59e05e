"""``method: trajectory_correlation`` through its steps: golden values, chunks, replicas, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.declare.tables import EXACT
from pairtile.errors import ConfigError, InputError
from pairtile.methods.trajectory_correlation import score
from pairtile.methods.trajectory_correlation import tables as trajectory_tables
from pairtile.methods.trajectory_correlation.report import community_grouping, numbers
from pairtile.report.results import read_results
from pairtile.report.text import page_text
from pairtile.runtime.files import read_json
from trajectory_analyses import adenylate_kinase, section, slow, write_runs
from workflow_runs import Analysis, temporary_files


def read(path: Path) -> pd.DataFrame:
    names = {"source": str, "target": str}
    exact = {"keep_default_na": False, "na_values": [""], "float_precision": EXACT}
    return pd.read_csv(path, sep="\t", dtype=names, **exact)


# --- values -------------------------------------------------------------------------------------

GOLDEN = {
    "ksg2_k7_cheb_std": {"preset": "dynetan"},
    "dcc": {"kind": "dcc"},
}
"""Golden matrix -> its estimator; test_motion_ksg.py and test_motion_linear.py have the others."""


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_matrices_of_adenylate_kinase(name: str, shared: Path, tmp_path: Path) -> None:
    golden = np.load(shared / "golden/trajectory/adk_dims98.npz")
    write_runs(tmp_path, golden["aligned"])
    estimator = {"theiler": 0, "surrogates": 0} | GOLDEN[name]
    analysis = Analysis(tmp_path, section(estimator=estimator, keep={"top_edges": 300}))
    analysis.pairs().network().tables()
    matrices = np.load(analysis.out / "matrices.npz")
    value = "dcc" if name == "dcc" else "mi_nats"
    expected = golden[name].copy()
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(matrices[value], expected, atol=1e-10)
    np.testing.assert_allclose(matrices["dcc"], _off_diagonal(golden["dcc"]), atol=1e-10)
    if name != "dcc":
        r = np.sqrt(1 - np.exp(-2 * np.maximum(expected, 0) / 3))
        np.testing.assert_allclose(matrices["correlation"], r, atol=1e-10)
    edges = pd.read_parquet(analysis.out / "network.parquet")
    assert len(edges) == 300
    size = np.sort(np.abs(matrices["correlation"][np.triu_indices(214, 1)]))[::-1]
    np.testing.assert_allclose(edges["correlation"].abs(), size[:300], rtol=1e-12)


def _off_diagonal(matrix: np.ndarray) -> np.ndarray:
    result = matrix.copy()
    np.fill_diagonal(result, np.nan)
    return result


def test_matrices_pairs_network_and_residues_agree(tmp_path: Path) -> None:
    """One analysis with everything, each table read back and held against another."""
    changes = adenylate_kinase(
        contacts={},
        domains={"LID": "resid 10-20"},
        paths=[["4AKE:MET1", "4AKE:GLY10"]],
        communities=["leiden", "girvan_newman"],
        g_correlation_text=True,
        frames={"stop": 60},
    )
    out = Analysis(tmp_path, changes).all().out
    pairs, items = pd.read_parquet(out / "pairs.parquet"), pd.read_parquet(out / "items.parquet")
    first = ["i", "j", "mi_nats", "correlation", "null_mean", "p_value", "dcc"]
    assert list(pairs)[:7] == first
    assert len(pairs) == 40 * 39 // 2
    assert (pairs["n_frames"] == 60).all()
    matrices = dict(np.load(out / "matrices.npz"))
    centred = ["mi_centred", "correlation_centred"]
    for name in ("mi_nats", "correlation", "null_mean", "null_sd", "p_value", "dcc", *centred):
        np.testing.assert_array_equal(matrices[name][pairs["i"], pairs["j"]], pairs[name])
        np.testing.assert_array_equal(matrices[name], matrices[name].T)
    assert matrices["labels"].tolist() == items["name"].tolist()
    assert set(matrices["domain"]) == {"", "LID"}
    edges = read(out / "network.tsv")
    columns = ["source", "target", "mi_nats", "correlation", "p_value", "q_value", "dcc"]
    assert list(edges) == [*columns, *centred]
    assert edges["correlation_centred"].is_monotonic_decreasing
    assert (edges["q_value"] <= 0.05).all()
    row = {name: number for number, name in enumerate(items["name"])}
    i, j = edges["source"].map(row).to_numpy(), edges["target"].map(row).to_numpy()
    assert matrices["contact"][i, j].all()
    for name in ("correlation", "q_value", *centred):
        np.testing.assert_array_equal(matrices[name][i, j], edges[name])
    touching = np.triu(matrices["contact"], 1)
    assert np.isnan(matrices["q_value"][~matrices["contact"]]).all()
    np.testing.assert_array_equal(
        touching.sum() - len(edges), (matrices["q_value"][touching] > 0.05).sum()
    )
    residues = read(out / "residues.tsv")
    degree = np.bincount(np.concatenate([i, j]), minlength=40)
    np.testing.assert_array_equal(residues["degree"], degree)
    means = np.nansum(matrices["correlation_centred"], axis=1) / 39
    np.testing.assert_allclose(residues["mean_correlation"], means)
    for column in ("sd", "correlation_time", "n_effective"):
        np.testing.assert_allclose(residues[column], items[column])
    communities = read(out / "communities.tsv")
    for method in ("leiden", "girvan_newman"):
        sizes = communities.loc[communities["method"] == method, "n_members"]
        own = residues[f"community_{method}"]
        assert sizes.tolist() == [int((own == k + 1).sum()) for k in range(len(sizes))]
    paths = read(out / "paths.tsv")
    assert paths["rank"].tolist() == list(range(1, len(paths) + 1))
    assert paths["path"].str.startswith("4AKE:MET1 ").all()
    text = (out / "g_correlation.txt").read_text().split()
    assert text[:3] == ["40", "x", "40"]
    np.testing.assert_allclose(float(text[5]), matrices["correlation_centred"][0, 1], rtol=1e-5)
    atoms = [line for line in (out / "structure.pdb").read_text().splitlines() if "ATOM" in line]
    alpha = [line for line in atoms if line[12:16].strip() == "CA"]
    factors = [float(line[60:66]) for line in alpha]
    np.testing.assert_allclose(factors, 100 * means, atol=0.006)
    assert "load structure.pdb" in (out / "structure.pml").read_text()
    assert "structure.pdb" in (out / "structure.vmd").read_text()
    summary = read_json(out / "summary.json")
    counts = summary["counts"]
    assert counts["pairs"] == counts["pairs_stored"] == 780
    assert counts["edges"] == len(edges)
    assert counts["pairs_candidates"] == int(touching.sum())
    assert counts["paths_found"] == len(paths)
    assert isinstance(summary["parameters"]["estimator"]["theiler"], int)
    scores = np.load(out / "scores.npz")
    assert scores["counts"].sum() == 780
    assert scores["null_counts"].sum() == 780
    assert scores["p_value_counts"].sum() == 780


def test_replicas_are_estimated_apart_and_their_mean_and_spread_told(tmp_path: Path) -> None:
    runs = [slow(120, 6, 3, seed=1), slow(90, 6, 3, seed=2)]
    estimator = {"surrogates": 0, "theiler": 0}
    files = write_runs(tmp_path, *runs)
    both = Analysis(tmp_path, section(time_series=files, estimator=estimator), name="both").pairs()
    found = pd.read_parquet(both.out / "pairs.parquet")
    each = []
    for name in files:
        one = Analysis(tmp_path, section(time_series=[name], estimator=estimator), name=name[:4])
        each.append(pd.read_parquet(one.pairs().out / "pairs.parquet"))
    mi = np.stack([part["mi_nats"] for part in each])
    np.testing.assert_allclose(found["mi_nats"], np.average(mi, axis=0, weights=[120, 90]))
    np.testing.assert_allclose(found["mi_sd"], mi.std(axis=0, ddof=1), atol=1e-14)
    r = np.stack([part["correlation"] for part in each])
    np.testing.assert_allclose(found["correlation_sd"], r.std(axis=0, ddof=1), atol=1e-14)
    assert (found["n_frames"] == 210).all()
    assert found["p_value"].isna().all()
    assert "mi_sd" not in each[0]


@pytest.mark.parametrize(
    "estimator",
    [
        {"kind": "ksg", "surrogates": 3},
        {"kind": "gaussian", "corrected": True, "surrogates": 3},
        {"kind": "dcc", "surrogates": 3},
        {"kind": "ksg", "surrogates": 0, "preset": "mdigest"},
    ],
    ids=["ksg", "gaussian", "dcc", "preset"],
)
def test_results_are_the_same_bytes_for_any_number_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, estimator: dict[str, Any]
) -> None:
    files = write_runs(tmp_path, slow(60, 40, 3), slow(50, 40, 3, seed=2))
    changes = section(time_series=files, estimator=estimator)
    whole = Analysis(tmp_path, changes, name="whole").pairs()
    assert len(whole.plan.tiles) == 1
    monkeypatch.setattr(score, "LARGEST_TILE", 8)
    names = ("pairs.parquet", "network.parquet", "matrices.npz", "residues.tsv", "scores.npz")
    found = {}
    for chunks in (1, 4):
        made = Analysis(tmp_path, changes | {"chunks": chunks}, name=f"n{chunks}")
        made.pairs().network().tables()
        assert (len(made.plan.tiles), len(made.plan.chunks)) == (15, chunks)
        found[chunks] = [(made.out / name).read_bytes() for name in names]
    assert found[1] == found[4]
    # Other tiles add in another order.
    expected = pd.read_parquet(whole.out / "pairs.parquet")
    pairs = pd.read_parquet(tmp_path / "results/n4/pairs.parquet")
    pd.testing.assert_frame_equal(pairs, expected, check_exact=False, rtol=1e-9, atol=1e-12)


def test_slow_unrelated_series_give_no_edges_and_a_driven_pair_one(tmp_path: Path) -> None:
    values = slow(600, 30, 3, time=6.0)
    files = write_runs(tmp_path, values)
    changes = section(time_series=files, keep={"fdr": 0.05}, estimator={"kind": "gaussian"})
    noise = Analysis(tmp_path, changes, name="noise").pairs().network()
    assert pd.read_parquet(noise.out / "network.parquet").empty
    pairs = pd.read_parquet(noise.out / "pairs.parquet")
    assert (pairs["p_value"] <= 0.05).mean() < 0.08
    assert pairs["correlation"].max() > 0.2  # what a threshold on strength would have kept
    values[:, 7] = 0.8 * values[:, 2] + 0.6 * values[:, 7]
    write_runs(tmp_path, values)
    driven = Analysis(tmp_path, changes, name="driven").pairs().network()
    edges = pd.read_parquet(driven.out / "network.parquet")
    names = pd.read_parquet(driven.out / "items.parquet")["name"]
    assert edges[["source", "target"]].to_numpy().tolist() == [[names[2], names[7]]]


def test_another_seed_draws_other_shifts_and_prepares_nothing_new(tmp_path: Path) -> None:
    write_runs(tmp_path, slow(60, 6, 3))
    found = [
        Analysis(tmp_path, section(estimator={"surrogates": 3}), name=f"s{seed}", seed=seed).pairs()
        for seed in (1, 2)
    ]
    states = [read_json(one.out / "state/state.json") for one in found]
    assert states[0] == states[1]
    first, second = (pd.read_parquet(one.out / "pairs.parquet") for one in found)
    np.testing.assert_array_equal(first["mi_nats"], second["mi_nats"])
    assert (first["null_mean"] != second["null_mean"]).all()


def test_series_of_angles_and_scalars(tmp_path: Path) -> None:
    """Dihedrals given as a table in degrees; the same angles from another origin."""
    angles = np.degrees(np.cumsum(slow(200, 5, 1)[:, :, 0] * 0.3, axis=0))
    angles[:, 1] = angles[:, 0] + 10 * np.random.default_rng(0).standard_normal(200)
    correlations = []
    for origin in (0.0, 60.0):  # by whole bins
        table = pd.DataFrame(angles + origin, columns=[f"psi{k}" for k in range(5)])
        table.insert(0, "time", np.arange(200))
        table.to_csv(tmp_path / "angles.tsv", sep="\t", index=False)
        changes = section(
            time_series=["angles.tsv"],
            table={"angles": "degrees"},
            estimator={"kind": "dihedral", "surrogates": 6},
            keep="all",
        )
        out = Analysis(tmp_path, changes, name=f"o{origin:.0f}").pairs().network().tables().out
        pairs = pd.read_parquet(out / "pairs.parquet")
        correlations.append(pairs["correlation"])
        assert pairs["dcc"].isna().all()
        assert pairs["correlation"].idxmax() == 0
        residues = read(out / "residues.tsv")
        assert residues["name"].tolist() == [f"psi{k}" for k in range(5)]
        assert "chain" not in residues
        assert not (out / "structure.pdb").exists()
    np.testing.assert_allclose(*correlations, atol=1e-9)


# --- two states ---------------------------------------------------------------------------------


def test_two_states_are_compared_pair_by_pair(tmp_path: Path) -> None:
    common = {"communities": [], "estimator": {"kind": "gaussian", "surrogates": 0}}
    whole = {"frames": {"start": 49}, "select": "protein and name CA and resid 11-50"}
    other = Analysis(tmp_path, adenylate_kinase(**common, **whole), name="closed").pairs()
    with pytest.raises(ConfigError, match="none: there is no other one"):
        Analysis(tmp_path, adenylate_kinase(**common, compare="closed"), name="open")
    opened = Analysis(
        tmp_path,
        adenylate_kinase(**common, frames={"stop": 49}),
        name="open",
    )
    opened.model = opened.model.model_copy(update={"compare": "closed"})
    opened.pairs().network().results()
    pairs = pd.read_parquet(opened.out / "pairs.parquet")
    table = pd.read_parquet(opened.out / "difference.parquet")
    theirs = pd.read_parquet(other.out / "pairs.parquet")
    assert len(table) == 30 * 29 // 2  # residues 11 to 40 are in both
    assert list(table)[:4] == ["i", "j", "source", "target"]
    mine = pairs.set_index(["i", "j"])["correlation"]
    named = theirs.set_index(["i", "j"])["correlation"]
    for row in table.iloc[::40].itertuples():
        here, there = mine[row.i, row.j], named[row.i - 10, row.j - 10]
        assert row.correlation_difference == here - there
    matrix = np.load(opened.out / "difference.npz")["correlation_difference"]
    np.testing.assert_array_equal(matrix[table["i"], table["j"]], table["correlation_difference"])
    assert np.isfinite(matrix).sum() == 30 * 29
    assert (opened.out / "difference.pdb").read_text().startswith("REMARK")
    summary = read_json(opened.out / "summary.json")
    assert summary["counts"]["pairs_compared"] == len(table)
    assert "30 variables are in open and in closed" in " ".join(summary["warnings"])


# --- what cannot be used ------------------------------------------------------------------------


def test_input_that_cannot_be_used_is_one_message_before_anything_is_written(
    tmp_path: Path,
) -> None:
    analysis = Analysis(tmp_path, adenylate_kinase(select="name XX"))
    with pytest.raises(InputError, match="select 'name XX': found no atoms") as caught:
        analysis.prepare()
    assert "\n" not in str(caught.value)
    assert not [path for path in analysis.out.rglob("*") if path.is_file()]
    assert not temporary_files(analysis.out)


def test_ends_of_paths_that_are_changed_after_preparation_are_named(tmp_path: Path) -> None:
    changes = adenylate_kinase(frames={"stop": 30})
    changes["estimator"] = {"kind": "dcc", "surrogates": 0}
    analysis = Analysis(tmp_path, changes).pairs().network()
    paths = (("4AKE:MET1", "4AKE:ALA999"),)
    analysis.model = analysis.model.model_copy(update={"paths": paths})
    with pytest.raises(ConfigError, match="paths: found '4AKE:ALA999'; expected a name of items"):
        analysis.results()


# --- what is not claimed ------------------------------------------------------------------------


def test_what_would_take_too_long_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path, slow(60, 12, 3))
    estimator = {"kind": "gaussian", "surrogates": 0, "corrected": False}
    analysis = Analysis(tmp_path, section(estimator=estimator)).pairs().network()
    monkeypatch.setattr(trajectory_tables, "MAX_BETWEENNESS", 700)
    analysis.tables()
    record = read_json(analysis.record("tables"))
    assert record["messages"][0]["code"] == "no_centralities"
    residues = read(analysis.out / "residues.tsv")
    assert residues["betweenness"].isna().all()
    assert (residues["community_leiden"] > 0).all()
    monkeypatch.setattr(trajectory_tables, "MAX_EDGES", 65)
    analysis.tables()
    record = read_json(analysis.record("tables"))
    assert record["messages"][0]["code"] == "network_too_large"
    residues = read(analysis.out / "residues.tsv")
    assert (residues["community_leiden"] == 0).all()
    assert (residues["degree"] == 11).all()


def test_communities_of_noise_are_not_claimed(tmp_path: Path) -> None:
    files = write_runs(tmp_path, slow(400, 16, 3, seed=3))
    changes = {"estimator": {"kind": "gaussian"}, "keep": {"p_value": 0.05}}
    out = Analysis(tmp_path, section(time_series=files, **changes)).all().out
    summary = read_json(out / "summary.json")
    agreement = summary["threshold"]["community_agreement"]["leiden"]
    assert agreement < 0.3
    assert any(f"index of {agreement:.2f}" in text for text in summary["warnings"])
    np.testing.assert_allclose(read(out / "communities.tsv")["agreement"], agreement)
    assert np.load(out / "scores.npz")["community_agreement_leiden"] == agreement
    found = read_results(out)
    assert not numbers(found)["communities"]["claimed"]
    assert "communit" not in page_text(found).text("headline")
    assert community_grouping(found, pd.Index([])) is None
