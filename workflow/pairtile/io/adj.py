"""ARACNe's adjacency lists: a regulator a line, then its targets, each followed by a number."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from pairtile.errors import InputError
from pairtile.io.text_file import Row, open_lines


def is_adj(path: str | PathLike[str]) -> bool:
    """Whether a file's name says that it holds such lists: ``.adj``, also ``.adj.gz``."""
    return Path(str(path).lower().removesuffix(".gz")).suffix == ".adj"


def read_adj(path: str | PathLike[str]) -> list[Row]:
    """Read the edges as (line, [regulator, target, number]), in file order.

    Fields are separated by tabs; lines that start with ``>`` or ``#`` are passed over, and so are
    regulators without a target.

    Raises
    ------
    InputError
        File missing or damaged, a target without a number, an empty name, or what is no number.
    """
    edges: list[Row] = []
    with open_lines(path) as lines:
        for line, text in lines:
            fields = [field.strip() for field in text.rstrip("\t").split("\t")]
            if not any(fields) or text.startswith((">", "#")):
                continue
            place = f"line {line}"
            if len(fields) % 2 == 0:
                raise InputError.at(
                    path,
                    place,
                    f"{len(fields)} fields",
                    "a regulator, then targets with a number",
                )
            regulator, targets, numbers = fields[0], fields[1::2], fields[2::2]
            if not (regulator and all(targets)):
                raise InputError.at(path, place, "an empty name", "regulator and targets")
            for target, number in zip(targets, numbers, strict=True):
                try:
                    float(number)
                except ValueError:
                    raise InputError.at(
                        path, f"{place}, target {target!r}", repr(number), "a number"
                    ) from None
                edges.append((line, [regulator, target, number]))
    return edges
