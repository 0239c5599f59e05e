"""Rule network: significance, DPI and the final network (pairtile.steps.network)."""

from pairtile.runtime.job import job, optional_path

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.network import MergedFiles, NetworkFiles, network

    network(
        config=snakemake.params.analysis.load(),
        merged_files=MergedFiles(
            plan=Path(snakemake.input.plan),
            state=Path(snakemake.input.state),
            items=Path(snakemake.input.items_table),
            pairs=Path(snakemake.input.pairs),
            summaries=Path(snakemake.input.summaries),
            null=optional_path(snakemake.input.null),
            scan=optional_path(snakemake.input.scan),
            network_data=optional_path(snakemake.input.network_data),
            bootstraps=[Path(path) for path in snakemake.input.bootstraps],
        ),
        out=NetworkFiles(
            network=Path(snakemake.output.network), scores=Path(snakemake.output.scores)
        ),
        record=Path(snakemake.output.record),
        inputs=snakemake.input.inputs,
        checksums=snakemake.config.get("checksums"),
    )
