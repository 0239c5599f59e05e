"""Rule report: the page that a person reads, and its figures (pairtile.report)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.report import write_report
    from pairtile.runtime.record import recorded

    page = Path(snakemake.output.page)
    with recorded("report"):
        write_report(page.parent, page, Path(snakemake.output.figures))
