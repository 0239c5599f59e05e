"""Compiled loops over items: all are done, once each, and alike for any number of threads."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from pairtile.cpu.threaded import RANGES, in_ranges, threaded


class Sums(NamedTuple):
    """An output of several arrays: an entry of each for each item."""

    total: NDArray[np.float64]
    ratio: NDArray[np.float64]


@threaded(fastmath={"reassoc"})
def of_rows(first, last, values, sums):  # type: ignore[no-untyped-def]
    for row in range(first, last):
        sums.total[row] += values[row].sum()
        sums.ratio[row] = values[row, 0] / values[row, 1]


@threaded(over="chosen")
def of_chosen(first, last, chosen, values, total):  # type: ignore[no-untyped-def]
    for row in chosen[first:last]:
        total[row] += values[row].sum()


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize(("group", "most"), [(1, 10**6), (8, 10**6), (1, 3), (8, 0)])
def test_ranges_hold_every_item_once(
    threads: int, group: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    for number in (0, 1, 2, 7, 8, 9, 63, 64, 500, 1001):
        ranges: list[tuple[int, int]] = []
        in_ranges(lambda first, last, to=ranges: to.append((first, last)), number, group, most)
        ranges.sort()
        assert [item for begin, end in ranges for item in range(begin, end)] == [*range(number)]
        assert all(begin < end for begin, end in ranges)
        at_most = 1 if threads == 1 else max(1, min(most, threads * RANGES))
        assert len(ranges) <= at_most
        if number >= group * threads:
            assert all((end - begin) % group == 0 for begin, end in ranges[:-1])
        if most >= number >= group * threads:
            assert len(ranges) >= threads


def test_results_are_equal_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=(301, 40))
    values[7, :2] = 0.0  # 0 / 0
    values[8, 1] = 0.0
    chosen = np.arange(0, 301, 3)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(numba, "get_num_threads", lambda n=threads: n)
        sums, total = Sums(np.zeros(301), np.zeros(301)), np.zeros(301)
        of_rows(values, sums)
        of_chosen(chosen, values, total)
        found.append((*sums, total))
    assert np.isnan(found[0][1][7])
    assert np.isinf(found[0][1][8])
    np.testing.assert_allclose(found[0][0], values.sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(np.flatnonzero(found[0][2]), chosen)
    for other in found[1:]:
        for one, again in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, again)


def test_a_failure_in_a_range_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)

    def work(first: int, last: int) -> None:
        if first:
            raise ValueError(first)

    with pytest.raises(ValueError):
        in_ranges(work, 100, 1, 100)
