"""The pages of the documentation: their prose, code, links and tables."""

from __future__ import annotations

import re
from pathlib import Path

from paths import ROOT

RESULTS_PAGE = ROOT / "docs" / "results.md"
RESULTS_PAGES = [RESULTS_PAGE, *sorted((ROOT / "docs" / "results").glob("*.md"))]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("config/*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", text_of(page))


def blocks(page: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(text_of(page)) if name == language]


def inline_code(page: Path) -> list[str]:
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose_of(page))]


def section_of_page(heading: str) -> str:
    """The text under one heading of docs/results.md, up to the next of its rank or above."""
    lines = text_of(RESULTS_PAGE).splitlines()
    start = lines.index(heading)
    rank = heading.split(" ")[0]
    rest = lines[start + 1 :]
    end = next(
        (n for n, line in enumerate(rest) if re.match(rf"#{{1,{len(rank)}}} ", line)), len(rest)
    )
    return "\n".join(rest[:end])


def first_column(text: str) -> list[str]:
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
