"""Numbers as people write them: 7,650 is 7650 where commas part thousands, 7.65 where they are
decimal points, and 7.650 is 7650 where points part thousands. The whole table decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal

from pairtile.io.text_file import EMPTY, is_number

Marks = Literal[
    "point",
    "decimal point",
    "thousands",
    "decimal comma",
    "unclear",
    "points between thousands",
    "unclear points",
]

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+|),\d+(?:[eE][-+]?\d+)?")
_SPACED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[ '\u2019\u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_TRAILING = re.compile(r"^([-+]?\d+)\.0*$|^([-+]?\d+\.\d*?[1-9])0+$")
_INTEGER = re.compile(r"[-+]?\d+")
_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")


def is_marked(text: str) -> bool:
    """Whether a text is a number with a decimal comma, or with marks between thousands."""
    found = text.strip()
    marked = any(p.fullmatch(found) for p in (_THOUSANDS, _DECIMAL_COMMA, _SPACED))
    return marked or (found.count(".") > 1 and _POINTS.fullmatch(found) is not None)


def find_marks(texts: Iterable[str], delimiter: str) -> Marks:
    """What the commas in the numbers of a table are.

    Numbers such as 8,1 or 0,125 say that they are decimal points, and so does 1250; 1,234,567 and
    7.5 say that they part thousands, and so does 7,650 beside 12, as nobody writes its last 0
    there. Where nothing says so, fields parted by commas have English numbers, those parted by
    semicolons have not; else ``unclear``, and so where numbers contradict each other.

    Points part thousands where all that have a point have three digits behind it, none begins with
    0, none of four digits lacks one, and others are below 1000: 1.234.567, or 26.960 beside 733
    (nobody writes the last 0 of a fraction, or 733 where all fractions are filled up), or 733 in
    one number of twenty.
    """
    decimal = thousands = marked = final_zero = fraction = several = point_zero = False
    n_points = n_small = 0
    for cell in texts:
        text = cell.strip()
        both = (_THOUSANDS, _DECIMAL_COMMA) if "," in text else ()  # most numbers have none
        grouped, comma = [p.fullmatch(text) for p in both] or (None, None)
        if grouped or comma:
            marked = True
            thousands |= not comma
            decimal |= not grouped
            final_zero |= text.endswith("0")
        elif _INTEGER.fullmatch(text):
            decimal |= len(text.lstrip("+-")) > 3
            n_small += text.strip("+-0") != ""
        elif "." in text:
            points = bool(_POINTS.fullmatch(text))
            thousands |= not points
            fraction = fraction or (not points and is_number(text))
            several |= points and text.count(".") > 1
            point_zero |= points and text.endswith("0")
            n_points += points
        else:
            fraction = fraction or (text[-1:].isdigit() and is_number(text))
    if not marked:
        if fraction or decimal:
            return "unclear points" if several else "decimal point"
        if several or (n_small and n_points and (point_zero or 20 * n_small >= n_points)):
            return "points between thousands"
        return "unclear points" if delimiter == ";" and n_points >= 20 else "point"
    thousands |= final_zero and n_small > 0 and not decimal
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
    if marks == "points between thousands" and _POINTS.fullmatch(found):
        return found.replace(".", "")
    if marks == "decimal comma" and _DECIMAL_COMMA.fullmatch(found):
        return found.replace(".", "").replace(",", ".")
    return text


# Columns of annotations.


def plain_cells(cells: Sequence[str], delimiter: str) -> list[str]:
    """A column as all that use it read it: ``""`` where it is empty, numbers without decimal commas
    and marks between thousands, and, where 2.0 and 2 are one label, without the last zeros."""
    texts = ["" if text in EMPTY else text for text in cells]
    filled = [text for text in texts if text]
    n_marked = sum(map(is_marked, filled))
    if n_marked and 2 * (n_marked + sum(map(is_number, filled))) > len(filled):
        texts = [*map(partial(without_marks, marks=find_marks(filled, delimiter)), texts)]
    bare = [_TRAILING.sub(r"\1\2", text) for text in texts]
    return bare if len(set(bare)) < len(set(texts)) else texts
