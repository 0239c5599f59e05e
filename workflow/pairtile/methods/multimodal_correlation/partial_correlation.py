"""Shrinkage partial correlation of all pairs of genes, given all other genes.

The correlation matrix of p genes in n samples is shrunken towards no correlation, R = lambda I +
a X X' with X the standardised values (p, n) and a = (1 - lambda) / n, by the intensity of Schäfer
and Strimmer (2005, Stat. Appl. Genet. Mol. Biol. 4:32, eq. 8-10; corpcor's ``estimate.lambda``).
With Omega its inverse, the partial correlation of two genes is
-Omega_ij / sqrt(Omega_ii Omega_jj). By the identity of Woodbury, with M = lambda I + a X'X (n, n)
and F = sqrt(a) X M^(-1/2), lambda Omega = I - F F'. So the partial correlation is the product
G_i G_j of rows G_i = F_i / sqrt(1 - F_i F_i): a tile of it is one product of genes x samples, and
no p x p matrix is ever made. (With fewer genes than samples, F has a column for each gene.)

What unrelated genes have: the samples of half of the genes are exchanged, all in the same way, and
the scores of these with the other half are taken, at the same intensity. Every pair of them is
unrelated, and both halves keep the modules that they have. This spread differs between genes by an
order of magnitude: what other genes explain of a gene leaves less of it to vary. It goes with
s_i = abs(sqrt(a) M^(-1/2) G_i), so scores are compared as r / (s_i s_j). (One number of degrees of
freedom for all pairs, as in Schäfer and Strimmer 2005, section 3.2, called 10 % of pairs of lone
genes at p <= 0.05, and no pair of genes in large modules.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.p_values import correlation_p_value
from pairtile.statistics.shrinkage import DeviceArray, correlation_sums, standardised


class NullSpread(NamedTuple):
    """Mean squares of partial correlations of unrelated genes: of the score itself, and of
    r / (s_i s_j)."""

    score: float
    standard: float

    def p_values(
        self, r: NDArray[np.floating], x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Two-sided, of scores of genes with these s: by Student's t, as of a correlation of as
        many samples as have the mean square of these scores."""
        alike = r / (x * y) * np.sqrt(self.score / self.standard)
        n = np.full(r.shape, 1.0 / self.score + 1.0)
        return correlation_p_value(np.clip(alike, -1.0, 1.0), n)


class PartialCorrelations:
    """Of all genes of a table.

    rows : float64 (genes, k) on the device, k the smaller of genes and samples; products of two of
    them are partial correlations. spread : float64 (genes,) on the host, s_i. shrinkage : lambda.
    """

    def __init__(
        self, values: NDArray[np.float64], device: Device, intensity: float | None = None
    ) -> None:
        """values : float64 (genes, samples); what is missing counts as the gene's mean. intensity :
        lambda; None: that of the values."""
        self.values, self._device = values, device
        xp = device.xp
        x = standardised(xp.asarray(values), xp)
        genes, n = x.shape
        self.shrinkage = lam = shrinkage(x) if intensity is None else intensity
        a = (1.0 - lam) / n
        if n <= genes:
            squares, basis = xp.linalg.eigh(x.T @ x)
            coordinates = x @ basis
        else:
            squares, coordinates = xp.linalg.eigh(x @ x.T)
            coordinates = coordinates * xp.sqrt(xp.maximum(squares, 0.0))
        weights = xp.sqrt(a / (lam + a * xp.maximum(squares, 0.0)))
        rows = coordinates * weights
        self.rows = rows / xp.sqrt(1.0 - (rows * rows).sum(axis=1))[:, None]
        spread = xp.sqrt(((self.rows * weights) ** 2).sum(axis=1))
        self.spread = device.to_host(xp.where(spread > 0.0, spread, 1.0))

    def unrelated(
        self, order: NDArray[np.integer], exchanged: NDArray[np.integer], most: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores, and r / (s_i s_j), of unrelated genes: the samples of the ``exchanged`` genes,
        (genes,), stand in this ``order``, (samples,). At least ``most`` pairs where there are as
        many: the first of the exchanged genes with all others. Both float64 (pairs,)."""
        values = self.values.copy()
        values[exchanged] = values[exchanged][:, order]
        made = PartialCorrelations(values, self._device, self.shrinkage)
        others = np.delete(np.arange(len(values)), exchanged)
        moved = exchanged[: -(-most // max(1, others.size))]
        xp = self._device.xp
        product = made.rows[xp.asarray(moved)] @ made.rows[xp.asarray(others)].T
        r = self._device.to_host(product)
        standard = r / np.outer(made.spread[moved], made.spread[others])
        return r.ravel(), standard.ravel()


def shrinkage(values: DeviceArray) -> float:
    """lambda of standardised rows (rows, samples), at least 0.001; 1 where there is
    nothing to estimate."""
    correlation, products, alone = correlation_sums(values)
    if correlation <= 1e-12 * alone:
        return 1.0
    n = values.shape[1]
    variance = (products / n - correlation) / (n - 1)
    # Genes that are copies of each other leave nothing to invert without some.
    return min(1.0, max(1e-3, variance / correlation))
