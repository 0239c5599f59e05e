"""One analysis as a list of steps, declared once (``steps_of``), and the folder of its files.

The rules of Snakemake, the library (``pairtile.analyse``), ``pairtile check`` and the tests run
these steps. Each is the function of its name in the module of its name, is given the
``AnalysisRun``, and reads and writes files of its folder alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple, Self

from pairtile import __version__
from pairtile.config.downstream import STAGES, read_of_others, stages_of
from pairtile.config.models import Analysis
from pairtile.config.root import Config
from pairtile.engine.custody import Custody, custody, verified_by_record
from pairtile.errors import StoreError
from pairtile.io.in_memory import inputs_in_memory
from pairtile.runtime.end_together import end_with_parent
from pairtile.runtime.files import checksum_of, json_digest, read_json, verified
from pairtile.runtime.input_changes import input_changed
from pairtile.runtime.job import logged_to
from pairtile.runtime.record import Progress, log
from pairtile.runtime.requests import chunk_name
from pairtile.steps.result_files import ResultFiles

NAME = "library"
"""What an analysis is called that was not given a name."""


class Step(NamedTuple):
    """A step: its name (that of its rule and of its record), what tells apart those of a name, and
    the module and function, where these have another name."""

    name: str
    arguments: tuple[object, ...] = ()
    module: str = ""

    @property
    def file(self) -> str:
        """Of its log, and of its record where it has one, without the ending."""
        match self:
            case Step("export", (suffix,)):
                return f"export.{suffix}"
            case Step("chunk", (stage, chunk)):
                return f"{stage}/{chunk}"
            case Step("bootstrap", (int(first), int(last))):
                return f"bootstraps/{first:05d}-{last:05d}"
        return self.name


_READS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("network_data", "plan", "values"), ("prepare",)),
    **dict.fromkeys(("null", "merge_scan"), ("plan",)),
    # Chunks and bootstraps are what plan, null and first pass make them.
    "merge": ("plan", "null", "merge_scan"),
    "network": ("prepare", "network_data", "plan", "null", "merge_scan", "merge"),
    "tables": ("prepare", "network_data", "plan", "null", "merge", "network"),
    "evaluate": ("prepare", "plan", "merge_scan", "merge", "network"),
    **{s.name: ("prepare", "plan", "network", "values", *s.reads) for s in STAGES},
    "export": ("prepare", "network", "tables"),
}
"""Step with a record -> those of which it reads what they wrote; the page reads all."""

_PAGE = Step("report", (True,))


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
    in_one_job
        All steps, of a small analysis, run in this process, which then keeps the GPU that it
        plans for.
    of_group
        It is compared with others of its kind, which takes its values.
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
    in_one_job: bool = False
    of_group: bool = False

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
        later = self.config.downstream_inputs()
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
        owner = self._owner(step)
        if step.name not in ("chunk", "bootstrap"):  # without a record
            owner.made_from = self._made_from(step)
        with inputs_in_memory(self.given), custody(owner):
            function(self, *step.arguments)

    def make(self, steps: Iterable[Step] = ()) -> None:
        """Run those of some steps (by default of all) that are not done (``is_made``), in order,
        each with a log of its own."""
        whole = self.is_made(_PAGE)
        for step in steps or steps_of(self):
            if whole if step.name in ("summary", "report") else self.is_made(step):
                continue
            # Until it and the page are made again, the analysis is not whole.
            for name in (step.file, "report"):
                self.record(name).unlink(missing_ok=True)
            whole = False
            own = self.folder / f"logs/{step.file}.log"
            with logged_to(own, self.folder):
                self.run(step if step.name != "report" else _PAGE)
            log.info("%s: done (%s)", step.file, own)

    def is_whole(self) -> bool:
        """Whether every step is done."""
        try:
            return all(self.is_made(step) for step in steps_of(self))
        except (StoreError, KeyError):
            return False

    def is_made(self, step: Step) -> bool:
        """Whether what a step writes is there, whole, and made from the settings, the input and the
        files of earlier steps that are there now."""
        from pairtile.engine.state import MANIFEST, verified_state  # rules are read without NumPy

        try:
            with custody(self._owner(step)):
                read_json(self.state / MANIFEST)  # says whose files these have to be
                if step.name == "chunk":
                    return self._has_chunk(*map(str, step.arguments))
                if step.name == "bootstrap":
                    return verified(self.folder / f"{step.file}.parquet").exists()
                if step.name == "summary":
                    return verified(self.folder / "summary.json").exists()
                record = read_json(self.record(step.file))
                for name, checksum in record["files"].items():
                    if verified_by_record(self.folder / name, checksum).name == MANIFEST:
                        verified_state((self.folder / name).parent)
            if record["made_from"] != self._made_from(step):
                return False
        except (StoreError, KeyError):
            return False
        inputs = self.local_inputs(step.name).items()
        changed = (input_changed(self.record(step.file), key, path) for key, path in inputs)
        return all(answer is False for answer in changed)

    def _owner(self, step: Step) -> Custody:
        return Custody(self.folder, self.config, self.seed, step.name)

    def _has_chunk(self, stage: str, name: str) -> bool:
        damaged = resolve_name("pairtile.steps.merge:damaged_chunks")
        plan = resolve_name("pairtile.steps.plan:read_plan")(self.plan)
        return not damaged([self.folder / stage / f"{name}.parquet"], plan.stage_fingerprint(stage))

    def _made_from(self, step: Step) -> str:
        """Digest of what a step makes its files from, beside settings and input files of its
        own."""
        found: dict[str, object] = {"version": __version__}
        if step.name == "plan":
            found["backend"] = self.backend
        for name in _READS.get(step.name, ()):
            with suppress(StoreError, KeyError), custody(self._owner(step)):
                record = read_json(self.record(name))
                read = record["details"].get("inputs", {})
                found[name] = [record["files"], [one["sha256"] for one in read.values()]]
        if step.name in ("tables", *(stage.name for stage in STAGES)):
            others = [self.folder.parent / name for name in read_of_others(self.config)]
            found["others"] = [checksum_of(path) for path in others if path.exists()]
        if step.name == "report":
            records = map(Path, self.files.records(read_json(self.plan)))
            there = (*records, self.folder / "summary.json")
            found |= {path.name: checksum_of(path) for path in there if path.exists()}
        return json_digest(found)

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


def make_all(runs: Sequence[AnalysisRun], processes: int = 1) -> None:
    """``make`` each, by forks of this process where ``processes`` is more than one; what goes wrong
    in one is logged, and raised when all others are done."""
    with (
        ProcessPoolExecutor(processes, get_context("fork"), end_with_parent)
        if processes > 1
        else ThreadPoolExecutor(1)
    ) as pool:
        made = [pool.submit(run.make) for run in runs]
        progress = Progress(len(runs), "analyses")
        for _ in as_completed(made):
            progress.advance(1)
    for one in made:
        one.result()


def runs_of(config: Config) -> Iterator[AnalysisRun]:
    """Of every folder of results: each analysis, and each that is split, with the settings of its
    first group."""
    first = {name: config.analyses[next(iter(s.groups))] for name, s in config.splits.items()}
    for name, analysis in (config.analyses | first).items():
        yield AnalysisRun(name, analysis, Path(config.results) / name, config.seed)


def network_steps(run: AnalysisRun) -> tuple[Step, ...]:
    """The steps of rule ``network``: the network, and all that comes after it but exports and
    page."""
    stages = stages_of(run.config)
    after = {
        "tables": run.config.result_tables(),
        "evaluate": run.files.optional("evaluation.json"),
        "values": stages or run.of_group,
    }
    return (
        Step("network"),
        *(Step(name) for name, there in after.items() if there),
        *(Step(stage.name, (stage.name,), "downstream") for stage in stages),
    )


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
    yield from network_steps(run)
    n_edges = read_json(run.record("network"))["details"]["edges"]
    exports = (path.removeprefix(f"{run.folder}/network.") for path in run.files.exports(n_edges))
    yield from (Step("export", (suffix,)) for suffix in exports if suffix != "parquet")
    yield Step("summary")
    yield Step("report")
