"""Rows with their samples permuted or resampled, scaled for B-splines as the whole data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairtile.arrays import DeviceArray, Float64Array, Int32Array, Int64Array
from pairtile.cpu.njit import njit, read_only
from pairtile.cpu.threaded import threaded
from pairtile.methods.mutual_information.kernels.exchange import Exchange
from pairtile.methods.mutual_information.kernels.philox import permute
from pairtile.splines.values import scale_rows

if TYPE_CHECKING:
    from pairtile.methods.mutual_information.kernels.permuted_rows_cuda import RowsOnGpu


@dataclass(frozen=True)
class Resampling:
    """Some samples of a data set, repetitions allowed, and what is done to the values of them.

    samples : int64 (number,), of the samples of the whole. order : int32, the ``row_orders`` of the
    whole where picked values are ranked anew, else empty (0, 0). top : what they are scaled to.
    on_gpu : the whole, order and top included, where a GPU does the work; rows are then CuPy's.
    """

    samples: Int64Array
    order: Int32Array
    top: float
    on_gpu: RowsOnGpu | None = None

    def rows(self, values: Float64Array) -> DeviceArray:
        """All rows of ``values`` at these samples: float64 (rows, number)."""
        if self.on_gpu is not None:
            return self.on_gpu.resampled(self.samples)
        out = np.empty((len(values), self.samples.size))
        _resample(read_only(values), self.samples, self.order, out)
        scale_rows(out, self.top, out)
        return out


def permuted_rows(
    values: Float64Array,
    genes: Int64Array,
    seed: int,
    side: int,
    pair_class: int,
    exchange: Exchange,
    resampling: Resampling | None = None,
) -> DeviceArray:
    """One permuted or shifted copy of each row in ``genes``, which may name a row more than once.

    A permutation exchanges observed values only: missing ones stay where they are, so that two
    genes share as many samples as they do in the data. A group that is shifted moves whole, by up
    to a quarter of its length on side 0 and by a half to three quarters on side 1: rows of the two
    sides are never closer to each other than a quarter of it. Of whole courses, none then stands
    beside itself.

    Draw number d of a (side, class) always gets the same permutation: it is keyed on (seed, class,
    side, d) through the counter of a Philox generator.

    Parameters
    ----------
    values : float64 (genes, samples), NaN where missing.
    genes : int64 (draws,)
    exchange
        Which samples may take each other's places.
    resampling
        Of a bootstrap: which samples it takes of each permuted row, and how they are scaled then.

    Returns
    -------
    float64 (draws, samples), of a bootstrap (draws, number of its samples)
    """
    if resampling is not None and resampling.on_gpu is not None:
        return resampling.on_gpu.permuted(
            genes, resampling.samples, seed, side, pair_class, exchange
        )
    samples = np.arange(values.shape[1]) if resampling is None else resampling.samples
    order = np.empty((0, 0), dtype=np.int32) if resampling is None else resampling.order
    out = np.empty((genes.size, samples.size))
    key = np.array([seed, 0x6E756C6C], dtype=np.uint64)  # "null": apart from other uses of the seed
    counter = np.array([0, 0, side, pair_class], dtype=np.uint64)
    _permute_and_resample(read_only(values), genes, (key, counter), exchange, samples, order, out)
    if resampling is not None:
        scale_rows(out, resampling.top, out)
    return out


@threaded(entries=1 << 12)
def _resample(first, last, values, samples, order, out):  # type: ignore[no-untyped-def]
    for row in range(first, last):
        if order.size:
            _picked_ranks(values[row], order[row], samples, out[row])
        else:
            for k in range(samples.size):
                out[row, k] = values[row, samples[k]]


@threaded(entries=1 << 10)
def _permute_and_resample(  # type: ignore[no-untyped-def]
    first, last, values, genes, key_and_counter, exchange, samples, order, out
):
    key, counter = key_and_counter
    for draw in range(first, last):
        gene = genes[draw]
        here = counter.copy()
        here[1] = draw
        permuted = np.empty(values.shape[1], dtype=np.int64)
        permute(key, here, permuted)
        picked = _exchanged(values[gene], permuted, exchange, counter[2] == 1)[samples]
        if order.size:
            _picked_ranks(values[gene], order[gene], picked, out[draw])
        else:
            for k in range(picked.size):
                out[draw, k] = values[gene, picked[k]]


@njit()
def _exchanged(row, permuted, exchange, second_side):  # type: ignore[no-untyped-def]
    """Which sample's value each sample takes, from a random order of all samples."""
    by_group, start, group, step = exchange
    picked = np.arange(row.size)
    place = start[:-1].copy()  # of the next sample of each group that takes a value
    for sample in permuted:
        g = group[sample]
        if step[g] or np.isnan(row[sample]):
            continue
        while np.isnan(row[by_group[place[g]]]):
            place[g] += 1
        picked[by_group[place[g]]] = sample
        place[g] += 1
    for g in range(step.size):
        if not step[g]:
            continue
        begin, size = start[g], start[g + 1] - start[g]
        # A number from the random order: below the number of samples, so its remainder is even
        # but for a part in (samples / quarter).
        number = size // step[g]
        shift = permuted[begin] % (number // 4 + 1) + (number // 2 if second_side else 0)
        shift *= step[g]
        for k in range(size):
            picked[by_group[begin + k]] = by_group[begin + (k + shift) % size]
    return picked


@njit()
def _picked_ranks(values, order, picked, out):  # type: ignore[no-untyped-def]
    """Average ranks among the picked values, from 1; NaN for a missing one.

    By counting how often each is picked, along the order of all: no sort.
    """
    times = np.zeros(values.size, dtype=np.int64)
    for sample in picked:
        times[sample] += 1
    ranks = np.empty(values.size)
    below = 0
    begin = 0
    while begin < order.size:
        value = values[order[begin]]
        end = begin
        equal = 0
        while end < order.size and values[order[end]] == value:
            equal += times[order[end]]
            end += 1
        rank = 0.5 * (below + 1 + (below + equal))
        if end == begin:  # not equal to itself: this one and all that follow are missing
            rank = np.nan
            end = order.size
        for k in range(begin, end):
            ranks[order[k]] = rank
        below += equal
        begin = end
    for k in range(picked.size):
        out[k] = ranks[picked[k]]
