"""Rule plan: tiles, chunks, backend and precision of one analysis (pairtile.steps.plan)."""

from pairtile.runtime.job import job

with job(snakemake, threads=snakemake.params.cores.load()):
    from pathlib import Path

    from pairtile.steps.later_inputs import check_later_inputs
    from pairtile.steps.plan import plan

    state = Path(snakemake.input.state)
    later = snakemake.params.later.load()
    if later is not None:
        check_later_inputs(later, state, Path(snakemake.input.items_table))
    plan(
        config=snakemake.params.analysis.load(),
        backend=snakemake.params.backend,
        seed=snakemake.params.seed,
        state_folder=state,
        out=Path(snakemake.output.plan),
        record=Path(snakemake.output.record),
        whole=snakemake.params.whole.load(),
        gpus=snakemake.params.gpus.load(),
    )
