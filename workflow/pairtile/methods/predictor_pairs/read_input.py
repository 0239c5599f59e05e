"""Read what a search for predictors is made from: expression or levels, series, lists of genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.annotations import AnnotationTable
from pairtile.io.expression import Expression, read_expression
from pairtile.io.in_memory import unless_in_memory
from pairtile.io.names import join_first, match_samples
from pairtile.io.regulators import read_regulators
from pairtile.io.symbols import with_symbols
from pairtile.io.text_file import find_delimiter, open_rows, read_list
from pairtile.methods.predictor_pairs.config import MAX_LEVELS, PredictorPairsConfig
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.samples import (
    SampleDesign,
    annotated_samples,
    arrange_samples,
    read_arranged,
    read_samples,
)
from pairtile.runtime.record import doing

message = messages_of(__package__)

MISSING_LEVEL = -1


def count_levels(
    table: Expression,
    orientation: str = "genes_in_rows",
    asked: Literal["auto"] | int = "auto",
) -> int:
    """How many levels a table of levels has: as many as ``asked`` for (2 to 4), or as many as there
    are from its lowest (``first_level``) to its highest, at least 2.

    ``orientation``: of the file that the table was read from, for the line that a message names.

    Raises:
        InputError: for a value that is no whole number below ``asked`` (``auto``: below 4), with
            its line where the file is text, its gene and its sample.
    """
    values, first = table.values, first_level(table.values, asked)
    most = first + (MAX_LEVELS if asked == "auto" else asked)
    with np.errstate(invalid="ignore"):
        wrong = ~np.isnan(values) & (
            (values < first) | (values >= most) | (values != np.rint(values))
        )
    if wrong.any():
        row, column = divmod(int(wrong.argmax()), values.shape[1])
        gene, sample, value = table.genes[row], table.samples[column], values[row, column]
        line = _line_of(table.source, gene if orientation == "genes_in_rows" else sample)
        hint = ""
        if value != np.rint(value):
            hint = " (expression values go under the key expression)"
        elif asked != "auto" and value >= most:
            hint = f" (quantize.levels is {asked})"
        raise InputError.at(
            table.source,
            f"{line}gene {gene!r}, sample {sample!r}",
            f"{value:g}",
            f"a level, a whole number from 0 to {most - 1}, or NA or nothing if it is missing"
            f"{hint}",
        )
    if asked == "auto":
        return max(int(np.fmax.reduce(values, axis=None, initial=0.0)) + 1 - first, 2)
    return asked


def first_level(values: NDArray[np.float64], asked: Literal["auto"] | int = "auto") -> int:
    """1 where levels count from 1, as factors of R do: no value is lower, and of as many as
    ``asked`` one is too high to count from 0. Else 0."""
    highest = np.fmax.reduce(values, axis=None, initial=0.0)
    lowest = np.fmin.reduce(values, axis=None, initial=np.inf)
    return int(lowest == 1 and (asked == "auto" or highest == asked))


def _line_of(source: str, name: str) -> str:
    """``line N, `` of the row with this name, for text tables; else nothing."""
    suffixes = [s.lower() for s in Path(source).suffixes if s.lower() != ".gz"]
    if not suffixes or suffixes[-1] not in (".tsv", ".tab", ".csv", ".txt"):
        return ""
    with open_rows(source, find_delimiter(source)) as rows:
        next(rows, None)
        return next((f"line {n}, " for n, fields in rows if fields[0].strip() == name), "")


_SHOWN = 3


@dataclass(frozen=True)
class Series:
    """The series of samples.

    ``numbers``: int32, shape (samples,), the position in ``names`` for each sample of the table.
    ``names``: in the order in which their first samples stand in the table. ``notes``: on samples
    of the file ``path`` that are not in the table.
    """

    numbers: NDArray[np.int32]
    names: list[str]
    notes: Sequence[Message] = ()
    path: str = "series"


@unless_in_memory
def read_series(path: str | PathLike[str], samples: Sequence[str]) -> Series:
    """Read a table of sample and series, two fields a line, for the ``samples`` of a table.

    A header (``sample series``) is optional: a first line is taken for one if its first field is
    ``sample`` or the like, and no sample has that name. Lines that start with ``#`` are passed
    over. Tabs, or commas by suffix; plain or gzip. A sample may stand there twice with the same
    series.

    Raises:
        InputError: file missing or damaged; another number of fields; an empty name; a sample with
            two series; samples of the table without a series.
    """
    series_of: dict[str, tuple[str, int]] = {}
    for k, (line, fields) in enumerate(read_list(path, find_delimiter(path))):
        if len(fields) != 2:
            found = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
            raise InputError.at(path, f"line {line}", found, "2 (sample, series)")
        sample, series = fields
        if (
            k == 0
            and sample.lower() in {"sample", "samples", "sample_id", "sample_name", "column"}
            and sample not in samples
        ):
            continue
        if not sample or not series:
            raise InputError.at(path, f"line {line}", "an empty name", "sample and series")
        before = series_of.setdefault(sample, (series, line))
        if before[0] != series:
            found = f"sample {sample!r} in series {series!r}, but in {before[0]!r} in line "
            expected = "each sample in one series"
            raise InputError.at(path, f"line {line}", f"{found}{before[1]}", expected)
    matched, _ = match_samples(samples, list(series_of), path)
    absent = [name for name in samples if name not in matched]
    if absent:
        hint = ""
        if len(absent) == len(samples) and series_of:
            hint = f"; the file names {', '.join(map(repr, list(series_of)[:_SHOWN]))}, ..."
        shown = join_first([repr(name) for name in absent], _SHOWN)
        raise InputError.at(
            path,
            "",
            f"no series for {len(absent)} of {len(samples)} samples ({shown}){hint}",
            "a line for every sample of the table, named as there",
        )
    numbers, names = pd.factorize(
        np.array([series_of[matched[sample]][0] for sample in samples], dtype=object)
    )
    n_unused = len(set(series_of) - set(matched.values()))
    notes = [message("series_of_no_sample", n=n_unused, file=str(path))] if n_unused else []
    return Series(numbers.astype(np.int32), list(names), notes, str(path))


@dataclass(frozen=True)
class PredictorInput:
    """What an analysis is made from: a table, and what is said about its samples and genes.

    ``table``: expression values, raw or prepared already, or levels. ``n_levels``: how many, where
    these are levels. ``series``: the time series of the samples of levels, None for one.
    ``regulators``, ``targets``: names, None for every gene. ``design``: what is stated of the
    samples of other tables.
    """

    table: Expression | Prepared
    n_levels: int | None = None
    series: Series | None = None
    regulators: list[str] | None = None
    targets: list[str] | None = None
    design: SampleDesign | None = None


def read_predictor_input(
    config: PredictorPairsConfig, scratch: Path | None = None
) -> PredictorInput:
    """Read the files that a section names; a large table is mapped from a file in ``scratch``."""
    series = design = n_levels = None
    effects = config.preprocess.regress_out
    if config.levels is not None:
        doing(f"read {config.levels}")
        table = with_symbols(
            read_expression(
                config.levels,
                config.orientation,
                config.layer,
                ignore_versions=config.ignore_versions,
                obs=config.obs,
            ),
            config.names,
        )
        n_levels = count_levels(table, config.orientation, config.quantize.levels)
        series = None if config.series is None else read_series(config.series, table.samples)
    elif config.series is None:
        table, design = read_arranged(config, scratch)
    else:  # series are stated in a file of their own: a column beside others
        table, about = annotated_samples(
            read_samples(config, scratch), config.samples, effects, scratch
        )
        courses = read_series(config.series, table.samples)
        if about is None:
            places = [f"sample {name!r}" for name in table.samples]
            about = AnnotationTable(courses.path, list(table.samples), {}, places, [])
        column = f"series of {courses.path}"
        columns = about.columns | {column: [courses.names[k] for k in courses.numbers]}
        about = replace(about, columns=columns, notes=[*about.notes, *courses.notes])
        samples = config.samples.model_copy(update={"series": column})
        table, design = arrange_samples(table, samples, effects, scratch, about)
    return PredictorInput(
        table,
        n_levels,
        series,
        None if config.regulators is None else read_regulators(config.regulators, "regulator"),
        None if config.targets is None else read_regulators(config.targets, "target"),
        design,
    )
