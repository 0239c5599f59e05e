"""Rules tables_METHOD: the tables of a method beside the network (pairtile.steps.tables)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.tables import tables

    tables(
        config=snakemake.params.analysis,
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        items=Path(snakemake.input.items_table),
        null=Path(snakemake.input.null[0]) if snakemake.input.null else None,
        pairs=Path(snakemake.input.pairs),
        summaries=Path(snakemake.input.summaries),
        network=Path(snakemake.input.network),
        scores=Path(snakemake.input.scores),
        folder=Path(snakemake.output.record).parent.parent,
        record=Path(snakemake.output.record),
        network_data=Path(snakemake.input.network_data[0])
        if snakemake.input.network_data
        else None,
        inputs=snakemake.input.inputs,
        checksums=snakemake.config.get("checksums"),
    )
