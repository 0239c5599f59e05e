"""Rules of what follows the network, one for each stage (pairtile.steps.downstream)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.downstream import downstream

    downstream(
        name=snakemake.params.stage,
        config=snakemake.params.analysis.load(),
        plan=Path(snakemake.input.plan),
        values=Path(snakemake.input.prepared),
        items=Path(snakemake.input.items_table),
        network=Path(snakemake.input.network),
        network_record=Path(snakemake.input.network_record),
        record=Path(snakemake.output.record),
        inputs=snakemake.input.inputs,
        checksums=snakemake.config.get("checksums"),
    )
