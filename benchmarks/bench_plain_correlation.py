"""Speed of plain correlation networks (``clustering: none``), in pairs of genes.

    python -m benchmarks.bench_plain_correlation [cpu|cuda] [case ...] [--write]

prints JSON. Genes belong to modules that share a factor, so that a known share of pairs is kept at
|r| >= 0.5 (about 1 %; ``dense``: about 10 %). ``seconds`` is what a chunk computes: sorting and
centring the genes, and all tiles up to arrays of kept pairs on the host. ``stages`` says where the
time of one large tile goes; ``products`` compares float32 and float64 matrix products. On the CPU
one thread computes, and the time is its own: pairs a second of one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from pairtile.gpu.device import Device, choose
from pairtile.methods.multimodal_correlation.plain_correlation import (
    PlainCorrelation,
    pair_scorer,
)
from threadpoolctl import threadpool_limits

from benchmarks.bench_pair_mixtures import mixture_config
from benchmarks.machine import timed, write

SIZES = {"cpu": (1_536, 1_000), "cuda": (20_000, 1_000)}
"""Genes, samples."""

EDGES = {"cpu": (1024,), "cuda": (1024, 4096)}
"""Genes along a tile."""

CASES: dict[str, tuple[str, float, bool, int]] = {
    "pearson": ("pearson", 0.0, False, 50),
    "pearson_outliers": ("pearson", 0.0, True, 50),
    "pearson_missing": ("pearson", 0.05, False, 50),
    "pearson_missing_outliers": ("pearson", 0.05, True, 50),
    "spearman": ("spearman", 0.0, False, 50),
    "spearman_outliers": ("spearman", 0.0, True, 50),
    "spearman_missing": ("spearman", 0.05, False, 50),
    "spearman_missing_outliers": ("spearman", 0.05, True, 50),
    "pearson_dense": ("pearson", 0.0, False, 5),
    "bicor": ("bicor", 0.0, False, 50),
    "bicor_missing": ("bicor", 0.05, False, 50),
    "kendall": ("kendall", 0.0, False, 50),
    "kendall_missing": ("kendall", 0.05, False, 50),
    "partial": ("partial", 0.0, False, 50),
}
"""Correlation, share of values missing, outliers taken away, modules."""


def expression(genes: int, samples: int, modules: int, missing: float) -> NDArray[np.float64]:
    """Log2-like values, float64 (genes, samples), of genes in modules."""
    random = np.random.default_rng(1)
    values = random.standard_normal((genes, samples), dtype=np.float32)
    factors = random.standard_normal((modules, samples), dtype=np.float32)
    loading = random.uniform(0.4, 2.0, (genes, 1)).astype(np.float32)
    values += loading * factors[random.integers(0, modules, genes)]
    values += 7.0
    if missing:
        values[random.random(values.shape, dtype=np.float32) < missing] = np.nan
    return values.astype(np.float64)


def run(backend: str, cases: list[str] | None = None) -> dict[str, Any]:
    """Time the cases on ``backend``."""
    device = choose(backend)
    genes, samples = SIZES[backend]
    result: dict[str, Any] = {"backend": backend, "genes": genes, "samples": samples, "cases": {}}
    with _one_thread() if backend == "cpu" else nullcontext():
        for name in cases or CASES:
            result["cases"][name] = _case(CASES[name], genes, samples, device)
        result["products"] = _products(device, min(genes, 4096), samples)
    return result


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold numba and the matrix library to one thread."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(before)


def _case(
    case: tuple[str, float, bool, int], genes: int, samples: int, device: Device
) -> dict[str, Any]:
    kind, missing, outliers, modules = case
    values = expression(genes, samples, modules, missing)
    wanted = mixture_config(clustering="none", correlation=kind, outliers_before=outliers)
    clock = time.process_time if device.backend == "cpu" else time.perf_counter
    begin = clock()
    some = genes if device.backend == "cuda" else 64  # CuPy compiles by size, too
    keys = np.arange(genes, dtype=np.uint64)
    first = pair_scorer(wanted, values[:some], keys, device, 0)
    first.tile(np.arange(some), np.arange(64), False)
    del first
    pairs = genes * (genes - 1) // 2
    entry: dict[str, Any] = {"pairs": pairs, "first_call_seconds": clock() - begin}
    for edge in EDGES[device.backend]:
        begin = clock()
        search = pair_scorer(wanted, values, keys, device, 0)
        assert isinstance(search, PlainCorrelation)
        search._genes.prepare(np.arange(genes))
        _wait(device)
        prepared = clock() - begin
        kept = 0
        for row in range(0, genes, edge):
            rows = np.arange(row, min(genes, row + edge))
            for column in range(row, genes, edge):
                columns = np.arange(column, min(genes, column + edge))
                kept += len(search.tile(rows, columns, row == column))
        seconds = clock() - begin
        entry[f"tiles_of_{edge}"] = {
            "seconds": seconds,
            "of_which_preparing_genes": prepared,
            "pairs_per_second": pairs / seconds,
        }
    entry["share_of_pairs_kept"] = kept / pairs
    entry["stages"] = _stages(search, min(genes // 2, 4096), device)
    entry["peak_gpu_memory_bytes"] = device.peak_bytes()
    return entry


def _wait(device: Device) -> None:
    if device.backend == "cuda":
        device.xp.cuda.Stream.null.synchronize()


def _stages(search: PlainCorrelation, edge: int, device: Device) -> dict[str, float]:
    """Seconds of the steps of one tile of ``edge`` x ``edge`` genes off the diagonal."""
    seconds: dict[str, float] = {}
    clock = time.process_time if device.backend == "cpu" else time.perf_counter

    @contextmanager
    def replaced(owner: Any, name: str) -> Any:
        step = getattr(owner, name)

        def measured(*arguments: Any) -> Any:
            _wait(device)
            begin = clock()
            found = step(*arguments)
            _wait(device)
            seconds[name.strip("_")] = seconds.get(name.strip("_"), 0.0) + clock() - begin
            return found

        setattr(owner, name, measured)
        try:
            yield
        finally:
            delattr(owner, name)

    with (
        replaced(search, "_products"),
        replaced(search._blocks, "pair_correlations"),
        replaced(search._blocks, "kept"),
        replaced(search._blocks, "describe"),
    ):
        begin = clock()
        search.tile(np.arange(edge), np.arange(edge, 2 * edge), False)
        seconds["all"] = clock() - begin
    return {"edge": edge, **seconds}


def _products(device: Device, genes: int, samples: int) -> dict[str, Any]:
    """Matrix products of unit rows in float32 and float64: time, and the error of float32."""
    xp = device.xp
    rows = expression(genes, samples, 50, 0.0)
    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    found: dict[str, Any] = {}
    exact = None
    for name in ("float64", "float32"):
        values = xp.asarray(rows.astype(name))
        product = values @ values.T
        found[name] = timed(lambda values=values: values @ values.T)
        flops = 2.0 * samples * genes * genes
        found[name]["teraflops"] = flops / found[name]["seconds"] / 1e12
        if exact is None:
            exact = product
        else:
            found["float32_error_of_r"] = float(abs(product - exact).max())
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--write", action="store_true", help="keep the result in results/")
    chosen = parser.parse_args()
    results = run(chosen.backend, chosen.cases)
    print(json.dumps(results, indent=2))
    if chosen.write:
        print(write("plain_correlation", chosen.backend, results))
