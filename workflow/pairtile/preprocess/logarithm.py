"""The logarithm of raw values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.io.expression import Expression


def take_log2(
    values: np.ndarray, expression: Expression, pseudocount: float, rows: NDArray[np.int64]
) -> np.ndarray:
    """Replace ``values``, the genes ``rows`` of a table, by log2(values + pseudocount), in place.

    Without pseudocount, zeros become missing. Returns the number of these for each gene, int32.
    Raises InputError naming gene and sample if a value is too low for the logarithm.
    """
    too_low = (values < 0) & (values + pseudocount <= 0)
    if too_low.any():
        row, column = divmod(int(too_low.argmax()), values.shape[1])
        raise InputError.at(
            expression.source,
            f"gene {expression.genes[rows[row]]!r}, sample {expression.samples[column]!r}",
            f"{values[row, column]:.6g}, which has no logarithm",
            "no negative values under preprocess.log2: true (set it to false if the values are "
            "logarithms already, or a pseudocount larger than their depth)",
        )
    n_zeros = np.zeros(len(values), dtype=np.int32)
    if pseudocount:
        values += pseudocount
    else:
        zero = values == 0
        n_zeros[:] = zero.sum(axis=1)
        values[zero] = np.nan
    np.log2(values, out=values)
    return n_zeros
