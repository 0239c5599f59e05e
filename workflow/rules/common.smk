# Configuration, paths, and what is done once before any job starts.
import os
import shlex
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# The package is importable in this process and in every job it starts, installed or not.
WORKFLOW_FOLDER = os.path.dirname(
    os.path.abspath(workflow.current_basedir.get_path_or_uri(secret_free=True))
)
if not IMPORTED:
    # A file in the user's folder must not take the place of a module, here or in a job. (An importing
    # workflow may have modules of its own beside it.)
    os.environ.update(PYTHONSAFEPATH="1")
    sys.path[:] = [
        path for path in sys.path if os.path.realpath(path) != os.path.realpath(".")
    ]
sys.path.insert(0, WORKFLOW_FOLDER)
os.environ.update(
    PYTHONPATH=os.pathsep.join(
        [
            WORKFLOW_FOLDER,
            # An empty part would be the working folder.
            *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
        ]
    )
)

from pairtile import __version__ as VERSION
from pairtile.config.addresses import scheme
from pairtile.config import check_inputs_exist, check_results_writable, load_config
from pairtile.config.load import read_mapping_file
from pairtile.errors import ConfigError, PairtileError, StoreError
from pairtile.runtime.end_together import ENDS_WITH, end_with_run
from pairtile.runtime.files import file_format, read_json_once
from pairtile.runtime.fork_server import VARIABLE, listen, start_fork_server_for
from pairtile.runtime.job import Deferred
from pairtile.runtime.record import COMMAND
from pairtile.runtime.requests import is_little, read_requests
from pairtile.runtime.user_cache import do_without_a_home

do_without_a_home()

# With a default storage provider, relative paths lie there; Snakemake itself looks for them.
DEFAULT_STORAGE = workflow.storage_settings.default_storage_provider is not None

try:
    if workflow.is_main_process and not IMPORTED:
        for path in filter(os.path.exists, workflow.configfiles):
            # Of a key that stands twice, Snakemake itself takes the last.
            read_mapping_file(path)
    CONFIG = load_config(config)
    # Rules of a workflow that imports this one may make its inputs.
    if workflow.is_main_process and not (DEFAULT_STORAGE or IMPORTED):
        check_inputs_exist(CONFIG)
except ConfigError as error:
    raise WorkflowError(str(error))

if workflow.is_main_process:
    end_with_run()  # pairtile run
    os.environ.pop(ENDS_WITH, None)
    os.environ.setdefault(COMMAND, shlex.join(["snakemake", *sys.argv[1:]]))

ANALYSIS = f"{CONFIG.results}/{{analysis}}"
LOGS = f"{ANALYSIS}/logs"
STEPS = f"{ANALYSIS}/steps"
ENVIRONMENT = f"{WORKFLOW_FOLDER}/../envs/pairtile.yaml"


wildcard_constraints:
    analysis="[A-Za-z0-9][A-Za-z0-9_.-]*",
    stage="scan|chunks",
    chunk=r"tiles-[0-9]+-[0-9]+",


def jobs_run_in_this_environment():
    """Whether jobs have this machine and this Python: no cluster, no container, no conda."""
    return (
        submits_through("local") and not workflow.deployment_settings.deployment_method
    )


def start_jobs_faster():
    """Import once what jobs import: many of them compute for less time than that takes."""
    # The server needs sockets of Linux; pairtile run may have started it already.
    if sys.platform == "linux" and VARIABLE not in os.environ:
        start_fork_server_for(
            CONFIG, listen(), workflow.cores, "gpu" in workflow.global_resources
        )
    # A limit for clusters. Snakemake keeps it with a timer for each round of its scheduler, which
    # makes a round of its own each second and holds up the end by one.
    workflow.scheduling_settings.max_jobs_per_timespan = None


def hold_results_for_this_run():
    """Refuse a run while another works on the same results, and release what a killed one held."""
    from pairtile.runtime.results_lock import hold_results, mark_run

    snakemake_folder = workflow.persistence.path
    results = snakemake_folder if DEFAULT_STORAGE else CONFIG.results
    hold_results(results)
    if mark_run(snakemake_folder, results):
        workflow.persistence.unlock()
        # It takes away the folder of the lock files, in which this run is to have its own.
        os.makedirs(os.path.join(snakemake_folder, "locks"), exist_ok=True)
        logger.info("the run before was killed: its locks are released")


@cache
def clean_up_interrupted_run():
    """Before the first job: let go of what a killed run held, and drop its damaged files.

    Called while the graph of jobs is built, when Snakemake knows whether it will run any: a dry
    run, --report, --summary, --lint ... must change nothing.
    """
    if not workflow.is_main_process or workflow.executor_plugin is None:
        return
    starts_jobs = not (workflow.dryrun or workflow.touch)
    if starts_jobs:
        try:
            if not DEFAULT_STORAGE:
                check_results_writable(CONFIG)
            hold_results_for_this_run()
        except PairtileError as error:
            # Snakemake would put a dozen lines about an input function around it.
            logger.error(f"pairtile: {error}")
            sys.exit(1)
        if jobs_run_in_this_environment():
            os.environ[ENDS_WITH] = str(os.getpid())
            start_jobs_faster()
        else:
            os.environ.pop(VARIABLE, None)
    # What an earlier run left is taken over only whole.
    for analysis in CONFIG.analyses:
        folder = Path(CONFIG.results) / analysis
        if folder.is_dir():
            from pairtile.steps.damage import remove_damaged

            for path, message in remove_damaged(folder, not starts_jobs).items():
                logger.warning(f"made again if needed: {message}")
                take_for_missing(str(path))


def take_for_missing(path):
    """Let Snakemake take a file for missing, whether it has looked already or, as in a dry run, the
    file stays."""
    there, folder = workflow.iocache.exists_local, os.path.dirname(path)
    if folder not in there.has_inventory:
        there.update(
            {entry.path: True for entry in os.scandir(folder)} | {folder: True}
        )
        there.has_inventory.add(folder)
    there[path] = False


@cache
def drop_outdated_copy(file):
    """Remove the local copy of a file in storage that another machine has written since."""
    if file.is_storage and os.path.exists(file):
        if os.path.getmtime(file) < file.storage_object.mtime():
            os.remove(file)


def compared_by_content(path):
    """Whether an input is a file here that no other rule makes."""
    return not (scheme(path) or DEFAULT_STORAGE or IMPORTED)


def analysis_for(step):
    """A params function: the analysis without the keys that a step does not depend on, so that a
    change of them does not run it again."""
    return lambda wildcards: Deferred(
        CONFIG.analyses[wildcards.analysis].for_step(step)
    )


def analysis_to_prepare(wildcards):
    """The analysis, with the names that preparation looks for in the data."""
    return Deferred(CONFIG.analyses[wildcards.analysis].to_prepare())


def settings_for(step):
    """A params function: ``analysis_for`` as text. Snakemake notes only parameters of built-in
    types, and runs a job again when a noted one changed."""
    return lambda wildcards: repr(
        without_paths(CONFIG.analyses[wildcards.analysis]).for_step(step)
    )


def without_paths(analysis):
    """An analysis with what the end of their names says of its inputs: elsewhere and under another
    name, the same content gives the same."""
    return analysis.with_inputs(
        {
            key: file_format(path)
            for key, path in analysis.input_files().items()
            if compared_by_content(path)
        }
    )


def whole_analysis(wildcards):
    """The analysis, for what changes no file but the record."""
    return Deferred(CONFIG.analyses[wildcards.analysis])


def inputs_to_check(wildcards):
    """The analysis, where later steps read files or look for names."""
    return Deferred(CONFIG.analyses[wildcards.analysis].inputs_to_check())


def preparation_seed(wildcards):
    """The seed, where preparation draws with it; else another seed would prepare again."""
    return CONFIG.seed if CONFIG.analyses[wildcards.analysis].draws_in_prepare else 0


def all_cores(wildcards):
    """Every core of the run; asked for only when a job is at hand, as --report has no --cores."""
    return workflow.cores


def plan_threads(wildcards):
    """One core where another plan may run beside: all are used, but for half a second at most. A
    job elsewhere has no more than it asks for, and plans for as many."""
    return 1 if jobs_run_in_this_environment() else workflow.cores


def number_of_gpus():
    """GPUs that jobs may use side by side: what --resources says, else (0) all of this host. For
    jobs of a cluster, which take long to start, work is not cut by them."""
    if not submits_through("local"):
        return 1
    if "gpu" not in workflow.global_resources:
        return 0
    given = workflow.global_resources["gpu"]
    return int(getattr(given, "value", given))  # older Snakemake: a number


def gpus_at_once(wildcards):
    """``number_of_gpus``, not noted by Snakemake: a run on fewer goes on with the same plan."""
    return Deferred(number_of_gpus())


def gpus(wildcards, input):
    """One GPU for a job of an analysis that is planned on CUDA; any other asks for none."""
    plan = read_requests(input.plan)
    return 1 if plan and plan.uses_gpu else None


def compute_threads(wildcards, input):
    """All cores for a job that computes on the CPU. A job on a GPU needs one to feed it, or, where
    the method works on the CPU meanwhile, its share of them."""
    if not gpus(wildcards, input):
        return data_threads(wildcards, input)
    if not CONFIG.analyses[wildcards.analysis].works_beside_gpu:
        return 1
    from pairtile.gpu.device import visible_gpus

    share = workflow.cores // max(1, number_of_gpus() or len(visible_gpus()))
    return max(1, min(share, data_threads(wildcards, input)))


def data_threads(wildcards, input):
    """All cores, but one where they would save nothing: other jobs run beside this one then."""
    plan = read_requests(input.plan) if "plan" in input.keys() else None
    return 1 if is_little(input, plan, workflow.cores) else workflow.cores


def null_threads(wildcards, input):
    """As ``compute_threads``; a null can be long where the pairs are few."""
    return 1 if gpus(wildcards, input) else workflow.cores


def network_gpus(wildcards, input):
    """As ``gpus``, but none where the method makes its network on the CPU."""
    on_cpu = CONFIG.analyses[wildcards.analysis].network_on_cpu
    return None if on_cpu else gpus(wildcards, input)
