"""Measured figures that pages quote, and the values of benchmarks/results/ that they come from.

A block (a paragraph, a list or a table) is checked where its section, from a heading to the next,
names a file of ``benchmarks/results/``, or a part of it (`` `by_modes` in `modes.cpu.json` ``):
against the files of the block itself, or else the last before it. In a table that is every number
outside the first column; elsewhere every number with a unit of measure or a decimal point. A
comment before a block says that its figures are not in such files: ``<!-- published -->`` for those
of others, ``<!-- computed -->`` for those that follow from others, ``<!-- given -->`` for settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paths import ROOT

RESULTS = ROOT / "benchmarks/results"
FILE = re.compile(
    r"(?:`(\w+)` in )?`(?:benchmarks/results/)?((?:[a-z0-9_]+\.[a-z0-9-]+|validity)\.json)`"
)
EXEMPT = re.compile(r"<!-- (published|computed|given)[^>]*-->")
NUMBER = re.compile(r"(?<![\w.,/-])((?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?)(?:e(\d+))?(?![\w.]*\d)")

UNITS: dict[str, tuple[float, ...]] = {
    "%": (100,),
    "KB": (1e-3,),
    "MB": (1e-6,),
    "GB": (1e-9, 1),
    "GiB": (2.0**-30,),
    "ms": (1e3, 1),
    "microseconds": (1e6, 1),
    "microsecond": (1e6, 1),
    "minutes": (1 / 60,),
    "s": (1,),
    "seconds": (1,),
    "bytes": (1,),
    "million": (1e-6,),
    "times": (1,),
}
"""Factors from what files hold to what pages say: seconds to milliseconds, shares to per cent."""
ELSE = (1, 1e9)  # files hold some rates in billions

WHOLES = ("targets", "exclusive_targets", "pairs")
"""Keys of counts that others beside them are a part of, quoted as shares or percentages."""


@dataclass(frozen=True)
class Figure:
    """A number as a page quotes it."""

    text: str
    value: float
    half_unit: float
    unit: str

    def is_(self, value: float) -> bool:
        """Whether a stored value, rounded as the page rounds, is this figure."""
        factors = UNITS.get(self.unit, ELSE)
        return any(abs(value * f - self.value) <= self.half_unit * 1.001 for f in factors)


def figures(text: str, with_unit: bool) -> Iterator[Figure]:
    """The numbers of a text; one without a unit has that of the next number (2 to 3 s; 4, 5 %)."""
    unit, end = "", len(text)
    reversed_figures = []
    for match in reversed([match for match in NUMBER.finditer(text) if match[1]]):
        between, end = text[match.end() : end], match.start()
        said = re.match(r"[  ]*(%|[A-Za-z]+)", between)
        joins = re.fullmatch(r"\s*(?:,|to|and|/|or|;)\s*", between)
        if said and said[1] in UNITS:
            unit = said[1]
        elif not joins:
            unit = ""
        digits = match[1].replace(",", "")
        power = 10.0 ** int(match[2] or 0)
        decimals = len(digits.partition(".")[2])
        half = 0.5 * 10.0**-decimals * power
        if not decimals and not match[2]:  # 12,000 may be rounded to its last zero, by 1 % at most
            zeros = len(digits) - len(digits.rstrip("0"))
            half = max(0.5, min(0.5 * 10.0**zeros, 0.005 * float(digits)))
        if unit or decimals or not with_unit:
            figure = Figure(f"{match[0]} {unit}".strip(), float(digits) * power, half, unit)
            reversed_figures.append(figure)
    yield from reversed(reversed_figures)


@dataclass(frozen=True)
class Quote:
    """Figures that stand together: a row of a table, or a paragraph."""

    line: int
    text: str
    figures: list[Figure]
    sources: list[tuple[str, str]]
    """Keys of results (or none) and names of files."""


def quotes(page: str) -> Iterator[Quote]:
    """What a page quotes from ``benchmarks/results/``."""
    page = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), page, flags=re.DOTALL)
    for section in re.finditer(r"^#+ .*?(?=^#+ |\Z)", page, re.MULTILINE | re.DOTALL):
        sources = FILE.findall(" ".join(section[0].split()))[:1]
        if not sources:
            continue
        exempt = False
        for block in re.finditer(r"(?:.+\n?)+", section[0]):
            text = block[0]
            line = page.count("\n", 0, section.start() + block.start()) + 1
            sources = FILE.findall(" ".join(text.split())) or sources
            marked = EXEMPT.match(text)
            if marked and not text[marked.end() :].strip():  # the comment has a line for itself,
                exempt = True  # and an empty one after it
                continue
            if text.startswith("#") or marked or exempt:
                exempt = False
                continue
            if text.startswith("|"):
                for number, row in enumerate(text.splitlines()[2:], start=line + 2):
                    cells = [cell.strip() for cell in row.strip("| \n").split("|")][1:]
                    found = [f for cell in cells for f in figures(plain(cell), with_unit=False)]
                    yield Quote(number, row, found, sources)
            else:
                found = list(figures(plain(text), with_unit=True))
                yield Quote(line, " ".join(text.split()), found, sources)


def plain(text: str) -> str:
    """Without code, links and the emphasis that a best value has."""
    text = re.sub(r"`[^`]*`", "code", text)
    return re.sub(r"\]\([^)]*\)", "]", text).replace("**", "")


def values(tree: Any) -> Iterator[float]:
    """Every number of a result, those in its keys and sentences too, and counts as shares."""
    if isinstance(tree, dict):
        wholes = [tree[key] for key in WHOLES if tree.get(key)]
        for key, inner in tree.items():
            yield from values(key)
            yield from values(inner)
            if isinstance(inner, int):
                yield from (factor * inner / whole for whole in wholes for factor in (1, 100))
    elif isinstance(tree, list):
        for inner in tree:
            yield from values(inner)
    elif isinstance(tree, str):
        yield from (float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", tree))
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield float(tree)


def stored(sources: list[tuple[str, str]], folder: Path = RESULTS) -> list[float]:
    """The numbers of files of results, or of one key of their results."""
    found: list[float] = []
    for key, name in sources:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        found += values(content.get("results", content)[key] if key else content)
    return found


def unknown(quote: Quote) -> list[str]:
    """The figures of a quote that its sources do not have."""
    known = stored(quote.sources)
    return [f.text for f in quote.figures if not any(f.is_(value) for value in known)]
