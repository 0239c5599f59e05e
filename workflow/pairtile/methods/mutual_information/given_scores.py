"""Scores that are given in place of expression, a square table or a list of pairs, made ready."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.engine.large_table import count, empty_table, row_blocks
from pairtile.errors import InputError
from pairtile.io.names import GeneNames, join_first
from pairtile.io.regulators import find_regulators
from pairtile.io.table import Kinds
from pairtile.io.text_file import MISSING, find_delimiter, is_number, read_list
from pairtile.io.text_table import read_text_table
from pairtile.methods.mutual_information.arrays import SplineArrays
from pairtile.methods.mutual_information.config import MIN_DRAWS, MutualInformationConfig
from pairtile.preprocess.items import CleaningLog, items_table

message = messages_of(__package__)

MAX_BITS = 16.0
"""Mutual information of 65,536 samples is at most so large, and exact sums for ``clr`` hold it."""

_BITS = f"mutual information in bits, 0 to {MAX_BITS:g}"


class GivenScores(NamedTuple):
    """``names`` of genes; ``scores``, float64 (genes, genes), NaN where there is none and of a gene
    with itself; what there is to say."""

    names: list[str]
    scores: NDArray[np.float64]
    messages: list[Message]


def state_of_scores(
    config: MutualInformationConfig, path: str, scratch: Path | None
) -> PreparedInput[SplineArrays]:
    """The state of genes without samples, with their scores: of all with all, NaN where there is
    none and of a gene with itself.

    Raises InputError as ``read_square``, ``read_pairs`` and ``find_regulators``.
    """
    if config.score_column is None:
        names, scores, notes = read_square(path, scratch)
    else:
        names, scores, notes = read_pairs(path, config.score_column, scratch)
    n = len(names)
    items = items_table(names, CleaningLog(n))
    genes = GeneNames.of_items(items, config.ignore_case, config.ignore_versions)
    regulators, counts, absent = find_regulators(config.regulators, genes)
    items.loc[regulators, "is_regulator"] = True
    state: SplineArrays = {
        "z": np.empty((n, 0)),
        "entropy_bits": np.full(n, np.nan),
        "regulators": regulators,
        "bins_order": np.ones(2, dtype=np.int64),
        "by_rank": np.array(False),
        "shared_components": np.array(0),
        "scores": scores,
        "top_score": np.fmax.reduce(scores, axis=None),
    }
    known, pairs = count(np.isfinite, scores) // 2, n * (n - 1) // 2
    messages = [*notes, message("scores_read", n=known, pairs=pairs), *absent]
    if config.scores_null is not None:
        state["null_bits"] = read_null(config.scores_null)
    return PreparedInput(items, state, counts, messages)


def read_square(path: str, scratch: Path | None) -> GivenScores:
    """The scores of a table with a row and a column for each gene.

    Raises InputError as ``read_text_table``; for names of columns that are not those of the rows;
    for a score that is not the same on both sides of the diagonal or not between 0 and
    ``MAX_BITS``.
    """
    table = read_text_table(path, Kinds("row", "column"), scratch)
    names, scores = table.rows, table.values
    assert isinstance(scores, np.ndarray)  # text is never sparse
    if names != table.columns:
        row, column = next(ends for ends in zip_longest(names, table.columns) if len({*ends}) > 1)
        raise InputError.at(
            path,
            "",
            f"the row {row!r} where the columns have {column!r}",
            "the same genes in rows and columns, in one order, or score_column beside a list of "
            "pairs",
        )
    np.fill_diagonal(scores, np.nan)
    for rows in row_blocks(scores.shape):
        here, mirrored = scores[rows], scores[:, rows].T
        wrong = ~np.isclose(here, mirrored, rtol=1e-6, atol=0.0, equal_nan=True)
        wrong |= (here < 0.0) | (here > MAX_BITS)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            place = f"row {names[rows.start + row]!r}, column {names[column]!r}"
            found = f"{here[row, column]:g}, and {mirrored[row, column]:g} beyond the diagonal"
            raise InputError.at(path, place, found, f"{_BITS}, the same twice")
    return GivenScores(names, scores, table.notes)


def read_pairs(path: str, column: str, scratch: Path | None) -> GivenScores:
    """The scores of a table with a header and a line for each pair: two names, in either order, in
    the first two columns, and its score in the one called ``column``. Pairs that are not listed
    have no score; those of a gene with itself are left out and counted, and so are repetitions.

    Raises InputError for a file that is missing or damaged, no such column, a line of another
    number of fields or without a name, a score that is not between 0 and ``MAX_BITS``, a pair with
    two scores, and no pair at all.
    """
    (line, header), *rows = read_list(path, find_delimiter(path)) or [(1, [])]
    if column not in header[2:]:
        found = f"the columns {join_first(header, 50)}"
        raise InputError.at(path, f"line {line}", found, f"two of names, and {column!r}")
    at, bits = header.index(column, 2), np.full(len(rows), np.nan)
    for number, (line, row) in enumerate(rows):
        if len(row) != len(header) or not all(row[:2]):
            raise InputError.at(
                path,
                f"line {line}",
                f"the fields {join_first(row)}",
                f"{len(header)}, the first two of them names",
            )
        if row[at] not in MISSING:
            bits[number] = float(row[at]) if is_number(row[at]) else -1.0
            if not 0.0 <= bits[number] <= MAX_BITS:
                raise InputError.at(path, f"line {line}", repr(row[at]), _BITS)
    codes, names = pd.factorize(np.array([row[:2] for _, row in rows], dtype=object).ravel())
    low, high = np.sort(codes.reshape(-1, 2), axis=1).T
    pairs = pd.DataFrame({"low": low, "high": high, "bits": bits, "row": np.arange(len(rows))})
    pairs = pairs[low != high]
    if pairs.empty:
        raise InputError.at(path, "", "no pair of two genes", "at least one")
    ends = pairs.groupby(["low", "high"])
    first = ends["bits"].transform("first")
    wrong = ~np.isclose(pairs["bits"], first, rtol=1e-6, atol=0.0, equal_nan=True)
    if wrong.any():
        line, row = rows[pairs["row"][wrong].iloc[0]]
        found = f"{row[at]} of {row[0]!r} and {row[1]!r}, {first[wrong].iloc[0]:g} in another line"
        raise InputError.at(path, f"line {line}", found, "one score of a pair")
    square = empty_table((len(names), len(names)), scratch)
    square[:] = np.nan
    low, high = pairs["low"], pairs["high"]
    square[low, high] = square[high, low] = pairs["bits"]
    said = {"lines": len(rows), "itself": len(rows) - len(pairs), "again": len(pairs) - len(ends)}
    return GivenScores(list(names), square, [message("pairs_listed", **said)])


def read_null(path: str) -> NDArray[np.float32]:
    """Scores of unrelated genes, a line each, ascending.

    Raises InputError for a file that is missing or damaged, a line that is not one number between 0
    and ``MAX_BITS``, and fewer than ``MIN_DRAWS`` lines.
    """
    rows = read_list(path, find_delimiter(path))
    for line, row in rows:
        if len(row) != 1 or not is_number(row[0]) or not 0.0 <= float(row[0]) <= MAX_BITS:
            raise InputError.at(path, f"line {line}", repr(join_first(row)), _BITS)
    if len(rows) < MIN_DRAWS:
        raise InputError.at(path, "", f"{len(rows)} numbers", f"at least {MIN_DRAWS}")
    return np.sort(np.array([row[0] for _, row in rows], dtype=np.float32))
