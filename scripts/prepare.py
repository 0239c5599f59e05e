"""Rule prepare: read and clean the input of one analysis (pairtile.steps.prepare)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.prepare import prepare

    prepare(
        config=snakemake.params.analysis.load(),
        seed=snakemake.params.seed,
        inputs=dict(snakemake.input.items()),
        items=Path(snakemake.output.items_table),
        state=Path(snakemake.output.state),
        record=Path(snakemake.output.record),
        checksums=snakemake.config.get("checksums"),
    )
