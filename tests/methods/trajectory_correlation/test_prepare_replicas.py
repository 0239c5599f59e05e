"""Trajectories to series: replicas, and reading a block of frames at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from message_codes import numbers_by_code
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.prepare import prepare_trajectory
from small_trajectories import (
    config,
    frames_first,
    kabsch,
    molecule,
    prepare,
    state_of,
    store,
    write,
)
from trajectory_analyses import section, slow, write_runs

mda = pytest.importorskip("MDAnalysis")


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
    series = prepare_trajectory(config(**adenylate_kinase), tmp_path).state["series"]
    assert isinstance(series, np.memmap)
    assert Path(series.filename) == tmp_path / "series.npy"


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
    made = prepare_trajectory(config, Path(sys.argv[1]).parent)
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


# --- what is no replica ---------------------------------------------------------------------------


def runs_of(folder: Path, *parts: np.ndarray, ending: str = "dcd") -> dict[str, Any]:
    """Trajectories of these frames, each a replica."""
    names = [store(folder, molecule(), part, f"r{k}.{ending}") for k, part in enumerate(parts)]
    keys = {"topology": str(folder / "top.pdb"), "trajectories": names}
    return keys | {"estimator": {"kind": "gaussian", "surrogates": 4}, "select": "name CB"}


def frames_of(seed: int, n: int = 60) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(scale=0.4, size=(n, 73, 3))
    return np.asarray(molecule().atoms.positions + noise)


def said(keys: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return numbers_by_code(state_of(config(**keys)).messages)


@pytest.mark.parametrize("ending", ["dcd", "xtc"])
@pytest.mark.parametrize("step", [1, 2])
def test_a_copy_is_no_replica(tmp_path: Path, ending: str, step: int) -> None:
    """Whole or every second frame of it, and in lower precision too."""
    run = frames_of(1)
    keys = runs_of(tmp_path, run)
    universe = molecule()
    universe.dimensions = [80, 80, 80, 90, 90, 90]
    keys["trajectories"].append(store(tmp_path, universe, run[::step], f"copy.{ending}"))
    with pytest.raises(InputError, match=r"copy.*r0\.dcd"):
        said(keys)


def test_parts_that_overlap_are_warned_of(tmp_path: Path) -> None:
    run = frames_of(1, 110)
    found = said(runs_of(tmp_path, frames_of(2), run[:60], run[50:]))
    assert "10" in found["replicas_of_one_run"]["how"]
    assert found["replicas_of_one_run"]["second"].endswith("r2.dcd")


def test_replicas_may_begin_alike(tmp_path: Path) -> None:
    one, other = frames_of(1), frames_of(2)
    other[0] = one[0]
    assert "replicas_of_one_run" not in said(runs_of(tmp_path, one, other))


@pytest.mark.parametrize("columns", [2, 30])
@pytest.mark.parametrize("coarse", [False, True])
def test_series_that_are_alike_by_chance_are_replicas(
    tmp_path: Path, columns: int, coarse: bool
) -> None:
    runs = [slow(300, columns, 1, seed=seed) for seed in (1, 2)]
    runs = [run.round() if coarse else run for run in runs]
    keys = section(time_series=[str(tmp_path / n) for n in write_runs(tmp_path, *runs)])
    keys["estimator"] = {"kind": "gaussian", "surrogates": 4}
    state = state_of(TrajectoryCorrelationConfig.model_validate(keys))
    assert "replicas_of_one_run" not in numbers_by_code(state.messages)


def timed(folder: Path, name: str, start: float, n: int = 30) -> str:
    """A trajectory with times of a picosecond from ``start`` on."""
    universe, path = molecule(), folder / name
    universe.dimensions = [80, 80, 80, 90, 90, 90]
    if not (folder / "top.pdb").exists():
        universe.atoms.write(str(folder / "top.pdb"))
    with mda.Writer(str(path), n_atoms=universe.atoms.n_atoms) as writer:
        for k, frame in enumerate(frames_of(int(start) + 1, n)):
            universe.atoms.positions = frame
            universe.trajectory.ts.time = start + k
            writer.write(universe.atoms)
    return str(path)


def test_parts_of_a_run_given_as_replicas_are_known_by_their_times(tmp_path: Path) -> None:
    first, second = timed(tmp_path, "a.xtc", 0.0), timed(tmp_path, "b.xtc", 30.0)
    keys = {"topology": str(tmp_path / "top.pdb"), "select": "name CB"}
    found = numbers_by_code(prepare(**keys, trajectories=[second, first]).messages)
    assert found["replicas_of_one_run"]["first"] == first
    assert found["replicas_of_one_run"]["second"] == second
    one_run = numbers_by_code(prepare(**keys, trajectories=[[first, second]]).messages)
    assert not {"replicas_of_one_run", "parts_out_of_order"} & {*one_run}


def test_parts_in_the_wrong_order_are_known_by_their_times(tmp_path: Path) -> None:
    first, second = timed(tmp_path, "a.xtc", 0.0), timed(tmp_path, "b.xtc", 30.0)
    keys = {"topology": str(tmp_path / "top.pdb"), "select": "name CB"}
    found = numbers_by_code(prepare(**keys, trajectories=[[second, first]]).messages)
    assert found["parts_out_of_order"]["parts"] == f"{first}, {second}"


def test_a_dump_is_known_by_its_content(tmp_path: Path) -> None:
    keys = runs_of(tmp_path, frames_of(1, 20))
    frames = frames_of(1, 20).astype(np.float32)
    lines = []
    for number, frame in enumerate(frames):
        lines += ["ITEM: TIMESTEP", f"{number}", "ITEM: NUMBER OF ATOMS", f"{len(frame)}"]
        lines += ["ITEM: BOX BOUNDS pp pp pp", *["-80 80"] * 3, "ITEM: ATOMS id type x y z"]
        lines += [f"{k + 1} 1 {x:.6f} {y:.6f} {z:.6f}" for k, (x, y, z) in enumerate(frame)]
    for name in ("run.lammpstrj", "dump.peptide"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        dump = prepare(**{**keys, "trajectories": [str(tmp_path / name)]})
        assert np.abs(frames_first(dump) - frames_first(prepare(**keys))).max() < 1e-4
