"""Gene sets of a file, found among the genes of an analysis; and sets written as GMT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from pairtile.errors import InputError
from pairtile.io.names import some, without_version
from pairtile.io.regulators import as_spelled
from pairtile.io.text_file import Row, open_lines, open_rows
from pairtile.io.text_table import find_delimiter

MIN_SET_GENES = 5
"""Analysed genes that a set or a list needs to be tested, as in GSEA's programs."""

_WEIGHT = re.compile(r",-?[\d.]+(e-?\d+)?$")  # Enrichr's libraries have GENE,1.0


@dataclass(frozen=True)
class GeneSets:
    """``members``: float64 csr (sets, genes), 1 where a gene is in a set. ``counts``: sets read,
    those with no analysed gene and with fewer than ``MIN_SET_GENES``, names that no gene has."""

    names: list[str]
    members: csr_array
    counts: dict[str, int]


def membership(groups: Iterable[Iterable[int]], n_genes: int) -> csr_array:
    """float64 csr (groups, genes): 1 where a gene is in a group."""
    rows = [np.unique(np.fromiter(group, dtype=np.int64)) for group in groups]
    starts = np.cumsum([0, *(row.size for row in rows)])
    columns = np.concatenate([np.empty(0, dtype=np.int64), *rows])
    return csr_array((np.ones(columns.size), columns, starts), shape=(len(rows), n_genes))


def read_gene_sets(path: str | PathLike[str], genes: Iterable[str] = ()) -> dict[str, list[str]]:
    """Read sets as name -> genes, in file order, each gene once.

    ``.gmt`` (also ``.gz``): a set a line, its name, a description and its genes between tabs;
    weights after a comma, as Enrichr has them, are left out. Else a table of two columns, gene and
    set in either order: the column with more of ``genes`` holds them (of equals the first). Lines
    that start with ``#`` are passed over.

    Raises
    ------
    InputError
        File missing or damaged, another number of fields, an empty name, a set that is there
        twice, or no set at all.
    """
    name = Path(str(path).lower().removesuffix(".gz"))
    sets = _gmt(path) if name.suffix == ".gmt" else _two_columns(path, set(genes))
    if not sets:
        raise InputError.at(path, "", "no gene sets", "one or more")
    return {name: list(dict.fromkeys(members)) for name, members in sets.items()}


def _gmt(path: str | PathLike[str]) -> dict[str, list[str]]:
    sets: dict[str, list[str]] = {}
    with open_lines(path) as lines:
        for line, text in lines:
            fields = [field.strip() for field in text.split("\t")]
            if not any(fields) or text.startswith("#"):
                continue
            place = f"line {line}"
            if len(fields) < 3 or not fields[0]:
                expected = "a set's name, a description and its genes, between tabs"
                raise InputError.at(path, place, f"{len(fields)} fields", expected)
            if fields[0] in sets:
                raise InputError.at(path, place, f"the set {fields[0]!r} again", "each set once")
            sets[fields[0]] = [_WEIGHT.sub("", gene) for gene in fields[2:] if gene]
    return sets


def _two_columns(path: str | PathLike[str], genes: set[str]) -> dict[str, list[str]]:
    rows: list[Row] = []
    with open_rows(path, find_delimiter(path)) as lines:
        for line, raw in lines:
            fields = [field.strip() for field in raw]
            if fields[0].startswith("#") or not any(fields):
                continue
            if len(fields) != 2 or not all(fields):
                found = "an empty name" if len(fields) == 2 else f"{len(fields)} field(s)"
                expected = "2 (gene, set), or a file .gmt"
                raise InputError.at(path, f"line {line}", found, expected)
            rows.append((line, fields))
    known = [sum(fields[k] in genes for _, fields in rows) for k in range(2)]
    column = int(known[1] > known[0])
    header = {"gene", "genes", "gene_id", "gene_name", "gene_symbol", "symbol"}
    if rows and {field.lower() for field in rows[0][1]} & header:
        column = int(rows[0][1][0].lower() not in header)
        rows = rows[1:]
    sets: dict[str, list[str]] = {}
    for _, fields in rows:
        sets.setdefault(fields[1 - column], []).append(fields[column])
    return sets


def find_gene_sets(
    sets: Mapping[str, Sequence[str]],
    genes: Sequence[str],
    source: str | PathLike[str] = "gene_sets",
    symbols: Sequence[str] | None = None,
    ignore_case: bool = False,
    ignore_versions: bool = False,
) -> GeneSets:
    """The sets among the analysed genes; those with fewer than ``MIN_SET_GENES`` are counted and
    left out.

    ``symbols``: of the genes; they are matched instead where more names of the sets are symbols.
    ``source``: the sets' file, for messages.

    Raises InputError where no set has a gene, or no set has enough of them, or a name stands for
    several genes.
    """
    listed = list(dict.fromkeys(name for members in sets.values() for name in members))
    found: dict[str, list[int]] = {}
    for labels in (genes, symbols or []):
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(labels):
            rows.setdefault(label, []).append(row)
        bare = {name: without_version(name) if ignore_versions else name for name in listed}
        spelled = dict(bare)
        if ignore_case:
            unique = list(dict.fromkeys(bare.values()))
            alike = dict(zip(unique, as_spelled(unique, list(rows), source), strict=True))
            spelled = {name: alike[text] for name, text in bare.items()}
        here = {name: rows[text] for name, text in spelled.items() if text in rows}
        found = here if len(here) > len(found) else found
    members = {
        name: {row for gene in listed_genes for row in found.get(gene, [])}
        for name, listed_genes in sets.items()
    }
    tested = {name: rows for name, rows in members.items() if len(rows) >= MIN_SET_GENES}
    if not tested:
        largest = max(map(len, members.values()), default=0)
        raise InputError.at(
            source,
            "",
            f"{len(sets)} sets ({some(listed)}), of which none has more than {largest} of the "
            f"{len(genes)} analysed genes ({some(genes)})",
            f"a set with {MIN_SET_GENES} or more (see ignore_case and ignore_versions)",
        )
    counts = {
        "gene_sets_read": len(sets),
        "gene_sets_tested": len(tested),
        "gene_sets_without_genes": sum(not rows for rows in members.values()),
        "gene_sets_with_few_genes": sum(0 < len(r) < MIN_SET_GENES for r in members.values()),
        "gene_set_names": len(listed),
        "gene_set_names_unknown": len(listed) - len(found),
    }
    return GeneSets(list(tested), membership(tested.values(), len(genes)), counts)
