"""Find out how a delimited table is laid out, from its header and first row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from pairtile.errors import InputError
from pairtile.io.checks import check_names, listed
from pairtile.io.table import Kinds
from pairtile.io.text_file import check_file, open_lines, open_rows

# Spellings of a missing value; anything else that is no number is an error.
MISSING = frozenset(
    [
        "",
        "NA",
        "na",
        "N/A",
        "n/a",
        "#N/A",
        "NaN",
        "nan",
        "NAN",
        "-nan",
        "-NaN",
        "null",
        "NULL",
        "Null",
        "None",
        "none",
    ]
)
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text table.

    ``labels`` leading text fields (the first is the row's name, further ones are passed over),
    then one number for each of ``columns``. Data begins after ``skip_lines`` lines.
    """

    delimiter: str
    labels: int
    columns: list[str]
    skip_lines: int
    row_bytes: int
    kinds: Kinds
    notes: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Fields in a row."""
        return self.labels + len(self.columns)


def find_layout(path: str | PathLike[str], kinds: Kinds) -> Layout:
    """Layout of a TSV or CSV table, whose header has a field for the row names or has not.

    Raises InputError for a table that is empty, has a header only or no header, or whose header
    fits its first row neither way; for empty and repeated column names.
    """
    delimiter = find_delimiter(path)
    with open_rows(path, delimiter) as rows:
        header_line, header = next(rows, (0, []))
        row_line, row = next(rows, (0, []))
    if not header:
        raise InputError.at(path, "", "no line of text", f"a header and {kinds.row}s in rows")
    if not row:
        raise InputError.at(path, "", "a header only", f"{kinds.row}s in rows below it")
    check_wide(path, header_line, header, delimiter)
    notes = []
    if len(row) == len(header) + 1:
        names, first = header, 1
        notes.append("The header has no field for the row names.")
    elif len(row) == len(header):
        if all(_is_number(text) for text in header):
            raise InputError.at(
                path,
                f"line {header_line}",
                "numbers only",
                f"a header that names the {kinds.column}s",
            )
        names, first = header[1:], 2
    else:
        raise InputError.at(
            path,
            f"line {row_line}",
            f"{len(row)} fields",
            f"{len(header)}, as in the header (or {len(header) + 1}, if the header has no field "
            "for the row names)",
        )
    columns = [name.strip() for name in names]
    check_columns(path, kinds, columns, header_line, first)
    return Layout(
        delimiter=delimiter,
        labels=1,
        columns=columns,
        skip_lines=header_line,
        row_bytes=sum(map(len, row)) + len(row),
        kinds=kinds,
        notes=notes,
    )


def find_delimiter(path: str | PathLike[str]) -> str:
    """Tab or comma, by the file's suffix; for others by what its first line holds more of."""
    check_file(path)
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() != ".gz"]
    if suffixes and suffixes[-1] in _DELIMITERS:
        return _DELIMITERS[suffixes[-1]]
    with open_lines(path) as lines:
        first = next((line for _, line in lines if line), "")
    return "," if first.count(",") > first.count("\t") else "\t"


def check_columns(
    path: str | PathLike[str], kinds: Kinds, columns: list[str], line: int, first: int
) -> None:
    """Refuse empty and repeated column names; ``first`` is the number of the first one's field."""

    def place(positions: Sequence[int]) -> str:
        fields = [first + k for k in positions]
        return f"line {line}, {listed(fields, 'field', 'fields')}"

    check_names(path, kinds.column, columns, place)


def check_wide(path: str | PathLike[str], line: int, header: list[str], delimiter: str) -> None:
    """Refuse a header that the delimiter does not split."""
    if len(header) > 1:
        return
    name, other = {"\t": ("tab", ","), ",": ("comma", "\t")}[delimiter]
    hint = ""
    if other in header[0]:
        wrong = {",": "commas", "\t": "tabs"}[other]
        hint = f" (it holds {wrong}: name the file {'.csv' if other == ',' else '.tsv'})"
    raise InputError.at(
        path, f"line {line}", f"no {name}{hint}", f"a header of {name}-separated names"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
