"""Rule check_inputs: what only later steps read, looked at early (pairtile.steps.check_inputs)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.check_inputs import check_inputs

    found = dict(snakemake.input.items())
    check_inputs(
        config=snakemake.params.analysis,
        items=Path(found.pop("items_table")),
        state=Path(found.pop("state")),
        inputs=found,
        record=Path(snakemake.output.record),
        checksums=snakemake.config.get("checksums"),
    )
