"""Mixtures of made-up tables, and how well their modes agree with the float64 reference."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from naive_mixtures import naive_modes
from numpy.typing import NDArray
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.config import (
    MixtureEstimatorConfig,
    MultimodalCorrelationConfig,
)
from pairtile.methods.multimodal_correlation.mixtures import Modes, pair_mixtures
from pairtile.simulate.modes import simulate_modes

Floats = NDArray[np.float64]


def mixture_config(compatibility: str = "none", **estimator: Any) -> MultimodalCorrelationConfig:
    """The settings of an analysis, unchecked: tests also go beyond what a configuration may say."""
    return MultimodalCorrelationConfig.model_construct(
        compatibility=compatibility, estimator=MixtureEstimatorConfig.model_construct(**estimator)
    )


def keys_of(n: int, seed: int = 0) -> NDArray[np.uint64]:
    return np.random.default_rng([n, seed]).integers(0, 2**64, n, dtype=np.uint64)


def modes_of(
    values: Floats,
    backend: str = "cpu",
    keys: NDArray[np.uint64] | None = None,
    seed: int = 0,
    **how: Any,
) -> Modes:
    """All pairs of a table; every mode of five samples or more is kept unless set otherwise."""
    chosen = mixture_config(**{"min_samples": 5, "min_correlation": 0.0} | how)
    keys = keys_of(len(values)) if keys is None else keys
    genes = np.arange(len(values))
    mixtures = pair_mixtures(values, keys, chosen, choose(backend), seed)
    return mixtures.tile(genes, genes, upper=True)


def members(modes: Modes, n_samples: int) -> NDArray[np.bool_]:
    return np.unpackbits(modes.samples, axis=1)[:, :n_samples].astype(bool)


def assert_same(first: Modes, second: Modes) -> None:
    """Every array and count to the bit."""
    for part in fields(Modes):
        a, b = getattr(first, part.name), getattr(second, part.name)
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), part.name
            bits = (np.ascontiguousarray(x).view(np.uint8) for x in (a, b))  # NaN is NaN, too
            np.testing.assert_array_equal(*bits, err_msg=part.name)
        else:
            assert a == b, part.name


def mixed_table(seed: int = 1) -> Floats:
    """Genes with one to four modes, missing values, ties and outliers; 75 samples."""
    tables = [
        simulate_modes(2, 75, k, separation=4.0, missing=missing, seed=seed).values
        for k, missing in ((1, 0.0), (2, 0.1), (3, 0.02), (4, 0.0))
    ]
    values = np.concatenate(tables)
    values[2] = np.round(values[2])
    values[5, :3] = [40.0, -30.0, 25.0]
    return values


def agreement(values: Floats, backend: str, seed: int = 0, **how: Any) -> tuple[int, int, float]:
    """Pairs whose modes have the samples of the reference, all pairs, and the worst likelihood."""
    chosen = mixture_config(**{"min_samples": 5, "min_correlation": 0.0} | how)
    keys = keys_of(len(values))
    kinc = chosen.compatibility == "kinc"
    got = modes_of(values, backend, keys, seed=seed, **how)
    who = members(got, values.shape[1])
    out = np.unpackbits(got.outliers, axis=1)[:, : values.shape[1]].astype(bool)
    alike = pairs = 0
    worst = 0.0
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            x, y = (j, i) if kinc or keys[j] < keys[i] else (i, j)
            want = naive_modes(values[x], values[y], int(keys[x]), int(keys[y]), chosen, seed)
            rows = np.flatnonzero((got.row == i) & (got.column == j))
            pairs += 1
            if len(rows) != len(want.modes):
                continue
            both = list(zip(rows, want.modes, strict=True))
            if not all((who[row] == mode["samples"]).all() for row, mode in both):
                continue
            alike += 1
            for row, mode in both:
                assert (out[row] == mode["outliers"]).all()
                assert got.correlation[row] == pytest.approx(mode["r"], abs=1e-6)
                assert got.weight[row] == pytest.approx(mode["weight"], abs=2e-3)
                assert (got.n_modes[row], got.n_usable[row]) == (want.k, want.n_usable)
                if np.isfinite(want.log_likelihood):
                    gap = abs(float(got.log_likelihood[row]) - want.log_likelihood)
                    worst = max(worst, gap)
                    if not kinc:
                        assert got.criterion[row] == pytest.approx(want.criterion, abs=0.1)
    return alike, pairs, worst
