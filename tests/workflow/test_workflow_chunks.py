"""Chunks and batches of bootstraps: however the work is cut, the results are the same bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pairtile.engine import tiles
from pairtile.steps import network, plan
from workflow_runs import Analysis, write_data

FORMS = {
    "plain": {"gold_standard": "gold_standard.tsv"},
    "regulators": {"regulators": "regulators.txt", "keep": {"fdr": 0.05}},
    "two passes": {"score": "target_z", "keep": {"top_edges": 100}},
    "combined": {"score": "combined", "keep": {"top_edges": 100}},
}


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """60 genes in tiles of 16 x 16: ten of them, or four with regulators."""
    monkeypatch.setattr(tiles, "TILE_EDGE", 16)
    write_data(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", FORMS)
def test_pairs_and_network_are_the_same_bytes_for_any_number_of_chunks(
    small_tiles: Path, form: str
) -> None:
    found = {}
    for chunks in (1, 3, "auto", 10):
        changes = FORMS[form] | {"chunks": chunks}
        analysis = Analysis(small_tiles, changes, name=f"chunks-{chunks}").pairs().network()
        files = ["pairs.parquet", "network.parquet", "chunks.npz", "scores.npz"]
        found[chunks] = {name: (analysis.out / name).read_bytes() for name in files}
        count = len(list((analysis.out / "chunks").iterdir()))
        assert count == (1 if chunks == "auto" else min(chunks, len(analysis.plan.tiles)))
    assert len(analysis.plan.tiles) == (4 if form == "regulators" else 10)
    for chunks in (3, "auto", 10):
        assert found[chunks] == found[1]


def test_tiles_of_another_size_give_the_same_pairs(
    small_tiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Analysis(small_tiles, {"keep": "all"}, name="small").pairs()
    monkeypatch.setattr(tiles, "TILE_EDGE", 1024)
    other = Analysis(small_tiles, {"keep": "all"}, name="large").pairs()
    assert len(other.plan.tiles) == 1
    name = "pairs.parquet"
    assert (one.out / name).read_bytes() == (other.out / name).read_bytes()


def test_a_network_in_several_row_groups_holds_the_same_edges(
    small_tiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = Analysis(small_tiles, {"keep": "all", "dpi": False}, name="whole").pairs().network()
    whole = pq.read_table(analysis.out / "network.parquet")
    monkeypatch.setattr(network, "ROW_GROUP", 500)
    analysis = Analysis(small_tiles, {"keep": "all", "dpi": False}, name="parts").pairs().network()
    with pq.ParquetFile(analysis.out / "network.parquet") as file:
        assert file.num_row_groups == -(-whole.num_rows // 500) == 4
        assert file.read().equals(whole)


def test_bootstraps_do_not_depend_on_how_they_are_shared_out(
    small_tiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"bootstraps": 5, "regulators": "regulators.txt"}
    found = {}
    for seconds, files in ((0.6, 5), (1.1, 3), (60.0, 1)):
        monkeypatch.setattr(plan, "BOOTSTRAP_SECONDS", seconds)
        analysis = Analysis(small_tiles, changes, name=f"files-{files}").pairs().network()
        assert len(analysis.bootstrap_files()) == files
        found[files] = (analysis.out / "network.parquet").read_bytes()
    assert found[5] == found[3] == found[1]


def test_a_lost_batch_of_bootstraps_comes_back_as_it_was(
    small_tiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BOOTSTRAP_SECONDS", 0.6)
    analysis = Analysis(small_tiles, {"bootstraps": 3}).pairs().network()
    lost = analysis.bootstrap_files()[1]
    before = lost.read_bytes()
    whole = (analysis.out / "network.parquet").read_bytes()
    lost.unlink()
    analysis.network()
    assert lost.read_bytes() == before
    assert (analysis.out / "network.parquet").read_bytes() == whole


def test_another_seed_gives_other_draws_and_the_same_scores(small_tiles: Path) -> None:
    changes = {"keep": "all", "bootstraps": 2}
    three, four = (
        Analysis(small_tiles, changes, name=f"seed-{seed}", seed=seed).pairs().network()
        for seed in (3, 4)
    )
    assert three.plan.fingerprint != four.plan.fingerprint
    assert (three.out / "null.npz").read_bytes() != (four.out / "null.npz").read_bytes()
    assert [p.read_bytes() for p in three.bootstrap_files()] != [
        p.read_bytes() for p in four.bootstrap_files()
    ]
    one, other = (pq.read_table(made.out / "pairs.parquet") for made in (three, four))
    assert one.equals(other, check_metadata=True)
