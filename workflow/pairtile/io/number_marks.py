"""Numbers as people write them: 7,650 is 7650 where commas part thousands, 7.65 where they are
decimal points. The whole table decides which of the two they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Marks = Literal["point", "thousands", "decimal comma", "unclear"]

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+|),\d+(?:[eE][-+]?\d+)?")
_SPACED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[ '\u2019\u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_WHOLE = re.compile(r"[-+]?\d+")
_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")


def is_marked(text: str) -> bool:
    """Whether a text is a number with a decimal comma, or with marks between thousands."""
    found = text.strip()
    return any(p.fullmatch(found) for p in (_THOUSANDS, _DECIMAL_COMMA, _SPACED))


def find_marks(texts: Iterable[str], delimiter: str) -> Marks:
    """What the commas in the numbers of a table are.

    Numbers such as 8,1 or 0,125 say that they are decimal points, and so does 1250; 1,234,567 and
    7.5 say that they part thousands, and so does 7,650 beside 12, as nobody writes its last 0
    there. Where nothing says so, fields parted by commas have English numbers, those parted by
    semicolons have not; else ``unclear``, and so where numbers contradict each other.
    """
    decimal = thousands = marked = final_zero = small = False
    for cell in texts:
        text = cell.strip()
        grouped, comma = _THOUSANDS.fullmatch(text), _DECIMAL_COMMA.fullmatch(text)
        if grouped or comma:
            marked = True
            thousands |= not comma
            decimal |= not grouped
            final_zero |= text.endswith("0")
        elif _WHOLE.fullmatch(text):
            decimal |= len(text.lstrip("+-")) > 3
            small |= text.strip("+-0") != ""
        elif "." in text:
            thousands |= not _POINTS.fullmatch(text)
    if not marked:
        return "point"
    thousands |= final_zero and small and not decimal
    if thousands or decimal:
        return "unclear" if thousands and decimal else "thousands" if thousands else "decimal comma"
    return "thousands" if delimiter == "," else "decimal comma" if delimiter == ";" else "unclear"


def without_marks(text: str, marks: Marks) -> str:
    """The number as programs write it; as it is where it has no marks of this kind."""
    found = text.strip()
    if _SPACED.fullmatch(found):
        return re.sub(r"[^-+\d.,]", "", found).replace(",", ".")
    if marks == "thousands" and _THOUSANDS.fullmatch(found):
        return found.replace(",", "")
    if marks == "decimal comma" and _DECIMAL_COMMA.fullmatch(found):
        return found.replace(".", "").replace(",", ".")
    return text
