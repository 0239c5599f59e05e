"""Rule network: significance, DPI and the final network (pairtile.steps.network)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.network import network

    network(
        config=snakemake.params.analysis,
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        items=Path(snakemake.input.items_table),
        null=Path(snakemake.input.null[0]) if snakemake.input.null else None,
        pairs=Path(snakemake.input.pairs),
        summaries=Path(snakemake.input.summaries),
        scan=Path(snakemake.input.scan[0]) if snakemake.input.scan else None,
        bootstraps=[Path(path) for path in snakemake.input.bootstraps],
        out=Path(snakemake.output.network),
        scores=Path(snakemake.output.scores),
        record=Path(snakemake.output.record),
        network_data=Path(snakemake.input.network_data[0])
        if snakemake.input.network_data
        else None,
        inputs=snakemake.input.inputs,
        checksums=snakemake.config.get("checksums"),
    )
