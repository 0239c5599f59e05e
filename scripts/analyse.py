"""Rules analyse_N: small analyses, one after the other, the steps that are not done.

A fault of one ends it alone, and the job when all others are done.
"""

from pairtile.runtime.job import job

with job(snakemake):
    from pairtile.steps.analysis_run import make_all

    make_all(snakemake.params.work.load())
