"""``pairtile warm``: compile ahead what a first run of each method would wait for."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from pairtile.command.run import SNAKEFILE, check_workflow
from pairtile.errors import PairtileError
from pairtile.gpu.device import choose, threads
from pairtile.method import Method, methods


def warm() -> Iterator[str]:
    """Run a small analysis of every method, on the CPU and on the GPU where there is one, side by
    side; a line for each that has ended.

    What they compile is kept as that of any run: for the CPU beside the package or, where that
    folder cannot be written, in the user's cache folder; for a GPU in CuPy's.

    Raises
    ------
    ConfigError
        In an installation without the workflow.
    PairtileError
        With the log of an analysis that failed.
    """
    check_workflow()
    found = choose("auto").backend
    backends = ["cpu"] if found == "cpu" else ["cpu", found]
    with ThreadPoolExecutor(threads()) as pool:
        yield from pool.map(try_method, *zip(*product(methods().values(), backends), strict=True))


def try_method(method: Method, backend: str) -> str:
    """Run the method's trial through Snakemake; what is to be said of it."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="pairtile-warm-") as name:
        section = method.write_trial(Path(name))
        if section is None:
            return f"{method.name}: has no trial, nothing is compiled ahead"
        section |= {"method": method.name, "chunks": 1, "export": ["tsv"]}
        config = Path(name) / "config.json"
        config.write_text(json.dumps({"backend": backend, "analyses": {"trial": section}}))
        command = [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
        done = subprocess.run(
            [
                *command,
                *("--configfile", str(config), "--directory", name, "--cores", "1"),
                *("--omit-from", "report"),  # the page compiles nothing
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    if done.returncode:
        raise PairtileError(f"{method.name} on {backend}: the trial failed\n{done.stdout}")
    return f"{method.name}, {backend}: compiled, {time.perf_counter() - start:.0f} s"
