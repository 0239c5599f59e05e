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
from pairtile.config import load_config
from pairtile.config.models import InputFile, marked
from pairtile.config.network import exported_formats
from pairtile.config.root import model_of
from pairtile.engine.estimator import estimator_of
from pairtile.engine.stages import NullStage
from pairtile.report import write_report
from pairtile.runtime.files import read_json
from pairtile.simulate import Simulation, simulate_kinetic
from pairtile.steps.bootstrap import bootstrap
from pairtile.steps.chunk import chunk
from pairtile.steps.evaluate import EvaluationInputs, evaluate
from pairtile.steps.export import export
from pairtile.steps.merge import MergeInputs, MergeOutputs, merge
from pairtile.steps.network import MergedFiles, NetworkFiles, network
from pairtile.steps.network_data import network_data
from pairtile.steps.null import null
from pairtile.steps.plan import Plan, plan, read_plan
from pairtile.steps.prepare import prepare
from pairtile.steps.result_files import EXPORT_SUFFIX, ResultFiles
from pairtile.steps.summary import summary
from pairtile.steps.tables import tables
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
    """A configuration of sections as changes of ``BASE``; returns its path."""
    content = {"backend": "cpu", "seed": 3} | top
    content["analyses"] = {
        key: dict(changes) if "method" in changes else BASE | dict(changes)
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
    """One analysis run by its step functions, in the order and with the files of the rules.

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
    def plan(self) -> Plan:
        return read_plan(self.out / "plan.json")

    @property
    def scan(self) -> Path | None:
        return self.out / "scan.npz" if self.plan.scan else None

    @property
    def null_file(self) -> Path | None:
        has_null = issubclass(estimator_of(self.section["method"]), NullStage)
        return self.out / "null.npz" if has_null else None

    @property
    def network_data_file(self) -> Path | None:
        return self.out / "network_data.npz" if self.model.needs_network_data else None

    def record(self, step: str) -> Path:
        return self.out / "steps" / f"{step}.json"

    def prepare(self) -> Analysis:
        items = self.out / "items.parquet"
        later = self.model.later_inputs()
        inputs = {key: path for key, path in self.files.items() if key not in later}
        record = self.record("prepare")
        prepare(self.model.to_prepare(), self.seed, inputs, items, self.out / "state", record)
        if self.network_data_file:
            found = self.network_data_file, self.record("network_data")
            network_data(self.model.for_step("network_data"), items, inputs, *found)
        state = self.out / "state"
        out = self.out / "plan.json"
        asked, record = self.model.for_step("plan"), self.record("plan")
        plan(asked, self.backend, self.seed, state, items, out, record, self.model)
        if self.null_file:
            asked, record = self.model.for_step("score"), self.record("null")
            null(asked, out, state, self.null_file, record)
        return self

    def chunk_files(self, stage: str) -> list[Path]:
        return [self.out / stage / f"{planned.name}.parquet" for planned in self.plan.chunks]

    def compute(self, stage: str, names: Iterable[str] | None = None) -> Analysis:
        for name in names or [planned.name for planned in self.plan.chunks]:
            chunk(
                self.model.for_step("score"),
                self.out / "plan.json",
                self.out / "state",
                self.null_file,
                self.scan if stage == "chunks" else None,
                stage,
                name,
                self.out / stage / f"{name}.parquet",
                getattr(self.model, "reuse", None),
            )
        return self

    def merge(self, stage: str = "chunks", files: list[Path] | None = None) -> Analysis:
        second = stage == "chunks"
        merge(
            self.model.for_step("score"),
            stage,
            MergeInputs(
                self.out / "plan.json",
                self.out / "state",
                self.chunk_files(stage) if files is None else files,
                self.null_file if second else None,
            ),
            MergeOutputs(
                self.out / f"{stage}.npz",
                self.record("merge" if second else "merge_scan"),
                self.out / "pairs.parquet" if second else None,
            ),
        )
        return self

    def pairs(self) -> Analysis:
        """Everything up to ``pairs.parquet``."""
        self.prepare()
        if self.plan.scan:
            self.compute("scan").merge("scan")
        return self.compute("chunks").merge()

    def bootstrap_files(self) -> list[Path]:
        folder = self.out / "bootstraps"
        return [folder / f"{a:05d}-{b:05d}.parquet" for a, b in self.plan.bootstraps]

    @property
    def merged_files(self) -> MergedFiles:
        return MergedFiles(
            plan=self.out / "plan.json",
            state=self.out / "state",
            items=self.out / "items.parquet",
            pairs=self.out / "pairs.parquet",
            summaries=self.out / "chunks.npz",
            null=self.null_file,
            scan=self.scan,
            network_data=self.network_data_file,
            bootstraps=self.bootstrap_files(),
        )

    @property
    def network_files(self) -> NetworkFiles:
        return NetworkFiles(self.out / "network.parquet", self.out / "scores.npz")

    def network(self) -> Analysis:
        asked = self.model.for_step("network")
        for (first, last), path in zip(self.plan.bootstraps, self.bootstrap_files(), strict=True):
            if not path.exists():
                plan_file, state = self.out / "plan.json", self.out / "state"
                bootstrap(asked, plan_file, state, first, last, path)
        network(asked, self.merged_files, self.network_files, self.record("network"))
        return self

    def tables(self) -> Analysis:
        """The method's own tables, where it has some."""
        if self.model.result_tables():
            # As the rule: without scan and bootstraps.
            merged_files = self.merged_files._replace(scan=None, bootstraps=())
            asked, record = self.model.for_step("tables"), self.record("tables")
            tables(asked, merged_files, self.network_files, self.out, record)
        return self

    def evaluate(self) -> Analysis:
        evaluate(
            self.model.for_step("evaluate"),
            EvaluationInputs(
                self.out / "state",
                self.out / "items.parquet",
                self.out / "pairs.parquet",
                *self.network_files,
                self.scan,
            ),
            self.out / "evaluation.json",
            self.record("evaluate"),
        )
        return self

    def results(self) -> Analysis:
        """Tables, evaluation, exports and summary."""
        self.tables()
        if self.section.get("gold_standard"):
            self.evaluate()
        n_edges = read_json(self.record("network"))["details"]["edges"]
        for form in exported_formats(self.model.export, n_edges):
            if form != "parquet":
                suffix = EXPORT_SUFFIX.get(form, form)
                export(
                    self.name,
                    self.section["method"],
                    form,
                    self.out / "network.parquet",
                    self.out / "items.parquet",
                    self.record("network"),
                    self.out / f"network.{suffix}",
                    [Path(path) for path in ResultFiles(str(self.out), self.model).node_tables()],
                )
        records = sorted((self.out / "steps").glob("*.json"))
        out = self.out / "summary.json"
        summary(self.name, self.model, self.seed, self.out / "plan.json", records, out)
        return self

    def report(self) -> Analysis:
        """The page and its figures, which take longer than all the rest of a small analysis."""
        page, figures = self.out / "report.html", self.out / "figures"
        write_report(self.out, page, figures)
        return self

    def all(self) -> Analysis:
        """The whole way, but for the page."""
        return self.pairs().network().results()
