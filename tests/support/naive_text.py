"""Slow and simple readings of text files, to compare the readers with.

Each gives what a plain file holds, ``REFUSED`` where it must not be read, and None where quotes,
control characters or the like make it a matter of rules too fine for a simple reading.
"""

from __future__ import annotations

import math
import re
from typing import Any

REFUSED = "refused"
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
MISSING = {"", "NA", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "-NaN"} | {
    *("null", "NULL", "Null", "None", "none")
}


def plain_lines(data: bytes) -> list[str] | str | None:
    """Lines that are not blank."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return None  # UTF-16
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        return REFUSED
    if re.search(r'["\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\ufeff\u2028\u2029]', text):
        return None
    return [line for line in re.split("\r\n|\n|\r", text) if line]


def number(text: str) -> float | None:
    """A finite number, NaN for a missing one, None for anything else."""
    stripped = text.strip(" ")
    if stripped in MISSING:
        return math.nan
    value = float(stripped) if NUMBER.match(stripped) else math.inf
    return value if math.isfinite(value) else None


def table(data: bytes, delimiter: str) -> Any:
    """(row names, column names, rows of numbers) of a table with a header."""
    lines = plain_lines(data)
    if lines is None or isinstance(lines, str):
        return lines
    rows = [[field.strip(" \t") for field in line.split(delimiter)] for line in lines]
    if len(rows) < 2 or len(rows[0]) < 2:
        return REFUSED
    header, *body = rows
    width = len(body[0])
    columns = header if width == len(header) + 1 else header[1:]
    if any(len(row) != width for row in body) or len(columns) != width - 1 or width < 4:
        return REFUSED
    if width == len(header) and all(_any_number(name) for name in header):
        return REFUSED
    if any(re.search(r"\d[,' ]\d", field) for row in body for field in row[1:]):
        return None  # decimal commas, or marks between thousands
    names = [row[0] for row in body]
    values = [[number(field) for field in row[1:]] for row in body]
    faulty = any(value is None for row in values for value in row)
    for some in (names, columns):
        faulty |= len(set(some)) < len(some) or not all(some)
    if all(_any_number(name) for name in names):
        return None  # numbers for names: whole ones may be identifiers
    return REFUSED if faulty else (names, columns, values)


def _any_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def name_list(data: bytes) -> Any:
    """Names, one a line."""
    lines = plain_lines(data)
    if lines is None or isinstance(lines, str):
        return lines
    names = [line.strip() for line in lines]
    names = [name for name in names if name and not name.startswith("#")]
    if not names or any("\t" in name for name in names):
        return REFUSED
    return list(dict.fromkeys(names))


def name_pairs(data: bytes, headers: tuple[set[str], set[str]]) -> Any:
    """Two names a line, with any blanks between them."""
    lines = plain_lines(data)
    if lines is None or isinstance(lines, str):
        return lines
    rows = [line.split() for line in lines if line.strip()]
    rows = [row for row in rows if not row[0].startswith("#")]
    if any(len(row) != 2 for row in rows):
        return REFUSED
    if rows and rows[0][0].lower() in headers[0] and rows[0][1].lower() in headers[1]:
        del rows[0]
    return list(dict.fromkeys(map(tuple, rows))) or REFUSED


def edges(data: bytes, headers: tuple[set[str], set[str]]) -> Any:
    """Edges of a gold standard, two or three fields a line."""
    lines = plain_lines(data)
    if lines is None or isinstance(lines, str):
        return lines
    rows = [[field.strip(" ") for field in line.split("\t")] for line in lines]
    rows = [row for row in rows if not row[0].startswith("#")]
    if rows and len(rows[0]) > 1:
        first = [field.lower() for field in rows[0]]
        if first[0] in headers[0] and first[1] in headers[1]:
            del rows[0]
    found: dict[tuple[str, str], None] = {}
    for row in rows:
        if len(row) != len(rows[0]) or len(row) not in (2, 3) or not (row[0] and row[1]):
            return REFUSED
        if len(row) == 3 and not NUMBER.match(row[2]):
            return None if _any_number(row[2]) else REFUSED
        if row[0] != row[1] and (len(row) == 2 or float(row[2]) != 0):
            found[(row[0], row[1])] = None
    return list(found) or REFUSED


def sequences(data: bytes) -> Any:
    """(name, letters) of each record of a FASTA file."""
    lines = plain_lines(data)
    if lines is None or isinstance(lines, str) or b">" not in data:
        return None
    if b"\r" in data.replace(b"\r\n", b"") or not data.endswith(b"\n"):
        return None
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(">"):
            found.append([re.split("[ \t]", line[1:])[0], ""])
        elif ">" in line:
            return None
        elif found:
            found[-1][1] += re.sub("[ \t]", "", line)
        elif line.strip():
            return REFUSED
    for name, letters in found:
        if not name or not re.fullmatch("[ACGTUNRYKMSWBDHVXacgtunrykmswbdhvx]+", letters):
            return REFUSED
    return [tuple(record) for record in found]


def entries(data: bytes, shape: tuple[int, int]) -> Any:
    """The dense matrix of a Matrix Market file, real and general, of a shape that is known."""
    lines = plain_lines(data)
    if not lines or isinstance(lines, str):
        return None if lines is None else REFUSED
    lines = [lines[0], *(line for line in lines[1:] if line.strip() and line[0] != "%")]
    if lines[0].split() != ["%%MatrixMarket", "matrix", "coordinate", "real", "general"]:
        return None
    rows = [line.split() for line in lines[1:]]
    if not rows or rows[0] != [*map(str, shape), str(len(rows) - 1)]:
        return REFUSED
    matrix = [[0.0] * shape[1] for _ in range(shape[0])]
    places = set()
    for row in rows[1:]:
        if len(row) != 3 or not all(re.fullmatch("[0-9]+", text) for text in row[:2]):
            return REFUSED
        i, j, value = int(row[0]) - 1, int(row[1]) - 1, number(row[2])
        outside = not (0 <= i < shape[0] and 0 <= j < shape[1])
        if outside or value is None or (i, j) in places:
            return None if row[2] in MISSING else REFUSED
        matrix[i][j] = value
        places.add((i, j))
    return matrix
