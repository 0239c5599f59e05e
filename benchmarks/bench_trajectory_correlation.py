"""Speed of correlated motion, in pairs of variables, beside other programs where installed.

    python benchmarks/bench_trajectory_correlation.py [cpu|cuda] [case ...]

prints JSON. Positions are slow noise (correlation time 5 frames) with neighbours along the chain
driving each other. ``ksg_*`` is the nearest-neighbour mutual information, k = 6, Euclidean norm,
of all pairs, in the tiles of the workflow. ``gaussian`` and ``dcc`` are whole matrices.
``coordinates``, on the CPU, times the B-spline mutual information of scalars (x, y, z of atoms,
each by itself) for the bins and orders that MULTI-CUDA-MI was published with; ``bench_sweeps`` does
so on a GPU. ``surrogates`` times a block of pairs with 20 surrogates, for each pair and estimate.
``others`` times a pair of the same kind with mdigest, dynetan and NorMI, each only where it is
installed, and says how many times faster a pair is here.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import resource
import sys
import types
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import MotionPairs
from pairtile.methods.trajectory_correlation.pair_scores import MotionScores
from pairtile.methods.trajectory_correlation.score import tile_edge

from benchmarks.machine import timed

CASES: dict[str, tuple[str, int, int, int]] = {
    "ksg_98_frames": ("ksg", 98, 256, 1_000),
    "ksg_801_frames": ("ksg", 801, 128, 1_000),
    "ksg_1000_frames": ("ksg", 1_000, 128, 1_000),
    "ksg_10000_frames": ("ksg", 10_000, 16, 256),
    "ksg_scalars_10000_frames": ("ksg", 10_000, 64, 1_000),
    "gaussian": ("gaussian", 10_000, 1_000, 10_000),
    "dcc": ("dcc", 10_000, 1_000, 10_000),
    "dihedral": ("dihedral", 1_000, 256, 2_048),
}
"""Kind, frames, variables on the CPU and on the GPU."""

SCALARS = ("ksg_scalars_10000_frames", "dihedral")
"""Cases of variables of one coordinate; the others have three."""

OF_SURROGATES, SURROGATES = ("gaussian", "dcc", "bspline"), 20

BINS, ORDERS = (10, 12, 14, 16, 18, 20), (3, 4, 5)
COORDINATES, COORDINATE_FRAMES = 2_048, 1_000


def run(backend: str, cases: list[str] | None = None) -> dict[str, Any]:
    """Time the cases on ``backend``; returns seconds and microseconds a pair of each."""
    result: dict[str, Any] = {"backend": backend, "cases": {}}
    for name in cases or CASES:
        if name not in CASES:
            continue
        kind, frames, on_cpu, on_gpu = CASES[name]
        variables = on_gpu if backend == "cuda" else on_cpu
        result["cases"][name] = _case(kind, variables, 1 if name in SCALARS else 3, frames, backend)
    if backend == "cpu" and (not cases or "coordinates" in cases):
        result["coordinates"] = _coordinates()
    if not cases or "surrogates" in cases:
        result["surrogates"] = {kind: _surrogates(kind, backend) for kind in OF_SURROGATES}
    if not cases or "others" in cases:
        result["others"] = {name: _compare(name, backend) for name in OTHERS}
    result["peak_host_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


def _surrogates(kind: str, backend: str) -> dict[str, Any]:
    """A block beside the diagonal, with all that is made of its surrogates."""
    edge, frames = (1_024 if backend == "cuda" else 256), 1_000
    series = moving(2 * edge, 1 if kind == "bspline" else 3, frames)
    shifts = np.arange(1, SURROGATES + 1) * 40
    scores = MotionScores([series], [MotionEstimatorConfig(kind=kind)], [shifts], choose(backend))
    rows, columns = np.arange(edge), np.arange(edge, 2 * edge)
    scores.block(rows[:8], columns[:8])  # compiles
    measured = timed(lambda: scores.block(rows, columns), repeats=3, warm=0)
    estimates = edge * edge * (SURROGATES + 1)
    return {"edge": edge, **measured, "ns_an_estimate": measured["seconds"] / estimates * 1e9}


def _coordinates() -> list[dict[str, Any]]:
    """All pairs of scalars, in the tiles of the workflow, in double precision: seconds of the pairs
    alone, after one tile that compiles and warms."""
    device, rows = choose("cpu"), []
    series = moving(COORDINATES, 1, COORDINATE_FRAMES)
    space = PairSpace("triangle", COORDINATES, COORDINATES)
    tiles = space.tiles(tile_edge("bspline", 1, COORDINATE_FRAMES))
    for bins, order in product(BINS, ORDERS):
        settings = MotionEstimatorConfig(kind="bspline", bins=bins, order=order)
        pairs = MotionPairs(series, settings, device)

        def all_tiles(pairs: MotionPairs = pairs) -> None:
            for tile in tiles:
                pairs.block(
                    slice(tile.row_begin, tile.row_end),
                    slice(tile.column_begin, tile.column_end),
                )

        timed(lambda pairs=pairs: pairs.block(slice(0, 64), slice(0, 64)), repeats=1, warm=0)
        seconds = timed(all_tiles, repeats=1, warm=0)["seconds"]
        n_pairs = COORDINATES * (COORDINATES - 1) // 2
        rows.append(
            {
                "variables": COORDINATES,
                "frames": COORDINATE_FRAMES,
                "bins": bins,
                "order": order,
                "pairs": n_pairs,
                "seconds": seconds,
                "pairs_a_second": n_pairs / seconds,
            }
        )
    return rows


def moving(variables: int, d: int, frames: int, seed: int = 1) -> NDArray[np.float32]:
    """AR(1) positions, float32 (variables, d, frames), each following the one before in part."""
    random = np.random.default_rng(seed)
    series = np.empty((variables, d, frames), dtype=np.float32)
    phi = np.float32(np.exp(-1.0 / 5.0))
    step = np.sqrt(1.0 - phi * phi)
    at = random.standard_normal((variables, d), dtype=np.float32)
    for frame in range(frames):
        at = phi * at + step * random.standard_normal((variables, d), dtype=np.float32)
        series[:, :, frame] = at
    series[1:] += np.float32(0.7) * series[:-1].copy()
    return series


def _case(kind: str, variables: int, d: int, frames: int, backend: str) -> dict[str, Any]:
    device = choose(backend)
    series = moving(variables, d, frames)
    settings = MotionEstimatorConfig(kind=kind, theiler=0)
    pairs = MotionPairs(series, settings, device)

    space = PairSpace("triangle", variables, variables)
    tiles = space.tiles(tile_edge(kind, series.shape[1], frames))

    def one(tile: Tile) -> None:
        rows, columns = (tile.row_begin, tile.row_end), (tile.column_begin, tile.column_end)
        pairs.block(slice(*rows), slice(*columns))

    first_call = timed(lambda: one(tiles[0]), repeats=1, warm=0)["seconds"]  # compiles
    measured = timed(lambda: [one(tile) for tile in tiles], repeats=2, warm=0)
    n_pairs = space.pairs_in(Tile(0, 0, variables, 0, variables))
    return {
        "kind": kind,
        "variables": variables,
        "frames": frames,
        "pairs": n_pairs,
        "first_call_seconds": first_call,
        **measured,
        "microseconds_a_pair": measured["seconds"] / n_pairs * 1e6,
        "peak_gpu_memory_bytes": device.peak_bytes(),
    }


# --- other programs ------------------------------------------------------------------------------


def _dynetan(k: int) -> Callable[[Any, Any], float]:
    from dynetan.gencor import calc_mir_numba_2var
    from scipy.special import digamma

    def one(x: Any, y: Any) -> float:
        n = x.shape[1]
        psi = np.concatenate([[0.0], digamma(np.arange(1.0, n + 1))])
        phi = psi - np.concatenate([[0.0], 1.0 / np.arange(1.0, n + 1)])
        both = np.stack([v / v.std(axis=1, keepdims=True) for v in (x, y)])
        return float(calc_mir_numba_2var(both, n, 3, k, psi, phi))

    return one


def _normi(k: int) -> Callable[[Any, Any], float]:
    from normi._estimators import kraskov_estimator

    def one(x: Any, y: Any) -> float:
        scaled = [np.ascontiguousarray((v / v.std(axis=1, keepdims=True)).T) for v in (x, y)]
        return float(kraskov_estimator(*scaled, k, "kraskov", 1)[0])

    return one


def _mdigest(k: int) -> Callable[[Any, Any], float]:
    found = importlib.util.find_spec("mdigest")
    if found is None:
        raise ImportError("No module named 'mdigest'")
    # The package as a whole imports PyMOL; the estimator does without. So its folders are made
    # known, and their __init__ files are not run.
    for name, folder in (("mdigest", ""), ("mdigest.core", "core")):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(place) / folder) for place in found.submodule_search_locations]
        sys.modules[name] = package
    from mdigest.core.auxiliary import _mutual_information_knn_estimator

    def one(x: Any, y: Any) -> float:
        values = np.stack([x.T, y.T], axis=1)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            matrix = _mutual_information_knn_estimator(
                values, features_dimension=3, k=k, correction=False, subset=[(0, 1)]
            )
        return float(matrix[0, 1])

    return one


OTHERS = {"dynetan": _dynetan, "normi": _normi, "mdigest": _mdigest}


def _compare(name: str, backend: str) -> dict[str, Any]:
    """One core of the other program, per pair, against all of this machine's here."""
    settings = MotionEstimatorConfig(preset=name)
    try:
        one = OTHERS[name](settings.neighbours)
    except ImportError as error:
        return {"left_out": str(error)}
    entry: dict[str, Any] = {"kernel": "one pair at a time, one thread"}
    for frames in (98, 801):
        series = moving(128, 3, frames)
        pairs = MotionPairs(series, settings, choose(backend))
        whole = slice(0, len(series))
        mi = pairs.block(whole, whole)
        x, y = series[:2].astype(np.float64)
        difference = abs(one(x, y) - float(mi[0, 1]))
        if difference > 1e-6:
            raise AssertionError(f"{name} and pairtile disagree by {difference} nats")
        theirs = timed(lambda one=one, x=x, y=y: one(x, y))["seconds"]
        ours = timed(lambda pairs=pairs, whole=whole: pairs.block(whole, whole))["seconds"]
        ours /= len(series) * (len(series) - 1) // 2
        entry[f"{frames}_frames"] = {
            "milliseconds_a_pair": theirs * 1e3,
            "pairtile_milliseconds_a_pair": ours * 1e3,
            "times_faster": theirs / ours,
            "difference_nats": difference,
        }
    return entry


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}, coordinates, others")
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.backend, chosen.cases), indent=2))
