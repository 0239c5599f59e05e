"""Rules merge_scan and merge: checked union of the chunk files (pairtile.steps.merge)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.merge import merge

    second_pass = snakemake.params.stage == "chunks"
    merge(
        config=snakemake.params.analysis,
        plan_file=Path(snakemake.input.plan),
        state=Path(snakemake.input.state),
        null=Path(snakemake.input.null[0]) if second_pass and snakemake.input.null else None,
        chunks=[Path(path) for path in snakemake.input.chunks],
        stage=snakemake.params.stage,
        pairs=Path(snakemake.output.pairs) if second_pass else None,
        summaries=Path(snakemake.output.summaries),
        record=Path(snakemake.output.record),
        in_storage=snakemake.params.in_storage,
    )
