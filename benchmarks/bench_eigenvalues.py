"""Eigenvalues for the RMT threshold: seconds and memory by number of genes that hang together.

    python -m benchmarks.bench_eigenvalues [cpu|cuda] [--sizes 1000 2000 ...] [--seconds 60]

Each size is one connected network with 50 partners to a gene, and solved once after a small one;
the time does not depend on the values. A size that would take longer than ``--seconds``, judged by
the cube of the genes, is left out. Writes benchmarks/results/eigenvalues.MACHINE.json.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.gpu.device import Device, choose, threads
from pairtile.methods.multimodal_correlation.eigenvalues import NetworkEigenvalues
from pairtile.methods.multimodal_correlation.thresholds import RankedPairs, random_matrix_threshold

from benchmarks.machine import write

SIZES = {"cpu": (500, 1000, 2000, 4000), "cuda": (500, 1000, 2000, 5000, 10_000, 20_000, 47_000)}
Edges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]


def run(backend: str, sizes: tuple[int, ...] = (), most_seconds: float = 60.0) -> dict[str, Any]:
    """Seconds for each size, and of a whole walk."""
    device = choose(backend)
    _solve(device, 300)
    rows: list[dict[str, Any]] = []
    for size in sizes or SIZES[device.backend]:
        if rows and rows[-1]["seconds"] * (size / rows[-1]["genes"]) ** 3 > most_seconds:
            rows.append({"genes": size, "seconds": None, "left_out": "would take too long"})
            break
        rows.append(_solve(device, size))
        print(json.dumps(rows[-1]), flush=True)
    return {"threads": threads(), "one_connected_network": rows, "walk": _walk(device)}


def connected_network(genes: int, partners: int = 50, seed: int = 1) -> Edges:
    """A random connected network, (i, j, r): a chain, and pairs drawn with repetition left out."""
    random = np.random.default_rng(seed)
    drawn = random.integers(0, genes, (genes * partners // 2, 2))
    drawn = np.concatenate([np.column_stack([np.arange(genes - 1), np.arange(1, genes)]), drawn])
    drawn = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    sign = random.choice([-1, 1], len(drawn))
    r = (sign * random.uniform(0.7, 1, len(drawn))).astype(np.float32)
    return drawn[:, 0], drawn[:, 1], r


def _solve(device: Device, genes: int) -> dict[str, Any]:
    i, j, r = connected_network(genes)
    seconds = np.inf
    for _ in range(3 if genes <= 5000 else 1):
        start = time.perf_counter()
        values = NetworkEigenvalues(genes, device).of_matrix(np.arange(genes), i, j, r)
        seconds = min(seconds, time.perf_counter() - start)
    if not np.isclose(values @ values, genes + 2 * float(r.astype(float) @ r.astype(float))):
        raise AssertionError("the eigenvalues' squares do not sum to the matrix' squares")
    return {
        "genes": genes,
        "edges": len(r),
        "seconds": round(seconds, 3),
        "matrix_gb": round(8 * genes**2 / 1e9, 3),
        "gpu_peak_gb": round(device.peak_bytes() / 1e9, 3),
    }


def modules_and_noise(genes: int, samples: int, seed: int) -> Edges:
    """Pairs of |r| >= 0.5, (i, j, r), of genes that follow one of 40 factors, with noise."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(40, samples))
    values = random.uniform(0.5, 3, (genes, 1)) * factors[random.integers(0, 40, genes)]
    correlation = np.corrcoef(values + random.normal(size=(genes, samples))).astype(np.float32)
    i, j = np.triu_indices(genes, 1)
    r = correlation[i, j]
    strong = np.abs(r) >= 0.5
    return i[strong], j[strong], r[strong]


def _walk(device: Device, genes: int = 3000, samples: int = 30) -> dict[str, Any]:
    """A whole threshold search."""
    i, j, r = modules_and_noise(genes, samples, seed=4)
    start = time.perf_counter()
    found = random_matrix_threshold(RankedPairs.of_modes(i, j, r, genes), device=device)
    return {
        "genes": genes,
        "samples": samples,
        "pairs": len(r),
        "steps": len(found.curve),
        "threshold": found.threshold,
        "message": found.message,
        "most_genes": int(found.curve["genes"].max()),
        "seconds": round(time.perf_counter() - start, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    results = run(chosen.backend, tuple(chosen.sizes), chosen.seconds)
    print(json.dumps(results, indent=2))
    print(write("eigenvalues", chosen.backend, results))
