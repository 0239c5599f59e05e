"""Rule ``report``: the page that a person reads, and its figures."""

from __future__ import annotations

from pairtile.engine.custody import note_files
from pairtile.gpu.device import threads
from pairtile.report.page import write_report
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.view.index import write_index


def report(run: AnalysisRun, indexed: bool = False) -> None:
    """Write ``report.html`` and ``figures``.

    indexed : whether the folder is one of a run's results, which have an index; figures are then
    written side by side.
    """
    page, figures = run.folder / "report.html", run.folder / "figures"
    with recorded("report", run.record("report")):
        write_report(run.folder, page, figures, threads() if indexed else 1)
        note_files(figures.iterdir())
    if indexed and not run.in_one_job:  # the end of a run writes it, too
        write_index(run.folder.parent)
