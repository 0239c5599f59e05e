"""Rules analyse_N: small analyses, the steps that are not done; many of them side by side.

A fault of one ends it alone, and the job when all others are done.
"""

from pairtile.runtime.job import job

with job(snakemake, max(1, snakemake.threads // snakemake.params.processes.load())):
    from pairtile.steps.analysis_run import make_all

    make_all(snakemake.params.work.load(), snakemake.params.processes.load())
