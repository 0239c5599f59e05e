"""How pairtile's figures look, and how they are written the same way each time."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import repeat
from pathlib import Path
from typing import Any

import matplotlib.style
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pairtile.runtime.files import atomic_path
from pairtile.runtime.record import Progress
from pairtile.runtime.threads import in_forks

GROUP_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#56B4E9", "#E69F00", "#CC79A7")
"""Colours of groups of samples, such as batches: Okabe and Ito's palette, distinct for colour-blind
readers and in grey print."""

BLUE, ORANGE, GREEN, SKY, YELLOW, PINK = GROUP_COLOURS
INK, GREY, PALE = "#1f2933", "#6b7785", "#dde3ea"

ONE_COLUMN, TWO_COLUMNS = 89 / 25.4, 183 / 25.4
"""Widths of figures in journals, inches."""

MAX_VECTOR_POINTS = 1000
"""More are drawn as an image: a page of vectors would be slow."""

STYLE: dict[str, object] = {
    # Points as printed: journals ask for text of 5 to 7.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.linewidth": 0.6,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    # The same input gives the same bytes: fixed ids, text kept as text.
    "svg.hashsalt": "pairtile",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


class ShownFigure(Figure):
    """A figure that a notebook shows by itself, without pyplot. ``data``: what it shows as a table,
    where its marks alone do not say it."""

    data: pd.DataFrame | None = None

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        with styled():
            self.savefig(png, format="png", dpi=180)
        return png.getvalue()


def styled() -> AbstractContextManager[None]:
    """Draw and write in pairtile's style; matplotlib's own settings are as before afterwards."""
    # Annotated so for matplotlib's type of settings, which names every single key.
    settings: Any = STYLE
    return matplotlib.style.context(["default", settings])


def figure_of_panels(
    panels: int = 1, columns: int = 1, *, width: float = 3.4, height: float = 3.2
) -> tuple[ShownFigure, list[Axes]]:
    """An empty figure of panels in the shape ``width`` by ``height``, row by row, outside pyplot.

    One column of a journal wide (89 mm), or two (183 mm) where the widths add up to more than 7.
    Draw inside ``styled()``. Raises ValueError without a panel.
    """
    if panels < 1 or columns < 1:
        raise ValueError(f"found {panels} panels; expected one or more")
    rows, total = -(-panels // columns), width * columns
    scale = (ONE_COLUMN if total <= 7 else TWO_COLUMNS) / total
    with styled():
        figure = ShownFigure(figsize=(scale * total, scale * height * rows), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, [figure.add_subplot(rows, columns, k + 1) for k in range(panels)]


def save_figures(figures: Mapping[str, Figure], folder: Path, processes: int = 1) -> list[bytes]:
    """``save_figure`` of each, by name; their SVGs in this order.

    Writing a figure takes up to half a second of one core, so that forks of this process share the
    work where ``processes`` is more than one; figures are handed over by the fork itself.
    """
    progress, svgs = Progress(len(figures), "figures"), []
    _FIGURES.update(figures)
    try:
        for svg in in_forks(min(processes, len(figures)), _save_figure_of, repeat(folder), figures):
            svgs.append(svg)
            progress.advance(1)
    finally:
        _FIGURES.clear()
    return svgs


_FIGURES: dict[str, Figure] = {}
"""Those that are being written."""


def _save_figure_of(folder: Path, name: str) -> bytes:
    return save_figure(_FIGURES[name], folder, name)


def save_figure(figure: Figure, folder: Path, name: str) -> bytes:
    """Write ``folder/name.svg`` and ``folder/name.png`` (300 dpi), as printed; return the SVG.

    No date and no library version is written: equal figures are equal files.
    """
    svg, png = io.BytesIO(), io.BytesIO()
    with styled():
        layout = figure.get_layout_engine()
        if layout:
            layout.execute(figure)
        figure.set_layout_engine(None)  # else each file lays out and draws once more
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        quick = {"compress_level": 1}  # half the time for a quarter more bytes
        figure.savefig(png, format="png", dpi=300, metadata={"Software": None}, pil_kwargs=quick)
        figure.set_layout_engine(layout)
    # Neither the style of each mark nor indentation: pages carry these files whole.
    small = re.sub(rb"\n +<", b"\n<", _MARKS.sub(_with_one_style, svg.getvalue()))
    for suffix, content in ((".svg", small), (".png", png.getvalue())):
        with atomic_path(folder / f"{name}{suffix}") as temporary:
            temporary.write_bytes(content)
    return small


_MARKS = re.compile(rb'(?:<use [^>]* (style="[^"]*")/>\s*)(?:<use [^>]* \1/>\s*)+')


def _with_one_style(marks: re.Match[bytes]) -> bytes:
    """Half of the bytes of a scatter plot are the style of its marks, said of each."""
    plain = marks[0].replace(b" " + marks[1], b"")
    return b"<g %b>%b</g>\n" % (marks[1], re.sub(rb"(\.\d\d)\d+|\n +", rb"\1", plain))
