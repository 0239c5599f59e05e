"""What most genes share and nobody states: components of a table that are spread over its genes.

A factor behind the samples (their quality, a mixture of cell types, unstated batches) relates genes
that have nothing to do with each other. It is told from a module of genes by its breadth: rotated
to simple structure (varimax, Kaiser 1958, Psychometrika 23:187; promax, Hendrickson and White
1964, Br J Stat Psychol 17:65), a component of a module loads on the module alone, also where
several modules explain equally much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

MAX_GENES = 2000
"""Evenly spaced genes that factors are found from; all genes get loadings."""

PERMUTATIONS = 20
BREADTH = 0.2
"""Least participation ratio of a hidden factor: normal loadings on all genes have 1/3."""

STRENGTH = 1.3
"""From this ratio on, factors make false edges; of true pairs alone it is at most 1.26."""

POWER = 4
"""Of promax, as its authors propose."""


@dataclass(frozen=True)
class HiddenFactors:
    """Components that are spread over the genes.

    scores : float64 (factors, samples), of mean 0 and variance 1, strongest first; correlated.
    loadings : float64 (genes, factors), of normal scores of the genes.
    shares : float64 (factors,), share of the variance of all genes.
    strength : squared singular value of the table's first component over the largest of tables
        with each gene permuted by itself; 0 where no component exceeds these or none is broad.
    """

    scores: NDArray[np.float64]
    loadings: NDArray[np.float64]
    shares: NDArray[np.float64]
    strength: float

    @property
    def marked(self) -> bool:
        """Whether the factors are strong enough to relate genes by themselves."""
        return self.strength >= STRENGTH


def find_hidden_factors(
    values: NDArray[np.float64], seed: int, number: int | None = None
) -> HiddenFactors:
    """Components of a table above those of permuted genes and spread over its genes.

    Parameters
    ----------
    values : float64 (genes, samples)
        NaN where missing.
    seed : int
    number : int, optional
        How many of the first components are looked at; None: those above the permuted ones
        (parallel analysis, Buja and Eyuboglu 1992, Multivar Behav Res 27:509). All of a stated
        number are taken, whatever their breadth.
    """
    scored = normal_scores(values)
    n_samples = scored.shape[1]
    chosen = scored[:: -(-len(scored) // MAX_GENES)]
    _, singular, right = np.linalg.svd(chosen, full_matrices=False)
    random = np.random.default_rng(seed)
    chance = _largest_of_permuted(chosen, random)
    found = int((singular > chance).sum())
    while found < (more := _above_the_rest(chosen, singular, right, found, random)):
        found = more
    if number is not None:
        found = min(number, n_samples - 2)
    components = right[:found] * np.sqrt(n_samples)
    loadings = scored @ components.T / n_samples
    if found > 1:
        loadings, components = _promax(loadings, components)
    weights = loadings**2
    total = weights.sum(axis=0)
    broad = np.full(found, number is not None)
    broad |= total**2 > BREADTH * len(scored) * (weights**2).sum(axis=0)
    order = np.argsort(-total[broad], kind="stable")
    return HiddenFactors(
        scores=components[broad][order],
        loadings=loadings[:, broad][:, order],
        shares=total[broad][order] / len(scored),
        strength=float((singular[0] / chance) ** 2) if broad.any() and chance else 0.0,
    )


def without_factors(values: NDArray[np.float64], factors: HiddenFactors) -> NDArray[np.float64]:
    """Normal scores of the genes less what the factors hold of them, float64 (genes, samples); NaN
    where ``values`` is."""
    rest = normal_scores(values) - factors.loadings @ factors.scores
    return np.where(np.isnan(values), np.nan, rest)


def normal_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of each gene as quantiles of the normal distribution (Blom 1958), of mean 0 and
    variance 1, float64 (genes, samples); 0 where missing and for constant genes."""
    ranks = stats.rankdata(values, axis=1, nan_policy="omit")
    observed = np.isfinite(values).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        scores = special.ndtri((ranks - 0.375) / (observed + 0.25))
    scores -= np.nanmean(scores, axis=1, keepdims=True)
    spread = np.nanstd(scores, axis=1, keepdims=True)
    return np.nan_to_num(scores / np.where(spread > 0.0, spread, np.inf))


def _above_the_rest(
    scored: NDArray[np.float64],
    singular: NDArray[np.float64],
    right: NDArray[np.float64],
    found: int,
    random: np.random.Generator,
) -> int:
    """How many components exceed those of what the first ``found`` leave, permuted: these take
    variance that permuted noise must not have (Dobriban and Owen 2019, J R Stat Soc B 81:163)."""
    rest = scored - (scored @ right[:found].T) @ right[:found]
    return int((singular > _largest_of_permuted(rest, random)).sum())


def _largest_of_permuted(scored: NDArray[np.float64], random: np.random.Generator) -> float:
    """The largest singular value of tables in which each gene is permuted by itself."""
    small = min(scored.shape)
    largest = 0.0
    for _ in range(PERMUTATIONS):
        permuted = random.permuted(scored, axis=1)
        square = permuted.T @ permuted if small == scored.shape[1] else permuted @ permuted.T
        largest = max(largest, float(np.linalg.eigvalsh(square)[-1]))
    return float(np.sqrt(largest))


def _varimax(loadings: NDArray[np.float64], steps: int = 200) -> NDArray[np.float64]:
    """The rotation that makes squared loadings of each component vary most."""
    n, k = loadings.shape
    rotation, reached = np.eye(k), 0.0
    for _ in range(steps):
        turned = loadings @ rotation
        gradient = loadings.T @ (turned**3 - turned * ((turned**2).sum(axis=0) / n))
        left, sizes, right = np.linalg.svd(gradient)
        rotation = left @ right
        if sizes.sum() < reached * (1 + 1e-8):
            break
        reached = float(sizes.sum())
    return rotation


def _promax(
    loadings: NDArray[np.float64], components: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Loadings and scores turned to simple structure, scores correlated with variance 1."""
    rotation = _varimax(loadings)
    turned = loadings @ rotation
    target = turned * np.abs(turned) ** (POWER - 1)
    oblique = np.linalg.lstsq(turned, target, rcond=None)[0]
    oblique *= np.sqrt(np.diag(np.linalg.inv(oblique.T @ oblique)))
    return turned @ oblique, np.linalg.inv(rotation @ oblique) @ components
