"""What the samples of a table are to each other: time courses, batches, technical replicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.preprocess import TableAnalysis
from pairtile.config.samples import SamplesConfig
from pairtile.declare.messages import messages_of
from pairtile.engine.large_table import empty_table, take_columns
from pairtile.engine.state import release
from pairtile.errors import InputError
from pairtile.io.anndata_file import read_obs
from pairtile.io.annotations import AnnotationTable, quoted, read_annotation_table
from pairtile.io.expression import Expression, read_sparsely
from pairtile.io.names import some
from pairtile.io.sparse_rows import SparseRows, Values, stored_values
from pairtile.io.table import check_samples
from pairtile.preprocess.logarithm import measure_scale
from pairtile.preprocess.statistics import row_blocks
from pairtile.statistics.dependence import Dependence

message = messages_of(__package__)

NEAR_COPIES_SHARE = 0.2
"""Of all samples; fewer change p-values little."""


@dataclass(frozen=True)
class SampleDesign:
    """Time courses, batches and covariates of the samples of a table.

    series, batch : int32 (samples,), numbers from 0 in order of first appearance; empty where the
    configuration states none. Samples of one series stand in the order of time.
    series_labels, batch_labels : what each number stands for, as the annotations say.
    covariates : float64 (samples, columns), the columns of ``preprocess.regress_out`` as a design
    matrix without intercept; no columns where none is asked for.
    """

    series: NDArray[np.int32]
    batch: NDArray[np.int32]
    covariates: NDArray[np.float64]
    series_labels: list[str] = field(default_factory=list)
    batch_labels: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def unknown(cls) -> SampleDesign:
        """Nothing is stated: each sample stands for itself."""
        none = np.empty(0, dtype=np.int32)
        return cls(none, none, np.empty((0, 0)))

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """What null distributions need, as arrays of a state; none for what is not stated."""
        arrays = {"sample_series": self.series, "sample_batch": self.batch}
        return {name: codes for name, codes in arrays.items() if codes.size}


def arrange_samples(
    expression: Expression,
    config: SamplesConfig,
    regress_out: tuple[str, ...] = (),
    scratch: Path | None = None,
    obs: Mapping[str, Any] | None = None,
) -> tuple[Expression, SampleDesign]:
    """Make one of replicates and put samples in the order of time, as ``config`` states.

    A mean or sum takes the name and the annotations of its first sample; values missing in some of
    its samples are left out of it. Without anything stated the table is returned as it is. Where no
    table of annotations is stated, an ``.h5ad`` file's ``obs`` is taken.

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
    obs
        Which cells of the ``.h5ad`` file the table has, as it was read with.

    Raises
    ------
    InputError
        As ``read_annotation_table``; a column that the table lacks; an empty cell of a series, a
        batch or a column to regress out; a time that is no number; replicates of one specimen
        that are of different series, times or batches.
    """
    n_samples = len(expression.samples)
    if config.annotations is not None:
        table = read_annotation_table(config.annotations, expression.samples, config.unannotated)
        if table.unannotated:
            annotated = np.flatnonzero(~np.isin(expression.samples, table.unannotated))
            expression = _take_samples(expression, annotated, scratch)
            n_samples = annotated.size
            names = some(table.unannotated)
            warning = message("samples_without_annotations", n=len(table.unannotated), names=names)
            table = read_annotation_table(config.annotations, expression.samples)
            table.notes.append(warning)
    elif config.columns or regress_out:
        columns = dict.fromkeys([*config.columns.values(), *regress_out])
        table = read_obs(expression.source, list(columns), obs)
    else:
        return expression, SampleDesign.unknown()
    cells = {key: _column(table, column) for key, column in config.columns.items()}
    for key in cells.keys() - {"replicate"}:
        _check_filled(table, config.columns[key], cells[key])
    how = config.combine
    if how == "auto":
        how = "sum" if measure_scale(stored_values(expression.values)).counted else "mean"
    expression, first = _combine_replicates(expression, table, config, cells, how, scratch)
    design = replace(SampleDesign.unknown(), notes=list(table.notes))
    if first.size < n_samples:
        done = "summed" if how == "sum" else "averaged"
        design.counts[f"samples_{done}"] = n_samples - first.size
        alone = sum(not label for label in cells["replicate"])
        design.notes.append(
            f"{n_samples:,} samples became {first.size:,}: those with the same {config.replicate} "
            f"were {done}" + (f"; {alone:,} have none and stand for themselves." if alone else ".")
        )
    series, series_labels = _codes(cells.get("series"), first)
    batch, batch_labels = _codes(cells.get("batch"), first)
    if "time" in cells:
        time = _numbers(table, config.columns["time"], cells["time"])[first]
        series = series if series.size else np.zeros(first.size, dtype=np.int32)
        order = np.lexsort((time, series))
        first = first[order]
        series, batch = series[order], batch[order] if batch.size else batch
        expression = _take_samples(expression, order, scratch)
    for key, codes in (("series", series), ("batch", batch)):
        if codes.size:
            design.counts[f"sample_{key}"] = int(codes.max()) + 1
    covariates = _design_matrix(table, regress_out, first)
    return expression, replace(
        design,
        series=series,
        batch=batch,
        covariates=covariates,
        series_labels=series_labels,
        batch_labels=batch_labels,
    )


def read_arranged(
    config: TableAnalysis, scratch: Path | None = None
) -> tuple[Expression, SampleDesign]:
    """The expression table of an analysis, its samples arranged as its configuration states; a
    large one is mapped from a file in ``scratch``."""
    path, regress_out = config.table_path() or "", config.preprocess.regress_out
    expression = read_sparsely(
        path,
        config.orientation,
        config.layer,
        config.duplicates,
        config.ignore_versions,
        scratch,
        config.obs,
    )
    expression = _without_empty_samples(expression, scratch)
    return arrange_samples(expression, config.samples, regress_out, scratch, config.obs)


def _take_samples(
    expression: Expression, columns: NDArray[np.int64], scratch: Path | None
) -> Expression:
    values = expression.values
    if isinstance(values, SparseRows):
        taken: Values = values.take_columns(columns)
    else:
        taken = take_columns(values, columns, scratch)
    return replace(expression, values=taken, samples=[expression.samples[k] for k in columns])


def _without_empty_samples(expression: Expression, scratch: Path | None) -> Expression:
    """Without the samples of a table of counts that have none: they failed, or are no cells."""
    empty = np.ones(len(expression.samples), dtype=bool)
    for rows in row_blocks(expression.values.shape):
        empty &= ~(np.nan_to_num(expression.values[rows]) != 0.0).any(axis=0)
        release(expression.values)
        if not empty.any():
            return expression
    if empty.all() or not measure_scale(stored_values(expression.values)).counted:
        return expression
    names = some([expression.samples[k] for k in np.flatnonzero(empty)])
    kept = _take_samples(expression, np.flatnonzero(~empty), scratch)
    check_samples(expression.source, kept.samples)
    warning = message("empty_samples", n=int(empty.sum()), names=names)
    return replace(kept, notes=[*kept.notes, warning])


def dependence_warnings(found: Dependence, config: TableAnalysis) -> list[str]:
    """Samples have near copies or fall into groups, and nothing is stated of it."""
    stated, warnings = config.samples, []
    # What is alike within a series stays so in nulls, which shift genes along each series.
    kept = stated.replicate or stated.series
    if found.near_copies > NEAR_COPIES_SHARE * found.n_samples and not kept:
        warnings.append(
            f"{found.near_copies} of {found.n_samples} samples have near copies (few others that "
            "are far closer to them than all the rest), as technical replicates have: counted as "
            "independent samples they make p-values too small. samples.replicate averages them."
        )
    if found.groups and not (stated.batch or stated.series or config.preprocess.regress_out):
        sizes = f"{', '.join(map(str, found.groups[:-1]))} and {found.groups[-1]}"
        slow = ", or slow change along the samples," if found.ordered else ""
        warnings.append(
            f"The first principal components split the samples into groups of {sizes}: a "
            f"difference between batches or conditions{slow} makes genes agree that have nothing "
            "else in common. samples.batch keeps it out of p-values, preprocess.regress_out "
            "removes it."
        )
    return warnings


def _column(table: AnnotationTable, name: str) -> list[str]:
    if name not in table.columns:
        expected = f"one of {quoted(list(table.columns))}"
        raise InputError.at(table.path, "header", f"no column {name!r}", expected)
    return table.columns[name]


def _check_filled(table: AnnotationTable, column: str, cells: list[str]) -> None:
    if "" in cells:
        at = cells.index("")
        place = f"{table.places[at]}, column {column!r}, sample {table.samples[at]!r}"
        raise InputError.at(table.path, place, "an empty cell", "a value for every sample")


def _numbers(table: AnnotationTable, column: str, cells: list[str]) -> NDArray[np.float64]:
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        place = f"{table.places[wrong[0]]}, column {column!r}"
        raise InputError.at(table.path, place, repr(cells[wrong[0]]), "a number")
    return numbers


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
    labels: list[Any] = [label or k for k, label in enumerate(cells["replicate"])]
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
    for rows in row_blocks(expression.values.shape):
        block = expression.values[rows][:, order]
        observed = ~np.isnan(block)
        n_observed = np.add.reduceat(observed, begins, axis=1, dtype=np.int64)
        sums = np.add.reduceat(np.where(observed, block, 0.0), begins, axis=1)
        divisor = n_observed > 0 if how == "sum" else n_observed
        with np.errstate(invalid="ignore"):
            values[rows] = sums / divisor  # NaN where nothing is observed
        release(expression.values)
        release(values)
    names = [expression.samples[k] for k in first]
    return replace(expression, values=values, samples=names), first


def _codes(cells: list[str] | None, kept: NDArray[np.int64]) -> tuple[NDArray[np.int32], list[str]]:
    """Numbers in order of first appearance, and what they stand for; none without a column."""
    if cells is None:
        return np.empty(0, dtype=np.int32), []
    codes, labels = pd.factorize(np.array(cells, dtype=object)[kept])
    return np.asarray(codes, dtype=np.int32), [str(label) for label in labels]


def _design_matrix(
    table: AnnotationTable, columns: tuple[str, ...], kept: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Numbers as they are, labels as indicators of all but the first."""
    parts = [np.empty((kept.size, 0))]
    for name in columns:
        cells = _column(table, name)
        _check_filled(table, name, cells)
        here = pd.Series(cells).iloc[kept]
        numbers = pd.to_numeric(here, errors="coerce")
        if numbers.notna().all():
            parts.append(numbers.to_numpy(dtype=np.float64)[:, None])
        else:
            parts.append(pd.get_dummies(here, drop_first=True).to_numpy(dtype=np.float64))
    return np.concatenate(parts, axis=1)


def remove_effects(values: NDArray[np.float64], covariates: NDArray[np.float64]) -> None:
    """Subtract from each row, in place, its least-squares fit on the covariates; its mean stays.

    values : float64 (genes, samples), NaN where missing: fitted on the observed samples.
    """
    for rows in row_blocks(values.shape):
        block = values[rows]
        missing = np.isnan(block)
        whole = ~missing.any(axis=1)
        block[whole] = _without_effects(block[whole], covariates)
        for row in np.flatnonzero(~whole & ~missing.all(axis=1)):
            observed = ~missing[row]
            block[row, observed] = _without_effects(block[row, observed], covariates[observed])
        release(values)


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
