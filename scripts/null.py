"""Rule null: the null distribution of one analysis (pairtile.steps.null)."""

from pairtile.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.null import null

    null(
        section=snakemake.params.section,
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        out=Path(snakemake.output.null),
        record=Path(snakemake.output.record),
    )
