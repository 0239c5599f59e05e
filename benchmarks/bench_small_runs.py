"""What runs cost that compute next to nothing: the demo, a few small tables, many small searches,
and the trial of each method.

Each is timed twice by ``pairtile run``, from the command to its end, with ``backend: auto`` but for
the trials: the first run has to compile. ``times_ten_jobs`` is the second beside a run
of ten jobs that only touch a file, of the same moment: other work on the machine slows both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pairtile.method import Method, methods

from benchmarks.bench_workflow import ROOT, expression, write_table

SEARCHES = 40

TEN_JOBS = """
rule all:
    input: expand("{n}.txt", n=range(10))

rule one:
    output: "{n}.txt"
    shell: "touch {output}"
"""


def three_tables(folder: Path) -> dict[str, Any]:
    """Three networks of 300 genes in 30 samples, all settings at their defaults."""
    analyses = {}
    for number in range(3):
        name = f"table_{number}.tsv"
        write_table(folder / name, expression(300, 30, seed=number))
        analyses[f"network_{number}"] = {"method": "mutual_information", "expression": name}
    return {"analyses": analyses}


def many_searches(folder: Path) -> dict[str, Any]:
    """40 miRNA analyses, each of 5 miRNAs on 5 transcripts of 1,000 letters."""
    random = np.random.default_rng(1)
    analyses = {}
    for number in range(SEARCHES):
        files = {"mirnas": f"mirnas_{number}.fa", "transcripts": f"transcripts_{number}.fa"}
        for name, length in zip(files.values(), (22, 1000), strict=True):
            letters = ["".join(random.choice(list("ACGU"), length)) for _ in range(5)]
            records = (f">{name[:-3]}_{k}\n{text}\n" for k, text in enumerate(letters))
            (folder / name).write_text("".join(records))
        analyses[f"search_{number}"] = {"method": "mirna_targets", **files, "export": ["tsv"]}
    return {"analyses": analyses}


def demo(folder: Path) -> dict[str, Any]:
    """The configuration that comes with pairtile, on the files that come with it."""
    (folder / "config").symlink_to(ROOT / "config")
    return dict(yaml.safe_load((ROOT / "config/config.yaml").read_text()))


def trial(method: Method, folder: Path) -> dict[str, Any]:
    """The small analysis of a method that ``pairtile warm`` takes, on the CPU."""
    section = {"method": method.name, **(method.write_trial(folder) or {})}
    return {"backend": "cpu", "analyses": {"trial": section}}


def seconds(folder: Path) -> float:
    """Of one run with the configuration of a folder, into no results."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    return timed(folder, "pairtile", "run", "config.json")


def seconds_of_ten_jobs() -> float:
    """Of Snakemake with next to nothing to do."""
    with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as name:
        (Path(name) / "Snakefile").write_text(TEN_JOBS)
        return timed(Path(name), "snakemake", "--cores", "all")


def timed(folder: Path, *command: str) -> float:
    """Seconds of a module of this Python that runs in a folder."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - start


def run() -> dict[str, Any]:
    """Seconds of the first and of the second run of each."""
    found: dict[str, Any] = {}
    trials = {f"trial of {name}": partial(trial, method) for name, method in methods().items()}
    makers = {make.__name__: make for make in (demo, three_tables, many_searches)} | trials
    for what, make in makers.items():
        with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as name:
            folder = Path(name)
            config = {**make(folder), "results": "results"}
            (folder / "config.json").write_text(json.dumps(config))
            first, again = seconds(folder), seconds(folder)
            found[what] = {
                "seconds_first": first,
                "seconds_again": again,
                "times_ten_jobs": again / seconds_of_ten_jobs(),
            }
    return found
