"""What a method gives to the report: names and sentences, figures, and sections of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pairtile.declare.columns import explained
from pairtile.report.formats import spaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from pairtile.io.networks.drawing import Grouping
    from pairtile.report.results import Results


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

    ``findings`` gives sentences for the top of the page, ``warnings`` those beyond the summary's
    own, ``empty`` advice for a network without edges, ``rules`` sentences that say
    by what rules results are found, and ``methods`` the paragraph for a paper with the references
    that it cites. ``headline``, ``key_numbers`` (value, what it is, what it is
    set against) and ``remarks`` (sentences on hubs and on what was left out) stand in for those
    that are made from items and edges.

    ``package`` declares result files and their columns (``pairtile.declare.columns``): what files
    hold, headings and hints. ``adapted`` gives the text for one analysis, where they depend on what
    is paired in it.
    """

    title: str
    package: str = "pairtile.preprocess"
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
    counts: Mapping[str, str] = field(default_factory=dict)
    headline: Callable[[Results], str] | None = None
    key_numbers: Callable[[Results], list[tuple[str, str, str]]] | None = None
    remarks: Callable[[Results], list[str]] | None = None
    findings: Callable[[Results], list[str]] = lambda results: []
    warnings: Callable[[Results], list[str]] = lambda results: []
    empty: str = (
        "The network is empty. A laxer keep rule (a larger p_value or fdr, or top_edges) or "
        "more samples may help; the score distribution below shows how far pairs fell short."
    )
    edge_table: Callable[[Results, pd.DataFrame], pd.DataFrame] = lambda results, table: table
    rules: Callable[[Results], list[str]] = lambda results: []
    methods: Callable[[Results], tuple[str, list[Reference]]] | None = None
    adapted: Callable[[Results], MethodText] | None = None

    def column(self, name: str, file: str = "network.parquet") -> str:
        """Heading of a column of a result file."""
        known = explained(self.package, file, name)
        return (known and known.heading_of(name)) or spaced(name)

    def headings(self, names: Iterable[str], file: str) -> list[tuple[str, str]]:
        """Headings of columns of a result file, each with its hint (empty: none)."""
        known = {name: explained(self.package, file, name) for name in names}
        return [(self.column(name, file), c.hint if c else "") for name, c in known.items()]

    def count(self, key: str) -> str:
        """A key of the summary's counts in words."""
        return self.counts.get(key) or spaced(key)


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
