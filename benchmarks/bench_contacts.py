"""A residue network of 50,000 atoms by contacts first, from trajectory to report.

    python -m benchmarks.bench_contacts [atoms [frames [kind]]]
    python -m benchmarks.bench_contacts frame

The first writes ``results/contacts.DEVICE.json``: seconds and peak memory of every step of a run on
the CPU with ``pairs: in_contact``, 20 surrogates, six chunks and else as by default; and the same
run killed with all its jobs once a third of its chunk files are there, and started again. Atoms are
C-alphas, as far apart as those of a protein, which move as an elastic solid does: slow noise in
time (correlation time 5 frames), smooth in space.

The second writes ``results/contacts_frame.DEVICE.json``: CPU time of one frame of 3,312 heavy atoms
(414 residues as dense as a protein) in no box and in boxes of several shapes, beside MDAnalysis'
searches for the same pairs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
from MDAnalysis.lib.distances import self_capped_distance
from pairtile.methods.trajectory_correlation.residues import touching_residues
from scipy.ndimage import gaussian_filter

from benchmarks.bench_workflow import timed_run
from benchmarks.machine import write

ATOMS, FRAMES = 50_000, 200
SPACING = 5.1
"""Angstrom: a residue has 135 cubic Angstrom, as in proteins."""

MEMORY = float(np.exp(-1.0 / 5.0))


def write_trajectory(folder: Path, atoms: int, frames: int) -> None:
    """``solid.gro`` and ``solid.dcd``: a chain that fills a cube, line by line."""
    edge = int(np.ceil(atoms ** (1 / 3)))
    sites = np.stack(np.unravel_index(np.arange(atoms), (edge,) * 3), axis=1)
    solid = MDAnalysis.Universe.empty(
        atoms, n_residues=atoms, atom_resindex=np.arange(atoms), trajectory=True
    )
    solid.add_TopologyAttr("name", ["CA"] * atoms)
    solid.add_TopologyAttr("resname", ["ALA"] * atoms)
    solid.add_TopologyAttr("resid", np.arange(1, atoms + 1))
    solid.atoms.positions = SPACING * sites
    solid.atoms.write(folder / "solid.gro")
    random = np.random.default_rng(1)
    motion = np.zeros((edge, edge, edge, 3))
    with MDAnalysis.Writer(str(folder / "solid.dcd"), atoms) as writer:
        for _ in range(frames):
            noise = gaussian_filter(random.normal(size=motion.shape), (1, 1, 1, 0))
            motion = MEMORY * motion + np.sqrt(1 - MEMORY**2) * noise / noise.std()
            solid.atoms.positions = SPACING * sites + 0.6 * motion[tuple(sites.T)]
            writer.write(solid.atoms)


def killed_and_resumed(folder: Path) -> dict[str, Any]:
    """Seconds of a run until a third of its chunks were there, and of the one that went on."""
    out = folder / "results/bench"
    whole = (out / "pairs.parquet").read_bytes()
    for name in ("results", ".snakemake"):
        shutil.rmtree(folder / name)
    start = time.perf_counter()
    command = [sys.executable, "-m", "pairtile", "run", "config.yaml"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled")}
    running = subprocess.Popen(command, cwd=folder, env=env, start_new_session=True, **silent)
    finished, planned = 0, 3
    while finished < planned / 3:
        time.sleep(0.2)
        if running.poll() is not None:
            raise RuntimeError("the run ended before it was killed")
        finished = len(list(out.glob("chunks/tiles-*.parquet")))
        if (out / "plan.json").is_file():
            planned = len(json.loads((out / "plan.json").read_text())["chunks"])
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    killed, start = time.perf_counter() - start, time.perf_counter()
    subprocess.run(command, cwd=folder, env=env, check=True, **silent)
    return {
        "chunks_at_kill": finished,
        "chunks": planned,
        "seconds_to_kill": killed,
        "seconds_to_report": time.perf_counter() - start,
        "same_pairs": (out / "pairs.parquet").read_bytes() == whole,
    }


def run(atoms: int = ATOMS, frames: int = FRAMES, kind: str = "gaussian") -> dict[str, Any]:
    """One run from the trajectory to the report; seconds and bytes of its steps."""
    with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as name:
        folder = Path(name)
        write_trajectory(folder, atoms, frames)
        section = {
            "method": "trajectory_correlation",
            "topology": "solid.gro",
            "trajectories": ["solid.dcd"],
            "estimator": {"kind": kind},
            "pairs": "in_contact",
            "chunks": 6,
        }
        (folder / "config.yaml").write_text(json.dumps({"analyses": {"bench": section}}))
        seconds, _ = timed_run(folder, "cpu")
        out = folder / "results/bench"
        summary = json.loads((out / "summary.json").read_text())
        steps = summary["steps"]
        return {
            "atoms": atoms,
            "frames": frames,
            "kind": kind,
            "trajectory_bytes": (folder / "solid.dcd").stat().st_size,
            "result_bytes": sum(f.stat().st_size for f in out.rglob("*") if f.is_file()),
            "seconds_to_report": seconds,
            "seconds": {step: record["seconds"] for step, record in steps.items()},
            "peak_memory_bytes": {step: r["peak_memory_bytes"] for step, r in steps.items()},
            "counts": summary["counts"],
            "killed": killed_and_resumed(folder),
        }


def run_frame(atoms: int = 3312, cutoff: float = 4.5, repeats: int = 20) -> dict[str, Any]:
    """Milliseconds of CPU time of a frame: least of ``repeats``."""
    edge = (atoms / 0.05) ** (1 / 3)  # heavy atoms in a cubic Angstrom of protein
    positions = 20.0 + edge * np.random.default_rng(1).random((atoms, 3), dtype=np.float32)
    positions = positions[np.lexsort((positions // 4).T)]  # so that residues are compact
    owner = np.arange(atoms) // 8

    def milliseconds(search: Callable[[], Any]) -> float:
        took = []
        for _ in range(repeats):
            start = time.process_time()
            search()
            took.append(1e3 * (time.process_time() - start))
        return min(took)

    rows = []
    for shape in (None, (100, 90, 90, 90), (160, 90, 90, 90), (160, 60, 60, 90)):
        box = None if shape is None else np.array([*shape[:1] * 3, *shape[1:]], dtype=np.float32)
        given = positions, box, owner, int(owner[-1]) + 1, cutoff
        pairs = {
            method: partial(
                self_capped_distance, positions, cutoff, None, box, method, return_distances=False
            )
            for method in ("pkdtree", "nsgrid")
        }
        rows.append(
            {
                "box": shape,
                "atoms": atoms,
                "pairs_of_atoms": len(pairs["nsgrid"]()),
                "pairs_of_residues": touching_residues(*given).nnz,
                "milliseconds": milliseconds(partial(touching_residues, *given)),
                "peer_milliseconds": {name: milliseconds(call) for name, call in pairs.items()},
            }
        )
    return {"one_frame": rows}


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["frame"]:
        name, found = "contacts_frame", run_frame()
    else:
        name, found = "contacts", run(*map(int, asked[:2]), *asked[2:])
    print(json.dumps(found, indent=1))
    print(write(name, "cpu", found))
