"""Rule report: summary.json, the page that a person reads, and its figures (pairtile.steps.summary,
pairtile.report)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.report import write_report
    from pairtile.runtime.record import recorded
    from pairtile.steps.summary import summary
    from pairtile.view.index import write_index

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
        page = Path(out.page)
        write_report(page.parent, page, Path(out.figures), processes=snakemake.threads)
    write_index(page.parent.parent)
