# Configuration, paths, and what is done once before any job starts.
import os
import re
import shlex
import sys
import time
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from pairtile.config.addresses import scheme
from pairtile.config.downstream import stages_of
from pairtile.config.load import (
    check_inputs_exist,
    check_results_writable,
    read_mapping_file,
)
from pairtile.cpu.first_run import compile_beside, is_compiled, read_list
from pairtile.errors import ConfigError, PairtileError, StoreError
from pairtile.method import methods
from pairtile.runtime.end_together import ENDS_WITH, end_with_run
from pairtile.runtime.files import file_format, read_json_once
from pairtile.runtime.job import Deferred
from pairtile.runtime.progress import (
    PROGRESS,
    FailedJobs,
    RunProgress,
    planned_jobs,
    print_marked,
)
from pairtile.runtime.record import COMMAND
from pairtile.runtime.requests import is_small_job, is_small, read_requests
from pairtile.runtime.user_cache import do_without_a_home
from pairtile.steps.analysis_run import AnalysisRun, Step, network_steps, runs_of
from pairtile.steps.split import load_run

do_without_a_home()

# With a default storage provider, relative paths lie there; Snakemake itself looks for them.
DEFAULT_STORAGE = internals.has_default_storage(workflow)
MAIN_PROCESS = internals.is_main_process(workflow)

try:
    if MAIN_PROCESS and not IMPORTED:
        for path in filter(os.path.exists, internals.configuration_files(workflow)):
            # Of a key that stands twice, Snakemake itself takes the last.
            read_mapping_file(path)
    CONFIG = load_run(config)
    # Rules of a workflow that imports this one may make its inputs.
    if MAIN_PROCESS and not (DEFAULT_STORAGE or IMPORTED):
        check_inputs_exist(CONFIG)
except ConfigError as error:
    raise WorkflowError(str(error))

if MAIN_PROCESS:
    end_with_run()  # pairtile run
    os.environ.pop(ENDS_WITH, None)
    os.environ.setdefault(COMMAND, shlex.join(["snakemake", *sys.argv[1:]]))

FAILED_JOBS = FailedJobs()
if MAIN_PROCESS and not IMPORTED:
    internals.hear_events(logger, FAILED_JOBS.hear)
    if os.environ.pop(PROGRESS, None):  # pairtile run
        planned = partial(planned_jobs, Path(CONFIG.results))
        PROGRESS_LINES = RunProgress(print_marked, time.monotonic, planned)
        internals.hear_events(logger, PROGRESS_LINES.hear)

ANALYSIS = f"{CONFIG.results}/{{analysis}}"
LOGS = f"{ANALYSIS}/logs"
STEPS = f"{ANALYSIS}/steps"
# From the folder of the rules, as Snakemake looks for it, also in a workflow fetched from elsewhere.
ON_GPU = internals.resource_given(workflow, "gpu") is not None
ENVIRONMENT = f"../../envs/pairtile{'-gpu' * ON_GPU}.yaml"


if MAIN_PROCESS:
    # Whether jobs may compute on a GPU of this machine. Jobs read this file again: those that run
    # here learn it, those of a cluster have a GPU that its submit host need not have.
    os.environ.pop("PAIRTILE_GPU_HERE", None)
    here = internals.executor_name(workflow) in ("local", "dryrun", "touch", None)
    if here and CONFIG.backend != "cpu" and find_spec("cupy"):
        from pairtile.gpu.device import visible_gpus  # Arrays take a while to load.

        if visible_gpus():
            os.environ.update(PAIRTILE_GPU_HERE="1")

# Those that are computed in one job each; all others are cut into steps and chunks.
SMALL = {
    name: analysis
    for name, analysis in CONFIG.analyses.items()
    if is_small(analysis, "PAIRTILE_GPU_HERE" in os.environ) and not DEFAULT_STORAGE
}
LARGE = {name: a for name, a in CONFIG.analyses.items() if name not in SMALL}
OF_GROUPS = {group for split in CONFIG.splits.values() for group in split.groups}


wildcard_constraints:
    # Not those that are split: they have no network of their own.
    analysis="".join(f"(?!{re.escape(name)}/)" for name in (*CONFIG.splits, *SMALL))
    + "[A-Za-z0-9][A-Za-z0-9_.-]*",
    stage="scan|chunks",
    chunk=r"tiles-[0-9]+-[0-9]+",


def jobs_run_in_this_environment():
    """Whether jobs have this machine and this Python: no cluster, no container, no conda."""
    return submits_through("local") and not internals.deploys_software(workflow)


def hold_results_for_this_run():
    """Refuse a run while another works on the same results, and release what a killed one held."""
    from pairtile.runtime.results_lock import hold_results, mark_run

    snakemake_folder = internals.notes_folder(workflow)
    results = snakemake_folder if DEFAULT_STORAGE else CONFIG.results
    hold_results(results)
    if mark_run(snakemake_folder, results):
        internals.release_locks(workflow)
        logger.info("the run before was killed: its locks are released")


def check_packages():
    """Refuse a run beside Snakemake's own packages alone, which suffice to read the rules, for
    --lint and for a dry run. Files of a run are read here, too, wherever its jobs are.
    """
    needed = ("numpy", "pandas", "pyarrow", "scipy", "numba", "matplotlib")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        logger.error(
            f"pairtile: found no {', '.join(missing)} where snakemake runs; expected an installed "
            f"pairtile ({INSTALL}); jobs may have environments of their own (--sdm)"
        )
        sys.exit(1)


# Files of each analysis that were made with other settings: Snakemake would not know of those that
# were copied from another.
OTHER_SETTINGS = {}


def start_run():
    """Let go of what a killed run held, and drop its damaged files. A dry run, --report, --summary,
    --lint ... change nothing."""
    if internals.executor_name(workflow) is None:
        return
    starts_jobs = internals.starts_jobs(workflow)
    if starts_jobs:
        check_packages()
        try:
            if not DEFAULT_STORAGE:
                check_results_writable(CONFIG)
            hold_results_for_this_run()
        except PairtileError as error:
            logger.error(f"pairtile: {error}")
            sys.exit(1)
        if jobs_run_in_this_environment():
            os.environ[ENDS_WITH] = str(os.getpid())
            internals.start_jobs_without_limit(workflow)
            used = {analysis.method for analysis in CONFIG.analyses.values()}
            lists = [read_list(methods()[name].folder) for name in sorted(used)]
            missing = [listed for listed in lists if not is_compiled(listed)]
            # The first job takes two seconds to start. One on a GPU needs less, and says so later.
            if missing and workflow.cores > 1 and "PAIRTILE_GPU_HERE" not in os.environ:
                compile_beside(chain(*missing))
    # What an earlier run left is taken over only whole.
    for run in runs_of(CONFIG):
        if run.folder.is_dir():
            from pairtile.steps.damage import remove_damaged

            found = remove_damaged(run, dry_run=not starts_jobs)
            OTHER_SETTINGS[run.name] = [str(path) for path in found.other_settings]
            if run.name in SMALL and not analysis_run(run.name).is_whole():
                OTHER_SETTINGS[run.name] = [str(run.record("report"))]
            for path, message in found.damaged.items():
                logger.warning(f"made again if needed: {message}")
                if not starts_jobs:
                    internals.take_for_missing(workflow, str(path))


if MAIN_PROCESS:
    internals.before_graph(workflow, (CONFIG.results, *CONFIG.analyses), start_run)


def compared_by_content(path):
    """Whether an input is a file here that no other rule makes."""
    return not (scheme(path) or DEFAULT_STORAGE or IMPORTED)


def analysis_run(name):
    """An analysis as its steps are given it; the script says where folder and inputs are."""
    folder = Path(CONFIG.results) / name
    return AnalysisRun(
        name,
        CONFIG.analyses[name],
        folder,
        seed=CONFIG.seed,
        backend=CONFIG.backend,
        checksums=CONFIG.checksums,
        gpus=number_of_gpus(),
        on_cluster=not submits_through("local"),
        in_storage=DEFAULT_STORAGE,
        in_one_job=name in SMALL,
        of_group=name in OF_GROUPS,
    )


def work_of(*steps, wildcards=(), what_is_missing=False):
    """A params function: the analysis, and steps of it; ``wildcards``: those that are arguments of
    the steps. ``what_is_missing``: only those steps that are not done. Not noted by Snakemake:
    ``settings_for`` says what a change runs again.
    """

    def work(found):
        run = analysis_run(found.analysis)
        more = [getattr(found, name) for name in wildcards]
        more = [int(value) if value.isdecimal() else value for value in more]
        asked = [step._replace(arguments=(*step.arguments, *more)) for step in steps]
        return Deferred((run, asked, what_is_missing))

    return work


def runs_of_share(names, wildcards):
    """The params of a job that computes some small analyses."""
    return Deferred([analysis_run(name) for name in names])


def settings_for(step):
    """A params function: the analysis without the keys that a step does not depend on, as text.
    Snakemake notes parameters of built-in types, and runs a job again when one changed.
    """
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


def preparation_seed(wildcards):
    """The seed, where preparation draws with it; else another seed would prepare again."""
    return CONFIG.seed if CONFIG.analyses[wildcards.analysis].jobs.prepare_seed else 0


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
    return internals.resource_given(workflow, "gpu") or 0


def gpus_at_once():
    """How many GPUs work side by side on this host."""
    from pairtile.gpu.device import visible_gpus

    return max(1, number_of_gpus() or len(visible_gpus()))


def cores_beside_gpus(wildcards):
    """All cores but one for each GPU, for a chunk that the plan keeps for the CPU."""
    return max(1, workflow.cores - gpus_at_once())


def gpus(wildcards, input):
    """One GPU for a job of an analysis that is planned on CUDA; any other asks for none."""
    plan = read_requests(input.plan)
    return 1 if plan and plan.uses_gpu else None


def compute_threads(wildcards, input):
    """All cores for a job that computes on the CPU. A job on a GPU needs one to feed it, or, where
    the method works on the CPU meanwhile, its share of them."""
    if not gpus(wildcards, input):
        return data_threads(wildcards, input)
    if not CONFIG.analyses[wildcards.analysis].jobs.cores_with_gpu:
        return 1
    share = workflow.cores // gpus_at_once()
    return max(1, min(share, data_threads(wildcards, input)))


def data_threads(wildcards, input):
    """All cores, but one where they would save nothing: other jobs run beside this one then."""
    plan = read_requests(input.plan) if "plan" in input.keys() else None
    return 1 if is_small_job(input, plan, workflow.cores) else workflow.cores


def null_threads(wildcards, input):
    """As ``compute_threads``; a null can be long where the pairs are few."""
    return 1 if gpus(wildcards, input) else workflow.cores


def network_gpus(wildcards, input):
    """As ``gpus``, but none where the network and all that follows it are made on the CPU."""
    analysis = CONFIG.analyses[wildcards.analysis]
    on_gpu = analysis.jobs.network_gpu or any(s.gpu for s in stages_of(analysis))
    return gpus(wildcards, input) if on_gpu else None
