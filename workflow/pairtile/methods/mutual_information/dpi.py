"""Data processing inequality: take the weakest edge out of every triangle of the network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

KERNELS = Path(__file__).parent / "kernels"

RULES = ("relative", "additive")
MAX_EDGES = 2**31 - 1
"""Edge numbers are 32-bit in the kernels."""


def data_processing_inequality(
    i: ArrayLike,
    j: ArrayLike,
    mi: ArrayLike,
    n_genes: int,
    *,
    tolerance: float = 0.0,
    rule: str = "relative",
    is_regulator: NDArray[np.bool_] | None = None,
    backend: str = "cpu",
) -> NDArray[np.bool_]:
    """Say which edges survive, bool (E,): ``pairtile.data_processing_inequality`` of arrays.

    i, j : integers (E,), each undirected edge once. mi : float32, which is compared as such, or
    float64 (E,). n_genes : genes are 0 to ``n_genes - 1``. is_regulator : bool (n_genes,). Both
    backends give the same answer, bit for bit.

    Time is at most the sum over the edges of the smaller of their two degrees (E^1.5 at worst);
    memory 16 bytes for each edge's end and one row of ``n_genes`` values for each thread.
    """
    ends_i, ends_j, values = _check_edges(i, j, mi, n_genes)
    kept = np.ones(len(values), dtype=bool)
    prune(
        ends_i,
        ends_j,
        values,
        kept,
        n_genes,
        tolerance=tolerance,
        rule=rule,
        is_regulator=is_regulator,
        backend=backend,
    )
    return kept


def prune(
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    mi: NDArray[np.floating],
    in_network: NDArray[np.bool_],
    n_genes: int,
    *,
    tolerance: float,
    rule: str,
    is_regulator: NDArray[np.bool_] | None,
    backend: str,
) -> None:
    """``data_processing_inequality`` of the pairs ``in_network``, those that go taken out of it.

    Of pairs that are known to be sound, and may be many: on the CPU it takes 25 bytes a pair of the
    network beside them.
    """
    additive, threshold = _check_rule(rule, tolerance)
    # Where every gene may explain every edge, every gene is as good as a regulator.
    every = np.ones(n_genes, dtype=np.uint8)
    regulators = every if is_regulator is None else is_regulator.astype(np.uint8)
    if len(mi) > MAX_EDGES:
        raise ValueError(f"there are {len(mi):,} pairs; expected at most {MAX_EDGES:,}")
    if not in_network.any() or (not additive and threshold == 0):
        return
    which = None if in_network.all() else np.flatnonzero(in_network).astype(np.int32)
    run = _on_cpu if backend == "cpu" else _on_cuda
    in_network[run(i, j, mi, which, regulators, n_genes, threshold, additive)] = False


def _on_cpu(
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    mi: NDArray[np.floating],
    which: NDArray[np.int32] | None,
    is_regulator: NDArray[np.uint8],
    n_genes: int,
    threshold: float,
    additive: bool,
) -> NDArray[np.int32]:
    """Numbers of the pairs whose edges go: of all, or of those with the numbers ``which``."""
    import numba

    from pairtile.methods.mutual_information.kernels import dpi as kernels

    here: NDArray[np.int32] | slice = slice(None) if which is None else which
    degree = np.bincount(i[here], minlength=n_genes) + np.bincount(j[here], minlength=n_genes)
    # Genes are renumbered by descending degree. The kernel walks the list of the end with the
    # larger number: the shorter one, which bounds the work where there are hubs.
    by_degree = np.argsort(-degree, kind="stable")
    number = np.empty(n_genes, dtype=np.int32)
    number[by_degree] = np.arange(n_genes, dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(degree[by_degree])])

    ranked = np.argsort(np.negative(mi[here])).astype(np.int32)
    order = ranked if which is None else which[ranked]
    del ranked
    stronger = kernels.count_stronger(mi[order], mi.dtype.type(threshold), int(additive))
    n_edges = len(order)
    adjacency = kernels.Adjacency(
        offsets,
        neighbours=np.empty(2 * n_edges, dtype=np.int32),
        ranks=np.empty(2 * n_edges, dtype=np.int32),
    )
    kernels.fill_adjacency(i, j, number, order, offsets[:-1].copy(), adjacency)

    # A row for each thread.
    rows = np.full((min(numba.get_num_threads(), n_genes), n_genes), kernels.ABSENT, np.int32)
    removed = np.zeros(n_edges, dtype=np.uint8)
    kernels.data_processing_inequality(adjacency, is_regulator[by_degree], stronger, rows, removed)
    del adjacency, stronger
    return order[removed.view(bool)]


def _on_cuda(
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    mi: NDArray[np.floating],
    which: NDArray[np.int32] | None,
    is_regulator: NDArray[np.uint8],
    n_genes: int,
    threshold: float,
    additive: bool,
) -> NDArray[np.int32]:
    import cupy

    from pairtile.gpu.compiling import load

    if which is not None:
        i, j, mi = i[which], j[which], mi[which]
    n_edges = len(mi)
    ends_i, ends_j, values = cupy.asarray(i), cupy.asarray(j), cupy.asarray(mi)
    degree = cupy.bincount(ends_i, minlength=n_genes) + cupy.bincount(ends_j, minlength=n_genes)
    by_degree = cupy.argsort(-degree)
    number = cupy.empty(n_genes, dtype=np.int32)
    number[by_degree] = cupy.arange(n_genes, dtype=np.int32)
    offsets = cupy.zeros(n_genes + 1, dtype=np.int64)
    offsets[1:] = cupy.cumsum(degree[by_degree])

    # One integer sort puts every row in place: by gene, then by descending MI.
    place = cupy.empty(n_edges, dtype=np.int64)
    place[cupy.argsort(-values)] = cupy.arange(n_edges)
    a, b = number[ends_i], number[ends_j]
    key = cupy.concatenate([a, b]).astype(np.int64) * n_edges
    key += cupy.concatenate([place, place])
    order = cupy.argsort(key)
    del key, place
    neighbours = cupy.concatenate([b, a])[order]
    edges = (order % n_edges).astype(np.int32)
    del order, a, b
    weights = values[edges]

    real = {"float32": "float", "float64": "double"}[mi.dtype.name]
    kernel = load(KERNELS / "dpi.cu", {"REAL": real}).get_function("data_processing_inequality")
    # Two blocks for each multiprocessor fill the device, and their rows still fit its cache.
    n_blocks = min(2 * cupy.cuda.Device().attributes["MultiProcessorCount"], n_genes)
    rows = cupy.full((n_blocks, n_genes), -np.inf, dtype=mi.dtype)
    removed = cupy.zeros(n_edges, dtype=np.uint8)
    arguments = (
        offsets,
        neighbours,
        weights,
        edges,
        cupy.asarray(is_regulator)[by_degree],
        np.int32(n_genes),
        mi.dtype.type(threshold),
        np.int32(additive),
        rows,
        removed,
    )
    kernel((n_blocks,), (512,), arguments)
    gone = cupy.asnumpy(cupy.flatnonzero(removed).astype(np.int32))
    return gone if which is None else which[gone]


def _check_rule(rule: str, tolerance: float) -> tuple[bool, float]:
    """Return whether the rule is additive, and the factor or difference that the kernel takes."""
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    if rule == "additive":
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"tolerance is {tolerance}; expected 0 or more for the additive rule")
        return True, float(tolerance)
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance is {tolerance}; expected 0 to 1 for the relative rule")
    return False, 1.0 - float(tolerance)


def _check_edges(
    i: ArrayLike, j: ArrayLike, mi: ArrayLike, n_genes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.floating]]:
    first, second, values = np.asarray(i), np.asarray(j), np.asarray(mi)
    if not (first.ndim == second.ndim == values.ndim == 1) or not (
        len(first) == len(second) == len(values)
    ):
        raise ValueError(
            f"i, j and mi have shapes {first.shape}, {second.shape} and {values.shape}; "
            "expected three vectors of one length"
        )
    if len(values) == 0:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float64)
    for name, ends in (("i", first), ("j", second)):
        if ends.dtype.kind not in "iu":
            raise ValueError(f"{name} has type {ends.dtype}; expected integers")
        if ends.min() < 0 or ends.max() >= n_genes:
            wrong = np.flatnonzero((ends < 0) | (ends >= n_genes))[0]
            raise ValueError(
                f"{name}[{wrong}] is {ends[wrong]}; expected a gene from 0 to {n_genes - 1}"
            )
    if np.any(first == second):
        wrong = np.flatnonzero(first == second)[0]
        raise ValueError(f"edge {wrong} joins gene {first[wrong]} to itself; expected two genes")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if not np.isfinite(values).all():
        wrong = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"mi[{wrong}] is {values[wrong]}; expected a finite number")
    pair = np.minimum(first, second).astype(np.int64) * n_genes + np.maximum(first, second)
    if not np.all(pair[1:] > pair[:-1]):  # mostly sorted by (i, j): no need to sort
        pair.sort()
        repeated = np.flatnonzero(pair[1:] == pair[:-1])
        if len(repeated):
            a, b = divmod(int(pair[repeated[0]]), n_genes)
            raise ValueError(f"the edge between genes {a} and {b} occurs twice; expected once")
    return first.astype(np.int32, copy=False), second.astype(np.int32, copy=False), values
