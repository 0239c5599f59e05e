"""What the report takes from the tables of miRNA hits, and the figures it draws of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from made_up_results import drawn, made_up_results
from matplotlib.axes import Axes
from mirna_results import write_mirna_results
from pairtile import mirna_targets
from pairtile.errors import StoreError
from pairtile.methods.mirna_targets import charts
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.report_hits import (
    POSITION_BINS,
    read_hits,
    read_targets,
    seed_columns,
)
from pairtile.report.page import write_report


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


def test_the_map_marks_every_pair_once(tmp_path: Path) -> None:
    pairs = pd.DataFrame({"source": list("aabbc"), "target": list("xyxzz"), "n_hits": 1})
    pairs["energy_kcal_mol"], pairs["score"] = [-20.0, -18.0, -25.0, -11.0, -12.0], 150.0
    sites = pairs.rename(columns={"source": "mirna", "target": "transcript"})
    sites["n_canonical_sites"] = [1, 0, 1, 0, 1]
    sites.to_csv(tmp_path / "targets.tsv", sep="\t", index=False)
    results = made_up_results("mirna_targets", network=pairs)
    results.folder = tmp_path
    axes = drawn("target_map", results).axes[0]
    grid = axes.images[0].get_array()
    rows = [label.get_text() for label in axes.get_yticklabels()]
    columns = [label.get_text() for label in axes.get_xticklabels()]
    shown = {
        (rows[i], columns[j]): grid[i, j]
        for i in range(3)
        for j in range(3)
        if not np.ma.is_masked(grid[i, j])
    }
    expected = zip(pairs["source"], pairs["target"], pairs["energy_kcal_mol"], strict=True)
    assert shown == {(source, target): value for source, target, value in expected}
    [dots] = axes.get_lines()
    marked = {(rows[int(y)], columns[int(x)]) for x, y in dots.get_xydata()}
    assert marked == {("a", "x"), ("b", "x"), ("c", "z")}


def test_the_strongest_block_holds_the_first_names_of_both_sides() -> None:
    pairs = pd.DataFrame({"source": list("abcab"), "target": list("xyzyx")})
    block = charts.strongest_block(pairs, 2)
    assert block.to_numpy().tolist() == [["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]]


def test_distributions_are_cut_to_the_hits() -> None:
    def axes(edges: list[int], counts: list[int], threshold: float) -> Axes:
        arrays = {"edges": edges, "counts": counts, "threshold": threshold}
        scores = {name: np.asarray(value) for name, value in arrays.items()}
        return drawn("score_distribution", made_up_results("mirna_targets", scores=scores)).axes[0]

    near = axes([0, 5, 10, 15, 20], [0, 3, 2, 0], 4.0)
    bins = near.patches[0].get_data()
    assert bins.values.tolist() == [3, 2]
    assert bins.edges.tolist() == [5, 10, 15]
    [threshold] = near.get_lines()
    assert threshold.get_xdata()[0] == 4.0
    assert not axes([0, 5, 10], [1, 1], 900.0).get_lines()


# --- one hit, letter by letter --------------------------------------------------------------------


def test_the_first_hit_of_a_search_is_drawn_letter_by_letter() -> None:
    hits = mirna_targets(
        {"let-7a": "UGAGGUAGUAGGUUGUAUAGUU"}, {"utr": "CAUUUAUACAACCGUUCUACCUCAACGCGAUG"}
    )
    hit = hits.iloc[0]
    for given in (hit, dict(hit), next(hits.itertuples())):
        [axes] = charts.alignment(given).axes
        letters = [text.get_text() for text in axes.texts]
        assert "".join(letters).count(hit["query_alignment"].strip()) == 1
        assert "let-7a on utr" in axes.get_title()
        # The seed region: seven letters of the miRNA, without gaps here, from its second last on.
        [band] = axes.patches
        begin, end = band.get_x() + 0.5, band.get_x() + band.get_width() + 0.5
        seed = hit["query_alignment"][round(begin) : round(end)]
        assert seed.upper()[::-1] == "GAGGUAG"


def test_an_alignment_must_be_whole() -> None:
    with pytest.raises(ValueError, match="hit: found no column match_line; expected"):
        charts.alignment({"query_alignment": "a", "reference_alignment": "u"})
