"""Rules analyse_N: small analyses, the steps that are not done; many of them side by side.

A fault of one ends it alone, and the job when all others are done.
"""

from pairtile.runtime.job import job
from pairtile.runtime.requests import MAX_SMALL_JOBS
from pairtile.steps.analysis_run import make_all

runs = snakemake.params.work.load()
on_gpu = getattr(snakemake.resources, "gpu", 0)  # of which this job has one
processes = 1 if on_gpu else min(len(runs), snakemake.threads, MAX_SMALL_JOBS)
with job(snakemake, snakemake.threads // processes):
    make_all(runs, processes)
