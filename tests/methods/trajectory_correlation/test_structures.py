"""Structures, scripts and tables of residues: read back, and run where an interpreter is there."""

from __future__ import annotations

import importlib
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.network import (
    ResidueNetwork,
    path_ends,
    shortest_paths,
)
from pairtile.methods.trajectory_correlation.residues import STRUCTURE
from pairtile.methods.trajectory_correlation.structures import (
    Links,
    chain_letters,
    item_places,
    residue_communities,
    residue_means,
    strongest_links,
    write_chimerax_attributes,
    write_script,
    write_structure_pdb,
)
from pairtile.methods.trajectory_correlation.tables import (
    community_table,
    path_table,
    residue_table,
)
from pairtile.runtime.files import write_tsv


def structure(chains: tuple[str, ...] = ("A", "A", "PROB")) -> np.ndarray:
    """Residues of N, CA, CB; and a calcium."""
    atoms = [
        (name, "LYS", chain, 10 + k, "", name[0], k, (4.0 * k, float(n), -1.5))
        for k, chain in enumerate(chains)
        for n, name in enumerate(("N", "CA", "CB"))
    ]
    atoms.append(("CA", "CA", chains[0], 99, "B", "Ca", len(chains), (-50.0, 0.0, 100.25)))
    return np.array(atoms, dtype=STRUCTURE)


def items(atom: str = "CA", n: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"A:LYS{10 + k}" for k in range(n)],
            "atom": atom,
            "residue": np.arange(n, dtype=np.int32),
            "chain": "A",
            "resid": np.arange(10, 10 + n, dtype=np.int32),
            "resname": "LYS",
            "domain": "",
            "kept": True,
        }
    )


def state(n: int = 3) -> dict[str, np.ndarray]:
    return {"structure": structure(), "mean_positions": np.full((n, 3), 7.0)}


def links() -> Links:
    found = strongest_links(items(), state(), [0, 0, 1], [1, 2, 2], [0.4, -0.9, np.nan], 5)
    assert found.correlation.tolist() == [-0.9, 0.4]
    return found


def test_pdb_reads_back_with_values_communities_and_places(tmp_path):
    mda = pytest.importorskip("MDAnalysis")
    atoms = structure()
    path = tmp_path / "structure.pdb"
    write_structure_pdb(path, atoms, [12.345, np.nan, 3.0, 2000.0], [2, 1, 0, 1000], "of\nmine")
    read = mda.Universe(str(path)).atoms
    np.testing.assert_allclose(read.positions, atoms["position"], atol=1e-3)
    assert read.names.tolist() == atoms["name"].tolist()
    assert read.resids.tolist() == atoms["resid"].tolist()
    assert read.chainIDs.tolist() == ["A"] * 6 + ["B"] * 3 + ["A"]
    assert read.icodes[-1] == "B"
    assert read.elements.tolist() == [e.capitalize() for e in atoms["element"].tolist()]
    owner = atoms["residue"]
    expected = np.array([12.345, 0, 3.0, 999.99])[owner]
    np.testing.assert_allclose(read.tempfactors, expected, atol=0.0051)
    np.testing.assert_allclose(read.occupancies, np.array([2.0, 1, 0, 0])[owner])
    lines = path.read_text().splitlines()
    assert "REMARK   6 B-FACTOR: of mine" in lines
    assert "REMARK   6 CHAIN B: PROB" in lines
    assert {len(line) for line in lines if line.startswith("ATOM")} == {78}
    # Columns of the format: name 13-16, chain 22, element 77-78.
    assert [line[12:16] for line in lines if line.startswith("ATOM")][-2:] == [" CB ", "CA  "]


def test_an_atom_beyond_the_columns_is_refused_and_no_file_left(tmp_path):
    atoms = structure()
    atoms["position"][0] = [1e5, 0, 0]
    with pytest.raises(InputError, match=r"100000\.0 Angstrom"):
        write_structure_pdb(tmp_path / "s.pdb", atoms, np.zeros(4), np.zeros(4, int))
    assert list(tmp_path.iterdir()) == []


def test_chains_get_letters_of_their_own():
    letters = chain_letters(structure(("B", "SEG", "", "A", "é")))
    assert letters["A"] == "A"
    assert letters["B"] == "B"
    assert len(set(letters.values())) == 5
    assert all(len(letter) == 1 and letter.isascii() for letter in letters.values())


def test_items_are_drawn_at_their_atom_else_c_alpha_else_the_middle():
    atoms = structure()
    assert item_places(items("CB"), state())[1].tolist() == [4.0, 2.0, -1.5]
    assert item_places(items("phi"), state())[1].tolist() == [4.0, 1.0, -1.5]
    middle = atoms["position"][atoms["residue"] == 1].mean(axis=0)
    assert item_places(items("center_of_mass"), state())[1].tolist() == middle.tolist()
    nowhere = items("distance").assign(residue=-1)
    assert item_places(nowhere, state()).tolist() == [[7.0] * 3] * 3
    bare = {**state(), "mean_positions": np.full((3, 3), np.nan)}
    assert strongest_links(nowhere, bare, [0], [1], [0.9], 5).correlation.size == 0


def test_the_strongest_links_are_drawn_and_those_without_extent_left_out():
    table = items().assign(residue=[0, 0, 1])  # two angles of one residue
    found = strongest_links(table, state(), [0, 0, 1], [1, 2, 2], [0.99, 0.3, 0.5], 1)
    assert found.correlation.tolist() == [0.5]
    radii = links().radii()
    assert radii[0] > radii[1] > 0
    assert strongest_links(items(), state(), [], [], [], 3).radii().size == 0


def test_values_of_residues_come_from_their_items():
    table = items().assign(residue=[0, 0, -1])
    means = residue_means(table, [1.0, 3.0, 9.0], 3)
    np.testing.assert_array_equal(means, [2.0, np.nan, np.nan])
    assert residue_communities(table, [0, 4, 5], 3).tolist() == [4, 0, 0]


def test_pymol_script_draws_every_link_and_community(tmp_path):
    path = tmp_path / "structure.pml"
    write_script(path, "structure.pdb", links(), 12)
    text = path.read_text()
    python = text.split("\npython\n")[1].split("\npython end")[0]
    loaded: list[list[float]] = []

    class Command:
        def load_cgo(self, numbers: list[float], name: str) -> None:
            loaded.append(numbers)

    python = re.sub("^from pymol.*$", "", python, flags=re.MULTILINE)
    exec(python, {"cmd": Command(), "CYLINDER": 9.0})
    rods = np.array(loaded[0]).reshape(-1, 14)
    assert rods[:, 0].tolist() == [9.0, 9.0]
    np.testing.assert_allclose(rods[:, 1:4], links().start, atol=1e-3)
    np.testing.assert_allclose(rods[:, 4:7], links().end, atol=1e-3)
    assert rods[0, 8] < rods[0, 10]  # against each other: blue
    assert rods[1, 8] > rods[1, 10]  # together: red
    assert text.count("\nselect community_") == 12


def test_vmd_script_is_tcl_that_draws_every_link_and_community(tmp_path):
    tkinter = pytest.importorskip("tkinter")
    path = tmp_path / "structure.vmd"
    own = {"closeness": np.array([0.5, np.nan, 0.25, 0.0])}
    write_script(path, "structure.pdb", links(), 2, (), structure(), own)
    tcl = tkinter.Tcl()
    tcl.eval("set calls {}")
    tcl.eval("proc molinfo args { return 3 }")
    for command in ("mol", "graphics", "color"):
        tcl.eval(
            f"proc {command} args {{ global calls; lappend calls [list {command} {{*}}$args] }}"
        )
    tcl.eval(f"source {{{path}}}")
    calls = [tcl.splitlist(call) for call in tcl.splitlist(tcl.eval("set calls"))]
    assert calls[0][:3] == ("mol", "new", str(tmp_path / "structure.pdb"))
    chosen = [call[2] for call in calls if call[:2] == ("mol", "selection")]
    assert chosen == ["occupancy 0 or occupancy > 2", "occupancy 1", "occupancy 2"]
    rods = [call for call in calls if call[2:3] == ("cylinder",)]
    ends = np.array([[tcl.splitlist(end) for end in rod[3:5]] for rod in rods], dtype=float)
    np.testing.assert_allclose(ends, np.stack([links().start, links().end], axis=1), atol=1e-3)
    numbers = [int(call[3]) for call in calls if call[:3] == ("color", "change", "rgb")]
    assert max(numbers) <= 32  # VMD has no more
    used = {
        int(call[3])
        for call in calls
        if call[:2] in (("mol", "color"), ("graphics", "top")) and call[2] in ("ColorID", "color")
    }
    assert used <= set(numbers)
    # As in VMD: a selection is a command, and takes a value for each of its atoms.
    tcl.eval("set beta {}; proc atomselect args { return atoms }")
    tcl.eval("proc atoms {what args} { if {$what eq {set}} { set ::beta [lindex $args 1] } }")
    tcl.eval("set calls {}; colour_by closeness")
    beta = [float(value) for value in tcl.splitlist(tcl.eval("set beta"))]
    assert beta == [0.5] * 3 + [0.0] * 3 + [0.25] * 3 + [0.0]  # the atoms of four residues
    coloured = [tcl.splitlist(call)[1:] for call in tcl.splitlist(tcl.eval("set calls"))]
    assert ("modcolor", "2", "3", "Beta") in coloured
    assert ("scaleminmax", "3", "2", "0", "0.5") in coloured


NUMBER, COLOUR = r"-?\d+(\.\d+)?", "#[0-9a-f]{6}"
CHIMERAX = [
    r"#.*",
    r"open [\w.]+",
    r"(hide #1 atoms|cartoon #1|view #1)",
    rf"color (#1|community_\d+) {COLOUR}",
    r"name community_\d+ #1@@occupancy=\d+",
    r"rename #\d+ \w+",
    rf"shape cylinder fromPoint ({NUMBER},){{2}}{NUMBER} toPoint ({NUMBER},){{2}}{NUMBER} "
    rf"radius {NUMBER} color {COLOUR} modelId #\d+\.\d+",
]
"""Commands of the script as ChimeraX's guide has them (rbvi.ucsf.edu/chimerax/docs/user)."""


def test_chimerax_script_draws_every_link_and_path_as_a_model_of_its_own(tmp_path):
    path = tmp_path / "structure.cxc"
    given = structure(), {"closeness": np.zeros(4)}
    write_script(path, "structure.pdb", links(), 3, [links(), links()], *given)
    lines = path.read_text().splitlines()
    assert all(any(re.fullmatch(form, line) for form in CHIMERAX) for line in lines), lines
    rods = [line.split() for line in lines if line.startswith("shape")]
    # A second shape of one number would take the place of the first.
    assert [rod[-1] for rod in rods] == ["#2.1", "#2.2", "#3.1", "#3.2", "#4.1", "#4.2"]
    places = np.array([[rod[k].split(",") for k in (3, 5)] for rod in rods[:2]], dtype=float)
    np.testing.assert_allclose(places, np.stack([links().start, links().end], axis=1), atol=1e-3)
    assert lines.index("open structure.pdb") < lines.index("open structure.defattr")
    assert [line for line in lines if line.startswith("name")] == [
        f"name community_{k} #1@@occupancy={k}" for k in (1, 2, 3)
    ]


def test_pymol_itself_runs_the_script(tmp_path):
    pymol2 = pytest.importorskip("pymol2")
    atoms, n = structure(), 4
    write_structure_pdb(tmp_path / "structure.pdb", atoms, np.arange(n), [1, 2, 2, 0])
    closeness = {"closeness": np.array([0.5, 0.25, 1.0, 0.0])}
    script = tmp_path / "structure.pml"
    write_script(script, "structure.pdb", links(), 2, [links()], atoms, closeness)
    pymol2.SingletonPyMOL().start()
    cmd = importlib.import_module("pymol").cmd  # the one that the script imports
    cmd.cd(str(tmp_path))
    cmd.load(str(script))
    assert set(cmd.get_names("objects")) == {"motion", "strongest_correlations", "path_1"}
    assert [cmd.count_atoms(f"community_{k}") for k in (1, 2)] == [3, 6]
    cmd.do("colour_by closeness")
    assert {atom.b for atom in cmd.get_model("motion").atom} == {0.5, 0.25, 1.0, 0.0}


HOSTILE = (
    "'];raise SystemExit('ran')#",
    '"; error ran; "',
    "[error ran]",
    "$env(HOME)",
    "}\nerror ran\n{",
    "\npython end\nquit\n",
    "\nopen http://x\n",
    ";quit",
    "a\x1b]0;ran\x07",
    "\N{GREEK SMALL LETTER ALPHA}" * 4,
)
"""Names that PyMOL (Python), VMD (Tcl), ChimeraX or a terminal could take for commands."""


def hostile_structure() -> np.ndarray:
    made = structure(HOSTILE)
    made["icode"][:-1] = [name[0] for name in HOSTILE for _ in range(3)]
    for key in ("name", "resname", "element"):
        made[key][:-1] = [name for name in HOSTILE for _ in range(3)]
    return made


def test_scripts_and_files_hold_hostile_names_as_nothing_but_names(tmp_path):
    tkinter = pytest.importorskip("tkinter")
    molecule = hostile_structure()
    n = len(HOSTILE) + 1
    values = {"closeness": np.arange(n) / 8}
    given = ("structure.pdb", links(), 2, (), molecule, values)
    write_script(tmp_path / "s.pml", *given)
    write_script(tmp_path / "s.vmd", *given)
    write_chimerax_attributes(tmp_path / "s.defattr", molecule, values)
    write_structure_pdb(tmp_path / "s.pdb", molecule, np.zeros(n), np.zeros(n), HOSTILE[5])

    # The same commands as for a molecule of plain names, and labels of letters and digits.
    plain = structure(tuple("ABCDEFGHIJ"))
    write_script(tmp_path / "plain.pml", *given[:4], plain, values)
    text, expected = ((tmp_path / name).read_text() for name in ("s.pml", "plain.pml"))
    assert len(text.splitlines()) == len(expected.splitlines())
    python = text.split("\npython\n")[1].split("\npython end")[0]
    loaded: dict = {"cmd": SimpleNamespace(load_cgo=lambda *_: 0, extend=lambda *_: 0)}
    exec(
        re.sub("^from pymol.*$", "", python, flags=re.MULTILINE), loaded | {"CYLINDER": 9.0}, loaded
    )
    labels = loaded["values_of_residues"]["closeness"]
    assert len(labels) == n
    assert all(re.fullmatch(r"[A-Za-z0-9]:[0-9]+[A-Za-z0-9]?", label) for label in labels)

    tcl = tkinter.Tcl()
    tcl.eval("proc molinfo args { return 3 }")
    for command in ("mol", "graphics", "color"):
        tcl.eval(f"proc {command} args {{}}")
    before = tcl.eval("info commands")
    tcl.eval(f"source {{{tmp_path}/s.vmd}}")  # an error, or a new command, would be a name's
    assert set(tcl.eval("info commands").split()) - set(before.split()) == {"colour_by"}

    attributes = (tmp_path / "s.defattr").read_text().splitlines()[3:]
    assert len(attributes) == n
    assert all(re.fullmatch(r"\t/[A-Za-z0-9]:[0-9]+[A-Za-z0-9]?\t[0-9.]+", a) for a in attributes)

    records = (tmp_path / "s.pdb").read_bytes().decode("ascii").splitlines()
    assert {line[:6].strip() for line in records} == {"REMARK", "ATOM", "END"}
    assert all(line.isprintable() for line in records)
    atoms = [line for line in records if line.startswith("ATOM")]
    assert {len(line) for line in atoms} == {78}
    assert [float(line[30:38]) for line in atoms] == molecule["position"][:, 0].tolist()


def test_scripts_without_links_or_communities_draw_the_structure(tmp_path):
    none = strongest_links(items(), state(), [], [], [], 5)
    write_script(tmp_path / "s.pml", "s.pdb", none, 0)
    write_script(tmp_path / "s.vmd", "s.pdb", none, 0)
    write_script(tmp_path / "s.cxc", "s.pdb", none, 0)
    assert "shape" not in (tmp_path / "s.cxc").read_text()
    assert "links = [\n]" in (tmp_path / "s.pml").read_text()
    assert "cylinder" not in (tmp_path / "s.vmd").read_text()


def network() -> ResidueNetwork:
    return ResidueNetwork.of_edges(5, [0, 1, 0, 3], [1, 2, 2, 4], [0.9, -0.8, 0.5, 0.7])


def table_of_residues(table, joined, found):
    means = np.zeros(joined.n_nodes)
    return residue_table(table, joined, found, joined.centralities(), means)


def test_tables_tell_residues_communities_and_paths(tmp_path):
    table = items(n=6)
    table.loc[5, "kept"] = False
    found = {"leiden": network().communities("leiden", seed=1)}
    residues = table_of_residues(table, network(), found)
    assert residues["name"].tolist() == [f"A:LYS{k}" for k in range(10, 15)]
    assert residues["community_leiden"].tolist() == [1, 1, 1, 2, 2]
    assert residues["degree"].tolist() == [2, 2, 2, 1, 1]
    assert residues["betweenness"].tolist() == [0, 1 / 6, 0, 0, 0]
    np.testing.assert_allclose(residues["strength"], [1.4, 1.7, 1.3, 0.7, 0.7])
    communities = community_table(table, network(), found, {"leiden": 0.5})
    assert communities["members"].tolist() == ["A:LYS10 A:LYS11 A:LYS12", "A:LYS13 A:LYS14"]
    assert communities["edges_within"].tolist() == [3, 1]
    assert communities["edges_out"].tolist() == [0, 0]
    assert communities["mean_correlation"].tolist() == pytest.approx([2.2 / 3, 0.7])
    ends = path_ends(table, [["A:LYS10", "A:LYS12"], ["A:LYS10", "A:LYS14"]])
    paths = path_table(
        table, network(), ends, [shortest_paths(network(), a, b, 9) for a, b in ends]
    )
    assert paths["path"].tolist() == ["A:LYS10 A:LYS11 A:LYS12", "A:LYS10 A:LYS12", ""]
    np.testing.assert_allclose(paths["length"], [-np.log(0.72), -np.log(0.5), np.nan])
    np.testing.assert_allclose(paths["weakest_correlation"], [0.8, 0.5, np.nan])
    write_tsv(tmp_path / "paths.tsv", paths)
    lines = (tmp_path / "paths.tsv").read_text().splitlines()
    assert lines[0].split("\t")[:4] == ["source", "target", "rank", "length"]
    assert lines[3] == "A:LYS10\tA:LYS14" + 6 * "\t"


def test_tables_of_an_empty_network_have_their_columns(tmp_path):
    empty = ResidueNetwork.of_edges(3, [], [], [])
    found = {"leiden": empty.communities("leiden", seed=1)}
    assert table_of_residues(items(), empty, found)["degree"].tolist() == [0, 0, 0]
    communities = community_table(items(), empty, found, {"leiden": 0.5})
    assert len(communities) == 0
    write_tsv(tmp_path / "communities.tsv", communities)
    assert (tmp_path / "communities.tsv").read_text().split("\t")[0] == "method"
    assert path_table(items(), empty, [], []).columns[0] == "source"


def test_a_network_of_another_analysis_is_refused():
    with pytest.raises(ValueError, match="5"):
        table_of_residues(items(n=4), network(), {})


def test_adenylate_kinase_is_drawn_with_its_chain(tmp_path):
    pytest.importorskip("MDAnalysisTests")
    mda = pytest.importorskip("MDAnalysis")
    from small_trajectories import adenylate_kinase_files, prepare

    prepared = prepare(**adenylate_kinase_files(), frames={"stop": 12})
    atoms, table = prepared.state["structure"], prepared.items
    places = item_places(table, prepared.state)
    # The first frame is the reference: atoms lie near their mean positions.
    assert np.linalg.norm(places - prepared.state["mean_positions"], axis=1).max() < 3
    n = int(atoms["residue"].max()) + 1
    write_structure_pdb(tmp_path / "s.pdb", atoms, np.arange(n), np.ones(n, int))
    read = mda.Universe(str(tmp_path / "s.pdb"))
    assert len(read.residues) == 214
    assert read.select_atoms("name CA").tempfactors.tolist() == list(range(214))
