"""Every format of structures and trajectories that the docs name, taken to the report."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from motion_reports import analysis_of, of_tables
from report_pages import read_page
from small_trajectories import molecule

pytestmark = pytest.mark.complete

mda = pytest.importorskip("MDAnalysis")
datafiles = pytest.importorskip("MDAnalysisTests.datafiles")

KEYS: dict[str, Any] = {
    "fit": False,
    "select": "protein and name CA",
    "ensemble": False,
    "contacts": {"cutoff": 8.0, "fraction": 0.5},
    "estimator": {"kind": "gaussian", "surrogates": 4},
    "export": ["tsv"],
}


def write_run(path: Path, universe: Any, n_frames: int = 60) -> str:
    """Noise about the first frame; where the format holds them, with a box and rising times."""
    random = np.random.default_rng(5)
    still = universe.atoms.positions.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        multiframe = {"multiframe": True} if path.suffix in (".pdb", ".xyz") else {}
        with mda.Writer(str(path), n_atoms=len(universe.atoms), **multiframe) as writer:
            for time in range(n_frames):
                universe.atoms.positions = still + random.normal(scale=0.4, size=still.shape)
                universe.trajectory.ts.time = 2.0 * time
                universe.dimensions = [90, 90, 90, 90, 90, 90]
                writer.write(universe.atoms)
    universe.atoms.positions = still
    return str(path)


def write_topology(folder: Path, ending: str, chains: str) -> str:
    """Twelve residues or six; a ``-`` of ``chains`` is a chain without a letter."""
    universe = molecule("A" * len(chains))
    letters = np.repeat([letter.replace("-", "") for letter in chains], 36)
    universe.atoms.chainIDs = [*letters, letters[0]]
    path = folder / f"top.{ending}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.atoms.write(str(path))
    if ending == "pdb":  # the writer puts an X where there is no letter
        text = path.read_text().splitlines()
        path.write_text("\n".join(_without_x(line) for line in text) + "\n")
    return str(path)


def _without_x(line: str) -> str:
    atom = line.startswith(("ATOM", "HETATM"))
    return (
        line[:21] + line[21].replace("X", " ") + line[22:72] + "    " + line[76:] if atom else line
    )


def check_report(out: Path, n_residues: int) -> None:
    """The page has the structure with every residue, each with a value; and no chain is lost."""
    page = read_page(out)
    data = json.loads(page.xpath("//*[@id='structure-data']/text()")[0])
    residues = pd.read_csv(out / "residues.tsv", sep="\t", keep_default_na=False)
    assert len(residues) == n_residues
    assert set(residues["name"]) <= set(data["residues"])
    by = {
        colouring["title"]: colouring["values"]
        for colouring in data["colourings"]
        if "values" in colouring
    }
    fluctuation = dict(zip(data["residues"], by["fluctuation (Å)"], strict=True))
    found = [fluctuation[name] for name in residues["name"]]
    assert found == pytest.approx(residues["sd"].tolist(), rel=1e-3)
    assert len(data["residue_of_atom"]) == data["pdb"].count("ATOM  ")
    assert (out / "summary.json").is_file()


@pytest.mark.parametrize(
    ("ending", "chains", "run"),
    [
        ("gro", "-", "xtc"),
        ("pdb", "A-", "dcd"),
        *(
            pytest.param(*case, marks=pytest.mark.complete)
            for case in (
                ("gro", "--", "trr"),
                ("pdb", "-", "xtc"),
                ("pdb", "--", "pdb"),
                ("pdb", "A", "nc"),
                ("pdb", "AB", "trr"),
                ("pdb", "A:", "xtc"),
            )
        ),
    ],
)
def test_structures_with_chains_and_without_reach_the_page(
    tmp_path: Path, ending: str, chains: str, run: str
) -> None:
    topology = write_topology(tmp_path, ending, chains)
    trajectory = write_run(tmp_path / f"run.{run}", mda.Universe(topology))
    out = analysis_of(tmp_path, KEYS | {"topology": topology, "trajectories": [trajectory]})
    check_report(out, 6 * len(chains))


@pytest.mark.complete
@pytest.mark.parametrize(
    ("name", "select", "run"),
    [
        ("PSF", "name CA and resid 1-12", "dcd"),
        ("PRM", "name CA and resid 1-12", "nc"),
        ("TPR2024", "name CA and resid 1-12", "xtc"),
        ("MMCIF", "", "xtc"),
    ],
)
def test_topologies_of_simulation_programs_reach_the_page(
    tmp_path: Path, name: str, select: str, run: str
) -> None:
    if name == "MMCIF":
        pytest.importorskip("gemmi")
        topology = str(Path(datafiles.MMCIF) / "1YJP.cif")
    else:
        topology = str(getattr(datafiles, name))
    universe = mda.Universe(topology)
    if not hasattr(universe, "trajectory"):
        places = np.random.default_rng(1).normal(scale=3.0, size=(len(universe.atoms), 3))
        universe.load_new(places[None].astype(np.float32))
    select = select or "name CA"
    n = universe.select_atoms(select).n_atoms
    trajectory = write_run(tmp_path / f"run.{run}", universe)
    changes = {"topology": topology, "trajectories": [trajectory], "select": select}
    check_report(analysis_of(tmp_path, KEYS | changes), n)


@pytest.mark.complete
def test_names_that_look_like_missing_values_or_text_of_ours_reach_the_page(tmp_path: Path) -> None:
    universe = molecule("A")
    run = write_run(tmp_path / "run.dcd", universe)
    resnames = ["NA", "A:B", "C-D", "nan", "E#F", "1e5", "CA"]
    resids = [0, 2, 3, 9999, 10000, 123456, 7]
    lines = ["PSF EXT", "", "       1 !NTITLE", " REMARKS", "", f"{37:10d} !NATOM"]
    for k, atom in enumerate(universe.atoms):
        place = f"{'NA':8s} {resids[k // 6]:<8d} {resnames[k // 6]:8s} {atom.name:8s} C     "
        lines.append(f"{k + 1:10d} {place}{0.0:14.6f}{12.011:14.4f}{0:12d}")
    topology = tmp_path / "top.psf"
    topology.write_text("\n".join([*lines, "", f"{0:10d} !NBOND: bonds", ""]) + "\n")
    changes = {
        "topology": str(topology),
        "trajectories": [run],
        "select": "name CA and resid 0:6 9999:123456",
    }
    out = analysis_of(tmp_path, KEYS | changes | {"paths": [["NA:NA0", "NA:1e5123456"]]})
    check_report(out, 6)


def test_names_with_blanks_stay_whole_in_paths(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    shared = random.normal(size=(80, 1))
    values = shared + 0.3 * random.normal(size=(80, 4))
    names = ["left arm", "NA", "a -> b", "right arm"]
    keys = {"keep": "all", "paths": [["left arm", "right arm"]], "suboptimal_paths": 5}
    out = of_tables(
        tmp_path, values, names=names, estimator={"kind": "gaussian", "surrogates": 0}, **keys
    )
    cells = read_page(out).xpath("//*[contains(@class,'paths')]/tbody/tr/td[last()]")
    shown = [cell.text_content().split(" → ") for cell in cells]
    assert shown
    assert all(set(path) <= set(names) for path in shown)
    assert all(path[0] == "left arm" and path[-1] == "right arm" for path in shown)
