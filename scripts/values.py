"""Rule values: the prepared expression for what follows the network (pairtile.steps.values)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.values import values

    inputs = dict(snakemake.input.items())
    values(
        config=snakemake.params.analysis.load(),
        items=Path(inputs.pop("items_table")),
        inputs=inputs,
        out=Path(snakemake.output.values),
        record=Path(snakemake.output.record),
    )
