"""Library calls from arrays to arrays, beside widestats where that is installed.

    python -m benchmarks calls

Seconds of a call once its code is compiled; of the matrix of mutual information also the seconds
that it takes to write a new matrix of its size; and of a first call in a process of its own, with
all imports, compiled code as it is found.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pairtile

from benchmarks.machine import timed

MATRICES = {
    "cpu": [(1_000, 200)],
    "cuda": [(2_000, 200), (6_000, 1_000), (12_000, 1_000)],
}
"""Genes and samples whose whole matrix is computed."""

GENES = {"cpu": 1_000, "cuda": 8_000}
"""Of the other calls; 200 samples, a few factors among them."""

SPLINES: dict[str, Any] = {"bins": 10, "order": 3}


def expression(genes: int, samples: int) -> np.ndarray:
    """Normal values, one gene in ten with a factor that it shares."""
    draw = np.random.default_rng(1)
    values = draw.normal(size=(genes, samples))
    values[::10] += 2.0 * draw.normal(size=(20, samples))[draw.integers(0, 20, len(values[::10]))]
    return values


def matrix_calls(values: np.ndarray, backend: str) -> dict[str, Callable[[], object]]:
    """All ways to the matrix of mutual information, and a new matrix that is only written."""

    def ours(**how: Any) -> Callable[[], object]:
        return lambda: pairtile.mutual_information(values, backend=backend, **how)

    plain = SPLINES | {"transform": "none"}
    size = len(values), len(values)
    calls: dict[str, Callable[[], object]] = {
        "write float64": lambda: np.full(size, 1.0),
        "pairtile mixed": ours(**plain, precision="mixed"),
        "pairtile mixed to float32": ours(**plain, precision="mixed", dtype="float32"),
        "pairtile float64": ours(**plain, precision="float64"),
        "pairtile defaults": ours(),
    }
    if find_spec("widestats"):
        import widestats

        for precision in ("float32", "float64"):
            calls[f"widestats {precision}"] = lambda p=precision: widestats.mutual_info(
                values.T, **SPLINES, device=backend, dtype=p
            )
    return calls


def other_calls(backend: str) -> dict[str, Callable[[], object]]:
    """One call of each function that scores pairs, small ones for what they cost at least."""
    values = expression(GENES[backend], 200)
    some = values[:1_000]
    levels = (some[:400, :60] > 0).astype(int)
    draw = np.random.default_rng(2)
    letters = ["".join(draw.choice(list("ACGU"), size)) for size in [22] * 40 + [500] * 100]
    motion = draw.normal(size=(300, 200, 3)) + draw.normal(size=(300, 1, 3))
    how = {"preprocess": {"log2": False}, "backend": backend}
    modes = {"outliers_before": False, "outliers_after": False, **how}

    def plain() -> object:
        return pairtile.multimodal_correlation(
            values, clustering="none", correlation="pearson", min_correlation=0.6, **modes
        )

    calls: dict[str, Callable[[], object]] = {
        "correlated pairs, pairtile": plain,
        "network": lambda: pairtile.infer_network(values, np.arange(len(values) // 10), **how),
        "network of 1,000": lambda: pairtile.infer_network(some, **how),
        "network of 1,000, keep all": lambda: pairtile.infer_network(some, keep="all", **how),
        "ranking of 1,000": lambda: pairtile.infer_network(
            some, keep={"top_edges": 20_000}, score="mi", dpi=False, **how
        ),
        "permutation_null": lambda: pairtile.permutation_null(some, backend=backend),
        "mixtures": lambda: pairtile.multimodal_correlation(values[:200, :100], **modes),
        "predictor_pairs": lambda: pairtile.predictor_pairs(
            levels=levels, permutations=0, backend=backend
        ),
        "mirna_targets": lambda: pairtile.mirna_targets(
            letters[:40], letters[40:], backend=backend
        ),
        "differential": lambda: pairtile.differential(some, ["a", "b"] * 100, **how),
    }
    for kind in ("ksg", "gaussian", "dcc"):
        calls[f"trajectory_correlation, {kind}"] = lambda kind=kind: (
            pairtile.trajectory_correlation(motion, kind=kind, surrogates=0, backend=backend)
        )
    if find_spec("widestats"):
        import widestats

        calls["correlated pairs, widestats"] = lambda: widestats.cor_pairs(
            values.T, threshold=0.6, device=backend
        )
    return calls


SMALL = "numpy.random.normal(size=(100, 100))"
FIRST = {
    "mutual_information": f"pairtile.mutual_information({SMALL}, backend=backend)",
    "infer_network": f"pairtile.infer_network({SMALL}, backend=backend)",
    "multimodal_correlation": f"pairtile.multimodal_correlation({SMALL}[:20], backend=backend)",
    "predictor_pairs": f"pairtile.predictor_pairs({SMALL}[:40], permutations=0, backend=backend)",
    "mirna_targets": (
        "pairtile.mirna_targets(['UGAGGUAGUAGGUUGUAUAGUU'], ['CAUUUAUACAACCGUUCUACCUCAACGCG'], "
        "backend=backend)"
    ),
    "trajectory_correlation": (
        "pairtile.trajectory_correlation(numpy.random.normal(size=(200, 20, 3)), backend=backend)"
    ),
    "widestats": f"widestats.mutual_info({SMALL}, device=backend)",
}


def first_call(code: str, backend: str) -> float:
    """Seconds from the start of Python to the first result of a small call."""
    package = code.partition(".")[0]
    code = f"import numpy, {package}; backend = {backend!r}; {code}"
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
    return time.perf_counter() - begin


def run(backend: str) -> dict[str, Any]:
    """Seconds of every call, the least of four."""
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    for genes, samples in MATRICES[backend]:
        calls = matrix_calls(expression(genes, samples), backend)
        results[f"{genes} genes x {samples} samples"] = {
            name: timed(call, repeats=4)["seconds"] for name, call in calls.items()
        }
    results["calls"] = {name: timed(call)["seconds"] for name, call in other_calls(backend).items()}
    results["first_call"] = {
        name: min(first_call(code, backend) for _ in range(2))
        for name, code in FIRST.items()
        if name != "widestats" or find_spec(name)
    }
    return results
