"""The division of a search over predictor sets into blocks and batches."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from pairtile.methods.predictor_pairs.predictor_table import SearchSettings
from pairtile.methods.predictor_pairs.search_cuda import (
    CODE_BITS,
    CudaPredictors,
    all_blocks,
    batches,
    n_sets,
    split,
    spread,
)


def sets_in(blocks, last):
    """Every (left, right) of the blocks whose right comes after the left's last predictor."""
    found = []
    for left, right, lefts, rights in blocks.tolist():
        for i in range(left, left + lefts):
            found += [(i, j) for j in range(right, right + rights) if j > last[i]]
    return sorted(found)


def pairs(n):
    return np.arange(n, dtype=np.int32)


@pytest.mark.parametrize("n", [0, 1, 2, 9, 70])
def test_blocks_hold_every_pair_once(n):
    blocks = all_blocks(pairs(n), 0, n)
    assert sets_in(blocks, pairs(n)) == [(i, j) for i in range(n) for j in range(i + 1, n)]


def test_blocks_hold_rights_of_a_range_only():
    last = np.full(1, -1, dtype=np.int32)
    assert sets_in(all_blocks(last, 5, 600), last) == [(0, j) for j in range(5, 600)]


def test_blocks_follow_the_last_predictor_of_each_left():
    first, last = (rows.astype(np.int32) for rows in np.triu_indices(12, 1))
    expected = [(i, j) for i in range(len(first)) for j in range(last[i] + 1, 12)]
    assert sets_in(all_blocks(last, 0, 12), last) == expected


@pytest.mark.parametrize(("lefts", "rights"), [(1, 1), (2, 32), (3, 7), (100, 1000)])
def test_split_keeps_the_sets_and_the_limits(lefts, rights):
    blocks = all_blocks(pairs(90), 0, 90)
    parts = split(blocks, lefts, rights)
    assert sets_in(parts, pairs(90)) == sets_in(blocks, pairs(90))
    assert parts[:, 2].max() <= lefts
    assert parts[:, 3].max() <= rights


@pytest.mark.parametrize("done", [0, 50, 10**18])
def test_batches_grow_and_hold_every_set_once(done):
    blocks = all_blocks(pairs(300), 0, 300)
    parts = list(batches(blocks, done, 200, 8))
    assert sets_in(np.concatenate(parts), pairs(300)) == sets_in(blocks, pairs(300))
    before = done
    for part in parts:
        searched = int(n_sets(part).sum())
        assert len(part) == 1 or searched <= (8 * before if before else 200)
        before += searched
    assert len(parts) == 1 or done < 10**18


def test_no_blocks_make_no_batches():
    assert list(batches(all_blocks(pairs(1), 0, 1), 0, 100, 8)) == []


@pytest.mark.parametrize(("n_targets", "busy"), [(1, 1), (1, 10**6), (5000, 4096), (700, 300)])
def test_spread_keeps_the_sets_and_covers_the_targets(n_targets, busy):
    blocks = all_blocks(pairs(120), 0, 120)
    parts, tile = spread(blocks, n_targets, 256, busy)
    assert sets_in(parts, pairs(120)) == sets_in(blocks, pairs(120))
    assert tile % 16 == 0
    assert 16 <= tile <= 256
    tiles = -(-n_targets // tile)
    smallest = parts[:, 2].max() <= 2 and parts[:, 3].max() <= 32 and tile <= 32
    assert len(parts) * tiles >= busy or smallest


@pytest.mark.parametrize("free_bytes", [0, 4000, 1 << 30], ids=["one", "some", "all"])
@pytest.mark.parametrize("cardinality", [2, 3, 4])
@pytest.mark.parametrize(("begin", "end"), [(0, 8), (2, 5), (6, 8), (3, 3)])
def test_prefixes_are_all_sets_of_one_fewer(cardinality, begin, end, free_bytes):
    """In portions of any size, with NumPy in the place of CuPy."""
    planes = np.random.default_rng(1).integers(0, 2**32, (8, 3, 4), dtype=np.uint32)
    table = SimpleNamespace(
        cupy=np,
        planes=planes,
        settings=SearchSettings(levels=3, cardinality=cardinality),
        device=SimpleNamespace(free_bytes=lambda: free_bytes),
        code_bits=CODE_BITS[cardinality],
    )
    parts = list(CudaPredictors.prefixes(table, begin, end))
    expected = [
        chosen for chosen in combinations(range(8), cardinality - 1) if begin <= chosen[0] < end
    ]
    assert [int(k) for part in parts for k in part[2]] == [chosen[-1] for chosen in expected]
    found = [int(code) for part in parts for code in part[1]]
    for code, chosen in zip(found, expected, strict=True):
        shifts = range(CODE_BITS[cardinality] * (cardinality - 2), -1, -CODE_BITS[cardinality])
        assert code == sum(p << shift for p, shift in zip(chosen, shifts, strict=True))
    cells = [cell for part in parts for cell in part[0]]
    for of_set, chosen in zip(cells, expected, strict=True):
        assert of_set.shape == (3 ** (cardinality - 1), 4)
        for cell, levels in enumerate(np.ndindex(*(3,) * (cardinality - 1))):
            words = [planes[p, level] for p, level in zip(chosen, levels, strict=True)]
            np.testing.assert_array_equal(of_set[cell], np.bitwise_and.reduce(words))
