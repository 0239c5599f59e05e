"""Bootstrap networks: which samples are drawn, and which edges come back too often for chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.engine.network import Network
from pairtile.errors import InputError
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.statistics.correction import benjamini_hochberg, bonferroni

DISTRIBUTIONS = ("poisson", "binomial")
CORRECTIONS = {"bonferroni": bonferroni, "bh": benjamini_hochberg}


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


def bootstrap_consensus(
    bootstrap: ArrayLike,
    i: ArrayLike,
    j: ArrayLike,
    *,
    n_bootstraps: int,
    n_possible: int,
    distribution: str = "poisson",
    correction: str = "bonferroni",
) -> pd.DataFrame:
    """Count in how many bootstrap networks each edge is, and how likely chance alone does that.

    If the edges of each network fell on the possible ones at random, the support of an edge would
    be Poisson with rate lambda = all edge occurrences / possible edges (or binomial with
    ``n_bootstraps`` draws of probability lambda / n_bootstraps). The p-value of an edge with
    support k is P(X >= k).

    Parameters
    ----------
    bootstrap, i, j : integers [array-like, shape: (T,)]
        The edge lists of all bootstraps, one after another or mixed: bootstrap number from 0 to
        ``n_bootstraps - 1``, and the edge's two genes. (i, j) and (j, i) are two edges: give
        undirected edges in one order.
    n_bootstraps : int
        Networks made, those without any edge included.
    n_possible : int
        Pairs that could have been an edge. Also the number of tests.
    distribution : {"poisson", "binomial"}
    correction : {"bonferroni", "bh"}

    Returns
    -------
    DataFrame
        One row for each edge seen, sorted by (i, j): ``i``, ``j`` int32, ``support`` int32,
        ``p_value``, ``q_value`` float64 (corrected for ``n_possible`` tests).

    Raises
    ------
    ValueError
        For lengths that differ, bootstraps out of range, an edge twice in one bootstrap, fewer
        possible edges than were seen, or an unknown distribution or correction.

    Notes
    -----
    Source: Margolin et al. 2006, Nature Protocols 1:662 (bootstrap networks); Lachmann et al.
    2016, Bioinformatics 32:2233 (ARACNe-AP, Poisson tail and Bonferroni).

    Examples
    --------
    >>> table = bootstrap_consensus([0, 0, 1, 2], [0, 1, 0, 0], [1, 2, 1, 1],
    ...                             n_bootstraps=3, n_possible=100)
    >>> table[["i", "j", "support"]].to_numpy().tolist()
    [[0, 1, 3], [1, 2, 1]]
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(
            f"distribution is {distribution!r}; expected one of {', '.join(DISTRIBUTIONS)}"
        )
    if correction not in CORRECTIONS:
        raise ValueError(f"correction is {correction!r}; expected one of {', '.join(CORRECTIONS)}")
    numbers, first, second = (np.asarray(column) for column in (bootstrap, i, j))
    if not numbers.shape == first.shape == second.shape or numbers.ndim != 1:
        raise ValueError(
            f"bootstrap, i and j have shapes {numbers.shape}, {first.shape} and {second.shape}; "
            "expected three vectors of one length"
        )
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n_bootstraps:
        raise ValueError(
            f"bootstraps run from {numbers.min()} to {numbers.max()}; "
            f"expected 0 to {n_bootstraps - 1}"
        )
    edge_i, edge_j, support = _count_support(numbers, first, second)
    if len(support) > n_possible:
        raise ValueError(
            f"{len(support)} different edges were seen, but only {n_possible} are possible"
        )
    p_value = support_p_value(support, n_bootstraps, n_possible, distribution)
    return pd.DataFrame(
        {
            "i": edge_i.astype(np.int32),
            "j": edge_j.astype(np.int32),
            "support": support.astype(np.int32),
            "p_value": p_value,
            "q_value": CORRECTIONS[correction](p_value, n_possible),
        }
    )


def support_p_value(
    support: NDArray[Any], n_bootstraps: int, n_possible: int, distribution: str
) -> NDArray[np.float64]:
    """P(X >= support), with the rate that the supports of all edges seen imply."""
    from scipy import stats  # slow to import, and few need it

    if len(support) == 0:
        return np.empty(0)
    rate = float(support.sum()) / n_possible
    if distribution == "poisson":
        tail = stats.poisson.sf(support - 1, rate)
    else:
        tail = stats.binom.sf(support - 1, n_bootstraps, rate / n_bootstraps)
    return np.asarray(tail, dtype=np.float64)


def _count_support(
    bootstrap: NDArray[Any], i: NDArray[Any], j: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Different edges sorted by (i, j), and how many bootstraps hold each."""
    if len(i) == 0:
        return i, j, np.empty(0, dtype=np.int64)
    # One integer holds a row, so that one sort of integers groups the edges: ten times as fast
    # as sorting three columns.
    n_genes = int(max(i.max(), j.max())) + 1
    n_bootstraps = int(bootstrap.max()) + 1
    if min(i.min(), j.min()) < 0 or n_genes * n_genes * n_bootstraps >= 2**63:
        raise ValueError("i and j: expected gene numbers from 0 to a few million")
    row = (i.astype(np.int64) * n_genes + j) * n_bootstraps + bootstrap
    row.sort()
    twice = np.flatnonzero(row[1:] == row[:-1])
    if len(twice):
        pair, number = divmod(int(row[twice[0]]), n_bootstraps)
        first, second = divmod(pair, n_genes)
        raise ValueError(f"edge ({first}, {second}) occurs twice in bootstrap {number}")
    edge = row // n_bootstraps
    starts = np.flatnonzero(np.concatenate([[True], edge[1:] != edge[:-1]]))
    support = np.diff(np.append(starts, len(edge)))
    return edge[starts] // n_genes, edge[starts] % n_genes, support
