"""Rule summary: join the records of all steps into summary.json (pairtile.steps.summary)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.summary import summary

    summary(
        name=snakemake.wildcards.analysis,
        config=snakemake.params.analysis,
        seed=snakemake.params.seed,
        plan=Path(snakemake.input.plan),
        records=[Path(path) for path in (*snakemake.input.checked, *snakemake.input.records)],
        out=Path(snakemake.output.summary),
    )
