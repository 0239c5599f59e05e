"""Tables of two names a line: what belongs to what."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike

from pairtile.errors import InputError
from pairtile.io.text_file import open_lines


def read_name_pairs(
    path: str | PathLike[str], what: str, headers: tuple[Collection[str], Collection[str]]
) -> list[tuple[str, str]]:
    """Read pairs of names in file order, each pair once.

    Two fields a line, with tabs or blanks between them (names in FASTA files have neither). Blank
    lines and lines that start with ``#`` are passed over, and so is a first line whose fields are
    among ``headers``, in any case. ``what``: what the fields are, for messages, such as ``miRNA
    and transcript``.

    Raises
    ------
    InputError
        File missing or damaged, a line with another number of fields, or no pair at all.
    """
    pairs: dict[tuple[str, str], None] = {}
    first = True
    with open_lines(path) as lines:
        for number, line in lines:
            fields = line.split()
            if not fields or fields[0].startswith("#"):
                continue
            if len(fields) != 2:
                found = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
                raise InputError.at(path, f"line {number}", found, f"2: {what}")
            named = fields[0].lower() in headers[0] and fields[1].lower() in headers[1]
            if not (first and named):
                pairs[(fields[0], fields[1])] = None
            first = False
    if not pairs:
        raise InputError.at(path, "", "no pairs", f"{what} in each line")
    return list(pairs)
