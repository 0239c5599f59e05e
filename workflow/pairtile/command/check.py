"""``pairtile check``: read a configuration and its inputs, and say what a run would do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairtile.config.addresses import scheme
from pairtile.config.downstream import label_columns
from pairtile.config.load import check_inputs_exist, check_results_writable
from pairtile.config.models import Analysis
from pairtile.config.preprocess import TableAnalysis
from pairtile.declare.messages import Message, notes_of, warnings_of
from pairtile.engine.time_estimate import format_steps
from pairtile.errors import PairtileError
from pairtile.io.input_files import verify_checksum
from pairtile.report.formats import memory, pluralise
from pairtile.runtime.files import read_json
from pairtile.runtime.record import format_duration
from pairtile.steps.analysis_run import AnalysisRun, Step
from pairtile.steps.split import load_run


def check(config_file: Path) -> Iterator[str]:
    """Lines that describe what the configuration would run, analysis by analysis.

    Inputs are read and prepared as a run would, in a temporary folder; nothing is scored and
    nothing is left behind. What lies elsewhere (``https://...``) is not fetched. Relative paths
    start at the working directory.

    Raises
    ------
    ConfigError
        Where the configuration cannot be read, or results not be written.
    PairtileError
        At the end, with what is wrong with each analysis that a run would refuse.
    """
    config = load_run(config_file)
    check_results_writable(config)
    number = pluralise(len(config.analyses), "analysis", "analyses")
    yield f"{config_file}: {number}, results in {config.results}/"
    refused = []
    for name, analysis in config.analyses.items():
        try:
            check_inputs_exist(config, only=name)
            for path in set(analysis.input_files().values()) & set(config.checksums):
                if not scheme(path):
                    verify_checksum(path, path, config.checksums[path])
            with tempfile.TemporaryDirectory(prefix="pairtile-check-") as folder:
                yield from _analysis(name, analysis, config.backend, config.seed, Path(folder))
        except PairtileError as error:
            yield f"\n{name} ({analysis.method})\n  refused"
            refused.append(f"{name}: {error}")
    if refused:
        raise PairtileError("\n".join(refused))


def _analysis(
    name: str, analysis: Analysis, backend: str, seed: int, folder: Path
) -> Iterator[str]:
    elsewhere = [path for path in analysis.input_files().values() if scheme(path)]
    if elsewhere:
        yield f"\n{name} ({analysis.method})"
        yield f"  not looked into, as it reads what lies elsewhere: {', '.join(elsewhere)}"
        return
    run = AnalysisRun(name, analysis, folder, seed, backend, is_check=True)
    for step in ("prepare", "plan"):  # what the network alone needs can take as long as a run
        run.run(Step(step))
    if label_columns(analysis) and isinstance(analysis, TableAnalysis):
        run.run(Step("values"))
    prepared = read_json(run.record("prepare"))
    counts = prepared["counts"]
    planned, of_plan = read_json(run.plan), read_json(run.record("plan"))
    messages = [Message(**said) for said in [*prepared["messages"], *of_plan["messages"]]]
    # What these two say stands in ``plan_lines``.
    said = {"backend_chosen", "work_planned"}
    decided = [note for note in notes_of(messages) if note.code not in said]
    yield f"\n{name} ({analysis.method})"
    for key, number in counts.items():
        yield f"  {key.replace('_', ' ')}: {number:,}"
    genes, samples = counts.get("genes_read"), counts.get("samples")
    if genes is not None and samples is not None and samples > genes:
        # A table the wrong way round is a table, too: only its shape shows it.
        yield f"  {samples:,} samples and {genes:,} genes: if it is the other way, see orientation"
    yield from (f"  {note}" for note in decided)
    yield from (f"  WARNING: {warning}" for warning in warnings_of(messages))
    yield from (f"  {line}" for line in plan_lines(planned))
    details = of_plan["details"]
    # Snakemake takes so long until the first job runs, and at its end.
    before = {"start": 3.0, "prepare": prepared["seconds"]}
    time = format_steps(before | details["estimated_seconds"])
    yield f"  time: {time}, by the cost model; a first run compiles besides"
    for setting, seconds in details.get("cheaper_seconds", {}).items():
        yield f"  cheaper: {setting}, {format_duration(seconds)}"
    yield f"  prepared data: {memory(sum(file.stat().st_size for file in run.state.iterdir()))}"


def plan_lines(planned: dict[str, Any]) -> list[str]:
    """A plan as sentences."""
    lines = [
        f"backend: {planned['backend']} ({planned['device']}), {planned['precision']}",
        f"work: {planned['work']:,} {planned['work_unit']} in "
        f"{pluralise(planned['tiles'], 'tile')}, {pluralise(len(planned['chunks']), 'chunk')}"
        + (", in two passes" if planned["scan"] else ""),
        f"memory of a chunk: about {memory(planned['memory_bytes'])}",
    ]
    if planned["bootstraps"]:
        number = sum(job["last"] - job["first"] + 1 for job in planned["bootstraps"])
        lines.append(f"bootstraps: {number}, each about as long as the network itself")
    return lines
