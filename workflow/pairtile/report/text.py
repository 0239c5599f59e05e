"""The text of the page: ``text.md.j2`` in a method's folder, over the numbers of its results.

A template is Jinja with a macro for each part:

- ``headline``; ``findings`` and ``rules``: a line that begins with ``-`` for each sentence, and of
  findings with ``- [PLACES]``: sections (``edges``), figures (``figure-NAME``) and counts
  (``count-KEY``) of the page that the sentence's numbers come from, to which it links;
- ``key_numbers``: a line ``| value | what it is | what it is set against | PLACES |`` each, which
  links to the first place that the page has;
- ``methods``: a paragraph, which cites papers by ``cite("KEY")``;
- ``ranking``: which pairs are ranked against a gold standard, where these are not all scored ones;
- ``figure_NAME``: ``## Kind: Title``, the caption, and after ``>`` what only the text for those who
  cannot see the figure adds.

What a template does not have is taken from that of the stages that follow the network
(``pairtile/downstream``), then from ``templates/text.md.j2`` here, whose macros it can call as
``shared.NAME()``. A line break is a space, or nothing before punctuation.

Papers are in ``references.bib`` here, of the stages, and of a method: a plain subset of BibTeX, one
field a line, in braces; accents as they are; names as ``Surname, Initials``; types article, book,
incollection and misc. Nothing else is needed of a library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import jinja2
from jinja2.runtime import LoopContext

from pairtile.config.downstream import PACKAGE
from pairtile.method import methods
from pairtile.report import formats
from pairtile.report.method_report import CaptionedFigure, Drawn, Reference, Results
from pairtile.runtime.page_templates import compiled_templates

FILTERS = (
    "count", "pluralise", "number", "format_number", "percent", "duration", "memory", "join_list",
    "largest", "largest_hub",
)  # fmt: skip
NAME, STAGES, HERE = "text.md.j2", "downstream", Path(__file__).parent


class _Missing(jinja2.ChainableUndefined):
    """A number that the results do not have: false in a condition, an error where it is shown."""

    __str__ = jinja2.StrictUndefined.__str__


def _template_of(method: str) -> tuple[str, str, None] | None:
    if method not in {STAGES, *methods()}:
        return None
    file = (HERE.parent / STAGES if method == STAGES else methods()[method].folder) / NAME
    return (file.read_text(encoding="utf-8"), str(file), None) if file.is_file() else None


def comma(loop: LoopContext) -> str:
    """What stands before an entry of a list: nothing, a comma, or "and" before the last."""
    return "" if loop.first else " and " if loop.last else ", "


@cache
def _environment() -> jinja2.Environment:
    shared = jinja2.FileSystemLoader(HERE / "templates")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.FunctionLoader(_template_of), shared]),
        bytecode_cache=compiled_templates(),
        autoescape=False,  # the page escapes it
        undefined=_Missing,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(formats, name) for name in FILTERS}
    environment.globals["comma"] = comma
    return environment


class Texts:
    """Macros of templates as text; the first template that has a macro gives it."""

    def __init__(self, *rooms: object) -> None:
        self._rooms = rooms

    def _raw(self, name: str, /, **numbers: object) -> str:
        macros = (macro for room in self._rooms if (macro := getattr(room, name, None)))
        return str(next(macros)(**numbers))

    def text(self, name: str, /, **numbers: object) -> str:
        """A macro's text on one line."""
        return joined(self._raw(name, **numbers))

    def lines(self, name: str) -> list[str]:
        """The sentences of a macro that lists them."""
        return [joined(part) for part in re.split(r"^- ", self._raw(name), flags=re.MULTILINE)[1:]]

    def sentences(self, name: str) -> list[tuple[str, list[str]]]:
        """The sentences of a macro of findings, each with its places."""
        found = [line.removeprefix("[").partition("] ") for line in self.lines(name)]
        return [(sentence, places.split()) for places, _, sentence in found]

    def rows(self, name: str) -> list[tuple[str, ...]]:
        """The rows of a macro that makes a table."""
        rows = [line.strip() for line in self._raw(name).splitlines() if line.strip()]
        return [tuple(cell.strip() for cell in row[1:-1].split(" | ")) for row in rows]

    def captioned(
        self, name: str, drawn: Drawn, svg: bytes, chart: Mapping[str, object] | None
    ) -> CaptionedFigure:
        """A figure as it was written, with the title, caption and text of its macro. ``chart``:
        what a script of the page reads of it."""
        text = self._raw(f"figure_{drawn.caption or name}", **drawn.numbers)
        head, _, body = text.strip().partition("\n")
        kind, _, title = head.removeprefix("## ").partition(": ")
        caption, _, more = body.partition("\n>")
        caption = joined(caption)
        alternative = joined(f"{kind}. {caption} {more}")
        return CaptionedFigure(name, title, caption, alternative, svg, chart)


def stage_text(summary: Mapping[str, object]) -> Texts:
    """The texts of the stages that follow a network, over what a summary holds."""
    return Texts(_environment().get_template(STAGES).make_module(dict(summary)))


class PageText(Texts):
    """The texts of one analysis.

    Templates see ``counts``, ``parameters``, ``threshold``, ``backend``, ``versions`` and ``steps``
    of the summary, ``evaluation``, the names of things in ``words`` (``MethodText``), the numbers
    below, and those of the method (``MethodText.numbers``) by their names.
    """

    def __init__(self, results: Results) -> None:
        summary, network = results.summary, results.network
        method = methods().get(results.method)
        papers = read_references(method.package if method else "pairtile.report")
        self._cited: list[Reference] = []

        def cite(key: str) -> str:
            paper: Reference = getattr(papers, key)
            self._cited.append(paper)
            return paper.cited

        both_ways = results.directed and not results.regulators
        hubs = results.out_degree if results.regulators or both_ways else results.degree
        sections = ("threshold", "backend", "versions", "steps", "pairtile_version")
        reasons = results.dropped["reason"].astype(str).replace("", "no reason given")
        dropped = [(str(key), int(n)) for key, n in reasons.value_counts().items()]
        values: dict[str, object] = {
            **{name: summary.get(name) or {} for name in sections},
            "counts": results.counts,
            "parameters": results.parameters,
            "evaluation": results.evaluation or {},
            "words": results.text,
            "columns": set(network.columns),
            "edges": len(network),
            "nodes": len(results.degree),
            "sources": int(network["source"].nunique()),
            "targets": int(network["target"].nunique()),
            "regulators": len(results.regulators),
            "both_ways": both_ways,
            "hubs": hubs.to_dict(),
            "degrees": results.degree.to_dict(),
            "active": sum(name in results.regulators for name in results.out_degree.index),
            "items": len(results.items),
            "kept": int(results.items["kept"].sum()),
            "dropped": sorted(dropped, key=lambda reason: (-reason[1], reason[0])),
            "cite": cite,
        }
        values |= results.text.numbers(results)
        shared = _environment().get_template(NAME).make_module(values)
        own = results.method if _template_of(results.method) else NAME
        values["shared"] = shared
        rooms = (_environment().get_template(name).make_module(values) for name in (own, STAGES))
        super().__init__(*rooms, shared)

    def cited(self, *names: str) -> tuple[str, list[Reference]]:
        """The text of macros, and the papers that they cite in the order in which they do."""
        self._cited.clear()
        text = " ".join(filter(None, map(self.text, names)))
        return text, list(dict.fromkeys(self._cited))


def page_text(results: Results) -> PageText:
    """The texts of an analysis, made once."""
    return results.cached(PageText)


def joined(text: str) -> str:
    """On one line; no-break spaces stay."""
    text = re.sub(r"[ \t]*\n[ \t\n]*(?=[,.;:)])", "", text)
    return re.sub(r"[ \t\n]+", " ", text).strip(" \t\n")


_ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)\n\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},$", re.MULTILINE)
_SHARED = "pairtile.report"


def read_references(package: str = _SHARED) -> SimpleNamespace:
    """The papers that several methods cite and those of ``package``, by their keys."""
    found: dict[str, Reference] = {}
    for place in dict.fromkeys([_SHARED, PACKAGE, package]):
        file = files(place) / "references.bib"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        found |= {key: _reference(dict(_FIELD.findall(body))) for key, body in _ENTRY.findall(text)}
    return SimpleNamespace(**found)


def _reference(entry: dict[str, str]) -> Reference:
    authors = [name.strip("{}") for name in entry.get("author", "").split(" and ") if name]
    year = entry.get("year", "")
    title = entry["title"]
    if "edition" in entry:
        title += f", {entry['edition']} edition"
    names = ", ".join("et al" if a == "others" else a.replace(", ", " ") for a in authors)
    surnames = [author.partition(", ")[0] for author in authors]
    short = " and ".join(surnames) if len(surnames) < 3 else f"{surnames[0]} et al."
    citation = ". ".join(part for part in (names, title, _source(entry)) if part)
    return Reference(
        cited=" ".join(filter(None, [short or title.partition(":")[0], year])),
        citation=citation + (f" ({year})" if year else "") + ".",
        doi=entry.get("doi", ""),
        page=entry.get("url", ""),
    )


def _source(entry: dict[str, str]) -> str:
    """Journal, volume (number) and pages; or book and publisher."""
    if "journal" not in entry:
        book = f"In {entry['booktitle']}, {entry['pages']}" if "booktitle" in entry else ""
        return ". ".join(filter(None, [book, entry.get("publisher", "")]))
    number = f"({entry['number']})" if "number" in entry else ""
    pages = f":{entry['pages']}" if "pages" in entry else ""
    return f"{entry['journal']} {entry['volume']}{number}{pages}"
