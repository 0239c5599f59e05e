"""What the kernels of mixtures of pairs take, write and work in.

``modes_of_pairs`` of ``pair_mixtures`` takes ``Genes`` and ``Rules`` and writes ``Found``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_em import SUM_ROWS, THETA_COLUMNS
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_vectors import LANES

MAX_CLUSTERS = 5
HISTOGRAM_BINS = 200

COUNTS = (
    *("too_few_samples", "constant", "degenerate", "failed"),
    *("modes_below", "modes_small", "modes_undefined"),
    *("fits", "fits_failed", "fits_unfinished", "em_steps"),
)
"""What is counted over the pairs of a tile, in the order of the kernel's ``counts``."""
TOO_FEW, CONSTANT, DEGENERATE, FAILED, BELOW, SMALL, UNDEFINED = range(7)


class Rules(NamedTuple):
    """The settings and constants of a run, as the kernel takes them (see ``MixtureSettings``)."""

    mixture: bool
    spearman: bool
    k_min: int
    k_max: int
    criterion: int
    min_samples: int
    min_correlation: float
    max_correlation: float
    outliers_before: bool
    outliers_after: bool
    restarts: int
    kinc: bool
    seed: Any
    short_steps: int
    limit: int
    degenerate: float
    least: Any
    ridge: Any
    prior_n: Any
    tolerance: Any
    prior_scatter: Any


class Genes(NamedTuple):
    """The genes' values, prepared once (see ``MixtureGenes``)."""

    values: Any
    unit: Any
    present: Any
    order: Any
    codes: Any
    usable: Any
    keys: Any
    log_n: Any


class Found(NamedTuple):
    """Where the kept modes of a block of pairs are written, one after another."""

    pair: Any
    cluster: Any
    n_clusters: Any
    n_samples: Any
    n_modes: Any
    n_usable: Any
    correlation: Any
    parameters: Any
    log_likelihood: Any
    criterion: Any
    samples: Any
    outliers: Any


class Work(NamedTuple):
    """Scratch of one thread. x, y, live: the fit's samples; label: each sample's component, below 0
    for none; element_label: the same of the samples that entered, one after another."""

    x: Any
    y: Any
    live: Any
    raw_x: Any
    raw_y: Any
    centred_x: Any
    centred_y: Any
    sample: Any
    element_label: Any
    label: Any
    out: Any
    any_out: Any
    members_x: Any
    members_y: Any
    sizes: Any
    ranks_x: Any
    ranks_y: Any
    lanes: Any
    trial: Any
    theta: Any
    best: Any
    arrays: Any
    sums: Any
    order: Any
    correlations: Any


@njit(cache=True, nogil=True)
def make_work(n_samples):  # type: ignore[no-untyped-def]
    """Scratch for tables of so many samples."""
    length = (n_samples + LANES - 1) // LANES * LANES
    return Work(
        np.zeros(length, np.float32),
        np.zeros(length, np.float32),
        np.zeros(length, np.float32),
        np.zeros(length, np.float64),
        np.zeros(length, np.float64),
        np.zeros(length, np.float64),
        np.zeros(length, np.float64),
        np.zeros(length, np.int32),
        np.zeros(length, np.int32),
        np.zeros(n_samples, np.int32),
        np.zeros(n_samples, np.uint8),
        np.zeros(n_samples, np.uint8),
        np.zeros((MAX_CLUSTERS, n_samples), np.int32),
        np.zeros((MAX_CLUSTERS, n_samples), np.int32),
        np.zeros(MAX_CLUSTERS, np.int64),
        np.zeros(n_samples, np.int64),
        np.zeros(n_samples, np.int64),
        np.zeros(LANES, np.float64),
        np.zeros(MAX_CLUSTERS * THETA_COLUMNS, np.float32),
        np.zeros(MAX_CLUSTERS * THETA_COLUMNS, np.float32),
        np.zeros(MAX_CLUSTERS * THETA_COLUMNS, np.float32),
        (
            np.zeros(MAX_CLUSTERS * length, np.float32),
            np.zeros(length, np.float32),
            np.zeros(SUM_ROWS * LANES, np.float32),
        ),
        np.zeros(SUM_ROWS, np.float32),
        np.zeros(MAX_CLUSTERS, np.int64),
        np.zeros(MAX_CLUSTERS, np.float64),
    )
