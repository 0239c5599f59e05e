"""How much of a call the kernel takes, its operations a second, and GPU over CPU on one host.

    python -m benchmarks.bench_kernel_share [--backend cpu|cuda]

The matrix of mutual information of 1,000 samples, 10 bins, order 3, values as they are, in mixed
precision, at sizes of the papers of CUDA-MI and MULTI-CUDA-MI, from an array to an array.
Operations are those of the product of all weights, two for each pair of bins and sample: what a
GPU's matrix units do. ``launches``: what of a call each kernel takes, and the copy to the host, by
events of the GPU, with 10, 15 and 20 bins; operations a second are those of the matrix products
alone, whole tiles on the diagonal. On the CPU alone sizes are tiny, to try the script, and nothing
is written.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pairtile
from pairtile.gpu import compiling
from pairtile.gpu.device import Device, choose
from pairtile.splines import scorer as splines
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


def matrix(values: Any, backend: str, bins: int = BINS) -> Any:
    """The library call, array to array."""
    how: dict[str, Any] = {"bins": bins, "order": ORDER, "transform": "none", "precision": "mixed"}
    return pairtile.mutual_information(values, backend=backend, **how)


def call(values: Any, backend: str) -> float:
    """Its seconds."""
    return timed(lambda: matrix(values, backend))["seconds"]


def launches() -> list[dict[str, Any]]:
    """A row for each number of bins and of genes: the fastest of three calls."""
    rows = []
    for bins, genes in product((10, 15, 20), (SIZES["cuda"][0], SIZES["cuda"][-1])):
        values = expression(genes, SAMPLES["cuda"])
        matrix(values, "cuda", bins)  # compiles
        calls = [launches_of_call(values, bins) for _ in range(3)]
        row = {"bins": bins, "genes": genes, "samples": SAMPLES["cuda"]}
        rows.append(row | min(calls, key=lambda each: each["call_seconds"]))
    return rows


def launches_of_call(values: Any, bins: int) -> dict[str, Any]:
    """Seconds of a call and of what it launches, and the share of each."""
    with recorded() as events:
        start = time.perf_counter()
        matrix(values, "cuda", bins)
        whole = time.perf_counter() - start
    seconds = {name: sum(seconds() for seconds, _ in each) for name, each in events.items()}
    operations = sum(2 * m * n * k for _, ((m, k), (n, _), *_) in events["joint_tables"])
    row: dict[str, Any] = {"call_seconds": whole}
    for name, inside in seconds.items():
        row |= {f"{name}_seconds": inside, f"{name}_share": inside / whole}
    return row | {"joint_tables_gflops": operations / seconds["joint_tables"] / 1e9}


@contextmanager
def recorded() -> Iterator[dict[str, list[tuple[Callable[[], float], list[tuple[int, ...]]]]]]:
    """By name, what is launched within: its seconds once it is done, shapes of its arrays."""
    import cupy

    found: dict[str, Any] = defaultdict(list)

    def seen(name: str, launch: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            result = launch(*given, **named)
            end.record()
            shapes = [each.shape for each in given if isinstance(each, cupy.ndarray)]
            found[name].append((lambda: cupy.cuda.get_elapsed_time(begin, end) / 1e3, shapes))
            return result

        return run

    load, multiply = compiling.load, splines.matrix_product_transposed

    def loaded(*given: Any) -> Any:
        module = load(*given)
        return SimpleNamespace(get_function=lambda name: seen(name, module.get_function(name)))

    with (
        patch.object(compiling, "load", loaded),
        patch.object(splines, "matrix_product_transposed", seen("joint_tables", multiply)),
        patch.object(Device, "sent", seen("to_host", Device.sent)),
    ):
        yield found
        cupy.cuda.Stream.null.synchronize()


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
        print(write("kernel_share", "cuda", {"rows": found, "launches": launches()}))
