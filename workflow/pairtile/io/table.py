"""A table as it stands in a file, before anyone says which side holds the genes, and its checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd

from pairtile.config.values import join_list
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import count
from pairtile.errors import InputError
from pairtile.io.by_products import converted_names, find_columns, is_annotation
from pairtile.io.names import check_characters, join_first, seem_genes
from pairtile.io.number_marks import is_marked
from pairtile.io.sparse_rows import Values, stored_values
from pairtile.io.text_file import MISSING, is_number

message = messages_of(__package__)


@dataclass(frozen=True)
class Table:
    """Named rows and columns of numbers.

    ``values`` has shape (rows, columns), NaN where a value is missing: float64, or sparse where the
    file is. ``notes`` are plain sentences on what reading decided. ``symbols``: what people call
    the rows, by name, where the file says it; ``accessions``: their identifiers, where it names
    them by symbol.
    """

    values: Values
    rows: list[str]
    columns: list[str]
    notes: list[Message] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)
    accessions: dict[str, str] = field(default_factory=dict)


def missing_cells(values: Values) -> list[Message]:
    """A note of how many values are missing, where some are."""
    n_missing = count(np.isnan, stored_values(values))
    cells = int(np.prod(values.shape))
    return [message("cells_missing", n=n_missing, cells=cells)] if n_missing else []


@dataclass(frozen=True)
class Kinds:
    """What rows and columns stand for, in error messages; which of them may have a name twice."""

    row: str
    column: str
    repeated: str = ""

    @classmethod
    def of_orientation(cls, orientation: str, repeated: str = "") -> Kinds:
        """Kinds for ``genes_in_rows`` or ``samples_in_rows``."""
        if orientation == "genes_in_rows":
            return cls("gene", "sample", repeated)
        return cls("sample", "gene", repeated)


# Columns that are no samples, in tables that are not text.

FIRST_ROWS, FIRST_CELLS = 50, 500_000
"""What is looked at to find out what columns hold."""


_TEXT = ("string", "categorical")

_OF_GENES = re.compile(r"gene|symbol|probe|protein|feature|transcript")
_OF_SAMPLES = re.compile(
    r"(?!.*gene)(?:[a-z]+[_. ])*(?:sample|patient|participant|subject|individual|donor|specimen"
    r"|barcode|cell(?:[_. ]?line)?|case|run|aliquot|animal)s?"
    r"(?:[_. ]?(?:id|name|no|nr|number|code|barcode|label))?s?",
    re.IGNORECASE,
)
"""What people write above names of genes, in small letters, and above those of samples."""


class ChosenColumns(NamedTuple):
    """``values``: places of the columns of numbers that are used. ``names``: of that with the names
    of the rows, None: the index. ``symbols``: of that with their symbols, None: there is none."""

    values: list[int]
    names: int | None
    symbols: int | None
    notes: list[Message]


def choose_columns(
    head: pd.DataFrame, kinds: Kinds, table: str | PathLike[str], read: str = ""
) -> ChosenColumns:
    """What the columns of a table are, by its first rows: annotations, results of tests and the
    like are left out (``find_columns``). Names are the index if it is text, else the first column
    of text. ``table``, ``read``: as ``refuse_other_forms`` takes them."""
    names, by_name = [str(name).strip() for name in head.columns], kinds.column == "sample"
    texts = np.full(head.shape, "1", dtype=object)
    for k in range(len(names)):
        if by_name or not pd.api.types.is_numeric_dtype(head.dtypes.iloc[k]):
            column = head.iloc[:, k]
            texts[:, k] = column.astype(object).where(column.notna(), "").astype(str)
    rows = texts.tolist()
    annotations, no_samples, symbols, several = find_columns(names, rows, MISSING, by_name)
    at_names = None
    if pd.api.types.is_numeric_dtype(head.index.dtype):
        text = [k for k in range(len(names)) if pd.api.types.infer_dtype(head.iloc[:, k]) in _TEXT]
        words = [k for k in text if not all(map(is_number, texts[:, k]))]
        at_names = next(iter(words or text[: len(text) == 1]), None)
    if by_name:
        own = int(at_names is None)  # the index holds names
        header = [str(head.index.name or "index")] * own + names
        cells = [[str(label)] * own + row for label, row in zip(head.index, rows, strict=True)]
        refuse_other_forms(table, read, header, cells, several)
    left_out = {*annotations, *no_samples, at_names}
    notes = notes_of_columns(names, [k for k in annotations if k != at_names], no_samples, kinds)
    at_symbols = symbols if kinds.row == "gene" and symbols != at_names else None
    if at_symbols is not None:
        notes.append(message("symbols_in_table", column=names[at_symbols]))
    values = [k for k in range(len(names)) if k not in left_out]
    return ChosenColumns(values, at_names, at_symbols, notes)


def refuse_other_forms(
    table: str | PathLike[str],
    read: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    kinds: Mapping[str, Sequence[int]],
) -> None:
    """Refuse a table with a row for each gene and sample, one with samples in rows, by the names of
    both sides, and one with several columns of values (``kinds``) for a sample.

    ``read``: what reads it in pandas; "": it is in memory. ``names``: those of all fields, names of
    the rows first. ``rows``: the first few.
    """
    line = "line 1" * ("csv" in read)
    fields = [[text.strip() for text in field] for field in zip(*rows, strict=True)]
    keys = [k for k, name in enumerate(names) if not is_annotation(name)]
    shares = [
        np.mean([x in MISSING or is_number(x.replace(",", ".")) or is_marked(x) for x in field])
        for field in fields
    ]
    numbers = {k for k in keys[1:] if shares[k] == 1.0}
    words = {0, *(k for k in keys if shares[k] == 0.0)}
    n_different = [len(set(field)) for field in fields]
    pairs = [
        (i, j)
        for n, i in enumerate(keys)
        if i in words  # which are few, where a table has thousands of samples
        for j in keys[n + 1 :]
        if (
            j in words
            or (
                (j in numbers and n_different[j] > 1)
                and (2 * n_different[i] <= len(rows) or len(keys) == 3)
            )
        )
        # The first rows, in any order, hold few samples twice.
        and min(n_different[i], n_different[j]) <= (len(rows) - 1) / (1 if j in words else 2)
        and len(rows) > 2
        and 0 < len(numbers - {j}) < 3
        and len(set(zip(fields[i], fields[j], strict=True))) == len(rows)
    ]
    # Samples are called alike but for numbers, genes are not: their names may stand under "Sample"
    # where it names the columns.
    n_stems = [
        len({re.sub(r"\d", "", x) for x in side[:FIRST_ROWS]}) for side in (fields[0], names[1:])
    ]
    of_samples = _OF_SAMPLES.fullmatch(names[0].strip()) and n_stems[0] <= n_stems[1]
    of_genes = seem_genes(names[1:])
    if (of_genes or of_samples) and not pairs and not seem_genes(fields[0]):
        found = (
            f"columns named as genes ({join_first(names[1:])}), rows not ({join_first(fields[0])})"
            if of_genes
            else f"{names[0]!r} above the names of the rows ({join_first(fields[0])})"
        )
        other_word = f" (under another word than {names[0]!r})" * (not of_genes)
        expected = f"genes in rows{other_word}, or orientation: samples_in_rows"
        raise InputError.at(table, line, found, expected)
    if pairs:
        ranks = {
            k: bool(_OF_SAMPLES.fullmatch(names[k].strip()))
            - bool(_OF_GENES.search(names[k].lower()) or seem_genes(fields[k]))
            for k in pairs[0]
        }
        gene, sample = sorted(pairs[0], key=ranks.__getitem__)
        value = names[max(numbers - {gene, sample})]
        cure = (
            f"t.reset_index().pivot(index={names[gene]!r}, columns={names[sample]!r}, "
            f"values={value!r})"
        )
        found = (
            f"the long form, with a row for each gene ({names[gene]!r}) and sample "
            f"({names[sample]!r})"
            + ", or the reverse: then exchange index and columns in the command"
            * (ranks[gene] == ranks[sample])
        )
    elif kinds:
        # One whose name is no part of another's, so that the command finds it alone.
        alone = [kind for kind in kinds if not any(kind in k for k in kinds if k != kind)]
        like = min(alone, key=lambda k: ("lfq" not in k, not re.search("count|reads", k)))
        cure = f"t.filter(regex=r'(?i){like.replace('_', '[ ._-]*')}')"
        shown = ", ".join(f"{kind} ({len(at)})" for kind, at in kinds.items())
        of = "each" if max(map(len, kinds.values())) > 1 else "one"
        found = f"several columns of numbers of {of} sample: {shown}"
    else:
        return
    command = (
        "writes (join the tables of several files): "
        f"python -c \"import pandas as pd; t = {read}; {cure}.to_csv('table.tsv', sep='\\t')\""
        if read
        else f"makes of a table t: {cure}"
    )
    expected = f"one column for each sample of the study, which this {command}"
    raise InputError.at(table, line, found, expected)


def notes_of_columns(
    names: Sequence[str], annotations: Sequence[int], no_samples: Sequence[int], kinds: Kinds
) -> list[Message]:
    """What to say of columns that are left out."""
    left_out = {"annotation_columns": annotations, "columns_of_no_sample": no_samples}
    return [
        message(code, n=len(at), names=join_first([repr(names[k]) for k in at], 6), rows=kinds.row)
        for code, at in left_out.items()
        if at
    ]


# Checks that every expression table passes, whatever file it came from.

MIN_SAMPLES = 3
_SHOWN = 5


def check_names(
    file: str | PathLike[str],
    kind: str,
    names: Sequence[str],
    place: Callable[[Sequence[int]], str] = lambda positions: "",
    repeated: bool = False,
) -> None:
    """Refuse empty names, those with control characters, and those that are there twice unless they
    may be ``repeated``.

    ``place`` turns positions in ``names`` into text on where they stand in the file
    ("lines 3 and 9"). Raises InputError with the first few names and places.
    """
    empty = [k for k, name in enumerate(names) if not name]
    if empty:
        raise InputError.at(
            file,
            place(empty[:_SHOWN]),
            f"{len(empty)} {kind}{'s' * (len(empty) > 1)} without a name",
            f"a name for each {kind}",
        )
    check_characters(file, kind, names)
    if repeated or not has_name_fault(names):
        return
    n_times = Counter(names)
    twice = [name for name in n_times if n_times[name] > 1]
    shown = []
    for name in twice[:_SHOWN]:
        places = place([k for k, other in enumerate(names) if other == name][:_SHOWN])
        shown.append(f"{name!r} {n_times[name]} times" + (f" ({places})" if places else ""))
    more = ", ..." if len(twice) > _SHOWN else ""
    if kind == "gene" and converted_names(twice):
        more += " (a spreadsheet takes MARCH1 and MARC1 for the same date)"
    raise InputError.at(
        file,
        "",
        f"{len(twice)} duplicate {kind} name{'s' * (len(twice) > 1)}: " + ", ".join(shown) + more,
        f"each {kind} once"
        + ", or the key duplicates" * (kind == "gene")
        + (
            f"; if these {len(n_times)} names of {len(names)} rows are classes, put the column "
            f"with the name of each {kind} first"
        )
        * (kind == "gene" and 5 * len(n_times) < len(names)),
    )


def has_name_fault(names: Sequence[str], repeated: bool = False) -> bool:
    """Whether a name is empty, or occurs twice and may not."""
    return (not repeated and len(set(names)) < len(names)) or not all(names)


def check_samples(file: str | PathLike[str], samples: Sequence[str]) -> None:
    """Refuse tables in which nothing can be correlated."""
    if len(samples) < MIN_SAMPLES:
        raise InputError.at(
            file,
            "",
            f"{len(samples)} sample{'s' * (len(samples) != 1)}",
            f"at least {MIN_SAMPLES} (if samples are in rows, set orientation: samples_in_rows)",
        )


def check_finite(
    file: str | PathLike[str], values: Values, genes: Sequence[str], samples: Sequence[str]
) -> None:
    """Refuse infinite values, naming the first; ``values`` is (genes, samples), NaN allowed."""
    n_infinite = count(np.isinf, stored_values(values))
    if n_infinite:
        rows = (values[k : k + 1][0] for k in range(len(genes)))
        row, found = next((k, row) for k, row in enumerate(rows) if np.isinf(row).any())
        column = int(np.isinf(found).argmax())
        raise InputError.at(
            file,
            f"gene {genes[row]!r}, sample {samples[column]!r}",
            f"{found[column]} ({n_infinite} infinite values in all)",
            "finite numbers, or NaN where a value is missing",
        )


def join_numbers(numbers: Sequence[int], noun: str) -> str:
    """Text for a few numbers: "line 4", "lines 4 and 9", "lines 4, 9 and 12"."""
    noun += "s" * (len(numbers) > 1)
    return f"{noun} {join_list(list(map(str, numbers)), last='and')}"
