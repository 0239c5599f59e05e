"""Lists of genes (regulators, targets, control genes), and where they stand in a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.in_memory import unless_in_memory
from pairtile.io.names import GeneNames, different_kinds, join_first, kind_of_names, without_version
from pairtile.io.text_file import find_delimiter, read_list

message = messages_of(__package__)

_TWO_NAMES = (
    "names: FILE, a table of two columns: each name in the table, and what the list calls it "
    "(the ortholog, where species differ)"
)
_HEADERS = {"gene", "genes", "gene_id", "gene_name", "symbol", "name", "names", "id", "x"} | {
    *("regulator", "regulators", "tf", "tfs", "target", "targets", "gene_symbol", "hugo_symbol"),
}


@unless_in_memory
def read_regulators(path: str | PathLike[str], kind: str = "regulator") -> list[str]:
    """Read names, one a line, in file order; repeated names are taken once.

    Parameters
    ----------
    path : path
        Plain or gzip. Blank lines and lines that start with ``#`` are passed over, and so are
        quotes, letters that do not show, and numbers of rows before the names, as R writes them.
    kind : str
        What messages call them.

    Raises
    ------
    InputError
        File missing or damaged, a line of several fields, or no name at all.
    """
    table = str(path).lower().removesuffix(".gz").endswith(".csv")
    names: dict[str, None] = {}
    for line, fields in read_list(path, find_delimiter(path) if table else "\t"):
        if len(fields) > 1:
            raise InputError.at(
                path,
                f"line {line}",
                f"{len(fields)} fields",
                "one name a line (of a table, the column of names alone)",
            )
        names[fields[0]] = None
    if not names:
        raise InputError.at(path, "", "no names", f"one {kind} a line")
    return list(names)


class FoundRegulators(NamedTuple):
    """``rows``: int32, the items that are regulators, ascending, each once; counts and messages for
    the summary."""

    rows: np.ndarray
    counts: dict[str, int]
    messages: list[Message]


def find_regulators(path: str | PathLike[str] | None, genes: GeneNames) -> FoundRegulators:
    """The regulators that a file lists, among the genes; none without a file.

    Raises InputError as ``read_regulators`` and ``find_listed``.
    """
    if path is None:
        return FoundRegulators(np.empty(0, dtype=np.int32), {}, [])
    return find_listed(read_regulators(path), genes, path)


def find_listed(
    listed: Sequence[str],
    genes: GeneNames,
    source: str | PathLike[str],
    kind: str = "regulators",
) -> FoundRegulators:
    """Find the genes of a list, without its header if it has one.

    ``source`` is the list's file and ``kind`` says what it lists, for messages.

    Raises:
        InputError: several names in a line; none of them is there.
    """
    found = genes.find(listed)
    if len(listed) > 1 and listed[0].lower() in _HEADERS and listed[0] not in found.rows:
        listed = listed[1:]
    absent = [name for name in dict.fromkeys(listed) if name not in found.rows]
    known = {*genes.names, *genes.symbols}
    for name in absent:
        parts = re.split(r"[,;\s]+", name)
        if len(parts) > 1 and known.intersection(parts):
            raise InputError.at(source, "", f"several names in a line, {name!r}", "one name a line")
    if not found.rows:
        raise none_found(absent, genes.names, source, kind)
    rows = np.array(sorted({row for rows in found.rows.values() for row in rows}), dtype=np.int32)
    said = found.messages(len(listed), kind)
    if absent:
        said.append(warning_of_absent(absent, len(listed), genes.names, kind))
    return FoundRegulators(rows, {f"{kind}_listed": len(listed), f"{kind}_used": rows.size}, said)


def none_found(
    listed: Sequence[str], genes: Sequence[str], source: str | PathLike[str], kind: str
) -> InputError:
    """The refusal of a list of which no name is that of a gene, with the kinds of both."""
    of_list, of_table = kind_of_names(listed), kind_of_names(genes)
    expected = f"{kind} named as in the table (with samples in rows: orientation: samples_in_rows)"
    hint = hint_of_names(listed, genes)
    if of_list != of_table and kind != "identifiers" and not hint:
        expected += (
            f"; or, as the table seems to have {of_table} and the list {of_list}, {_TWO_NAMES}"
        )
    found = (
        f"none of its {len(listed)} names ({join_first(listed)}) among the {len(genes)} genes "
        f"({join_first(genes)}){hint}"
    )
    return InputError.at(source, "", found, expected)


def warning_of_absent(
    absent: Sequence[str], n_listed: int, genes: Sequence[str], kind: str = "regulators"
) -> Message:
    """What to say where some of the listed names are not among the kept genes."""
    names = f"{join_first(absent)}{hint_of_names(absent, genes)}"
    return message("names_not_kept", n=len(absent), listed=n_listed, kind=kind, names=names)


def hint_of_names(
    listed: Sequence[str], genes: Sequence[str], cure: str = f": state {_TWO_NAMES}"
) -> str:
    """What to add where listed names are not among the genes; "" where no cause is seen. ``cure``:
    of names of another kind."""
    if {name.casefold() for name in listed} & {gene.casefold() for gene in genes}:
        return "; some differ in capitals only"
    if set(map(without_version, genes)).intersection(map(without_version, listed)):
        return "; some differ only in the version after the last point (see ignore_versions)"
    differ = different_kinds(listed, genes)
    return differ and f"; {differ}{cure}"
