"""What correlated motion costs: seconds of one estimate of one pair, and the size of a tile."""

from __future__ import annotations

from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig

OVERHEAD = {"cpu": 2e-8, "cuda": 5e-9}
"""What each pair costs whatever the series: sums, histograms, rows of the table."""


TILE_BYTES = {"gaussian": 1 << 28, "dcc": 1 << 28}
TILE_BYTES_ELSE = 1 << 25
"""Series of the variables along the side of a tile: enough work for a GPU, few enough to keep."""

SMALLEST_TILE, LARGEST_TILE = 32, 1024
LARGEST_TILE_KSG = 256
"""Distances of all frames are held for the variables of a tile: more would only take memory."""


def tile_edge(kind: str, d: int, frames: int) -> int:
    """Variables along the side of a tile: a power of two, the fewer the longer the series.

    kind : of the estimator. d : coordinates of a variable. frames : of the longest replica.
    """
    room = TILE_BYTES.get(kind, TILE_BYTES_ELSE) // (8 * d * frames)
    largest = LARGEST_TILE_KSG if kind == "ksg" else LARGEST_TILE
    return 1 << (min(max(room, SMALLEST_TILE), largest).bit_length() - 1)


def seconds_a_pair(
    estimator: MotionEstimatorConfig, d: int, frames: int, backend: str, threads: int
) -> float:
    """Seconds of one estimate, without surrogates. An order of magnitude is enough.

    estimator : the section of that name. d : coordinates of a variable. Measured: docs/speed.md.
    """
    kind = estimator.kind
    on_gpu = backend == "cuda"
    cores = 1 if on_gpu else max(1, threads)
    if kind == "ksg":
        # Every frame is held against every other; each frame's neighbours are looked through.
        by_square, by_frame = (2.1e-12, 0.0) if on_gpu else (3.9e-10, 5e-8)
        seconds = by_square * frames**2 + by_frame * frames
    elif kind in ("gaussian", "dcc"):
        seconds = 2.0 * d * d * frames / (2e13 if on_gpu else 2e10)
    else:
        joint = frames * float(estimator.n_bins) ** 2 * d * d
        seconds = joint / (4e13 if on_gpu else 5e9)
    return (seconds / cores) + OVERHEAD["cuda" if on_gpu else "cpu"]
