"""Rule report: the page that a person reads, and its figures (pairtile.report)."""

from pairtile.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.record import recorded
    from pairtile.report import write_report

    page = Path(snakemake.output.page)
    with recorded("report"):
        write_report(page.parent, page, Path(snakemake.output.figures))
