"""Rule export: the network in one format (pairtile.steps.export)."""

from pairtile.runtime.job import job, optional_path

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
        names=optional_path(snakemake.input.names),
        node_tables=[Path(path) for path in snakemake.input.node_tables],
    )
