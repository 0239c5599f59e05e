"""One analysis as a list of steps, declared once (``steps_of``), and the folder of its files.

The rules of Snakemake, the library (``pairtile.analyse``), ``pairtile check`` and the tests run
these steps. Each is the function of its name in the module of its name, is given the
``AnalysisRun``, and reads and writes files of its folder alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Self

from pairtile.config.downstream import stages_of
from pairtile.config.models import Analysis
from pairtile.config.root import Config
from pairtile.engine.custody import Custody, custody
from pairtile.io.in_memory import inputs_in_memory
from pairtile.runtime.files import read_json
from pairtile.steps.result_files import ResultFiles, chunk_name

NAME = "library"
"""What an analysis is called that was not given a name."""


class Step(NamedTuple):
    """A step: its name (that of its rule and of its record), what tells apart those of a name, and
    the module and function, where these have another name."""

    name: str
    arguments: tuple[object, ...] = ()
    module: str = ""


@dataclass(frozen=True)
class AnalysisRun:
    """One analysis, the folder of its results, and what its steps are told.

    Parameters
    ----------
    name
        Of the analysis.
    config
        All of its section, every default filled in; a step takes the keys that it uses.
    folder
        ``results/NAME``.
    seed, backend
        The configuration's.
    inputs
        Configuration key -> where an input file lies on this machine, where that is not what the
        configuration says.
    checksums
        Configured path -> checksum, of files that must be the ones that are meant.
    gpus
        How many GPUs the run may use at once; 0: all of this host.
    on_cluster
        A scheduler starts each job, so that fewer and longer ones are better.
    in_storage
        The files are local copies of objects that only the user can remove.
    given
        Inputs in memory, by what stands for their path (``io.in_memory``).
    is_check
        Nothing follows the plan: what takes long is not computed for it.
    """

    name: str
    config: Analysis
    folder: Path
    seed: int = 1
    backend: str = "auto"
    inputs: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] | None = None
    gpus: int = 1
    on_cluster: bool = False
    in_storage: bool = False
    given: Mapping[str, object] = field(default_factory=dict)
    is_check: bool = False

    @property
    def files(self) -> ResultFiles:
        """All files by their kind."""
        return ResultFiles(str(self.folder), self.config)

    @property
    def state(self) -> Path:
        """The folder of the prepared arrays."""
        return self.folder / "state"

    @property
    def plan(self) -> Path:
        """The plan."""
        return self.folder / "plan.json"

    def record(self, step: str) -> Path:
        """What a step leaves in writing."""
        return self.folder / "steps" / f"{step}.json"

    def local_inputs(self, *steps: str) -> dict[str, str]:
        """Key -> path on this machine of the input files that these steps read."""
        later = self.config.later_inputs()
        files = self.config.input_files()
        keys = [key for step in steps for key in self.config.inputs(step)]
        if "prepare" in steps:
            keys = [key for key in files if key not in later]
        there = (key for key in keys if key in files and files[key] not in self.given)
        return {key: self.inputs.get(key, files[key]) for key in there}

    def run(self, step: Step) -> None:
        """Run one step; what it reads in the folder must be of this analysis."""
        name = step.module or step.name
        function = getattr(import_module(f"pairtile.steps.{name}"), name)
        owner = Custody(self.folder, self.config, self.seed, step.name)
        with inputs_in_memory(self.given), custody(owner):
            function(self, *step.arguments)

    def run_steps(self, after: str = "", last: str = "summary") -> Self:
        """Run the steps that follow one (by default all), in order, to another and with it (by
        default all but the page)."""
        begun, before = not after, ""
        for step in steps_of(self):
            if before == last != step.name:
                break
            begun |= before == after != step.name
            before = step.name
            if begun:
                self.run(step)
        return self


def runs_of(config: Config) -> Iterator[AnalysisRun]:
    """Of every folder of results: each analysis, and each that is split, with the settings of its
    first group."""
    first = {name: config.analyses[next(iter(s.groups))] for name, s in config.splits.items()}
    for name, analysis in (config.analyses | first).items():
        yield AnalysisRun(name, analysis, Path(config.results) / name, config.seed)


def steps_of(run: AnalysisRun) -> Iterator[Step]:
    """The steps that an analysis has, in an order in which they can run. Those after the plan (and
    the exports) depend on what it (the network) says: they come once it is there."""
    config = run.config
    yield Step("prepare")
    if config.needs_network_data:
        yield Step("network_data")
    yield Step("plan")
    plan = read_json(run.plan)
    if plan["null"]:
        yield Step("null")
    chunks = [chunk_name(chunk) for chunk in plan["chunks"]]
    if plan["scan"]:
        yield from (Step("chunk", ("scan", name)) for name in chunks)
        yield Step("merge_scan", ("scan",), "merge")
    yield from (Step("chunk", ("chunks", name)) for name in chunks)
    yield Step("merge", ("chunks",))
    yield from (Step("bootstrap", (job["first"], job["last"])) for job in plan["bootstraps"])
    yield Step("network")
    if config.result_tables():
        yield Step("tables")
    if run.files.evaluation():
        yield Step("evaluate")
    if stages := stages_of(config):
        yield Step("values")
        yield from (Step(stage.name, (stage.name,), "downstream") for stage in stages)
    n_edges = read_json(run.record("network"))["details"]["edges"]
    exports = (path.removeprefix(f"{run.folder}/network.") for path in run.files.exports(n_edges))
    yield from (Step("export", (suffix,)) for suffix in exports if suffix != "parquet")
    yield Step("summary")
    yield Step("report")
