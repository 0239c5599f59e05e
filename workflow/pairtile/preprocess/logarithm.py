"""Whether a table is raw or logarithmic, and the logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.preprocess.statistics import row_blocks

_HIGH_QUANTILE = 100.0
_WIDE_RANGE = 50.0


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
    def description(self) -> str:
        """The numbers that the rule looks at."""
        return (
            f"of the values other than zero, the 99% quantile is {self.quantile_99:.4g}, the lower "
            f"quartile {self.lower_quartile:.4g}, the range {self.maximum - self.minimum:.4g} "
            f"({self.minimum:.4g} to {self.maximum:.4g})"
        )


def measure_scale(values: np.ndarray) -> Scale:
    """Measure ``values`` (genes, samples), NaN where missing.

    The rule is that of NCBI's GEO2R (its R script's "log2 transform" block), which takes
    quantiles over all values. Here zeros are left out: they are the same on either scale, and in
    sparse tables (single cells) they are most of the values and would hide the rest. Older
    scripts have a third clause (quartiles about 1) that takes fractions for raw; it is not used.
    """
    seen = values[~np.isnan(values) & (values != 0)]
    if not seen.size:
        return Scale(math.nan, math.nan, math.nan, math.nan, whole_numbers=True, n_negative=0)
    n_negative = int((seen < 0).sum())
    whole = all(
        bool((part == np.rint(part)).all()) for part in np.array_split(seen, 1 + seen.size // 10**6)
    )
    low, quartile, high, top = np.quantile(seen, [0, 0.25, 0.99, 1], overwrite_input=True)
    return Scale(float(low), float(top), float(quartile), float(high), whole, n_negative)


def take_log2(values: np.ndarray, expression: Expression, pseudocount: float) -> np.ndarray:
    """Replace ``values`` (genes, samples) by log2(values + pseudocount), in place.

    Without pseudocount, zeros become missing. Returns the number of these for each gene, int32.
    Raises InputError naming gene and sample if a value is too low for the logarithm.
    """
    n_zeros = np.zeros(len(values), dtype=np.int32)
    for rows in row_blocks(values.shape):
        block = values[rows]
        _check_positive(block, rows.start, expression, pseudocount)
        if pseudocount:
            block += pseudocount
        else:
            zero = block == 0
            n_zeros[rows] = zero.sum(axis=1)
            block[zero] = np.nan
        np.log2(block, out=block)
    return n_zeros


def _check_positive(
    block: np.ndarray, first_row: int, expression: Expression, pseudocount: float
) -> None:
    too_low = (block < 0) & (block + pseudocount <= 0)
    if not too_low.any():
        return
    row, column = divmod(int(too_low.argmax()), block.shape[1])
    raise InputError.at(
        expression.source,
        f"gene {expression.genes[first_row + row]!r}, sample {expression.samples[column]!r}",
        f"{block[row, column]:.6g}, which has no logarithm",
        "no negative values under preprocess.log2: true (set it to false if the values are "
        "logarithms already, or a pseudocount larger than their depth)",
    )
