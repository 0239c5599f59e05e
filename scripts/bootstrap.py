"""Rule bootstrap: some bootstrap networks (pairtile.steps.bootstrap)."""

from pairtile.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.bootstrap import bootstrap

    bootstrap(
        section=snakemake.params.section,
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        first=int(snakemake.wildcards.first),
        last=int(snakemake.wildcards.last),
        out=Path(snakemake.output.edges),
    )
