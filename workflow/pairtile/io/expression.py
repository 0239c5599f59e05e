"""Read an expression table, in any format that people bring."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import (
    count,
    in_row_order,
    releasing,
    row_blocks,
    take_columns,
    take_rows,
)
from pairtile.errors import ConfigError, InputError
from pairtile.io.anndata_file import read_10x_h5, read_h5ad, read_loom
from pairtile.io.binary_table import read_parquet
from pairtile.io.by_products import (
    converted_names,
    rows_of_no_gene,
    statistics_of_others,
    unlike_others,
)
from pairtile.io.gct import read_gct
from pairtile.io.in_memory import unless_in_memory
from pairtile.io.matrix_market import read_mtx_folder
from pairtile.io.names import GeneNames, join_first, without_version
from pairtile.io.sparse_rows import SparseRows, Values, columns_of
from pairtile.io.table import Kinds, Table, check_finite, check_names, check_samples
from pairtile.io.text_table import read_text_table
from pairtile.runtime.threads import in_background, in_threads

message = messages_of(__package__)

ORIENTATIONS = ("genes_in_rows", "samples_in_rows")
DUPLICATES = ("error", "mean", "max", "first")
FORMATS = (
    ".tsv .tab .csv .txt .gct (each also .gz), .parquet, .h5ad, .h5, .loom, or a 10x mtx folder"
)


@dataclass(frozen=True, repr=False)
class Expression:
    """Expression values with the names of genes and samples.

    ``values``: float64, shape (genes, samples), C order, NaN where a value is missing; of a sparse
    file that is read for preparation, ``SparseRows`` (``read_sparsely``).
    ``source``: the path as it was given. ``notes``: plain sentences on what reading decided.
    ``symbols``: what people call the genes, by name, where the file says it; ``accessions``: their
    identifiers, where it names them by symbol.
    """

    values: Any
    genes: list[str]
    samples: list[str]
    source: str = ""
    notes: list[Message] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)
    accessions: dict[str, str] = field(default_factory=dict)

    @property
    def gene_names(self) -> GeneNames:
        """The genes under all names that they have."""
        symbols = [self.symbols.get(gene, "") for gene in self.genes]
        return GeneNames(self.genes, symbols, [self.accessions.get(g, "") for g in self.genes])

    @property
    def other_names(self) -> dict[str, str]:
        """Another name of each gene that has one."""
        return {**self.accessions, **self.symbols}

    def __repr__(self) -> str:
        of = f" of {self.source}" if self.source else ""
        return f"Expression{of}: {len(self.genes):,} genes, {len(self.samples):,} samples"


def read_expression(
    path: str | PathLike[str],
    orientation: str = "genes_in_rows",
    layer: str | None = "auto",
    duplicates: str = "error",
    ignore_versions: bool = False,
    obs: Mapping[str, object] | None = None,
) -> Expression:
    """Read an expression table; the format goes by the suffix.

    - ``.tsv``, ``.tab``, ``.csv``, ``.txt``, plain or ``.gz``: a header, with or without a field
      above the row names, then a name and numbers in each row. Missing values are empty, NA, N/A,
      NaN, null or None. ``.csv`` is split at commas or semicolons, ``.txt`` also at tabs: at what
      its first line has most of. Numbers may have decimal commas, or marks between thousands.
    - ``.gct`` (1.2, 1.3), ``.parquet``, ``.h5ad`` (cells x genes by itself), ``.h5`` of Cell Ranger
      (gene expression alone), ``.loom``, and folders with ``matrix.mtx``, ``features.tsv`` or
      ``genes.tsv``, and ``barcodes.tsv``, plain or gzip, all three with the same prefix or none.

    Units are those of the file: nothing is transformed here. Columns that are no samples and rows
    that are no genes (``io.by_products``: annotations, results of tests, totals, spike-ins, what
    describes samples) are left out with a note or warning; gene names that a spreadsheet has
    changed are warned of.

    Parameters
    ----------
    path : path
        The table, or the folder of a 10x matrix.
    orientation : {"genes_in_rows", "samples_in_rows"}
        Which way the table lies; ``.h5ad`` is cells x genes whatever stands here.
    layer : str, optional
        Of an ``.h5ad`` file: a layer, ``raw``, or ``X`` (also None; of other formats all there is).
        ``auto``: the counts that X was made from where these are beside it, else X.
    duplicates : {"error", "mean", "max", "first"}
        What to do with genes of the same name: refuse the table; take their mean in each sample
        (of the observed values), the one with the largest mean, or the first.
    ignore_versions : bool
        Whether names are read without the version after their last point: ENSG00000141510.18 is
        ENSG00000141510.
    obs : mapping, optional
        Of an ``.h5ad`` file: only cells with this value, or one of these, in a column of ``obs``.

    Raises
    ------
    InputError
        File missing, damaged, empty or of no known format; ragged rows, non-numbers, infinite
        values; empty or repeated gene or sample names; fewer than 3 samples.
    ConfigError
        An unknown orientation or treatment of duplicates; ``layer`` or ``obs`` for another format.
    """
    found = read_sparsely(path, orientation, layer, duplicates, ignore_versions, obs=obs)
    return replace(found, values=found.values[:])


@unless_in_memory
def read_sparsely(
    path: str | PathLike[str],
    orientation: str = "genes_in_rows",
    layer: str | None = "auto",
    duplicates: str = "error",
    ignore_versions: bool = False,
    scratch: Path | None = None,
    obs: Mapping[str, object] | None = None,
    controls: bool = False,
) -> Expression:
    """``read_expression`` without making a sparse matrix dense: its values are ``SparseRows``.
    Those of a large dense table are mapped from a file in ``scratch``. ``controls``: whether rows
    of spike-ins are kept."""
    if orientation not in ORIENTATIONS:
        raise ConfigError.at("orientation", "", repr(orientation), " or ".join(ORIENTATIONS))
    if duplicates not in DUPLICATES:
        raise ConfigError.at("duplicates", "", repr(duplicates), " or ".join(DUPLICATES))
    repeated = duplicates != "error"
    kinds = Kinds.of_orientation(orientation, "gene" if repeated else "")
    table, genes_in_rows = _read(Path(path), orientation, layer, obs, kinds, scratch)
    values, genes, samples = table.values, table.rows, table.columns
    if not genes_in_rows:
        genes, samples = samples, genes
    if isinstance(values, np.ndarray):  # sparse ones have genes in rows
        values = in_row_order(values if genes_in_rows else values.T, scratch)
    if not genes:
        raise InputError.at(path, "", "no genes", "a table of genes and samples")
    notes = list(table.notes)
    symbols = {_visible(gene): symbol for gene, symbol in table.symbols.items()}
    if changed := [name for name in (*genes, *samples) if name != _visible(name)]:
        names = join_first([_visible(name) for name in changed])
        notes.append(message("invisible_letters", n=len(changed), names=names))
        genes, samples = list(map(_visible, genes)), list(map(_visible, samples))
    check_samples(path, samples)
    check_names(path, "gene", genes, repeated=repeated)
    check_names(path, "sample", samples)
    check_finite(path, values, genes, samples)
    _check_codes(path, values)
    table_read = Expression(values, genes, samples, str(path), notes, symbols)
    read = without_others(table_read, scratch, controls)
    values, genes, samples, notes = read.values, read.genes, read.samples, read.notes
    check_samples(path, samples)
    accessions = table.accessions
    if ignore_versions:
        versioned, genes = genes, [without_version(gene) for gene in genes]
        n = sum(a != b for a, b in zip(versioned, genes, strict=True))
        notes += [message("versions_left_out", n=n)] if n else []
        symbols = {without_version(gene): symbol for gene, symbol in symbols.items()}
        accessions = {name: without_version(found) for name, found in accessions.items()}
        check_names(path, "gene", genes, repeated=repeated)
    if len(set(genes)) < len(genes):
        merged = _merge_repeated(values, genes, duplicates, scratch)
        taken = {"max": "row with the largest mean", "first": "row that stands first"}
        notes.append(
            message(
                "duplicates_joined",
                rows=len(genes),
                names=len(merged[1]),
                taken=taken.get(duplicates, "mean"),
                duplicates=duplicates,
            )
        )
        values, genes = merged
    return replace(read, values=values, genes=genes, symbols=symbols, accessions=accessions)


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")


def _visible(name: str) -> str:
    return name if name.isascii() else _INVISIBLE.sub("", name).strip()


def _check_codes(path: str | PathLike[str], values: Values) -> None:
    """Refuse a negative value that stands for a missing one: it is in several cells and twice as
    far below all others as these are from each other; -9, -99 and the like also where they are
    the only negative values."""
    if isinstance(values, SparseRows):
        return

    def least(above: float) -> tuple[float, float]:
        """The lowest value above another, and the highest."""

        def in_block(rows: slice) -> tuple[float, float]:
            some = values[rows][values[rows] > above]
            return some.min(initial=np.inf), some.max(initial=-np.inf)

        found = [*releasing(in_threads(in_block, row_blocks(values.shape)), values)]
        return float(min(low for low, _ in found)), float(max(high for _, high in found))

    lowest, highest = least(-np.inf)
    if lowest >= 0.0:
        return
    second, _ = least(lowest)
    n, distance = count(lambda part: part == lowest, values), second - lowest
    # The log10 of 0 + 1e-9 is -9 as well, but no logarithm beside it reaches 9.
    nines = re.fullmatch(
        "-9+" if second >= 0.0 and highest > 9.0 else "-99+", f"{lowest:.16g}"
    ) and (second >= 0.0 or distance > highest - second)
    far = (
        values.size >= 30  # fewer do not say what is far from them
        and distance > 2.0 * (highest - second)
        and (lowest % 1.0 == 0.0 or lowest < -90.0)
    )
    if n > 1 and highest > second and (nines or far):
        raise InputError.at(
            path,
            "",
            f"{lowest:g} in {n} cells, where all others are {second:g} to {highest:g}",
            "missing values written as NA (in pandas "
            f"pd.read_csv(..., na_values=[{lowest:g}]), in R read.table(..., na.strings))",
        )


def without_others(
    read: Expression, scratch: Path | None = None, controls: bool = False
) -> Expression:
    """Without columns that are no samples and rows that are no genes; with a warning of columns
    that are unlike all others, and of names that were changed."""
    values, genes, samples, notes = read.values, read.genes, read.samples, list(read.notes)
    most = max(20, min(500, 1_000_000 // len(samples)))
    some_genes = values[:: 1 + len(genes) // most]
    totals = statistics_of_others(samples, some_genes)
    columns = np.setdiff1d(np.arange(len(samples)), totals)
    agreeing = in_background(partial(unlike_others, some_genes[:, columns]))
    some_samples = columns_of(values, columns[:: 1 + columns.size // 64])
    left_out = rows_of_no_gene(genes, some_samples, controls)
    agreement, unlike = agreeing()
    if unlike.any():
        notes.append(
            message(
                "unlike_samples",
                n=int(unlike.sum()),
                names=join_first([samples[k] for k in columns[unlike]]),
                highest=agreement[unlike].max(),
                lowest=agreement[~unlike].min(),
            )
        )
    of_genes = [(code, rows, genes, "gene") for code, rows in left_out.items()]
    for code, at, names, kind in [("statistics_left_out", totals, samples, "sample"), *of_genes]:
        if at:
            shown = join_first([names[k] for k in at])
            notes.append(message(code, n=len(at), names=shown, kind=kind))
    left_out.pop("perhaps_no_genes", None)
    rows = np.setdiff1d(np.arange(len(genes)), [k for at in left_out.values() for k in at])
    if not rows.size:
        raise InputError.at(read.source, "", f"no genes, but {join_first(genes)}", "genes")
    sparse = isinstance(values, SparseRows)
    if rows.size < len(genes):
        values = values.take(rows) if sparse else take_rows(values, rows, scratch)
    if totals:
        values = values.take_columns(columns) if sparse else take_columns(values, columns, scratch)
    genes, samples = [genes[k] for k in rows], [samples[k] for k in columns]
    if changed := converted_names(genes):
        notes.append(message("converted_names", n=len(changed), names=join_first(changed)))
    return replace(read, values=values, genes=genes, samples=samples, notes=notes)


def _merge_repeated(
    values: Values, genes: Sequence[str], how: str, scratch: Path | None
) -> tuple[Values, list[str]]:
    """One row for each name, in the order in which names are first there."""
    codes, names = pd.factorize(np.array(genes, dtype=object))
    if how == "mean":
        first = np.unique(codes, return_index=True)[1]
        repeated = np.flatnonzero(np.bincount(codes) > 1)
        means = [_mean(values[np.flatnonzero(codes == k)], axis=0) for k in repeated]
        if isinstance(values, SparseRows):
            return values.take(first).replaced(repeated, means), list(names)
        merged = take_rows(values, first, scratch)
        merged[repeated] = means
        return merged, list(names)
    size = np.zeros(len(genes))
    if how == "max":
        size = np.concatenate([_mean(values[k : k + 1], axis=1) for k in range(len(genes))])
        size[np.isnan(size)] = -np.inf
    order = np.lexsort((np.arange(len(genes)), -size, codes))
    best = order[np.r_[True, np.diff(codes[order]) > 0]]
    if isinstance(values, SparseRows):
        return values.take(best), list(names)
    return take_rows(values, best, scratch), list(names)


def _mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Of the observed values; NaN where there are none."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis))


_CURES = {
    r"\.mtx(\.gz)?": "give the folder of the matrix",
    r"\.(xlsx?|ods)": "save the sheet as text with tabs between (Save as, Text)",
    r"\.(rds|rdata|rda)": "in R, write.table(as.matrix(x), 'table.tsv', sep='\\t', quote=FALSE, "
    "col.names=NA) writes a table x",
    r"\.(zip|bz2|xz|zst|7z|tar)": "unpack it",
}
"""Suffixes of what people have instead, in small letters -> what makes a table of it."""


def _read(
    path: Path,
    orientation: str,
    layer: str | None,
    obs: Mapping[str, object] | None,
    kinds: Kinds,
    scratch: Path | None,
) -> tuple[Table, bool]:
    """The table, and whether its rows are the genes."""
    genes_in_rows = orientation == "genes_in_rows"
    if not path.exists():
        raise InputError.at(path, "", "no such file", "an existing file")
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = path.with_suffix("").suffix.lower() + suffix
    if suffix != ".h5ad" and layer not in (None, "auto", "X"):
        raise ConfigError.at("layer", "", f"{layer!r} for {path}", "a layer only with .h5ad files")
    if suffix != ".h5ad" and obs:
        raise ConfigError.at("obs", "", f"{obs} for {path}", "columns only with .h5ad files")
    if path.is_dir():
        return read_mtx_folder(path, orientation), True
    match suffix:
        case ".h5ad":
            return read_h5ad(path, layer, scratch, obs), True
        case ".h5":
            return read_10x_h5(path), True
        case ".loom":
            return read_loom(path, scratch), True
        case ".parquet" | ".pq":
            return read_parquet(path, kinds, scratch), genes_in_rows
        case ".gct" | ".gct.gz":
            return read_gct(path, kinds, scratch), genes_in_rows
        case _ if suffix.removesuffix(".gz") in (".tsv", ".tab", ".csv", ".txt"):
            return read_text_table(path, kinds, scratch), genes_in_rows
    cure = next((cure for end, cure in _CURES.items() if re.fullmatch(end, suffix)), "")
    expected = FORMATS + (cure and f"; {cure}")
    raise InputError.at(path, "", f"the suffix {suffix or 'none'!r}", expected)
