"""Results drawn on the structure: a PDB file with values, and scripts for PyMOL, VMD and ChimeraX.

The PDB file is written here: MDAnalysis' own writer adds a header, a title and a box, and the bytes
of the file would change.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.runtime.files import write_text

COLOURS = (
    *((31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189)),
    *((140, 86, 75), (227, 119, 194), (188, 189, 34), (23, 190, 207), (255, 215, 0)),
    *((0, 0, 117), (170, 255, 195), (128, 0, 0), (230, 190, 255), (0, 128, 128)),
    *((255, 216, 177), (128, 128, 0), (240, 50, 230), (70, 153, 144), (105, 55, 0)),
)
"""Of communities 1 to 20, red, green, blue, 0 to 255; then they come again."""

_NEITHER, _WITH, _AGAINST = (190, 190, 190), (214, 39, 40), (31, 80, 200)
HEX_COLOURS = tuple(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in COLOURS)
HEX_NEITHER = "#bebebe"
"""The same for pages and figures; and of what is in no community."""

_NOT_IN_PDB, _NO_ICODE = re.compile("[^ -~]"), re.compile("[^0-9A-Za-z]")
_CHAINS = string.ascii_uppercase + string.ascii_lowercase + string.digits
_MAX_DISTANCE = 999.0  # Angstrom
_THIN, _THICK = 0.08, 0.5  # Angstrom


@dataclass(frozen=True)
class Links:
    """Edges to draw: positions (edges, 3) of both ends in Angstrom, and correlations (edges,)."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    correlation: NDArray[np.float64]

    def radii(self) -> NDArray[np.float64]:
        """Thickness by the size of the correlation, in Angstrom."""
        size = np.abs(self.correlation)
        ends = [size.min(initial=np.inf), size.max(initial=0.0)]
        return np.interp(size, ends, [_THIN, _THICK])

    def colours(self) -> list[tuple[int, int, int]]:
        """Red for motion together, blue for motion against each other."""
        return [_WITH if value > 0 else _AGAINST for value in self.correlation.tolist()]


def strongest_links(
    items: pd.DataFrame,
    state: MotionArrays,
    i: ArrayLike,
    j: ArrayLike,
    correlation: ArrayLike,
    number: int,
) -> Links:
    """The ``number`` edges of the greatest correlation by size, of those that can be drawn.

    ``i``, ``j``: items. Edges between two variables at one place are left out (angles of one
    residue), and those of variables without a place.
    """
    places = item_places(items, state)
    value = np.asarray(correlation, dtype=np.float64)
    start, end = places[np.asarray(i, np.int64)], places[np.asarray(j, np.int64)]
    drawable = np.isfinite(value) & (np.linalg.norm(start - end, axis=1) > 1e-3)  # not NaN
    order = np.argsort(-np.abs(value), kind="stable")
    best = order[drawable[order]][:number]
    return Links(start[best], end[best], value[best])


def path_links(items: pd.DataFrame, state: MotionArrays, nodes: Sequence[int]) -> Links:
    """The steps of a path between kept items; those without a place are left out."""
    places = item_places(items, state)[np.asarray(nodes, dtype=np.int64)]
    start, end = places[:-1], places[1:]
    known = np.isfinite(start).all(axis=1) & np.isfinite(end).all(axis=1)
    return Links(start[known], end[known], np.ones(int(known.sum())))


def residue_values(
    structure: NDArray[np.void], values: Mapping[str, NDArray[np.number]]
) -> dict[str, dict[str, float]]:
    """By name, values of residues as PyMOL and ChimeraX name them (``A:13``); NaN left out."""
    letters = chain_letters(structure)
    _, first = np.unique(structure["residue"], return_index=True)
    labels = {
        int(atom["residue"]): f"{letters[str(atom['chain'])]}:{_in_columns(atom['resid'])}"
        f"{_icode(atom)}"
        for atom in structure[first]
    }
    return {
        name: {label: float(own[k]) for k, label in labels.items() if np.isfinite(own[k])}
        for name, own in values.items()
    }


def write_chimerax_attributes(
    path: Path, structure: NDArray[np.void], values: Mapping[str, NDArray[np.number]]
) -> None:
    """Write residue attributes for ChimeraX (``.defattr``), whole or not at all."""
    lines = ["# Open structure.pdb first, then this file; color byattribute r:betweenness"]
    for name, own in residue_values(structure, values).items():
        lines += [
            f"attribute: {name}",
            "recipient: residues",
            *(f"\t/{label}\t{value:.6g}" for label, value in own.items()),
        ]
    write_text(path, "\n".join(lines) + "\n")


def item_places(items: pd.DataFrame, state: MotionArrays) -> NDArray[np.float64]:
    """Where to draw each item, (items, 3) in Angstrom: in ``structure`` its own atom, else the
    C-alpha, else the middle of its residue; without a residue its mean position; or NaN."""
    structure = state["structure"]
    result = np.full((len(items), 3), np.nan)
    means = np.asarray(state["mean_positions"])
    result[: len(means)] = means
    owners = structure["residue"]
    # From the last on, so that of atoms of one name the first stays.
    atoms_of = list(zip(owners.tolist(), structure["name"].tolist(), strict=True))
    names = {atoms_of[k]: k for k in reversed(range(len(atoms_of)))}
    for row, (residue, atom) in enumerate(zip(items["residue"], items["atom"], strict=True)):
        if residue < 0:
            continue
        own = names.get((residue, str(atom).split(":")[0]))
        if own is None and atom != "center_of_mass":
            own = names.get((residue, "CA"))
        atoms = np.flatnonzero(owners == residue) if own is None else [own]
        if len(atoms):
            result[row] = structure["position"][atoms].mean(axis=0)
    return result


def centred_structure(state: MotionArrays) -> MotionArrays:
    """``state`` as it is, or with ``structure`` and ``mean_positions`` moved to the origin where an
    atom lies too far off for the columns of a PDB file."""
    places = np.asarray(state["structure"]["position"])
    if np.abs(places).max(initial=0.0) < _MAX_DISTANCE:
        return state
    centre = (places.min(axis=0) + places.max(axis=0)) / 2.0
    structure = np.array(state["structure"])
    structure["position"] -= centre
    means = np.asarray(state["mean_positions"]) - centre
    return {**state, "structure": structure, "mean_positions": means}


def residue_means(items: pd.DataFrame, values: ArrayLike, n_residues: int) -> NDArray[np.float64]:
    """Mean over the items of each residue, NaN left out; NaN for residues without a value."""
    means = pd.Series(np.asarray(values)).groupby(items["residue"].to_numpy()).mean()
    return means.reindex(range(n_residues)).to_numpy(dtype=np.float64)


def residue_communities(
    items: pd.DataFrame, communities: ArrayLike, n_residues: int
) -> NDArray[np.int32]:
    """Community of each residue: of its first item that has one; 0 for none."""
    found = pd.DataFrame({"residue": items["residue"].to_numpy(), "community": communities})
    first = found[(found >= [0, 1]).all(axis=1)].groupby("residue")["community"].first()
    return first.reindex(range(n_residues), fill_value=0).to_numpy(dtype=np.int32)


def write_structure_pdb(
    path: Path,
    structure: NDArray[np.void],
    values: ArrayLike,
    communities: ArrayLike,
    meaning: str = "value of the residue",
) -> None:
    """Write a PDB file that carries results, whole or not at all.

    Parameters
    ----------
    structure : array of ``residues.STRUCTURE``
    values : array-like, shape (residues,)
        Become the B-factors (two decimals); NaN becomes 0.
    communities : array-like, shape (residues,)
        Become the occupancies; 0 for none, and for those beyond 999.
    meaning : str
        What the values are, for a remark.

    Chains of names longer than a letter, or of none, get a free letter, which a remark names.
    Numbers of atoms and residues that are too large for their columns begin again at 0.

    Raises
    ------
    InputError
        If an atom lies so far off that the columns of positions cannot hold it.
    """
    far = np.abs(structure["position"]).max(initial=0.0)
    if not far < _MAX_DISTANCE:
        raise InputError.at(
            path,
            "",
            f"an atom at {far:.1f} Angstrom",
            f"positions below {_MAX_DISTANCE:.0f} Angstrom, as a PDB file holds them",
        )
    letters = chain_letters(structure)
    value = np.nan_to_num(np.asarray(values, dtype=np.float64))
    community = np.asarray(communities, dtype=np.int64)
    community = np.where(community > 999, 0, community)  # what the column of occupancies holds
    remarks = [
        f"B-FACTOR: {meaning}",
        "OCCUPANCY: COMMUNITY, 0 FOR NONE",
        *(f"CHAIN {new}: {old or 'NO NAME'}" for old, new in letters.items() if new != old),
    ]
    lines = [f"REMARK   6 {_field(' '.join(text.split()), 68)}" for text in remarks]
    lines += [*atom_lines(structure, value, community), "END\n"]
    write_text(path, "\n".join(lines))


def atom_lines(
    structure: NDArray[np.void], values: NDArray[np.float64], communities: NDArray[np.int64]
) -> list[str]:
    """The lines of a PDB file's atoms; ``values`` and ``communities`` of residues, as
    ``write_structure_pdb`` has them."""
    letters = chain_letters(structure)
    lines = []
    for number, atom in enumerate(structure, start=1):
        element, name = _field(atom["element"], 2).upper(), _field(atom["name"], 4)
        # Names of elements of one letter begin in the second column.
        name = f" {name:<3}" if len(element) < 2 and len(name) < 4 else f"{name:<4}"
        x, y, z = atom["position"]
        place = f"{letters[str(atom['chain'])]}{_in_columns(atom['resid']):>4}{_icode(atom):1}"
        value = min(max(values[atom["residue"]], -99.99), 999.99)
        lines.append(
            f"ATOM  {number % 100_000:>5} {name} {_field(atom['resname'], 4):<4}{place}   "
            f"{x:8.3f}{y:8.3f}{z:8.3f}{int(communities[atom['residue']]):6.2f}{value:6.2f}"
            f"          {element:>2}"
        )
    return lines


def chain_letters(structure: NDArray[np.void]) -> dict[str, str]:
    """One letter for each chain: its own where it has one, else the first that is free."""
    chains = list(dict.fromkeys(structure["chain"].tolist()))
    taken = {chain for chain in chains if len(chain) == 1 and chain in _CHAINS}
    free = (letter for letter in _CHAINS if letter not in taken)
    return {chain: chain if chain in taken else next(free, " ") for chain in chains}


def write_script(
    path: Path,
    pdb: str,
    links: Links,
    n_communities: int,
    paths: Sequence[Links] = (),
    structure: NDArray[np.void] | None = None,
    values: Mapping[str, NDArray[np.float64]] | None = None,
) -> None:
    """Write a script for PyMOL (``.pml``), VMD (``.vmd``, Tcl) or ChimeraX (``.cxc``), by the
    suffix of ``path``; whole or not at all.

    It draws the structure, communities in colours (in PyMOL and ChimeraX ``community_1``, ...;
    beyond 40 they stay grey), links as rods and ``paths`` as thick ones (``path_1``, ...). ``pdb``:
    name of the file of ``write_structure_pdb``, in the folder of the script. ``values``: by name
    those of all residues of ``structure``; in PyMOL and VMD they become the command ``colour_by
    NAME``, and ChimeraX opens those of ``write_chimerax_attributes``, which have the name of the
    script. In VMD NaN becomes 0, and colours 6 to 32 are defined anew.
    """
    import jinja2  # not needed by jobs that score

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=False,  # no HTML
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "rgb": lambda colour: ", ".join(f"{part / 255:.3f}" for part in colour),
        "repr": repr,
        "numbers": lambda values: " ".join(f"{value:.5g}" for value in values.tolist()),
    }
    text = environment.get_template(f"structure{path.suffix}.j2").render(
        **{"colours": COLOURS, "neither": _NEITHER, "with": _WITH, "against": _AGAINST},
        path_colours=((255, 140, 0), (0, 160, 90), (150, 60, 200), (120, 120, 40)),
        path_radius=0.6,  # Angstrom
        first_colour=6,  # of VMD's 33: communities, none, with, against and paths take the others
        shown=min(n_communities, 40),  # communities in colours of their own
        rods=_rods(links),
        paths=[_rods(own) for own in paths],
        pdb=pdb,
        values=residue_values(structure, values or {}) if structure is not None else {},
        arrays={k: np.nan_to_num(v) for k, v in (values or {}).items()},
        atoms=np.bincount(structure["residue"]) if structure is not None else (),
        attributes=f"{path.stem}.defattr" if values else "",
    )
    write_text(path, text)


def _rods(links: Links) -> list[tuple[list[str], list[str], str, tuple[int, int, int]]]:
    texts = [[f"{x:.3f}" for x in place] for place in (*links.start, *links.end)]
    radii = [f"{radius:.3f}" for radius in links.radii()]
    half = len(radii)
    return list(zip(texts[:half], texts[half:], radii, links.colours(), strict=True))


def _field(text: object, width: int) -> str:
    """Text as a PDB file holds it, a byte a column: "?" for what is no printable ASCII. A line
    break in a name would begin another record."""
    return _NOT_IN_PDB.sub("?", str(text))[:width]


def _icode(atom: np.void) -> str:
    """The insertion code, a letter or digit, or none: in scripts, others would mean something."""
    return _NO_ICODE.sub("", str(atom["icode"]))[:1]


def _in_columns(resid: int) -> int:
    """The number of a residue in the four columns of a PDB file, from 0 again after 9999."""
    return int(resid) if -1000 < resid < 10_000 else int(resid) % 10_000
