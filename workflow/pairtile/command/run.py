"""``pairtile run``: the workflow from any folder, with short progress."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pairtile.errors import ConfigError

SNAKEFILE = Path(__file__).resolve().parents[3] / "Snakefile"

_JOB = re.compile(r"Job \d+: (.+)$")
_STEPS = re.compile(r"(\d+) of (\d+) steps \(\d+%\) done$")
_TOLD = re.compile(r"\d\d:\d\d:\d\d ((WARNING|ERROR) |INFO (Compiling |.*\d ?%.* left$))")
"""Of the log of a job: warnings, errors, what makes it wait, and how far a long one is."""

_ENDING = "pairtile: "
"""Begins what the workflow says of a run that has ended, whichever way."""

_ABOUT_THE_RUN = ("Complete log(s):", "Elapsed time:")


def run(config: Path, arguments: Sequence[str] = ()) -> int:
    """Run the workflow with a configuration, in the working directory; its exit code.

    arguments : for Snakemake. Without a number of cores or a profile among them, all cores are
    used. Progress, warnings and how the run ended go to standard error.

    Raises
    ------
    ConfigError
        Without the configuration, or in an installation without the workflow.
    """
    if not config.is_file():
        raise ConfigError(f"{config}: found no such file; expected a configuration (pairtile init)")
    if not SNAKEFILE.is_file():
        raise ConfigError(
            f"{SNAKEFILE}: found no such file; expected the workflow beside the package (a "
            "checkout, installed by make setup or pip install -e .)"
        )
    own = ["--snakefile", str(SNAKEFILE), "--configfile", str(config)]
    flags = {argument.partition("=")[0] for argument in arguments}
    if not flags & {"--cores", "-c", "--jobs", "-j", "--profile"}:
        own += ["--cores", "all"]
    command = [sys.executable, "-m", "snakemake", *own, *arguments]
    with subprocess.Popen(
        command, stdout=None, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stderr is not None
        while True:
            try:
                told = tell(process.stderr, _print, time.monotonic)
                code = process.wait()
                break
            except KeyboardInterrupt:  # Snakemake was interrupted, too, and says how it ends
                continue
    if code and not told:
        _print(f"pairtile run: Snakemake ended with exit code {code} before any job.")
    return code


def tell(lines: Iterable[str], say: Callable[[str], None], clock: Callable[[], float]) -> bool:
    """Say of Snakemake's log what a person waits for; whether the run said how it ended.

    Each job is one line, with the share of steps done and the time left as the steps so far
    suggest. Where the run ends without having said how, all that Snakemake said is given back.
    """
    everything = []
    ended = False
    done, start = "  0 %", clock()
    for raw in lines:
        line = raw.rstrip("\n")
        everything.append(line)
        if line.startswith(_ENDING):
            ended = True
        if ended and not line.startswith(_ABOUT_THE_RUN):
            say(line)
        elif job := _JOB.match(line):
            say(f"{done}  {job[1]}")
        elif steps := _STEPS.match(line):
            n, total = int(steps[1]), int(steps[2])
            done = f"{100 * n // total:3d} %"
            left = (clock() - start) * (total - n) / n
            if left >= 5:
                done += f", about {_duration(left)} left"
        elif _TOLD.match(line):
            say(f"       {line[9:]}")
    if not ended:
        for line in everything:
            say(line)
    return ended


def _duration(seconds: float) -> str:
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
