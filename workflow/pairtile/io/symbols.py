"""Symbols: what people call the items of a table whose names are identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import pandas as pd

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.names import without_version
from pairtile.io.regulators import match_regulators
from pairtile.io.text_file import find_delimiter, open_rows

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
    with open_rows(path, find_delimiter(path)) as rows:
        for line, raw in rows:
            fields = [text.strip() for text in raw]
            if fields[0].startswith("#") or not any(fields):
                continue
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
            if not symbol.replace("\xa0", " ").isprintable():
                raise InputError.at(path, place, f"{symbol!r}", "no control character")
            if symbol:
                symbols[identifier] = symbol
    return symbols


def with_symbols(
    items: pd.DataFrame, path: str | PathLike[str] | None
) -> tuple[pd.DataFrame, list[Message]]:
    """The items with a column ``symbol`` after ``name``, and a note of those that have none.

    An item that the file does not name keeps its identifier. Where no item has a version after its
    last point, versions in the file are passed over. ``path`` None: as they are.

    Raises
    ------
    InputError
        As ``read_symbols``, and where the file names none of the kept items.
    """
    if path is None:
        return items, []
    symbols = read_symbols(path)
    kept = items.loc[items["kept"].astype(bool), "name"].astype(str).tolist()
    if all(name == without_version(name) for name in kept):
        symbols = {without_version(name): symbols[name] for name in reversed(symbols)} | symbols
    known, _ = match_regulators(list(symbols), kept, path, "identifier")
    named = items.drop(columns="symbol", errors="ignore")
    names = items["name"].astype(str)
    named.insert(
        items.columns.tolist().index("name") + 1, "symbol", names.map(symbols).fillna(names)
    )
    lacking = len(kept) - len(known)
    if not lacking:
        return named, []
    return named, [message("names_without_symbol", n=lacking, names=len(kept), file=str(path))]


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
        named.insert(place + number, f"{column}_symbol", named[column].map(symbols).fillna(""))
    return named


def unique_labels(items: pd.DataFrame) -> dict[str, str]:
    """What pages call each item, by its name: its symbol; with the identifier in brackets where
    others have the same one."""
    name, symbol = items["name"].astype(str), items["symbol"].astype(str)
    shared = symbol.duplicated(keep=False) & (symbol != name)
    return dict(zip(name, symbol.where(~shared, symbol + " (" + name + ")"), strict=True))
