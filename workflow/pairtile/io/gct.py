"""GCT tables (GenePattern), versions 1.2 and 1.3.

Version 1.2: line 1 ``#1.2``; line 2 rows and samples; line 3 ``Name Description`` and the samples;
then the rows. Version 1.3: line 1 ``#1.3``; line 2 rows, samples, row annotations, sample
annotations; line 3 ``id``, row annotation names, samples; the sample annotations, one a line; rows.
Source: GenePattern file formats guide; GCT 1.3 as in the Connectivity Map's cmapPy.
"""

from __future__ import annotations

from itertools import islice
from os import PathLike
from pathlib import Path

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.by_products import find_columns
from pairtile.io.table import FIRST_ROWS, Kinds, Table
from pairtile.io.text_file import MISSING, open_rows
from pairtile.io.text_table import Layout, check_columns, read_rows

message = messages_of(__package__)

_SIZES = {"#1.2": 2, "#1.3": 4}


def read_gct(path: str | PathLike[str], kinds: Kinds, scratch: Path | None = None) -> Table:
    """Read a GCT table, plain or gzip; the names are the first column's. A large table is mapped
    from a file in ``scratch``.

    Raises InputError for another version, sizes that do not fit the table, and all that text
    tables are refused for.
    """
    layout, n_rows = _find_layout(path, kinds)
    table = read_rows(path, layout, scratch)
    if len(table.rows) != n_rows:
        raise InputError.at(
            path, "line 2", f"{n_rows} rows stated", f"the {len(table.rows)} that the file holds"
        )
    return table


def _find_layout(path: str | PathLike[str], kinds: Kinds) -> tuple[Layout, int]:
    with open_rows(path, "\t") as rows:
        line, first = next(rows, (1, [""]))
        version = first[0].strip()
        if version not in _SIZES:
            raise InputError.at(path, f"line {line}", repr(version), "#1.2 or #1.3")
        line, second = next(rows, (2, []))
        n = _SIZES[version]
        texts = [text.strip() for text in second[:n]]
        # Python refuses to read numbers of some thousand digits.
        if len(texts) < n or not all(text.isdecimal() and len(text) <= 18 for text in texts):
            raise InputError.at(path, f"line {line}", repr("\t".join(second)), f"{n} whole numbers")
        n_rows, n_columns, n_row_labels, n_column_labels = (*map(int, texts), 1, 0)[:4]
        labels = 1 + n_row_labels
        header_line, header = next(rows, (3, []))
        # GTEx numbers the rows of its tables by tissue, in a column more than is stated.
        name_field = int(header[:1] == ["id"] and len(header) == labels + n_columns + 1)
        labels += name_field
        if len(header) != labels + n_columns:
            raise InputError.at(
                path,
                f"line {header_line}",
                f"{len(header)} fields",
                f"{labels + n_columns}: {labels} for names and annotations, {n_columns} samples "
                f"as stated in line {line}",
            )
        # As many as are stated, or as there are.
        last = [header_line, *(line for line, _ in islice(rows, n_column_labels))][-1]
        row_line, row = next(rows, (0, []))
        first_rows = [row, *(fields for _, fields in islice(rows, FIRST_ROWS))]
    if not row:
        raise InputError.at(path, f"line {last}", "no rows after it", f"{n_rows}")
    columns = [name.strip() for name in header[labels:]]
    # What Description holds is not said: symbols differ and have no blanks.
    names = ["" if name == "Description" else name for name in header[name_field + 1 : labels]]
    cells = [[*fields[name_field + 1 : labels], "1"] for fields in first_rows]
    symbols = find_columns([*names, "sample"], cells, MISSING, by_name=False)[2]
    check_columns(path, kinds, columns, header_line, labels + 1)
    notes: list[Message] = [message("gct_version", version=version[1:])]
    n_unused = n_row_labels - (symbols is not None)
    if n_unused or n_column_labels:
        notes.append(message("gct_annotations", rows=n_unused, columns=n_column_labels))
    if symbols is not None:
        notes.append(message("symbols_in_table", column=header[name_field + 1 + symbols]))
    layout = Layout(
        delimiter="\t",
        labels=labels,
        columns=columns,
        fields=list(range(labels, len(header))),
        width=len(header),
        # Blank lines may stand before the first row, so its own number says what to skip.
        skip_lines=row_line - 1,
        row_bytes=sum(map(len, row)) + len(row),
        kinds=kinds,
        notes=notes,
        name_field=name_field,
        symbol_field=None if symbols is None else name_field + 1 + symbols,
    )
    return layout, n_rows
