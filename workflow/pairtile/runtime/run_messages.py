"""What a person reads when a run has ended: where the results are, or what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pairtile.runtime.pages import read_page, write_index

_LOG_LINE = re.compile(r"^\d\d:\d\d:\d\d ([A-Z]+) (.*)$")
DEFECT = "a defect of pairtile"


def success(results: str, analyses: Iterable[str]) -> str:
    """For each analysis its headline, where its page is, and how many warnings it holds; and where
    the page over all of them is, which is written here.

    Parameters
    ----------
    results : str
        The folder of all results.
    analyses : iterable of str
        Those of the configuration; one without a page (another target was asked for) is named so.
    """
    lines = ["pairtile: done"]
    for name in analyses:
        folder = Path(results) / name
        page = read_page(folder)
        if page is None:
            lines.append(f"  {name}: no report on this machine; results are in {folder}/")
            continue
        lines.append(f"  {page.title}")
        edges = f"; {page.edges:,} edges in {folder}/" if page.edges else ""
        lines.append(f"    open {page.path}{edges}")
        if page.warnings:
            noun = "warning" if page.warnings == 1 else "warnings"
            lines.append(f"    {page.warnings} {noun}: read the page's top")
    if index := write_index(Path(results)):
        lines.append(f"  all analyses: open {index}")
    return "\n".join(lines)


def failure(failed: Sequence[tuple[str, str]], snakemake_logs: Iterable[str]) -> str:
    """Which jobs failed, what each said, which log has more, and what to do.

    failed : rule and log of each failed job.

    snakemake_logs : the paths of Snakemake's own logs of the run.
    """
    lines = ["pairtile: stopped before the end"]
    defect = False
    for rule, log in failed:
        said = _last_words(Path(log))
        defect |= said.startswith(DEFECT)
        what = said or (
            "the job ended without a message: it may have been killed, "
            "as by the system when memory ran out"
        )
        lines += [f"  {rule}: {what}", f"    log: {log}"]
    if not failed:
        lines += [f"  log: {path}" for path in snakemake_logs]
    lines.append(
        "  Put right what is named and give the same command again: finished steps and chunks "
        "are kept."
    )
    if defect:
        lines.append("  Please report the defect, with the log.")
    return "\n".join(lines)


def _last_words(log: Path) -> str:
    """The message of the last error in a job's log, with the lines that belong to it."""
    lines = _text(log).splitlines()
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
