"""Trajectories to series: golden frames, positions, dihedrals, distances, contacts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from MDAnalysis.analysis.dssp import DSSP
from message_codes import numbers_by_code
from pairtile.methods.trajectory_correlation.residues import trajectory_contacts
from small_trajectories import (
    RNG,
    SEQUENCE,
    config,
    frames_first,
    kabsch,
    mda,
    molecule,
    prepare,
    store,
    write,
)


def test_golden_positions_of_adenylate_kinase(adenylate_kinase: Any, shared: Path) -> None:
    golden = np.load(shared / "golden" / "trajectory" / "adk_dims98.npz")
    prepared = prepare(**adenylate_kinase)
    assert prepared.state["series"].dtype == np.float64
    assert np.abs(frames_first(prepared) - golden["aligned"]).max() < 1e-10
    assert np.abs(prepared.state["mean_positions"] - golden["aligned"].mean(axis=0)).max() < 1e-10
    assert prepared.items["resid"].tolist() == golden["resids"].tolist()
    assert prepared.items["name"].tolist()[:2] == ["4AKE:MET1", "4AKE:ARG2"]
    assert prepared.state["replica_offsets"].tolist() == [0, 98]
    assert prepared.state["frame_interval_ps"] == pytest.approx([1.0])
    assert "".join(prepared.items["secondary_structure"])[11:23] == "-" + "H" * 11


def test_secondary_structure_is_that_of_the_whole_molecule(adenylate_kinase: Any) -> None:
    prepared = prepare(**adenylate_kinase)
    universe = mda.Universe(adenylate_kinase["topology"], *adenylate_kinase["trajectories"])
    expected = DSSP(universe).run(stop=1).results.dssp[0]
    assert "PRO" in universe.residues.resnames  # counts for nothing in a bond
    assert prepared.items["secondary_structure"].tolist() == expected.tolist()


def test_fit_and_select_are_independent(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    prepared = prepare(**keys, fit="chainID A and name N CA C", select="chainID B and name CB")
    universe = molecule()
    own = universe.select_atoms("chainID B and name CB").indices
    # The PDB file holds the calcium as chain A, name CA: it is no C-alpha.
    fit = universe.select_atoms("chainID A and name N CA C and not resname CA").indices
    expected = np.stack([kabsch(f, fit, frames[0][fit])[own] for f in frames])
    assert np.abs(frames_first(prepared) - expected).max() < 1e-6
    assert prepared.items["name"].tolist() == [f"B:{r}{k + 1}" for k, r in enumerate(SEQUENCE)]
    assert prepared.counts["fit_atoms"] == len(fit)


def test_without_a_fit_positions_are_as_in_the_file(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    prepared = prepare(**keys, fit=False, select="name CB", frames={"start": -17, "step": 2})
    own = molecule().select_atoms("name CB").indices
    assert np.array_equal(frames_first(prepared), frames[-17::2][:, own])
    assert prepared.counts["fit_atoms"] == 0
    assert any("not superposed (fit: false)" in note for note in prepared.notes)


@pytest.mark.parametrize("fit", ["protein and name CA", "least_moving", "protein and name CA CB"])
@pytest.mark.parametrize("step", [0.0, 1.0], ids=["replicas alike", "replicas elsewhere"])
def test_frozen_atoms_hold_the_frame(fit: str, step: float, tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    frozen = molecule().select_atoms("protein and name CA").indices[2:7]
    frames[:, frozen] = frames[0, frozen]
    runs = [
        store(tmp_path, molecule(), frames + k * step, f"frozen_{k}.{end}")
        for k, end in enumerate(["xtc", "dcd"])
    ]
    keys = {"topology": keys["topology"], "trajectories": runs, "select": "protein and name CA"}
    prepared, as_they_are = prepare(**keys, fit=fit), prepare(**keys, fit=False)
    assert numbers_by_code(prepared.warnings)["fit_still"]["n"] == 5
    assert prepared.counts["fit_atoms"] == 5
    assert np.flatnonzero(prepared.items["constant"]).tolist() == [2, 3, 4, 5, 6]
    expected = np.asarray(as_they_are.state["series"])
    found = np.asarray(prepared.state["series"])
    expected = expected - expected[2:7, :, :1].mean(axis=0)  # their centroid is the origin
    assert np.abs(found - expected)[:, :, :30].max() < 0.02
    moving = prepare(**write(tmp_path)[0], fit=fit, select="protein and name CA")
    assert "fit_still" not in numbers_by_code(moving.warnings)


def test_the_series_do_not_depend_on_how_frames_lie(tmp_path: Path) -> None:
    from scipy.spatial.transform import Rotation

    keys, frames = write(tmp_path)
    turned = frames.copy()
    turns = Rotation.random(len(frames) - 1, rng=RNG).as_matrix()
    turned[1:] = turned[1:] @ turns + RNG.normal(size=(len(frames) - 1, 1, 3)) * 20
    other = store(tmp_path, molecule(), turned, "turned.dcd")
    a = prepare(**keys, select="name CA")
    b = prepare(topology=keys["topology"], trajectories=[other], select="name CA")
    assert np.abs(frames_first(a) - frames_first(b)).max() < 1e-4  # float32 in the file


def test_superposing_on_the_average_brings_frames_nearer_to_it(adenylate_kinase: Any) -> None:
    def spread(prepared: Any) -> float:
        frames = frames_first(prepared)
        return float(np.sqrt(((frames - frames.mean(axis=0)) ** 2).sum(axis=-1).mean()))

    first, average = prepare(**adenylate_kinase), prepare(**adenylate_kinase, reference="average")
    assert spread(average) < spread(first)
    assert any("the average structure" in note for note in average.notes)


@pytest.mark.parametrize("kind", ["atom", "ca", "center_of_mass"])
def test_positions_of_a_residue(kind: str, tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    prepared = prepare(**keys, fit=False, select="name CA CB", positions=kind)
    series, names = frames_first(prepared), prepared.items["name"].tolist()
    assert len(set(names)) == len(names)
    universe = molecule()
    if kind == "atom":
        assert names[:3] == ["A:MET1:CA", "A:MET1:CB", "A:ALA2:CA"]
        assert names[-1] == "B:TRP6:CB"
        assert np.array_equal(series[:, 0], frames[:, 1])
    elif kind == "ca":
        # The calcium has an atom CA, and yet no C-alpha.
        assert prepared.items["kept"].all()
        assert numbers_by_code(prepared.warnings)["calcium_left_out"]["n"] == 1
        assert np.array_equal(series[:, 7], frames[:, 7 * 6 + 1])
    else:
        own = universe.select_atoms("name CA CB and resid 3 and chainID A")
        masses = np.array([12.011, 12.011])
        expected = (frames[:, own.indices] * masses[:, None]).sum(axis=1) / masses.sum()
        assert np.abs(series[:, 2] - expected).max() < 1e-6
        assert prepared.items["atom"].unique().tolist() == ["center_of_mass"]


def test_centres_of_mass_weigh_atoms(adenylate_kinase: Any) -> None:
    prepared = prepare(**adenylate_kinase, fit=False, select="protein", positions="center_of_mass")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = mda.Universe(adenylate_kinase["topology"], adenylate_kinase["trajectories"][0])
    universe.trajectory[40]
    expected = universe.select_atoms("protein").center_of_mass(compound="residues")
    assert np.abs(frames_first(prepared)[40] - expected).max() < 1e-5


def test_displacements_are_distances_from_the_mean_of_each_replica(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    _, more = write(tmp_path, 20, "more.dcd", 0.6)
    keys["trajectories"].append(str(tmp_path / "more.dcd"))
    prepared = prepare(**keys, fit=False, select="name CB", estimator={"kind": "bspline"})
    own = molecule().select_atoms("name CB").indices
    expected = [
        np.linalg.norm(part[:, own] - part[:, own].mean(axis=0), axis=-1) for part in (frames, more)
    ]
    found = frames_first(prepared)[:, :, 0]
    assert np.abs(found - np.concatenate(expected)).max() < 1e-9
    assert prepared.state["replica_offsets"].tolist() == [0, 30, 50]
    assert prepared.items["mean"].to_numpy() == pytest.approx(found.mean(axis=0))
    assert not list(Path(prepared.state["series"].filename).parent.glob("positions.npy"))


def test_dihedrals_are_those_of_mdanalysis(adenylate_kinase: Any) -> None:
    names = ["phi", "psi", "omega", "chi1"]
    prepared = prepare(
        **adenylate_kinase,
        select="protein",
        dihedrals=names,
        estimator={"kind": "dihedral"},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = mda.Universe(adenylate_kinase["topology"], adenylate_kinase["trajectories"][0])
    universe.trajectory[77]
    expected = {}
    for residue in universe.select_atoms("protein").residues:
        for name in names:
            atoms = getattr(residue, f"{name}_selection")()
            if atoms is not None and len(atoms) == 4:
                label = f"4AKE:{residue.resname}{residue.resid}:{name}"
                expected[label] = np.radians(atoms.dihedral.value())
    found = dict(zip(prepared.items["name"], frames_first(prepared)[77, :, 0], strict=True))
    assert set(found) == set(expected)
    assert len(found) > 800
    apart = np.array([found[name] - expected[name] for name in found])
    assert np.abs(np.angle(np.exp(1j * apart))).max() < 1e-5
    assert any("Frames are not superposed" in note for note in prepared.notes)


def test_side_chains_end_where_their_atoms_do(adenylate_kinase: Any) -> None:
    prepared = prepare(
        **adenylate_kinase,
        select="protein",
        dihedrals=["chi1", "chi2", "chi3", "chi4", "chi5"],
        estimator={"kind": "dihedral"},
    )
    items = prepared.items
    most = {"GLY": 0, "ALA": 0, "VAL": 1, "SER": 1, "THR": 1, "CYS": 1, "ILE": 2, "LEU": 2}
    most |= {"ASP": 2, "ASN": 2, "PHE": 2, "TYR": 2, "HSE": 2, "HSD": 2, "PRO": 2}
    most |= {"GLU": 3, "GLN": 3, "MET": 3, "LYS": 4, "ARG": 5}
    residues = prepared.state["structure"][["residue", "resname"]]
    for residue, resname in set(map(tuple, residues.tolist())):
        assert (items["residue"] == residue).sum() == most[resname], resname


def test_no_dihedral_runs_across_a_gap_of_the_chain(tmp_path: Path) -> None:
    keys, _ = write(tmp_path, spread=0.01)
    prepared = prepare(
        **keys, select="name CA", dihedrals=["phi", "psi"], estimator={"kind": "dihedral"}
    )
    names = prepared.items["name"].tolist()
    assert "A:ALA2:phi" in names
    assert "B:MET1:phi" not in names  # follows A:TRP6, but is not joined to it
    assert "A:TRP6:psi" not in names
    assert len(names) == 2 * (5 + 5)


def test_distances_between_centres(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    prepared = prepare(
        **keys,
        variables="distances",
        distances={
            "ends": ["resid 1 and chainID A", "resid 6 and chainID A"],
            "b": ["bynum 1", "bynum 5"],
        },
    )
    apart = frames[:, 0:6].mean(axis=1) - frames[:, 30:36].mean(axis=1)
    found = frames_first(prepared)[:, :, 0]
    assert np.abs(found[:, 0] - np.linalg.norm(apart, axis=1)).max() < 1e-9
    assert np.abs(found[:, 1] - np.linalg.norm(frames[:, 0] - frames[:, 4], axis=1)).max() < 1e-9
    assert prepared.items["name"].tolist() == ["ends", "b"]
    middle = (frames[0, 0] + frames[0, 4]) / 2
    assert np.abs(prepared.state["mean_positions"][1] - middle).max() < 1e-6


def test_contacts_are_heavy_atoms_within_the_cutoff(tmp_path: Path) -> None:
    keys, frames = write(tmp_path)
    chosen = {"select": "name CA CB", "contacts": {"cutoff": 4.0, "fraction": 0.5}}
    prepared = prepare(**keys, **chosen)
    state, _ = trajectory_contacts(config(**keys, **chosen), prepared.items)
    # No part of what is scored.
    assert not state.keys() & prepared.state.keys()
    universe = molecule()
    heavy = [a.index for a in universe.atoms if a.name != "HA"]
    owner = universe.atoms.resindices
    expected: dict[tuple[int, int], float] = {}
    for frame in frames:
        near = np.linalg.norm(frame[heavy, None] - frame[None, heavy], axis=-1) <= 4.0
        touching = {
            (int(owner[heavy[a]]), int(owner[heavy[b]]))
            for a, b in zip(*np.nonzero(near), strict=True)
        }
        for pair in touching:
            if pair[0] < pair[1]:
                expected[pair] = expected.get(pair, 0) + 1 / len(frames)
    residue = prepared.items["residue"].to_numpy()
    found = list(
        zip(state["contact_i"], state["contact_j"], state["contact_fraction"], strict=True)
    )
    assert [(i, j) for i, j, _ in found] == sorted({(i, j) for i, j, _ in found})
    n = len(prepared.items)
    for i in range(n):
        for j in range(i + 1, n):
            pair = tuple(sorted((int(residue[i]), int(residue[j]))))
            want = 1.0 if pair[0] == pair[1] else expected.get(pair, 0.0)
            got = [fraction for a, b, fraction in found if (a, b) == (i, j)]
            assert (got[0] if got else 0.0) == pytest.approx(want, abs=1e-6)


def test_contacts_are_counted_in_the_frames_that_are_used(tmp_path: Path) -> None:
    """Of all replicas together; the shares of its parts add up."""
    keys, _ = write(tmp_path, 30)
    write(tmp_path, 20, "more.dcd")
    keys["trajectories"].append(str(tmp_path / "more.dcd"))
    settings = {"fit": False, "contacts": {"cutoff": 4.0}}

    def shares(**frames: int | None) -> tuple[np.ndarray, int]:
        used = config(**keys, **settings, frames=frames)
        prepared = prepare(**keys, **settings, frames=frames)
        found, _ = trajectory_contacts(used, prepared.items)
        full = np.zeros((len(prepared.items),) * 2)
        full[found["contact_i"], found["contact_j"]] = found["contact_fraction"]
        return full, prepared.counts["frames"]

    every, even, odd = (shares(**frames) for frames in ({}, {"step": 2}, {"start": 1, "step": 2}))
    assert (every[1], even[1], odd[1]) == (50, 25, 25)
    assert ((every[0] > 0) & (every[0] < 1)).any()
    np.testing.assert_allclose(every[0], (even[0] + odd[0]) / 2, atol=1e-6)
    assert np.abs(even[0] - odd[0]).max() > 0.01


def test_domains_mark_residues(adenylate_kinase: Any) -> None:
    domains = {"LID": "resid 122-159", "NMP": "resid 30-59", "CORE": "protein"}
    items = prepare(**adenylate_kinase, domains=domains).items.set_index("resid")
    assert items.loc[[1, 29, 30, 59, 60, 122, 159, 160], "domain"].tolist() == [
        *["CORE"] * 2,
        *["NMP"] * 2,
        "CORE",
        *["LID"] * 2,
        "CORE",
    ]


def test_the_structure_has_all_atoms_of_the_residues(adenylate_kinase: Any) -> None:
    prepared = prepare(**adenylate_kinase)
    structure = prepared.state["structure"]
    assert len(structure) == 3341
    alphas = structure[structure["name"] == "CA"]
    assert np.abs(alphas["position"] - frames_first(prepared)[0]).max() < 1e-9
    assert alphas["residue"].tolist() == prepared.items["residue"].tolist()
    assert set(structure["element"]) == {"C", "H", "N", "O", "S"}
