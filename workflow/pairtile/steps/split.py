"""One network for each group of samples: analyses with ``split_by`` become one for each label.

Snakemake reads the configuration at every start, so that nothing heavy is imported for a table of
annotations, and nothing at all where no analysis is split.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from pairtile.config.addresses import scheme
from pairtile.config.load import load_config
from pairtile.config.preprocess import TableAnalysis
from pairtile.config.root import Config, Split
from pairtile.errors import ConfigError, InputError

MAX_GROUPS = 200
"""Labels of enough samples in one column; a column of more is no column of groups."""


def load_run(source: Mapping[str, object] | str | os.PathLike[str]) -> Config:
    """``load_config``, with an analysis for each group in place of those that are split.

    Raises
    ------
    ConfigError
        As ``load_config``; a table with the groups that is not on this machine or lacks the column;
        fewer than two groups with enough samples; groups whose names would be the same.
    """
    config = load_config(source)
    asked = {
        name: analysis
        for name, analysis in config.analyses.items()
        if isinstance(analysis, TableAnalysis) and analysis.split_by is not None
    }
    if not asked:
        return config
    return config.split({name: split_of(name, analysis) for name, analysis in asked.items()})


def split_of(name: str, analysis: TableAnalysis) -> Split:
    """The groups of one analysis.

    A sample counts where the expression table has it, as far as its header shows; samples of one
    specimen (``samples.replicate``) count once.
    """
    column, place = str(analysis.split_by), f"analyses.{name}.split_by"
    table = analysis.table_path() or ""
    in_file = table.lower().endswith(".h5ad")
    path = table if in_file else str(analysis.samples.annotations)
    if scheme(path) or not os.path.exists(path):
        found = f"groups in {path!r}, which is not on this machine"
        expected = (
            "a file that is there when the run starts: its labels say which analyses there are, so "
            "that no address and no other rule can bring it"
        )
        raise ConfigError.at("config", place, found, expected)
    wanted = [column, *filter(None, [analysis.samples.replicate])]
    try:
        if in_file:
            from pairtile.io.anndata_file import read_obs_columns

            columns = read_obs_columns(path, wanted)
        else:
            columns = _of_text(path, wanted, analysis)
    except InputError as error:
        raise ConfigError(f"config: {place}: {error}") from None
    missing = [name for name in wanted if name not in columns]
    if missing:
        listed = ", ".join(map(repr, columns.get("", []))) or "none"
        found = f"{missing[0]!r}, which is no column of {path}"
        raise ConfigError.at("config", place, found, f"one of {listed}")
    labels = columns[column]
    specimens = columns.get(str(analysis.samples.replicate), [""] * len(labels))
    units = {
        (label, specimen or str(k)): None
        for k, (label, specimen) in enumerate(zip(labels, specimens, strict=True))
    }
    numbers = Counter(label for label, _ in units if label)
    estimator = getattr(getattr(analysis, "estimator", None), "min_samples", 0)
    least = max(analysis.preprocess.min_samples, estimator)
    kept = sorted(label for label, n in numbers.items() if n >= least)
    left_out = {label: n for label, n in sorted(numbers.items()) if n < least}
    if not 2 <= len(kept) <= MAX_GROUPS:
        sizes = ", ".join(f"{label!r} {n}" for label, n in numbers.most_common(8))
        found = (
            f"column {column!r} of {path} with {len(kept)} labels of {least} samples or more "
            f"(largest: {sizes or 'none'})"
        )
        raise ConfigError.at("config", place, found, f"2 to {MAX_GROUPS} of these")
    return Split(column, _names(name, kept, place), left_out, labels.count(""))


def _names(name: str, labels: Iterable[str], place: str) -> dict[str, str]:
    """The analysis of each label: NAME.LABEL, other signs than letters, digits, - and _ as _."""
    names: dict[str, str] = {}
    for label in labels:
        safe = f"{name}.{re.sub('[^A-Za-z0-9_-]+', '_', label).strip('_') or 'group'}"
        same = next((other for other in names if other.lower() == safe.lower()), None)
        if same is not None or len(safe) > 100:
            found = f"label {label!r}, whose analysis would be {safe}"
            found += f", as that of {names[same]!r}" if same else ""
            expected = "labels that differ in letters and digits, of at most 100 with the name"
            raise ConfigError.at("config", place, found, expected)
        names[safe] = label
    return names


def _of_text(path: str, wanted: list[str], analysis: TableAnalysis) -> dict[str, list[str]]:
    """Columns of a table of annotations, of the samples in the expression table; all names under
    ""."""
    from pairtile.io.number_marks import plain_cells
    from pairtile.io.text_file import find_delimiter, open_rows

    delimiter = find_delimiter(path)
    with open_rows(path, delimiter) as lines:
        rows = [[text.strip() for text in fields] for _, fields in lines]
    rows = [row for k, row in enumerate(rows) if any(row) and not (row[0][:1] == "#" and k == 0)]
    header, rows = (rows[0], rows[1:]) if rows else ([], [])
    shift = len(rows[0]) - len(header) if rows else 0
    known = _samples_in_header(analysis)
    there = [row for row in rows if not known.isdisjoint(row)] or rows
    places = {name: k + shift for k, name in enumerate(header)}
    cells = {
        name: plain_cells([row[places[name]] for row in there], delimiter)
        for name in wanted
        if name in places
    }
    return {"": header, **cells}


def _samples_in_header(analysis: TableAnalysis) -> set[str]:
    """What the first line of a text table with its samples in columns names; else nothing."""
    from pairtile.io.text_file import find_delimiter, open_rows

    path = str(analysis.expression)
    suffixes = (".tsv", ".tab", ".csv", ".txt")
    if analysis.orientation != "genes_in_rows" or not os.path.isfile(path):
        return set()
    if not path.lower().removesuffix(".gz").endswith(suffixes):
        return set()
    with open_rows(path, find_delimiter(path)) as lines:
        return {text.strip() for text in next(lines, (0, []))[1]} - {""}
