"""Bootstrap networks: which samples are drawn, and the edges that a network of them has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.network import Network
from pairtile.errors import InputError
from pairtile.methods.mutual_information.config import MutualInformationConfig


def resample_samples(
    config: MutualInformationConfig, n: int, seed: int, number: int
) -> NDArray[np.int64]:
    """Samples of bootstrap ``number`` from ``n``: keyed on (seed, number) alone.

    ``bootstrap`` draws as many as there are with replacement, every sample as likely as any other;
    ``subsample`` draws a fraction without replacement.

    Raises
    ------
    InputError
        Where a subsample is smaller than ``preprocess.min_samples``.
    """
    settings = config.bootstraps
    key = [np.uint64(seed), np.uint64(0x626F6F74)]  # "boot"
    random = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, number]))
    if settings.resample == "bootstrap":
        return np.sort(random.integers(0, n, size=n))
    assert settings.fraction is not None
    size = round(n * settings.fraction)
    least = config.preprocess.min_samples
    if size < least:
        raise InputError(
            f"bootstraps.fraction: found {settings.fraction}, which leaves {size} of {n} "
            f"samples; expected at least preprocess.min_samples ({least})"
        )
    return np.sort(random.choice(n, size=size, replace=False))


def undirected_edges(network: Network, is_regulator: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """The edges as in the merged table, each once, sorted by (i, j): shape (2, edges)."""
    a = network.edges["source"].to_numpy()
    b = network.edges["target"].to_numpy()
    # The regulator first, else the smaller number first.
    swap = b < a
    if is_regulator is not None:
        swap = is_regulator[b] & (~is_regulator[a] | (b < a))
    i, j = np.where(swap, b, a), np.where(swap, a, b)
    unique = np.unique(np.stack([i, j]), axis=1) if i.size else np.empty((2, 0))
    return unique.astype(np.int32)
