"""Whether a module is more than what the same search finds in noise.

Every way to find modules finds some in genes that have nothing in common, and picks those that
agree most, so that no test of the agreement within a module by itself is right. Here the same
search is made in tables whose genes are permuted one by one, as the null of the samples allows.
A module is measured by the largest eigenvalue of its correlations; p is the share of tables in
which any module has as large a one, so that it holds over all modules at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from pairtile.arrays import Float64Array, Int32Array, Int64Array, IntegerArray
from pairtile.downstream.eigengenes import eigengene, standardise
from pairtile.preprocess.null_design import NullDesign
from pairtile.runtime.files import kept_arrays
from pairtile.runtime.record import Progress
from pairtile.statistics.hidden_factors import Exchange
from pairtile.statistics.modules import leiden_modules

MIN_TABLES, MAX_TABLES = 19, 99
"""Permuted tables: 19 are the fewest that can give p = 0.05."""

MAX_GENES = 4_000
"""Genes of a permuted table, drawn at random of more: the strongest module of noise, by its
``strength``, is no stronger among more genes (it falls slowly)."""


def n_tables(n_genes: int) -> int:
    """How many permuted tables are made for so many genes."""
    n = min(n_genes, MAX_GENES)
    # At most so many pairs of genes in all permuted tables together.
    return int(np.clip(4e8 / n**2, MIN_TABLES, MAX_TABLES))


def strength(z: Float64Array, labels: Int32Array) -> Float64Array:
    """Of each module: the largest eigenvalue of its correlations over what a module of that size
    has at most in noise, about: random genes (Marchenko and Pastur) and the choice among all.

    z : standardised genes, (genes, samples). Returns float64 (modules,).
    """
    genes, n = z.shape
    found = np.zeros(int(labels.max(initial=0)))
    for module in range(1, found.size + 1):
        rows = z[labels == module]
        size = len(rows)
        if size > 1:
            found[module - 1] = eigengene(rows)[1] * size / _noise(size, genes, n)
    return found


def strength_bound(z: Float64Array) -> float:
    """No set of genes of a table has a larger ``strength``, whatever the modules.

    The largest eigenvalue of a set is at most that of all genes, and at most the largest sum of |r|
    of a gene with as many others (Gershgorin). Costs a tenth of a search.

    z : standardised genes, (genes, samples).
    """
    genes, n = z.shape
    length = np.sqrt((z * z).sum(axis=1).min())
    if not length > 0.0:
        return np.inf
    x = (z / length).astype(np.float32)
    # Of more correlations of a gene, its largest sums are of no smaller ones than these.
    known = min(genes - 1, 255)
    sums, least = np.zeros(known), 0.0
    step = max(1, (1 << 22) // genes)
    for start in range(0, genes, step):
        r = np.abs(x[start : start + step] @ x.T)
        r[np.arange(len(r)), start + np.arange(len(r))] = 0.0
        largest = np.sort(np.partition(r, genes - known, axis=1)[:, genes - known :], axis=1)
        sums = np.maximum(sums, largest[:, ::-1].cumsum(axis=1, dtype=np.float64).max(axis=0))
        least = max(least, float(largest[:, 0].max()))
    size = np.arange(2, genes + 1)
    beyond = np.maximum(size - 1 - known, 0)
    own = float((x * x).sum(axis=1).max())
    by_row = own + sums[np.minimum(size - 1, known) - 1] + least * beyond
    x = x.astype(np.float64)
    top = min(genes, n) - 1
    gram = x.T @ x if n <= genes else x @ x.T
    of_all = float(eigh(gram, eigvals_only=True, subset_by_index=[top, top])[0])
    return float((np.minimum(by_row, of_all) / _noise(size, genes, n)).max() * (1 + 1e-4))


def _noise(size: IntegerArray | int, genes: int, samples: int) -> Float64Array:
    """What the largest eigenvalue of a module of so many genes is at most in noise, about."""
    by_size = (1 + np.sqrt(size / samples)) ** 2
    return np.asarray(by_size + 2 * size * np.log(genes / size) / samples)


def noise_p_values(
    values: Float64Array,
    labels: Int32Array,
    find: Callable[[Float64Array], list[Int32Array]],
    design: NullDesign,
    *,
    seed: int,
    inflation: float = 1.0,
    tables: int | None = None,
    limit: float = 1.0,
    folder: Path | None = None,
) -> Float64Array:
    """p of each module, float64 (modules,): (1 + tables with a stronger one) / (1 + tables).

    Parameters
    ----------
    values : float64 array, shape (genes, samples)
        NaN where missing.
    labels : int32 array, shape (genes,)
        The modules that were found, 0 for none.
    find : function
        The same search in another table; it may give several sets of modules.
    design : NullDesign
        Which samples a permutation exchanges.
    seed : int
        The same seed, the same tables.
    inflation : float
        By how much r squared of unrelated genes is larger than in permuted ones, where degrees of
        freedom went with effects that were removed.
    tables : int, optional
        How many are made; by the number of genes if None.
    limit : float
        p above it need not be exact, only above it: no search is made where every module that may
        have a smaller one is stronger than any that the table can have.
    folder : Path, optional
        Where the tables that are done are kept (``runtime.files.kept_arrays``).
    """
    observed = strength(standardise(values), labels)
    if not observed.size:
        return observed
    count = tables or n_tables(len(values))
    exchange = Exchange(design.groups, design.shifted)

    def strongest(table: int, least: float) -> dict[str, Float64Array]:
        """Of the modules of a permuted table; below 0 where all are weaker than the least."""
        rng = np.random.default_rng([seed, table])
        some = values
        if len(values) > MAX_GENES:
            some = values[np.sort(rng.choice(len(values), MAX_GENES, replace=False))]
        noise = exchange.exchanged(some, rng)
        z = standardise(noise)
        if least > strength_bound(z) * inflation:
            return {"strength": np.array([-1.0])}
        found = [strength(z, found).max(initial=0.0) for found in find(noise)]
        return {"strength": np.array([max(found, default=0.0)])}

    exceeded = np.ones(observed.size)
    progress = Progress(count, "permuted tables")
    for table in range(count):
        open_ones = observed[exceeded / (1 + count) <= limit]
        if not open_ones.size:
            break
        of_table = partial(strongest, table, open_ones.min())
        largest = float(kept_arrays(folder, f"noise-{table}", of_table)["strength"][0])
        exceeded += largest * inflation >= observed
        progress.advance(1)
    return exceeded / (1 + count)


def strongest_pairs_modules(
    values: Float64Array, n_edges: int, min_size: int, resolution: float, seed: int
) -> list[Int32Array]:
    """Leiden modules of the networks of the ``n_edges`` strongest correlations, and of fewer."""
    z = standardise(values)
    z /= np.maximum(np.sqrt((z * z).sum(axis=1, keepdims=True)), 1e-300)
    i, j, r = _strongest(z, n_edges)
    order = np.argsort(-np.abs(r), kind="stable")
    found = []
    # As many pairs as the network has edges, and so many times fewer: noise in a network may stand
    # among its strongest edges.
    for thinning in (1, 4, 16, 64):
        kept = order[: -(-n_edges // thinning)]
        labels = leiden_modules(
            i[kept], j[kept], r[kept], len(z), resolution=resolution, seed=seed, runs=1
        )
        found.append(without_small(labels, min_size))
    return found


def without_small(labels: Int32Array, min_size: int) -> Int32Array:
    """Modules numbered by size, without those of fewer genes than ``min_size``."""
    large = np.bincount(labels) >= min_size
    return np.where(large[labels], labels, 0).astype(np.int32)


def _strongest(z: Float64Array, count: int) -> tuple[Int64Array, Int64Array, Float64Array]:
    """The pairs of largest |r| among genes of length 1."""
    i, j, r = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    step = max(1, (1 << 24) // len(z))
    for start in range(0, len(z), step):
        block = z[start : start + step] @ z[start:].T
        least = np.sort(np.abs(r))[0] if r.size == count else 0.0
        rows, columns = np.nonzero(np.triu(np.abs(block) > least, 1))
        i = np.concatenate([i, rows + start])
        j = np.concatenate([j, columns + start])
        r = np.concatenate([r, block[rows, columns]])
        if r.size > count:
            kept = np.argpartition(-np.abs(r), count - 1)[:count]
            i, j, r = i[kept], j[kept], r[kept]
    return i, j, r
