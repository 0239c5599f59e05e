"""Put plausible faults into the code, one at a time, and see whether the tests of its file notice.

    python -m benchmarks.mutations                 # all of mutations.txt
    python -m benchmarks.mutations splines dpi     # those of files with such names

What came out is kept in ``benchmarks/results/mutations.json``; a part replaces what it has tried.

Each fault is put into a copy of the repository. Only tests that ``make test`` runs count. A run
that takes far longer than without the fault has noticed it (it loops).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".txt")
RESULTS = ROOT / "benchmarks/results/mutations.json"
PACKAGE = "workflow/pairtile"
COPIED = ("workflow", "tests", "benchmarks", "config", "scripts", "profiles", "docs", "envs")
COPIED += ("Snakefile", "pyproject.toml", "README.md", ".github", "Makefile", "CONTRIBUTING.md")

# A failing example need not be made small.
NO_SHRINKING = """
from hypothesis import Phase
settings.register_profile("mutations", settings(phases=[Phase.explicit, Phase.generate]))
settings.load_profile("mutations")
"""


class Mutation(NamedTuple):
    """A line ``before`` of ``file`` becomes ``after``; ``reason`` why that changes no result."""

    file: str
    tests: tuple[str, ...]
    before: str
    after: str
    reason: str = ""


def read_mutations() -> list[Mutation]:
    """The list, in its order."""
    found: list[Mutation] = []
    file, tests, before = "", (), ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        mark, text = line[:1], line[2:]
        if mark == "@":
            file, _, names = text.partition(": ")
            tests = tuple(names.split())
        elif mark == "-":
            before = text
        elif mark == "+":
            found.append(Mutation(file, tests, before, text))
        elif mark == "=":
            found[-1] = found[-1]._replace(reason=text)
    return found


def run_tests(root: Path, tests: tuple[str, ...], limit: float | None = None) -> tuple[str, float]:
    """``passed``, ``failed`` or ``too long``, and seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += [str(Path("tests", name)) for name in tests]
    environment = os.environ | {"PYTHONPATH": str(root / "workflow")}
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return "too long", time.monotonic() - begin
    if done.returncode in (4, 5):  # wrong names; anything else but 0 has noticed something
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return ("failed" if done.returncode else "passed"), time.monotonic() - begin


def copy_of(repository: Path, folder: Path) -> Path:
    """What tests need of a repository."""
    for name in COPIED:
        source, target = repository / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    return folder


def outcome(copy: Path, mutation: Mutation, seconds: float) -> str:
    """What the tests say of a copy with the fault; ``seconds``: without it."""
    path = copy / PACKAGE / mutation.file
    text = path.read_text()
    path.write_text(text.replace(mutation.before, mutation.after))
    try:
        return run_tests(copy, mutation.tests, 120.0 + 4.0 * seconds)[0]
    finally:
        path.write_text(text)


def main(names: list[str]) -> None:
    """Try the faults of files whose path holds one of ``names``; without names, all of them."""
    every = [mutation for mutation in read_mutations() if not mutation.reason]
    chosen = [m for m in every if not names or any(name in m.file for name in names)]
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of(ROOT, Path(folder))
        with (copy / "tests/conftest.py").open("a") as file:
            file.write(NO_SHRINKING)
        seconds: dict[tuple[str, ...], float] = {}
        for mutation in chosen:
            if mutation.tests not in seconds:
                state, seconds[mutation.tests] = run_tests(copy, mutation.tests)
                if state != "passed":
                    raise SystemExit(f"{' '.join(mutation.tests)}: {state} without a fault")
            state = outcome(copy, mutation, seconds[mutation.tests])
            print(f"{state:8} {mutation.file}: {mutation.after}", flush=True)
            _keep(every, mutation, state)


def _keep(every: list[Mutation], tried: Mutation, state: str) -> None:
    """Note what came of a fault; what is no longer in the list is dropped."""
    known = json.loads(RESULTS.read_text())["outcomes"] if RESULTS.exists() else {}
    known[f"{tried.file}: {tried.before} -> {tried.after}"] = state
    names = [f"{m.file}: {m.before} -> {m.after}" for m in every]
    outcomes = {name: known[name] for name in names if name in known}
    noticed = sum(state != "passed" for state in outcomes.values())
    content = {
        "faults": len(outcomes),
        "noticed": noticed,
        "noticed_share": noticed / len(outcomes),
        "outcomes": outcomes,
    }
    RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
