"""Which kind of values a table holds: counts, estimated counts, intensities, shares, logarithms.

No single mark tells them apart, so several are looked at together: whole numbers, zeros and what
lies between them and the smallest value, range, sums of samples, and what a logarithm would be of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.large_table import empty_table, map_rows, releasing, row_blocks
from pairtile.io.cells import sample_of_cells, whole_multiples
from pairtile.io.expression import Expression
from pairtile.io.sparse_rows import SparseRows, Values, columns_of, stored_values
from pairtile.runtime.threads import in_threads

_HIGH_QUANTILE = 100.0
_WIDE_RANGE = 50.0
MIN_COUNT = 20
"""Whole numbers that never reach this may be levels or classes, not counts."""

MIN_WHOLE_SHARE = 0.05
"""Least share of whole numbers among estimated counts: genes that share no read with others have
them. Values of one decimal are whole in a tenth of the cases, of two in a hundredth, by rounding
alone; three times as many are asked for."""

MAX_DECIMALS = 9
MIN_INTENSITY = 100.0
"""Intensities begin here: where values have decimals and zeros, and hardly one lies between 0 and
this, zero means "not detected". Of whole numbers ten times as much is asked for."""

MAX_TOTALS_VARIATION = 0.01
"""Relative standard deviation of totals up to which values are shares of them, as TPM are."""

MIN_POSITIVE, MIN_PANEL = 20, 50
"""Genes above zero in every sample on which size factors can rest (or half of all genes); genes
that follow a factor of the sample, by which it is told: fewer may be two modules."""

MIN_SMALL_VALUES, MIN_SMALL_COUNTS = 100, 5
"""Values below 50 without the logarithm, and different ones, by which counts can be told."""

MAX_VALUES = 1 << 22
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Scale:
    """What the values of a table say about its scale.

    Quantiles are of the observed values other than zero; NaN when there are none. ``lowest``: their
    1 % quantile. ``zero_share``: of zeros among the observed values (of a sparse table among those
    that it stores). ``whole_share``: of whole numbers among the values other than the commonest.
    ``decimals``: digits behind the point that hold all values, at most ``MAX_DECIMALS``.
    """

    minimum: float
    maximum: float
    lower_quartile: float
    quantile_99: float
    whole_numbers: bool
    n_negative: int
    lowest: float = math.nan
    zero_share: float = 0.0
    whole_share: float = 0.0
    decimals: int = 0

    @property
    def looks_raw(self) -> bool:
        """GEO2R's rule: 99% quantile above 100, or range above 50 and lower quartile above 0."""
        return self.quantile_99 > _HIGH_QUANTILE or (
            self.maximum - self.minimum > _WIDE_RANGE and self.lower_quartile > 0
        )

    @property
    def looks_counted(self) -> bool:
        """Whether all values are whole and none is negative, as read counts are."""
        return self.whole_numbers and self.n_negative == 0

    @property
    def estimated(self) -> bool:
        """Whether these are counts with decimals, as Salmon, RSEM and kallisto estimate them."""
        least = max(MIN_WHOLE_SHARE, 3.0 * 10.0**-self.decimals)
        decimals = not (self.whole_numbers or self.n_negative)
        return decimals and self.maximum >= MIN_COUNT and self.whole_share >= least

    @property
    def zeros_missing(self) -> bool:
        """Whether zero means "not detected": there are some, and nothing lies just above them."""
        if self.looks_raw:
            floor = MIN_INTENSITY * (10.0 if self.whole_numbers else 1.0)
        else:
            floor = np.inf if self.whole_numbers else max(3.0, self.lower_quartile / 2.0)
        return self.zero_share >= 0.01 and not self.n_negative and self.lowest >= floor

    @property
    def is_counts(self) -> bool:
        """Whether these are counts indeed, whole or estimated, and not levels or intensities."""
        # No gene has as many reads: larger whole numbers are intensities.
        whole = self.looks_counted and MIN_COUNT <= self.maximum < 1e8
        return (whole or self.estimated) and not self.zeros_missing

    @property
    def levels_or_counts(self) -> bool:
        """Whether small whole numbers are rare as those of shallow samples: most are zero, most
        others one, and some larger than classes use to be."""
        small = self.looks_counted and 3.0 < self.maximum < MIN_COUNT
        return small and self.zero_share >= 0.5 and self.lower_quartile <= 1.0

    @property
    def kind(self) -> str:
        """The kind of values, in words."""
        if self.is_counts:
            return "estimated counts" if self.estimated else "counts"
        if self.looks_counted and not self.looks_raw:
            return "levels"
        if self.n_negative:
            return "differences, ratios or logarithms (some are below 0)"
        if not self.looks_raw:
            return "shares" if self.maximum <= 1.0 else "logarithms"
        detected = self.zeros_missing or self.whole_numbers
        return "intensities" if detected else "normalised counts or intensities"

    @property
    def description(self) -> str:
        """The numbers that the rules look at."""
        return (
            f"of the values other than zero, the 99% quantile is {self.quantile_99:.4g}, the lower "
            f"quartile {self.lower_quartile:.4g}, the range {self.maximum - self.minimum:.4g} "
            f"({self.minimum:.4g} to {self.maximum:.4g}), {self.whole_share:.0%} are whole numbers"
        )


def measure_scale(values: np.ndarray) -> Scale:
    """Measure ``values`` of any shape, NaN where missing; of a sparse table those that it stores.

    The rule of ``looks_raw`` is that of NCBI's GEO2R (its R script's "log2 transform" block), which
    takes quantiles over all values. Here zeros are left out: they are the same on either scale, and
    in sparse tables (single cells) they are most of the values and would hide the rest. Older
    scripts have a third clause (quartiles about 1) that takes fractions for raw; it is not used.
    In a table of more than ``MAX_VALUES``, quantiles are those of so many values drawn from it.
    """
    random = np.random.default_rng(0)
    drawn, tallies = [], []
    flat = values.reshape(-1)
    parts = [flat[begin : begin + _BLOCK] for begin in range(0, max(1, flat.size), _BLOCK)]
    for seen, tally in releasing(in_threads(_seen_values, parts), values):
        tallies.append(tally)
        if flat.size > MAX_VALUES:
            seen = random.choice(seen, -(-seen.size * MAX_VALUES // flat.size))
        drawn.append(seen)
    n_seen, n_zero, n_negative, n_broken = (
        int(sum(n)) for n in list(zip(*tallies, strict=True))[2:]
    )
    if not n_seen:
        return Scale(math.nan, math.nan, math.nan, math.nan, whole_numbers=True, n_negative=0)
    all_drawn, whole = np.concatenate(drawn), not n_broken
    low, top = min(tally[0] for tally in tallies), max(tally[1] for tally in tallies)
    few = all_drawn[:: max(1, all_drawn.size // 10_000)]
    distinct, times = np.unique(few, return_counts=True)
    others = few[few != distinct[times.argmax()]]  # which may be a floor or a ceiling
    lowest, quartile, high = np.quantile(all_drawn, [0.01, 0.25, 0.99], overwrite_input=True)
    return Scale(
        minimum=low,
        maximum=top,
        lower_quartile=float(quartile),
        quantile_99=float(high),
        whole_numbers=whole,
        n_negative=n_negative,
        lowest=float(lowest),
        zero_share=n_zero / (n_zero + n_seen),
        whole_share=float((others == np.rint(others)).mean()) if others.size else float(whole),
        decimals=next(
            d for d in range(MAX_DECIMALS + 1) if d == MAX_DECIMALS or in_decimals(few, d).all()
        ),
    )


def _seen_values(part: NDArray[np.floating]) -> tuple[NDArray[np.float64], list[float]]:
    """The observed values other than zero; the lowest and the highest of these, their number, that
    of zeros, of negative values and of fractions."""
    zero = part == 0
    seen = part[~(np.isnan(part) | zero)].astype(np.float64, copy=False)
    low, high = seen.min(initial=math.inf), seen.max(initial=-math.inf)
    marks = (zero, seen < 0, seen != np.rint(seen))
    return seen, [float(low), float(high), seen.size, *map(np.count_nonzero, marks)]


def in_decimals(values: NDArray[np.float64], decimals: int) -> NDArray[np.bool_]:
    """Which values so many decimals hold, but for rounding."""
    scaled = values * 10.0**decimals
    rounding = np.clip(1e-9 * np.abs(scaled), 1e-9, 0.01)
    return np.asarray(np.abs(scaled - np.rint(scaled)) <= rounding)


# What the values were made of, where that can be undone.

INVERSES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "divided by one number in each sample": lambda x: x,
    "log2(1 + x)": lambda x: np.exp2(x) - 1.0,
    "ln(1 + x)": np.expm1,
    "log10(1 + x)": lambda x: 10.0**x - 1.0,
    "log2(x)": np.exp2,
    "ln(x)": np.exp,
    "log10(x)": lambda x: 10.0**x,
}


def undo_scaling(
    expression: Expression, scale: Scale, scratch: Path | None
) -> tuple[Expression, str, bool] | None:
    """The counts that logarithms or a common total were made of, or the shares of a total, or the
    values that a factor of the sample multiplies, whose logarithms a table holds, by what they
    were made, and whether they are counts; None where neither can be told.

    Without the logarithm, counts are whole, or whole multiples of the smallest value of their
    sample, which is another in each sample; shares have the same sum in each.
    """
    values = expression.values
    if scale.whole_numbers or scale.estimated or scale.maximum == np.inf:
        return None
    some = columns_of(values, sample_of_cells(values.shape[1])).T
    if np.isnan(some).any():
        return None
    # All values are multiples of the last digit that was written.
    smallest = np.median(np.where(some > 0.0, some, np.inf).min(axis=1))
    in_digits = scale.decimals < MAX_DECIMALS and smallest < 100.0 * 10.0**-scale.decimals
    for how, inverse in INVERSES.items():
        logarithm = inverse is not INVERSES["divided by one number in each sample"]
        if scale.n_negative and ("1 +" in how or not logarithm):
            continue
        if isinstance(values, SparseRows) and logarithm and "1 +" not in how:
            break  # what is not stored would not stay 0
        # 2 to the power of 64 is no count and no intensity.
        if logarithm and (scale.looks_raw or scale.maximum > 64.0):
            break
        linear = inverse(some)
        whole = logarithm and _small_values_are_whole(linear)
        multiples = not (whole or in_digits) and whole_multiples(linear)
        if whole or multiples:
            return _counts(expression, inverse, multiples, scratch), how, True
        totals = linear.sum(axis=1)
        equal = totals.std() <= MAX_TOTALS_VARIATION * totals.mean()
        factors = unequal_factors(linear.T) if logarithm else None
        if (
            factors
            and isinstance(values, np.ndarray)
            # Where no common sum tells how, zeros do: 1 was added where there are some.
            and (equal or (factors.followed and ("1 +" in how) == (scale.zero_share > 0.0)))
        ):
            shares = map_rows(inverse, values, empty_table(values.shape, scratch))
            return replace(expression, values=shares), how, False
    return None


class SizeFactors(NamedTuple):
    """Size factors that are larger than chance.

    factor, gene : standard deviations of their log2 and, beside these, of that of the median gene.
    n_genes : genes that they rest on. followed : whether all genes follow them, one as the other.
    """

    factor: float
    gene: float
    n_genes: int
    followed: bool


def unequal_factors(values: NDArray[np.float64]) -> SizeFactors | None:
    """Size factors (median of ratios), where they are larger than chance; None where they are not,
    or where few genes are above zero in all of these samples.

    What belongs to a sample, as its depth or the brightness of its array, moves all genes by the
    same factor; what genes have in common moves some more, some less, some the other way.

    values : float64 (genes, samples), NaN where missing.
    """
    values = values[:: -(-values.size // _BLOCK) or 1]  # of many genes some
    logs = np.log2(values[(values > 0.0).all(axis=1)])
    if len(logs) < min(MIN_POSITIVE, (len(values) + 1) // 2):
        return None
    logs -= logs.mean(axis=1, keepdims=True)
    factors = np.median(logs, axis=0)
    genes = float(np.median((logs - factors).std(axis=1)))
    by_chance = 2.0 * np.pi / 2.0 / len(logs)  # twice the variance of a median of so many genes
    # A hundredth of a gene's variance is a correlation of 0.01 between all genes.
    if factors.var() <= (0.01 + by_chance) * genes**2:
        return None
    factors -= factors.mean()
    slopes = logs @ factors / (factors @ factors)  # 1 where a gene follows
    noise = (logs - np.outer(slopes, factors)).var(axis=1) / (factors @ factors)
    # Robust to genes of other causes; 0.6745 is the median size of a standard normal variable.
    off = np.median(np.abs(slopes - 1.0)) / 0.6745
    # The slopes of genes that all follow the factor differ by .2 at most in simulated depths of
    # counts, by .42 in arrays with a background; by .55 and more in compendia, modules and batches
    # (bsub, rice, syntren300).
    alike = off**2 - np.median(noise) < 0.45**2
    # At most .05 of the genes change the other way in simulations, .12 and more of what genes have
    # in common (pf3d7, rice, bsub).
    followed = bool(alike and (slopes < 0.0).mean() <= 0.08)
    return SizeFactors(float(factors.std()), genes, len(logs), followed and len(logs) >= MIN_PANEL)


def _small_values_are_whole(linear: NDArray[np.float64]) -> bool:
    small = linear[(linear > 0.5) & (linear < _WIDE_RANGE)]
    whole = np.rint(small)
    are_whole = small.size >= MIN_SMALL_VALUES and (np.abs(small - whole) < 0.02).mean() > 0.99
    return bool(are_whole and np.unique(whole).size >= MIN_SMALL_COUNTS)  # sorts, so last


def _counts(
    expression: Expression,
    inverse: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    multiples: bool,
    scratch: Path | None,
) -> Expression:
    """The table of counts; ``multiples``: of the smallest value of each sample."""
    values, unit = expression.values, np.full(expression.values.shape[1], 1.0)
    if multiples:
        unit[:] = np.inf
        for rows in row_blocks(values.shape):
            linear = inverse(values[rows])
            np.minimum(unit, np.where(linear > 0.0, linear, np.inf).min(axis=0), out=unit)
    if isinstance(values, SparseRows):  # 1 + x: what is not stored stays 0
        matrix = values.matrix.copy()
        matrix.data = np.rint(inverse(matrix.data.astype(np.float64)) / unit[matrix.indices])
        return replace(expression, values=SparseRows(matrix))
    counts = map_rows(
        lambda block: np.rint(inverse(block) / unit), values, empty_table(values.shape, scratch)
    )
    return replace(expression, values=counts)


def whole_counts(
    values: Values, scratch: Path | None = None, scale: Scale | None = None
) -> NDArray[np.unsignedinteger] | None:
    """Counts (genes, samples) in the smallest type that holds them, estimated ones rounded, 0 where
    missing; None where the values are none. Many are mapped from a file in ``scratch``. ``scale``:
    of the values, where it is known."""
    scale = scale or measure_scale(stored_values(values))
    if not scale.is_counts or scale.maximum > 2.0**53:
        return None
    found = empty_table(values.shape, scratch, np.min_scalar_type(int(scale.maximum) + 1))
    return map_rows(lambda block: np.rint(np.nan_to_num(block)), values, found)
