"""The structure in the page, to turn and to colour by values of its residues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex

from pairtile.methods.trajectory_correlation.figures import SEQUENTIAL
from pairtile.methods.trajectory_correlation.report_text import (
    METHOD_NAMES,
    MotionResults,
    claimed_communities,
    motion_results,
)
from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS, HEX_NEITHER
from pairtile.report.formats import number
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results

MAX_ATOMS = 50_000
"""Of a larger structure the page has no view: 4 MB, and slow to turn."""

VALUES = {
    "sd": "fluctuation",
    "mean_correlation": "mean correlation",
    "betweenness": "betweenness",
    "closeness": "closeness",
    "eigenvector": "eigenvector centrality",
    "degree": "edges",
    "correlation_time": "correlation time (frames)",
}
"""Columns of residues.tsv to colour by, and what the list calls them."""

TAILS = (2.0, 98.0)
"""Percentiles that get the first and the last colour: one loose end would take the scale."""

_BACKBONE = frozenset({"N", "CA", "C", "O"})


def structure_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """The view; None without a structure or values of residues, and where it is too large."""
    found, path = results.cached(motion_results), results.folder / "structure.pdb"
    if found is None or not path.is_file():
        return None
    lines, keys, ribbons = drawn_atoms(path)
    if not 0 < len(lines) <= MAX_ATOMS:
        return None
    choices = colourings(results, found, keys, chain_letters_of(path))
    if not choices:
        return None
    return PageSection(
        id="structure",
        title="On the structure",
        template="section_structure.html.j2",
        values={
            "words": results.text,
            "data": {
                "pdb": "\n".join(lines),
                "residues": keys,
                "ribbons": ribbons,
                "scale": [to_hex(c) for c in colormaps[SEQUENTIAL](np.linspace(0, 1, 9))],
                "none": HEX_NEITHER,
                "colourings": choices,
            },
        },
        scripts=("3dmol.min.js", "save_file.js", "structure_view.js"),
    )


def drawn_atoms(path: Path) -> tuple[list[str], list[str], list[bool]]:
    """What is drawn of a PDB file of ``write_structure_pdb``.

    Returns
    -------
    tuple
        Lines of atoms: of a protein its backbone, of other residues all but hydrogen. Residues in
        their order, as the script names them (``A:13``). Whether each is drawn as a ribbon.
    """
    residues: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("ATOM") and line[76:78].strip() != "H":
            residues.setdefault(_key(line[21], line[22:26], line[26]), []).append(line)
    lines, ribbons = [], []
    for own in residues.values():
        names = {line[12:16].strip() for line in own}
        protein = "CA" in names and (len(own) == 1 or names >= _BACKBONE - {"O"})
        lines += [line for line in own if not protein or line[12:16].strip() in _BACKBONE]
        ribbons.append(protein or "C3'" in names)
    return lines, list(residues), ribbons


def chain_letters_of(path: Path) -> dict[str, str]:
    """The letter of each chain that the remarks of such a file name."""
    letters = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("REMARK   6 CHAIN "):
            letter, chain = line.removeprefix("REMARK   6 CHAIN ").split(": ", 1)
            letters[chain] = letter
    return letters


def colourings(
    results: Results, found: MotionResults, keys: list[str], letters: dict[str, str]
) -> list[dict[str, Any]]:
    """What residues can be coloured by, values in the order of ``keys``: of several variables of
    one residue, the mean of a number and the first group."""
    table = found.residues
    if "resid" not in table:
        return []
    place = zip(table["chain"], table["resid"], table["icode"].fillna(""), strict=True)
    of_residue = pd.Series(
        [_key(letters.get(c, c), str(int(r) % 10_000), str(i)[:1]) for c, r, i in place],
        index=table.index,
    )
    made: list[dict[str, Any]] = []
    positions = results.parameters.get("variables") == "positions"
    for method in claimed_communities(results, found):
        first = table[f"community_{method}"].groupby(of_residue).first().reindex(keys, fill_value=0)
        numbers = [int(value) for value in first]
        names = {n: f"community {n}" for n in sorted(set(numbers) - {0})}
        colours = {n: HEX_COLOURS[(n - 1) % len(HEX_COLOURS)] for n in names}
        title = f"community ({METHOD_NAMES.get(method, method)})"
        made.append(_groups(title, numbers, names, colours))
    if found.marks.domains:
        first = table["domain"].groupby(of_residue).first().reindex(keys, fill_value="")
        domains = found.marks.domain_colours
        made.append(_groups("domain", list(first), {name: name for name in domains}, domains))
    for column, title in VALUES.items():
        if column not in table:
            continue
        values = table[column].groupby(of_residue).mean().reindex(keys)
        if values.notna().any():
            low, high = np.nanpercentile(values, TAILS)
            unit = " (Å)" if column == "sd" and positions else ""
            made.append(
                {
                    "title": title + unit,
                    "values": [None if np.isnan(v) else float(f"{v:.4g}") for v in values],
                    "low": float(low),
                    "high": float(high),
                    "ends": [number(float(low)), number(float(high))],
                }
            )
    return made


def _groups(
    title: str, groups: list[Any], names: dict[Any, str], colours: dict[Any, str]
) -> dict[str, Any]:
    rank = {group: k for k, group in enumerate(names)}
    return {
        "title": title,
        "groups": [rank.get(group, -1) for group in groups],
        "names": list(names.values()),
        "colours": [colours[group] for group in names],
    }


def _key(chain: str, resid: str, icode: str) -> str:
    return f"{chain.strip()}:{resid.strip()}{icode.strip()}"
