"""Differences of a pair's correlation between strata of its samples, and their spread when samples
are permuted among strata. A thread takes an edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from pairtile.arrays import Float64Array, Int32Array
from pairtile.cpu.njit import njit

MIN_OF_STRATUM = 4
"""Samples without which a stratum has no Fisher z with a variance."""

MIN_OF_LABEL = 8
"""Samples that a label, and all others together, must have for a test."""


class Strata(NamedTuple):
    """``codes``: int32 (S,), -1 for a sample without one. ``permuted``: int32 (draws, S), the same
    permuted. ``level``: float64 (strata,), the number of each for a trend; empty: each stratum is
    held against the others. ``numbers``: float64 (S,), of the samples, for a trend."""

    codes: Int32Array
    permuted: Int32Array
    level: Float64Array
    numbers: Float64Array
    n_strata: int
    spearman: bool


class Contrasts(NamedTuple):
    """All float64 (B, contrasts), NaN where there is none. ``difference`` of Fisher z, ``spread``:
    its root mean square over the draws; ``r_in`` and ``r_out``: correlation in the stratum and in
    the others (of a trend: fitted to the highest and the lowest level). ``freedom``: degrees of
    freedom of the spread, those of its strata (2 n each) combined as by Satterthwaite."""

    difference: Float64Array
    spread: Float64Array
    r_in: Float64Array
    r_out: Float64Array
    freedom: Float64Array


@njit(parallel=True)
def compare_strata(i, j, values, usable, strata, out):  # type: ignore[no-untyped-def]
    """Fill ``out``: Contrasts of edges.

    i, j : int64 (B,), rows of ``values``, float64 (genes, S). usable : bool (B, S).
    """
    for edge in prange(i.size):
        _compare(edge, values[i[edge]], values[j[edge]], usable[edge], strata, out)


@njit()
def _compare(edge, x, y, usable, strata, out):  # type: ignore[no-untyped-def]
    n_contrasts = out.difference.shape[1]
    codes = np.where(usable, strata.codes, np.int32(-1))
    u, v = np.zeros(x.size), np.zeros(x.size)
    for stratum in range(strata.n_strata):
        members = np.flatnonzero(codes == stratum)
        there = members.size >= MIN_OF_STRATUM
        there = there and _standardise(x, members, strata, u)
        if not (there and _standardise(y, members, strata, v)):
            codes[members] = -1
    kept = np.flatnonzero(codes >= 0)
    u, v = u[kept], v[kept]
    z, weight = np.empty(strata.n_strata), np.empty(strata.n_strata)
    found = np.empty((4, n_contrasts))
    _fisher(u, v, codes[kept], z, weight)
    _contrasts(z, weight, strata.level, MIN_OF_LABEL - 3, found)
    out.difference[edge], out.r_in[edge], out.r_out[edge] = found[0], found[1], found[2]
    out.freedom[edge] = found[3]
    squares, number = np.zeros(n_contrasts), np.zeros(n_contrasts)
    for draw in range(strata.permuted.shape[0]):
        _fisher(u, v, strata.permuted[draw][kept], z, weight)
        _contrasts(z, weight, strata.level, 1, found)
        for k in range(n_contrasts):
            if np.isfinite(found[0, k]):
                squares[k] += found[0, k] ** 2
                number[k] += 1.0
    for k in range(n_contrasts):
        out.spread[edge, k] = np.sqrt(squares[k] / number[k]) if number[k] else np.nan


@njit()
def _standardise(values, members, strata, out):  # type: ignore[no-untyped-def]
    """Values (or average ranks) of members to mean 0 and variance 1; False where all are equal.

    Of a trend, what follows the numbers in a straight line within the stratum is taken off first:
    numbers far apart would correlate genes that follow them.
    """
    here = values[members]
    if strata.level.size:
        number = strata.numbers[members] - strata.numbers[members].mean()
        square = (number * number).sum()
        if square > 0.0 and here.min() < here.max():
            spread = here - here.mean()
            left = spread - number * ((number * spread).sum() / square)
            # What the line explains wholly is constant, not the rounding that is left of it.
            kept = (left * left).sum() > 1e-18 * (spread * spread).sum()
            here = left if kept else np.zeros(here.size)
    if strata.spearman:
        order = np.argsort(here)
        ranks = np.empty(here.size)
        begin = 0
        while begin < here.size:
            end = begin
            while end < here.size and here[order[end]] == here[order[begin]]:
                end += 1
            ranks[order[begin:end]] = 0.5 * (begin + end)
            begin = end
        here = ranks
    if here.min() == here.max():
        return False
    centred = here - here.mean()
    out[members] = centred / np.sqrt((centred * centred).mean())
    return True


@njit()
def _fisher(u, v, codes, z, weight):  # type: ignore[no-untyped-def]
    """Fisher z of each stratum, its small-sample bias taken off, and n - 3; weight 0: none."""
    sums = np.zeros((z.size, 6))
    for k in range(u.size):
        code = codes[k]
        if code >= 0:
            row = sums[code]
            row[0] += 1.0
            row[1] += u[k]
            row[2] += v[k]
            row[3] += u[k] * u[k]
            row[4] += v[k] * v[k]
            row[5] += u[k] * v[k]
    for stratum in range(z.size):
        n, su, sv, suu, svv, suv = sums[stratum]
        z[stratum], weight[stratum] = 0.0, 0.0
        if n < MIN_OF_STRATUM:
            continue
        across = (suu - su * su / n) * (svv - sv * sv / n)
        if across > 1e-12:
            r = (suv - su * sv / n) / np.sqrt(across)
            most = 1.0 - 6.0 / (n * (n * n - 1.0))  # half a step of Spearman's r below 1
            r = min(max(r, -most), most)
            z[stratum] = np.arctanh(r) - 0.5 * r / (n - 1.0)
            weight[stratum] = n - 3.0


@njit()
def _contrasts(z, weight, level, least, found):  # type: ignore[no-untyped-def]
    """Difference, r inside, r outside and freedom of each contrast; NaN with less weight than
    ``least``."""
    found[:] = np.nan
    total = weight.sum()
    if level.size:
        if total < 2.0 * least:
            return
        middle = (weight * level).sum() / total
        square = (weight * (level - middle) ** 2).sum()
        if square <= 0.0:
            return
        slope = (weight * (level - middle) * z).sum() / square
        mean = (weight * z).sum() / total
        found[0, 0] = slope * (level.max() - level.min())
        found[1, 0] = np.tanh(mean + slope * (level.max() - middle))
        found[2, 0] = np.tanh(mean + slope * (level.min() - middle))
        part = weight * (level - middle) ** 2
        found[3, 0] = square**2 / (part**2 / (2.0 * (weight + 3.0))).sum()
        return
    for k in range(z.size):
        others = total - weight[k]
        if weight[k] >= least and others >= least:
            rest = ((weight * z).sum() - weight[k] * z[k]) / others
            found[0, k] = z[k] - rest
            found[1, k] = np.tanh(z[k])
            found[2, k] = np.tanh(rest)
            part = weight / others**2
            part[k] = 1.0 / weight[k]
            found[3, k] = part.sum() ** 2 / (part**2 / (2.0 * (weight + 3.0))).sum()
