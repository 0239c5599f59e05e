"""Rules groups: what the networks of the groups of one analysis share (pairtile.steps.groups)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.groups import groups

    groups(
        name=snakemake.params.analysis_name,
        split=snakemake.params.split.load(),
        config=snakemake.params.analysis.load(),
        networks=[Path(path) for path in snakemake.input.networks],
        summaries=[Path(path) for path in snakemake.input.summaries],
        out=Path(snakemake.output.page).parent,
        seed=snakemake.params.seed,
    )
