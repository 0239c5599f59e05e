"""Trajectories to series: replicas, and reading a block of frames at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_trajectories import (
    frames_first,
    kabsch,
    molecule,
    prepare,
    write,
)


def test_replicas_share_one_reference_and_keep_their_own_frames(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    _, more = write(tmp_path, 12, "more.dcd")
    keys["trajectories"].append(str(tmp_path / "more.dcd"))
    prepared = prepare(**keys, fit="name CB", select="name CB", frames={"start": 2})
    own = molecule().select_atoms("name CB").indices
    expected = [kabsch(f, own, frames[2][own])[own] for f in (*frames[2:], *more[2:])]
    assert prepared.state["replica_offsets"].tolist() == [0, 28, 38]
    assert np.abs(frames_first(prepared) - np.stack(expected)).max() < 1e-6
    assert prepared.counts["replicas"] == 2


def test_parts_of_a_run_are_one_replica(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    _, more = write(tmp_path, 12, "more.dcd")
    keys["trajectories"] = [[keys["trajectories"][0], str(tmp_path / "more.dcd")]]
    prepared = prepare(**keys, fit=False, select="name CB")
    own = molecule().select_atoms("name CB").indices
    assert prepared.state["replica_offsets"].tolist() == [0, 42]
    assert np.array_equal(frames_first(prepared), np.concatenate([frames, more])[:, own])


def test_blocks_do_not_change_the_series(
    adenylate_kinase: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = prepare(**adenylate_kinase, estimator={"kind": "bspline"})
    monkeypatch.setattr("pairtile.methods.trajectory_correlation.time_series.BLOCK_BYTES", 1)
    parts = prepare(**adenylate_kinase, estimator={"kind": "bspline"})
    assert np.abs(whole.state["series"] - parts.state["series"]).max() < 1e-12
    assert np.allclose(whole.items["sd"], parts.items["sd"], rtol=1e-12)


def test_large_series_are_kept_as_float32(
    adenylate_kinase: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = prepare(**adenylate_kinase)
    monkeypatch.setattr("pairtile.methods.trajectory_correlation.time_series.FLOAT64_BYTES", 1000)
    small = prepare(**adenylate_kinase)
    assert small.state["series"].dtype == np.float32
    assert np.abs(whole.state["series"] - small.state["series"]).max() < 5e-6
    assert any("float32" in note for note in small.notes)


def test_series_lie_in_the_folder_that_is_given(tmp_path: Path, adenylate_kinase: Any) -> None:
    series = prepare(scratch=tmp_path, **adenylate_kinase).state["series"]
    assert isinstance(series, np.memmap)
    assert Path(series.filename) == tmp_path / "series.npy"
    temporary = prepare(**adenylate_kinase).state["series"]
    folder = Path(temporary.filename).parent
    assert folder.is_dir()
    del temporary
    assert not folder.exists()


_MEASURE = """
import sys, numpy as np
from pathlib import Path
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.residues import trajectory_contacts
from pairtile.methods.trajectory_correlation.prepare import prepare_trajectory
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(l.split()[1]) for l in lines if l.startswith("VmHWM")) // 1024
for stop in map(int, sys.argv[3:]):
    config = TrajectoryCorrelationConfig.model_validate(dict(method="trajectory_correlation",
        topology=sys.argv[1], trajectories=[sys.argv[2]], select="name *", fit="name CA",
        frames=dict(stop=stop), contacts={}))
    made = prepare_trajectory(config, 1)
    size = made.state["series"].nbytes >> 20
    trajectory_contacts(config, made.items)
    del made
    print(peak(), size)
"""


@pytest.mark.complete
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_number_of_frames(tmp_path: Path) -> None:
    keys, _ = write(tmp_path, n_frames=20_000)
    arguments = [keys["topology"], *keys["trajectories"], "9000", "20000"]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *arguments], capture_output=True, text=True, check=True
    )
    (few, small), (many, large) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert large - small > 15  # MiB
    # Blocks are full in both; held in memory, the series alone would add all of the difference.
    assert many - few < (large - small) / 2
