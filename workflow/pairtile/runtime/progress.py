"""What a person reads while ``pairtile run`` runs: jobs, the share of them done, the time left.

``RunProgress`` hears the events of the run in Snakemake's process and writes each line, marked, to
standard error, from which ``pairtile run`` takes it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pairtile.errors import PairtileError
from pairtile.runtime.files import read_json
from pairtile.runtime.record import format_duration
from pairtile.snakemake_internals import (
    Event,
    JobFailed,
    JobFinished,
    JobStarted,
    Message,
    StepsDone,
)

PROGRESS = "PAIRTILE_PROGRESS"
"""The environment variable with which ``pairtile run`` asks for progress."""

MARK = "\x1f"
"""Begins a line of progress in the output of Snakemake and its jobs."""

ENDING = "pairtile: "
"""Begins what the workflow says of a run that has ended, whichever way."""

TRUSTED_SECONDS = 10.0
"""Of work as it was estimated, before the time that jobs take counts as much."""

RULES = ("null", "chunk", "bootstrap", "merge", "export", "report")
"""Those that follow the plan, but for ``network``, whose jobs do all other steps."""

PlannedJobs = Callable[[str], Mapping[str, tuple[int, float]]]
"""Of an analysis that has just been planned, the number and the seconds of each rule's jobs."""


class FailedJobs:
    """The jobs of a run that have failed and did not end well when tried again."""

    def __init__(self) -> None:
        self._jobs: dict[int, JobFailed] = {}

    def hear(self, event: Event) -> None:
        """One event of the run."""
        if isinstance(event, JobFailed):
            self._jobs[event.job] = event
        elif isinstance(event, JobFinished):
            self._jobs.pop(event.job, None)

    def logs(self) -> list[tuple[str, str]]:
        """Rule and log of each; of those whose logs lie in one folder, such as the chunks of an
        analysis, the last."""
        with_log = [job for job in self._jobs.values() if job.logs]
        last = {(job.rule, Path(job.logs[0]).parent): job.logs[0] for job in with_log}
        return [(rule, log) for (rule, _), log in last.items()]


class RunProgress:
    """One line for each job, with the share of steps done and, once all is planned, the time left;
    and how the run ended, with what Snakemake warns of afterwards."""

    def __init__(
        self, print_line: Callable[[str], None], clock: Callable[[], float], planned: PlannedJobs
    ) -> None:
        self.print_line, self.left = print_line, TimeLeft(clock, planned)
        self.done = "  0 %"
        self.ended = False

    def hear(self, event: Event) -> None:
        """One event of the run."""
        match event:
            case JobStarted(job, rule, message) if message:
                analysis, of_analysis, _ = message.partition(": ")
                if of_analysis:
                    self.left.start(job, analysis, rule)
                seconds = self.left.seconds()
                left = f", {format_duration(seconds)} left" if seconds >= 5 else ""
                self.print_line(f"{self.done}{left}  {message}")
            case JobFinished(job):
                self.left.finish(job)
            case StepsDone(done, total):
                self.done = f"{100 * done // total:3d} %"
            case Message(text, level):
                says_end = text.startswith(ENDING)
                if says_end or (self.ended and level >= logging.WARNING):
                    for line in text.splitlines():
                        self.print_line(line)
                self.ended |= says_end


class TimeLeft:
    """The time that a run has left: what its plans say of the jobs to come, corrected by how long
    those that have ended took."""

    def __init__(self, clock: Callable[[], float], planned: PlannedJobs) -> None:
        self.clock, self.planned = clock, planned
        self.started: dict[int, tuple[str, str, float]] = {}
        self.to_come: dict[str, dict[str, list[float]]] = {}
        self.unplanned: set[str] = set()
        self.took = self.estimated = 0.0

    def start(self, job: int, analysis: str, rule: str) -> None:
        """A job of an analysis starts."""
        # Of several of a kind: analyse_2, cpu_chunk.
        rule = rule.rstrip("0123456789").removesuffix("_").removeprefix("cpu_")
        self.started[job] = analysis, rule, self.clock()
        if analysis not in self.to_come:
            self.unplanned.add(analysis)

    def finish(self, job: int) -> None:
        """A job has ended well."""
        if job not in self.started:
            return
        analysis, rule, start = self.started.pop(job)
        if rule in ("plan", "analyse"):
            self.unplanned.discard(analysis)
        if rule == "plan":
            jobs = self.planned(analysis)
            self.to_come[analysis] = {rule: [each] * n for rule, (n, each) in jobs.items()}
        elif expected := self.to_come.get(analysis, {}).get(rule):
            self.estimated += expected.pop()
            self.took += self.clock() - start

    def seconds(self) -> float:
        """Of all jobs to come, those that run included; 0 while an analysis is not planned."""
        if self.unplanned:
            return 0.0
        to_come = (sum(each) for jobs in self.to_come.values() for each in jobs.values())
        return sum(to_come) * (self.took + TRUSTED_SECONDS) / (self.estimated + TRUSTED_SECONDS)


def planned_jobs(results: Path, analysis: str) -> dict[str, tuple[int, float]]:
    """Number and seconds of each rule's jobs, by the plan of an analysis; none where it is not to
    be found."""
    try:
        plan = read_json(results / analysis / "plan.json")
        seconds = read_json(results / analysis / "steps/plan.json")["details"]["estimated_seconds"]
    except (OSError, PairtileError, KeyError):
        return {}
    jobs = {
        "chunk": len(plan["chunks"]) * (2 if plan["scan"] else 1),
        "bootstrap": len(plan["bootstraps"]),
    }
    own = {step: seconds.pop(step) for step in RULES if step in seconds}
    all_rules = own | {"network": sum(seconds.values())}
    return {rule: (n, each / n) for rule, each in all_rules.items() if (n := jobs.get(rule, 1))}


def print_marked(line: str) -> None:
    """Write a line of progress for ``pairtile run``."""
    with suppress(OSError):
        sys.stderr.write(f"{MARK}{line}\n")
        sys.stderr.flush()
