"""Differential co-expression: is a pair of genes correlated differently under a condition?

The samples of a pair fall into strata: the labels of a categorical condition; of an ordinal or
quantitative one, runs of samples with neighbouring values. In each stratum both genes are centred
and scaled by themselves, so that no shift of a gene between strata counts; of numbers, what follows
them in a straight line within a stratum is taken off first. Of counted genes, counting noise that
differs between strata is made equal (``counting_noise``). Fisher's z of a label is held
against the mean of the others, weighted by n - 3; of numbers, the trend of z is taken. How far that
strays by chance is found by permuting samples among strata, where they are exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.kernels.coexpression import (
    MIN_OF_LABEL,
    Contrasts,
    Strata,
    compare_strata,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples
from pairtile.runtime.record import Progress
from pairtile.statistics.counting_noise import Counts
from pairtile.statistics.exchangeable import Exchangeable

DRAWS: Final = 400
"""Permutations: the spread, and with it the statistic, is known to 3.5 %."""

POWER_PAIRS: Final = 200
"""Pairs simulated for each correlation: a power of 0.8 is known to 0.03."""


@dataclass(frozen=True)
class DifferentialCoexpression:
    """Tests of M edges for L labels (or one trend).

    r_label, r_others : float64 (M, L), correlation of the samples with the label, and of the
        others (mean of their labels'); of a trend, fitted to the highest and the lowest stratum.
    p_value : float64 (M, L), two-sided; NaN where there was nothing to test.
    unequal_noise : bool (M,), whether counting noise of either gene differs between strata.
    """

    r_label: NDArray[np.float64]
    r_others: NDArray[np.float64]
    p_value: NDArray[np.float64]
    unequal_noise: NDArray[np.bool_]


def differential_coexpression(
    modes: ModeSamples,
    condition: Condition,
    exchangeable: Exchangeable,
    spearman: bool,
    draws: int = DRAWS,
    counts: Counts | None = None,
) -> DifferentialCoexpression:
    """Test the pair of each mode for a correlation that goes with the condition.

    All samples take part that the pair's mixture could place in a mode and that have a label, not
    those of the mode alone. The difference of Fisher's z over its root mean square in permutations
    is referred to Student's t, with the degrees of freedom of its strata (2 n each, combined as by
    Satterthwaite), at most the units exchanged - 2. A label with fewer than 8 samples, or all
    others with fewer, is not tested; nor is one that no permutation moves, as where each batch has
    one label. With ``counts``, those of genes whose noise differs between strata are thinned to
    that of the noisiest; a stratum in which a gene has next to no counts is left out.

    Notes
    -----
    Fisher 1921, Metron 1:3 (z and its bias); permutation within blocks: Winkler et al. 2015,
    NeuroImage 123:253.
    """
    codes, level = _strata(condition)
    n_strata = len(level) if level.size else len(condition.labels)
    n_contrasts = 1 if condition.kind != "categorical" else n_strata
    found = Contrasts(*(np.full((len(modes), n_contrasts), np.nan) for _ in Contrasts._fields))
    unequal = np.zeros(len(modes), dtype=bool)
    if not len(modes) or n_strata < 2:
        return DifferentialCoexpression(found.r_in, found.r_out, found.difference, unequal)
    permuted, units = exchangeable.permute(codes, draws)
    numbers = np.asarray(condition.numbers, dtype=np.float64)
    strata = Strata(codes, permuted, level, numbers, n_strata, spearman)
    genes, places = np.unique(np.stack([modes.i, modes.j]), return_inverse=True)
    i, j = places.reshape(2, -1)
    values = np.ascontiguousarray(modes.values[genes], dtype=np.float64)
    if counts is not None:
        values, of_genes = counts.equalised(values, genes, codes)
        unequal = of_genes[i] | of_genes[j]
    seen = ~np.isnan(values)
    progress = Progress(len(modes), f"modes tested for {condition.name}")
    for block in modes.blocks():
        rows = block.rows
        usable = np.ascontiguousarray(block.usable & seen[i[rows]] & seen[j[rows]])
        part = Contrasts(*(np.full((len(usable), n_contrasts), np.nan) for _ in Contrasts._fields))
        compare_strata(i[rows], j[rows], values, usable, strata, part)
        for whole, here in zip(found, part, strict=True):
            whole[rows] = here
        progress.advance(len(usable))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(found.spread > 1e-9, found.difference / found.spread, np.nan)
    moved = (permuted != codes).any()
    freedom = np.minimum(found.freedom, max(1, units - 2))
    p = np.asarray(
        2.0 * scipy.stats.t.sf(np.abs(t), freedom) if moved else np.full(t.shape, np.nan)
    )
    return DifferentialCoexpression(found.r_in, found.r_out, p, unequal)


def detectable_correlation(
    condition: Condition,
    label: int,
    exchangeable: Exchangeable,
    spearman: bool,
    level: float,
    power: float = 0.8,
) -> float:
    """The least correlation under a label, against none in the others, that the test of one edge
    at ``level`` finds with this power; of a trend, that at the highest value against none at the
    lowest.

    Simulated: ``POWER_PAIRS`` pairs of normal genes, observed in every sample, halving Fisher's z
    seven times. NaN where not even 0.999 is found, or nothing is tested.
    """
    values = np.random.default_rng(0x706F7765).standard_normal(
        (2 * POWER_PAIRS, len(condition.codes))
    )
    x, noise = values[:POWER_PAIRS], values[POWER_PAIRS:]
    if condition.kind == "categorical":
        share = (condition.codes == label).astype(np.float64)
    else:
        share = np.nan_to_num(condition.numbers - np.nanmin(condition.numbers))
        share /= max(share.max(), np.finfo(float).tiny)
    row = np.arange(POWER_PAIRS)
    nowhere = np.zeros((POWER_PAIRS, -(-x.shape[1] // 8)), np.uint8)

    def is_found(z: float) -> bool:
        r = np.tanh(z * share)
        y = r * x + np.sqrt(1.0 - r * r) * noise
        pairs = ModeSamples(row, row + POWER_PAIRS, nowhere, np.concatenate([x, y]))
        p = differential_coexpression(pairs, condition, exchangeable, spearman).p_value[:, label]
        return bool((p <= level).mean() >= power)  # NaN is not

    low, high = 0.0, float(np.arctanh(0.999))
    if not is_found(high):
        return float("nan")
    for _ in range(7):
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return float(np.tanh(high))


def _strata(condition: Condition) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Stratum of each sample, and the mean number of each stratum (empty for labels)."""
    if condition.kind == "categorical":
        return np.asarray(condition.codes, dtype=np.int32), np.empty(0)
    numbers = np.asarray(condition.numbers, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(numbers))
    order = known[np.argsort(numbers[known], kind="stable")]
    # At most ten strata of an ordinal or quantitative condition.
    least = max(MIN_OF_LABEL, -(-known.size // 10))
    codes = np.full(numbers.size, -1, dtype=np.int32)
    number, begin = 0, 0
    for end in range(1, order.size + 1):
        tied = end < order.size and numbers[order[end]] == numbers[order[end - 1]]
        if not tied and end - begin >= least and (order.size - end >= least or end == order.size):
            codes[order[begin:end]] = number
            number, begin = number + 1, end
    if begin < order.size:  # too few are left, or all are tied
        codes[order[begin:]] = max(0, number - 1)
    level = [numbers[codes == k].mean() for k in range(codes.max(initial=-1) + 1)]
    return codes, np.array(level)
