"""The structure in the page, to turn and to colour by values of its residues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation.report_results import (
    METHOD_NAMES,
    MotionResults,
    claimed_communities,
    motion_results,
)
from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS, HEX_NEITHER, atom_lines
from pairtile.report.charts import SEQUENTIAL
from pairtile.report.formats import number
from pairtile.report.method_report import CaptionedFigure, PageSection, Results, needed

Group = TypeVar("Group", int, str)

VALUES = (
    *("sd", "mean_correlation", "betweenness", "closeness", "eigenvector", "degree"),
    *("te_out", "te_in", "correlation_time"),
)
"""Columns of residues.tsv to colour by."""

_BACKBONE = frozenset({"N", "CA", "C", "O"})


def structure_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The view of a structure that is not too large, with values of its residues."""
    found = results.cached(motion_results)
    structure = needed(found.structure)
    drawn, styles = drawn_atoms(structure)
    # Of a larger structure the page has no view: 4 MB, and slow to turn.
    needed(0 < drawn.sum() <= 50_000)
    choices = needed([*colourings(results, found, len(styles))])
    _, first = np.unique(structure["residue"], return_index=True)
    none = np.zeros(len(styles), dtype=np.int64)
    return PageSection(
        id="structure",
        title="On the structure",
        template="section_structure.html.j2",
        values={
            "words": results.text,
            "data": {
                "pdb": "\n".join(atom_lines(structure[drawn], none.astype(np.float64), none)),
                "residue_of_atom": structure["residue"][drawn].tolist(),
                "residues": [
                    f"{atom['chain']}:" * bool(atom["chain"])
                    + f"{atom['resname']}{atom['resid']}{atom['icode']}"
                    for atom in structure[first]
                ],
                "styles": styles,
                "scale": [to_hex(c) for c in colormaps[SEQUENTIAL](np.linspace(0, 1, 9))],
                "none": HEX_NEITHER,
                "colourings": choices,
            },
        },
        scripts=("3dmol.min.js", "save_file.js", "structure_view.js"),
    )


def drawn_atoms(structure: NDArray[np.void]) -> tuple[NDArray[np.bool_], list[str]]:
    """Which atoms are drawn: of a protein its backbone, of other residues all but hydrogen; and how
    each residue is drawn: ``ribbon``, ``trace`` (a lone C-alpha has no plane), or ``atoms``."""
    names, heavy = structure["name"], structure["element"] != "H"
    drawn, styles = heavy.copy(), []
    starts = np.flatnonzero(np.diff(structure["residue"], prepend=-1))
    for own in np.split(np.arange(len(structure)), starts[1:]):
        there = set(names[own][heavy[own]].tolist())
        protein = there >= _BACKBONE - {"O"}
        if protein:
            drawn[own] &= np.isin(names[own], list(_BACKBONE))
        ribbon = protein or "C3'" in there
        styles.append("ribbon" if ribbon else "trace" if there == {"CA"} else "atoms")
    return drawn, styles


def colourings(
    results: Results, found: MotionResults, n_residues: int
) -> Iterator[dict[str, object]]:
    """What residues can be coloured by, values in their order: of several variables of one residue,
    the mean of a number and the first group."""
    table = found.residues
    of_residue = results.items["residue"].to_numpy()[table["item"]]
    keys = range(n_residues)
    positions = results.parameters.get("variables") == "positions"
    for method in claimed_communities(results, found):
        first = table[f"community_{method}"].groupby(of_residue).first().reindex(keys, fill_value=0)
        numbers = [int(value) for value in first]
        names = {n: f"community {n}" for n in sorted(set(numbers) - {0})}
        colours = {n: HEX_COLOURS[(n - 1) % len(HEX_COLOURS)] for n in names}
        yield _groups(f"community ({METHOD_NAMES.get(method, method)})", numbers, names, colours)
    if found.marks.domains:
        first = table["domain"].groupby(of_residue).first().reindex(keys, fill_value="")
        domains = found.marks.domain_colours
        yield _groups("domain", list(first), {name: name for name in domains}, domains)
    for column in VALUES:
        if column not in table:
            continue
        values = table[column].groupby(of_residue).mean().reindex(keys)
        if values.notna().any():
            # Values beyond get the first and the last colour: one loose end would take the scale.
            low, high = np.nanpercentile(values, (2.0, 98.0))
            unit = {"sd": " (Å)" * positions, "correlation_time": " (frames)"}.get(column, "")
            yield {
                "title": results.text.column(column, "residues.tsv") + unit,
                "values": [None if np.isnan(v) else float(f"{v:.4g}") for v in values],
                "low": float(low),
                "high": float(high),
                "ends": [number(float(low)), number(float(high))],
            }


def _groups(
    title: str, groups: list[Group], names: dict[Group, str], colours: dict[Group, str]
) -> dict[str, object]:
    rank = {group: k for k, group in enumerate(names)}
    return {
        "title": title,
        "groups": [rank.get(group, -1) for group in groups],
        "names": list(names.values()),
        "colours": [colours[group] for group in names],
    }
