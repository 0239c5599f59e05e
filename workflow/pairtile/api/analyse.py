"""Analyses from Python: the steps of the workflow in this process, over a folder of their files."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import Inputs, KeptFolder, as_labelled
from pairtile.api.settings import checked_analysis
from pairtile.api.table import Names, is_anndata
from pairtile.config.load import check_inputs_exist
from pairtile.config.models import Analysis, InputFile, marked
from pairtile.config.root import models
from pairtile.declare.columns import explained
from pairtile.declare.messages import Message, notes_of, warnings_of
from pairtile.declare.tables import read_result_table
from pairtile.report.results import Results, read_results
from pairtile.runtime.files import read_json, read_table
from pairtile.steps.analysis_run import NAME, AnalysisRun

# Warnings are issued; without a handler of its own, Python would also print what steps log.
logging.getLogger("pairtile").addHandler(logging.NullHandler())


_LISTS = (list, tuple, np.ndarray, pd.Series)


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
        an AnnData (whose ``obs`` are then the annotations) or a DataFrame with names in its index;
        one that names a list takes a list or tuple of names, an array, a Series or an Index.

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
    kept = KeptFolder() if folder is None else None
    top = Path(kept.name if kept else os.fspath(folder or ""))
    model = models().get(method)
    fields = {key: model.model_fields[key] for key in marked(model, InputFile)} if model else {}
    lists = {key for key, field in fields.items() if field.annotation in (str, str | None)}
    given = {key: _in_file(value, top / "inputs", key, lists) for key, value in settings.items()}
    config = checked_analysis({"method": method, **given}, seed, backend)
    check_inputs_exist(config)
    run = AnalysisRun(NAME, config.analyses[NAME], top, seed, backend)
    return finished(run, kept, last="report" if page else "summary")[0]


def _in_file(value: object, folder: Path, key: str, lists: Collection[str] = ()) -> object:
    """A path in place of a table or list in memory; sections and plain values as they are.
    ``lists``: keys that name one file, so that a list there is one of names."""
    if isinstance(value, Mapping):
        return {k: _in_file(inner, folder, f"{key}.{k}") for k, inner in value.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if is_anndata(value):
        value.write_h5ad(folder / f"{key}.h5ad")
        return str(folder / f"{key}.h5ad")
    path = folder / f"{key}.tsv"
    if isinstance(value, pd.DataFrame):
        value.to_csv(path, sep="\t", index_label="name")
    elif isinstance(value, pd.Index) or (key in lists and isinstance(value, _LISTS)):
        path.write_text("".join(f"{name}\n" for name in value))
    else:
        return value
    return str(path)


def kept_run(
    config: Analysis, inputs: Inputs, seed: int, backend: str
) -> tuple[AnalysisRun, KeptFolder]:
    """An analysis of what is in memory, and the temporary folder of its files."""
    asked = config.model_copy(update={"export": ("parquet",)})
    folder = Path(inputs.folder.name)
    return AnalysisRun(NAME, asked, folder, seed, backend, given=inputs.held), inputs.folder


def finished(
    run: AnalysisRun,
    kept: object,
    after: str = "",
    last: str = "summary",
    told: Sequence[str] = (),
) -> tuple[Results, list[Message]]:
    """Run the steps of an analysis (``AnalysisRun.run_steps``); what its files hold, and what was
    said beyond what was ``told`` (texts or codes), of which warnings are issued. ``kept``: what
    removes the files when it goes."""
    found = read_results(run.run_steps(after, last).folder)
    found.kept = kept
    said = [Message(**said) for said in found.summary["messages"]]
    return found, issue_warnings(each for each in said if not {each, each.code} & {*told})


def read_network(folder: Path, labels: Names | None) -> pd.DataFrame:
    """The edges of an analysis; with the caller's labels, where there are any, in place of text."""
    edges = read_table(folder / "network.parquet")
    if labels is not None:
        for end in ("source", "target"):
            edges[end] = as_labelled(labels, edges[end])
    return edges.drop(columns=["source_symbol", "target_symbol"], errors="ignore")


def result_table(folder: Path, name: str, package: str) -> pd.DataFrame:
    """A text table of a method, in the types that its columns are declared to have."""
    return typed(read_result_table(folder / name, package), name, package)


def typed(table: pd.DataFrame, name: str, package: str) -> pd.DataFrame:
    """A text table as read, in the types that its columns are declared to have."""
    kinds = {"double": "float64", "int": "int64"}
    known = {str(column): explained(package, name, str(column)) for column in table}
    found = {column: kinds.get(one.type) for column, one in known.items() if one}
    whole = table.columns[table.notna().all()]
    return table.astype({key: kind for key, kind in found.items() if kind and key in whole})


def attributes(found: Results, said: list[Message]) -> dict[str, object]:
    """``counts``, ``device``, ``notes`` and ``warnings`` of a table that is returned."""
    return {
        "counts": found.counts,
        "device": found.summary["backend"]["device"],
        "notes": notes_of(said),
        "warnings": warnings_of(said),
    }


def counts_and_messages(run: AnalysisRun) -> tuple[dict[str, int], list[Message]]:
    """What the steps to the merge counted and said."""
    steps = map(run.record, ("prepare", "plan", "null", "merge"))
    records = [read_json(path) for path in steps if path.exists()]
    counts = {key: n for record in records for key, n in record["counts"].items()}
    return counts, [Message(**said) for record in records for said in record["messages"]]
