"""Pairs of genes with planted modes, for the search for modes: mixtures of Gaussians of known
membership."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.simulate.shared import check_share, check_whole, gene_table, stream, write_files

TRIES = 1000
"""Placements of the modes tried before fewer than this separation is called impossible."""


@dataclass(frozen=True, repr=False)
class ModesSimulation:
    """Simulated values, and the mode that each sample of a pair belongs to.

    ``values``: float64 (2 * pairs, samples), like log2 expression, NaN where missing; rows 2 p and
    2 p + 1 are pair p. ``labels``: int8 (pairs, samples), modes from 0. ``genes`` and ``samples``
    are names; ``parameters`` holds the arguments and, of each pair, ``weights``, ``means`` and
    ``covariances``.
    """

    values: NDArray[np.float64]
    labels: NDArray[np.int8]
    genes: list[str]
    samples: list[str]
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"ModesSimulation: {len(self.labels):,} pairs of genes, {len(self.samples):,} samples"
        )


def simulate_modes(
    n_pairs: int = 100,
    n_samples: int = 200,
    n_modes: int = 2,
    *,
    separation: float = 5.0,
    least_share: float = 0.2,
    max_correlation: float = 0.9,
    missing: float = 0.0,
    seed: int = 1,
) -> ModesSimulation:
    """Simulate pairs of genes whose samples fall into modes.

    separation : least Mahalanobis distance between the centres of two modes of a pair, for the mean
    of their covariances
    least_share : each mode has at least this share of the samples; the shares are drawn
    max_correlation : within each mode the correlation is uniform up to this, of either sign
    missing : chance of a value to be missing

    Raises ValueError where arguments are out of range, or no such modes can be placed.
    """
    check_whole("n_modes", n_modes, 1, 5)
    if not 0.0 < least_share * n_modes <= 1.0:
        raise ValueError(f"least_share is {least_share}; expected up to 1 / {n_modes}, above 0")
    check_share("max_correlation", max_correlation, below=True)
    check_share("missing", missing, below=True)
    check_whole("n_pairs", n_pairs, 1)
    check_whole("n_samples", n_samples, 2 * n_modes)
    random = stream(seed, "modes")
    values = np.empty((2 * n_pairs, n_samples))
    labels = np.empty((n_pairs, n_samples), dtype=np.int8)
    weights = np.empty((n_pairs, n_modes))
    means = np.empty((n_pairs, n_modes, 2))
    covariances = np.empty((n_pairs, n_modes, 2, 2))
    for pair in range(n_pairs):
        drawn = random.dirichlet(np.full(n_modes, 2.0))
        weights[pair] = least_share + (1.0 - least_share * n_modes) * drawn
        means[pair], covariances[pair] = _place(random, n_modes, separation, max_correlation)
        # Each mode as often as its weight says, rounded so that they add up.
        ends = np.rint(np.cumsum(weights[pair]) / weights[pair].sum() * n_samples).astype(int)
        labels[pair] = random.permutation(np.repeat(np.arange(n_modes), np.diff(ends, prepend=0)))
        for mode in range(n_modes):
            members = np.flatnonzero(labels[pair] == mode)
            points = random.multivariate_normal(
                means[pair, mode], covariances[pair, mode], len(members)
            )
            values[2 * pair : 2 * pair + 2, members] = points.T
    values[random.random(values.shape) < missing] = np.nan
    return ModesSimulation(
        values=values,
        labels=labels,
        genes=[f"pair{p + 1}{side}" for p in range(n_pairs) for side in "ab"],
        samples=[f"sample{s + 1}" for s in range(n_samples)],
        parameters={
            "settings": {
                "n_modes": n_modes,
                "separation": separation,
                "least_share": least_share,
                "max_correlation": max_correlation,
                "missing": missing,
                "seed": seed,
            },
            "weights": weights,
            "means": means,
            "covariances": covariances,
        },
    )


def write_modes(simulation: ModesSimulation, folder: Path, command: str) -> None:
    """Write ``expression.tsv.gz`` (log2 values), ``truth.tsv`` (gene_1, gene_2, sample, mode; mode
    from 1) and a ``README.md`` that names ``command``."""
    genes, samples = simulation.genes, simulation.samples
    truth = pd.DataFrame(
        {
            "gene_1": np.repeat(genes[0::2], len(samples)),
            "gene_2": np.repeat(genes[1::2], len(samples)),
            "sample": samples * len(simulation.labels),
            "mode": simulation.labels.ravel() + 1,
        }
    )
    write_files(
        folder,
        {
            "expression.tsv.gz": gene_table(simulation.values, genes, samples),
            "truth.tsv": truth,
            "README.md": (
                "# Simulated modes\n\nPairs of genes whose samples fall into modes: log2 values in "
                "expression.tsv.gz, the mode of each pair and sample in truth.tsv.\n\n"
                f"Made by:\n\n    {command}\n"
            ),
        },
    )


def _place(
    random: np.random.Generator, n_modes: int, separation: float, max_correlation: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means (K, 2) and covariances (K, 2, 2) of modes, every two as far apart as is asked."""
    # Wide enough that most placements fit, not so wide that all are far apart.
    width = 0.6 * separation * np.sqrt(n_modes)
    for attempt in range(TRIES):
        spread = random.uniform(0.6, 1.4, (n_modes, 2))
        correlation = random.uniform(-max_correlation, max_correlation, n_modes)
        covariances = np.empty((n_modes, 2, 2))
        covariances[:, 0, 0], covariances[:, 1, 1] = spread[:, 0] ** 2, spread[:, 1] ** 2
        covariances[:, 0, 1] = covariances[:, 1, 0] = correlation * spread.prod(axis=1)
        means = 8.0 + random.uniform(-1.0, 1.0, (n_modes, 2)) * width * (1.0 + attempt / TRIES)
        first, second = np.tril_indices(n_modes, -1)
        apart = means[first] - means[second]
        pooled = (covariances[first] + covariances[second]) / 2.0
        # Squared Mahalanobis distances of every two centres.
        squared = np.einsum("ki,ki->k", apart, np.linalg.solve(pooled, apart[..., None])[..., 0])
        if np.sqrt(squared.min(initial=np.inf)) >= separation:
            return means, covariances
    raise ValueError(f"found no place for {n_modes} modes with separation {separation}")
