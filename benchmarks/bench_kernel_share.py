"""How much of a call the kernel takes, its operations a second, and GPU over CPU on one host.

    python -m benchmarks.bench_kernel_share [--backend cpu|cuda]

The matrix of mutual information of 1,000 samples, 10 bins, order 3, values as they are, in mixed
precision, at sizes of the papers of CUDA-MI and MULTI-CUDA-MI, from an array to an array.
Operations are those of the product of all weights, two for each pair of bins and sample: what a
GPU's matrix units do. On the CPU alone sizes are tiny, to try the script, and nothing is written.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import pairtile
from pairtile.gpu.device import choose
from pairtile.splines.scorer import BsplineScorer, SplineSettings
from pairtile.splines.values import scaled

from benchmarks.bench_mutual_information import BINS, ORDER, expression
from benchmarks.machine import timed, write

SIZES = {"cpu": (128, 256), "cuda": (1_024, 2_048, 4_096, 8_192, 10_240)}
MAX_CPU_GENES = 4_096
SAMPLES = {"cpu": 50, "cuda": 1_000}
BLOCK = 1_024


def kernel(values: Any, backend: str) -> float:
    """Seconds of all pairs of blocks whose weights are on the device, scores left there."""
    settings = SplineSettings(BINS, ORDER, "clamped", "mixed")
    scorer = BsplineScorer(settings, choose(backend), complete=True)
    z = scaled(values, settings, "none")
    blocks = [scorer.weights(z[row : row + BLOCK]) for row in range(0, len(z), BLOCK)]

    def scores() -> None:
        for number, block in enumerate(blocks):
            for other in blocks[number:]:
                scorer.scores(block, other)

    return timed(scores)["seconds"]


def call(values: Any, backend: str) -> float:
    """Seconds of the library call, array to array."""
    how: dict[str, Any] = {"bins": BINS, "order": ORDER, "transform": "none", "precision": "mixed"}
    return timed(lambda: pairtile.mutual_information(values, backend=backend, **how))["seconds"]


def run(backend: str) -> list[dict[str, Any]]:
    """A row for each number of genes."""
    rows = []
    samples = SAMPLES[backend]
    for genes in SIZES[backend]:
        values = expression(genes, samples)
        inside, whole = kernel(values, backend), call(values, backend)
        operations = samples * (genes * BINS) ** 2
        row = {
            "genes": genes,
            "samples": samples,
            "kernel_seconds": inside,
            "call_seconds": whole,
            "kernel_share": inside / whole,
            "gflops": operations / inside / 1e9,
        }
        if genes <= MAX_CPU_GENES:
            on_cpu = call(values, "cpu")
            row |= {"cpu_call_seconds": on_cpu, "gpu_times_faster": on_cpu / whole}
        rows.append(row)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    device = choose(parser.parse_args().backend)
    found = run(device.backend)
    print(json.dumps(found, indent=1))
    if device.backend == "cuda":
        print(write("kernel_share", "cuda", {"rows": found}))
