"""What the report takes from the tables of miRNA hits, and the figures it draws of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from mirna_results import write_mirna_results
from pairtile.errors import StoreError
from pairtile.methods.mirna_targets import charts
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.report_hits import (
    POSITION_BINS,
    read_hits,
    read_targets,
    seed_columns,
)
from pairtile.report import write_report


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder."""
    return write_mirna_results(tmp_path_factory.mktemp("results") / "demo")


# --- what the tables hold -----------------------------------------------------------------------


def test_the_strongest_hits_are_those_of_a_full_sort(tmp_path: Path) -> None:
    folder = write_mirna_results(tmp_path / "demo", n_pairs=200)
    table = pd.read_parquet(folder / "hits.parquet")
    pq.write_table(
        pq.read_table(folder / "hits.parquet"), folder / "hits.parquet", row_group_size=37
    )
    expected = table.sort_values(["score", "energy_kcal_mol"], ascending=[False, True])
    for limit in (1, 50, len(table), 10_000):
        hits = read_hits(folder / "hits.parquet", limit)
        assert hits.n == len(table)
        pd.testing.assert_frame_equal(
            hits.strongest, expected.head(limit).reset_index(drop=True), check_dtype=False
        )


def test_hits_are_counted_by_seed_class_and_place(demo: Path) -> None:
    table = pd.read_parquet(demo / "hits.parquet")
    hits = read_hits(demo / "hits.parquet")
    assert list(hits.seed_classes) == list(reversed(SEED_CLASSES))
    assert hits.seed_classes == table["seed_class"].value_counts().to_dict() | dict.fromkeys(
        set(SEED_CLASSES) - set(table["seed_class"]), 0
    )
    canonical = table["seed_class"].isin(["8mer", "7mer-m8", "7mer-A1"])
    assert hits.canonical == canonical.sum()
    edges = np.linspace(0, 1, POSITION_BINS + 1)
    for row, chosen in zip(hits.positions, (canonical, ~canonical), strict=True):
        expected = np.histogram(table.loc[chosen, "relative_position"], edges)[0]
        np.testing.assert_array_equal(row, expected)


def test_targets_are_counted_for_each_mirna_and_transcript(demo: Path) -> None:
    table = pd.read_csv(demo / "targets.tsv", sep="\t")
    targets = read_targets(demo / "targets.tsv")
    assert targets.n == len(table)
    assert targets.canonical == (table["n_canonical_sites"] > 0).sum()
    assert targets.mirnas["pairs"].to_dict() == table["mirna"].value_counts().to_dict()
    assert targets.transcripts["canonical"].sum() == targets.canonical
    assert targets.transcripts["pairs"].is_monotonic_decreasing


@pytest.mark.parametrize("name", ["hits.parquet", "targets.tsv"])
def test_a_damaged_table_is_named(tmp_path: Path, name: str) -> None:
    folder = write_mirna_results(tmp_path / "demo")
    (folder / name).write_bytes(b"not\twhat it\nshould be")
    with pytest.raises(StoreError, match=name.replace(".", r"\.")):
        write_report(folder, folder / "report.html", folder / "figures")


@pytest.mark.parametrize(
    ("query", "seed"),
    [
        ("ugagugUGGAUCCAAG-----GUUCCUAa", "GUUCCUA"),
        ("uuGAUAUGUUGGA--UGG-AGU", "GA--UGG-AG"),
        ("ACGUACGUACGU-ACG-UA-c", "GU-ACG-UA"),
        ("GUUCCUAa", "GUUCCUA"),
        ("CUAa", "CUA"),
        ("a", ""),
    ],
)
def test_the_seed_is_counted_from_the_five_prime_end_past_gaps(query: str, seed: str) -> None:
    assert query[slice(*seed_columns(query))] == seed


# --- figures ------------------------------------------------------------------------------------


def test_the_map_marks_every_pair_once() -> None:
    pairs = pd.DataFrame({"source": list("aabbc"), "target": list("xyxzz")})
    values = np.array([-20.0, -18.0, -25.0, -11.0, -12.0])
    canonical = np.array([True, False, True, False, True])
    figure = charts.target_map(pairs, values, canonical, label="energy", low_is_strong=True)
    axes = figure.axes[0]
    grid = axes.images[0].get_array()
    rows = [label.get_text() for label in axes.get_yticklabels()]
    columns = [label.get_text() for label in axes.get_xticklabels()]
    drawn = {
        (rows[i], columns[j]): grid[i, j]
        for i in range(3)
        for j in range(3)
        if not np.ma.is_masked(grid[i, j])
    }
    expected = zip(pairs["source"], pairs["target"], values.tolist(), strict=True)
    assert drawn == {(source, target): value for source, target, value in expected}
    [dots] = axes.get_lines()
    marked = {(rows[int(y)], columns[int(x)]) for x, y in dots.get_xydata()}
    assert marked == {("a", "x"), ("b", "x"), ("c", "z")}


def test_the_strongest_block_holds_the_first_names_of_both_sides() -> None:
    pairs = pd.DataFrame({"source": list("abcab"), "target": list("xyzyx")})
    block = charts.strongest_block(pairs, 2)
    assert block.to_numpy().tolist() == [["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]]


def test_distributions_are_cut_to_the_hits_and_refuse_lengths_that_do_not_fit() -> None:
    figure = charts.hit_distribution([0, 5, 10, 15, 20], [0, 3, 2, 0], 4.0, label="score")
    drawn = figure.axes[0].patches[0].get_data()
    assert drawn.values.tolist() == [3, 2]
    assert drawn.edges.tolist() == [5, 10, 15]
    [threshold] = figure.axes[0].get_lines()
    assert threshold.get_xdata()[0] == 4.0
    far = charts.hit_distribution([0, 5, 10], [1, 1], 900.0, label="score")
    assert not far.axes[0].get_lines()
    with pytest.raises(ValueError, match="one edge more than counts"):
        charts.hit_distribution([0, 1, 2], [1, 2, 3], label="score")
