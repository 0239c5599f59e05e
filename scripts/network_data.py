"""Rule network_data: what network and tables alone need (pairtile.steps.network_data)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.network_data import network_data

    found = dict(snakemake.input.items())
    network_data(
        config=snakemake.params.analysis.load(),
        items=Path(found.pop("items_table")),
        inputs=found,
        out=Path(snakemake.output.network_data),
        record=Path(snakemake.output.record),
        checksums=snakemake.config.get("checksums"),
    )
