"""What the pages say of correlated motion is what a run gives: columns, counts, figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trajectory_analyses
from documents import text_of
from method_pages import assert_described
from motion_blocks import all_pairs
from pairtile import trajectory_correlation
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import (
    DIHEDRALS,
    PRESETS,
    MotionEstimatorConfig,
)
from pairtile.methods.trajectory_correlation.state import duplicate_frames
from paths import ROOT

METHOD_PAGE = ROOT / "docs" / "methods" / "trajectory_correlation.md"
RESULTS_PAGE = ROOT / "docs" / "results" / "trajectory_correlation.md"


pytestmark = pytest.mark.filterwarnings("ignore")  # few effective frames are meant


# --- files and columns --------------------------------------------------------------------------


@pytest.mark.complete
def test_tables_arrays_figures_and_counts_are_described(demo: Path) -> None:
    kinds = ("arrays", "figures", "counts", "threshold")
    assert_described(demo, "trajectory_correlation", kinds=kinds)
    for name in TrajectoryCorrelationConfig.tables:
        assert f"`{name}`" in text_of(RESULTS_PAGE), name


# --- settings -----------------------------------------------------------------------------------


def test_every_setting_is_explained() -> None:
    page = text_of(METHOD_PAGE) + text_of(RESULTS_PAGE)
    everywhere = {"method", "chunks", "export", "step", "start", "stop"}
    for key in {
        *MotionEstimatorConfig.model_fields,
        *TrajectoryCorrelationConfig.model_fields,
    } - everywhere:
        assert f"`{key}" in page or f"{{{key}" in page, key
    for angle in ("phi", "psi", "omega", "chi1", "chi5"):
        assert angle in page
        assert angle in DIHEDRALS


def test_presets_are_those_of_the_configuration() -> None:
    page = text_of(METHOD_PAGE)
    for preset, decided in PRESETS.items():
        if preset == "none":
            continue
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{preset}`")]
        for key, value in decided.items():
            assert f"`{key}: {value}`" in row, (preset, key)


# --- what was measured --------------------------------------------------------------------------


def slow(frames: int, variables: int, time: float, seed: int) -> np.ndarray:
    """Independent AR(1) motions, (frames, variables, 3)."""
    return trajectory_analyses.slow(frames, variables, 3, time, seed, start=500)


@pytest.mark.complete
def test_unrelated_slow_motions_look_correlated_until_time_is_heeded() -> None:
    xyz = slow(1000, 12, 20.0, seed=1)
    upper = np.triu_indices(12, 1)
    bare = trajectory_correlation(xyz, theiler=0, surrogates=20)
    heeded = trajectory_correlation(xyz, kind="ksg", surrogates=20)
    assert np.mean(bare.correlation[upper]) == pytest.approx(0.70, abs=0.03)
    assert np.mean(heeded.correlation[upper]) < 0.2
    for found in (bare, heeded):
        assert np.mean(found.p_value[upper] <= 0.05) < 0.12
    random, larger = np.random.default_rng(2), 0
    for i in range(0, 12, 4):
        permuted = [
            trajectory_correlation(
                np.stack([xyz[:, i], random.permutation(xyz[:, i + 1])], axis=1),
                theiler=0, surrogates=0,
            ).mi_nats[0, 1]
            for _ in range(20)
        ]  # fmt: skip
        larger += bare.mi_nats[i, i + 1] > max(permuted)
    assert larger == 3


@pytest.mark.complete
def test_displacements_lose_most_of_what_positions_share() -> None:
    random = np.random.default_rng(0)
    xyz = random.normal(size=(2000, 2, 3))
    xyz[:, 1] = 0.9 * xyz[:, 0] + np.sqrt(1 - 0.81) * xyz[:, 1]
    moved = np.linalg.norm(xyz - xyz.mean(axis=0), axis=2)
    assert -1.5 * np.log(1 - 0.81) == pytest.approx(2.5, abs=0.05)
    for values, settings, nats in (
        (xyz, {"kind": "gaussian"}, 2.5),
        (xyz, {"theiler": 0}, 2.2),
        (moved, {"kind": "bspline"}, 0.4),
    ):
        found = trajectory_correlation(values, surrogates=0, **settings).mi_nats[0, 1]
        assert round(found, 1) == nats


def test_cyclic_splines_do_not_mind_where_angles_begin() -> None:
    random = np.random.default_rng(0)
    angles = random.normal(scale=0.5, size=(1000, 2))
    angles[:, 1] += angles[:, 0]
    cyclic, clamped = [], []
    for origin in np.linspace(0, 2 * np.pi, 25):
        turned = (angles + origin + np.pi) % (2 * np.pi) - np.pi
        for values, kind in ((cyclic, "dihedral"), (clamped, "bspline")):
            values.append(all_pairs(turned.T[:, None], kind=kind, bins=12)[0, 1])
    assert min(cyclic) == pytest.approx(0.2207, abs=2e-4)
    assert max(cyclic) == pytest.approx(0.2207, abs=2e-4)
    assert [round(min(clamped), 2), round(max(clamped), 2)] == [0.21, 0.32]


def test_gaussian_bias_and_its_correction() -> None:
    random = np.random.default_rng(1)
    found = {False: [], True: []}
    for _ in range(20):
        xyz = random.normal(size=(100, 20, 3))
        for corrected, values in found.items():
            one = trajectory_correlation(xyz, kind="gaussian", corrected=corrected, surrogates=0)
            values.append(np.nanmean(one.mi_nats))
    assert np.mean(found[False]) == pytest.approx(0.047, abs=0.002)
    assert abs(np.mean(found[True])) < 0.002


def test_repeated_frames_lift_what_nearest_neighbours_find() -> None:
    random = np.random.default_rng(0)
    random.normal(scale=0.5, size=(1000, 2))
    xyz = random.normal(size=(300, 2, 3))
    nats = []
    for share in (0, 0.02, 0.1):
        repeated = np.concatenate([xyz, *[xyz[: int(300 * share)]] * 7])
        series = np.moveaxis(repeated, 0, 2)
        assert len(duplicate_frames(series)[0]) == 7 * int(300 * share)
        nats.append(all_pairs(series)[0, 1])
    assert [f"{value:.2g}" for value in nats] == ["-0.02", "1.2", "4.3"]


@pytest.mark.complete
def test_adenylate_kinase_is_what_the_page_says() -> None:
    data = pytest.importorskip("MDAnalysisTests.datafiles")
    found = trajectory_correlation(str(data.PSF), [str(data.DCD)], domains={"NMP": "resid 30-59"})
    assert found.counts["frames"] == 98
    assert round(found.items["n_effective"].median()) == 5
    assert 98 / found.items["correlation_time"].median() == pytest.approx(9, abs=0.5)
    p = found.p_value.to_numpy()[np.triu_indices(len(found.items), 1)]
    assert np.mean(p <= 0.05) > 0.95
    assert {"4AKE:LYS13", "4AKE:ASP84"} < set(found.items["name"])
