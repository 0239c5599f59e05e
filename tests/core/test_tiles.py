"""The plan covers every pair exactly once, whatever is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.engine.tiles import (
    CHUNK_SECONDS,
    CLUSTER_SECONDS,
    MIN_CPU_SHARE,
    MIN_SECONDS,
    PairSpace,
    cpu_chunks,
    plan_chunks,
)


def covered(space: PairSpace, edge: int) -> np.ndarray:
    count = np.zeros((space.rows, space.columns), dtype=int)
    for tile in space.tiles(edge):
        count[tile.row_begin : tile.row_end, tile.column_begin : tile.column_end] += 1
    return count


@given(st.integers(1, 60), st.integers(1, 25))
def test_triangle_tiles_cover_every_pair_once(items, edge):
    space = PairSpace("triangle", items, items)
    assert (covered(space, edge)[np.triu_indices(items, 1)] == 1).all()
    assert sum(space.pairs_in(t) for t in space.tiles(edge)) == items * (items - 1) // 2


@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 25))
def test_tiles_of_the_first_rows_of_a_triangle_cover_their_pairs_once(rows, more, edge):
    space = PairSpace("triangle", rows, rows + more)
    pairs = np.arange(rows + more)[None, :] > np.arange(rows)[:, None]
    assert (covered(space, edge)[pairs] == 1).all()
    assert sum(space.pairs_in(t) for t in space.tiles(edge)) == pairs.sum()
    for tile in space.tiles(edge):
        diagonal = (tile.row_begin, tile.row_end) == (tile.column_begin, tile.column_end)
        assert diagonal or tile.column_begin >= tile.row_end


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 25))
def test_rectangle_tiles_cover_every_cell_once(rows, columns, edge):
    space = PairSpace("rectangle", rows, columns)
    assert (covered(space, edge) == 1).all()
    assert sum(space.pairs_in(t) for t in space.tiles(edge)) == rows * columns


def test_tiles_are_numbered_in_order_of_row_bands():
    tiles = PairSpace("triangle", 50, 50).tiles(8)
    assert [t.number for t in tiles] == list(range(len(tiles)))
    assert [t.row_begin for t in tiles] == sorted(t.row_begin for t in tiles)


def test_no_items_give_no_tiles():
    assert PairSpace("triangle", 0, 0).tiles() == []
    assert plan_chunks([], "auto") == []


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=80), st.integers(1, 100))
def test_chunks_hold_every_tile_once_in_order(seconds, wanted):
    chunks = plan_chunks(seconds, wanted)
    assert len(chunks) == min(wanted, len(seconds))
    held = [n for c in chunks for n in range(c.first, c.last + 1)]
    assert held == list(range(len(seconds)))
    assert sum(c.seconds for c in chunks) == pytest.approx(sum(seconds), rel=1e-9, abs=1e-9)


def test_a_small_problem_is_one_chunk():
    assert len(plan_chunks([0.5, 1.0, 2.0], "auto")) == 1


def test_automatic_chunks_take_about_a_minute():
    assert len(plan_chunks([1.5] * 4000, "auto", 1, CLUSTER_SECONDS)) == 20
    chunks = plan_chunks([1.5] * 4000, "auto")
    assert all(50 <= c.seconds <= 70 for c in chunks)
    assert len(chunks) == pytest.approx(6000 / CHUNK_SECONDS, abs=1)


@pytest.mark.parametrize(
    ("seconds", "gpus", "chunks"),
    [(4, 4, 1), (20, 4, 4), (120, 4, 8), (120, 1, 2), (600, 4, 12), (45, 8, 8), (30, 2, 4)],
)
def test_automatic_chunks_keep_every_gpu_busy_for_some_seconds(seconds, gpus, chunks):
    cut = plan_chunks([0.25] * (4 * seconds), "auto", gpus)
    assert len(cut) == chunks
    assert chunks == 1 or min(c.seconds for c in cut) >= MIN_SECONDS - 0.25


def test_chunks_of_equal_tiles_are_of_about_equal_cost():
    costs = [c.seconds for c in plan_chunks([1.0] * 100, 7)]
    assert max(costs) - min(costs) <= 2.0


def test_impossible_space_is_refused():
    with pytest.raises(ValueError, match="kind"):
        PairSpace("circle", 3, 3)
    with pytest.raises(ValueError, match="triangle"):
        PairSpace("triangle", 4, 3)


# --- chunks for the cores beside GPUs -----------------------------------------------------------


@given(
    st.lists(st.floats(0.01, 20.0), min_size=1, max_size=200),
    st.integers(1, 8),
    st.floats(0.001, 4.0),
)
def test_cores_and_gpus_end_together_within_a_tile(seconds, gpus, speed):
    chunks = cpu_chunks(seconds, gpus, speed)
    both = sum(seconds) / (gpus + speed)
    pays = speed / (gpus + speed) >= MIN_CPU_SHARE and both >= MIN_SECONDS
    first = chunks[0].first if chunks else len(seconds)
    on_cores = sum(seconds[first:]) / speed
    assert on_cores <= both * (1 + 1e-9)
    if pays and first:
        assert on_cores + seconds[first - 1] / speed > both * (1 - 1e-9)
    assert pays or not chunks
    held = [n for c in chunks for n in range(c.first, c.last + 1)]
    assert held == list(range(first, len(seconds)))
    # In seconds of a GPU, as those of all other chunks.
    assert sum(c.seconds for c in chunks) == pytest.approx(sum(seconds[first:]), abs=1e-9)
    assert all(c.backend == "cpu" and c.name.endswith(f"{c.last:06d}-cpu") for c in chunks)


@pytest.mark.parametrize(
    ("tiles", "gpus", "speed", "expected"),
    [
        (1200, 1, 0.25, 16),  # 960 s
        (1200, 4, 0.25, 5),  # 282 s
        (1200, 1, 0.021, 20),  # 1,175 s
        (1200, 1, 0.019, 0),  # less than 2 %
        (1200, 2, 0.021, 0),
        (5, 1, 0.5, 0),  # over in 3.3 s
        (10, 1, 0.5, 1),
    ],
)
def test_cores_have_a_chunk_for_each_minute_where_it_pays(tiles, gpus, speed, expected):
    chunks = cpu_chunks([1.0] * tiles, gpus, speed)
    assert len(chunks) == expected
    assert all(c.seconds / speed <= CHUNK_SECONDS + 1 / speed for c in chunks)
