"""Speed of the data processing inequality, beside a straightforward NumPy reference.

    python benchmarks/bench_dpi.py [cpu|cuda] [--edges 10000000] [--genes 20000]

prints JSON. Two networks of the full size: ``modules`` looks like a thresholded MI matrix
(overlapping modules, hubs, noise; most edges go), ``ultrametric`` is one dense cluster in which no
edge is removed although every triangle has to be looked at, the hardest case we know of.
The reference is timed on a smaller ``modules`` network; the ratio is per edge, on that network.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.methods.mutual_information.dpi import data_processing_inequality

Edges = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


def run(
    backend: str = "cpu", n_genes: int = 20_000, n_edges: int = 10_000_000, seed: int = 1
) -> dict[str, Any]:
    """Time the DPI on ``backend``; returns seconds, edges removed and the ratio to NumPy."""
    small = modular_network(1_500, 60_000, seed)
    data_processing_inequality(*small, 1_500, backend=backend)  # compile
    result: dict[str, Any] = {
        "benchmark": "dpi",
        "backend": backend,
        "n_genes": n_genes,
        "cases": {},
    }
    cases = {
        "modules": (modular_network, 0.0, np.float64),
        "modules_tolerance_0.5": (modular_network, 0.5, np.float64),
        "modules_float32": (modular_network, 0.0, np.float32),
        "ultrametric": (ultrametric_network, 0.0, np.float64),
    }
    for name, (network, tolerance, real) in cases.items():
        i, j, mi = network(n_genes, n_edges, seed)
        mi = mi.astype(real)
        start = time.perf_counter()
        keep = data_processing_inequality(i, j, mi, n_genes, tolerance=tolerance, backend=backend)
        result["cases"][name] = {
            "edges": len(i),
            "edges_removed": int((~keep).sum()),
            "largest_degree": int(np.bincount(np.concatenate([i, j])).max()),
            "seconds": time.perf_counter() - start,
        }
    result["reference"] = compare_with_reference(small, 1_500, backend)
    result["peak_host_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


def compare_with_reference(edges: Edges, n_genes: int, backend: str) -> dict[str, Any]:
    """Seconds of both on one network, and how many times faster pairtile is."""
    start = time.perf_counter()
    expected = reference(*edges, n_genes)
    reference_seconds = time.perf_counter() - start
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        keep = data_processing_inequality(*edges, n_genes, backend=backend)
        seconds.append(time.perf_counter() - start)
    if not np.array_equal(keep, expected):
        raise AssertionError("the reference and pairtile disagree")
    return {
        "what": "NumPy, dense matrix, one row of triangles for each edge",
        "n_genes": n_genes,
        "edges": len(edges[0]),
        "reference_seconds": reference_seconds,
        "seconds": min(seconds),
        "times_faster": reference_seconds / min(seconds),
    }


def reference(
    i: NDArray[np.int32], j: NDArray[np.int32], mi: NDArray[np.float64], n_genes: int
) -> NDArray[np.bool_]:
    """Tolerance 0, on a dense matrix: for each edge, the best third gene over a whole row."""
    dense = np.full((n_genes, n_genes), -np.inf)
    dense[i, j] = dense[j, i] = mi
    return np.array(
        [
            value >= np.minimum(dense[a], dense[b]).max()
            for a, b, value in zip(i, j, mi, strict=True)
        ]
    )


def modular_network(n_genes: int, n_edges: int, seed: int) -> Edges:
    """The ``n_edges`` strongest pairs of a latent factor model with hubs, and the MI they have.

    Genes load on three of many factors; every second gene also loads on a common factor, and the
    hubs, one gene in a hundred, almost only on that. Loadings have a heavy tail. MI is that of a
    Gaussian pair, -log2(1 - r^2) / 2, plus noise.
    """
    random = np.random.default_rng(seed)
    n_factors = max(20, n_genes // 100)
    loadings = np.zeros((n_genes, n_factors), dtype=np.float32)
    for gene in range(n_genes):
        chosen = random.choice(n_factors, size=3, replace=False)
        loadings[gene, chosen] = random.standard_t(4, size=3)
    loadings[::2, 0] = random.standard_t(4, size=len(loadings[::2])) / 2
    loadings[::100, 0] = 4.0
    loadings /= np.sqrt((loadings**2).sum(axis=1, keepdims=True) + 0.5)

    share = n_edges / (n_genes * (n_genes - 1) / 2)
    sample = [_row_mi(loadings, row, seed) for row in random.choice(n_genes, 200)]
    cut = np.quantile(np.concatenate(sample), 1 - min(1.0, share * 1.1))
    parts = []
    for row in range(n_genes):
        values = _row_mi(loadings, row, seed)
        partners = np.flatnonzero(values > cut)
        parts.append((np.full(len(partners), row), partners + row + 1, values[partners]))
    i, j, mi = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(mi) > n_edges:
        strongest = np.sort(np.argpartition(-mi, n_edges)[:n_edges])
        i, j, mi = i[strongest], j[strongest], mi[strongest]
    return i.astype(np.int32), j.astype(np.int32), mi.astype(np.float64)


def _row_mi(loadings: NDArray[np.float32], row: int, seed: int) -> NDArray[np.float64]:
    """Noisy MI of one gene with all genes after it."""
    correlation = np.clip(loadings[row + 1 :] @ loadings[row], -0.999, 0.999)
    noise = np.random.default_rng([seed, row]).gamma(4.0, 0.005, size=len(correlation))
    return -0.5 * np.log2(1 - correlation.astype(np.float64) ** 2) + noise


def ultrametric_network(n_genes: int, n_edges: int, seed: int) -> Edges:
    """A complete cluster of as many genes as give ``n_edges``, MI from a binary tree.

    In every triangle the two weakest edges tie, so nothing is removed, and no walk ends early.
    """
    n_members = int((1 + np.sqrt(1 + 8 * n_edges)) / 2)
    members = np.random.default_rng(seed).permutation(n_genes)[:n_members]
    leaf_a, leaf_b = np.triu_indices(n_members, 1)
    _, depth = np.frexp(leaf_a ^ leaf_b)  # height of the lowest common ancestor
    mi = 1.0 / depth
    return members[leaf_a].astype(np.int32), members[leaf_b].astype(np.int32), mi


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--genes", type=int, default=20_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.backend, chosen.genes, chosen.edges), indent=2))
