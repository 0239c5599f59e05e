"""Ensembles without time: how they are recognised, and their null of permuted models."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from backends import both_backends
from motion_blocks import all_pairs, normal
from pairtile import trajectory_correlation
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.residues import contact_cutoff
from pairtile.methods.trajectory_correlation.state import (
    is_ensemble,
    successive_are_near,
)
from small_trajectories import config, state_of
from trajectory_analyses import slow, write_runs

pytestmark = pytest.mark.filterwarnings("ignore")  # few effective frames are meant


def nmr_models() -> str:
    return str(pytest.importorskip("MDAnalysisTests.datafiles").PDB_multiframe)


found_in = partial(trajectory_correlation, backend="cpu")


@both_backends
@pytest.mark.parametrize("kind", ["ksg", "gaussian", "dcc", "bspline"])
def test_an_order_of_frames_is_the_same_as_reordered_series(backend: str, kind: str) -> None:
    series = normal(5, 1, 60)
    order = np.random.default_rng(1).permutation(60)
    both = np.concatenate([series, series[:, :, order]])
    found = all_pairs(series, backend, order, kind=kind)
    expected = all_pairs(both, backend, kind=kind)[:5, 5:]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_models_have_no_time_and_the_reader_says_nothing_of_its_own() -> None:
    models = nmr_models()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared = state_of(config(topology=models, trajectories=[models]))
    assert np.isnan(prepared.state["frame_interval_ps"]).all()


def test_nmr_models_are_an_ensemble_of_the_right_size() -> None:
    """24 models of 27 residues: without correction and centring, unrelated motions read 0.45."""
    models = nmr_models()
    found = found_in(models, models)
    assert found.settings["ensemble"] is True
    assert (found.items["correlation_time"] == 0.5).all()
    assert (found.items["n_effective"] == 24).all()
    assert found.items["drift_p_value"].isna().all()
    assert abs(found.pairs["null_mean"].mean()) < 0.02
    assert found.counts["pairs_candidates"] == found.counts["contacts"]
    assert (found.network["q_value"] <= 0.05).all()
    stated = found_in(models, models, ensemble=False, surrogates=2)
    assert stated.settings["ensemble"] is False
    assert (stated.items["correlation_time"] > 0.5).any()


def test_independent_models_are_called_related_as_often_as_stated() -> None:
    draw = np.random.default_rng(3)
    shares = [
        (found_in(draw.normal(size=(24, 20, 3)), ensemble=True, seed=k).pairs["p_value"] <= 0.05)
        for k in range(8)
    ]
    assert 0.03 < np.mean(shares) < 0.07


def test_a_trajectory_in_a_pdb_file_is_no_ensemble(tmp_path: Path) -> None:
    """Unless the file says NMR, successive models decide."""
    (path := tmp_path / "run.pdb").write_text("EXPDTA    SOLUTION NMR\n")
    section = config(topology="t.pdb", trajectories=[str(path)])
    series = np.moveaxis(slow(200, 6, 3), 0, 2)
    shuffled = series[:, :, np.random.default_rng(1).permutation(200)]
    assert successive_are_near(series)
    assert not successive_are_near(shuffled)
    assert is_ensemble(section, [series])
    path.write_text("TITLE     NMR is not here\n")
    assert not is_ensemble(section, [series])
    assert is_ensemble(section, [shuffled])
    assert not is_ensemble(config(topology="t.pdb", trajectories=["a.dcd"]), [shuffled])


def test_a_run_too_short_for_its_surrogates_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path, slow(24, 4, 3, time=6.0))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        state_of(config(time_series=["run0.npy"], estimator={"kind": "gaussian"}))
    for part in ("run0.npy", "20 for 24 frames", "a longer run", "ensemble: true"):
        assert part in str(error.value)


def test_residues_of_one_atom_touch_farther_away() -> None:
    assert contact_cutoff(np.array([0, 1, 2, 2])) == 8.0
    assert contact_cutoff(np.array([0, 0, 1, 1, 2])) == 4.5


def test_the_cap_of_the_theiler_window_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path, np.cumsum(slow(200, 4, 3), axis=0))
    monkeypatch.chdir(tmp_path)
    section = config(time_series=["run0.npy"], estimator={"kind": "ksg", "surrogates": 2})
    note = next(n for n in state_of(section).notes if "Theiler" in n)
    assert "25 frames" in note
    assert "at most an eighth" in note
