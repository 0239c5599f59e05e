"""``pairtile figure``: a figure of the page for a paper, and the numbers that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from pairtile.errors import InputError
from pairtile.report.results import read_results
from pairtile.report.style import ShownFigure, styled
from pairtile.runtime.files import atomic_path, write_tsv


def figure(
    folder: Path, name: str, out: Path, width: str | None = None, colour_by: str = "", of: str = ""
) -> Path:
    """Draw a figure of an analysis into ``out`` (.svg, .pdf, .png), and write what it shows into a
    table beside it, whose path is returned.

    width : in millimetres, such as ``85mm``; the height follows. colour_by, of : as in
    ``Results.figure``. Letters stay letters, of 7 points, in SVG and PDF.

    Raises
    ------
    InputError
        A figure, a column or a width that cannot be.
    StoreError
        For a folder without results.
    """
    if width and not re.fullmatch(r"\d+(\.\d+)?(mm)?", width):
        raise InputError(f"--width: found {width}; expected millimetres, such as 85mm")
    try:
        drawn = read_results(folder).figure(name, colour_by, of)
    except ValueError as error:
        raise InputError(str(error)) from error
    if width:
        wide, high = drawn.get_size_inches()
        size = float(width.removesuffix("mm")) / 25.4
        drawn.set_size_inches(size, high * size / wide)
    table = out.with_suffix(".tsv")
    with styled(), atomic_path(out) as temporary:
        drawn.savefig(temporary, dpi=300, format=out.suffix[1:])
    write_tsv(table, numbers_of(drawn))
    return table


def numbers_of(drawn: Figure) -> pd.DataFrame:
    """What the figure says itself that it shows; else every point, bar, curve and cell: its panel,
    series, place (``x``, ``y``, of the axes) and, of cells and bars, ``value``."""
    if isinstance(drawn, ShownFigure) and drawn.data is not None:
        return drawn.data
    rows: list[tuple[object, ...]] = []
    for panel, ax in enumerate(drawn.axes, 1):
        for mark in (*ax.lines, *ax.collections):
            if isinstance(mark, Line2D | PathCollection):
                places = mark.get_xydata() if isinstance(mark, Line2D) else mark.get_offsets()
                rows += [
                    (panel, mark.get_label(), x, y, None) for x, y in np.asarray(places).tolist()
                ]
        for patch in ax.patches:
            if isinstance(patch, StepPatch):
                values, edges, _ = patch.get_data()
                for x, value in zip(edges, values, strict=False):
                    rows.append((panel, patch.get_label(), x, None, value))
        for bars in ax.containers:
            for bar in bars:
                if isinstance(bar, Rectangle):
                    size = (bar.get_x(), bar.get_y(), max(bar.get_width(), bar.get_height()))
                    rows.append((panel, bars.get_label(), *size))
        for image in ax.images:
            for (y, x), value in np.ndenumerate(np.ma.array(image.get_array()).filled(np.nan)):
                rows.append((panel, "", x, y, value))
    return pd.DataFrame(rows, columns=["panel", "series", "x", "y", "value"])
