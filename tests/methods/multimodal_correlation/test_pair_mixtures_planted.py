"""Planted modes are found: in the reference table, in simulated ones, and none where none is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from backends import both_backends
from mixture_modes import mixture_config
from numpy.typing import NDArray
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.mixtures import pair_mixtures
from pairtile.methods.trajectory_correlation.network import adjusted_rand
from pairtile.simulate.modes import simulate_modes

Labels = NDArray[np.int64]


def found_modes(
    values: NDArray[np.float64], pairs: list[tuple[int, int]], backend: str, **how: Any
) -> list[tuple[int, Labels]]:
    """K and the mode of each sample (-1: none) for some pairs of genes."""
    chosen = mixture_config(**{"min_samples": 5, "min_correlation": 0.0} | how)
    keys = np.random.default_rng(1).integers(0, 2**64, len(values), dtype=np.uint64)
    mixtures = pair_mixtures(values, keys, chosen, choose(backend))
    result = []
    for row, column in pairs:
        modes = mixtures.tile(np.array([row]), np.array([column]), upper=False)
        labels = np.full(values.shape[1], -1)
        masks = np.unpackbits(modes.samples, axis=1)[:, : values.shape[1]].astype(bool)
        for number, mask in enumerate(masks):
            labels[mask] = number
        result.append((int(modes.n_modes[0]) if len(modes) else 0, labels))
    return result


def recovery(n_modes: int, n_samples: int, backend: str = "cpu", **how: Any) -> tuple[float, float]:
    """Share of 100 simulated pairs with the right K, and their mean adjusted Rand index."""
    planted = {
        name: how.pop(name) for name in ("separation", "least_share", "missing") if name in how
    }
    simulation = simulate_modes(100, n_samples, n_modes, seed=21, **planted)
    pairs = [(2 * p, 2 * p + 1) for p in range(100)]
    found = found_modes(simulation.values, pairs, backend, **how)
    right = np.mean([k == n_modes for k, _ in found])
    indices = [
        adjusted_rand(truth[labels >= 0], labels[labels >= 0])
        for truth, (_, labels) in zip(simulation.labels, found, strict=True)
    ]
    return float(right), float(np.mean(indices))


@both_backends
@pytest.mark.parametrize("outliers_before", [True, False])
def test_all_18_planted_pairs_of_synth_are_recovered(
    shared: Path, backend: str, outliers_before: bool
) -> None:
    folder = shared / "golden/multimodal/inputs"
    values = pd.read_csv(folder / "synth.emx.txt", sep="\t", index_col=0)
    truth = pd.read_csv(folder / "synth.truth.tsv", sep="\t", dtype={"labels": str})
    place = {gene: number for number, gene in enumerate(values.index)}
    pairs = [(place[a], place[b]) for a, b in zip(truth["geneA"], truth["geneB"], strict=True)]
    found = found_modes(values.to_numpy(), pairs, backend, outliers_before=outliers_before)
    assert len(found) == 18
    for (k, labels), modes, letters in zip(found, truth["modes"], truth["labels"], strict=True):
        assert k == modes
        here = labels >= 0
        assert adjusted_rand(np.array(list(letters))[here], labels[here]) >= 0.95
        assert here.mean() >= 0.9


@both_backends
def test_clear_modes_are_found_and_better_than_by_the_rules_of_kinc(backend: str) -> None:
    for n_modes, n_samples in ((2, 60), (3, 100), (4, 200)):
        how = {"separation": 5.0, "least_share": 0.15, "outliers_before": False}
        right, index = recovery(n_modes, n_samples, backend, **how)
        kinc_right, kinc_index = recovery(n_modes, n_samples, backend, compatibility="kinc", **how)
        assert right >= 0.95
        assert index >= 0.97
        assert right >= kinc_right
        assert index >= kinc_index - 0.005


@both_backends
@pytest.mark.parametrize("n_samples", [40, 200, 1000])
@pytest.mark.parametrize("criterion", ["icl", "bic"])
def test_one_gaussian_is_not_split(backend: str, n_samples: int, criterion: str) -> None:
    how = {"separation": 0.0, "least_share": 1.0, "criterion": criterion}
    right, _ = recovery(1, n_samples, backend, **how)
    assert right >= 0.97


@both_backends
def test_missing_values_hide_no_modes(backend: str) -> None:
    how = {"separation": 5.0, "least_share": 0.2, "missing": 0.1, "outliers_before": False}
    right, index = recovery(2, 100, backend, **how)
    assert right >= 0.95
    assert index >= 0.97


def test_more_restarts_find_more() -> None:
    how = {"separation": 4.5, "least_share": 0.1, "outliers_before": False}
    shares = [recovery(4, 200, restarts=restarts, **how)[0] for restarts in (1, 3)]
    assert shares[1] > shares[0]
    assert shares[1] >= 0.95


@both_backends
def test_one_sample_far_away_leaves_the_modes_alone(backend: str) -> None:
    simulation = simulate_modes(20, 101, 2, separation=6.0, seed=5)
    values = simulation.values.copy()
    values[:, 7] = np.where(np.arange(40) % 2, 60.0, -60.0)
    pairs = [(2 * p, 2 * p + 1) for p in range(20)]
    for before in (True, False):
        found = found_modes(values, pairs, backend, outliers_before=before)
        assert all(labels[7] == -1 for _, labels in found)
        indices = [
            adjusted_rand(truth[labels >= 0], labels[labels >= 0])
            for truth, (_, labels) in zip(simulation.labels, found, strict=True)
        ]
        assert np.mean(indices) >= 0.95
