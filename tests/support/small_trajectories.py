"""Small trajectories written for the tests, and their preparation."""

from __future__ import annotations

import warnings
import weakref
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.prepare import prepare_trajectory
from pairtile.methods.trajectory_correlation.state import trajectory_state

mda = pytest.importorskip("MDAnalysis")
RNG = np.random.default_rng(11)
CHAIN = ("N", "CA", "CB", "C", "O", "HA")
SEQUENCE = ("MET", "ALA", "GLY", "SER", "LYS", "TRP")


def adenylate_kinase_files() -> dict[str, Any]:
    """The transition of adenylate kinase that MDAnalysisTests holds."""
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    return {"topology": str(datafiles.PSF), "trajectories": [str(datafiles.DCD)]}


def config(**keys: Any) -> TrajectoryCorrelationConfig:
    given = {"method": "trajectory_correlation", **keys}
    return TrajectoryCorrelationConfig.model_validate(given)


def prepare(**keys: Any) -> Any:
    return in_kept_folder(prepare_trajectory, config(**keys))


def state_of(section: TrajectoryCorrelationConfig) -> Any:
    return in_kept_folder(trajectory_state, section)


def in_kept_folder(step: Any, section: TrajectoryCorrelationConfig) -> Any:
    """What a step prepares, in a folder that goes with its series."""
    folder = Path(mkdtemp(prefix="pairtile-tests-"))
    try:
        made = step(section, folder)
    except Exception:
        rmtree(folder)
        raise
    weakref.finalize(made.state["series"], rmtree, folder, ignore_errors=True)
    return made


def frames_first(prepared: Any) -> np.ndarray:
    """(frames, variables, dimensions)"""
    return np.moveaxis(np.array(prepared.state["series"]), 2, 0)


def molecule(chains: str = "AB") -> Any:
    """Chains of six residues with a backbone of peptide bonds, and a calcium."""
    n_residues, per = len(SEQUENCE) * len(chains), len(CHAIN)
    n_atoms = n_residues * per + 1
    universe = mda.Universe.empty(
        n_atoms,
        n_residues + 1,
        len(chains),
        atom_resindex=[*np.repeat(np.arange(n_residues), per), n_residues],
        residue_segindex=[*np.repeat(np.arange(len(chains)), len(SEQUENCE)), 0],
        trajectory=True,
    )
    names = [*(CHAIN * n_residues), "CA"]
    universe.add_TopologyAttr("name", names)
    universe.add_TopologyAttr("resname", [*(SEQUENCE * len(chains)), "CA"])
    universe.add_TopologyAttr("resid", [*(list(range(1, 7)) * len(chains)), 99])
    universe.add_TopologyAttr("chainID", [*np.repeat(list(chains), 6 * per), "A"])
    universe.add_TopologyAttr("element", [*(name[0] for name in names[:-1]), "Ca"])
    positions = np.zeros((n_atoms, 3))
    inner = [
        [0, 0, 0],
        [1.2, 0.8, 0],
        [1.3, 1.6, 1.2],
        [2.4, 0, 0],
        [2.5, -1.2, 0.1],
        [1.1, 1.5, -1],
    ]
    for k in range(n_residues):
        start = [3.5 * (k % 6), 9.0 * (k // 6), 0.6 * (k % 2)]
        positions[k * per : (k + 1) * per] = np.array(inner) + start
    positions[-1] = [0, 0, 30]
    universe.atoms.positions = positions
    return universe


def write(folder: Path, n_frames: int = 30, name: str = "run.dcd", spread: float = 0.3) -> Any:
    """A topology and a noisy trajectory, positions as they are read back (float32)."""
    universe = molecule()
    still = universe.atoms.positions.astype(float)
    frames = still + RNG.normal(size=(n_frames, *still.shape)) * spread
    store(folder, universe, frames, name)
    return {
        "topology": str(folder / "top.pdb"),
        "trajectories": [str(folder / name)],
    }, frames.astype(np.float32).astype(float)


def store(folder: Path, universe: Any, frames: np.ndarray, name: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not (folder / "top.pdb").exists():
            universe.atoms.write(str(folder / "top.pdb"))
        with mda.Writer(str(folder / name), n_atoms=universe.atoms.n_atoms) as writer:
            for frame in frames:
                universe.atoms.positions = frame
                writer.write(universe.atoms)
    return str(folder / name)


def kabsch(frame: np.ndarray, fit: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """One frame, the slow way."""
    from scipy.spatial.transform import Rotation

    centre, target = frame[fit].mean(axis=0), reference.mean(axis=0)
    turn, _ = Rotation.align_vectors(reference - target, frame[fit] - centre)
    return turn.apply(frame - centre)
