"""Bootstrap networks: which samples are drawn, and which edges come back too often for chance.

Chance is seen, not assumed: the same bootstraps are made of data in which no two genes have
anything to do with each other (every gene's samples exchanged once, as the null distribution
exchanges them), with the same bar for an edge. A pair that agrees by luck does so in most resamples
of its data, so that the supports of unrelated pairs are far from ARACNe's Poisson with one rate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from pairtile.engine.network import Network
from pairtile.errors import InputError
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.kernels.exchange import Exchange
from pairtile.methods.mutual_information.kernels.permuted_rows import permuted_rows
from pairtile.preprocess.null_design import NullDesign
from pairtile.statistics.correction import benjamini_hochberg, bonferroni

CORRECTIONS = {"bonferroni": bonferroni, "bh": benjamini_hochberg}


def resample_samples(
    config: MutualInformationConfig, n: int, seed: int, number: int
) -> NDArray[np.int64]:
    """Samples of bootstrap ``number`` from ``n``: keyed on (seed, number) alone.

    ``bootstrap`` draws as many as there are with replacement, every sample as likely as any other;
    ``subsample`` draws a fraction without replacement; of halves, every second one is the rest of
    the samples (Shah and Samworth 2013: complementary pairs).

    Raises
    ------
    InputError
        Where a subsample is smaller than ``preprocess.min_samples``.
    """
    settings = config.bootstraps
    key = [np.uint64(seed), np.uint64(0x626F6F74)]  # "boot"
    halves = settings.fraction == 0.5
    counter = [0, 0, 0, number // 2 if halves else number]
    random = np.random.Generator(np.random.Philox(key=key, counter=counter))
    if settings.resample == "bootstrap":
        return np.sort(random.integers(0, n, size=n))
    assert settings.fraction is not None
    size = n // 2 if halves else round(n * settings.fraction)
    least = config.preprocess.min_samples
    if size < least:
        raise InputError(
            f"bootstraps.fraction: found {settings.fraction}, which leaves {size} of {n} "
            f"samples; expected at least preprocess.min_samples ({least})"
        )
    if halves:
        return np.sort(np.split(random.permutation(n)[: 2 * size], 2)[number % 2])
    return np.sort(random.choice(n, size=size, replace=False))


def low_selection_bound(
    least_support: int, n_networks: int, n_edges: int, n_possible: int
) -> float:
    """Most edges expected by luck, of those that at least ``least_support`` networks hold.

    By luck: pairs that half of the samples choose less often than a pair drawn at random would be.
    With q edges in the average network, a share tau of the networks and p possible pairs, at most
    q^2 / ((2 tau - 1) p), whatever the data; infinite for half of the networks or fewer. For
    networks of complementary halves (``resample: subsample``, ``fraction: 0.5``).

    n_edges : of all networks together.

    Source: Shah & Samworth 2013, J. R. Stat. Soc. B 75:55, theorem 1 with theta = q / p.
    """
    more_than_half = 2 * least_support / n_networks - 1.0
    if more_than_half <= 0.0:
        return float("inf")
    return (n_edges / n_networks) ** 2 / (more_than_half * n_possible)


class UnrelatedGenes(NamedTuple):
    """Data of genes that have nothing to do with each other.

    z : float64 (genes, samples). group : int32 (genes,); pairs within a group were moved together
    and are as related as before, so they do not count; None where every pair counts.
    """

    z: NDArray[np.float64]
    group: NDArray[np.int32] | None

    def share_counted(self, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
        """Share of the pairs of ``first`` with ``second`` genes, masks (genes,), that count."""
        if self.group is None:
            return 1.0
        n_groups = int(self.group.max()) + 1
        rows, columns, both = (
            np.bincount(self.group[mask], minlength=n_groups)
            for mask in (first, second, first & second)
        )
        # Genes that are in both meet themselves, and each other twice.
        within = (rows * columns - both * (both + 1) // 2).sum()
        n_both = both.sum()
        return float(1.0 - within / (rows.sum() * columns.sum() - n_both * (n_both + 1) // 2))


def unrelated_genes(z: NDArray[np.float64], design: NullDesign, seed: int) -> UnrelatedGenes:
    """Exchange the samples of every gene once, as ``design`` allows.

    Genes that are shifted are put in up to four groups at random, a quarter of each series (or of
    the courses that change places) apart: closer shifts would leave related genes in step.
    """
    genes = np.arange(len(z))
    exchange = Exchange.within(design)
    if not design.shifted.any():
        return UnrelatedGenes(permuted_rows(z, genes, seed, 2, 0, exchange), None)
    random = np.random.Generator(np.random.Philox(key=[seed, 0x756E72656C]))  # "unrel"
    sizes = exchange.sizes[design.shifted]
    n_groups = min(4, int((sizes // exchange.step[design.shifted]).min()))
    group = random.integers(n_groups, size=len(z)).astype(np.int32)
    out = np.ascontiguousarray(z).copy()
    for number, step in enumerate(exchange.step.tolist()):
        members = exchange.by_group[exchange.start[number] : exchange.start[number + 1]]
        if not step:
            out[:, members] = random.permuted(out[:, members], axis=1)
            continue
        for k in range(1, n_groups):
            rows = np.flatnonzero(group == k)[:, None]
            shift = k * (members.size // step) // n_groups * step
            out[rows, members] = z[rows, np.roll(members, -shift)]
    return UnrelatedGenes(out, group)


def rule_of_network(keep: KeepGenePairs, network: Network) -> KeepGenePairs | None:
    """The bar that an edge of this network met, as a rule that does not depend on the other edges;
    None where it has none: nothing else may pass then.

    ``fdr`` and ``top_edges`` set their bar by all pairs of the data: unrelated genes would set
    another for themselves.
    """
    largest, least = (network.threshold[key] for key in ("largest_p_value", "least_score"))
    if keep.fdr is None and keep.top_edges is None:
        return keep
    if largest is None:
        return None
    bar = {"p_value": largest} if keep.fdr is not None else {}
    bar |= {"score": least} if keep.top_edges is not None else {}
    return keep.model_copy(update={"fdr": None, "top_edges": None, **bar})


def undirected_edges(network: Network, is_regulator: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """The edges as in the merged table, each once, sorted by (i, j): shape (2, edges)."""
    a = network.edges["source"].to_numpy()
    b = network.edges["target"].to_numpy()
    # The regulator first, else the smaller number first.
    swap = b < a if is_regulator is None else is_regulator[b] & (~is_regulator[a] | (b < a))
    # One integer holds an edge: sorting these is ten times as fast as sorting columns.
    first, second = np.where(swap, b, a).astype(np.int64), np.where(swap, a, b)
    edge = np.unique(first << 32 | second)
    return np.stack([edge >> 32, edge & 0xFFFFFFFF]).astype(np.int32)


def bootstrap_consensus(
    bootstrap: ArrayLike,
    i: ArrayLike,
    j: ArrayLike,
    *,
    n_bootstraps: int,
    n_possible: int,
    correction: str = "bonferroni",
    null: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    null_share: float = 1.0,
) -> pd.DataFrame:
    """Count in how many bootstrap networks each edge is, and how likely chance alone does that.

    With ``null``, edges of networks made in the same way of unrelated genes (the samples of every
    gene permuted once, then resampled as the data were): q of support k is the number of unrelated
    pairs with as much support, and one more, over the number of pairs, the least over all lower
    supports; ``local_fdr`` compares those of one support. This is right whatever the
    supports of unrelated pairs look like.

    Without, after ARACNe: if the edges of each network fell on the possible ones at random, the
    support of an edge would be Poisson with rate lambda = all edge occurrences / possible edges.
    The p-value of an edge with support k is P(X >= k). It takes networks for independent, which
    resamples of one data set are not: among unrelated genes, dozens of edges pass. For comparison
    with ARACNe only.

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
    correction : {"bonferroni", "bh"}
        Of the case without ``null``.
    null : three array-likes, optional
        ``bootstrap``, ``i`` and ``j`` of the networks of unrelated genes, as many as of the data.
    null_share : float
        Share of the possible pairs that are counted in ``null``.

    Returns
    -------
    DataFrame
        One row for each edge seen, sorted by (i, j): ``i``, ``j`` int32, ``support`` int32,
        ``p_value``, ``q_value`` float64 (corrected for ``n_possible`` tests); with ``null``
        ``local_fdr``, too.

    Raises
    ------
    ValueError
        For lengths that differ, bootstraps out of range, an edge twice in one bootstrap, fewer
        possible edges than were seen, or an unknown correction.

    Notes
    -----
    Source: Margolin et al. 2006, Nature Protocols 1:662 (bootstrap networks); Lachmann et al.
    2016, Bioinformatics 32:2233 (ARACNe-AP, Poisson tail and Bonferroni); with ``null`` Tusher et
    al. 2001, PNAS 98:5116 (false discoveries counted in permuted data).

    Examples
    --------
    >>> table = bootstrap_consensus([0, 0, 1, 2], [0, 1, 0, 0], [1, 2, 1, 1],
    ...                             n_bootstraps=3, n_possible=100)
    >>> table[["i", "j", "support"]].to_numpy().tolist()
    [[0, 1, 3], [1, 2, 1]]
    """
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
    edges = {
        "i": edge_i.astype(np.int32),
        "j": edge_j.astype(np.int32),
        "support": support.astype(np.int32),
    }
    if null is not None:
        null_support = _count_support(*(np.asarray(column) for column in null))[2]
        counted = max(1.0, n_possible * null_share)
        return pd.DataFrame(edges | support_fdr(support, null_support, n_possible, counted))
    p_value = support_p_value(support, n_possible)
    q_value = CORRECTIONS[correction](p_value, n_possible)
    return pd.DataFrame(edges | {"p_value": p_value, "q_value": q_value})


def support_fdr(
    support: NDArray[np.integer], null_support: NDArray[np.integer], n_possible: int, n_null: float
) -> dict[str, NDArray[np.float64]]:
    """False discovery rates of supports, from those of ``n_null`` unrelated pairs.

    One unrelated pair more than was seen is counted, with the largest support of all: the pairs at
    hand might hold the next. ``p_value``: share of unrelated pairs with as much support.
    ``q_value``: expected unrelated pairs with as much support over pairs with it (tail FDR).
    ``local_fdr``: the same of the pairs of one support alone, made to fall with support by isotonic
    regression. Expected pairs of the supports sum to those of the tail, so the mean of
    ``local_fdr`` over the pairs with at least some support is at most the ``q_value`` there, and
    equals it where regression pools nothing across the cut.
    """
    if support.size == 0:
        return {name: np.empty(0) for name in ("p_value", "q_value", "local_fdr")}
    top = int(max(support.max(), null_support.max(initial=0)))
    seen = np.bincount(support, minlength=top + 1)
    unrelated = np.bincount(null_support, minlength=top + 1)
    seen_above, unrelated_above = (np.cumsum(n[::-1])[::-1] for n in (seen, unrelated))
    expected = n_possible / n_null * (unrelated_above + 1.0)
    tail = np.minimum.accumulate(np.minimum(expected / np.maximum(seen_above, 1), 1.0))
    at = np.flatnonzero(seen)
    of_support = -np.diff(np.append(expected[at], 0.0))
    local = scipy.optimize.isotonic_regression(
        of_support / seen[at], weights=seen[at].astype(float), increasing=False
    ).x
    return {
        "p_value": np.minimum((1.0 + unrelated_above[support]) / (1.0 + n_null), 1.0),
        "q_value": tail[support],
        "local_fdr": np.minimum(local, 1.0)[np.searchsorted(at, support)],
    }


def support_p_value(support: NDArray[np.integer], n_possible: int) -> NDArray[np.float64]:
    """P(X >= support), with the rate that the supports of all edges seen imply."""
    if len(support) == 0:
        return np.empty(0)
    return np.asarray(
        scipy.stats.poisson.sf(support - 1, support.sum() / n_possible), dtype=np.float64
    )


def _count_support(
    bootstrap: NDArray[np.integer], i: NDArray[np.integer], j: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.int64]]:
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
    edge, support = np.unique(row // n_bootstraps, return_counts=True)
    return edge // n_genes, edge % n_genes, support
