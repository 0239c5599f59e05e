"""Gene sets of a file, found among the genes of an analysis; and sets written as GMT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.names import GeneNames, join_first, kind_of_names
from pairtile.io.text_file import find_delimiter, open_lines, plain_name, read_list

message = messages_of(__package__)

MIN_SET_GENES = 5
"""Analysed genes that a set or a list needs to be tested, as in GSEA's programs."""

_WEIGHT = re.compile(r",-?[\d.]+(e-?\d+)?$")  # Enrichr's libraries have GENE,1.0


@dataclass(frozen=True)
class GeneSets:
    """``members``: float64 csr (sets, genes), 1 where a gene is in a set. ``counts``: sets read,
    those with no analysed gene and with fewer than ``MIN_SET_GENES``, names that no gene has.
    ``messages``: of how names were found."""

    names: list[str]
    members: csr_array
    counts: dict[str, int]
    messages: list[Message]


def membership(groups: Iterable[Iterable[int]], n_genes: int) -> csr_array:
    """float64 csr (groups, genes): 1 where a gene is in a group."""
    rows = [np.unique(np.fromiter(group, dtype=np.int64)) for group in groups]
    starts = np.cumsum([0, *(row.size for row in rows)])
    columns = np.concatenate([np.empty(0, dtype=np.int64), *rows])
    return csr_array((np.ones(columns.size), columns, starts), shape=(len(rows), n_genes))


def read_gene_sets(
    path: str | PathLike[str], genes: Iterable[str] = ()
) -> tuple[dict[str, list[str]], list[Message]]:
    """Read sets as name -> genes, in file order, each gene once.

    ``.gmt`` (also ``.gz``): a set a line, its name, a description and its genes between tabs;
    weights after a comma, as Enrichr has them, are left out. Where every set has one of ``genes``,
    in place of the description, that is the first of its genes, which a message says. Else a
    table of two columns, gene and set in either order: the column with more of ``genes`` holds them
    (of equals the first). Lines that start with ``#`` are passed over.

    Raises
    ------
    InputError
        File missing or damaged, another number of fields, an empty name, a set that is there
        twice, or no set at all.
    """
    name = Path(str(path).lower().removesuffix(".gz"))
    sets, said = _gmt(path, set(genes)) if name.suffix == ".gmt" else _two_columns(path, set(genes))
    if not sets:
        raise InputError.at(path, "", "no gene sets", "one or more")
    return {name: list(dict.fromkeys(members)) for name, members in sets.items()}, said


def _gmt(path: str | PathLike[str], genes: set[str]) -> tuple[dict[str, list[str]], list[Message]]:
    sets: dict[str, list[str]] = {}
    described = False
    with open_lines(path) as lines:
        for line, text in lines:
            fields = [plain_name(field) for field in text.split("\t")]
            if not any(fields) or text.startswith("#"):
                continue
            place = f"line {line}"
            if len(fields) < 3 or not fields[0]:
                expected = "a set's name, a description and its genes, between tabs"
                raise InputError.at(path, place, f"{len(fields)} fields", expected)
            if fields[0] in sets:
                raise InputError.at(path, place, f"the set {fields[0]!r} again", "each set once")
            sets[fields[0]] = [_WEIGHT.sub("", gene) for gene in fields[1:]]
            described |= fields[1] not in genes or fields[1] in [*fields[2:], fields[0]]
            described |= fields[1] in re.split(r"\W|_", fields[0])  # a regulon, of its regulator
    said = [] if described or not sets else [message("sets_without_description", n=len(sets))]
    return {name: [*filter(None, members[described:])] for name, members in sets.items()}, said


def _two_columns(
    path: str | PathLike[str], genes: set[str]
) -> tuple[dict[str, list[str]], list[Message]]:
    rows = read_list(path, find_delimiter(path))
    for line, fields in rows:
        if len(fields) != 2 or not all(fields):
            found = "an empty name" if len(fields) == 2 else f"{len(fields)} field(s)"
            expected = "2 (gene, set), or a file .gmt"
            raise InputError.at(path, f"line {line}", found, expected)
    known = [sum(fields[k] in genes for _, fields in rows) for k in range(2)]
    column = int(known[1] > known[0])
    header = {"gene", "genes", "gene_id", "gene_name", "gene_symbol", "symbol"}
    if rows and {field.lower() for field in rows[0][1]} & header:
        column = int(rows[0][1][0].lower() not in header)
        rows = rows[1:]
    sets: dict[str, list[str]] = {}
    for _, fields in rows:
        sets.setdefault(fields[1 - column], []).append(fields[column])
    return sets, []


def find_gene_sets(
    sets: Mapping[str, Sequence[str]],
    genes: GeneNames,
    source: str | PathLike[str] = "gene_sets",
    said: Sequence[Message] = (),
) -> GeneSets:
    """The sets among the analysed genes; those with fewer than ``MIN_SET_GENES`` are counted and
    left out. ``source``: the sets' file, for messages; ``said``: of reading it.

    Raises InputError where no set has a gene, or no set has enough of them.
    """
    listed = list(dict.fromkeys(name for members in sets.values() for name in members))
    found = genes.find(listed)
    members = {
        name: {row for gene in listed_genes for row in found.rows.get(gene, [])}
        for name, listed_genes in sets.items()
    }
    tested = {name: rows for name, rows in members.items() if len(rows) >= MIN_SET_GENES}
    if not tested:
        largest = max(map(len, members.values()), default=0)
        raise InputError.at(
            source,
            "",
            f"{len(sets)} sets ({join_first(listed)}: {kind_of_names(listed)}), of which none has "
            f"more than {largest} of the {len(genes.names)} analysed genes "
            f"({join_first(genes.names)}: {kind_of_names(genes.names)})",
            f"a set with {MIN_SET_GENES} or more (see names and ignore_versions)",
        )
    counts = {
        "gene_sets_read": len(sets),
        "gene_sets_tested": len(tested),
        "gene_sets_without_genes": sum(not rows for rows in members.values()),
        "gene_sets_with_few_genes": sum(0 < len(r) < MIN_SET_GENES for r in members.values()),
        "gene_set_names": len(listed),
        "gene_set_names_unknown": len(listed) - len(found.rows),
    }
    notes = [*said, *found.messages(len(listed), "names of gene sets")]
    return GeneSets(list(tested), membership(tested.values(), len(genes.names)), counts, notes)
