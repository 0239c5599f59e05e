"""Tests of gene sets: overlap with lists of genes, and ranks by a score of each gene."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from pairtile.arrays import BoolArray, Float64Array
from pairtile.downstream.eigengenes import standardise


def overlap_tests(
    listed: BoolArray, sets: scipy.sparse.csr_array, possible: BoolArray | None = None
) -> pd.DataFrame:
    """Hypergeometric test of one list of genes with each set: P(overlap as large, or larger).

    Returns a row for each set: ``overlap``, ``expected``, ``effect`` (the one over the other; NaN
    or infinite where none is expected) and ``p_value``.

    Parameters
    ----------
    listed : bool (genes,)
        The list's genes, among all analysed genes, which are the background.
    sets : float64 csr (sets, genes)
        1 where a gene is in a set.
    possible : bool (genes,), optional
        Genes that could be listed at all, where that is not every one: the background then.

    Notes
    -----
    The p-value is exact where the genes of the set were drawn irrespective of the list. It knows
    no correlation of genes: ``rank_tests`` does.
    """
    background = np.ones(listed.size, dtype=bool) if possible is None else possible
    listed = listed & background
    size = np.rint(sets @ background.astype(np.float64))
    overlap = np.rint(sets @ listed.astype(np.float64)).astype(np.int64)
    total, drawn = int(background.sum()), int(listed.sum())
    p = np.asarray(scipy.stats.hypergeom.sf(overlap - 1, total, size.astype(np.int64), drawn))
    found = {
        "overlap": overlap,
        "expected": size * drawn / max(total, 1),
        "p_value": np.clip(p, 0.0, 1.0),
    }
    return pd.DataFrame(found).assign(effect=lambda table: table["overlap"] / table["expected"])


def rank_tests(
    scores: Float64Array, sets: scipy.sparse.csr_array, excess: Float64Array, degrees: float
) -> pd.DataFrame:
    """Mean rank of each set's genes among all, correlations of genes respected.

    Returns a row for each set: ``effect``, the chance that a gene of the set has a higher score
    than another, 0.5 expected; ``z``, its distance from that in standard errors; ``p_value``,
    two-sided; ``inflation``, variance beside that of a random set of as many genes.

    The statistic is that of Mann and Whitney (1947); without ``excess`` z is that of
    ``scipy.stats.mannwhitneyu`` (asymptotic, no correction for continuity). The variance of the
    difference of mean ranks is that of a random set of as many genes, and ``excess``: what the
    sampling noise of these genes adds, because they are correlated with each other more than any
    genes are. With noise alone it is the variance inflation of CAMERA (Wu and Smyth 2012, Nucleic
    Acids Res 40:e133); it is 1 for random sets, whatever the correlations.

    Parameters
    ----------
    scores : float64 (genes,)
        Higher or lower: both ends are tested.
    sets : float64 csr (sets, genes)
        1 where a gene is in a set.
    excess : float64 (sets,)
        Variance, in ranks squared, that is added; below 0 it counts as 0.
    degrees : float
        Degrees of freedom by which ``excess`` was estimated. The p-value is that of t with the
        degrees of Satterthwaite (1946).
    """
    ranks = scipy.stats.rankdata(scores)
    n = ranks.size
    size = sets.sum(axis=1)
    rest = np.maximum(n - size, 1)
    difference = (sets @ ranks / size - ranks.mean()) * n / rest
    drawn = ranks.var(ddof=1) * (1 / size + 1 / rest)
    added = np.maximum(excess, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(drawn > 0, difference / np.sqrt(drawn + added), 0.0)
        freedom = np.where(added > 0, degrees * ((drawn + added) / added) ** 2, np.inf)
    p = 2 * scipy.stats.t.sf(np.abs(z), np.minimum(freedom, 1e9))
    inflation = 1 + added / np.where(drawn > 0, drawn, 1.0)
    found = {"effect": 0.5 + difference / n, "z": z, "p_value": p, "inflation": inflation}
    return pd.DataFrame(found)


def excess_by_profile(
    scores: Float64Array,
    values: Float64Array,
    profile: Float64Array,
    sets: scipy.sparse.csr_array,
    free_samples: int,
) -> tuple[Float64Array, float]:
    """What sampling adds to the variance of mean ranks by correlation with a profile.

    Fisher's z of genes i and j with one profile have noise of variance 1 / (n - 3) and of their
    correlation given the profile. A change of z moves a rank by the density of genes there, taken
    where genes without a relation to the profile lie. The variance of a set's mean rank beside the
    others' is then that of a weighted sum of residuals over the samples; what a random set has of
    it is taken off.

    Parameters
    ----------
    scores : float64 (genes,)
        Correlation of each gene with the profile over all samples.
    values, profile : float64 (genes, samples), (samples,)
        Of all samples or some of them; NaN where missing.
    sets : float64 csr (sets, genes)
    free_samples : int
        All samples, less the degrees of freedom that were taken off the values before.

    Returns
    -------
    float64 (sets,), and the degrees of freedom of each.
    """
    noise = 1 / np.sqrt(max(1, free_samples - 3))
    z = np.arctanh(np.clip(scores, -1 + 1e-9, 1 - 1e-9))
    ordered = np.sort(z)
    places = np.median(z) + noise * scipy.stats.norm.ppf((np.arange(20) + 0.5) / 20)
    above, below = (np.searchsorted(ordered, places + side * noise) for side in (1, -1))
    density = float((above - below).mean()) / (2 * noise)
    residuals, along = standardise(values), standardise(profile[None])[0]
    along /= np.linalg.norm(along) or 1.0
    residuals -= np.outer(residuals @ along, along)
    length = np.sqrt(np.einsum("ij,ij->i", residuals, residuals))
    # A gene that is the profile itself has no residual and no noise.
    moved = residuals * (noise * density / np.where(length > 1e-9, length, np.inf))[:, None]
    n, size = len(moved), sets.sum(axis=1)
    rest = np.maximum(n - size, 1)
    total = moved.sum(axis=0)
    contrast = (sets @ moved / size[:, None] - total / n) * (n / rest)[:, None]
    of_random = (np.einsum("ij,ij->", moved, moved) - total @ total / n) / (n - 1)
    excess = np.einsum("ij,ij->i", contrast, contrast) - of_random * (1 / size + 1 / rest)
    return excess, float(max(1, min(values.shape[1], free_samples) - 2))
