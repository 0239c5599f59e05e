"""What a method gives to the report: names and sentences, figures, and sections of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pairtile.declare.messages import messages_of
from pairtile.report.formats import spaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from pairtile.io.networks.drawing import Grouping
    from pairtile.report.results import Results


message = messages_of(__package__)


COUNTS = {
    "genes_dropped_too_few_samples": "genes left out: too few observed samples",
    "genes_dropped_constant": "genes left out: constant",
    "genes_constant": "constant genes kept",
    "regulators_used": "regulators",
    "values_missing_in_input": "missing values in the input",
    "zeros_to_missing": "zeros read as missing",
    "values_missing": "missing values after cleaning",
    "chunks": "chunks of tiles",
    "edges": "edges in the network",
}
"""Keys of the summary's counts that several methods have, in words."""


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as the page shows it: file name without suffix, caption, and the SVG itself."""

    name: str
    title: str
    caption: str
    alternative: str
    svg: bytes


@dataclass(frozen=True)
class PageSection:
    """One part of the page.

    ``template`` is a file in templates/ that is given ``values``; ``scripts`` are files in
    vendor/ or templates/ which it needs, in order, each taken into the page once.
    """

    id: str
    title: str
    template: str
    values: dict[str, Any] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A paper: how the text cites it, the full citation, the DOI (or, without one, a ``page``)."""

    cited: str
    citation: str
    doi: str = ""
    page: str = ""


@dataclass(frozen=True)
class MethodText:
    """Names and sentences of one method.

    ``strength`` lists the columns that edges can be ranked by, the first present one is used, by
    its size alone if it is ``signed``;
    ``ties`` those that decide between equally strong ones, smallest first; ``directed_columns``
    those whose presence makes the network directed. ``target`` names an item that is no regulator
    where ``item`` will not do. ``edge_table`` gives the table of edges further columns.

    Sentences are in ``text.md.j2`` in the method's folder (``pairtile.report.text``); ``numbers``
    gives what they show beside counts and parameters. ``warnings`` gives those beyond the summary's
    own, ``empty`` that of a network without edges.

    ``files`` names result files of the method's own and says what they hold; ``file_columns``
    explains columns of some of them. ``adapted`` gives the text for one analysis, where they
    depend on what is paired in it.
    """

    title: str
    item: str = "gene"
    items: str = "genes"
    regulator: str = "regulator"
    regulators: str = "regulators"
    target: str = ""
    edge: str = "edge"
    edges: str = "edges"
    score: str = "score"
    score_axis: str = "score"
    score_unit: str = ""
    ranking: str = "all scored pairs"
    strength: tuple[str, ...] = ()
    signed: bool = False
    ties: tuple[str, ...] = ()
    directed_columns: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    warnings: Callable[[Results], list[str]] = lambda results: []
    empty: str = message("empty_network")
    numbers: Callable[[Results], Mapping[str, Any]] = lambda results: {}
    edge_table: Callable[[Results, pd.DataFrame], pd.DataFrame] = lambda results, table: table
    files: Mapping[str, str] = field(default_factory=dict)
    file_columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    adapted: Callable[[Results], MethodText] | None = None

    def column(self, name: str) -> str:
        """Heading of a column of the network table."""
        return self.columns.get(name) or spaced(name)

    def count(self, key: str) -> str:
        """A key of the summary's counts in words."""
        return self.counts.get(key) or COUNTS.get(key) or spaced(key)


class FigureWithText(NamedTuple):
    """A figure, its title, its caption, and the text for those who cannot see it."""

    figure: Figure
    title: str
    caption: str
    alternative: str


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
    module_columns
        Columns that the table of these groups has beside the common ones: heading -> number of a
        group -> text.
    """

    text: MethodText
    figures: Mapping[str, FigureMaker] | None = None
    sections: tuple[SectionMaker, ...] = field(default=())
    grouping: Callable[[Results, pd.Index[Any]], Grouping | None] = lambda results, names: None
    module_columns: Callable[[Results], Mapping[str, Mapping[int, str]]] = lambda results: {}
