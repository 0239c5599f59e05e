"""Rule contacts: which items touch, for network and tables (pairtile.steps.contacts)."""

from pairtile.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.contacts import contacts

    found = dict(snakemake.input.items())
    contacts(
        section=snakemake.params.section,
        items=Path(found.pop("items_table")),
        inputs=found,
        out=Path(snakemake.output.contacts),
        record=Path(snakemake.output.record),
        checksums=snakemake.config.get("checksums"),
    )
