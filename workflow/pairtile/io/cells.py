"""Cells of an AnnData, in a file or in memory: which of them are asked for, and which matrix holds
their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_list_like

from pairtile.declare.messages import Message, messages_of
from pairtile.io.by_products import SYMBOLS, column_key
from pairtile.runtime.threads import in_threads

message = messages_of(__package__)

M = TypeVar("M")
"""A matrix: of the file that it is read from, or in memory."""

ErrorMaker = Callable[[str, str, str], Exception]
"""Makes the error of a place, what was found there, and what is expected."""

COUNT_LAYERS = ("counts", "raw_counts", "count", "raw_count", "umi", "umis", "umi_counts")
"""Names of layers of counts, in small letters."""

MIN_ZEROS = 0.2
"""Share of zeros from which values may be those of cells."""

_RUNS, _RUN = 8, 25
"""Cells that are looked at: so many runs of neighbours, which lie together in files."""

_INVERSES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "logarithms (natural, of 1 + x)": np.expm1,
    "logarithms (to base 2, of 1 + x)": lambda x: np.exp2(x) - 1.0,
    "logarithms (to base 10, of 1 + x)": lambda x: 10.0**x - 1.0,
}


def sample_of_cells(n_cells: int) -> NDArray[np.int64]:
    """Numbers of the cells that are looked at, in order."""
    starts = np.linspace(0, max(0, n_cells - _RUN), _RUNS).astype(np.int64)
    cells = np.unique(starts[:, None] + np.arange(_RUN))
    return cells[cells < n_cells]


def normalisation_of(values: NDArray[np.float64]) -> str:
    """What was done to the counts of cells to make these values, float64 (cells, genes); "" where
    that cannot be told: counts themselves, few zeros, values of another kind.

    Three marks are looked for. Cells that were scaled to one total sum to it again without the
    logarithm. A cell's counts of 1, 2, 3 are then 1, 2, 3 times its smallest value, also where
    genes were left out later. And in genes that were scaled to mean 0, what was zero is the gene's
    smallest value in many cells, below 0, another in each gene.
    """
    if not values.size or not np.isfinite(values).all() or _all_integers(values):
        return ""
    if values.min() < 0.0:
        return "values scaled gene by gene (below 0)" if _scaled_by_gene(values) else ""
    if (values == 0.0).mean() < MIN_ZEROS:
        return ""
    if _equal_totals(values) and whole_multiples(values):
        return "counts scaled to one total"
    # No logarithm of a count is as large.
    if values.max() > 40.0:
        return ""
    for name, inverse in _INVERSES.items():
        linear = inverse(values)
        if _equal_totals(linear) or whole_multiples(linear):
            return name
    return ""


def _all_integers(values: NDArray[np.float64]) -> bool:
    return bool((values == np.rint(values)).all())


def _equal_totals(linear: NDArray[np.float64]) -> bool:
    totals = linear.sum(axis=1)
    totals = totals[totals > 0.0]
    return totals.size > 2 and bool(
        np.mean(np.abs(totals / np.median(totals) - 1.0) < 1e-3) > 0.9  # float32 and few decimals
    )


def whole_multiples(linear: NDArray[np.float64]) -> bool:
    """Whether the values of nearly every cell, float64 (cells, genes), are small whole multiples of
    its smallest."""

    def of_cells(cells: NDArray[np.float64]) -> NDArray[np.bool_]:
        ratio = cells / np.where(cells > 0.0, cells, np.inf).min(axis=1, keepdims=True)
        small = ratio < 100.0
        near = np.abs(ratio - np.rint(ratio)) < 0.01
        return np.stack([(near | ~small).all(axis=1), (small & (ratio > 1.5)).any(axis=1)])

    parts = np.array_split(linear, 1 + (linear.size >> 17))
    of_cell, several = np.hstack(list(in_threads(of_cells, parts)))
    return bool(several.mean() > 0.5 and of_cell[several].mean() > 0.8)


def _scaled_by_gene(values: NDArray[np.float64]) -> bool:
    smallest = values.min(axis=0)
    varied = values.max(axis=0) > smallest
    if not varied.any():
        return False
    share = ((values == smallest).sum(axis=0)[varied] - 1) / len(values)  # one is the smallest
    distinct = np.unique(smallest[varied]).size
    return bool(np.median(share) >= MIN_ZEROS and distinct > varied.sum() / 2)


@dataclass(frozen=True)
class Matrices(Generic[M]):
    """The matrices of an AnnData, cells x genes. ``look`` gives the values of some cells (those of
    ``sample_of_cells``) of one of them, float64 (cells, genes); None for what is no matrix."""

    x: M | None
    layers: Mapping[str, M]
    raw: M | None
    genes: list[str]
    raw_genes: list[str]
    look: Callable[[M], NDArray[np.float64] | None]

    @property
    def genes_of_raw(self) -> list[str]:
        """Names of the genes of raw: those of X where raw has only numbers for as many genes."""
        numbered = self.raw_genes == [str(k) for k in range(len(self.genes))]
        return self.genes if numbered else self.raw_genes


@dataclass(frozen=True)
class Found(Generic[M]):
    """The matrix that is read. ``columns``: which of its columns, the genes ``genes``; None: all.
    ``source``: what messages call it."""

    matrix: M
    source: str
    genes: list[str]
    columns: NDArray[np.int64] | None = None
    notes: list[Message] = field(default_factory=list)


def find_matrix(held: Matrices[M], layer: str | None, refuse: ErrorMaker) -> Found[M]:
    """The matrix that ``layer`` names: a layer, ``raw``, ``X`` (also None), or ``auto``.

    ``auto`` is X, but for the counts beside it where X was made from these: values that are not
    whole numbers, and either below zero or zero where the counts are, many of which are zero. Of
    ``raw`` the genes of X are then taken. Some cells are looked at.
    """
    if layer == "auto":
        found = _counts_or_x(held)
        if found is not None:
            return found
    elif layer is not None and layer in held.layers:
        return Found(held.layers[layer], f"the layer {layer!r}", held.genes)
    elif layer == "raw" and held.raw is not None:
        return Found(held.raw, "raw", held.genes_of_raw)
    elif layer in (None, "X") and held.x is not None:
        return Found(held.x, "X", held.genes)
    names = ", ".join(map(repr, held.layers)) or "none"
    if layer in (None, "X", "auto"):
        raise refuse("", "no X", f"X, or a layer named by `layer` ({names})")
    more = ("" if held.raw is None else ", or raw") + ("" if held.x is None else ", or X")
    raise refuse("", f"no layer {layer!r}", f"one of its layers: {names}{more}")


def _counts_or_x(held: Matrices[M]) -> Found[M] | None:
    """The counts that X was made from, or that stand for X where there is none; else X."""
    x = None if held.x is None else held.look(held.x)
    if held.x is not None and (x is None or not np.isfinite(x).all() or _all_integers(x)):
        return Found(held.x, "X", held.genes)
    notes: list[Message] = []
    for found, counts, known in _counts(held):
        how = "nothing" if known and x is None else _made_from(x, counts, known)
        if how:
            notes = [message("counts_taken", source=found.source, how=how)]
            left_out = len(held.raw_genes) - len(found.genes)
            if found.source == "raw" and left_out:
                notes.append(message("genes_of_raw_left_out", n=left_out))
            return replace(found, notes=notes)
        if known and not notes:
            notes = [message("counts_beside", source=found.source)]
    return None if held.x is None else Found(held.x, "X", held.genes, notes=notes)


def _made_from(x: NDArray[np.float64] | None, counts: NDArray[np.float64], known: bool) -> str:
    """What X holds if it was made from these counts, ``known`` by their name; "" if it was not."""
    zero = counts == 0.0
    if x is None or x.shape != counts.shape or zero.mean() < MIN_ZEROS:
        return ""
    how = normalisation_of(x) or ("values below 0" if x.min() < 0.0 else "")
    if how and known:
        return how
    if ((x == 0.0) == zero).mean() > 0.999:
        return how or "other values, zero where these are"
    return ""


def _counts(held: Matrices[M]) -> Iterator[tuple[Found[M], NDArray[np.float64], bool]]:
    """What holds counts in the cells that are looked at, with these, of the genes of X; and whether
    its name says so: the likeliest first."""
    by_name = {name.lower(): name for name in held.layers}
    known = [by_name[name] for name in COUNT_LAYERS if name in by_name]
    candidates = [Found(held.layers[k], f"the layer {k!r}", held.genes) for k in known]
    columns = None if held.raw is None else _places(held.genes, held.genes_of_raw)
    if held.raw is not None and columns is not None:
        candidates.append(Found(held.raw, "raw", held.genes, columns))
    n_known = len(candidates)
    candidates += [
        Found(held.layers[k], f"the layer {k!r}", held.genes) for k in held.layers if k not in known
    ]
    for k, found in enumerate(candidates):
        values = held.look(found.matrix)
        if values is None or not values.size:
            continue
        if found.columns is not None:
            values = values[:, found.columns]
        whole = np.isfinite(values).all() and _all_integers(values)
        if whole and values.min() >= 0.0 and values.max() > 1.0:
            yield found, values, k < n_known


def _places(genes: list[str], among: list[str]) -> NDArray[np.int64] | None:
    """Where each gene stands among others; None where one is missing or there twice."""
    if genes == among:
        return np.arange(len(genes))
    # Of a gene that is missing -1, of one that is there twice two places.
    places = pd.Index(among, dtype=object).get_indexer_for(pd.Index(genes, dtype=object))
    return places if places.size == len(genes) and (places >= 0).all() else None


# --- names of the genes ---------------------------------------------------------------------------

_ACCESSIONS = {"gene_ids", "gene_id", "ensembl_id", "ensembl_ids", "ensembl", "ensembl_gene_id"} | {
    *("feature_id", "accession"),
}


def other_names(
    names: Sequence[str], columns: Iterable[str], texts: Callable[[str], Sequence[str]]
) -> tuple[dict[str, str], dict[str, str], list[Message]]:
    """Symbols and accessions of genes, by name (``io.expression.Expression``), from the columns of
    ``var`` that are known to hold such; and a note of the former."""
    found = []
    for known in (SYMBOLS, _ACCESSIONS):
        column = next((name for name in columns if column_key(str(name)) in known), None)
        others = zip(names, [] if column is None else texts(column), strict=False)
        found.append((column, {name: other for name, other in others if other not in ("", name)}))
    (column, symbols), (_, accessions) = found
    return symbols, accessions, [message("symbols_in_table", column=column)] if symbols else []


# --- which cells ----------------------------------------------------------------------------------


def as_text(value: Any) -> str:
    """A cell of a table of annotations; "" where nothing stands."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):  # first, since most are: of a million cells the rest takes seconds
        return value.strip()
    if pd.isna(value):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def chosen_cells(
    column: Callable[[str], Sequence[str]], obs: Mapping[str, object], refuse: ErrorMaker
) -> NDArray[np.bool_]:
    """Which cells have one of the values asked for in every column of ``obs``.

    column : the texts of a column. obs : column -> a value, or a list of values. Raises ``refuse``
    for a value that no cell has, and where no cell has all that is asked.
    """
    chosen: NDArray[np.bool_] | np.bool_ = np.True_
    for name, asked in obs.items():
        texts = pd.Index(column(name))
        values = _texts(asked)
        there = texts.unique()
        absent = [value for value in values if value not in there]
        if absent:
            shown = ", ".join(map(repr, there[:20])) + (", ..." if len(there) > 20 else "")
            raise refuse(f"obs, column {name!r}", f"no cell with {absent[0]!r}", f"one of {shown}")
        chosen = chosen & texts.isin(values)
    if not chosen.any():
        raise refuse("obs", "no cell with all the values that are asked for", "some cells")
    return np.asarray(chosen)


def _texts(asked: Any) -> list[str]:
    return [as_text(value) for value in (asked if is_list_like(asked) else [asked])]


def cells_note(chosen: NDArray[np.bool_], obs: Mapping[str, object]) -> Message:
    """How many cells were taken."""
    asked = "; ".join(f"{name}: {', '.join(_texts(values))}" for name, values in obs.items())
    kept = int(chosen.sum())
    return message("cells_chosen", kept=kept, left_out=chosen.size - kept, asked=asked)
