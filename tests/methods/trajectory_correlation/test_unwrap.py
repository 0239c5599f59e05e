"""Trajectories that the periodic box breaks, against their unbroken source; names of chains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from MDAnalysis.lib.mdamath import triclinic_vectors
from pairtile import trajectory_correlation
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.read_trajectory import trajectories_of
from pairtile.methods.trajectory_correlation.residues import residues_of, trajectory_contacts
from small_trajectories import adenylate_kinase_files, config, frames_first, mda, molecule, prepare

pytestmark = pytest.mark.filterwarnings("ignore")  # of MDAnalysis' writers

BOXES = {
    "orthorhombic": [90.0, 80.0, 85.0, 90.0, 90.0, 90.0],
    "dodecahedron": [95.0, 95.0, 95.0, 60.0, 60.0, 90.0],
}


def broken_copy(folder: Path, universe: Any, box: list[float], stride: int = 1) -> dict[str, Any]:
    """The frames of ``universe``, tumbling and drifting; each atom is put back into the box."""
    vectors = triclinic_vectors(np.array(box, dtype=np.float32)).astype(float)
    random = np.random.default_rng(4)
    (folder / "broken").mkdir()
    topology, run = folder / "broken" / "top.pdb", folder / "broken" / "run.trr"
    universe.atoms.write(str(topology))
    drift = np.zeros(3)
    with mda.Writer(str(run), n_atoms=universe.atoms.n_atoms) as writer:
        for step in universe.trajectory[::stride]:
            drift += random.normal(size=3) * 12.0
            turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
            turn *= np.linalg.det(turn)
            moved = (step.positions - step.positions.mean(axis=0)) @ turn + drift
            places = moved @ np.linalg.inv(vectors)
            universe.atoms.positions = (places - np.floor(places)) @ vectors
            universe.dimensions = box
            writer.write(universe.atoms)
    return {"topology": str(topology), "trajectories": [str(run)]}


@pytest.mark.parametrize("box", BOXES.values(), ids=list(BOXES))
@pytest.mark.complete
def test_a_broken_trajectory_gives_what_its_source_gives(tmp_path: Path, box: list[float]) -> None:
    source = adenylate_kinase_files()
    keys: dict[str, Any] = {"select": "name CA", "fit": "name CA", "contacts": {}}
    keys["frames"] = {"stop": 98, "step": 7}
    expected = frames_first(prepare(**source, **keys))
    universe = mda.Universe(source["topology"], source["trajectories"][0])
    files = broken_copy(tmp_path, universe, box, 7)
    keys["frames"] = {}
    broken = prepare(**files, **keys)
    assert any("unwrap: true" in warning for warning in broken.warnings)
    whole = prepare(**files, **keys, unwrap=True)
    assert not any("unwrap: true" in warning for warning in whole.warnings)
    found = frames_first(whole)
    # Both lie on their own first frame: one turn brings one onto the other.
    left, _, right = np.linalg.svd(found[0].T @ expected[0])
    np.testing.assert_allclose(found @ (left @ right), expected, rtol=0, atol=2e-3)
    assert np.abs(frames_first(broken) - found).max() > 10
    contacts = [
        trajectory_contacts(config(**files, **keys, unwrap=unwrap), whole.items)[0]
        for unwrap in (False, True)
    ]
    np.testing.assert_array_equal(contacts[0]["contact_i"], contacts[1]["contact_i"])


def test_a_protein_in_water_lies_still_once_it_is_whole() -> None:
    """The figures of the method's page."""
    data = pytest.importorskip("MDAnalysisTests.datafiles")
    files = {"topology": str(data.GRO), "trajectories": [str(data.XTC)]}
    rmsf = [prepare(**files, unwrap=unwrap).items["sd"].mean() for unwrap in (False, True)]
    assert [f"{value:.2g}" for value in rmsf] == ["5.9", "0.99"]


def test_chains_that_touch_stay_together_in_any_order_of_frames(tmp_path: Path) -> None:
    universe = molecule()
    still = universe.atoms.positions.astype(float)
    noise = np.random.default_rng(1).normal(size=(20, *still.shape)) * 0.2
    universe.load_new((still + noise).astype(np.float32))
    files = broken_copy(tmp_path, universe, [45.0, 40.0, 64.0, 90.0, 90.0, 90.0])
    section = config(**files, select="name CA", fit=False, unwrap=True)
    source = trajectories_of(section)
    run = source.runs[0]
    expected = np.linalg.norm((still + noise)[:, 0] - (still + noise)[:, 40], axis=1)
    for number in (13, 2, 19, 0):
        (_, step), *_ = source.read(run, range(number, number + 1))
        distance = np.linalg.norm(step.positions[0] - step.positions[40])
        assert distance == pytest.approx(expected[number], abs=1e-3)
        middle = step.positions[source._whole.atoms].mean(axis=0)  # type: ignore[union-attr]
        np.testing.assert_allclose(middle, [22.5, 20, 32], atol=1e-3)


def test_a_trajectory_without_a_box_cannot_be_unwrapped() -> None:
    with pytest.raises(InputError, match=r"unwrap: true.*no periodic box"):
        prepare(**adenylate_kinase_files(), unwrap=True)


@pytest.mark.parametrize(
    ("resids", "segids", "of", "chains"),
    [
        ([7, 8] * 3, ["SYSTEM"], [0] * 6, "A A B B C C"),
        ([7, 8] * 3, ["P"], [0] * 6, "P P P2 P2 P3 P3"),
        (
            [7, 8] * 3,
            ["seg_0_Protein_chain_A", "seg_1_Protein_chain_B"],
            [0, 0, 1, 1, 1, 1],
            "A A B B B2 B2",
        ),
        ([1, 2, 3] * 2, [""], [0] * 6, "A A A B B B"),
        ([5, 6, 7, 8, 9, 12], [""], [0] * 6, ""),
        ([3, 2, 1] * 2, [""], [0] * 6, ""),
    ],
)
def test_chains_begin_where_residue_numbers_do(
    resids: list[int], segids: list[str], of: list[int], chains: str
) -> None:
    where = {"atom_resindex": range(6), "residue_segindex": of}
    universe = mda.Universe.empty(6, 6, len(segids), **where)
    values = {"name": ["CA"] * 6, "resname": ["TYR"] * 6, "resid": resids, "segid": segids}
    for key, own in values.items():
        universe.add_TopologyAttr(key, own)
    found = residues_of(universe, np.arange(6)).table
    expected = chains.split() or [""] * 6
    assert found["chain"].tolist() == expected
    labels = [f"{c}:" * bool(c) + f"TYR{n}" for c, n in zip(expected, resids, strict=True)]
    assert found["label"][0] == labels[0]


def test_an_open_universe_stays_as_it_was() -> None:
    universe = molecule()
    still = universe.atoms.positions.astype(float)
    frames = (still + np.random.default_rng(1).normal(size=(40, *still.shape)) * 0.2) % 50.0
    box = np.tile(np.array([50.0, 50.0, 50.0, 90, 90, 90], dtype=np.float32), (40, 1))
    universe.load_new(frames.astype(np.float32), dimensions=box)
    before = np.array(universe.trajectory.get_array())
    keys = {"select": "name CA", "fit": False, "kind": "gaussian", "surrogates": 0}
    found = trajectory_correlation(universe, unwrap=True, backend="cpu", **keys)
    np.testing.assert_array_equal(universe.trajectory.get_array(), before)
    broken = trajectory_correlation(universe, backend="cpu", **keys)
    assert found.items["sd"].max() < 1.0 < broken.items["sd"].max()
