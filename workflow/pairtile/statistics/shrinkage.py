"""What shrinkage of a correlation matrix is made from (Schäfer & Strimmer 2005, Stat. Appl. Genet.
Mol. Biol. 4:32), for ``score: combined`` and ``correlation: partial``."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from pairtile.gpu.device import DeviceArray


def correlation_sums(values: DeviceArray) -> tuple[float, float, float]:
    """Sums over all ordered pairs of different standardised rows (rows, samples), without a matrix
    of all pairs where rows are many: of their squared correlation, and of the squares of the
    products of their values in each sample; and the number of rows that vary."""
    rows, n = values.shape
    gram = values @ values.T if rows < n else values.T @ values
    alone = float((values * values).sum()) / n  # each row that varies correlates 1 with itself
    correlation = float((gram * gram).sum()) / n**2 - alone
    squares = values * values
    products = float((squares.sum(axis=0) ** 2).sum() - (squares * squares).sum())
    return correlation, products, alone


def standardised(values: DeviceArray, xp: ModuleType) -> DeviceArray:
    """Rows of mean 0 and mean square 1; 0 where missing (the gene's mean), and of constants."""
    known = values == values
    count = xp.maximum(known.sum(axis=1), 1)[:, None]
    size = xp.abs(xp.where(known, values, 0.0)).max(axis=1)[:, None]
    centred = values - xp.where(known, values, 0.0).sum(axis=1)[:, None] / count
    centred = xp.where(known, centred, 0.0)
    scale = xp.sqrt((centred * centred).mean(axis=1))[:, None]
    return centred / xp.where(scale > 1e-10 * size, scale, np.inf)
