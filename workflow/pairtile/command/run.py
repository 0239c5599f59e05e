"""``pairtile run``: the workflow from any folder, with short progress."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from pairtile.errors import ConfigError
from pairtile.runtime.end_together import ENDS_WITH, end_with_parent
from pairtile.runtime.progress import ENDING, MARK, PROGRESS
from pairtile.runtime.record import COMMAND


def workflow_folder() -> Path:
    """The folder that holds ``Snakefile`` and ``config/examples``: a checkout, or where a wheel has
    installed them."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "Snakefile").is_file():
        return checkout
    return Path(sysconfig.get_path("data")) / "share" / "pairtile"


SNAKEFILE = workflow_folder() / "Snakefile"

_TOLD = re.compile(
    r"\d\d:\d\d:\d\d ((WARNING|ERROR) |"
    r"INFO (Compiling |Waiting |Time left: |.* so far\b|.*\d ?%.* left$))"
)
"""Of the log of a job: warnings, errors, what makes it wait, and how far a long one is."""

TELL_SECONDS, KILL_SECONDS = 5, 15
"""After the first signal: when a person is told that the run has not ended, and when it is killed.
"""


def run(config: Path, arguments: Sequence[str] = ()) -> int:
    """Run the workflow with a configuration, in the working directory; its exit code, or 128 plus
    the number of the signal that ended it.

    arguments : for Snakemake. Without a number of cores or a profile among them, all cores are
    used. Progress, warnings and how the run ended go to standard error. Signals are handed on to
    Snakemake and all jobs, which also end where this process is killed.

    Raises
    ------
    ConfigError
        Without the configuration, or where the working directory cannot be written.
    """
    if not config.is_file():
        raise ConfigError(f"{config}: found no such file; expected a configuration (pairtile init)")
    check_workflow()
    if not os.access(".", os.W_OK | os.X_OK) and "--directory" not in " ".join(arguments):
        raise ConfigError(
            f"{Path.cwd()}: may not be written, and Snakemake keeps notes in the working folder; "
            "run in another, or choose one (-- --directory DIR)"
        )
    os.environ[COMMAND] = shlex.join(
        ["pairtile", "run", str(config), *bool(arguments) * ["--"], *arguments]
    )
    own = ["--snakefile", str(SNAKEFILE), "--configfile", str(config)]
    flags = {argument.partition("=")[0] for argument in arguments}
    if not flags & {"--cores", "-c", "--jobs", "-j", "--profile"}:
        own += ["--cores", "all"]
    # -P: a file in the user's folder must not take the place of a module.
    command = [sys.executable, "-P", "-m", "snakemake", *own, *arguments]
    with (
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {ENDS_WITH: str(os.getpid()), PROGRESS: "yes"},
            preexec_fn=end_with_parent,
            process_group=0,  # a signal from the terminal comes once, by way of this process
        ) as process,
        _signals_handed_on(process.pid) as received,
    ):
        assert process.stderr is not None
        print_line = partial(_print, unless=received)  # what is interrupted has tracebacks to give
        told = relay(process.stderr, print_line, everything="--logger" in flags)
        code = process.wait()
    if code and received:
        _print(
            f"pairtile run: stopped by {signal.Signals(received[0]).name}; the same command goes "
            "on from here."
        )
        return 128 + received[0]
    if code and not told:
        _print(f"pairtile run: Snakemake ended with exit code {code} before any job.")
    return code


@contextmanager
def _signals_handed_on(group: int) -> Iterator[list[int]]:
    """Signals that this process gets go to a process group; gives those that were to end it. A
    group that has not ended by the first (it may be stopped) is killed after a while, or by a
    second."""
    received: list[int] = []

    def hand_on(number: int, frame: FrameType | None) -> None:
        sent: dict[int, int] = {signal.SIGTSTP: signal.SIGSTOP, signal.SIGCONT: number}
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(group, sent.get(number, signal.SIGKILL if received else number))
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif number != signal.SIGCONT:
            received.append(number)
            signal.alarm(TELL_SECONDS)

    def wait_no_longer(number: int, frame: FrameType | None) -> None:
        signal.signal(number, hand_on)
        signal.alarm(KILL_SECONDS - TELL_SECONDS)
        _print("pairtile run: waiting for jobs to end; a second signal kills them at once")

    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT)
    # What is ignored, as SIGHUP under nohup, stays ignored, here and in the group.
    heeded = [number for number in ends if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in heeded}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, wait_no_longer)
    try:
        yield received
    finally:
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def check_workflow() -> None:
    """Raises ConfigError in an installation without the workflow."""
    if not SNAKEFILE.is_file():
        raise ConfigError(
            f"{SNAKEFILE}: found no such file; expected the workflow beside the package (a "
            "checkout, installed by make setup or pip install -e .)"
        )


def relay(
    lines: Iterable[str], print_line: Callable[[str], None], everything: bool = False
) -> bool:
    """Say of the output of Snakemake and its jobs what a person waits for: the lines of progress,
    and of the jobs' logs the warnings and how far a long one is; whether the run said how it ended.

    Where it did not, all else that was written is given back.

    everything : say every line at once, as for a logger of the user's choice.
    """
    kept = []
    ended = False
    for raw in lines:
        other, mark, progress = raw.rstrip("\n").partition(MARK)
        if other or not mark:
            kept.append(other)
            if everything:
                print_line(other)
            elif _TOLD.match(other):
                print_line(f"       {other[9:]}")
        if mark:
            print_line(progress)
            ended |= progress.startswith(ENDING)
    if not (ended or everything):
        for line in kept:
            print_line(line)
    return ended


def _print(line: str, unless: Sequence[object] = ()) -> None:
    with suppress(OSError):  # nobody reads any more (`| head`, a closed terminal): the run goes on
        if not unless:
            print(line, file=sys.stderr, flush=True)
