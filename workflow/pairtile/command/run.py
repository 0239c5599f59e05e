"""``pairtile run``: the workflow from any folder, with short progress."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from pairtile.command.workflow_folder import workflow_folder
from pairtile.errors import ConfigError, PairtileError
from pairtile.runtime.end_together import ENDS_WITH, end_with_parent
from pairtile.runtime.files import read_json
from pairtile.runtime.fork_server import VARIABLE, listen, start_fork_server_for
from pairtile.runtime.record import COMMAND, about

SNAKEFILE = workflow_folder() / "Snakefile"

_JOB = re.compile(r"Job (\d+): ([^:]+): (.+)$")
_FINISHED = re.compile(r"Finished jobid: (\d+) \(Rule: (tables|\w+)")
_STEPS = re.compile(r"(\d+) of (\d+) steps \(\d+%\) done$")
_TOLD = re.compile(
    r"\d\d:\d\d:\d\d ((WARNING|ERROR) |INFO (Compiling |Time left: |.*\d ?%.* left$))"
)
"""Of the log of a job: warnings, errors, what makes it wait, and how far a long one is."""

TRUSTED_SECONDS = 10.0
"""Of work as it was estimated, before the time that jobs take counts as much."""

_STARTS_NO_JOB = {"-n", "--dry-run", "--dryrun", "--unlock", "--report", "--summary", "--touch"}

_ENDING = "pairtile: "
"""Begins what the workflow says of a run that has ended, whichever way."""

_ABOUT_THE_RUN = ("Complete log(s):", "Elapsed time:")


def run(config: Path, arguments: Sequence[str] = ()) -> int:
    """Run the workflow with a configuration, in the working directory; its exit code, or 128 plus
    the number of the signal that ended it.

    arguments : for Snakemake. Without a number of cores or a profile among them, all cores are
    used. Progress, warnings and how the run ended go to standard error. Signals are handed on to
    Snakemake and all jobs, which also end where this process is killed.

    Raises
    ------
    ConfigError
        Without the configuration.
    """
    if not config.is_file():
        raise ConfigError(f"{config}: found no such file; expected a configuration (pairtile init)")
    check_workflow()
    os.environ[COMMAND] = shlex.join(
        ["pairtile", "run", str(config), *bool(arguments) * ["--"], *arguments]
    )
    own = ["--snakefile", str(SNAKEFILE), "--configfile", str(config)]
    flags = {argument.partition("=")[0] for argument in arguments}
    all_cores = not flags & {"--cores", "-c", "--jobs", "-j", "--profile"}
    if all_cores:
        own += ["--cores", "all"]
    # -P: a file in the user's folder must not take the place of a module.
    command = [sys.executable, "-P", "-m", "snakemake", *own, *arguments]
    serve = sys.platform == "linux" and all_cores and not flags & _STARTS_NO_JOB
    with (
        _fork_server(serve, gpu="gpu" in flags) as start_server,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {ENDS_WITH: str(os.getpid())},
            preexec_fn=end_with_parent,
            process_group=0,  # a signal from the terminal comes once, by way of this process
        ) as process,
        _signals_handed_on(process.pid) as received,
    ):
        assert process.stderr is not None
        planned = partial(_planned, start_server(config, process.pid))
        told = tell(process.stderr, _print, time.monotonic, planned)
        code = process.wait()
    if code and received:
        name = signal.Signals(received[0]).name
        _print(f"pairtile run: stopped by {name}; the same command goes on from here.")
        return 128 + received[0]
    if code and not told:
        _print(f"pairtile run: Snakemake ended with exit code {code} before any job.")
    return code


@contextmanager
def _signals_handed_on(group: int) -> Iterator[list[int]]:
    """Signals that this process gets go to a process group; gives those that were to end it."""
    received: list[int] = []

    def hand_on(number: int, frame: FrameType | None) -> None:
        stop = number == signal.SIGTSTP
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(group, signal.SIGSTOP if stop else number)
        if stop:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif number != signal.SIGCONT:
            received.append(number)

    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT)
    # What is ignored, as SIGHUP under nohup, stays ignored, here and in the group.
    heeded = [number for number in ends if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in heeded}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_workflow() -> None:
    """Raises ConfigError in an installation without the workflow."""
    if not SNAKEFILE.is_file():
        raise ConfigError(
            f"{SNAKEFILE}: found no such file; expected the workflow beside the package (a "
            "checkout, installed by make setup or pip install -e .)"
        )


def tell(
    lines: Iterable[str],
    say: Callable[[str], None],
    clock: Callable[[], float],
    planned: Callable[[str], Mapping[str, tuple[int, float]]] = lambda analysis: {},
) -> bool:
    """Say of Snakemake's log what a person waits for; whether the run said how it ended.

    Each job is one line, with the share of steps done and, once all is planned, the time left.
    Where the run ends without having said how, all that Snakemake said is given back.

    planned : of an analysis that has just been planned, the number and the seconds of each rule's
    jobs.
    """
    everything = []
    ended = False
    done = "  0 %"
    left = TimeLeft(clock, planned)
    for raw in lines:
        line = raw.rstrip("\n")
        everything.append(line)
        left.read(line)
        if line.startswith(_ENDING):
            ended = True
        if ended and not line.startswith(_ABOUT_THE_RUN):
            say(line)
        elif job := _JOB.match(line):
            seconds = left.seconds()
            say(f"{done}{f', {about(seconds)} left' if seconds >= 5 else ''}  {job[2]}: {job[3]}")
        elif steps := _STEPS.match(line):
            done = f"{100 * int(steps[1]) // int(steps[2]):3d} %"
        elif _TOLD.match(line):
            say(f"       {line[9:]}")
    if not ended:
        for line in everything:
            say(line)
    return ended


@contextmanager
def _fork_server(wanted: bool, gpu: bool) -> Iterator[Callable[[Path, int], Path]]:
    """Gives a function that starts a server with what the jobs of a configuration import, while
    Snakemake starts, in its process group, and says where their results go. The server ends
    afterwards."""
    listening = listen() if wanted else None
    server = None

    def start(config: Path, group: int) -> Path:
        nonlocal server
        from pairtile.config import load_config  # pydantic takes as long as a small job

        with listening or nullcontext():  # without a server, jobs must not wait for one
            try:
                known = load_config(config)
            except ConfigError:  # Snakemake says so
                return Path()
            if listening is not None:
                threads = len(os.sched_getaffinity(0))
                server = start_fork_server_for(known, listening, threads, gpu, group)
            return Path(known.results)

    try:
        yield start
    finally:
        os.environ.pop(VARIABLE, None)
        if server is not None:
            server.kill()
            server.wait()


class TimeLeft:
    """The time that a run has left: what its plans say of the jobs to come, corrected by how long
    those that have ended took. Arguments: of ``tell``."""

    def __init__(
        self, clock: Callable[[], float], planned: Callable[[str], Mapping[str, tuple[int, float]]]
    ) -> None:
        self.clock, self.planned = clock, planned
        self.started: dict[str, tuple[str, float]] = {}
        self.to_come: dict[str, dict[str, list[float]]] = {}
        self.unplanned: set[str] = set()
        self.took = self.estimated = 0.0

    def read(self, line: str) -> None:
        """One line of Snakemake's log."""
        if job := _JOB.match(line):
            self.started[job[1]] = job[2], self.clock()
            if job[2] not in self.to_come:
                self.unplanned.add(job[2])
        elif (finished := _FINISHED.match(line)) and finished[1] in self.started:
            analysis, start = self.started.pop(finished[1])
            if finished[2] == "plan":
                self.unplanned.discard(analysis)
                jobs = self.planned(analysis)
                self.to_come[analysis] = {rule: [each] * n for rule, (n, each) in jobs.items()}
            elif expected := self.to_come.get(analysis, {}).get(finished[2]):
                self.estimated += expected.pop()
                self.took += self.clock() - start

    def seconds(self) -> float:
        """Of all jobs to come, those that run included; 0 while an analysis is not planned."""
        if self.unplanned:
            return 0.0
        to_come = (sum(each) for jobs in self.to_come.values() for each in jobs.values())
        return sum(to_come) * (self.took + TRUSTED_SECONDS) / (self.estimated + TRUSTED_SECONDS)


def _planned(results: Path, analysis: str) -> dict[str, tuple[int, float]]:
    """Number and seconds of each rule's jobs, by the plan of an analysis; none where it is not to
    be found."""
    try:
        plan = read_json(results / analysis / "plan.json")
        seconds = read_json(results / analysis / "steps/plan.json")["details"]["estimated_seconds"]
    except (OSError, PairtileError, KeyError):
        return {}
    jobs = {"chunk": len(plan["chunks"]) * (2 if plan["scan"] else 1)}
    jobs["bootstrap"] = len(plan["bootstraps"])
    return {rule: (n, each / n) for rule, each in seconds.items() if (n := jobs.get(rule, 1))}


def _print(line: str) -> None:
    with suppress(OSError):  # nobody reads any more (`| head`, a closed terminal): the run goes on
        print(line, file=sys.stderr, flush=True)
