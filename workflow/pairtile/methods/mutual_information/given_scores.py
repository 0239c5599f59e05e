"""Scores that are given in place of expression, a square table or a list of pairs, made ready."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.engine.large_table import count, empty_table, row_blocks
from pairtile.errors import InputError
from pairtile.io.adj import is_adj, read_adj
from pairtile.io.names import GeneNames, join_first
from pairtile.io.regulators import find_regulators
from pairtile.io.table import Kinds
from pairtile.io.text_file import MISSING, Row, find_delimiter, is_number, open_rows, plain_name
from pairtile.io.text_table import read_text_table
from pairtile.methods.mutual_information.arrays import SplineArrays
from pairtile.methods.mutual_information.config import MutualInformationConfig
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
    column = config.score_column
    if column is not None or _is_list(path):
        names, scores, notes = read_pairs(path, column, scratch)
    else:
        names, scores, notes = read_square(path, scratch)
    n = len(names)
    items = items_table(names, CleaningLog(n))
    genes = GeneNames.of_items(items, config.ignore_case, config.ignore_versions)
    regulators, counts, absent = find_regulators(config.regulators, genes)
    items.loc[regulators, "is_regulator"] = True
    state: SplineArrays = {
        "z": np.empty((n, 0)),
        "entropy_bits": np.zeros(n),
        "regulators": regulators,
        "bins_order": np.ones(2, dtype=np.int64),
        "by_rank": np.array(False),
        "shared_components": np.array(0),
        "scores": scores,
        "top_score": np.fmax.reduce(scores, axis=None),
    }
    known, pairs = count(np.isfinite, scores) // 2, n * (n - 1) // 2
    messages = [*notes, message("scores_read", n=known, pairs=pairs), *absent]
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
        found = f"the row {row!r} where the columns have {column!r}"
        expected = (
            "the same genes in rows and columns, in one order, or score_column beside a list of "
            "pairs"
        )
        raise InputError.at(path, "", found, expected)
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


def read_pairs(path: str, column: str | None, scratch: Path | None) -> GivenScores:
    """The scores of a table with two columns of names first, in either order, and one of scores:
    the one named ``column``, or the only one with numbers; or of ARACNe's lists (``.adj``). Other
    columns are not looked at, and the header may be missing. Pairs that are not listed have no
    score; those of a gene with itself are left out and counted, and so are repetitions.

    Raises InputError for a file that is missing or damaged, no such column or several, a line of
    another number of fields or without a name, a score that is not between 0 and ``MAX_BITS``, and
    a pair with two scores.
    """
    rows = _rows(path)
    plain = cache(plain_name)  # a name comes with each of its pairs
    line, header = next(rows, (0, []))
    header = [*map(plain, header)]
    has_header = not any(map(_is_score, header[2:]))
    first = next(rows, (0, [])) if has_header else (line, header)
    if column is None:
        fields = [k for k, text in enumerate(first[1]) if k > 1 and _is_score(text)]
    else:
        fields = [k for k, name in enumerate(header) if has_header and name == column]
    if len(fields) != 1:
        expected = "two of names and one of numbers, or score_column: NAME, one of several"
        raise InputError.at(path, f"line {line}", f"the columns {join_first(header, 50)}", expected)
    row_of: dict[str, int] = {}
    genes, scores, lines = array("i"), array("d"), array("q")
    for line, row in chain([first] if first[1] else [], rows):
        ends = [plain(name) for name in row[:2]]
        if len(row) != len(first[1]) or not all(ends):
            expected = f"{len(first[1])}, the first two of them names"
            raise InputError.at(path, f"line {line}", f"the fields {join_first(row)}", expected)
        text = row[fields[0]].strip()
        score = (math.nan if text in MISSING else float(text)) if _is_score(text) else -1.0
        if score < 0.0 or score > MAX_BITS:
            raise InputError.at(path, f"line {line}", repr(text), _BITS)
        genes.extend([row_of.setdefault(name, len(row_of)) for name in ends])
        scores.append(score)
        lines.append(line)
    names, pairs = list(row_of), np.sort(np.reshape(genes, (-1, 2)), axis=1)
    order = np.lexsort(pairs.T)  # stable: the lines of a pair stay in order
    order = order[pairs[order, 0] != pairs[order, 1]]
    low, high = pairs[order].T
    bits = np.asarray(scores)[order]
    again = (np.diff(low) == 0) & (np.diff(high) == 0)
    alike = np.isclose(bits[1:], bits[:-1], rtol=1e-6, atol=0.0, equal_nan=True)
    if (wrong := np.flatnonzero(again & ~alike)).size:
        k = wrong[0]
        place = f"lines {lines[order[k]]} and {lines[order[k + 1]]}"
        found = f"{bits[k]:g} and {bits[k + 1]:g} of {names[low[k]]!r} and {names[high[k]]!r}"
        raise InputError.at(path, place, found, "one score of a pair")
    if not order.size:
        raise InputError.at(path, "", "no pair of two genes", "at least one")
    square = empty_table((len(names), len(names)), scratch)
    square[:] = np.nan
    square[low, high] = square[high, low] = bits
    said = {"lines": len(lines), "itself": len(lines) - order.size, "again": int(again.sum())}
    return GivenScores(names, square, [message("pairs_listed", **said)])


def _is_list(path: str) -> bool:
    """Whether a table does not begin as a square one: names, then one of them and its scores."""
    rows = [fields for _, fields in islice(_rows(path), 2)]
    scored = [_is_score(text.replace(",", ".")) for fields in rows[-1:] for text in fields[1:2]]
    return bool(rows) and (rows[-1][0] not in rows[0] or not all(scored))


def _rows(path: str) -> Iterator[Row]:
    """Lines of a list, or of a table, that are neither empty nor comments, and their fields."""
    if is_adj(path):
        yield from read_adj(path)
        return
    with open_rows(path, find_delimiter(path)) as rows:
        for line, fields in rows:
            if any(map(str.strip, fields)) and not fields[0].startswith("#"):
                yield line, fields


def _is_score(text: str) -> bool:
    return text.strip() in MISSING or is_number(text)
