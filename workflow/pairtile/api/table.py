"""Expression in the forms that people hold in memory, as one: values and, where there, names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.messages import Message
from pairtile.errors import InputError
from pairtile.io.cells import (
    Matrices,
    as_text,
    cells_note,
    chosen_cells,
    find_matrix,
    other_names,
    sample_of_cells,
)
from pairtile.io.expression import ORIENTATIONS, Expression, without_others
from pairtile.io.sparse_rows import SparseRows, Values, in_memory, plain_matrix
from pairtile.io.table import (
    FIRST_CELLS,
    FIRST_ROWS,
    Kinds,
    check_finite,
    check_names,
    choose_columns,
)
from pairtile.preprocess.expression import Prepared
from pairtile.simulate import Simulation

if TYPE_CHECKING:
    from anndata import AnnData
    from scipy.sparse import sparray, spmatrix

ExpressionLike: TypeAlias = (
    "ArrayLike | pd.DataFrame | sparray | spmatrix | AnnData | Expression | Prepared | Simulation"
)
"""Expression in any form that the library takes, as ``as_table`` says."""

Names: TypeAlias = "pd.Index[str] | pd.Index[int]"
"""Names of genes or samples, or their numbers where they have none."""

SampleLabels = Mapping[str, object]
"""Labels of samples by what they say (``series``, ``time``, ``batch``); None: nothing is said."""

Labels: TypeAlias = "ArrayLike | pd.Series | Mapping[str, object] | Mapping[int, object]"
"""A label for each sample: array-like, or by the sample's name a mapping or Series."""

_Parts: TypeAlias = "tuple[Any, Names | None, Names | None]"
"""Values as they are, with the labels of rows and of columns."""

Matrix = Any
"""A numpy array where the expression came as an array, a DataFrame with the genes' names where it
came with names. Which of the two is known to the caller and not to a type checker."""


@dataclass(frozen=True)
class ExpressionTable:
    """``values`` float64 (genes, samples), C order, NaN where missing, or ``SparseRows`` where the
    caller takes these; names, None for arrays. ``symbols``: other names of genes, by name.
    ``obs``: of an AnnData, what it says of the samples."""

    values: Any
    genes: Names | None
    samples: Names | None
    notes: list[Message] = field(default_factory=list)
    symbols: Mapping[str, str] = field(default_factory=dict)
    obs: pd.DataFrame | None = None

    @property
    def n_genes(self) -> int:
        """Number of genes."""
        return int(self.values.shape[0])

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.values.shape[1])

    @property
    def labels(self) -> Names:
        """Names of the genes; their numbers where there are no names."""
        return pd.RangeIndex(self.n_genes) if self.genes is None else self.genes

    @property
    def sample_labels(self) -> Names:
        """Names of the samples; their numbers where there are no names."""
        return pd.RangeIndex(self.n_samples) if self.samples is None else self.samples

    def named(self, rows: NDArray[np.int64], matrix: NDArray[np.floating]) -> Matrix:
        """A matrix of genes ``rows`` x all genes as the caller wants it."""
        if self.genes is None:
            return matrix
        return pd.DataFrame(matrix, index=self.genes[rows], columns=self.genes, copy=False)


def as_table(
    expression: ExpressionLike,
    *,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    obs: Mapping[str, object] | None = None,
    name: str = "expression",
    sparse: bool = False,
) -> ExpressionTable:
    """Take expression in any form; the input is not changed.

    Parameters
    ----------
    expression
        Array (also nested lists, masked and scipy sparse arrays), DataFrame, AnnData, or what
        ``read_expression``, ``prepare_expression`` and ``simulate_kinetic`` return.
    orientation : {"genes_in_rows", "samples_in_rows"}
        Of arrays and DataFrames; the other forms say it themselves (AnnData is cells x genes).
    layer : str, optional
        Of an AnnData: a layer, ``raw``, ``X`` (also None), or ``auto`` (``io.cells.find_matrix``).
    obs : mapping, optional
        Of an AnnData: only cells with this value, or one of these, in a column of ``obs``.
    name : str
        What messages call it.
    sparse
        Whether sparse values stay so, for a preparation that goes by blocks of genes.

    Raises
    ------
    ValueError
        Not two-dimensional, not numbers, infinite values, fewer than 2 genes or 3 samples,
        repeated names, an unknown orientation or layer.
    InputError
        A DataFrame in the long form, or with several columns of values for each sample.
    """
    if orientation not in ORIENTATIONS:
        raise ValueError(
            f"orientation: found {orientation!r}; expected {' or '.join(ORIENTATIONS)}"
        )
    if not isinstance(obs, Mapping | None):
        raise ValueError(f"obs: found {obs!r:.60}; expected a mapping from columns to labels")
    about = None
    if is_anndata(expression):
        (raw, genes, samples), symbols, notes = _of_anndata(expression, layer, obs or {}, name)
        about = expression.obs
        if "spatial" in expression.obsm:
            places = np.asarray(expression.obsm["spatial"], dtype=float)[:, :2]
            about = about.assign(spatial=[f"{x:.12g} {y:.12g}" for x, y in places])
        about = about.loc[samples] if obs else about
    else:
        for key, value in (("layer", None if layer == "auto" else layer), ("obs", obs or None)):
            if value is not None:
                raise ValueError(
                    f"{key}: found {value!r}; expected None, since {name} is no AnnData"
                )
        notes, symbols = [], getattr(expression, "other_names", {})
        if isinstance(expression, pd.DataFrame):
            expression, symbols, notes = _without_annotations(expression, orientation, name)
        raw, genes, samples = _parts(expression)
    if orientation == "samples_in_rows" and _has_free_orientation(expression):
        nested = isinstance(raw, list | tuple)
        raw, genes, samples = (np.array(raw, object) if nested else raw).T, samples, genes
    if isinstance(expression, str | os.PathLike):
        raise ValueError(f"{name}: found a path; expected a table (read_expression reads files)")
    table = ExpressionTable(_numbers(raw, name, sparse), genes, samples, notes, symbols, about)
    _check(table, expression, name)
    looked_at = isinstance(expression, pd.DataFrame) or is_anndata(expression)
    if table.samples is None or not looked_at:
        return table
    of_genes, of_samples = ([*map(str, names)] for names in (table.labels, table.samples))
    read = without_others(Expression(table.values, of_genes, of_samples, name, notes))
    if (len(read.genes), len(read.samples)) == table.values.shape:
        return replace(table, notes=read.notes)
    rows = pd.Index(of_genes).get_indexer(pd.Index(read.genes))
    columns = pd.Index(of_samples).get_indexer(pd.Index(read.samples))
    table = replace(
        table,
        values=read.values,
        genes=table.labels[rows],
        samples=table.samples[columns],
        notes=read.notes,
        obs=None if about is None else about.iloc[columns],
    )
    _check(table, expression, name)
    return table


def _without_annotations(
    frame: pd.DataFrame, orientation: str, name: str
) -> tuple[pd.DataFrame, Mapping[str, str], list[Message]]:
    """A DataFrame as files are read: without columns that are no samples, names from a column of
    text where the index has none; with symbols of its genes."""
    head = frame.head(max(3, min(FIRST_ROWS, FIRST_CELLS // max(frame.shape[1], 1))))
    chosen = choose_columns(head, Kinds.of_orientation(orientation), name)
    index = frame.index if chosen.names is None else pd.Index(frame.iloc[:, chosen.names])
    symbols: dict[str, str] = {}
    if chosen.symbols is not None:
        texts = frame.iloc[:, chosen.symbols].fillna("").astype(str)
        symbols = {str(gene): text for gene, text in zip(index, texts, strict=True) if text}
    if len(chosen.values) < frame.shape[1]:
        frame = frame.iloc[:, chosen.values].set_axis(index)
    return frame, symbols, chosen.notes


def is_anndata(expression: object) -> TypeGuard[AnnData]:
    """Whether this is an AnnData, found out without importing anndata (which takes a second)."""
    return all(hasattr(expression, part) for part in ("obs_names", "var_names", "varp", "uns"))


def _has_free_orientation(expression: ExpressionLike) -> bool:
    return not (
        is_anndata(expression) or isinstance(expression, Expression | Prepared | Simulation)
    )


def _parts(expression: ExpressionLike) -> _Parts:
    if isinstance(expression, pd.DataFrame):
        return expression, expression.index, expression.columns
    if isinstance(expression, Expression | Prepared | Simulation):
        return expression.values, pd.Index(expression.genes), pd.Index(expression.samples)
    return expression, None, None


def _of_anndata(
    adata: AnnData, layer: str | None, obs: Mapping[str, object], name: str
) -> tuple[_Parts, Mapping[str, str], list[Message]]:
    def refuse(place: str, found: str, expected: str) -> ValueError:
        return ValueError(f"{place or name}: found {found}; expected {expected}")

    def look(matrix: Any) -> NDArray[np.float64] | None:
        some = plain_matrix(matrix)[sample_of_cells(adata.n_obs)]
        some = np.asarray(some.toarray() if hasattr(some, "toarray") else some)
        return some.astype(np.float64) if some.ndim == 2 and some.dtype.kind in "biuf" else None

    raw, genes = adata.raw, pd.Index(adata.var_names)
    held = Matrices(
        adata.X,
        {key: matrix for key, matrix in adata.layers.items() if isinstance(key, str)},
        None if raw is None else raw.X,
        list(genes),
        [] if raw is None else list(raw.var_names),
        look,
    )
    found = find_matrix(held, layer, refuse)
    var = adata.var
    if found.genes is held.raw_genes:
        genes, var = pd.Index(raw.var_names), raw.var
    symbols, accessions, said = other_names(found.genes, var, lambda key: [*map(as_text, var[key])])
    matrix, notes = plain_matrix(in_memory(found.matrix)), list(found.notes)
    cells = pd.Index(adata.obs_names)
    if found.columns is not None:
        matrix = matrix[:, found.columns]
    if obs:

        def column(key: str) -> list[str]:
            if key not in adata.obs:
                raise refuse(
                    "obs",
                    f"no column {key!r}",
                    f"one of {', '.join(map(repr, adata.obs)) or 'none'}",
                )
            return [as_text(value) for value in adata.obs[key]]

        chosen = chosen_cells(column, obs, refuse)
        matrix, cells = matrix[np.flatnonzero(chosen)], cells[chosen]
        notes.append(cells_note(chosen, obs))
    return (matrix.T, genes, cells), {**accessions, **symbols}, [*notes, *said]


def _numbers(raw: Any, name: str, sparse: bool) -> Values:
    try:
        for dtype in raw.dtypes if isinstance(raw, pd.DataFrame) else [getattr(raw, "dtype", None)]:
            if getattr(dtype, "kind", "O") in "cmM":  # complex, duration, date: numpy casts them
                raise TypeError(f"values of type {dtype}")
        if isinstance(raw, pd.DataFrame):
            values = raw.to_numpy(dtype=np.float64, na_value=np.nan)
        elif isinstance(raw, np.ma.MaskedArray):
            values = np.ma.filled(raw.astype(np.float64), np.nan)
        else:
            if hasattr(raw, "tocsr"):  # any of scipy's sparse kinds
                rows = SparseRows(raw)
                if sparse:
                    return rows
                raw = rows[:]
            values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: found no table of numbers ({error}); expected numbers"
        ) from error
    if values.ndim != 2:
        raise ValueError(f"{name}: found shape {values.shape}; expected (genes, samples)")
    return np.ascontiguousarray(values)


def _check(table: ExpressionTable, expression: ExpressionLike, name: str) -> None:
    genes, samples = _texts(table.labels), _texts(table.sample_labels)
    hint = " (adata.var_names_make_unique() and adata.obs_names_make_unique() make names so)"
    try:
        check_names(name, "gene", genes)
        check_names(name, "sample", samples)
    except InputError as error:
        found = str(error).replace(", or the key duplicates", "")
        raise ValueError(f"{found}{hint if is_anndata(expression) else ''}") from None
    if table.n_genes < 2 or table.n_samples < 3:
        turned = " (is it the other way round? see orientation)"
        raise ValueError(
            f"{name}: found {table.n_genes} genes and {table.n_samples} samples; "
            f"expected at least 2 genes and 3 samples"
            f"{turned if _has_free_orientation(expression) else ''}"
        )
    try:
        check_finite(name, table.values, genes, samples)
    except InputError as error:
        raise ValueError(str(error)) from None


def _texts(labels: Names) -> list[str]:
    return ["" if pd.isna(label) is True else str(label) for label in labels.to_flat_index()]
