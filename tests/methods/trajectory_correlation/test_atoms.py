"""Alternate positions, calcium ions, modified residues, chains and numbers of residues, masses that
nobody gave, times that do not rise."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from message_codes import numbers_by_code
from pairtile import trajectory_correlation
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.atoms import guessed_element
from small_trajectories import frames_first, molecule, prepare

mda = pytest.importorskip("MDAnalysis")

Atom = tuple[str, str, str, int, str, float, str]
"""name, altloc, resname, resid, icode, occupancy, element"""


def pdb(path: Path, atoms: list[Atom], n_models: int = 30, hetatm: tuple[str, ...] = ()) -> Any:
    """A PDB file of several models; the positions, (models, atoms, 3)."""
    random = np.random.default_rng(7)
    places = np.arange(len(atoms))[:, None] * [1.5, 0.7, 0.2] + random.normal(
        size=(n_models, len(atoms), 3)
    )
    places = places.round(3)
    lines = []
    for model, positions in enumerate(places, 1):
        lines.append(f"MODEL     {model:4d}")
        for k, (name, letter, resname, resid, icode, occupancy, element) in enumerate(atoms):
            record = "HETATM" if resname in hetatm else "ATOM  "
            shown = f" {name:<3}" if len(name) < 4 else name
            x, y, z = positions[k]
            lines.append(
                f"{record}{k + 1:5d} {shown}{letter:1}{resname:>3} A{resid:4d}{icode:1}   "
                f"{x:8.3f}{y:8.3f}{z:8.3f}{occupancy:6.2f}{0.0:6.2f}          {element:>2}"
            )
        lines.append("ENDMDL")
    path.write_text("\n".join([*lines, "END"]) + "\n")
    return places


def prepared(path: Path, **keys: Any) -> Any:
    base = {"select": "name CA", "fit": False, "ensemble": False, "contacts": False}
    return prepare(topology=str(path), trajectories=[str(path)], **{**base, **keys})


def alpha(resid: int, letter: str = "", occupancy: float = 1.0, **other: Any) -> Atom:
    return (
        other.get("name", "CA"),
        letter,
        other.get("resname", "SER"),
        resid,
        other.get("icode", ""),
        occupancy,
        other.get("element", "C"),
    )


# --- alternate positions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("atoms", "keys", "kept"),
    [
        ([alpha(1), alpha(2, "A", 0.5), alpha(2, "B", 0.5), alpha(3)], {}, [0, 1, 3]),
        ([alpha(1), alpha(2, "A", 0.3), alpha(2, "B", 0.7), alpha(3)], {}, [0, 2, 3]),
        (
            [alpha(1), alpha(2, "A", 0.4), alpha(2, "B", 0.6, resname="THR"), alpha(3)],
            {},
            [0, 2, 3],
        ),
        (
            [alpha(1), alpha(2, "A", 0.6), alpha(2, "B", 0.4), alpha(3)],
            {"select": "name CA and (altloc B or resid 1 3)"},
            [0, 2, 3],
        ),
        (
            [alpha(1), alpha(2, "1", 0.4), alpha(2, "2", 0.6), alpha(2, "2", 1.0, icode="A")],
            {"positions": "ca"},
            [0, 2, 3],
        ),
    ],
)
def test_a_residue_has_one_of_its_alternate_positions(
    tmp_path: Path, atoms: list[Atom], keys: dict[str, Any], kept: list[int]
) -> None:
    places = pdb(tmp_path / "t.pdb", atoms)
    found = prepared(tmp_path / "t.pdb", **keys)
    np.testing.assert_allclose(frames_first(found), places[:, kept], atol=1e-5)
    assert not found.items["name"].str.contains("#").any()
    numbers = numbers_by_code(found.notes, found.warnings).get("alternate_positions")
    assert numbers == (None if "select" in keys else {"n": 1, "n_atoms": 1})
    assert len(found.state["structure"]) == len(kept)


# --- calcium --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ion", "keys", "n", "warned"),
    [
        (alpha(201, resname="CA", element="CA"), {}, 4, True),
        (alpha(201, resname="CA", element=""), {"select": "name CA CB"}, 4, True),
        (alpha(201, resname="XYZ", element="CA"), {}, 4, True),
        (alpha(201, resname="CA", element="CA"), {"select": "name CA or resname CA"}, 5, False),
        (alpha(201, resname="CA", element="CA"), {"select": "all"}, 5, False),
        (alpha(201, resname="CA", element="CA"), {"select": "all", "positions": "ca"}, 4, False),
    ],
)
def test_calcium_is_no_residue_of_c_alphas(
    tmp_path: Path, ion: Atom, keys: dict[str, Any], n: int, warned: bool
) -> None:
    pdb(tmp_path / "t.pdb", [*(alpha(k) for k in range(1, 5)), ion], hetatm=("CA", "XYZ"))
    found = prepared(tmp_path / "t.pdb", **keys)
    assert int(found.items["kept"].sum()) == n
    assert numbers_by_code(found.notes, found.warnings).get("calcium_left_out") == (
        {"n": 1, "key": "select"} if warned else None
    )


def test_calcium_in_the_fit_is_left_out_too(tmp_path: Path) -> None:
    ion = alpha(201, resname="CA", element="CA")
    pdb(tmp_path / "t.pdb", [*(alpha(k) for k in range(1, 6)), ion])
    found = prepared(tmp_path / "t.pdb", fit="name CA")
    assert found.counts["fit_atoms"] == 5


def test_the_library_leaves_calcium_and_alternates_out_of_a_group(tmp_path: Path) -> None:
    ion = alpha(201, resname="CA", element="CA")
    atoms = [alpha(1), alpha(2, "A", 0.5), alpha(2, "B", 0.5), *map(alpha, range(3, 9)), ion]
    pdb(tmp_path / "t.pdb", atoms, n_models=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = mda.Universe(str(tmp_path / "t.pdb")).select_atoms("name CA")
        found = trajectory_correlation(
            group, kind="gaussian", surrogates=0, fit=False, contacts=False, ensemble=False
        )
    assert len(found.items) == 8


# --- masses ---------------------------------------------------------------------------------------


def residue(resid: int, names: dict[str, str], resname: str = "ALA") -> list[Atom]:
    return [
        alpha(resid, name=name, element=element, resname=resname) for name, element in names.items()
    ]


@pytest.mark.parametrize(
    ("names", "masses", "code"),
    [
        ({"CA": "C", "CB": "C", "OG": "O"}, [12.011, 12.011, 15.999], "masses_by_element"),
        ({"CA": "", "1HB": "", "NZ": ""}, [12.011, 1.008, 14.007], "masses_by_element"),
        ({"C1": "", "CL1": "", "FE": ""}, [12.011, 35.45, 55.847], "masses_by_element"),
        ({"BB": "", "SC1": "", "SC2": ""}, [1, 1, 1], "masses_unknown"),
        ({"CA": "", "XX": "", "MW": ""}, [1, 1, 1], "masses_unknown"),
        ({"CA": "C", "XX": "Q", "CB": "C"}, [1, 1, 1], "masses_unknown"),
        ({"NC3": "", "PO4": "", "GL1": ""}, [1, 1, 1], "masses_unknown"),
    ],
)
def test_centres_weigh_by_element_or_all_atoms_alike(
    tmp_path: Path, names: dict[str, str], masses: list[float], code: str
) -> None:
    atoms = [atom for resid in range(1, 5) for atom in residue(resid, names)]
    ion = alpha(9, name="NA", resname="NA", element="")
    places = pdb(tmp_path / "t.pdb", [*atoms, ion])
    found = prepared(tmp_path / "t.pdb", select="all", positions="center_of_mass")
    weight = np.array(masses) / np.sum(masses)
    centres = (places[:, :12].reshape(30, 4, 3, 3) * weight[:, None]).sum(axis=2)
    np.testing.assert_allclose(frames_first(found)[:, :4], centres, atol=2e-3)
    np.testing.assert_allclose(frames_first(found)[:, 4], places[:, 12], atol=1e-4)
    said = numbers_by_code(found.notes, found.warnings)
    assert [each for each in said if each.startswith("masses")] == [code]
    if code == "masses_unknown":
        assert said[code]["n"] == said[code]["n_weighed"] == 12
    else:
        by_name = 0 if all(names.values()) else 12
        assert said[code] == {"n": 12 - by_name, "n_by_name": by_name}


def test_masses_of_the_topology_are_taken_as_they_are() -> None:
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    files = {"topology": str(datafiles.PSF), "trajectories": [str(datafiles.DCD)]}
    keys = {"select": "protein and resid 1-3", "positions": "center_of_mass", "fit": False}
    found = prepare(**files, **keys, frames={"stop": 12})
    universe = mda.Universe(*files.values())
    group = universe.select_atoms("resid 1-3")
    expected = []
    for _ in universe.trajectory[:12]:
        expected.append(group.center_of_mass(compound="residues"))
    np.testing.assert_allclose(frames_first(found), expected, atol=1e-4)
    assert not [
        code for code in numbers_by_code(found.notes, found.warnings) if code.startswith("masses")
    ]


@pytest.mark.parametrize(
    ("name", "element"),
    [("CA", "C"), ("1HG1", "H"), ("OP1", "O"), ("SE", "SE"), ("BR2", "BR"), ("ZN", "ZN"),
     ("BB", ""), ("GL1", ""), ("XX", ""), ("", "")],
)  # fmt: skip
def test_elements_by_names(name: str, element: str) -> None:
    assert guessed_element(name) == element


# --- times and selections -------------------------------------------------------------------------


def test_times_that_do_not_rise_are_no_times(tmp_path: Path) -> None:
    universe = molecule()
    frames = universe.atoms.positions + np.random.default_rng(1).normal(
        size=(20, universe.atoms.n_atoms, 3)
    )
    for name, step in (("still.xtc", 0.0), ("back.xtc", -2.0), ("rising.xtc", 2.0)):
        with mda.Writer(str(tmp_path / name), n_atoms=universe.atoms.n_atoms) as writer:
            for number, positions in enumerate(frames):
                universe.atoms.positions = positions
                universe.trajectory.ts.time = 100 + step * number
                writer.write(universe.atoms)
    universe.atoms.write(str(tmp_path / "top.pdb"))
    names = ["still.xtc", "back.xtc", "rising.xtc"]
    runs = [str(tmp_path / name) for name in names]
    found = prepare(topology=str(tmp_path / "top.pdb"), trajectories=runs)
    np.testing.assert_array_equal(found.state["frame_interval_ps"], [np.nan, np.nan, 2.0])
    said = [text for text in found.notes if getattr(text, "code", "") == "times_do_not_rise"]
    assert [text.numbers["name"] for text in said] == runs[:2]


@pytest.mark.parametrize(
    ("resnames", "name", "hint"),
    [
        (("DA", "DC", "DG"), "P", "try select: nucleic and name P (3 atoms)"),
        (("A", "U", "G"), "P", "try select: nucleic and name P (3 atoms)"),
        (("LEU", "GLY", "ALA"), "BB", "try select: name BB (3 atoms)"),
        (("LIG", "LIG", "LIG"), "C1", "residue names LIG)"),
    ],
)
def test_a_selection_of_nothing_names_one_that_matches(
    tmp_path: Path, resnames: tuple[str, ...], name: str, hint: str
) -> None:
    atoms = [alpha(k, name=name, resname=r, element="") for k, r in enumerate(resnames, 1)]
    pdb(tmp_path / "t.pdb", atoms)
    with pytest.raises(InputError) as caught:
        prepared(tmp_path / "t.pdb", select="protein and name CA")
    assert str(caught.value).endswith(hint)


def test_odd_numbers_of_residues_keep_their_places(tmp_path: Path) -> None:
    atoms = [alpha(-5), alpha(0), alpha(1), alpha(1, icode="A"), alpha(9999)]
    pdb(tmp_path / "t.pdb", atoms)
    found = prepared(tmp_path / "t.pdb")
    assert found.items["name"].tolist() == [
        "A:SER-5", "A:SER0", "A:SER1", "A:SER1A", "A:SER9999",
    ]  # fmt: skip


def test_models_of_other_numbers_of_atoms_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.pdb"
    pdb(path, [alpha(k) for k in range(1, 6)])
    lines = path.read_text().splitlines()
    del lines[7 * 20 + 2]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as caught:
        prepared(path)
    assert str(caught.value).startswith(f"{path}: frame 20")


# --- modified residues ----------------------------------------------------------------------------


def backbone(resid: int, resname: str, *names: str) -> list[Atom]:
    return [alpha(resid, name=name, resname=resname, element=name[0]) for name in names]


BACKBONE = ("N", "CA", "C", "O")


def modified(path: Path) -> Path:
    """Two residues that nobody knows by name, one of the chain's end, and a ligand."""
    atoms = [
        *backbone(1, "ALA", *BACKBONE),
        *backbone(2, "QZP", *BACKBONE),
        *backbone(3, "GLY", *BACKBONE),
        *backbone(4, "XPT", "N", "CA", "C", "OT1"),
        *backbone(9, "LIG", "C1", "CA", "O"),
    ]
    pdb(path, atoms, n_models=20)
    return path


@pytest.mark.parametrize(
    ("select", "kept"),
    [
        ("protein and name CA", [1, 2, 3, 4]),
        ("backbone and name CA", [1, 2, 3, 4]),
        ("name CA and not protein or resid 1 and name CA", [1, 9]),
        ("(protein) and name CA and resid 1 2", [1, 2]),
        ("name CA and resid 1 4", [1, 4]),
    ],
)
def test_residues_with_a_backbone_are_protein_whatever_their_names(
    tmp_path: Path, select: str, kept: list[int]
) -> None:
    found = prepared(modified(tmp_path / "t.pdb"), select=select)
    assert found.items["resid"].tolist() == kept
    said = numbers_by_code(found.messages).get("modified_residues")
    n = len({2, 4} & set(kept))
    expected = n if n and ("protein" in select or "backbone" in select) else None
    assert (said and said["n"]) == expected


def test_lone_c_alphas_are_protein_and_calcium_is_not(tmp_path: Path) -> None:
    path = tmp_path / "t.pdb"
    atoms = [alpha(1), alpha(2, resname="QZP"), alpha(3), alpha(7, resname="CA", element="CA")]
    pdb(path, atoms, n_models=20)
    found = prepared(path, select="protein and name CA")
    assert found.items["resid"].tolist() == [1, 2, 3]


# --- numbers of residues --------------------------------------------------------------------------


def renumbered(path: Path, *texts: str) -> Path:
    """Three C-alphas with these texts for numbers."""
    pdb(path, [alpha(k + 1) for k in range(len(texts))], n_models=20)
    lines = path.read_text().splitlines()
    for k, line in enumerate(lines):
        if line.startswith("ATOM"):
            lines[k] = f"{line[:22]}{texts[int(line[22:26]) - 1]:>4}{line[26:]}"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_numbers_in_hybrid_36_are_read_and_said(tmp_path: Path) -> None:
    found = prepared(renumbered(tmp_path / "t.pdb", "9999", "A000", "A00Z"))
    assert found.items["resid"].tolist() == [9999, 10000, 10035]
    assert found.items["name"].is_unique
    assert set(found.items["icode"]) == {""}
    assert numbers_by_code(found.messages)["hybrid_numbers"] == {"text": "A000", "number": 10000}


@pytest.mark.parametrize("text", ["", "?*1", "ZZZZ"])
def test_residues_without_a_number_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="line 3"):
        prepared(renumbered(tmp_path / "t.pdb", "1", text, "3"))


# --- chains ---------------------------------------------------------------------------------------


def test_chains_that_were_given_names_can_be_selected(tmp_path: Path) -> None:
    path = tmp_path / "t.pdb"
    pdb(path, [alpha(k) for k in (1, 2, 3, 1, 2, 3)], n_models=20)
    path.write_text(path.read_text().replace(" SER A", " SER  "))
    whole = prepared(path)
    part = prepared(path, select="chainID B and name CA")
    assert part.items["name"].tolist() == ["B:SER1", "B:SER2", "B:SER3"]
    assert whole.items["name"].tolist()[3:] == part.items["name"].tolist()
