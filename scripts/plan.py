"""Rule plan: tiles, chunks, backend and precision of one analysis (pairtile.steps.plan)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.plan import plan

    plan(
        config=snakemake.params.analysis,
        backend=snakemake.params.backend,
        seed=snakemake.params.seed,
        state_folder=Path(snakemake.input.state),
        out=Path(snakemake.output.plan),
        record=Path(snakemake.output.record),
    )
