"""Ranks within the rows of a table, and Spearman's correlation of pairs of rows."""

from __future__ import annotations

import numpy as np

from pairtile.arrays import Float64Array, Int32Array, Int64Array, IntegerArray
from pairtile.cpu.njit import njit
from pairtile.engine.large_table import count, map_rows, row_blocks, take_rows
from pairtile.runtime.threads import in_threads

_BLOCK_VALUES = 1 << 18
"""Values that a thread works on together."""


def spearman(x: Float64Array, i: IntegerArray, y: Float64Array, j: IntegerArray) -> Float64Array:
    """Spearman's rho of rows ``i`` of ``x`` with rows ``j`` of ``y``, ties with average ranks:
    float64 (pairs,).

    x, y : float64 (rows, samples), NaN where missing; they may be one table. Each pair is ranked
    over the samples that both rows have. NaN where one of them does not change there.
    """
    used_x, i_of = _used(len(x), i, j) if x is y else _used(len(x), i)
    a = take_rows(x, used_x, None)
    used_y, j_of = (used_x, i_of) if x is y else _used(len(y), j)
    b = a if x is y else take_rows(y, used_y, None)
    tables = [a] if a is b else [a, b]
    complete = not any(count(np.isnan, table) for table in tables)
    for table in tables if complete else []:
        list(
            in_threads(
                _standardise, (table[rows] for rows in row_blocks(table.shape, _BLOCK_VALUES))
            )
        )
    rho = np.empty(i.size)

    def correlate(pairs: slice) -> None:
        left, right = a[i_of[i[pairs]]], b[j_of[j[pairs]]]
        if not complete:
            alone = np.isnan(left) != np.isnan(right)
            for rows in (left, right):
                rows[alone] = np.nan
                _standardise(rows)
        rho[pairs] = np.einsum("ij,ij->i", left, right)

    list(in_threads(correlate, row_blocks((i.size, x.shape[1]), _BLOCK_VALUES)))
    return rho


def _used(rows: int, *numbers: IntegerArray) -> tuple[Int64Array, Int64Array]:
    """Which of so many rows are used, and each one's place among them."""
    used = np.zeros(rows, dtype=bool)
    for some in numbers:
        used[some] = True
    return np.flatnonzero(used), np.cumsum(used) - 1


def _standardise(rows: Float64Array) -> None:
    """Replace each row by its ranks with mean 0 and length 1: 0 where unknown; NaN if constant."""
    _average_ranks(rows, np.argsort(rows, axis=1), rows)
    known = ~np.isnan(rows)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    rows -= np.nansum(rows, axis=1, keepdims=True) / n
    rows[~known] = 0.0
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    rows /= np.where(length > 0.0, length, np.nan)


def row_orders(values: Float64Array) -> Int32Array:
    """The columns of each row from its smallest value to its largest, missing ones last.

    values : float64 (rows, columns). Equal values come in any order.
    """
    orders = np.empty(values.shape, dtype=np.int32)
    # NumPy's is vectorised.
    return map_rows(lambda block: np.argsort(block, axis=1), values, orders, _BLOCK_VALUES)


def average_ranks(values: Float64Array, out: Float64Array) -> None:
    """Write the ranks of each row's observed values into ``out``, from 1; ties share their mean.

    values : float64 (rows, columns), C-contiguous, NaN where missing, as ``out`` then is, which may
    be the same array.
    """

    def rank(rows: slice) -> None:
        _average_ranks(values[rows], np.argsort(values[rows], axis=1), out[rows])

    list(in_threads(rank, row_blocks(values.shape, _BLOCK_VALUES)))


@njit(nogil=True)
def _average_ranks(values, order, ranks):  # type: ignore[no-untyped-def]
    """Ranks from 1, as floats; equal values share the mean of theirs."""
    for row in range(values.shape[0]):
        ordered = values[row][order[row]]
        begin = 0
        while begin < ordered.size:
            end = begin + 1
            while end < ordered.size and ordered[end] == ordered[begin]:
                end += 1
            rank = 0.5 * (begin + 1 + end)
            if np.isnan(ordered[begin]):
                rank = np.nan
            for k in range(begin, end):
                ranks[row, order[row, k]] = rank
            begin = end
