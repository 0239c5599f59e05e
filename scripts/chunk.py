"""Rule chunk: one chunk of tiles, first or second pass (pairtile.steps.chunk)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.chunk import chunk

    chunk(
        config=snakemake.params.analysis,
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        null=Path(snakemake.input.null[0]) if snakemake.input.null else None,
        scan=Path(snakemake.input.scan[0]) if snakemake.input.scan else None,
        stage=snakemake.wildcards.stage,
        name=snakemake.wildcards.chunk,
        out=Path(snakemake.output.chunk),
    )
