"""Rule plan: tiles, chunks, backend and precision of one analysis (pairtile.steps.plan)."""

from pairtile.runtime.job import job

with job(snakemake, threads=snakemake.params.cores.load()):
    from pathlib import Path

    from pairtile.steps.plan import plan

    plan(
        config=snakemake.params.analysis.load(),
        backend=snakemake.params.backend,
        seed=snakemake.params.seed,
        state_folder=Path(snakemake.input.state),
        items=Path(snakemake.input.items_table),
        out=Path(snakemake.output.plan),
        record=Path(snakemake.output.record),
        whole=snakemake.params.whole.load(),
        gpus=snakemake.params.gpus.load(),
        on_cluster=snakemake.params.on_cluster.load(),
    )
