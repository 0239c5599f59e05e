"""Speed of the search over all pairs of predictors, in triples (target x pair) per second.

    python -m benchmarks.bench_predictor_pairs [cpu|cuda] [case ...]

prints JSON. Levels are random and independent, so that no pair stands out and the screen has to
let as many through as it ever will. ``binary_20_ties`` and ``ternary_20_ties`` are as short as the
21 time points of a life cycle, without a penalty: most targets then have pairs by the hundred that
explain them wholly, and one target in ten is constant. All cases report the ten best pairs of each
target and count their ties. On a GPU a case is the whole search over 8,192 or 4,096 genes, in one
call and in tiles of 1,024 targets x 1,024 first predictors, as the workflow does it; on the CPU it
is part of one.
"""

from __future__ import annotations

import argparse
import json
import resource
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.gpu.device import Device, choose
from pairtile.methods.predictor_pairs.search import PredictorSearch, SearchSettings

from benchmarks.machine import timed

CASES = {
    "binary_50": (2, 50, "no_obs", 8192),
    "ternary_50": (3, 50, "no_obs", 8192),
    "ternary_500": (3, 500, "no_obs", 4096),
    "quaternary_50": (4, 50, "no_obs", 4096),
    "binary_20_ties": (2, 20, "none", 8192),
    "ternary_20_ties": (3, 20, "none", 8192),
    "binary_50_missing": (2, 50, "no_obs", 8192),
}
"""Levels, samples, penalty, and genes of the whole search."""

TOP = 10
TILE = 1024
CPU_FIRST = {
    "binary_50": 1024,
    "binary_20_ties": 512,
    "binary_50_missing": 50,
    "ternary_50": 256,
    "ternary_20_ties": 256,
    "ternary_500": 64,
    "quaternary_50": 64,
}
"""First predictors of the part that is searched on the CPU, for one tile's targets."""


def run(backend: str, cases: list[str] | None = None) -> dict[str, Any]:
    """Time the cases on ``backend``; returns seconds and triples per second of each."""
    result: dict[str, Any] = {"backend": backend, "top": TOP, "cases": {}}
    for name in cases or CASES:
        result["cases"][name] = _case(name, choose(backend))
    result["peak_host_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


def levels_of_genes(
    n_genes: int, n_samples: int, n_levels: int, missing: float, constant: float, seed: int = 1
) -> NDArray[np.int8]:
    """Independent levels, int8 (n_genes, n_samples), with shares of missing and constant ones."""
    random = np.random.default_rng(seed)
    levels = random.integers(0, n_levels, (n_genes, n_samples)).astype(np.int8)
    levels[random.random(levels.shape) < missing] = -1
    levels[random.random(n_genes) < constant] = 0
    return levels


def _case(name: str, device: Device) -> dict[str, Any]:
    n_levels, n_samples, penalty, n_genes = CASES[name]
    on_gpu = device.backend == "cuda"
    n_targets = n_genes if on_gpu else TILE
    n_first = n_genes if on_gpu else CPU_FIRST[name]
    levels = levels_of_genes(
        n_genes,
        n_samples,
        n_levels,
        missing=0.02 if "missing" in name else 0.0,
        constant=0.1 if "ties" in name else 0.0,
    )
    # Targets come one sample later than predictors, as in a time series.
    targets = np.roll(levels, -1, axis=1)[:n_targets]
    exclude = np.arange(n_targets, dtype=np.int32)
    settings = SearchSettings(levels=n_levels, penalty=penalty, top=TOP)
    search = PredictorSearch(levels, settings, device)

    def whole() -> Any:
        return search.best(targets, exclude, 0, n_first)

    def tiles() -> None:
        for row in range(0, n_targets, TILE):
            rows = slice(row, row + TILE)
            cut = None
            for first in range(0, n_genes, TILE):
                best = search.best(targets[rows], exclude[rows], first, first + TILE, cut)
                if cut is None:  # the last of ten, of lists that are all full
                    cut = best.key.reshape(-1, TOP)[:, -1].copy()

    pairs = n_first * (n_genes - 1) - n_first * (n_first - 1) // 2
    triples = n_targets * pairs
    best = whole()
    seconds = timed(whole, repeats=2, warm=0)
    entry: dict[str, Any] = {
        "n_predictors": n_genes,
        "n_targets": n_targets,
        "n_samples": n_samples,
        "triples": triples,
        "median_ties_of_the_best": float(np.median(best.n_ties[:: settings.top])),
        **seconds,
        "triples_per_second": triples / seconds["seconds"],
    }
    if on_gpu:
        in_tiles = timed(tiles, repeats=2, warm=0)["seconds"]
        entry |= {
            "tiles_seconds": in_tiles,
            "tiles_triples_per_second": triples / in_tiles,
            "peak_gpu_memory_bytes": device.peak_bytes(),
        }
    return entry


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.backend, chosen.cases), indent=2))
