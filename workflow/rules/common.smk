# Configuration, paths, and the few functions that the rules share.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# The package is importable in this process and in every job it starts, installed or not.
WORKFLOW_FOLDER = os.path.dirname(
    os.path.abspath(workflow.current_basedir.get_path_or_uri(secret_free=True))
)
sys.path.insert(0, WORKFLOW_FOLDER)
os.environ["PYTHONPATH"] = os.pathsep.join(
    [WORKFLOW_FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])]
)

from pairtile.config import check_inputs_exist, load_config
from pairtile.errors import ConfigError
from pairtile.files import read_json

try:
    CONFIG = load_config(config)
    if workflow.is_main_process:
        check_inputs_exist(CONFIG)
except ConfigError as error:
    raise WorkflowError(str(error))

# Snakemake knows of its dry run only after the Snakefile is read.
DRY_RUN = bool({"-n", "--dry-run", "--dryrun"} & set(sys.argv))

if workflow.is_main_process:
    # Chunks left by an earlier run are taken over only whole; a damaged one is computed again.
    for analysis in CONFIG.analyses:
        folder = Path(CONFIG.results) / analysis
        if (folder / "scan").is_dir() or (folder / "chunks").is_dir():
            from pairtile.steps.merge import remove_damaged_before_run

            for message in remove_damaged_before_run(folder, dry_run=DRY_RUN):
                logger.warning(f"will be computed again: {message}")

ANALYSIS = f"{CONFIG.results}/{{analysis}}"
LOGS = f"{ANALYSIS}/logs"
STEPS = f"{ANALYSIS}/steps"
ENVIRONMENT = f"{WORKFLOW_FOLDER}/../envs/pairtile.yaml"
SECTIONS = {name: section.model_dump(mode="json") for name, section in CONFIG.analyses.items()}

# Keys that a step does not depend on: a change of them must not run it again.
EXPORTING = {"export"}
PRUNING = {"dpi"} | EXPORTING
CUTTING = {"chunks", "bootstraps"}
JUDGING = {"score", "null", "keep", "gold_standard"}


wildcard_constraints:
    analysis="[A-Za-z0-9][A-Za-z0-9_.-]*",
    stage="scan|chunks",
    chunk=r"tiles-[0-9]+-[0-9]+",


def section_without(*keys):
    """A params function: the analysis' section without what the rule does not depend on."""
    left_out = set().union(*keys)
    return lambda wildcards: {
        key: value for key, value in SECTIONS[wildcards.analysis].items() if key not in left_out
    }


def input_files(wildcards):
    """The files an analysis reads, by their key in the configuration."""
    return CONFIG.analyses[wildcards.analysis].input_files()


def planned(wildcards):
    """The plan of an analysis, as soon as it is there."""
    return read_json(checkpoints.plan.get(analysis=wildcards.analysis).output.plan)


def gpus(wildcards, input):
    """One GPU for a job of an analysis that is planned on CUDA."""
    return int(os.path.exists(input.plan) and read_json(input.plan)["backend"] == "cuda")


def compute_threads(wildcards, input):
    """All cores for a job that computes on the CPU; a job on a GPU needs one to feed it."""
    return 1 if gpus(wildcards, input) else workflow.cores


def chunk_files(stage):
    """An input function: every chunk file of a stage."""

    def files(wildcards):
        return [
            f"{CONFIG.results}/{wildcards.analysis}/{stage}/"
            f"tiles-{chunk['first_tile']:06d}-{chunk['last_tile']:06d}.parquet"
            for chunk in planned(wildcards)["chunks"]
        ]

    return files


def scan_file(wildcards):
    """Sums of the first pass, where the analysis has one."""
    if planned(wildcards)["scan"]:
        return [f"{CONFIG.results}/{wildcards.analysis}/scan.npz"]
    return []
