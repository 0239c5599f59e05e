"""Transfer entropy of levels on CPU and GPU, and how large it is by chance. Arrays in, arrays out.

The statistic of a pair is its transfer entropy at the best lag as a normal deviate: G = 2 n ln 2 TE
is about chi-square for unrelated series, and its cube root nearly normal (Wilson & Hilferty 1931,
PNAS 17:684). So pairs of few and of many degrees of freedom can be compared. What the levels' own
course adds is in the null: the same statistic of sources whose samples are in another order, while
each target keeps its past and its next level side by side.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import DeviceArray, Float64Array
from pairtile.cpu.bit_planes import bit_planes
from pairtile.gpu.compiling import load
from pairtile.gpu.device import Device
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import n_log_n_table
from pairtile.methods.predictor_pairs.kernels.transfer_entropy import (
    TransferScores,
    transfer_entropies,
)
from pairtile.runtime.threads import in_threads
from pairtile.statistics.tail import MIN_COUNTED, TAIL_DRAWS, tail_p_values

KERNEL = Path(__file__).parent / "kernels" / "transfer_entropy.cu"

BLOCK_SOURCES = 16
"""Sources that a thread takes together."""

GPU_THREADS = 128


def target_cells(
    history: NDArray[np.int8], targets: NDArray[np.int8], n_levels: int
) -> NDArray[np.int16]:
    """Past and next level of targets as one number, -1 where one of them is missing.

    history : int8 (steps, n_targets, n_samples), the levels before, latest first. targets : int8
    (n_targets, n_samples), the next ones.
    """
    cells = targets.astype(np.int16)
    missing = cells < 0
    for step, past in enumerate(history, start=1):
        cells += past.astype(np.int16) * n_levels**step
        missing |= past < 0
    cells[missing] = -1
    return cells


def score_transfer(
    sources: NDArray[np.int8],
    cells: NDArray[np.int16],
    n_cells: int,
    n_levels: int,
    min_samples: int,
    device: Device,
) -> TransferScores:
    """Transfer entropy of every source with every target, arrays (n_sources, n_targets) on the
    device.

    sources : int8 (n_sources, lags, n_samples), -1 missing. cells : ``target_cells``.
    """
    n_sources, lags, n_samples = sources.shape
    planes = bit_planes(sources.reshape(-1, n_samples), n_levels)
    of_targets, table = bit_planes(cells, n_cells), n_log_n_table(n_samples)
    xp, shape = device.xp, (n_sources, len(cells))
    kinds = (xp.float64, xp.float64, xp.int32, xp.int32, xp.int8)
    scores = TransferScores(*(xp.empty(shape, dtype=kind) for kind in kinds))
    least = max(min_samples, 1)
    if device.backend == "cuda" and n_sources:
        module = load(KERNEL, {"LEVELS": n_levels, "CELLS": n_cells}, fused=False)
        words = planes.shape[-1]
        beside_each_other = xp.ascontiguousarray(xp.asarray(of_targets).transpose(1, 2, 0))
        numbers = (np.int32(n) for n in (n_sources, len(cells), lags, words))
        module.get_function("transfer_entropy")(
            (n_sources, -(-len(cells) // GPU_THREADS)),
            (GPU_THREADS,),
            (
                *(xp.asarray(planes), beside_each_other, *numbers, xp.asarray(table)),
                *(np.int32(least), *scores),
            ),
        )
        return scores

    def run(begin: int) -> None:
        rows = slice(begin, begin + BLOCK_SOURCES)
        block = TransferScores._make(values[rows] for values in scores)
        of_rows = planes[begin * lags : (begin + BLOCK_SOURCES) * lags]
        transfer_entropies(of_rows, lags, of_targets, table, least, block)

    list(in_threads(run, range(0, n_sources, BLOCK_SOURCES)))
    return scores


def statistic(scores: TransferScores, device: Device, inflation: float = 1.0) -> DeviceArray:
    """The statistic of pairs; minus infinity where a level never changes beside any history, or
    samples are too few. inflation : factor of the transfer entropy."""
    xp = device.xp
    freedom = xp.maximum(scores.freedom, 1).astype(np.float64)
    g = 2.0 * np.log(2.0) * inflation * scores.n_samples * scores.transfer_bits
    spread = 2.0 / (9.0 * freedom)
    deviate = (xp.cbrt(g / freedom) - 1.0 + spread) / xp.sqrt(spread)
    return xp.where(scores.freedom > 0, deviate, -np.inf)


class TransferNull(NamedTuple):
    """The statistic by chance.

    mean, spread : float64 (targets,), of its draws with each target. standardised : float64,
    ascending, all draws less the mean of their target, over its spread.
    """

    mean: Float64Array
    spread: Float64Array
    standardised: Float64Array

    @classmethod
    def from_draws(cls, draws: Float64Array) -> Self:
        """From draws (draws, targets), not finite where there is none."""
        known = np.ma.masked_invalid(draws)
        mean, spread = known.mean(axis=0).filled(0.0), known.std(axis=0, ddof=1).filled(1.0)
        spread[spread == 0.0] = 1.0
        return cls(mean, spread, np.sort(((known - mean) / spread).compressed()))

    def p_values(self, statistic: Float64Array, target: NDArray[np.integer]) -> Float64Array:
        """p of pairs: the share of the draws with all targets that are as large, each standardised
        by those with its own target; beyond the largest by the fitted tail. NaN without draws."""
        null = self.standardised
        if not null.size:
            return np.full(statistic.shape, np.nan)
        own = (statistic - self.mean[target]) / self.spread[target]
        as_large = null.size - np.searchsorted(null, own, side="left")
        return tail_p_values(own, as_large, null.size, null[::-1][: TAIL_DRAWS + 1])

    def least(self, p: float) -> Float64Array:
        """Of each target the statistic from which on no p is larger; lower where few draws are as
        large."""
        above = max(int(p * self.standardised.size), MIN_COUNTED) + 1
        if above >= self.standardised.size:
            return np.full(self.mean.shape, -np.inf)
        return self.mean + self.spread * self.standardised[-above]
