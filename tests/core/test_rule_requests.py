"""Memory and time that each rule asks for, from files of known size and from a plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pairtile.runtime.requests import (
    START_BYTES,
    PlannedRequests,
    bootstrap_seconds,
    export_bytes,
    input_bytes,
    is_small_job,
    merge_bytes,
    network_bytes,
    report_bytes,
    tiles_bytes,
    tiles_seconds,
)

PLAN = PlannedRequests(
    {
        "backend": "cpu",
        "memory_bytes": 3 * START_BYTES,
        "estimated_seconds": 50,
        "null_seconds": 200,
        "space": {"rows": 100},
        "tile_edges": [10, 10],
        "chunks": [
            {"first_tile": 0, "last_tile": 4, "seconds": 20},
            {"first_tile": 5, "last_tile": 9, "seconds": 30},
        ],
    }
)


def plain(path: Path, size: int) -> str:
    path.write_bytes(b"x" * size)
    return str(path)


@pytest.fixture
def masked(tmp_path: Path) -> str:
    """1000 rows of 4 bytes and a mask of 16 bytes, at most 400 rows in a row group."""
    masks = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), 1000, [None, pa.py_buffer(bytes(16_000))]
    )
    path = tmp_path / "masked.parquet"
    pq.write_table(pa.table({"i": np.zeros(1000, np.int32), "m": masks}), path, row_group_size=400)
    return str(path)


def test_tiles_and_bootstraps_follow_the_plan_and_ask_for_the_least_without_one() -> None:
    assert tiles_bytes(PLAN) == 3 * START_BYTES
    assert tiles_seconds(PLAN, "tiles-000000-000004") == 20
    assert tiles_seconds(PLAN) == 200  # of the null
    assert tiles_seconds(PLAN, "tiles-000000-000009") == 50  # of another plan: as long as all
    assert bootstrap_seconds(PLAN, 4, 5) == 2 * 250.5
    assert tiles_bytes(None) == START_BYTES
    assert tiles_seconds(None, "tiles-000000-000004") == bootstrap_seconds(None, 0, 9) == 0


def test_a_merge_holds_two_of_its_bands_with_all_masks(masked: str) -> None:
    rows = 1000 * (4 + 16)
    assert merge_bytes(None, [masked]) == 1.5 * START_BYTES + 4 * rows
    assert merge_bytes(PLAN, [masked, masked]) == 1.5 * START_BYTES + 4 * 0.2 * 2 * rows
    assert merge_bytes(PLAN, "<TBD>") == 1.5 * START_BYTES


def test_a_network_holds_all_pairs_or_a_tile_whichever_is_more(masked: str, tmp_path: Path) -> None:
    state, data = plain(tmp_path / "state", 500), plain(tmp_path / "data.npz", 70)
    edges = plain(tmp_path / "edges", 9)
    whole = START_BYTES + 3 * 570 + 7 * 4000 + 20 * 9 + 2 * 16 * 400
    assert network_bytes(None, masked, [edges], state, [data], 7) == whole
    assert network_bytes(PLAN, masked, [edges], state, [data], 7) == 3 * START_BYTES


def test_inputs_are_unpacked_and_a_state_is_mapped(masked: str, tmp_path: Path) -> None:
    table, state = plain(tmp_path / "table.tsv.gz", 100), plain(tmp_path / "state", 500)
    masks = 2 * 16 * 400
    assert input_bytes(8, [table]) == START_BYTES + 8 * 600
    assert input_bytes(8, [table, masked], state) == START_BYTES + 8 * 4600 + masks + 3 * 500


def test_a_report_reads_tables_in_parts_and_all_else_whole(tmp_path: Path) -> None:
    network, tables = plain(tmp_path / "network.tsv", 100), tmp_path / "sites.tsv"
    plain(tables, 30)
    assert report_bytes([network], [], [tables]) == START_BYTES + 10 * 130
    with tables.open("wb") as file:
        file.truncate(START_BYTES)
    assert report_bytes([network], [], [tables]) == 2 * START_BYTES + 10 * 100


@pytest.mark.parametrize(("suffix", "times"), [("gexf", 110), ("cx2", 40), ("regulon.tsv", 15)])
def test_formats_with_an_object_for_each_edge_take_more(
    suffix: str, times: int, tmp_path: Path
) -> None:
    network, items = plain(tmp_path / "network.tsv", 1000), plain(tmp_path / "items.tsv", 10)
    assert export_bytes(suffix, network, items) == START_BYTES + 1000 * times + 10 * 10


def test_one_core_is_for_little_data_and_little_work(tmp_path: Path) -> None:
    small, large = plain(tmp_path / "small", 1000), plain(tmp_path / "large.xtc", 2 << 20)
    missing = str(tmp_path / "missing")
    quick = PlannedRequests(
        {
            "backend": "cpu",
            "memory_bytes": START_BYTES,
            "estimated_seconds": 0.1,
            "null_seconds": 0.0,
            "space": {"rows": 100},
            "tile_edges": [10, 10],
            "chunks": [{"first_tile": 0, "last_tile": 99, "seconds": 0.1}],
        }
    )
    assert is_small_job([small], None, 16)
    assert is_small_job([small], quick, 2)
    assert not is_small_job([small], quick, 16)  # 1.6 s of one core
    assert not is_small_job([small], PLAN, 1)
    assert not is_small_job([small, large], None, 16)
    assert not is_small_job([missing], None, 16)
