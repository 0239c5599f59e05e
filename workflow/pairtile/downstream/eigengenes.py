"""Eigengenes of modules, and how near each gene is to them (kME).

After Langfelder and Horvath 2007 (BMC Syst Biol 1:54): the eigengene of a module is the first
right singular vector of its standardised genes, of length 1, with the sign of their mean.
"""

from __future__ import annotations

import numpy as np
import scipy

from pairtile.arrays import Float64Array, Int32Array, IntegerArray


def standardise(values: Float64Array) -> Float64Array:
    """Each gene with mean 0 and variance 1 over its samples (n - 1); 0 where it is missing and
    where it is constant.

    values : float64 (genes, samples), NaN where missing.
    """
    there = ~np.isnan(values)
    n = np.maximum(there.sum(axis=1, keepdims=True), 1)
    x = np.where(there, values, 0.0)
    x = np.where(there, x - x.sum(axis=1, keepdims=True) / n, 0.0)
    spread = np.sqrt((x * x).sum(axis=1, keepdims=True) / np.maximum(n - 1, 1))
    scale = np.abs(np.where(there, values, 0.0)).max(axis=1, keepdims=True, initial=0.0)
    return np.where(spread > 1e-12 * scale, x / np.where(spread > 0, spread, 1.0), 0.0)


def within_batches(rows: Float64Array, codes: IntegerArray) -> Float64Array:
    """Rows (any, samples), NaN where missing, less the mean of each batch; codes : (samples,)."""
    found = rows.copy()
    for code in np.unique(codes):
        some = found[:, codes == code]
        n = np.maximum((~np.isnan(some)).sum(axis=1, keepdims=True), 1)
        found[:, codes == code] = some - np.nansum(some, axis=1, keepdims=True) / n
    return found


def eigengene(z: Float64Array) -> tuple[Float64Array, float]:
    """The eigengene of one module, (samples,), and the share of the genes' variance that it has.

    z : standardised genes of the module, (genes, samples).
    """
    genes, samples = z.shape
    top = min(genes, samples) - 1
    value, vectors = scipy.linalg.eigh(
        z.T @ z if samples <= genes else z @ z.T, subset_by_index=[top, top]
    )
    found = vectors[:, 0]
    if samples > genes:
        found = z.T @ found
        found /= np.linalg.norm(found) or 1.0
    if z.mean(axis=0) @ found < 0:
        found = -found
    return found, float(value[0] / ((z * z).sum() or 1.0))


def eigengenes(z: Float64Array, labels: Int32Array) -> tuple[Float64Array, Float64Array]:
    """Those of modules 1, 2, ..., (modules, samples), each of which has genes, and the share of the
    variance that each has, (modules,).

    z : standardised genes, (genes, samples). labels : module of each gene, 0 for none.
    """
    modules = range(1, int(labels.max(initial=0)) + 1)
    found = [eigengene(z[labels == module]) for module in modules]
    profiles = np.array([profile for profile, _ in found]).reshape(len(found), z.shape[1])
    return profiles, np.array([explained for _, explained in found])


def correlations(x: Float64Array, y: Float64Array) -> Float64Array:
    """Pearson's r of each row of x with each of y over the samples that the row of x has; 0 where
    one is constant.

    x : float64 (rows, samples), NaN where missing. y : float64 (others, samples), none missing.
    """
    there = (~np.isnan(x)).astype(np.float64)
    n = np.maximum(there.sum(axis=1, keepdims=True), 1)
    x = np.where(there > 0, x, 0.0)
    centred = np.where(there > 0, x - x.sum(axis=1, keepdims=True) / n, 0.0)
    products = centred @ y.T
    sums = there @ y.T
    spread_y = there @ (y * y).T - sums * sums / n
    spread_x = (centred * centred).sum(axis=1, keepdims=True)
    spread = np.sqrt(np.maximum(spread_x * spread_y, 0.0))
    r = np.where(spread > 1e-12, products / np.where(spread > 1e-12, spread, 1.0), 0.0)
    return np.clip(r, -1.0, 1.0)


def correlation_p(r: Float64Array, degrees: float | Float64Array) -> Float64Array:
    """p of Pearson's r with so many degrees of freedom, two-sided, by Student's t."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt(degrees / np.maximum(1 - r * r, 0.0))
        return np.asarray(
            np.where(degrees > 0, np.clip(2 * scipy.special.stdtr(degrees, -t), 0.0, 1.0), 1.0)
        )
