"""Rule evaluate: ranking and network against the gold standard (pairtile.steps.evaluate)."""

from pairtile.runtime.job import job, optional_path

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.evaluate import EvaluationInputs, evaluate

    evaluate(
        config=snakemake.params.analysis.load(),
        inputs=EvaluationInputs(
            state=Path(snakemake.input.state),
            items=Path(snakemake.input.items_table),
            pairs=Path(snakemake.input.pairs),
            network=Path(snakemake.input.network),
            scores=Path(snakemake.input.scores),
            scan=optional_path(snakemake.input.scan),
            gold_standard=Path(snakemake.input.gold_standard),
        ),
        out=Path(snakemake.output.evaluation),
        record=Path(snakemake.output.record),
        checksums=snakemake.config.get("checksums"),
    )
