"""What a method brings to the report: its text, and what the page shows of it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pairtile.report.method_text import MethodText

if TYPE_CHECKING:
    from pairtile.report.results import Results
    from pairtile.report.sections.page_section import CaptionedFigure, PageSection


class FigureWithText(NamedTuple):
    """A figure, its title, its caption, and the text for those who cannot see it."""

    figure: Figure
    title: str
    caption: str
    alternative: str


class Grouping(NamedTuple):
    """Groups of the network's nodes, for the drawing.

    ``of_node`` int64 (nodes,): the number of a node's group, from 1, or 0. ``word``, ``words``:
    what a group is called. ``how``: how groups were found, where the drawing has to say it.
    """

    of_node: NDArray[np.int64]
    word: str
    words: str
    how: str


FigureMaker = Callable[["Results"], FigureWithText | None]
"""Makes a figure of the results; None where they do not allow it."""

SectionMaker = Callable[["Results", "list[CaptionedFigure]"], "PageSection | None"]
"""Makes a section of the page; None where there is nothing to show."""


@dataclass(frozen=True)
class MethodReport:
    """What the report says and shows of one method.

    Parameters
    ----------
    text
        Names and sentences.
    figures
        Name of the file -> maker, in the order of the page. None: the common ones
        (``pairtile.report.make_figures.COMMON_FIGURES``).
    sections
        Sections of the method's own; they follow the figures.
    grouping
        The groups of nodes that the analysis itself has found, from the results and the names of
        the nodes; None where it found none: then the page finds communities by Leiden.
    """

    text: MethodText
    figures: Mapping[str, FigureMaker] | None = None
    sections: tuple[SectionMaker, ...] = field(default=())
    grouping: Callable[[Results, pd.Index[Any]], Grouping | None] = lambda results, names: None
