"""Rules of one analysis: steps of it (pairtile.steps), on the files that Snakemake has here."""

from pairtile.runtime.job import Deferred, job

with job(snakemake, getattr(snakemake.params, "cores", Deferred(None)).load()):
    from dataclasses import replace
    from pathlib import Path

    analysis, steps, what_is_missing = snakemake.params.work.load()
    given = snakemake.input.items()
    analysis = replace(
        analysis,
        # Chunks and bootstraps have a folder of their own.
        folder=Path(snakemake.output[0]).parents[steps[0].name in ("chunk", "bootstrap")],
        inputs={k.removeprefix("given."): path for k, path in given if k.startswith("given.")},
    )
    if what_is_missing:
        analysis.make(steps)
    else:
        for step in steps:
            analysis.run(step)
