"""What is decided from prepared series: repeated frames, windows, shifts, warnings, states."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajectory_analyses
from pairtile.command.check import check
from pairtile.engine.state import open_state, scratch_beside, state_digest, write_state
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.score import (
    TrajectoryCorrelation,
    seconds_a_pair,
    tile_edge,
)
from pairtile.methods.trajectory_correlation.state import (
    correlation_time,
    effective_frames,
    replicas_of,
    theiler_window,
)
from pairtile.runtime.files import read_json
from small_trajectories import state_of, write


def slow(
    frames: int, variables: int = 5, d: int = 1, time: float = 2.0, seed: int = 1
) -> np.ndarray:
    return trajectory_analyses.slow(frames, variables, d, time, seed)


def tables(folder: Path, *replicas: np.ndarray, **keys: Any) -> TrajectoryCorrelationConfig:
    """An analysis of tables of time series."""
    paths = []
    for number, values in enumerate(replicas):
        paths.append(str(folder / f"run{number}.npy"))
        np.save(paths[-1], values)
    given = {"method": "trajectory_correlation", "time_series": paths, **keys}
    return TrajectoryCorrelationConfig.model_validate(given)


def test_times_and_windows_are_those_of_each_replica(tmp_path: Path) -> None:
    runs = [slow(300, time=2.0), slow(200, time=6.0, seed=2)]
    found = state_of(tables(tmp_path, *runs, estimator={"kind": "ksg"}))
    parts = replicas_of(found.state)
    assert [part.shape for part in parts] == [(5, 1, 300), (5, 1, 200)]
    tau = np.stack([correlation_time(part) for part in parts])
    np.testing.assert_array_equal(found.state["correlation_time"], tau)
    windows = [theiler_window(tau[0], 300), theiler_window(tau[1], 200)]
    assert found.state["theiler"].tolist() == windows
    assert windows[1] > windows[0] > 0
    assert found.parameters["estimator"]["theiler"] == windows
    np.testing.assert_allclose(found.items["correlation_time"], tau.mean(axis=0))
    effective = effective_frames(tau[0], 300) + effective_frames(tau[1], 200)
    np.testing.assert_allclose(found.items["n_effective"], effective)


@pytest.mark.parametrize(
    ("frames", "estimator", "kind", "why"),
    [
        (300, {}, "gaussian", "a trajectory has 1[0-9] effective frames"),
        (4000, {}, "ksg", "a trajectory has 1[0-9][0-9] effective frames"),
        (300, {"norm": "max"}, "ksg", "estimator.norm is stated"),
        (300, {"kind": "ksg"}, "ksg", None),
        (4000, {"kind": "gaussian"}, "gaussian", None),
    ],
)
def test_the_kind_follows_the_effective_frames(
    tmp_path: Path, frames: int, estimator: dict[str, Any], kind: str, why: str | None
) -> None:
    """And what is scored is what the kind gives when it is stated."""
    section = tables(tmp_path, slow(frames, time=12.0), estimator=estimator)
    found = state_of(section)
    assert found.parameters["estimator"]["kind"] == kind
    assert TrajectoryCorrelation.resolve_auto(section, found.state)[0].estimator.kind == kind
    said = [note for note in found.notes if "The estimator is kind" in note]
    assert len(said) == (why is not None)
    assert why is None or re.search(rf"kind: {kind} \(auto\): {why}", said[0])
    stated = tables(tmp_path, slow(frames, time=12.0), estimator={**estimator, "kind": kind})
    for name, array in state_of(stated).state.items():
        np.testing.assert_array_equal(found.state[name], array, err_msg=name)


def test_variables_that_never_move_do_not_decide_the_kind(tmp_path: Path) -> None:
    series = slow(4000, time=12.0)
    still = np.concatenate([series, np.ones((4000, 9, 1))], axis=1)
    found = state_of(tables(tmp_path, still))
    assert found.parameters["estimator"]["kind"] == "ksg"


def test_replicas_are_counted_one_by_one(tmp_path: Path) -> None:
    """Each is estimated by itself, so that many short ones are no long one."""
    runs = [slow(600, time=12.0, seed=seed) for seed in range(6)]
    found = state_of(tables(tmp_path, *runs))
    assert found.parameters["estimator"]["kind"] == "gaussian"
    assert (found.items["n_effective"] > 100).all()


def test_other_kinds_have_no_window(tmp_path: Path) -> None:
    section = tables(tmp_path, slow(300), estimator={"kind": "gaussian"})
    assert state_of(section).state["theiler"].tolist() == [0]


def test_few_effective_frames_are_warned_of(tmp_path: Path) -> None:
    found = state_of(tables(tmp_path, slow(300, time=15.0)))
    assert found.counts["variables_few_frames"] == 5
    assert "5 of 5 variables have fewer than 50 effective frames" in " ".join(found.warnings)
    fine = state_of(tables(tmp_path, slow(600, time=1.0)))
    assert fine.counts["variables_few_frames"] == 0
    assert not fine.warnings


def test_few_surrogates_are_warned_of(tmp_path: Path) -> None:
    found = state_of(tables(tmp_path, slow(600), estimator={"surrogates": 5}))
    assert "p-values rest on 5 surrogates" in " ".join(found.warnings)


def test_repeated_frames_are_left_out_of_nearest_neighbours(tmp_path: Path) -> None:
    """The end of one part is the start of the next, as after a restart."""
    whole = [slow(200, d=3), slow(120, d=3, seed=2)]
    overlapping = [np.concatenate([whole[0][:150], whole[0][140:]]), whole[1]]
    expected = state_of(tables(tmp_path, *whole))
    found = state_of(tables(tmp_path, *overlapping))
    assert found.counts["frames_repeated"] == 10
    assert found.counts["frames"] == 320
    for name in ("series", "replica_offsets", "correlation_time", "theiler"):
        np.testing.assert_allclose(found.state[name], expected.state[name], err_msg=name)
    for column in ("n_observed", "sd"):
        np.testing.assert_allclose(found.items[column], expected.items[column], err_msg=column)
    [warning] = [text for text in found.warnings if "exactly equal" in text]
    assert "10 frames" in warning
    assert "run0.npy: used frame 150 is frame 140" in warning
    assert "run1.npy: none" in warning


def test_means_of_scalars_are_those_of_the_frames_left(tmp_path: Path) -> None:
    values = slow(100) + 3.0
    repeated = np.concatenate([values, values[:5]])
    found = state_of(tables(tmp_path, repeated))
    np.testing.assert_allclose(found.items["mean"], values[:, :, 0].mean(axis=0))


def test_other_kinds_keep_repeated_frames_and_say_so(tmp_path: Path) -> None:
    values = slow(100)
    repeated = np.concatenate([values, values[:5]])
    section = tables(tmp_path, repeated, estimator={"kind": "gaussian"})
    found = state_of(section)
    assert found.state["series"].shape[2] == 105
    assert "5 frames are exactly equal" in " ".join(found.warnings)


def test_too_many_repeated_frames_are_refused(tmp_path: Path) -> None:
    values = slow(100)
    twice = np.repeat(values, 2, axis=0)
    message = r"run0\.npy: found 100 of 200 frames that are equal to others .*at most 10% for kind"
    with pytest.raises(InputError, match=message):
        state_of(tables(tmp_path, twice))
    levels = np.random.default_rng(1).integers(0, 2, (200, 3, 1)).astype(float)
    with pytest.raises(InputError, match="coarse scale"):
        state_of(tables(tmp_path, levels))


def test_nearly_repeated_frames_are_warned_of(tmp_path: Path) -> None:
    values = slow(100)
    near = np.concatenate([values, values[:3] + 1e-8])
    found = state_of(tables(tmp_path, near))
    assert found.counts["frames_nearly_repeated"] == 3
    assert "3 frames nearly repeat others" in " ".join(found.warnings)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        ({"theiler": 30}, r"run0\.npy: estimator\.theiler: found 30 for 60 .*at most 26, or auto"),
        ({"surrogates": 59}, r"run0\.npy: estimator\.surrogates: found 59 for 60 frames"),
    ],
)
def test_windows_and_surrogates_must_fit_the_frames(
    tmp_path: Path, estimator: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        state_of(tables(tmp_path, slow(60), estimator=estimator))


def test_the_fewest_frames_that_are_allowed_do(tmp_path: Path) -> None:
    """The window that is chosen leaves as many frames as there must be neighbours."""
    section = tables(tmp_path, slow(8, time=4.0), estimator={"surrogates": 2})
    found = state_of(section)
    window = int(found.state["theiler"][0])
    assert 6 + 2 * window + 1 <= 8


# --- tiles and costs ----------------------------------------------------------------------------


def test_tiles_are_powers_of_two_and_smaller_for_longer_series() -> None:
    assert tile_edge("ksg", 3, 1_000) == 64
    assert tile_edge("dcc", 3, 10_000) == 1024
    edges = [tile_edge("ksg", 3, n) for n in (10, 1_000, 10_000, 100_000, 10**7)]
    assert edges == sorted(edges, reverse=True)
    assert edges[-1] == 32
    assert all(edge & (edge - 1) == 0 for edge in edges)


@pytest.mark.parametrize("kind", ["ksg", "gaussian", "dcc", "bspline", "dihedral"])
def test_costs_grow_with_frames_and_fall_with_cores(kind: str) -> None:
    estimator = MotionEstimatorConfig(kind=kind, bins=10)

    def seconds(frames: int, backend: str = "cpu", threads: int = 1) -> float:
        return seconds_a_pair(estimator, 3, frames, backend, threads)

    assert seconds(2_000) > 1.5 * seconds(1_000)
    assert seconds(1_000, threads=8) < 0.5 * seconds(1_000)
    assert seconds(1_000, "cuda", 8) < seconds(1_000, "cpu", 8)


# --- large states -------------------------------------------------------------------------------


def test_arrays_in_the_scratch_folder_are_moved_and_others_copied(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random((7, 3, 50))
    copied = write_state(tmp_path / "copied", {"series": values, "few": values[0]})
    with scratch_beside(tmp_path / "moved") as scratch:
        np.save(scratch / "large.npy", values)
        mapped = np.load(scratch / "large.npy", mmap_mode="r")
        number = (scratch / "large.npy").stat().st_ino
        digest = write_state(tmp_path / "moved", {"series": mapped, "few": mapped[0]}, scratch)
        assert not (scratch / "large.npy").exists()
    assert digest == copied == state_digest(tmp_path / "moved")
    assert (tmp_path / "moved/series.npy").stat().st_ino == number
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copied", "moved"]
    for name, array in open_state(tmp_path / "moved").items():
        np.testing.assert_array_equal(array, {"series": values, "few": values[0]}[name])
    stated = read_json(tmp_path / "moved/state.json")["arrays"]["series"]
    of_part = hashlib.sha256((tmp_path / "moved/series.npy").read_bytes()).digest()
    assert stated == hashlib.sha256(of_part).hexdigest()


def test_arrays_mapped_from_elsewhere_are_left_where_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.arange(5.0))
    mapped = np.load(tmp_path / "mine.npy", mmap_mode="r")
    with scratch_beside(tmp_path / "state") as scratch:
        write_state(tmp_path / "state", {"mine": mapped}, scratch)
    assert (tmp_path / "mine.npy").exists()
    np.testing.assert_array_equal(open_state(tmp_path / "state")["mine"], np.arange(5.0))


def test_what_a_killed_preparation_left_is_removed(tmp_path: Path) -> None:
    with scratch_beside(tmp_path / "state") as scratch:
        leftover = scratch / "large.npy"
    leftover.parent.mkdir()
    leftover.write_bytes(b"half")
    with scratch_beside(tmp_path / "state") as scratch:
        assert not leftover.exists()
    assert not list(tmp_path.iterdir())


def test_a_long_analysis_is_told_what_is_cheaper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "run0.npy", slow(900, 400, 3, time=1.0))
    (tmp_path / "config.yaml").write_text(
        "backend: cpu\nanalyses:\n  a:\n    method: trajectory_correlation\n"
        "    time_series: [run0.npy]\n    table: {dimensions: 3}\n    estimator: {kind: KIND}\n"
    )
    monkeypatch.chdir(tmp_path)
    config = (tmp_path / "config.yaml").read_text()
    found = {}
    for kind in ("ksg", "gaussian"):
        (tmp_path / "config.yaml").write_text(config.replace("KIND", kind))
        lines = [line.strip() for line in check(tmp_path / "config.yaml")]
        found[kind] = [line for line in lines if line.startswith("cheaper: ")]
    first, second = found["ksg"]
    assert first.startswith("cheaper: estimator: {kind: gaussian}, about ")
    assert second.startswith("cheaper: frames: {step: 3}, about ")
    assert found["gaussian"] == []


def test_check_does_not_look_for_contacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take every frame once more, and no plan depends on them."""
    keys, _ = write(tmp_path, 60)
    analysis = {"method": "trajectory_correlation", "estimator": {"kind": "gaussian"}, **keys}
    (tmp_path / "config.yaml").write_text(json.dumps({"analyses": {"a": analysis}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pairtile.methods.trajectory_correlation.score.trajectory_contacts", None)
    lines = [line.strip() for line in check(tmp_path / "config.yaml")]
    assert any(line.startswith("work: ") for line in lines)
