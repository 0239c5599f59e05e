"""Rule null: the null distribution of one analysis (pairtile.steps.null)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.null import null

    null(
        config=snakemake.params.analysis.load(),
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        out=Path(snakemake.output.null),
        record=Path(snakemake.output.record),
    )
