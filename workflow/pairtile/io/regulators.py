"""Lists of regulators (or of targets), and where they stand in a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.names import some, spelled_alike, without_version
from pairtile.io.text_file import open_lines, unquoted

message = messages_of(__package__)

_HEADERS = {"gene", "genes", "gene_id", "gene_name", "symbol", "name", "names", "id", "x"} | {
    *("regulator", "regulators", "tf", "tfs", "target", "targets", "gene_symbol", "hugo_symbol"),
}


def read_regulators(path: str | PathLike[str], kind: str = "regulator") -> list[str]:
    """Read names, one a line, in file order; repeated names are taken once.

    Parameters
    ----------
    path : path
        Plain or gzip. Blank lines and lines that start with ``#`` are passed over.
    kind : str
        What messages call them.

    Raises
    ------
    InputError
        File missing or damaged, a line of several fields, or no name at all.
    """
    names: dict[str, None] = {}
    with open_lines(path) as lines:
        for number, line in lines:
            name = line.strip()
            if not name or name.startswith("#"):
                continue
            if "\t" in name:
                found = f"{name.count(chr(9)) + 1} fields"
                raise InputError.at(path, f"line {number}", found, "one name a line")
            names[unquoted(name).strip()] = None
    if not names:
        raise InputError.at(path, "", "no names", f"one {kind} a line")
    return list(names)


class FoundRegulators(NamedTuple):
    """``rows``: int32, the items that are regulators, ascending, each once; counts and warnings for
    the summary."""

    rows: np.ndarray
    counts: dict[str, int]
    warnings: list[Message]


def find_regulators(
    path: str | PathLike[str] | None,
    genes: Sequence[str],
    ignore_case: bool = False,
    ignore_versions: bool = False,
) -> FoundRegulators:
    """The regulators that a file lists, among the genes; none without a file.

    Raises InputError as ``read_regulators``, ``listed_names`` and ``match_regulators``.
    """
    if path is None:
        return FoundRegulators(np.empty(0, dtype=np.int32), {}, [])
    names = listed_names(read_regulators(path), genes, path, ignore_case, ignore_versions)
    rows, absent = match_regulators(names, genes, path)
    counts = {"regulators_listed": len(names), "regulators_used": int(rows.size)}
    warnings: list[Message] = [warning_of_absent(absent, len(names), genes)] if absent else []
    return FoundRegulators(rows, counts, warnings)


def listed_names(
    names: Sequence[str],
    genes: Sequence[str],
    source: str | PathLike[str],
    ignore_case: bool = False,
    ignore_versions: bool = False,
) -> list[str]:
    """The names of a list as the genes are spelled, without the list's header if it has one.

    Raises:
        InputError: several names in a line; as ``as_spelled``.
    """
    known = set(genes)
    if names and names[0] not in known and names[0].lower() in _HEADERS:
        names = names[1:]
    for name in names:
        parts = re.split(r"[,;\s]+", name)
        if name not in known and len(parts) > 1 and known.intersection(parts):
            raise InputError.at(source, "", f"several names in a line, {name!r}", "one name a line")
    if ignore_versions:
        names = list(dict.fromkeys(without_version(name) for name in names))
    return as_spelled(names, genes, source) if ignore_case else list(names)


def match_regulators(
    regulators: Sequence[str],
    genes: Sequence[str],
    source: str | PathLike[str],
    kind: str = "regulator",
) -> tuple[np.ndarray, list[str]]:
    """Find regulators among the genes.

    Returns their positions in ``genes`` (int32, ascending, each once) and the names that are not
    there, in the order given. ``source`` is the list's file and ``kind`` says what it lists, for
    the message.

    Raises:
        InputError: none of them is there.
    """
    position = {gene: k for k, gene in enumerate(genes)}
    rows = {position[name] for name in regulators if name in position}
    missing = list(dict.fromkeys(name for name in regulators if name not in position))
    if not rows:
        cure = "" if kind == "identifier" else " ignore_case: true passes over capitals"
        raise InputError.at(
            source,
            "",
            f"none of its {len(missing)} names ({some(missing)}) among the {len(genes)} genes "
            f"({some(genes)}){_hint(missing, genes)}",
            f"{kind}s named as in the table (does its orientation fit?{cure})",
        )
    return np.array(sorted(rows), dtype=np.int32), missing


def as_spelled(
    names: Sequence[str], genes: Sequence[str], source: str | PathLike[str]
) -> list[str]:
    """The names as the genes are spelled, where they differ in capitals only.

    Raises:
        InputError: a name that so stands for several genes.
    """
    result = []
    for name, found in spelled_alike(names, genes, str.casefold).items():
        if len(found) > 1:
            raise InputError.at(
                source,
                "",
                f"{name!r}, which without regard to capitals is {found[0]!r} and {found[1]!r}",
                "names that stand for one gene under ignore_case: true",
            )
        result += found or [name]
    return result


def warning_of_absent(
    absent: Sequence[str], n_listed: int, genes: Sequence[str], kind: str = "regulators"
) -> Message:
    """What to say where some of the listed names are not among the kept genes."""
    names = f"{some(absent)}{_hint(absent, genes)}"
    return message("names_not_kept", n=len(absent), listed=n_listed, kind=kind, names=names)


def _hint(regulators: Sequence[str], genes: Sequence[str]) -> str:
    if {name.casefold() for name in regulators} & {gene.casefold() for gene in genes}:
        return "; some differ in capitals only"
    bare = set(map(without_version, genes))
    if bare.intersection(map(without_version, regulators)):
        return "; some differ only in the version after the last point (see ignore_versions)"
    return ""
