"""Runs of the whole workflow for the tests: through Snakemake, or step by step in this process."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pairtile.config.load import load_config
from pairtile.config.models import InputFile, marked
from pairtile.config.root import model_of
from pairtile.engine.estimator import estimator_of
from pairtile.engine.stages import NullStage
from pairtile.simulate import Simulation, simulate_kinetic
from pairtile.steps.analysis_run import AnalysisRun, Step, steps_of
from pairtile.steps.plan import Plan, read_plan
from paths import ROOT

if TYPE_CHECKING:
    import pytest

HANGS_SECONDS = 800
"""A run that takes so long hangs; beside other work, a run of 30 jobs was seen to take 240."""

BASE = {
    "method": "mutual_information",
    "expression": "expression.tsv",
    "score": "mi",
    "keep": {"p_value": 0.001},
    "export": ["tsv"],
}
"""A section to start from; every test says what it changes."""

STOP_AT_ONCE = ("--workflow-profile", "none")
"""Without the profile, whose ``keep-going`` computes what does not depend on the fault."""


def write_data(folder: Path, genes: int = 60, samples: int = 60) -> Simulation:
    """A simulated experiment: expression.tsv, regulators.txt and gold_standard.tsv."""
    made = simulate_kinetic(genes, samples, seed=1)
    lines = ["\t".join(["gene", *made.samples])]
    for name, row in zip(made.genes, made.values, strict=True):
        lines.append("\t".join([name, *(f"{value:.6g}" for value in row)]))
    (folder / "expression.tsv").write_text("\n".join(lines) + "\n")
    (folder / "regulators.txt").write_text("\n".join(made.regulators) + "\n")
    edges = [f"{s}\t{t}" for s, t in zip(made.edges["source"], made.edges["target"], strict=True)]
    (folder / "gold_standard.tsv").write_text("\n".join(["source\ttarget", *edges]) + "\n")
    return made


# --- through Snakemake ------------------------------------------------------------------------


def write_config(
    folder: Path,
    analyses: Mapping[str, Mapping[str, Any]],
    name: str = "config.yaml",
    **top: Any,
) -> Path:
    """A configuration of sections as changes of ``BASE``, or as they are where they name a method,
    with ``chunks: 1``, so that each step has a job of its own; returns its path."""
    content = {"backend": "cpu", "seed": 3} | top
    content["analyses"] = {
        key: {"chunks": 1} | ({} if "method" in changes else BASE) | dict(changes)
        for key, changes in analyses.items()
    }
    path = folder / name
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def command(folder: Path, *arguments: str, config: str | None = "config.yaml") -> list[str]:
    """The command line of a run in ``folder`` by the root Snakefile."""
    given = ["--configfile", str(folder / config)] if config else []
    where = ["--directory", str(folder)]
    return [sys.executable, "-m", "snakemake", "--cores", "2", *given, *where, *arguments]


@dataclass(frozen=True)
class Run:
    """What came of a run of Snakemake."""

    code: int
    text: str
    """Standard output and error."""

    @property
    def rules(self) -> set[str]:
        """The rules in the table of jobs that Snakemake prints before it starts."""
        found = re.search(r"^Job stats:\njob .*\n-+ .*\n((?:.+\n)*?)total ", self.text, re.M)
        return {line.split()[0] for line in found[1].splitlines()} - {"default"} if found else set()

    @property
    def done_before(self) -> bool:
        """Snakemake found nothing to do."""
        return "Nothing to be done" in self.text


def run(
    folder: Path,
    *arguments: str,
    config: str | None = "config.yaml",
    cwd: Path = ROOT,
    **variables: str,
) -> Run:
    """Run Snakemake to its end, with some variables of the environment."""
    done = subprocess.run(
        command(folder, *arguments, config=config),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment() | variables,
        timeout=HANGS_SECONDS,
    )
    return Run(done.returncode, done.stdout)


def environment() -> dict[str, str]:
    """As a user's: the package is found by the workflow itself."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


FINISHED = {
    "net": {
        "regulators": "regulators.txt",
        "gold_standard": "gold_standard.tsv",
        "export": ["tsv", "graphml", "parquet", "regulon"],
    },
    "boot": {"score": "clr", "bootstraps": {"number": 4, "alpha": 1.0}, "export": "auto"},
}
"""The analyses of ``finished_run``."""


def finished_run(factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A copy of a folder in which Snakemake ran ``FINISHED`` with its results in ``out/``, and that
    run. It is made once for all tests of a session, also when several workers share them."""
    top = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent
    folder, said = top / "finished_run", top / "finished_run.txt"
    with (top / "finished_run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            folder.mkdir()
            write_data(folder)
            write_config(folder, FINISHED, results="out")
            done = run(folder)
            said.write_text(f"{done.code}\n{done.text}")
    code, text = said.read_text().split("\n", 1)
    copy = shutil.copytree(folder, factory.mktemp("finished") / "run")
    return copy, Run(int(code), text)


def temporary_files(folder: Path) -> list[Path]:
    """What should not be left behind."""
    return [path for path in folder.rglob("*") if ".part" in path.name]


# --- step by step in this process ---------------------------------------------------------------


def within(folder: Path, given: Any) -> Any:
    """A path, or a list of paths, in ``folder``."""
    return (
        [within(folder, one) for one in given] if isinstance(given, list) else str(folder / given)
    )


class Analysis:
    """One analysis run step by step in this process, with the files of the rules.

    ``folder`` holds the data; paths in ``changes`` are relative to it.
    """

    backend = "cpu"

    def __init__(
        self, folder: Path, changes: Mapping[str, Any], name: str = "net", seed: int = 3
    ) -> None:
        self.name, self.seed = name, seed
        section = dict(changes) if "method" in changes else BASE | dict(changes)
        model = model_of(section)
        for key in marked(model, InputFile) if model else ():
            if section.get(key):
                section[key] = within(folder, section[key])
        config = load_config({"backend": "cpu", "seed": seed, "analyses": {name: section}})
        self.model = config.analyses[name]
        self.section = self.model.resolved()
        self.files = self.model.input_files()
        self.out = folder / "results" / name
        self.out.mkdir(parents=True, exist_ok=True)

    @property
    def run(self) -> AnalysisRun:
        return AnalysisRun(self.name, self.model, self.out, self.seed, self.backend)

    @property
    def plan(self) -> Plan:
        return read_plan(self.out / "plan.json")

    @property
    def null_file(self) -> Path | None:
        has_null = issubclass(estimator_of(self.section["method"], self.model), NullStage)
        return self.out / "null.npz" if has_null else None

    def record(self, step: str) -> Path:
        return self.run.record(step)

    def prepare(self) -> Analysis:
        self.run.run_steps(last="plan")
        if self.null_file:
            self.run.run(Step("null"))
        return self

    def chunk_files(self, stage: str) -> list[Path]:
        return [self.out / stage / f"{planned.name}.parquet" for planned in self.plan.chunks]

    def compute(self, stage: str, names: Iterable[str] | None = None) -> Analysis:
        for name in names or [planned.name for planned in self.plan.chunks]:
            self.run.run(Step("chunk", (stage, name)))
        return self

    def merge(self, stage: str = "chunks") -> Analysis:
        self.run.run(Step("merge", (stage,)))
        return self

    def pairs(self) -> Analysis:
        """Everything up to ``pairs.parquet``."""
        self.run.run_steps(last="merge")
        return self

    def bootstrap_files(self) -> list[Path]:
        folder = self.out / "bootstraps"
        return [folder / f"{a:05d}-{b:05d}.parquet" for a, b in self.plan.bootstraps]

    def network(self) -> Analysis:
        """The bootstraps that are not there, and the network."""
        for job, path in zip(self.plan.bootstraps, self.bootstrap_files(), strict=True):
            if not path.exists():
                self.run.run(Step("bootstrap", job))
        self.run.run(Step("network"))
        return self

    def tables(self) -> Analysis:
        """The method's own tables, where it has some."""
        if self.model.result_tables():
            self.run.run(Step("tables"))
        return self

    def evaluate(self) -> Analysis:
        self.run.run(Step("evaluate"))
        return self

    def summary(self) -> Analysis:
        self.run.run(Step("summary"))
        return self

    def results(self) -> Analysis:
        """Tables, evaluation, stages, exports and summary."""
        self.run.run_steps(after="network")
        return self

    def report(self) -> Analysis:
        """The page and its figures, which take longer than all the rest of a small analysis."""
        self.run.run(Step("report"))
        return self

    def make(self) -> Analysis:
        """What is missing of all but the page, as the job of a small analysis does it."""
        steps = (step for step in steps_of(self.run) if step.name not in ("summary", "report"))
        self.run.make(steps)
        return self

    def all(self) -> Analysis:
        """The whole way, but for the page."""
        self.run.run_steps()
        return self
