"""Modules of a network: groups of genes (Leiden), or of edges, so that a gene can be in several."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, diags_array, triu

from pairtile.arrays import Float64Array, Int32Array, Int64Array
from pairtile.errors import InputError

MAX_MEETINGS = 100_000_000
"""Pairs of edges that share a gene, above which ``link_communities`` refuses."""


def leiden_modules(
    i: ArrayLike,
    j: ArrayLike,
    r: ArrayLike,
    n_genes: int,
    *,
    resolution: float = 1.0,
    seed: int = 0,
    runs: int | None = None,
) -> Int32Array:
    """Module of each gene: Leiden (Traag et al. 2019, Sci Rep 9:5233), edges weighted by ``|r|``.

    Parameters
    ----------
    i, j, r : array-like, shape (edges,)
        Gene numbers and correlation. Any order of edges and of their ends gives the same modules.
        Of several edges between two genes the one of largest ``|r|`` counts; those of 0 or NaN
        join nothing.
    n_genes : int
        Genes are numbered 0 .. n_genes - 1.
    resolution : float
        Of the modularity (Reichardt and Bornholdt 2006), above 0: the higher, the smaller the
        modules.
    seed : int
        The same seed, the same modules.
    runs : int or None
        The one of greatest modularity is taken. None: 10, of large networks fewer (one from half
        a million edges on).

    Returns
    -------
    int32 array, shape (n_genes,)
        From 1 (the largest; of equals the one with the first gene) on; 0: no edge. No module
        reaches over unconnected parts.
    """
    low, high, weight = _strongest(i, j, r, n_genes)
    result = np.zeros(n_genes, dtype=np.int32)
    genes, ends = np.unique(np.concatenate([low, high]), return_inverse=True)
    if genes.size:
        edges = ends.reshape(2, -1).T
        found = leiden(genes.size, edges, weight, resolution=resolution, seed=seed, runs=runs)
        result[genes] = by_size(found)
    return result


def link_communities(
    i: ArrayLike,
    j: ArrayLike,
    r: ArrayLike,
    n_genes: int,
    *,
    resolution: float = 1.0,
    seed: int = 0,
    runs: int | None = None,
) -> Int32Array:
    """Community of each edge; a gene belongs to those of all its edges.

    Leiden on the line graph (Evans and Lambiotte 2009, Phys Rev E 80:016105; weighted as in 2010,
    Eur Phys J B 77:265): edges e and f that share a gene of strength s are joined by
    w_e w_f / s, w the ``|r|`` of an edge, and each with itself; so that a hub's many meetings
    weigh no more than its edges do.

    Parameters
    ----------
    i, j, r, n_genes, resolution, seed, runs
        As for ``leiden_modules``. Several edges between two genes get one community.

    Returns
    -------
    int32 array, shape (edges,)
        From 1 (of most pairs of genes) on, in the order given; 0: an edge of 0 or NaN.

    Raises
    ------
    InputError
        Where more than 1e8 pairs of edges share a gene.
    """
    low, high, weight = _strongest(i, j, r, n_genes)
    degree = np.bincount(np.concatenate([low, high]), minlength=n_genes)
    meetings = int((degree * (degree - 1) // 2).sum())
    if meetings > MAX_MEETINGS:
        raise InputError(
            f"link communities: found {meetings:,} pairs of edges that share a gene ({low.size:,} "
            f"edges, a gene with {degree.max():,}); expected at most {MAX_MEETINGS:,}. Take a "
            "higher threshold, or modules of genes (leiden)"
        )
    result = np.zeros(np.asarray(i).size, dtype=np.int32)
    if not low.size:
        return result
    column = np.arange(low.size)
    incidence = coo_array(
        (np.tile(weight, 2), (np.concatenate([low, high]), np.tile(column, 2))),
        shape=(n_genes, low.size),
    ).tocsr()
    strength = incidence.sum(axis=1)
    share = diags_array(np.divide(1.0, strength, out=np.zeros(n_genes), where=strength > 0))
    meeting = triu(incidence.T @ share @ incidence).tocoo()
    joined, own = np.column_stack(meeting.coords), meeting.data
    # A loop adds twice its weight to its node's strength.
    own = np.where(joined[:, 0] == joined[:, 1], own / 2, own)
    order = np.lexsort((joined[:, 1], joined[:, 0]))
    modules = leiden(
        low.size, joined[order], own[order], resolution=resolution, seed=seed, runs=runs
    )
    found = by_size(modules)
    keys = low * n_genes + high
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    wanted = np.minimum(first, second) * n_genes + np.maximum(first, second)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    known = keys[place] == wanted
    with np.errstate(invalid="ignore"):
        known &= np.abs(np.asarray(r, dtype=np.float64)) > 0
    result[known] = found[place[known]]
    return result


def module_table(modules: ArrayLike, i: ArrayLike, j: ArrayLike, r: ArrayLike) -> pd.DataFrame:
    """A row for each module of genes.

    Parameters
    ----------
    modules : array-like, shape (n_genes,)
        From ``leiden_modules``.
    i, j, r : array-like, shape (edges,)
        The edges that they were made of.

    Returns
    -------
    DataFrame
        ``module``; ``genes``; ``edges``: pairs of genes joined within it; ``edges_out``: those
        with one end in it; ``density``: share of its possible pairs that are joined;
        ``mean_correlation``: mean ``|r|`` of its edges; ``hub``: number of the gene of greatest
        summed ``|r|`` within it, the first of equals; ``hub_edges``: how many it has within it.
    """
    module = np.asarray(modules, dtype=np.int64)
    low, high, weight = _strongest(i, j, r, module.size)
    n = int(module.max(initial=0)) + 1
    inside = module[low] == module[high]
    genes = np.bincount(module, minlength=n)
    edges = np.bincount(module[low[inside]], minlength=n)
    out = np.bincount(module[low[~inside]], minlength=n)
    out += np.bincount(module[high[~inside]], minlength=n)
    summed = np.bincount(module[low[inside]], weights=weight[inside], minlength=n)
    ends = np.concatenate([low[inside], high[inside]])
    strength = np.bincount(ends, weights=np.tile(weight[inside], 2), minlength=module.size)
    degree = np.bincount(ends, minlength=module.size)
    # The first gene of each module in an order by module, falling strength and number.
    order = np.lexsort((np.arange(module.size), -strength, module))
    _, first = np.unique(module[order], return_index=True)
    hub = order[first][module[order[first]] > 0]
    number = module[hub]
    # Of a module without an edge, or of one gene, neither is known.
    with np.errstate(invalid="ignore"):
        density = edges[number] / (genes[number] * (genes[number] - 1) / 2)
        mean_correlation = summed[number] / edges[number]
    return pd.DataFrame(
        {
            "module": number.astype(np.int32),
            "genes": genes[number],
            "edges": edges[number],
            "edges_out": out[number],
            "density": density,
            "mean_correlation": mean_correlation,
            "hub": hub.astype(np.int32),
            "hub_edges": degree[hub],
        }
    )


def _strongest(
    i: ArrayLike, j: ArrayLike, r: ArrayLike, n_genes: int
) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Each joined pair once, (low, high, ``|r|``), by number: the same for any order of edges."""
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    weight = np.abs(np.asarray(r, dtype=np.float64))
    joined = weight > 0  # not NaN
    first, second, weight = first[joined], second[joined], weight[joined]
    low, high = np.minimum(first, second), np.maximum(first, second)
    if low.size and (low.min() < 0 or high.max() >= n_genes or (low == high).any()):
        raise ValueError(f"i and j: expected pairs of two genes from 0 to {n_genes - 1}")
    order = np.lexsort((-weight, high, low))
    _, once = np.unique((low * n_genes + high)[order], return_index=True)
    kept = order[once]
    return low[kept], high[kept], weight[kept]


def leiden(
    n_nodes: int,
    edges: Int64Array,
    weight: Float64Array,
    *,
    seed: int,
    resolution: float = 1.0,
    runs: int | None = None,
) -> Int64Array:
    """Members of the modules of one network, int64 (n_nodes,), in any order: the best of some runs
    (see ``leiden_modules``); without edges each by itself. ``edges``: (edges, 2). ``weight``:
    (edges,)."""
    import igraph

    if resolution <= 0:
        raise ValueError(f"resolution: found {resolution}; expected above 0")
    if runs is None:
        # Draws differ in what they find. A run takes some ten seconds for a million edges.
        runs = min(10, max(1, 1_000_000 // weight.size))

    graph = igraph.Graph(n=n_nodes, edges=edges, directed=False)
    weights = weight.tolist()
    # igraph draws from one generator for the whole process; it is handed back afterwards.
    igraph.set_random_number_generator(random.Random(seed))
    best, best_score = np.arange(n_nodes), -np.inf
    try:
        for _ in range(runs):
            found = graph.community_leiden(
                "modularity", weights=weights, resolution=resolution, n_iterations=-1
            )
            score = graph.modularity(found, weights=weights, resolution=resolution)
            if score > best_score:  # the first of equals
                best, best_score = np.array(found.membership, dtype=np.int64), score
    finally:
        igraph.set_random_number_generator(random)
    return best


def by_size(found: Int64Array) -> Int32Array:
    """Numbers from 1 on by size, of equals by the first member."""
    return renumbered_by_size(pd.factorize(found)[0] + 1)


def renumbered_by_size(labels: NDArray[np.integer]) -> Int32Array:
    """Numbered from 1 by falling size, of equals by their number; 0 stays."""
    sizes = np.bincount(labels, minlength=1)
    sizes[0] = 0
    order = np.argsort(-sizes[1:], kind="stable") + 1
    number = np.zeros(sizes.size, dtype=np.int32)
    number[order[sizes[order] > 0]] = np.arange(1, (sizes > 0).sum() + 1)
    return number[labels]
