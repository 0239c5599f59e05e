"""Rule evaluate: ranking and network against the gold standard (pairtile.steps.evaluate)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.evaluate import evaluate

    evaluate(
        config=snakemake.params.analysis,
        state=Path(snakemake.input.state),
        items=Path(snakemake.input.items_table),
        pairs=Path(snakemake.input.pairs),
        scan=Path(snakemake.input.scan[0]) if snakemake.input.scan else None,
        network=Path(snakemake.input.network),
        out=Path(snakemake.output.evaluation),
        record=Path(snakemake.output.record),
        gold_standard=Path(snakemake.input.gold_standard),
        scores=Path(snakemake.input.scores),
        checksums=snakemake.config.get("checksums"),
    )
