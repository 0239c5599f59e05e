"""Rule bootstrap: some bootstrap networks (pairtile.steps.bootstrap)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.bootstrap import bootstrap

    bootstrap(
        config=snakemake.params.analysis.load(),
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        first=int(snakemake.wildcards.first),
        last=int(snakemake.wildcards.last),
        out=Path(snakemake.output.edges),
    )
