"""Kendall's tau-b on the CPU: planes have a bit for each pair of samples of a gene (``above``: its
value in the second is above that in the first; ``differ``: it is another). The pairs of samples on
whose order two genes disagree are then XOR and population count of words.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import prange

from pairtile.cpu.bit_planes import popcount
from pairtile.cpu.njit import njit

BLOCK: Final = 4
"""Rows that are compared with a column while it is at hand."""


@njit(parallel=True, nogil=True)
def add_disagreeing(x, y, diagonal, total):  # type: ignore[no-untyped-def]
    """Add to ``total`` (rows, columns) the pairs of samples on which genes without ties disagree.

    x, y : uint64 (rows, words), (columns, words): ``above``. Only columns after row + diagonal.
    """
    rows, words = x.shape
    for block in prange((rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        a, b = x[first], x[min(first + 1, rows - 1)]
        c, d = x[min(first + 2, rows - 1)], x[min(first + 3, rows - 1)]
        for column in range(max(0, first + diagonal + 1), len(y)):
            of_column = y[column]
            n_a = n_b = n_c = n_d = np.int64(0)
            for w in range(words):
                word = of_column[w]
                n_a += np.int64(popcount(a[w] ^ word))
                n_b += np.int64(popcount(b[w] ^ word))
                n_c += np.int64(popcount(c[w] ^ word))
                n_d += np.int64(popcount(d[w] ^ word))
            found = (n_a, n_b, n_c, n_d)
            for k in range(min(BLOCK, rows - first)):
                total[first + k, column] += found[k]


@njit(parallel=True, nogil=True)
def add_signs(x, y, diagonal, total):  # type: ignore[no-untyped-def]
    """Add to ``total`` the pairs of samples on which two genes agree less those where they
    disagree. x, y : (above, differ) of the rows and of the columns, uint64."""
    above_x, differ_x = x
    above_y, differ_y = y
    rows, words = above_x.shape
    for row in prange(rows):
        a, p = above_x[row], differ_x[row]
        for column in range(max(0, row + diagonal + 1), len(above_y)):
            b, q = above_y[column], differ_y[column]
            together = against = np.int64(0)
            for w in range(words):
                two = p[w] & q[w]
                together += np.int64(popcount(two))
                against += np.int64(popcount((a[w] ^ b[w]) & two))
            total[row, column] += together - 2 * against


@njit(parallel=True, nogil=True)
def add_both(x, y, diagonal, total):  # type: ignore[no-untyped-def]
    """Add to ``total`` the bits that a row's and a column's plane, uint64, have in common."""
    rows, words = x.shape
    for row in prange(rows):
        a = x[row]
        for column in range(max(0, row + diagonal + 1), len(y)):
            b = y[column]
            found = np.int64(0)
            for w in range(words):
                found += np.int64(popcount(a[w] & b[w]))
            total[row, column] += found


@njit(parallel=True, nogil=True)
def tie_sums(codes, members, sums):  # type: ignore[no-untyped-def]
    """Sums over the groups of t equal values of a gene among its members.

    codes : int32 (entries, samples). members : bool (entries, samples).
    sums : int64 (entries, 3), filled: of t (t - 1) / 2, t (t - 1) (t - 2), t (t - 1) (2 t + 5).
    """
    for entry in prange(len(codes)):
        values = np.sort(codes[entry][members[entry]])
        sums[entry] = 0
        begin = 0
        for k in range(1, values.size + 1):
            if k < values.size and values[k] == values[begin]:
                continue
            t = np.int64(k - begin)
            sums[entry, 0] += t * (t - 1) // 2
            sums[entry, 1] += t * (t - 1) * (t - 2)
            sums[entry, 2] += t * (t - 1) * (2 * t + 5)
            begin = k


@njit(nogil=True)
def pair_sums(x, y, total, ties):  # type: ignore[no-untyped-def]
    """Sums over the samples of pairs of genes, by comparing each sample with each.

    x, y : float64 (pairs, samples), NaN where missing in either.
    total : int64 (pairs,), filled: pairs of samples that agree in order less those that do not.
    ties : int64 (3, 2, pairs), filled: ``tie_sums`` of both genes.
    """
    for pair in range(len(x)):
        there = x[pair] == x[pair]
        a, b = x[pair][there], y[pair][there]
        agreeing = np.int64(0)
        ties[:, :, pair] = 0
        for i in range(a.size):
            equal_a, equal_b = np.int64(0), np.int64(0)
            for j in range(a.size):
                sign_a = np.int64(a[j] > a[i]) - np.int64(a[j] < a[i])
                sign_b = np.int64(b[j] > b[i]) - np.int64(b[j] < b[i])
                agreeing += sign_a * sign_b
                equal_a += sign_a == 0
                equal_b += sign_b == 0
            for gene, equal in enumerate((equal_a, equal_b)):
                others = equal - 1  # a group of t has t samples with t - 1 others
                ties[0, gene, pair] += others
                ties[1, gene, pair] += others * (others - 1)
                ties[2, gene, pair] += others * (2 * others + 7)
        ties[0, :, pair] //= 2  # each pair of samples was met twice
        total[pair] = agreeing // 2
