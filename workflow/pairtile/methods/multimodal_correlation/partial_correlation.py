"""Shrinkage partial correlation of all pairs of genes, given all other genes.

The correlation matrix of p genes in n samples is shrunken towards no correlation, R = lambda I +
a X X' with X the standardised values (p, n) and a = (1 - lambda) / n, by the intensity of Schäfer
and Strimmer (2005, Stat. Appl. Genet. Mol. Biol. 4:32, eq. 8-10; corpcor's ``estimate.lambda``).
With Omega its inverse, the partial correlation of two genes is
-Omega_ij / sqrt(Omega_ii Omega_jj). By the identity of Woodbury, with M = lambda I + a X'X (n, n)
and F = sqrt(a) X M^(-1/2), lambda Omega = I - F F'. So the partial correlation is the product
G_i G_j of rows G_i = F_i / sqrt(1 - F_i F_i): a tile of it is one product of genes x samples, and
no p x p matrix is ever made. (With fewer genes than samples, F has a column for each gene.)

What unrelated genes have: a gene whose samples are exchanged is added to the others and held
against each of them. With y = sqrt(a) M^(-1/2) x of its standardised values x, its partial
correlation with gene i, given all genes, is q / sqrt(1 + y y + q^2), q = G_i y. The same intensity
and the same other genes: the null is that of these data, which no formula for n samples gives where
p is large. Its mean square is 1 / kappa; kappa stands for the degrees of freedom (as in Schäfer and
Strimmer 2005, section 3.2, who fit it to all pairs).
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.statistics.shrinkage import DeviceArray, correlation_sums, standardised

MIN_SHRINKAGE = 1e-3
"""Genes that are copies of each other leave nothing to invert without some."""


class PartialCorrelations:
    """Of all genes of a table.

    rows : float64 (genes, k) on the device, k the smaller of genes and samples; products of two of
    them are partial correlations. shrinkage : lambda.
    """

    def __init__(self, values: NDArray[np.float64], device: Device) -> None:
        """values : float64 (genes, samples); what is missing counts as the gene's mean."""
        self._device = device
        xp = device.xp
        x = standardised(xp.asarray(values), xp)
        genes, n = x.shape
        self.shrinkage = lam = shrinkage(x, xp)
        a = (1.0 - lam) / n
        if n <= genes:
            squares, basis = xp.linalg.eigh(x.T @ x)
        else:
            squares, basis = xp.linalg.eigh(x @ x.T)
            known = squares > 1e-12 * xp.maximum(squares.max(), 1.0)
            basis = (x.T @ basis) * xp.where(known, 1.0 / xp.sqrt(xp.where(known, squares, 1)), 0)
        self._basis, self._of_rest = basis, a / lam
        self._weights = basis * xp.sqrt(a / (lam + a * xp.maximum(squares, 0.0)))
        rows = x @ self._weights
        self.rows = rows / xp.sqrt(1.0 - (rows * rows).sum(axis=1))[:, None]

    def of_exchanged(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Partial correlations of genes that have nothing to do with any, float64 (exchanged,
        genes). values : float64 (exchanged, samples), genes with their samples exchanged."""
        xp = self._device.xp
        x = standardised(xp.asarray(values), xp)
        inside = x @ self._basis
        rest = (x * x).sum(axis=1) - (inside * inside).sum(axis=1)
        y = x @ self._weights
        size = (y * y).sum(axis=1) + self._of_rest * xp.maximum(rest, 0.0)
        q = y @ self.rows.T
        return np.asarray(self._device.to_host(q / xp.sqrt(1.0 + size[:, None] + q * q)))


def shrinkage(values: DeviceArray, xp: ModuleType) -> float:
    """lambda of standardised rows (rows, samples), at least ``MIN_SHRINKAGE``; 1 where there is
    nothing to estimate."""
    sums = correlation_sums(values, xp)
    if sums.correlation <= 1e-12 * sums.alone:
        return 1.0
    n = values.shape[1]
    variance = (sums.products / n - sums.correlation) / (n - 1)
    return min(1.0, max(MIN_SHRINKAGE, variance / sums.correlation))
