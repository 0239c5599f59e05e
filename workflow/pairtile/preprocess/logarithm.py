"""Whether a table is raw or logarithmic, and the logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.state import release
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.runtime.threads import in_threads

_HIGH_QUANTILE = 100.0
_WIDE_RANGE = 50.0
MIN_COUNT = 20
"""Whole numbers that never reach this may be levels or classes, not counts."""

MAX_VALUES = 1 << 22
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Scale:
    """What the values of a table say about its scale.

    Quantiles are of the observed values other than zero; NaN when there are none.
    """

    minimum: float
    maximum: float
    lower_quartile: float
    quantile_99: float
    whole_numbers: bool
    n_negative: int

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
    def counted(self) -> bool:
        """Whether these are counts indeed, and not levels."""
        return self.looks_counted and self.maximum >= MIN_COUNT

    @property
    def description(self) -> str:
        """The numbers that the rule looks at."""
        return (
            f"of the values other than zero, the 99% quantile is {self.quantile_99:.4g}, the lower "
            f"quartile {self.lower_quartile:.4g}, the range {self.maximum - self.minimum:.4g} "
            f"({self.minimum:.4g} to {self.maximum:.4g})"
        )


def measure_scale(values: np.ndarray) -> Scale:
    """Measure ``values`` of any shape, NaN where missing; of a sparse table those that it stores.

    The rule is that of NCBI's GEO2R (its R script's "log2 transform" block), which takes
    quantiles over all values. Here zeros are left out: they are the same on either scale, and in
    sparse tables (single cells) they are most of the values and would hide the rest. Older
    scripts have a third clause (quartiles about 1) that takes fractions for raw; it is not used.
    In a table of more than ``MAX_VALUES``, quantiles are those of so many values drawn from it.
    """
    low, top, n_negative, whole = math.inf, -math.inf, 0, True
    random = np.random.default_rng(0)
    drawn = []
    flat = values.reshape(-1)
    parts = [flat[begin : begin + _BLOCK] for begin in range(0, flat.size, _BLOCK)]
    for seen, part in in_threads(_measure_part, parts):
        release(values)
        if not seen.size:
            continue
        low, top = min(low, part.minimum), max(top, part.maximum)
        n_negative += part.n_negative
        whole = whole and part.whole_numbers
        if flat.size > MAX_VALUES:
            seen = random.choice(seen, -(-seen.size * MAX_VALUES // flat.size))
        drawn.append(seen)
    if not drawn:
        return Scale(math.nan, math.nan, math.nan, math.nan, whole_numbers=True, n_negative=0)
    quartile, high = np.quantile(np.concatenate(drawn), [0.25, 0.99], overwrite_input=True)
    return Scale(low, top, float(quartile), float(high), whole, n_negative)


def _measure_part(part: NDArray[np.floating]) -> tuple[NDArray[np.float64], Scale]:
    """The observed values other than zero, and what they say but for quantiles."""
    seen = part[~np.isnan(part) & (part != 0)].astype(np.float64, copy=False)
    if not seen.size:
        return seen, Scale(math.nan, math.nan, math.nan, math.nan, True, 0)
    n_negative, whole = int((seen < 0).sum()), bool((seen == np.rint(seen)).all())
    low, top = float(seen.min()), float(seen.max())
    return seen, Scale(low, top, math.nan, math.nan, whole, n_negative)


def take_log2(
    values: np.ndarray, expression: Expression, pseudocount: float, rows: NDArray[np.int64]
) -> np.ndarray:
    """Replace ``values``, the genes ``rows`` of a table, by log2(values + pseudocount), in place.

    Without pseudocount, zeros become missing. Returns the number of these for each gene, int32.
    Raises InputError naming gene and sample if a value is too low for the logarithm.
    """
    _check_positive(values, rows, expression, pseudocount)
    n_zeros = np.zeros(len(values), dtype=np.int32)
    if pseudocount:
        values += pseudocount
    else:
        zero = values == 0
        n_zeros[:] = zero.sum(axis=1)
        values[zero] = np.nan
    np.log2(values, out=values)
    return n_zeros


def _check_positive(
    block: np.ndarray, rows: NDArray[np.int64], expression: Expression, pseudocount: float
) -> None:
    too_low = (block < 0) & (block + pseudocount <= 0)
    if not too_low.any():
        return
    row, column = divmod(int(too_low.argmax()), block.shape[1])
    raise InputError.at(
        expression.source,
        f"gene {expression.genes[rows[row]]!r}, sample {expression.samples[column]!r}",
        f"{block[row, column]:.6g}, which has no logarithm",
        "no negative values under preprocess.log2: true (set it to false if the values are "
        "logarithms already, or a pseudocount larger than their depth)",
    )
