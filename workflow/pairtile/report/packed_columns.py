"""Columns of the page's tables: as text, and in few bytes, as packed_columns.js reads them."""

from __future__ import annotations

import base64
import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.report.formats import count, number

DIGITS = 4
"""Significant digits that are kept of a decimal number; the page shows no more."""

# A packed decimal is EXPONENTS * mantissa + exponent - LOWEST, an int32: -324 is the least exponent
# of a double, and a mantissa of four digits with its sign leaves ten bits for it.
EXPONENTS, LOWEST = 1024, -512
# An exponent that no double has: with mantissa 0 a missing number, with 1 or -1 an infinite one.
BEYOND = 511

_KINDS = {"i": "integer", "u": "integer", "f": "decimal"}


def pack_column(values: pd.Series) -> dict[str, object]:
    """A column of at most 65,536 rows as JSON can hold it.

    Either distinct ``values`` and ``codes``, each row's number among them (base64 of uint8, over
    256 of uint16), or, for decimals mostly distinct, ``decimals`` (base64 of int32), each
    little-endian. ``kind`` is integer, decimal (rounded to four significant digits) or text.
    """
    kind = _KINDS.get(values.dtype.kind, "text")
    row_codes, distinct = pd.factorize(values, use_na_sentinel=False)
    found = distinct.tolist()
    if kind == "decimal":
        found = [to_digits(value) for value in found]
        packed = np.array([_packed(value) for value in found], dtype="<i4")
        # A distinct value takes about ten letters of JSON, one of the packed ones 16/3.
        if 4 * len(np.unique(packed)) > len(values) or not np.isfinite(found).all():
            return {"kind": kind, "decimals": base64_of(packed[row_codes])}
    elif kind == "text":
        found = [str(value) for value in found]
    codes, texts = pd.factorize(np.array(found, dtype=object))
    width = "<u1" if len(texts) <= 256 else "<u2"
    return {"kind": kind, "values": list(texts), "codes": base64_of(codes[row_codes].astype(width))}


def to_digits(value: float) -> float:
    """``value`` rounded to the digits that are kept."""
    return float(f"{value:.{DIGITS}g}")


def _packed(value: float) -> int:
    if not math.isfinite(value):
        mantissa = 0 if math.isnan(value) else int(math.copysign(1, value))
        return EXPONENTS * mantissa + BEYOND - LOWEST
    digits, exponent = f"{value:.{DIGITS - 1}e}".split("e")
    return EXPONENTS * int(digits.replace(".", "")) + int(exponent) - (DIGITS - 1) - LOWEST


def base64_of(array: NDArray[np.generic]) -> str:
    """The bytes of an array as text."""
    return base64.b64encode(array.tobytes()).decode("ascii")


def texts(values: pd.Series) -> list[str]:
    """A column as the scripts of tables write it."""
    if values.dtype.kind in "iu":
        return [count(value) for value in values]
    if values.dtype.kind == "f":
        return [number(to_digits(value), DIGITS, pad=True) for value in values]
    return [str(value) for value in values]


def table_cells(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The cells of each row."""
    return list(zip(*(texts(column) for _, column in table.items()), strict=True))


Cell = tuple[str, str | None]
"""What a table of the page shows, and the number to sort by (None: what is shown)."""


def cells(values: pd.Series) -> list[Cell]:
    """A column of a table that the reader can sort as it stands in the page."""
    shown = ["yes" if v else "no" for v in values] if values.dtype == bool else texts(values)
    if values.dtype.kind != "f" or not values.isna().any():
        return [(text, None) for text in shown]
    if (values.dropna() % 1 == 0).all():  # whole numbers, which pandas has as decimals beside gaps
        shown = ["–" if pd.isna(value) else count(value) for value in values]
    # What has no value is sorted below all that have one.
    order = ["-1e308" if pd.isna(value) else f"{value:.8g}" for value in values]
    return list(zip(shown, order, strict=True))
