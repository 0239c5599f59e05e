"""Trajectories that cannot be used, or should be looked at, and what is said of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.errors import ConfigError, InputError
from pairtile.methods.trajectory_correlation.residues import trajectory_contacts
from small_trajectories import (
    RNG,
    config,
    molecule,
    prepare,
    store,
    write,
)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"select": "name XX"}, "select 'name XX': found no atoms; expected some of its 73 atoms"),
        ({"fit": "resname LIG"}, "fit 'resname LIG': found no atoms"),
        ({"domains": {"LID": "resid 500"}}, "domains.LID 'resid 500': found no atoms"),
        ({"fit": "bynum 1:2"}, "found 2 atoms; expected three atoms or more that are not on one"),
        ({"select": "bynum 7"}, "found one variable; expected two or more"),
        ({"frames": {"start": 30}}, "found no frame for frames {start: 30, stop: null, step: 1}"),
        ({"frames": {"stop": 1}}, "run.dcd: found 1 frame; expected at least 8"),
        (
            {"frames": {"stop": 7}, "estimator": {"kind": "gaussian"}},
            "found 7 frames; expected at least 8 for estimator.kind: gaussian",
        ),
        ({"select": "name HA", "positions": "ca"}, ""),
        (
            {"select": "resname GLY", "dihedrals": ["chi2"], "estimator": {"kind": "dihedral"}},
            "dihedrals chi2: found none in the 2 selected residues",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_is_told(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    files, _ = write(tmp_path)
    if not message:  # the C-alpha of a residue counts, selected or not
        assert prepare(**files, **keys).items["kept"].all()
        return
    with pytest.raises(InputError) as caught:
        prepare(**files, **keys)
    assert message in str(caught.value)


@pytest.mark.parametrize("selection", ["protein and nam CA", "resid abc", "name CA and (", "and"])
@pytest.mark.parametrize("key", ["fit", "select"])
def test_a_selection_that_is_none_is_a_fault_of_the_configuration(
    tmp_path: Path, key: str, selection: str
) -> None:
    files, _ = write(tmp_path)
    with pytest.raises(ConfigError, match=f"^{key}: found .*a selection in MDAnalysis' language"):
        prepare(**files, **{key: selection})


def test_a_trajectory_of_another_system_is_told(tmp_path: Path) -> None:
    files, _ = write(tmp_path)
    (tmp_path / "other").mkdir()
    universe = molecule("A")
    other = store(tmp_path / "other", universe, universe.atoms.positions[None], "other.dcd")
    files["trajectories"].append(other)
    with pytest.raises(InputError, match=r"other\.dcd: found 37 atoms; expected 73, as in the top"):
        prepare(**files)


def test_selections_that_differ_between_replicas_are_told(tmp_path: Path) -> None:
    files, _ = write(tmp_path)
    universe = molecule()
    frames = np.repeat(universe.atoms.positions[None], 30, axis=0)
    frames[:, :36] += 60.0  # chain A elsewhere
    files["trajectories"].append(store(tmp_path, universe, frames, "apart.dcd"))
    keys = {**files, "fit": False, "select": "name CB and around 12 chainID B"}
    with pytest.raises(InputError, match=r"apart\.dcd: select .*the same atoms in all traject"):
        prepare(**keys)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_positions_that_are_no_numbers_are_told(tmp_path: Path, value: float) -> None:
    """Of an atom that is scored; of a side chain that only contacts look at."""
    universe = molecule()
    frames = universe.atoms.positions + RNG.normal(size=(20, universe.atoms.n_atoms, 3)) * 0.1
    bad = {}
    for atom in (7, 8):
        damaged = frames.copy()
        damaged[13, atom, 1] = value
        bad[atom] = [store(tmp_path, universe, damaged, f"bad{atom}.dcd")]
    keys = {"topology": str(tmp_path / "top.pdb"), "contacts": {}}
    with pytest.raises(InputError, match=r"frame 13, atom 8 \(ALA 2 CA\): found y = (nan|inf)"):
        prepare(**keys, trajectories=bad[7])
    assert len(prepare(**keys, trajectories=bad[7], frames={"stop": 13}).items) == 12
    keys["trajectories"] = bad[8]
    items = prepare(**keys).items
    with pytest.raises(InputError, match=r"frame 13, atom 9 \(ALA 2 CB\): found y = (nan|inf)"):
        trajectory_contacts(config(**keys), items)
    assert trajectory_contacts(config(**keys, frames={"stop": 13}), items)[0]["contact_i"].size


def test_a_path_to_nobody_is_told_before_the_frames_are_read(tmp_path: Path) -> None:
    universe = molecule()
    frames = np.repeat(universe.atoms.positions[None], 20, axis=0)
    frames[1:] = np.nan
    run = store(tmp_path, universe, frames, "bad.dcd")
    keys = {"topology": str(tmp_path / "top.pdb"), "trajectories": [run], "reference": "average"}
    with pytest.raises(ConfigError, match=r"paths: found 'A:ALA99'; .*, such as A:"):
        prepare(**keys, paths=[["A:ALA2", "A:ALA99"]])
    with pytest.raises(InputError, match="frame 1, atom"):
        prepare(**keys, paths=[["A:ALA2", "B:ALA2"]])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of MDAnalysis
def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    files, _ = write(tmp_path)
    with pytest.raises(InputError, match=r"none\.dcd: found no such file"):
        prepare(topology=files["topology"], trajectories=[str(tmp_path / "none.dcd")])
    text = tmp_path / "notes.dcd"
    text.write_text("this is no trajectory\n" * 30)
    with pytest.raises(InputError, match=r"notes\.dcd: found what MDAnalysis cannot read"):
        prepare(topology=files["topology"], trajectories=[str(text)])
    strange = tmp_path / "top.xyzzy"
    strange.write_text("no topology\n")
    with pytest.raises(InputError, match=r"top\.xyzzy: found what MDAnalysis cannot read"):
        prepare(topology=str(strange), trajectories=files["trajectories"])


def test_without_mdanalysis_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "MDAnalysis", None)
    with pytest.raises(ConfigError, match="pip install MDAnalysis"):
        prepare(topology="a.psf", trajectories=["a.dcd"])


def test_atoms_that_never_move_are_told(tmp_path: Path) -> None:
    universe = molecule()
    frames = universe.atoms.positions + RNG.normal(size=(20, universe.atoms.n_atoms, 3)) * 0.1
    frames[:, 7] = frames[0, 7]
    run = store(tmp_path, universe, frames, "still.dcd")
    prepared = prepare(
        topology=str(tmp_path / "top.pdb"), trajectories=[run], fit=False, select="name CA"
    )
    assert prepared.items.loc[prepared.items["constant"], "name"].tolist() == ["A:ALA2"]
    assert any("1 of 12 variables never move (A:ALA2)" in text for text in prepared.warnings)


def test_molecules_broken_across_the_box_are_told(tmp_path: Path) -> None:
    universe = molecule()
    frames = universe.atoms.positions + RNG.normal(size=(20, universe.atoms.n_atoms, 3)) * 0.1
    universe.dimensions = [40, 40, 40, 90, 90, 90]
    whole = store(tmp_path, universe, frames, "whole.dcd")
    frames[8, :12, 0] += 40.0
    broken = store(tmp_path, universe, frames, "broken.dcd")
    keys = {
        "topology": str(tmp_path / "top.pdb"),
        "select": "name CA and not resname CA",
        "fit": "chainID B",
    }
    assert not prepare(**keys, trajectories=[whole]).warnings
    warnings_ = prepare(**keys, trajectories=[broken]).warnings
    assert any("In 2 frames an atom is more than half a box length" in text for text in warnings_)


def test_a_trajectory_cut_short_is_told(tmp_path: Path) -> None:
    files, _ = write(tmp_path)
    whole = Path(files["trajectories"][0]).read_bytes()
    cut = tmp_path / "cut.dcd"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    assert not prepare(**files).warnings
    prepared = prepare(topology=files["topology"], trajectories=[str(cut)])
    n = prepared.counts["frames"]
    assert 15 < n < 25
    (warning,) = prepared.warnings
    assert warning.code == "frames_lacking"
    assert warning.numbers == {"file": str(cut), "promised": 30, "frames": n}


def test_a_selection_by_what_the_topology_lacks_is_told(adenylate_kinase: Any) -> None:
    with pytest.raises(ConfigError, match=r"select: .*the topology does not hold that.*chainID"):
        prepare(**adenylate_kinase, select="chainID A")
