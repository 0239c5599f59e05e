"""Rule chunk: one chunk of tiles, first or second pass (pairtile.steps.chunk)."""

from pairtile.runtime.job import job, optional_path

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.chunk import chunk

    chunk(
        config=snakemake.params.analysis.load(),
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        null=optional_path(snakemake.input.null),
        scan=optional_path(snakemake.input.scan),
        stage=snakemake.wildcards.stage,
        name=snakemake.wildcards.chunk,
        out=Path(snakemake.output.chunk),
        reuse=getattr(snakemake.params.whole.load(), "reuse", None),
    )
