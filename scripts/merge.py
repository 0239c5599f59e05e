"""Rules merge_scan and merge: checked union of the chunk files (pairtile.steps.merge)."""

from pairtile.runtime.job import job, optional_path

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.merge import MergeInputs, MergeOutputs, merge

    second_pass = snakemake.params.stage == "chunks"
    merge(
        config=snakemake.params.analysis.load(),
        stage=snakemake.params.stage,
        inputs=MergeInputs(
            plan=Path(snakemake.input.plan),
            state=Path(snakemake.input.state),
            chunks=[Path(path) for path in snakemake.input.chunks],
            null=optional_path(snakemake.input.null) if second_pass else None,
        ),
        outputs=MergeOutputs(
            summaries=Path(snakemake.output.summaries),
            record=Path(snakemake.output.record),
            pairs=Path(snakemake.output.pairs) if second_pass else None,
        ),
        in_storage=snakemake.params.in_storage,
    )
