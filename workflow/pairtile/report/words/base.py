"""The form that a method's words take, with plain words as defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pairtile.report.formats import spaced

if TYPE_CHECKING:
    from pairtile.report.results import Results


@dataclass(frozen=True)
class Reference:
    """A paper: how the text cites it, the full citation, the DOI."""

    cited: str
    citation: str
    doi: str


@dataclass(frozen=True)
class Words:
    """Names and sentences of one method.

    ``strength`` lists the columns that edges can be ranked by, the first present one is used;
    ``directed_columns`` those whose presence makes the network directed. ``answers`` gives
    sentences for the top of the page, ``cautions`` warnings beyond the summary's own, and
    ``methods`` the paragraph for a paper with the references that it cites.
    """

    title: str
    item: str = "gene"
    items: str = "genes"
    score: str = "score"
    score_axis: str = "score"
    score_unit: str = ""
    strength: tuple[str, ...] = ()
    directed_columns: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    answers: Callable[[Results], list[str]] = lambda results: []
    cautions: Callable[[Results], list[str]] = lambda results: []
    methods: Callable[[Results], tuple[str, list[Reference]]] | None = None

    def column(self, name: str) -> str:
        """Heading of a column of the network table."""
        return self.columns.get(name) or spaced(name)

    def count(self, key: str) -> str:
        """A key of the summary's counts in words."""
        return self.counts.get(key) or spaced(key)
