"""Whether predicted targets go against their miRNA: the tests, and how hits are joined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from declared_columns import assert_columns
from numpy.typing import NDArray
from pairtile.config.downstream import STAGES
from pairtile.config.load import load_config
from pairtile.downstream.given import Given
from pairtile.downstream.predicted_targets import predicted_pairs, run
from pairtile.downstream.target_enrichment import rank_profiles, target_enrichment
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.io.names import GeneNames
from pairtile.statistics.hidden_factors import Exchange
from scipy.stats import rankdata, spearmanr

NONE = Exchange(np.zeros(40, dtype=np.int64), np.zeros(1, dtype=bool))


def tables(
    effect: float = 0.0, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """16 miRNAs, 200 genes in modules, and random targets, which every second miRNA lowers."""
    random = np.random.default_rng(seed)
    mirnas = random.normal(size=(16, 40))
    genes = random.normal(size=(8, 40))[random.integers(8, size=200)] + random.normal(
        size=(200, 40)
    )
    targets = random.random((16, 200)) < 0.15
    for mirna in range(0, 16, 2):
        genes[targets[mirna]] -= effect * mirnas[mirna]
    return mirnas, genes, targets


def test_profiles_are_ranks_without_the_means_of_batches() -> None:
    random = np.random.default_rng(0)
    values, batch = random.normal(size=(3, 40)), np.repeat([0, 1], 20)
    found = rank_profiles(values + 5 * batch, batch)
    for row, shifted in zip(found, values + 5 * batch, strict=True):
        ranks = rankdata(shifted)
        expected = np.concatenate([ranks[:20] - ranks[:20].mean(), ranks[20:] - ranks[20:].mean()])
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected))
    values[0, :5] = np.nan
    assert (rank_profiles(values)[0, :5] == 0).all()


def test_scores_and_p_values_are_those_of_a_plain_loop() -> None:
    mirnas, genes, targets = tables(effect=0.1)
    x, y = rank_profiles(mirnas), rank_profiles(genes)
    found = target_enrichment(x, y, targets, NONE, draws=2000)
    r = np.array([[spearmanr(m, g).statistic for g in genes[:30]] for m in mirnas[:2]])
    np.testing.assert_allclose(x[:2] @ y[:30].T, r, atol=1e-12)
    scores = np.empty((16, 16))
    for m in range(16):
        for s in range(16):
            profile = y[targets[s]].mean(axis=0) - y[~targets[s]].mean(axis=0)
            scores[m, s] = x[m] @ profile / np.linalg.norm(profile)
    np.testing.assert_allclose(found.each.score, np.diag(scores), atol=1e-12)
    z, own = [], []
    for m in range(16):
        others = np.delete(scores[m], m)
        own.append((scores[m, m] - others.mean()) / others.std(ddof=1))
        for k in range(15):
            beside = np.delete(others, k)
            z.append((others[k] - beside.mean()) / beside.std(ddof=1))
    as_low = np.array([(np.array(z) <= each).sum() for each in own])
    expected = (1 + as_low) / (1 + len(z))
    counted = as_low >= 10  # where fewer are, a fitted tail may say less
    np.testing.assert_allclose(found.each.p_sets[counted], expected[counted])
    assert (found.each.p_sets[~counted] <= expected[~counted]).all()
    random = np.random.default_rng(5)
    for m in range(3):
        profile = y[targets[m]].mean(axis=0) - y[~targets[m]].mean(axis=0)
        null = [random.permutation(x[m]) @ profile / np.linalg.norm(profile) for _ in range(4000)]
        assert found.each.p_samples[m] == pytest.approx(
            (np.array(null) <= scores[m, m]).mean(), abs=0.05
        )


def test_lowered_targets_are_found_and_others_are_not() -> None:
    found = target_enrichment(*_profiles(*tables(effect=0.6)), NONE, draws=2000)
    assert (found.each.p_value[::2] < 0.01).all()
    assert (found.each.p_value[1::2] > 0.01).all()
    assert found.together["p_value"] < 0.002
    assert (found.each.r_targets[::2] < found.each.r_others[::2]).all()
    nothing = target_enrichment(*_profiles(*tables()), NONE, draws=500)
    assert nothing.together["p_value"] > 0.05


def test_a_mirna_that_follows_a_module_needs_more_than_that() -> None:
    """Exchanged samples call it; the sets of other miRNAs, which lie as it does, do not."""
    called = {"p_samples": 0, "p_value": 0}
    for seed in range(20):
        mirnas, genes, targets = tables(seed=seed)
        mirnas[:] = genes[:16] + 0.3 * mirnas
        found = target_enrichment(*_profiles(mirnas, genes, targets), NONE, draws=200)
        for name in called:
            called[name] += int((found.each[name] <= 0.05).sum())
    assert called["p_samples"] > 0.1 * 20 * 16
    assert called["p_value"] < 0.08 * 20 * 16


def test_families_are_no_comparison_for_each_other() -> None:
    mirnas, genes, targets = tables()
    first = np.arange(16) // 2 * 2
    found = target_enrichment(*_profiles(mirnas, genes, targets[first]), NONE, draws=100)
    assert found.families == 8
    assert np.isnan(found.each.p_sets).all()  # too few
    np.testing.assert_array_equal(found.each.p_value, found.each.p_samples)


def _profiles(
    mirnas: NDArray[np.float64], genes: NDArray[np.float64], targets: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    return rank_profiles(mirnas), rank_profiles(genes), targets


def hits(path: Path) -> Path:
    rows = [
        ("miR-1", "T1.1", "TP53", 2, 1, 150.0, -20.0),
        ("miR-1", "T1.2", "TP53", 1, 1, 160.0, -18.0),
        ("miR-1", "T2.1", "MYC", 1, 0, 150.0, -20.0),  # no canonical site
        ("miR-2", "T2.1", "MYC", 1, 1, 145.0, -15.0),
        ("miR-9", "T2.1", "MYC", 1, 1, 145.0, -15.0),  # no expression
    ]
    names = ["mirna", "transcript", "gene", "n_hits", "n_canonical_sites", "max_score"]
    table = pd.DataFrame(rows, columns=[*names, "min_energy_kcal_mol"])
    table.to_csv(path, sep="\t", index=False)
    return path


def test_hits_are_joined_by_the_names_that_fit_and_transcripts_of_a_gene_once(
    tmp_path: Path,
) -> None:
    rows = np.array(["miR-1", "other:miR-2"], dtype=object)
    genes = ["MYC", "TP53"]
    pairs, row, gene, notes = predicted_pairs(
        hits(tmp_path / "targets.tsv"), rows, GeneNames(genes)
    )
    assert pairs.to_dict("records") == [
        {
            "mirna": "miR-1", "target": "TP53", "n_hits": 3, "n_canonical_sites": 2,
            "max_score": 160.0, "min_energy_kcal_mol": -20.0,
        },
        {
            "mirna": "other:miR-2", "target": "MYC", "n_hits": 1, "n_canonical_sites": 1,
            "max_score": 145.0, "min_energy_kcal_mol": -15.0,
        },
    ]  # fmt: skip
    assert (row.tolist(), gene.tolist()) == ([0, 1], [1, 0])
    numbers = notes[0].numbers
    assert (numbers["column"], numbers["pairs"], numbers["mirnas"]) == ("gene", 4, 1)
    versions = GeneNames(["T1", "T2"], ignore_versions=True)
    assert len(predicted_pairs(tmp_path / "targets.tsv", rows, versions)[0]) == 2
    symbols = GeneNames(["ENSG7", "ENSG8"], ["MYC", "TP53"])
    by_symbol = predicted_pairs(tmp_path / "targets.tsv", rows, symbols)[0]
    assert by_symbol["target"].tolist() == ["ENSG8", "ENSG7"]


def test_hits_of_other_names_are_one_error(tmp_path: Path) -> None:
    rows = np.array(["ENSG1"], dtype=object)
    with pytest.raises(InputError, match=r"targets\.tsv.*none of both"):
        predicted_pairs(hits(tmp_path / "targets.tsv"), rows, GeneNames(["ENSG1"]))


def test_the_stage_writes_what_is_declared_and_finds_lowered_targets(tmp_path: Path) -> None:
    mirnas, genes, targets = tables(effect=0.6)
    names = [f"g{k}" for k in range(200)] + [f"miR-{k}" for k in range(16)]
    rows = [(f"miR-{m}", f"g{g}", 1, 1, 150.0, -20.0) for m, g in np.argwhere(targets)]
    columns = ["mirna", "transcript", "n_hits", "n_canonical_sites", "max_score"]
    (tmp_path / "hits").mkdir()
    hit_table = pd.DataFrame(rows, columns=[*columns, "min_energy_kcal_mol"])
    hit_table.to_csv(tmp_path / "hits/targets.tsv", sep="\t", index=False)
    section = {"method": "mutual_information", "expression": "a.tsv", "other_expression": "b.tsv"}
    hits_section = {"method": "mirna_targets", "mirnas": "a.fa", "transcripts": "b.fa"}
    analyses = {"hits": hits_section, "pairs": {**section, "mirna_targets": "hits"}}
    table = ["expression"] * 200 + ["other_expression"] * 16
    given = Given(
        config=load_config({"analyses": analyses}).analyses["pairs"],
        values=np.concatenate([genes, mirnas]),
        genes=names,
        samples=[f"s{k}" for k in range(40)],
        annotations={},
        known={},
        items=pd.DataFrame({"name": names, "kept": True, "table": table}),
        network=pd.DataFrame({"source": ["miR-0"], "target": ["g0"]}),
        folder=tmp_path / "pairs",
        seed=1,
        device=choose("cpu"),
    )
    given.folder.mkdir()
    written = run(given)
    stage = next(stage for stage in STAGES if stage.name == "predicted_targets")
    against, summary, _ = (given.table(name) for name in stage.tables)
    for name in stage.tables:
        assert_columns(given.folder / name, "pairtile.downstream")
    assert written.counts["predicted_pairs"] == targets.sum()
    assert written.counts["mirnas_tested"] == 16
    assert (against["correlation"] < 0).all()
    lowered = against["mirna"].str.removeprefix("miR-").astype(int) % 2 == 0
    assert lowered[against["q_value"] <= 0.05].mean() > 0.9
    assert summary["mirna"][0] == "all"
    assert set(summary["mirna"][1:9]) == {f"miR-{k}" for k in range(0, 16, 2)}
