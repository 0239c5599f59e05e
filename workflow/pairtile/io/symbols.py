"""Symbols: what people call the items of a table whose names are identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import pandas as pd

from pairtile.declare.messages import messages_of
from pairtile.errors import InputError
from pairtile.io.names import GeneNames, check_characters
from pairtile.io.regulators import none_found
from pairtile.io.text_file import find_delimiter, read_list

if TYPE_CHECKING:  # it loads numba, which pages can do without
    from pairtile.io.expression import Expression

message = messages_of(__package__)


def read_symbols(path: str | PathLike[str]) -> dict[str, str]:
    """Read identifier -> symbol from a table of two columns.

    Tabs, or commas by suffix; plain or gzip. Lines that start with ``#`` are passed over, and so
    are identifiers without a symbol. A header needs no mark: no item is called so.

    Raises
    ------
    InputError
        File missing or damaged, another number of fields, an identifier that is empty or there
        twice, a symbol with a control character.
    """
    symbols: dict[str, str] = {}
    seen: dict[str, int] = {}
    for line, fields in read_list(path, find_delimiter(path)):
        place = f"line {line}"
        if len(fields) != 2:
            found = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
            raise InputError.at(path, place, found, "2 (identifier, symbol)")
        identifier, symbol = fields
        if not identifier:
            raise InputError.at(path, place, "an empty identifier", "identifier and symbol")
        if seen.setdefault(identifier, line) != line:
            found = f"the identifier {identifier!r}, as in line {seen[identifier]}"
            raise InputError.at(path, place, found, "each identifier once")
        check_characters(path, f"{place}, symbol", [symbol])
        if symbol:
            symbols[identifier] = symbol
    return symbols


def with_symbols(
    expression: Expression, path: str | PathLike[str] | None, needed: bool = True
) -> Expression:
    """A table with the symbols of its genes as a file says; notes tell how they were found, and of
    genes without one, which keep what they are called. ``path`` None: as it is.

    Raises
    ------
    InputError
        As ``read_symbols``, and where the file names none of the genes, if that is ``needed``.
    """
    if path is None:
        return expression
    symbols = read_symbols(path)
    genes = expression.genes
    found = GeneNames(genes).find(symbols)
    if needed and not found.rows:
        raise none_found(list(symbols), genes, path, "identifiers")
    notes = [*expression.notes, *found.messages(len(symbols), "identifiers")]
    named = {genes[k]: symbols[name] for name in reversed(found.rows) for k in found.rows[name]}
    if lacking := len(genes) - len(named):
        notes.append(message("names_without_symbol", n=lacking, names=len(genes), file=str(path)))
    return replace(expression, symbols=named, notes=notes)


def add_symbols(
    table: pd.DataFrame, items: pd.DataFrame, columns: Sequence[str] = ("source", "target")
) -> pd.DataFrame:
    """``table`` with the symbols of the items that ``columns`` name, as ``COLUMN_symbol`` after the
    last of these columns; as it is where the items have no symbols."""
    if "symbol" not in items:
        return table
    symbols = pd.Series(items["symbol"].to_numpy(), index=items["name"].astype(str))
    symbols = symbols[~symbols.index.duplicated()]
    named = table.copy()
    place = 1 + max(table.columns.tolist().index(column) for column in columns)
    for number, column in enumerate(columns):
        of_names = named[column].astype(str).map(symbols).fillna("")
        named.insert(place + number, f"{column}_symbol", of_names)
    return named


def unique_labels(items: pd.DataFrame) -> dict[str, str]:
    """What pages call each item, by its name: its symbol; with the identifier in brackets where
    others have the same one."""
    name, symbol = items["name"].astype(str), items["symbol"].astype(str)
    shared = symbol.duplicated(keep=False) & (symbol != name)
    return dict(zip(name, symbol.where(~shared, symbol + " (" + name + ")"), strict=True))
