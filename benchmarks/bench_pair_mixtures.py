"""Speed of the search for modes of pairs, in pairs per second.

    python -m benchmarks.bench_pair_mixtures [cpu|cuda] [case ...] [--genes 7050]

prints JSON. Spearman, both outlier passes, at least 30 samples, |r| >= 0.5; K = 1 to 5 by ICL, in
the sound mode with 3 restarts and by the rules of KINC; ``none`` is without clustering. Expression
is simulated: 20 programs of genes that answer to 12 conditions, and noise; for ``none`` 200 and 60,
where 4 pairs in 1,000 correlate. ``steps_per_pair`` are the EM steps of all K and restarts; on real
data (B. subtilis, 188 samples) there are about as many. On a GPU a case is all pairs of the table,
the copy of the kept modes to the host included; on the CPU it is part of them, and the rate of a
core goes by the processor's time, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.gpu.device import Device, choose, threads
from pairtile.methods.multimodal_correlation.config import (
    MixtureEstimatorConfig,
    MultimodalCorrelationConfig,
)
from pairtile.methods.multimodal_correlation.mixtures import pair_mixtures

CASES: dict[str, tuple[int, int, dict[str, Any]]] = {
    "sound_188": (7050, 188, {}),
    "kinc_188": (7050, 188, {"compatibility": "kinc"}),
    "sound_60": (7050, 60, {}),
    "kinc_60": (7050, 60, {"compatibility": "kinc"}),
}
"""Genes, samples, and what differs from the settings above."""

CPU_GENES = {"sound_188": 150, "kinc_188": 150, "sound_60": 200, "kinc_60": 200}


def run(backend: str, cases: list[str] | None = None, genes: int | None = None) -> dict[str, Any]:
    """Time the cases on ``backend``; returns seconds, pairs per second and EM steps of each."""
    device = choose(backend)
    result: dict[str, Any] = {"backend": device.backend, "cpu_threads": threads(), "cases": {}}
    for name in cases or CASES:
        result["cases"][name] = _case(name, device, genes)
    result["peak_host_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result["peak_device_memory_bytes"] = device.peak_bytes()
    return result


def mixture_config(compatibility: str = "none", **estimator: Any) -> MultimodalCorrelationConfig:
    """The settings of an analysis, unchecked: benchmarks also keep modes of two samples."""
    return MultimodalCorrelationConfig.model_construct(
        compatibility=compatibility, estimator=MixtureEstimatorConfig.model_construct(**estimator)
    )


def expression(
    n_genes: int, n_samples: int, n_programs: int = 20, n_conditions: int = 12, seed: int = 1
) -> NDArray[np.float64]:
    """Simulated log2 expression, float64 (genes, samples); a gene is in three programs or so."""
    random = np.random.default_rng(seed)
    condition = random.integers(0, n_conditions, n_samples)
    programs = random.normal(size=(n_programs, n_conditions))
    shape = (n_genes, n_programs)
    loads = random.normal(size=shape) * (random.random(shape) < 3 / n_programs)
    noise = random.normal(size=(n_genes, n_samples)) * random.uniform(0.2, 0.8, (n_genes, 1))
    noise += 0.1 * random.standard_t(4, size=(n_genes, n_samples))
    return 8.0 + 2.0 * random.random((n_genes, 1)) + loads @ programs[:, condition] + noise


def _case(name: str, device: Device, genes: int | None) -> dict[str, Any]:
    n_genes, n_samples, differing = CASES[name]
    if device.backend == "cpu":
        n_genes = CPU_GENES[name]
    n_genes = min(n_genes, genes or n_genes)
    values = expression(n_genes, n_samples)
    keys = np.random.default_rng(2).integers(0, 2**63, n_genes).astype(np.uint64)
    start = time.perf_counter()
    engine = pair_mixtures(values, keys, mixture_config(**differing), device)
    prepared = time.perf_counter() - start
    everything = np.arange(n_genes)
    engine.tile(everything[:40], everything[:40], upper=True)  # compiles
    start, start_cpu = time.perf_counter(), time.process_time()
    modes = engine.tile(everything, everything, upper=True)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    pairs = modes.counts["pairs"]
    fits = max(1, modes.counts["fits"])
    result = {
        "genes": n_genes,
        "samples": n_samples,
        "pairs": pairs,
        "seconds": seconds,
        "seconds_to_prepare": prepared,
        "pairs_per_second": pairs / seconds,
        "steps_per_pair": modes.counts["em_steps"] / pairs,
        "share_of_fits_unfinished": modes.counts["fits_unfinished"] / fits,
        "kept_modes": len(modes),
    }
    if device.backend == "cpu":
        result["cpu_seconds"] = cpu_seconds
        result["pairs_per_second_of_a_core"] = pairs / cpu_seconds
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--genes", type=int, help="at most so many genes")
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.backend, chosen.cases, chosen.genes), indent=2))
