"""Rules tables_METHOD: the tables of a method beside the network (pairtile.steps.tables)."""

from pairtile.runtime.job import job, optional_path

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.network import MergedFiles, NetworkFiles
    from pairtile.steps.tables import tables

    tables(
        config=snakemake.params.analysis.load(),
        merged_files=MergedFiles(
            plan=Path(snakemake.input.plan),
            state=Path(snakemake.input.state),
            items=Path(snakemake.input.items_table),
            pairs=Path(snakemake.input.pairs),
            summaries=Path(snakemake.input.summaries),
            null=optional_path(snakemake.input.null),
            network_data=optional_path(snakemake.input.network_data),
        ),
        network_files=NetworkFiles(
            network=Path(snakemake.input.network), scores=Path(snakemake.input.scores)
        ),
        folder=Path(snakemake.output.record).parent.parent,
        record=Path(snakemake.output.record),
        inputs=snakemake.input.inputs,
        checksums=snakemake.config.get("checksums"),
    )
