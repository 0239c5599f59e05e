"""Analyses from Python: the steps of the workflow in this process, over a folder of their files."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, NamedTuple, TypeVar

import pandas as pd

from pairtile.api.messages import tell
from pairtile.api.settings import checked_analysis
from pairtile.api.table import is_anndata
from pairtile.config import check_inputs_exist
from pairtile.config.models import Analysis
from pairtile.declare.messages import Message
from pairtile.engine.estimator import Estimator, Merged, PreparedInput
from pairtile.gpu.device import choose
from pairtile.report.results import Results, read_results
from pairtile.runtime.files import read_json
from pairtile.steps.analysis_run import NAME, AnalysisRun
from pairtile.steps.network import read_merged
from pairtile.steps.plan import read_plan

E = TypeVar("E", bound=Estimator)

# Warnings are issued; without a handler of its own, Python would also print what steps log.
logging.getLogger("pairtile").addHandler(logging.NullHandler())


def analyse(
    method: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 1,
    backend: str = "auto",
    page: bool = False,
    **settings: object,
) -> Results:
    """Run an analysis of the workflow in this process: the same steps, files and messages.

    Parameters
    ----------
    method : str
        As in the configuration: ``mutual_information``, ``multimodal_correlation``, ...
    folder : path, optional
        Where its files come, those of ``results/NAME``. None: a temporary folder, which is there as
        long as what is returned.
    seed, backend
        As in the configuration.
    page : bool
        Whether to write ``report.html`` and the figures, too.
    **settings
        The keys of an analysis, as config/README.md lists them. A key that names a file also takes
        an AnnData (whose ``obs`` are then the annotations), a DataFrame with names in its index, or
        names as an Index of pandas.

    Returns
    -------
    Results
        ``network``, ``items``, ``summary``, ``evaluation``, ``warnings``; ``folder`` has all files.
        Warnings are also issued.

    Raises
    ------
    ValueError
        Settings that are not allowed, one line for each.
    PairtileError
        As the workflow.

    Examples
    --------
    >>> from pairtile import simulate_kinetic
    >>> made = simulate_kinetic(n_genes=20, n_samples=80, n_regulators=3)
    >>> table = pd.DataFrame(made.values, index=made.genes, columns=made.samples)
    >>> found = analyse("mutual_information", expression=table, keep={"top_edges": 10})
    >>> len(found.network), (found.folder / "network.tsv").is_file()
    (10, True)
    """
    kept = TemporaryDirectory(prefix="pairtile-") if folder is None else None
    top = Path(kept.name if kept else os.fspath(folder or ""))
    given = {key: _in_file(value, top / "inputs", key) for key, value in settings.items()}
    config = checked_analysis({"method": method, **given}, seed, backend)
    check_inputs_exist(config)
    run = AnalysisRun(NAME, config.analyses[NAME], top, seed, backend)
    run.run_steps(last="report" if page else "summary")
    found = read_results(top)
    found.kept = kept
    tell(messages_of_run(run))
    return found


def _in_file(value: object, folder: Path, key: str) -> object:
    """A path in place of a table or list in memory; sections and plain values as they are."""
    if isinstance(value, Mapping):
        return {k: _in_file(inner, folder, f"{key}.{k}") for k, inner in value.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if is_anndata(value):
        value.write_h5ad(folder / f"{key}.h5ad")
        return str(folder / f"{key}.h5ad")
    path = folder / f"{key}.tsv"
    if isinstance(value, pd.DataFrame):
        value.to_csv(path, sep="\t", index_label="name")
    elif isinstance(value, pd.Index):
        path.write_text("".join(f"{name}\n" for name in value))
    else:
        return value
    return str(path)


@contextmanager
def analysed(
    config: Analysis, prepared: PreparedInput, seed: int, backend: str, last: str
) -> Iterator[AnalysisRun]:
    """Run the steps from what was prepared in memory to the step ``last``, in a temporary folder
    that is there inside."""
    with TemporaryDirectory(prefix="pairtile-") as folder:
        config = config.model_copy(update={"export": ("parquet",)})
        run = AnalysisRun(NAME, config, Path(folder), seed, backend, prepared=prepared)
        yield run.run_steps(last=last)


class Scored(NamedTuple, Generic[E]):
    """``opened``: the estimator as planned, on the state in memory. ``merged``: with the merged
    table in memory. ``messages``: of the steps so far."""

    opened: E
    merged: Merged
    messages: list[Message]


def scored(
    method: type[E], config: Analysis, prepared: PreparedInput, seed: int, backend: str
) -> Scored[E]:
    """Score all pairs of what was prepared in memory, by the steps up to the merge."""
    with analysed(config, prepared, seed, backend, last="merge") as run:
        plan, merged = read_plan(run.plan), read_merged(run)
        opened = method(config, prepared.state, choose(plan.backend), plan.precision, seed)
        return Scored(opened, replace(merged, table=merged.pairs), messages_of_run(run))


def messages_of_run(run: AnalysisRun) -> list[Message]:
    """What the steps said so far, each message once: those of the summary, where there is one."""
    summary = run.folder / "summary.json"
    records = [run.record(step) for step in ("prepare", "plan", "null", "merge", "network")]
    files = [summary] if summary.exists() else [path for path in records if path.exists()]
    said = (Message(**said) for path in files for said in read_json(path)["messages"])
    return list(dict.fromkeys(said))
