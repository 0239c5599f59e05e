"""What the samples of a table are to each other: time courses, batches, technical replicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.downstream import label_columns
from pairtile.config.preprocess import TableAnalysis
from pairtile.config.samples import SamplesConfig, StepConfig
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import empty_table, releasing, row_blocks, take_columns
from pairtile.errors import InputError
from pairtile.io.anndata_file import read_obs
from pairtile.io.annotations import (
    AnnotationTable,
    quoted,
    read_annotation_table,
    read_numbers,
    refuse_cells,
    stray_cells,
)
from pairtile.io.cells import cells_note, chosen_cells
from pairtile.io.expression import Expression, read_sparsely
from pairtile.io.names import join_first
from pairtile.io.sparse_rows import SparseRows, Values, stored_values
from pairtile.io.symbols import with_symbols
from pairtile.io.table import check_samples
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.preprocess.statistics import row_statistics
from pairtile.preprocess.value_kind import measure_scale
from pairtile.runtime.record import doing
from pairtile.runtime.threads import in_background, in_threads
from pairtile.statistics.dependence import Dependence
from pairtile.statistics.sample_effects import Term, indicators, orthonormal

message = messages_of(__package__)

NEAR_COPIES_SHARE = 0.2
"""Of all samples; fewer change p-values little."""

MIN_DEGREES = 3
"""Degrees of freedom that effects must leave: with fewer, unrelated genes are correlated .99."""

_FILLED = (
    "a value for every sample (to leave out those without one, take their rows out of this table "
    "and set samples: {unannotated: leave_out})"
)


@dataclass(frozen=True)
class SampleDesign:
    """Time courses, batches and covariates of the samples of a table.

    series, batch : int32 (samples,), numbers from 0 in order of first appearance; empty where the
    configuration states none. Samples of one series stand in the order of time.
    series_labels, batch_labels : what each number stands for, as the annotations say.
    times : float64 (samples,); empty where none are stated. step : what one step of them is.
    covariates : float64 (samples, columns), batches and the columns of ``preprocess.regress_out``
        as a design matrix without intercept; no columns where neither is stated.
    surfaces : of ``regress_out``, what is smooth: how smooth, its values say.
    effects : what messages call these.
    factors : float64 (factors, samples), hidden factors that were removed from the values.
    factor_columns : the annotation that each of these goes with, "" where with none.
    annotations : all columns of the table of annotations, a text for each sample. others : columns
        of an ``.h5ad`` file that nobody asked for.
    named : columns that a warning says explain what samples share. explained : float64 (samples,
        columns), what they would take off.
    given_up : degrees of freedom lost, where that is not what covariates and factors say: of pairs
        between two tables.
    """

    series: NDArray[np.int32]
    batch: NDArray[np.int32]
    covariates: NDArray[np.float64]
    series_labels: list[str] = field(default_factory=list)
    batch_labels: list[str] = field(default_factory=list)
    times: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    step: StepConfig | None = None
    notes: list[Message] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    factors: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    factor_columns: tuple[str, ...] = ()
    annotations: Mapping[str, list[str]] = field(default_factory=dict)
    given_up: int | None = None
    surfaces: tuple[Term, ...] = ()
    effects: tuple[str, ...] = ()
    others: Mapping[str, list[str]] = field(default_factory=dict)
    explained: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    named: tuple[str, ...] = ()

    @classmethod
    def unknown(cls) -> SampleDesign:
        """Nothing is stated: each sample stands for itself."""
        none = np.empty(0, dtype=np.int32)
        return cls(none, none, np.empty((0, 0)))

    def with_removed(self, other: SampleDesign, beside: bool = False) -> SampleDesign:
        """This design, with the effects and factors that were removed from values under another;
        ``beside``: its own covariates are to be removed too."""
        covariates = other.covariates
        if beside:
            covariates = np.hstack([self.covariates, *([covariates] * bool(covariates.size))])
        return replace(
            self, covariates=covariates, factors=other.factors, explained=other.explained
        )

    @property
    def removed(self) -> NDArray[np.float64]:
        """What is off the values, float64 (samples, columns)."""
        parts = [part for part in (self.covariates, self.factors.T) if part.size]
        return np.hstack(parts) if parts else self.covariates

    @property
    def state(self) -> SampleArrays:
        """What null distributions need, as arrays of a state; none for what is not stated."""
        arrays: dict[str, NDArray[np.generic]] = {
            "sample_series": self.stretches,
            "sample_batch": self.batch,
            "sample_time": self.times,
            "hidden_factors": self.factors,
            "removed": self.removed,
            "explained": self.explained,
        }
        if any(self.factor_columns):
            arrays["factor_columns"] = np.array(self.factor_columns, dtype=np.str_)
            unnamed = [""] * self.factors.shape[1]
            labels = [self.annotations.get(name, unnamed) for name in self.factor_columns]
            arrays["factor_labels"] = np.array(labels, dtype=np.str_)
        if self.degrees_given_up:
            arrays["degrees_given_up"] = np.array([self.degrees_given_up])
        return cast(SampleArrays, {name: x for name, x in arrays.items() if x.size})

    @property
    def degrees_given_up(self) -> int:
        """Degrees of freedom that went with effects and factors, beside those of batches: what is
        permuted within batches has lost these too."""
        if self.given_up is not None:
            return self.given_up
        lost = len(self.factors) - int(self.batch.max(initial=0))
        if self.covariates.size:
            lost += orthonormal(self.covariates).shape[1]
        return max(lost, 0)

    @property
    def stretches(self) -> NDArray[np.int32]:
        """``series``, cut where a step is not what ``step`` says: int32 (samples,), from 0."""
        if self.step is None:
            return self.series
        most = self.step.tolerance + 1e-9 * self.step.time  # beside rounding
        off = np.abs(np.diff(self.times) - self.step.time) > most
        begins = off | (np.diff(self.series) != 0)
        return np.concatenate([[0], np.cumsum(begins)]).astype(np.int32)


def arrange_samples(
    expression: Expression,
    config: SamplesConfig,
    regress_out: tuple[str, ...] = (),
    scratch: Path | None = None,
    table: AnnotationTable | None = None,
) -> tuple[Expression, SampleDesign]:
    """Make one of replicates and put samples in the order of time, as ``config`` states.

    A mean or sum takes the name and the annotations of its first sample; values missing in some of
    its samples are left out of it. Without anything stated the table is returned as it is. Where
    times are stated, the result does not depend on the order of the table's columns.

    Parameters
    ----------
    expression
        Shape (genes, samples), raw values.
    config
        The section ``samples``.
    regress_out
        Columns whose additive effects are to be removed later (``preprocess.regress_out``).
    scratch
        Where a large table that has to be made anew is mapped from a file.
    table
        What is known of the samples; None: as ``annotated_samples`` reads it.

    Raises
    ------
    InputError
        As ``read_annotation_table``; a column that the table lacks; an empty cell of a series, a
        time, a batch or a column to regress out; a time that is no number; two samples of one
        series at the same time; replicates of one specimen that are of different series, times or
        batches.
    """
    if table is None:
        expression, table = annotated_samples(expression, config, regress_out, scratch)
    n_samples = len(expression.samples)
    if table is None:
        return expression, SampleDesign.unknown()
    cells = {key: table.column(column) for key, column in config.columns.items()}
    for key in cells.keys() - {"replicate"}:
        refuse_cells(table, config.columns[key], [""], _FILLED)
    how: str = config.combine
    if how == "auto" and "replicate" in cells:
        how = "sum" if measure_scale(stored_values(expression.values)).is_counts else "mean"
    expression, first = _combine_replicates(expression, table, config, cells, how, scratch)
    design = replace(SampleDesign.unknown(), notes=list(table.notes), step=config.step)
    if first.size < n_samples:
        done = "summed" if how == "sum" else "averaged"
        design.counts[f"samples_{done}"] = n_samples - first.size
        alone = sum(not label for label in cells["replicate"])
        numbers = {"samples": n_samples, "left": first.size, "column": config.replicate}
        code = "some_replicates_joined" if alone else "replicates_joined"
        design.notes.append(message(code, **numbers, done=done, alone=alone))
    timed = config.time is not None
    series, series_labels = _codes(cells.get("series"), first, sort=timed)
    if timed:
        found = read_numbers(cells["time"], words=True)
        wrong = [*found.stray, *found.code]
        refuse_cells(table, config.columns["time"], wrong, "a number, in one unit for all samples")
        times = found.values
        if found.unit:
            design.notes.append(message("time_unit", column=config.time, unit=found.unit))
        series = series if series.size else np.zeros(first.size, dtype=np.int32)
        order = np.lexsort((times[first], series))
        first, series = first[order], series[order]
        design = replace(design, times=times[first])
        _refuse_ties(table, config, cells, first, series, design.times)
        expression = take_samples(expression, order, scratch)
    batch, batch_labels = _codes(cells.get("batch"), first)
    terms = [term_of(name, table) for name in regress_out]
    surfaces = [term._replace(columns=term.columns[first]) for term in terms if term.smooth]
    lines = [term.columns[first] for term in terms if not term.smooth]
    batches = [indicators(batch)] if batch.size else []
    covariates = np.hstack([np.empty((first.size, 0)), *batches, *lines])
    for key, codes in (("series", series), ("batch", batch)):
        if codes.size:
            design.counts[f"sample_{key}"] = int(codes.max()) + 1
    design = replace(
        design,
        series=series,
        batch=batch,
        covariates=covariates,
        surfaces=tuple(surfaces),
        effects=(*([config.batch] if config.batch else []), *regress_out),
        series_labels=series_labels,
        batch_labels=batch_labels,
        annotations={name: [cells[k] for k in first] for name, cells in table.columns.items()},
        others={name: [cells[k] for k in first] for name, cells in table.others.items()},
    )
    if regress_out or orthonormal(covariates).shape[1] == first.size - 1:
        _check_degrees(table, design.effects, design)
    if config.step is not None:
        _count_cuts(design, config.step)
    return expression, design


def annotated_samples(
    expression: Expression,
    config: SamplesConfig,
    regress_out: tuple[str, ...] = (),
    scratch: Path | None = None,
    chosen: bool = False,
) -> tuple[Expression, AnnotationTable | None]:
    """The table of annotations that is stated, else an ``.h5ad`` file's ``obs``; None without
    either. Samples without a row may be left out.
    ``chosen``: rows of other samples are no surprise, as only some were taken."""
    if config.annotations is None:
        asked = [part for name in regress_out for part in parts_of(name)]
        columns = list(dict.fromkeys([*config.columns.values(), *asked]))
        if not columns and not expression.source.lower().endswith(".h5ad"):
            return expression, None
        return expression, read_obs(expression.source, columns, expression.samples)
    table = read_annotation_table(config.annotations, expression.samples, config.unannotated)
    if table.unannotated:
        annotated = np.flatnonzero(~np.isin(expression.samples, table.unannotated))
        expression = take_samples(expression, annotated, scratch)
        names = join_first(table.unannotated)
        warning = message("samples_without_annotations", n=len(table.unannotated), names=names)
        table = read_annotation_table(config.annotations, expression.samples)
        table.notes.append(warning)
    if chosen:
        table.notes[:] = [note for note in table.notes if note.code != "samples_of_no_column"]
    return expression, table


def _count_cuts(design: SampleDesign, step: StepConfig) -> None:
    whole, kept = (
        int((np.diff(series) == 0).sum()) for series in (design.series, design.stretches)
    )
    design.counts["steps_left_out"] = whole - kept
    numbers = {"left_out": whole - kept, "steps": whole, "tolerance": step.tolerance}
    design.notes.append(message("steps_left_out", **numbers, time=step.time))


def read_arranged(
    config: TableAnalysis, scratch: Path | None = None
) -> tuple[Expression, SampleDesign]:
    """The expression table of an analysis, its samples arranged as its configuration states; a
    large one is mapped from a file in ``scratch``."""
    expression, regress_out = read_samples(config, scratch), config.preprocess.regress_out
    labels = label_columns(config)
    expression, table = annotated_samples(
        expression, config.samples, (*regress_out, *labels), scratch, bool(config.obs)
    )
    if table is not None:
        for name in labels:
            table.column(name)  # is refused where it is not there
    return arrange_samples(expression, config.samples, regress_out, scratch, table)


def _load_compiled() -> None:
    """What the steps after reading need, which takes a quarter of a second to load: numba's types,
    with the first function that it has compiled, and parts of SciPy."""
    import scipy.cluster.hierarchy
    import scipy.sparse.linalg  # noqa: F401

    row_statistics(np.zeros((1, 1)))


def read_samples(config: TableAnalysis, scratch: Path | None = None) -> Expression:
    """The expression table of an analysis, of the samples that are asked for (``obs``), as
    ``without_empty_samples``."""
    path = config.table_path() or ""
    doing(f"read {path}")
    in_background(_load_compiled)  # it is not waited for: who needs it first waits
    in_file = path.lower().endswith(".h5ad")
    expression = read_sparsely(
        path,
        config.orientation,
        config.layer,
        config.duplicates,
        config.ignore_versions,
        scratch,
        config.obs if in_file else None,
        config.preprocess.control_genes is not None,
    )
    if config.obs and not in_file:
        expression = _chosen_samples(expression, config, scratch)
    return with_symbols(without_empty_samples(expression, scratch), config.names)


def _chosen_samples(
    expression: Expression, config: TableAnalysis, scratch: Path | None
) -> Expression:
    """The samples with the values that ``obs`` asks for in the table of annotations."""
    path = config.samples.annotations or ""
    table = read_annotation_table(path, expression.samples, "leave_out")

    def refuse(place: str, found: str, expected: str) -> InputError:
        return InputError.at(path, place, found.replace("cell", "sample"), expected)

    chosen = chosen_cells(table.column, config.obs, refuse)
    taken = take_samples(expression, np.flatnonzero(chosen), scratch)
    check_samples(path, taken.samples)
    return replace(taken, notes=[*taken.notes, cells_note(chosen, config.obs)])


def take_samples(
    expression: Expression, columns: NDArray[np.int64], scratch: Path | None
) -> Expression:
    """Some samples of a table, in the order of ``columns``."""
    values = expression.values
    taken: Values = (
        values.take_columns(columns)
        if isinstance(values, SparseRows)
        else take_columns(values, columns, scratch)
    )
    return replace(expression, values=taken, samples=[expression.samples[k] for k in columns])


def without_empty_samples(expression: Expression, scratch: Path | None = None) -> Expression:
    """Without the samples of a table of counts that have none: they failed, or are no cells."""
    empty = np.ones(len(expression.samples), dtype=bool)
    for rows in releasing(row_blocks(expression.values.shape), expression.values):
        empty &= ~(np.nan_to_num(expression.values[rows]) != 0.0).any(axis=0)
        if not empty.any():
            return expression
    if empty.all() or not measure_scale(stored_values(expression.values)).is_counts:
        return expression
    names = join_first([expression.samples[k] for k in np.flatnonzero(empty)])
    kept = take_samples(expression, np.flatnonzero(~empty), scratch)
    check_samples(expression.source, kept.samples)
    warning = message("empty_samples", n=int(empty.sum()), names=names)
    return replace(kept, notes=[*kept.notes, warning])


def dependence_warnings(found: Dependence, config: TableAnalysis) -> list[Message]:
    """What samples share (copies, groups, a course, factors) beside all that is stated of them or
    that a warning names already."""
    stated = config.samples
    warnings: list[Message] = []
    # What is alike within a series stays so in nulls, which shift genes along each series.
    kept = stated.replicate or stated.series
    copied = found.near_copies > NEAR_COPIES_SHARE * found.n_samples
    if copied and not kept:
        warnings.append(message("near_copies", n=found.near_copies, samples=found.n_samples))
    if found.groups and not stated.series:
        sizes = f"{', '.join(map(str, found.groups[:-1]))} and {found.groups[-1]}"
        slow = ", or slow change along the samples," if found.ordered else ""
        warnings.append(message("groups_of_samples", sizes=sizes, slow=slow))
    elif found.factors:
        code = "factors_or_genes" if found.of_genes else "hidden_factors"
        warnings.append(message(code, n=found.factors, share=found.factor_share))
    elif found.alike and not (copied and not kept):
        warnings.append(message("samples_alike", share=found.alike))
    elif found.unknown:
        warnings.append(message("few_genes_to_tell", share=found.unknown))
    return warnings


def _refuse_ties(
    table: AnnotationTable,
    config: SamplesConfig,
    cells: dict[str, list[str]],
    first: NDArray[np.int64],
    series: NDArray[np.int32],
    times: NDArray[np.float64],
) -> None:
    """Samples of one series at one time: of two, none follows the other."""
    moment = np.cumsum((np.diff(series, prepend=-1) != 0) | (np.diff(times, prepend=np.nan) != 0))
    tied = np.flatnonzero(np.diff(moment) == 0)
    if not tied.size:
        return
    one, other = first[tied[0]], first[tied[0] + 1]
    labels = {name: [column[k] for k in first] for name, column in table.columns.items()}
    n_moments = len(set(moment))

    def cure(key: str, fits: Callable[[list[str]], bool]) -> str:
        names = [name for name, found in labels.items() if all(found) and fits(found)]
        return f"samples.{key}" + (f" ({quoted(names)})" if names else "")

    courses = cure(
        "series",
        lambda found: (
            len(set(found)) < first.size and len(set(zip(moment, found, strict=True))) == first.size
        ),
    )
    specimens = cure(
        "replicate",
        lambda found: len(set(found)) == n_moments == len(set(zip(moment, found, strict=True))),
    )
    in_groups = int(np.isin(moment, moment[tied]).sum())
    raise InputError.at(
        table.path,
        f"{table.places[other]}, column {config.time!r}",
        f"{cells['time'][other]!r} for sample {table.samples[other]!r} and for "
        f"{table.samples[one]!r} of the same series ({in_groups} of {first.size} samples share "
        "their time with others)",
        "each time once in a series. Of different courses, name the column that tells them apart "
        f"under {courses}; replicates of one specimen are combined by a column with one label for "
        f"each series and time under {specimens}",
    )


def _combine_replicates(
    expression: Expression,
    table: AnnotationTable,
    config: SamplesConfig,
    cells: dict[str, list[str]],
    how: str,
    scratch: Path | None,
) -> tuple[Expression, NDArray[np.int64]]:
    """The table with a column for each specimen, and the first sample of each."""
    n_samples = len(expression.samples)
    if "replicate" not in cells:
        return expression, np.arange(n_samples)
    # A sample without a label is a specimen of its own: no label equals its number.
    labels: list[str | int] = [label or k for k, label in enumerate(cells["replicate"])]
    specimen, found = pd.factorize(np.array(labels, dtype=object))
    first = np.unique(specimen, return_index=True)[1]
    for key in cells.keys() - {"replicate"}:
        of_first = np.array(cells[key], dtype=object)
        differs = np.flatnonzero(of_first != of_first[first][specimen])
        if differs.size:
            at = differs[0]
            place = f"{table.places[at]}, column {config.columns[key]!r}"
            other = cells[key][first[specimen[at]]]
            raise InputError.at(
                table.path,
                place,
                f"{cells[key][at]!r} for a replicate of specimen {found[specimen[at]]!r}",
                f"{other!r}, as its first replicate has",
            )
    if len(found) == n_samples:
        return expression, first
    order = np.argsort(specimen, kind="stable")
    begins = np.searchsorted(specimen[order], np.arange(len(found)))
    values = empty_table((len(expression.genes), len(found)), scratch)
    for rows in releasing(row_blocks(expression.values.shape), expression.values, values):
        block = expression.values[rows][:, order]
        observed = ~np.isnan(block)
        n_observed = np.add.reduceat(observed, begins, axis=1, dtype=np.int64)
        sums = np.add.reduceat(np.where(observed, block, 0.0), begins, axis=1)
        divisor = n_observed > 0 if how == "sum" else n_observed
        with np.errstate(invalid="ignore"):
            values[rows] = sums / divisor  # NaN where nothing is observed
    names = [expression.samples[k] for k in first]
    return replace(expression, values=values, samples=names), first


def _codes(
    cells: list[str] | None, kept: NDArray[np.int64], sort: bool = False
) -> tuple[NDArray[np.int32], list[str]]:
    """Numbers in order of first appearance, or of the labels, and what they stand for; none without
    a column."""
    if cells is None:
        return np.empty(0, dtype=np.int32), []
    codes, labels = pd.factorize(np.array(cells, dtype=object)[kept], sort=sort)
    return np.asarray(codes, dtype=np.int32), [str(label) for label in labels]


def parts_of(name: str) -> list[str]:
    """The columns that an entry of ``regress_out`` speaks of: ``smooth(x)`` asks for a smooth curve
    over a column, ``smooth(x:y)`` for a surface over two."""
    smooth = re.fullmatch(r"smooth\((.+)\)", name)
    return smooth[1].split(":") if smooth else [name]


def term_of(name: str, table: AnnotationTable) -> Term:
    """An entry of ``regress_out``: numbers as they are, labels as indicators of all but the first,
    coordinates (two numbers in a cell) as a surface; numbers that count from 0 or 1 without a gap,
    and stand for two samples or more on average, are labels."""
    parts = [name] if name in table.columns else parts_of(name)
    smooth, columns = parts != [name], []
    for part in parts:
        cells = table.column(part)
        if (places := _places(cells)) is not None:
            columns.append(places)
            smooth = True
            continue
        numbers = read_numbers(cells)
        refuse_cells(table, part, [""], _FILLED)
        refuse_cells(table, part, stray_cells(cells), "a number, as in most cells of the column")
        refuse_cells(table, part, numbers.code, f"no code of a missing value, but {_FILLED}")
        n_labels, values = len(set(cells)), numbers.values
        if n_labels == len(cells) and numbers.stray:
            found = f"a label of its own for each of {n_labels} samples ({quoted(cells)})"
            expected = "numbers, or labels that samples share: nothing would be left of any gene"
            raise InputError.at(table.path, f"{table.places[0]}, column {part!r}", found, expected)
        counting = 2 * n_labels <= len(cells) and np.array_equal(
            np.unique(values) - min(1.0, values.min()), np.arange(n_labels)
        )
        if smooth and numbers.stray:
            found, expected = f"labels under {name}", "numbers"
            raise InputError.at(table.path, f"column {part!r}", found, expected)
        labels = numbers.stray or (counting and not smooth)
        codes = pd.factorize(np.array(cells, dtype=object), sort=True)[0]
        columns.append(indicators(codes) if labels else values[:, None])
    made = np.hstack(columns)
    if smooth and made.shape[1] > 2:
        raise InputError.at(table.path, name, f"{made.shape[1]} numbers", "one or two: smooth(x:y)")
    return Term(name, made, smooth)


def _places(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """The coordinates of a column of two numbers in each cell, (samples, 2); None of others."""
    pairs = [cell.split() for cell in cells]
    if {len(pair) for pair in pairs} != {2} or len(set(cells)) < len(cells) / 2:
        return None
    found = pd.DataFrame(pairs).apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    return found if np.isfinite(found).all() else None


def _check_degrees(table: AnnotationTable, columns: tuple[str, ...], design: SampleDesign) -> None:
    """Refuse effects that take nearly all with them, and warn of those that take much."""
    n_samples = len(design.covariates)
    left = n_samples - 1 - orthonormal(design.covariates).shape[1]
    # Labels of one or two samples each take all but noise.
    if left < max(MIN_DEGREES, n_samples / 3):
        found = f"{left} of {n_samples - 1} degrees of freedom left without their effects"
        expected = (
            f"at least {MIN_DEGREES}, and a third of the samples: fewer columns, or labels that "
            "more samples share (under preprocess.regress_out)"
        )
        raise InputError.at(table.path, f"columns {quoted(columns)}", found, expected)
    # With fewer, only correlations above .6 differ from 0 at p = .05.
    if left < 10:
        design.notes.append(message("few_degrees_left", left=left, samples=n_samples))


def remove_effects(values: NDArray[np.float64], covariates: NDArray[np.float64]) -> None:
    """Subtract from each row, in place, its least-squares fit on the covariates; its mean stays.

    values : float64 (genes, samples), NaN where missing: fitted on the observed samples.
    """

    def take_off(rows: slice) -> None:
        block = values[rows]
        missing = np.isnan(block)
        whole = ~missing.any(axis=1)
        block[whole] = _without_effects(block[whole], covariates)
        for row in np.flatnonzero(~whole & ~missing.all(axis=1)):
            observed = ~missing[row]
            block[row, observed] = _without_effects(block[row, observed], covariates[observed])

    list(releasing(in_threads(take_off, row_blocks(values.shape)), values))


def _without_effects(
    values: NDArray[np.float64], covariates: NDArray[np.float64]
) -> NDArray[np.float64]:
    mean = values.mean(axis=-1, keepdims=True)
    centred = values - mean
    basis, size, _ = np.linalg.svd(covariates - covariates.mean(axis=0), full_matrices=False)
    basis = basis[:, size > 1e-10 * size.max(initial=0.0)]  # what other columns imply adds nothing
    residual = centred - (centred @ basis) @ basis.T
    # What the covariates explain wholly is constant, not the rounding that is left of it.
    norm = np.linalg.norm(centred, axis=-1, keepdims=True)
    explained = np.linalg.norm(residual, axis=-1, keepdims=True) <= 1e-9 * norm
    return np.asarray(mean + np.where(explained, 0.0, residual))
