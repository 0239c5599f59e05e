"""Rules tables_METHOD: the tables of a method beside the network (pairtile.steps.tables)."""

from pairtile.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.tables import tables

    tables(
        section=snakemake.params.section,
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
        contacts=Path(snakemake.input.contacts[0]) if snakemake.input.contacts else None,
        inputs=snakemake.input.inputs,
        checksums=snakemake.config.get("checksums"),
    )
