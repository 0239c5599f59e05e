"""Names of items that every table and network can hold, each of them once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pairtile.errors import InputError

# What tables, XML and spreadsheets cannot hold, and halves of characters (bytes that are no UTF-8).
_UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

# What a spreadsheet computes; signed numbers are numbers.
_FORMULA = re.compile(r"[=@]|[+-](?![0-9.]+$)")


def printable(text: str) -> str:
    """``text`` with characters that tables cannot hold written out (``\\x09``, ``\\xb5``)."""
    return _UNUSABLE.sub(lambda found: _written_out(ord(found.group())), text)


def check_item_names(file: str, names: Sequence[str]) -> list[str]:
    """Refuse names that tables and networks cannot hold; a warning of those that spreadsheets take
    for formulas (which are written as they are: another name would be another gene).

    Raises
    ------
    InputError
        Naming the first name with such a character, and ``file``.
    """
    for name in names:
        found = _UNUSABLE.search(name)
        if found:
            raise InputError.at(
                file,
                f"name {name!r}",
                f"the character {found.group()!r}",
                "names without control characters, as tables and networks cannot hold them",
            )
    formulas = [name for name in names if _FORMULA.match(name)]
    if not formulas:
        return []
    begin = "1 name begins" if len(formulas) == 1 else f"{len(formulas)} names begin"
    return [
        f"{begin} with =, +, - or @ (the first: {formulas[0]!r}). Tables hold names as they are, "
        "and a spreadsheet may take such a name for a formula: import the tables as text there, "
        "rather than open them by a double click."
    ]


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, in order; the second of the same name becomes ``name#2``, and so on.

    A name made so is none that is there already.
    """
    taken = set(names)
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0) + 1
        if count > 1:
            while f"{name}#{count}" in taken:
                count += 1
            taken.add(f"{name}#{count}")
        seen[name] = count
        unique.append(name if count == 1 else f"{name}#{count}")
    return unique


def _written_out(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
