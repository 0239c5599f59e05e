"""The pages of the analyses in a folder of results: what their heads say, and a page over them all.

Imports little: Snakemake's own process calls this when a run has ended.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pairtile.runtime.files import file_digest, write_text
from pairtile.runtime.input_changes import file_stamp
from pairtile.runtime.page_templates import content_policy, page_templates
from pairtile.runtime.results_lock import LOCK_FILE

STYLE = Path(__file__).parents[1] / "report/templates/report.css"

DEFECT = "a defect of "
_LOG_LINE = re.compile(r"^\d\d:\d\d:\d\d ([A-Z]+) (.*)$")


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
            head = text.read(20_000)
    except FileNotFoundError:
        return None
    title = re.search("<title>(.*?)</title>", head, re.DOTALL)
    warnings = re.search(r'<meta name="pairtile:warnings" content="(\d+)">', head)
    return Page(
        folder,
        html.unescape(title[1]) if title else folder.name,
        int(warnings[1]) if warnings else 0,
    )


def write_index(results: Path, *, ended: bool = False) -> Path | None:
    """Write ``index.html`` over all analyses in a folder of results, and return its path; None, and
    nothing is written, where there are fewer than two. ``ended``: the run has, and what has no page
    is not being made."""
    if len(_folders(results)) < 2:
        return None
    text, _ = index_page(results, ended=ended)
    out = results / "index.html"
    write_text(out, text)
    return out


def index_page(results: Path, *, ended: bool = False, script: str = "") -> tuple[str, str]:
    """The page over all analyses, and what its content policy allows: a row each with picture,
    finding, state and date; groups of an analysis that was split stand below what they share.

    ``script`` goes into the page, which is served then: of results that anyone may have made, no
    input that they name is read.
    """
    lock = results / LOCK_FILE
    runs = not ended and lock.is_file() and lock.stat().st_size > 0
    rows = {folder.name: _row(folder, runs, read_inputs=not script) for folder in _folders(results)}
    parts = {group for row in rows.values() for group in row["groups"]}
    order = [part for name in rows if name not in parts for part in (name, *rows[name]["groups"])]
    policy = content_policy([script] if script else [], images="'self' file:")
    text = (
        page_templates(Path(__file__).parent / "templates")
        .get_template("index.html.j2")
        .render(
            analyses=[rows[name] | {"is_group": name in parts} for name in order if name in rows],
            style=Markup(STYLE.read_text(encoding="utf-8")),
            script=Markup(script),
            policy=policy,
        )
    )
    return text, policy


def last_error(log: Path) -> str:
    """The message of the last error in a job's log, with the lines that belong to it; empty where
    the log does not end with one."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    message: list[str] = []
    inside = False
    for line in lines:
        if entry := _LOG_LINE.match(line):
            inside = entry[1] in ("ERROR", "CRITICAL")
            message = [entry[2]] if inside else message
        elif inside and not message[0].startswith(DEFECT):
            message.append(line.strip())
    if message and message[0].startswith(DEFECT):
        # Of a traceback, the last line says what happened.
        message = [message[0], lines[-1].strip()]
    return " ".join(message)


def _folders(results: Path) -> list[Path]:
    """Those of analyses, by name: with a page, or with logs of one that is to come."""
    return sorted(
        path for path in results.glob("*/") if (path / "logs").is_dir() or read_page(path)
    )


def _row(folder: Path, runs: bool, read_inputs: bool) -> dict[str, Any]:
    page, summary = read_page(folder), {}
    with suppress(OSError, ValueError):
        if (folder / "summary.json").is_file():  # not a device
            summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    current = page is not None and not _out_of_date(folder, summary, read_inputs)
    logs = filter(Path.is_file, folder.glob("logs/**/*.log"))
    log = max(logs, key=lambda path: path.stat().st_mtime, default=None)
    error = last_error(log) if log and not current else ""
    date = summary.get("run", {}).get("date")
    if page and not date:
        date = datetime.fromtimestamp(page.path.stat().st_mtime, UTC).isoformat()
    pairs = summary.get("counts", {}).get("pairs")
    # The first figure of a page shows what was found.
    content = page.path.read_text(encoding="utf-8") if page else ""
    pictures = (f"figures/{name}.png" for name in re.findall(r'id="figure-(\w+)"', content))
    states = {"finished": current, "failed": error, "running": runs, "out of date": page}
    return {
        "name": folder.name,
        "method": summary.get("method", "").replace("_", " "),
        "headline": page.headline if page else "",
        "error": error,
        "state": next((state for state, holds in states.items() if holds), "unfinished"),
        "date": (date or "")[:16].replace("T", " "),
        "picture": next((file for file in pictures if (folder / file).is_file()), ""),
        "pairs": "" if pairs is None else f"{pairs:,}",
        "edges": "" if not page or page.edges is None else f"{page.edges:,}",
        "warnings": page.warnings if page else "",
        "stored": (folder / "pairs.parquet").is_file(),
        "groups": list(summary.get("groups", {})),
    }


def _out_of_date(
    folder: Path, summary: Mapping[str, Mapping[str, Mapping[str, str]]], read_inputs: bool
) -> bool:
    """Whether a step has run again since the page was written, or an input has another content."""
    with suppress(OSError, ValueError, KeyError):
        for name, step in summary.get("steps", {}).items():
            record = folder / "steps" / f"{name}.json"
            if record.is_file() and json.loads(record.read_text())["seconds"] != step["seconds"]:
                return True
        for read in summary.get("inputs", {}).values() if read_inputs else ():
            path = Path(read["path"])
            if path.exists() and file_stamp(path) != read["stamp"]:
                return bool(file_digest(path) != read["sha256"])
    return False
