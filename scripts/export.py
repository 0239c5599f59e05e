"""Rule export: the network in one format (pairtile.steps.export)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.export import export

    export(
        name=snakemake.wildcards.analysis,
        method=snakemake.params.method,
        format=snakemake.params.format,
        network=Path(snakemake.input.network),
        items=Path(snakemake.input.items_table),
        network_record=Path(snakemake.input.network_record),
        out=Path(snakemake.output.file),
        node_tables=[Path(path) for path in snakemake.input.node_tables],
    )
