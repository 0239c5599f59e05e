"""What a person reads when a run has ended: where the results are, or what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pairtile.report.formats import pluralise
from pairtile.view.index import DEFECT, last_error, read_page, write_index


def success(results: str, analyses: Iterable[str]) -> str:
    """For each analysis its headline, where its page is, and how many warnings it holds; and where
    the page over all of them is, which is written here.

    results : the folder of all results. analyses : those of the configuration; one without a page
    (another target was asked for) is named so.
    """
    lines = ["pairtile: done"]
    for name in analyses:
        folder = Path(results) / name
        page = read_page(folder)
        if page is None:
            lines.append(f"  {name}: no report on this machine; results are in {folder}/")
            continue
        lines.append(f"  {page.title}")
        edges = f"; {pluralise(page.edges, 'edge')} in {folder}/" if page.edges else ""
        lines.append(f"    open {page.path}{edges}")
        if page.warnings:
            lines.append(f"    {pluralise(page.warnings, 'warning')}: read the page's top")
    if index := write_index(Path(results), ended=True):
        lines.append(f"  all analyses: open {index}")
    return "\n".join(lines)


def failure(failed: Sequence[tuple[str, str]], snakemake_logs: Iterable[str], results: str) -> str:
    """Which jobs failed, what each said, which log has more, and what to do; the page over all
    analyses, which is written here, says so, too.

    failed : rule and log of each failed job.

    snakemake_logs : the paths of Snakemake's own logs of the run.
    """
    lines = ["pairtile: stopped before the end"]
    defect = False
    for rule, log in failed:
        said = last_error(Path(log))
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
    write_index(Path(results), ended=True)
    return "\n".join(lines)
