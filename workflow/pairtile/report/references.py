"""Papers that methods paragraphs cite: ``references.bib`` here, of the stages, and of a method.

A plain subset of BibTeX: one field a line, in braces; accents as they are; names as ``Surname,
Initials``; types article, book, incollection and misc. Nothing else is needed of a library.
"""

from __future__ import annotations

import re
from importlib.resources import files
from types import SimpleNamespace

from pairtile.config.downstream import PACKAGE
from pairtile.report.method_report import Reference

_ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)\n\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},$", re.MULTILINE)
_SHARED = "pairtile.report"


def read_references(package: str = _SHARED) -> SimpleNamespace:
    """The papers that several methods cite and those of ``package``, by their keys."""
    found: dict[str, Reference] = {}
    for place in dict.fromkeys([_SHARED, PACKAGE, package]):
        file = files(place) / "references.bib"
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        for key, body in _ENTRY.findall(text):
            found[key] = _reference(dict(_FIELD.findall(body)))
    return SimpleNamespace(**found)


def _reference(entry: dict[str, str]) -> Reference:
    authors = [name.strip("{}") for name in entry.get("author", "").split(" and ") if name]
    year = entry.get("year", "")
    title = entry["title"]
    if "edition" in entry:
        title += f", {entry['edition']} edition"
    names = ", ".join("et al" if a == "others" else a.replace(", ", " ") for a in authors)
    citation = ". ".join(part for part in (names, title, _source(entry)) if part)
    return Reference(
        cited=" ".join(filter(None, [_cited(authors) or title.partition(":")[0], year])),
        citation=citation + (f" ({year})" if year else "") + ".",
        doi=entry.get("doi", ""),
        page=entry.get("url", ""),
    )


def _cited(authors: list[str]) -> str:
    """``A``, ``A and B`` or ``A et al.``"""
    surnames = [author.partition(", ")[0] for author in authors]
    return " and ".join(surnames) if len(surnames) < 3 else f"{surnames[0]} et al."


def _source(entry: dict[str, str]) -> str:
    """Journal, volume (number) and pages; or book and publisher."""
    if "journal" not in entry:
        book = f"In {entry['booktitle']}, {entry['pages']}" if "booktitle" in entry else ""
        return ". ".join(filter(None, [book, entry.get("publisher", "")]))
    number = f"({entry['number']})" if "number" in entry else ""
    pages = f":{entry['pages']}" if "pages" in entry else ""
    return f"{entry['journal']} {entry['volume']}{number}{pages}"
