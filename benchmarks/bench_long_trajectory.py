"""Memory of each step on a long trajectory: 300 residues in 1e5 frames, streamed from disk.

    python -m benchmarks.bench_long_trajectory [frames]

writes ``results/long_trajectory.DEVICE.json``: time and peak memory of every step of one run on the
CPU by the Gaussian estimator, with 2 surrogates in place of 20 (they are computed one after the
other) and without contacts, all else as by default. Motions are slow noise (``moving``) about a
helix of C-alpha atoms, in a DCD file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np

from benchmarks.bench_trajectory_correlation import moving
from benchmarks.bench_workflow import timed_run
from benchmarks.machine import write

RESIDUES, FRAMES = 300, 100_000


def write_trajectory(folder: Path, frames: int) -> None:
    """``helix.pdb`` and ``long.dcd``."""
    atoms = MDAnalysis.Universe.empty(
        RESIDUES,
        n_residues=RESIDUES,
        atom_resindex=np.arange(RESIDUES),
        residue_segindex=np.zeros(RESIDUES, dtype=int),
        trajectory=True,
    )
    numbers = np.arange(1, RESIDUES + 1)
    for name, values in {
        "name": ["CA"], "element": ["C"], "chainID": ["A"], "resname": ["ALA"], "segid": ["A"],
        "resid": numbers,
    }.items():  # fmt: skip
        level = 1 if name == "segid" else RESIDUES
        atoms.add_TopologyAttr(name, list(np.resize(values, level)))
    turn = np.deg2rad(100.0) * numbers
    helix = np.stack([2.3 * np.cos(turn), 2.3 * np.sin(turn), 1.5 * numbers], axis=1)
    atoms.atoms.positions = helix
    atoms.atoms.write(folder / "helix.pdb")
    series = moving(RESIDUES, 3, frames)
    with MDAnalysis.Writer(str(folder / "long.dcd"), RESIDUES) as writer:
        for frame in range(frames):
            atoms.atoms.positions = helix + series[:, :, frame]
            writer.write(atoms.atoms)


def run(frames: int = FRAMES) -> dict[str, Any]:
    """One run from the trajectory to the report; seconds and bytes of its steps."""
    with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as name:
        folder = Path(name)
        write_trajectory(folder, frames)
        section = {
            "method": "trajectory_correlation",
            "topology": "helix.pdb",
            "trajectories": ["long.dcd"],
            "estimator": {"kind": "gaussian", "surrogates": 2},
            "contacts": False,
        }
        (folder / "config.yaml").write_text(json.dumps({"analyses": {"bench": section}}))
        seconds, _ = timed_run(folder, "cpu")
        out = folder / "results/bench"
        summary = json.loads((out / "summary.json").read_text())
        return {
            "residues": RESIDUES,
            "frames": frames,
            "trajectory_bytes": (folder / "long.dcd").stat().st_size,
            "series_bytes": (out / "state/series.npy").stat().st_size,
            "seconds_to_report": seconds,
            "peak_memory_bytes": {k: v["peak_memory_bytes"] for k, v in summary["steps"].items()},
            "seconds": {k: v["seconds"] for k, v in summary["steps"].items()},
            "counts": summary["counts"],
        }


if __name__ == "__main__":
    found = run(int(float(sys.argv[1])) if sys.argv[1:] else FRAMES)
    print(json.dumps(found, indent=1))
    print(write("long_trajectory", "cpu", found))
