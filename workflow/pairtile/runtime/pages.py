"""The pages of the analyses in a folder of results: what their heads say, and a page over them all.

Imports little: Snakemake's own process calls this when a run has ended.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from pairtile.runtime.files import atomic_path

TEMPLATES = Path(__file__).parent / "templates"
STYLE = Path(__file__).parents[1] / "report/templates/report.css"

HEAD_CHARACTERS = 20_000
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_WARNINGS = re.compile(r'<meta name="pairtile:warnings" content="(\d+)">')


@dataclass(frozen=True)
class Page:
    """The page of one analysis: its folder, title (``NAME: what was found``) and warnings."""

    folder: Path
    title: str
    warnings: int

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "report.html"

    @property
    def headline(self) -> str:
        """What was found."""
        return self.title.removeprefix(f"{self.folder.name}: ")

    @property
    def edges(self) -> int | None:
        """Rows of the network, from the file's footer alone; None without one."""
        import pyarrow.parquet as pq

        try:
            return int(pq.read_metadata(self.folder / "network.parquet").num_rows)
        except (OSError, ValueError):
            return None


def read_page(folder: Path) -> Page | None:
    """The page in ``results/NAME/``; None without one."""
    try:
        with (folder / "report.html").open(encoding="utf-8") as text:
            head = text.read(HEAD_CHARACTERS)
    except FileNotFoundError:
        return None
    title, warnings = _TITLE.search(head), _WARNINGS.search(head)
    return Page(
        folder,
        html.unescape(title[1]) if title else folder.name,
        int(warnings[1]) if warnings else 0,
    )


def write_index(results: Path) -> Path | None:
    """Write ``index.html`` over all analyses in a folder of results that have a page, and return
    its path; None, and nothing is written, where fewer than two have."""
    folders = sorted(path.parent for path in results.glob("*/report.html"))
    pages = [page for folder in folders if (page := read_page(folder))]
    if len(pages) < 2:
        return None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("index.html.j2").render(
        analyses=[_row(page) for page in pages], style=Markup(STYLE.read_text(encoding="utf-8"))
    )
    out = results / "index.html"
    with atomic_path(out) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return out


def _row(page: Page) -> dict[str, Any]:
    summary = json.loads((page.folder / "summary.json").read_text(encoding="utf-8"))
    pairs = summary["counts"].get("pairs")
    return {
        "name": page.folder.name,
        "method": summary["method"].replace("_", " "),
        "headline": page.headline,
        "pairs": "" if pairs is None else f"{pairs:,}",
        "edges": "" if page.edges is None else f"{page.edges:,}",
        "warnings": page.warnings,
    }
