"""What a method gives to the report: names and sentences, figures, and sections of its own; and the
results that it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.downstream import PACKAGE
from pairtile.declare.columns import explained
from pairtile.declare.messages import Message, messages_of
from pairtile.declare.tables import empty_table, read_result_table
from pairtile.engine.state import MANIFEST, open_state
from pairtile.method import methods, sign_column
from pairtile.report.formats import spaced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairtile.io.networks.drawing import Grouping

T = TypeVar("T")

message = messages_of(__package__)


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as the page shows it: file name without suffix, caption, SVG, Vega-Lite if any."""

    name: str
    title: str
    caption: str
    alternative: str
    svg: bytes
    chart: Mapping[str, object] | None = None


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

    ``regulator`` and ``edge`` get an "s" where there are several. ``target`` names an item that is
    no regulator where ``item`` will not do. ``strength`` lists the columns that edges can be ranked
    by: the first present one is used, by its size alone if it is declared as a ``sign``; the last
    has the unit of ``score``. ``ties`` lists those that decide between equally strong ones,
    smallest first. ``edge_table`` gives the table of edges further columns.

    Sentences are in ``text.md.j2`` in the method's folder (``pairtile.report.text``); ``numbers``
    gives what they show beside counts and parameters. ``warnings`` gives those beyond the summary's
    own, ``empty`` that of a network without edges.

    ``package`` declares result files, columns and counts (``pairtile.declare.columns``): what they
    hold, headings, units and hints. ``adapted`` gives the text for one analysis, where it depends
    on what is paired in it.
    """

    title: str
    package: str = "pairtile.preprocess"
    item: str = "gene"
    items: str = "genes"
    regulator: str = "regulator"
    target: str = ""
    edge: str = "edge"
    score: str = "score"
    strength: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    warnings: Callable[[Results], Iterable[Message]] = lambda results: ()
    empty: Message = field(default=message("empty_network"))
    numbers: Callable[[Results], Mapping[str, Any]] = lambda results: {}
    edge_table: Callable[[Results, pd.DataFrame], pd.DataFrame] = lambda results, table: table
    adapted: Callable[[Results], MethodText] | None = None

    def column(self, name: str, file: str = "network.parquet") -> str:
        """Heading of a column of a result file."""
        return self.headings([name], file)[0][0]

    def headings(self, names: Iterable[str], file: str) -> list[tuple[str, str]]:
        """Headings of columns of a result file, each with its hint (empty: none)."""
        return headings(self.package, names, file)


def headings(package: str, names: Iterable[str], file: str) -> list[tuple[str, str]]:
    """Headings of columns of a result file that a room declares, each with its hint."""
    known = {name: explained(package, file, name) for name in names}
    return [
        ((found and found.heading_of(name)) or spaced(name), found.hint if found else "")
        for name, found in known.items()
    ]


class NotShown(Exception):
    """The results lack what a figure or a section shows."""


def needed(value: T | None) -> T:
    """``value``, of which a figure or a section is made; or a condition that it has.

    Raises NotShown for None, False, zero, and what is empty.
    """
    given = np.size(value) if isinstance(value, np.ndarray | pd.DataFrame) else value
    if value is None or not given:
        raise NotShown
    return value


def made_of(results: Results, make: Callable[..., T], *given: object) -> T | None:
    """A figure or a section of the results; None where they lack what it shows."""
    try:
        return make(results, *given)
    except NotShown:
        return None


class Drawn(NamedTuple):
    """A figure, and the numbers that its caption shows: those that the macro of ``text.md.j2``
    takes, ``figure_NAME``, where NAME is ``caption`` or, without one, the name of the figure."""

    figure: Figure
    numbers: Mapping[str, object] = {}
    caption: str = ""


FigureMaker = Callable[["Results"], Drawn]
"""Draws a figure of the results. Raises NotShown (``needed``) where they do not allow it."""

SectionMaker = Callable[["Results", "list[CaptionedFigure]"], PageSection]
"""Makes a section of the page. Raises NotShown where there is nothing to show."""


@dataclass(frozen=True)
class Answer:
    """What the first screen shows: the first rows of the result, and one picture.

    rows : a table of at most ten rows, best first, with a p- or q-value where there is one, and the
    sentence above it. file : the result file whose columns it has; of an analysis without it,
    ``network.parquet``. pictures : names of figures, of
    which the first that could be made is shown; none: the drawing of the network.
    """

    rows: Callable[[Results], tuple[str, pd.DataFrame]]
    file: str = "network.parquet"
    pictures: tuple[str, ...] = ()


ANSWER_ROWS = 10


def best_edges(results: Results) -> tuple[str, pd.DataFrame]:
    """The strongest edges: their ends, what ranks them, the sign, and how sure they are."""
    edges = results.strongest(ANSWER_ROWS)
    sure = [name for name in ("q_value", "p_value", "support") if name in edges][:1]
    sign = sign_column(edges, results.method, text=True) or sign_column(edges, results.method)
    of_size = not str(results.strength).startswith(sign or "")  # else it says the sign itself
    columns = ["source", "target", results.strength, *[sign] * of_size, *sure]
    shown = edges[list(dict.fromkeys(name for name in columns if name in edges))]
    return f"The strongest {results.text.edge}s", shown


def stage_modules(results: Results, names: pd.Index[str]) -> Grouping | None:
    """The modules of the stage that finds them, where the analysis has asked for it."""
    from pairtile.io.networks.drawing import Grouping

    module = results.cached(module_of_gene)
    if module.empty:
        return None
    found = module.reindex(names, fill_value=0).to_numpy(dtype=np.int64)
    return Grouping(found, "module", "modules", "")


def module_of_gene(results: Results) -> pd.Series:
    """The number of each gene's module in ``modules.tsv`` of the stage, by what the page calls it;
    empty where it did not run."""
    if not (results.folder / "module_membership.tsv").is_file():
        return pd.Series(dtype=np.int64)
    table = results.labelled(results.table("modules.tsv", PACKAGE), ["gene"])
    return table.set_index("gene")["module"]


@dataclass(frozen=True)
class MethodReport:
    """What the report says and shows of one method.

    Parameters
    ----------
    text
        Names and sentences.
    figures
        Name -> the function that draws it, in the order of the page: what page, files and
        ``Results.figure`` show. Or where this mapping is, ``MODULE:NAME``: then Matplotlib is not
        loaded before a figure is drawn.
    sections
        Sections of the method's own; they follow the figures.
    grouping
        The groups of nodes that the analysis itself has found, from the results and the names of
        the nodes; None where it found none: then the page finds communities by Leiden. Without it:
        those of the stage ``modules``.
    answer
        What the first screen shows.
    """

    text: MethodText
    figures: Mapping[str, FigureMaker] | str = "pairtile.report.figures:COMMON_FIGURES"
    sections: tuple[SectionMaker, ...] = field(default=())
    grouping: Callable[[Results, pd.Index[str]], Grouping | None] = field(default=stage_modules)
    answer: Answer = field(default=Answer(best_edges))


# --- the results that it is given -----------------------------------------------------------------


@dataclass
class Results:
    """One analysis as the report sees it.

    ``evaluation`` and ``scores`` are None when their file is not there: the sections that need
    them are then left out of the page. ``labels``: what the page calls items, by their names, where
    the analysis has symbols; ``items`` and ``network`` have these in place of names already.
    """

    folder: Path
    items: pd.DataFrame
    network: pd.DataFrame
    summary: dict[str, Any]
    evaluation: dict[str, Any] | None = None
    scores: dict[str, np.ndarray] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    colour_by: str = ""
    drawn_item: str = ""
    read: dict[Callable[[Results], Any], Any] = field(default_factory=dict, repr=False)
    kept: object = field(default=None, repr=False)
    """What removes a temporary folder when it goes."""

    @property
    def name(self) -> str:
        """Name of the analysis."""
        return str(self.summary.get("analysis") or self.folder.name)

    @property
    def method(self) -> str:
        """Name of the method in the configuration; "" when the summary names none."""
        return str(self.summary.get("method") or "")

    @property
    def parameters(self) -> dict[str, Any]:
        """The analysis' section of the configuration, defaults filled in."""
        return dict(self.summary.get("parameters") or {})

    @property
    def counts(self) -> dict[str, int]:
        """Counts at each step, in the order of the steps."""
        return dict(self.summary.get("counts") or {})

    @property
    def warnings(self) -> list[str]:
        """What a reader should beware of."""
        return list(self.summary.get("warnings") or [])

    def figure(self, name: str, colour_by: str = "", of: str = "") -> Figure:
        """A figure of the page, which a notebook shows and ``savefig`` writes.

        name : of the files in ``figures``, such as ``score_distribution``; or ``regulator``, the
        network of one item. colour_by : the annotation by which samples stand in order, where the
        figure shows samples. of : the item whose network is drawn.

        Raises
        ------
        ValueError
            A figure, a column or an item that there is not, or that these results do not allow.
        """
        draw = resolve_name("pairtile.report.make_figures:draw_figure")
        return draw(replace(self, colour_by=colour_by, drawn_item=of), name)

    @cached_property
    def state(self) -> Mapping[str, NDArray[Any]]:
        """The arrays that pairs were scored from, memory-mapped; none where they are gone."""
        folder = self.folder / "state"
        return open_state(folder) if (folder / MANIFEST).is_file() else {}

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each item that was kept, by its name, in the state."""
        names = self.items.loc[self.items["kept"].astype(bool), "name"]
        return {str(name): row for row, name in enumerate(names)}

    def table(self, file: str, package: str = "", columns: list[int] | None = None) -> pd.DataFrame:
        """A table that the method (or ``package``) wrote, or only the ``columns`` of these numbers;
        without rows where it was not written.

        Raises StoreError naming the file when it is not what its name says.
        """
        path = self.folder / file
        package = package or self.method_report.text.package
        if not path.is_file():
            return empty_table(package, file)
        return read_result_table(path, package, columns)

    @cached_property
    def method_report(self) -> MethodReport:
        """What the page says and shows of this analysis' method; general text for one that is not
        known here or has none."""
        known = methods().get(self.method)
        if known and known.report:
            return known.part(known.report)
        title = self.method.replace("_", " ").strip() or "pair scores"
        return MethodReport(MethodText(title=title))

    @cached_property
    def text(self) -> MethodText:
        """Names and sentences of this analysis' method."""
        text = self.method_report.text
        text = text.adapted(self) if text.adapted else text
        two_tables = self.parameters.get("other_expression")
        return replace(text, regulator="other-table row") if two_tables else text

    @cached_property
    def regulators(self) -> frozenset[str]:
        """Names of the regulators; empty when none were given."""
        if "is_regulator" not in self.items:
            return frozenset()
        return frozenset(self.items.loc[self.items["is_regulator"].astype(bool), "name"])

    @cached_property
    def directed(self) -> bool:
        """Whether an edge runs from source to target: as the summary says, else by regulators."""
        return bool(self.summary.get("directed", bool(self.regulators)))

    @cached_property
    def strength(self) -> str | None:
        """The column that edges are ranked by, None when the table has no number at all."""
        recorded = (self.summary.get("ranked_by") or {}).get("score")
        for column in (recorded, *self.text.strength):
            if column in self.network:
                return column
        numeric = self.network.drop(columns=["source", "target"]).select_dtypes("number")
        return str(numeric.columns[0]) if len(numeric.columns) else None

    @cached_property
    def score(self) -> np.ndarray:
        """What edges are ranked by, float64 (edges,): larger is stronger; -inf where missing."""
        if self.strength is None:
            return np.zeros(len(self.network))
        score = self.network[self.strength].to_numpy(dtype=np.float64)
        signed = sign_column([self.strength], self.method)
        return np.where(np.isnan(score), -np.inf, np.abs(score) if signed else score)

    @cached_property
    def dropped(self) -> pd.DataFrame:
        """The items that were left out, in input order."""
        return self.items[~self.items["kept"].astype(bool)]

    @cached_property
    def out_degree(self) -> pd.Series:
        """Edges by their source, largest first, ties by name."""
        return _ordered(self.network["source"].value_counts())

    @cached_property
    def degree(self) -> pd.Series:
        """Edges at each item of the network, both ends counted, largest first, ties by name."""
        targets = self.network["target"].value_counts()
        return _ordered(self.network["source"].value_counts().add(targets, fill_value=0))

    def labelled(self, table: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
        """A table of names with what the page calls them, in ``columns`` (those that it has)."""
        there = [column for column in columns if self.labels and column in table]
        return table.assign(**{c: table[c].map(self.labels).fillna(table[c]) for c in there})

    def cached(self, read: Callable[[Results], T]) -> T:
        """``read(self)``, read once: what a method's own files hold."""
        if read not in self.read:
            self.read[read] = read(self)
        return self.read[read]

    def strongest(self, limit: int) -> pd.DataFrame:
        """The ``limit`` strongest edges, best first; ties by ``text.ties``, then by the names."""
        if self.strength is None or self.network.empty:
            return self.network.head(limit)
        score = self.score
        # Sort only what can be shown: the network may have millions of edges.
        least = np.partition(score, -limit)[-limit] if len(score) > limit else -np.inf
        candidates = np.flatnonzero(score >= least)
        table = self.network.iloc[candidates].assign(_score=score[candidates])
        ties = [column for column in self.text.ties if column in table]
        by = ["_score", *ties, "source", "target"]
        table = table.sort_values(by, ascending=[column != "_score" for column in by])
        return table.drop(columns="_score").head(limit).reset_index(drop=True)


def _ordered(counts: pd.Series) -> pd.Series:
    table = counts.rename("n").rename_axis("name").reset_index()
    table = table.sort_values(["n", "name"], ascending=[False, True])
    return table.set_index("name")["n"].astype(np.int64)
