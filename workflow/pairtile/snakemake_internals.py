"""All that touches undocumented parts of Snakemake, a small function for each.

Every docstring names the version that it was seen working with, and
``tests/workflow/test_snakemake_internals.py`` has a test of each, which fails where another version
does it in another way. The rules read only what Snakemake's manual describes (``workflow.cores``)
and, to find this package, ``workflow.current_basedir``.
"""

from __future__ import annotations

import _thread
import logging
import os
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.io import _IOFile
    from snakemake.workflow import Workflow


# --- what a run was given ---------------------------------------------------------------------


def is_imported(workflow: Workflow) -> bool:
    """Whether another workflow imports this one by ``module:`` (Snakemake 9.27.1)."""
    return workflow.modifier.parent_modifier is not None


def is_main_process(workflow: Workflow) -> bool:
    """Whether this process plans the run; not one that runs a single job (Snakemake 9.27.1)."""
    return bool(workflow.is_main_process)


def configuration_files(workflow: Workflow) -> list[str]:
    """Those of ``--configfile``, and of ``configfile:`` so far (Snakemake 9.27.1)."""
    return [str(path) for path in workflow.configfiles]


def has_default_storage(workflow: Workflow) -> bool:
    """Whether relative paths lie in storage, by ``--default-storage-provider`` (Snakemake
    9.27.1)."""
    return workflow.storage_settings.default_storage_provider is not None


def deploys_software(workflow: Workflow) -> bool:
    """Whether jobs run in conda environments or containers (Snakemake 9.27.1)."""
    return bool(workflow.deployment_settings.deployment_method)


def cores_given(workflow: Workflow) -> int | None:
    """The number of ``--cores``; None without (Snakemake 9.27.1)."""
    cores: int | None = workflow.resource_settings.cores
    return cores


def resource_given(workflow: Workflow, name: str) -> int | None:
    """The number of a resource in ``--resources``; None without (Snakemake 9.27.1, whose
    resources are objects with a ``value``; they were plain numbers)."""
    if name not in workflow.global_resources:
        return None
    given = workflow.global_resources[name]
    return int(getattr(given, "value", given))


def targets_given(workflow: Workflow) -> list[str]:
    """Rules and files that the command line asks for (Snakemake 9.27.1). Known once the graph of
    jobs is built."""
    return [str(target) for target in workflow.dag_settings.targets]


# --- what kind of run this is: known once the graph of jobs is built --------------------------


def executor_name(workflow: Workflow) -> str | None:
    """``local``, ``slurm``, ``dryrun``, ...; None where jobs are only looked at, as for --report,
    --summary or --lint (Snakemake 9.27.1)."""
    plugin = workflow.executor_plugin
    return None if plugin is None else str(plugin.name)


def starts_jobs(workflow: Workflow) -> bool:
    """Whether jobs will run: no dry run, no --touch, no --report, ... (Snakemake 9.27.1)."""
    is_run = workflow.executor_plugin is not None
    return is_run and not (workflow.dryrun or workflow.touch)


def keeps_going(workflow: Workflow) -> bool:
    """Whether jobs that do not need a failed one still run, by ``--keep-going`` (Snakemake 9.27.1,
    which has no such settings where no job is run)."""
    settings = workflow.execution_settings
    return settings is not None and bool(settings.keep_going)


# --- steering a run ---------------------------------------------------------------------------


class _StartAndBuild:
    """``Workflow._build_dag``, after what is to be done before it."""

    def __init__(self, build: Callable[[], None]) -> None:
        self.build = build
        self.starts: dict[Hashable, Callable[[], None]] = {}

    def __call__(self) -> None:
        for start in self.starts.values():
            start()
        self.build()


def before_graph(workflow: Workflow, key: Hashable, start: Callable[[], None]) -> None:
    """Have ``start`` called at the start of the run, before Snakemake looks which files are there
    and takes its lock (Snakemake 9.27.1: ``Workflow._build_dag``; ``onstart`` comes too late).

    Of several with one ``key`` the last counts: each ``use rule`` reads a module again.
    """
    if not isinstance(workflow._build_dag, _StartAndBuild):
        workflow._build_dag = _StartAndBuild(workflow._build_dag)
    workflow._build_dag.starts[key] = start


def take_for_missing(workflow: Workflow, path: str) -> None:
    """Let the graph of jobs take a file that stays on the disk, as in a dry run, for missing. Call
    it from ``before_graph`` (Snakemake 9.27.1: ``IOCache``)."""
    there, folder = workflow.iocache.exists_local, os.path.dirname(path)
    if folder not in there.has_inventory:
        there.update({entry.path: True for entry in os.scandir(folder)} | {folder: True})
        there.has_inventory.add(folder)
    there[path] = False


def make_again(workflow: Workflow, outputs: Iterable[str]) -> None:
    """Let the jobs run that make some files, as --force does. Call it while the graph of jobs is
    built (Snakemake 9.27.1: ``DAG.forcefiles``)."""
    workflow.dag.forcefiles.update(outputs)


def notes_folder(workflow: Workflow) -> str:
    """Snakemake's own folder, ``.snakemake``. Known once the graph of jobs is built (Snakemake
    9.27.1)."""
    return str(workflow.persistence.path)


def release_locks(workflow: Workflow) -> None:
    """Remove the locks that a killed run has left, as --unlock does. Call it from ``before_graph``
    (Snakemake 9.27.1: it removes the folder of the locks, in which this run is to have its own)."""
    workflow.persistence.unlock()
    os.makedirs(os.path.join(notes_folder(workflow), "locks"), exist_ok=True)


def start_jobs_without_limit(workflow: Workflow) -> None:
    """Drop the limit of jobs a second, which is for clusters (Snakemake 9.27.1 keeps it with a
    timer, which makes a round of the scheduler each second and holds up the end by one)."""
    workflow.scheduling_settings.max_jobs_per_timespan = None


def end_when_told() -> None:
    """Let a run end soon after SIGTERM, and choose jobs without the solver of integer programmes.

    In Snakemake 9.27.1 (``JobScheduler``) the handler waits for a lock that its own thread holds
    while it chooses jobs, so that the run never ends; and jobs that were chosen are still started.
    Here it only sets a flag, and wakes the loop from another thread; a process that a job was just
    about to start gets the signal, too. Another scheduler than the default stays as asked for
    (``--scheduler``).
    """
    from types import SimpleNamespace

    from snakemake import workflow as module
    from snakemake.scheduling.job_scheduler import JobScheduler
    from snakemake.scheduling.milp import Scheduler as ProgrammeScheduler

    class PromptScheduler(JobScheduler):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)
            if isinstance(self._scheduler, ProgrammeScheduler):
                self._job_selector = self.job_selector_greedy

        def exit_gracefully(self, *_: object) -> None:
            self._user_kill = "graceful"
            told.append(True)  # takes no lock
            _thread.start_new_thread(self._open_jobs.release, ())

        def run(self, jobs: Iterable[object], executor: object = None) -> None:
            if not self._user_kill:
                super().run(jobs, executor)
                return
            with self._lock:  # they were chosen before the signal came
                self.running.difference_update(jobs)
            self._open_jobs.release()

    told: list[bool] = []
    shell = import_module("snakemake.shell")

    class Process(shell.sp.Popen):  # type: ignore[name-defined]
        def __init__(self, *given: object, **keys: object) -> None:
            super().__init__(*given, **keys)
            if told:
                self.terminate()

    module.JobScheduler = PromptScheduler
    shell.sp = SimpleNamespace(  # type: ignore[attr-defined]
        **vars(shell.sp) | {"Popen": Process}
    )


def kept(path: str) -> str:
    """Mark an output: its job finds all of its outputs as they were left, and leaves them where it
    fails. Snakemake removes both, or, of outputs with its flag ``update``, keeps a copy, which it
    makes only once for a folder (Snakemake 9.27.1: ``Job``)."""
    from snakemake.io import flag, is_flagged
    from snakemake.jobs import Job

    def unless_kept(remove: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def of_job(self: Job, *given: object) -> None:
            if not is_flagged(self.output[0], "kept"):
                await remove(self, *given)

        return of_job

    if not hasattr(Job, "keeps_marked"):
        Job.keeps_marked = True
        Job.remove_existing_output = unless_kept(Job.remove_existing_output)
        Job.cleanup = unless_kept(Job.cleanup)
    marked: str = flag(path, "kept")
    return marked


@cache
def drop_outdated_copy(file: _IOFile) -> None:
    """Remove Snakemake's local copy of a file in storage that another machine has written since,
    once; ``file.open()`` fetches it again (Snakemake 9.27.1 would read the old one)."""
    if (
        file.is_storage
        and os.path.exists(file)
        and os.path.getmtime(file) < file.storage_object.mtime()
    ):
        os.remove(file)


# --- what happens in a run --------------------------------------------------------------------


@dataclass(frozen=True)
class JobStarted:
    """A job has started, or starts again."""

    job: int
    rule: str
    message: str


@dataclass(frozen=True)
class JobFinished:
    """A job has ended well."""

    job: int


@dataclass(frozen=True)
class JobFailed:
    """A job has failed; it may be tried again."""

    job: int
    rule: str
    logs: tuple[str, ...]


@dataclass(frozen=True)
class StepsDone:
    """So many jobs of the run are done."""

    done: int
    total: int


@dataclass(frozen=True)
class Message:
    """What else is logged, with its level (``logging.INFO``, ...)."""

    text: str
    level: int


Event = JobStarted | JobFinished | JobFailed | StepsDone | Message


def event_of(record: logging.LogRecord) -> Event | None:
    """What a record of Snakemake's logger says, by the events that its interface for logger plugins
    describes (snakemake-interface-logger-plugins 2.1.0, Snakemake 9.27.1)."""
    fields = vars(record)
    match str(fields.get("event") or ""):
        case "job_info":
            return JobStarted(fields["jobid"], fields["rule_name"], fields["rule_msg"] or "")
        case "job_finished":
            return JobFinished(fields["job_id"])
        case "job_error":
            return JobFailed(fields["jobid"], fields["rule_name"], tuple(fields["log"]))
        case "progress":
            return StepsDone(fields["done"], fields["total"])
        case "" | "error":
            return Message(record.getMessage(), record.levelno)
    return None


class _EventHandler(logging.Handler):
    def __init__(self, hear: Callable[[Event], None]) -> None:
        super().__init__()
        self.hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event = event_of(record)
            if event is not None:
                self.hear(event)
        except Exception:  # as every handler: a run does not end of its log
            self.handleError(record)


def hear_events(logger: logging.Logger, hear: Callable[[Event], None]) -> None:
    """Have ``hear`` called with each event that Snakemake logs, whatever --logger and --quiet say.

    A handler on Snakemake's logger, not a plugin: plugins must be named by the option --logger,
    whose last use, on the command line or in a profile, replaces all others (Snakemake 9.27.1).
    """
    logger.addHandler(_EventHandler(hear))
