"""Rule report: summary.json, the page that a person reads, and its figures (pairtile.steps.summary,
pairtile.report)."""

from pairtile.runtime.job import job, optional_path

with job(snakemake):
    from pathlib import Path

    from pairtile.report import write_report
    from pairtile.runtime.pages import write_index
    from pairtile.runtime.record import recorded
    from pairtile.steps.summary import summary

    out = snakemake.output
    summary(
        name=snakemake.wildcards.analysis,
        config=snakemake.params.analysis.load(),
        seed=snakemake.params.seed,
        plan=Path(snakemake.input.plan),
        records=[Path(path) for path in snakemake.input.records],
        out=Path(out.summary),
    )
    with recorded("report"):
        names = optional_path(snakemake.input.names)
        page = Path(out.page)
        write_report(page.parent, page, Path(out.figures), names, processes=snakemake.threads)
    write_index(page.parent.parent)
