"""Names in one file as they are spelled in another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.text_file import plain_name

message = messages_of(__package__)

_SHOWN = 5
_VERSION = re.compile(r"^(.+)\.\d+$")
_KNOWN_VERSION = re.compile(r"^(ENS[A-Z]*\d{11}|[NX][CGMPRTW]_\d+)\.\d+$", re.IGNORECASE)
"""Accessions that stay what they are in the next version; of others (RP11-34P13.7) it is a part."""

_PARTS = re.compile(r"\s*(?:[|;]|///)\s*")
_OTHER_KIND = "symbols or other names"
_KINDS = {
    "Ensembl genes of human": r"ENSG\d+(\.\d+)?",
    "Ensembl genes of mouse": r"ENSMUSG\d+(\.\d+)?",
    "Ensembl genes": r"ENS[A-Z]*G\d+(\.\d+)?",
    "Ensembl transcripts": r"ENS[A-Z]*T\d+(\.\d+)?",
    "Ensembl proteins": r"(\d+\.)?ENS[A-Z]*P\d+(\.\d+)?",
    "RefSeq accessions": r"[NX][CGMPRTW]_\d+(\.\d+)?",
    "numbers, as of NCBI Gene": r"\d+",
    "probes": r"\w+_at|ILMN_\d+|A_\d+_P\d+|cg\d{8}",
    "UniProt accessions": r"[OPQ]\d[A-Z\d]{3}\d|[A-NR-Z]\d([A-Z][A-Z\d]{2}\d){1,2}",
    "genes of StringTie": r"MSTRG\.\d+.*",
    "symbols in capitals, as of human": r"[A-Z]{2,}\d*[A-Z]*(-?\d+)?|C\d+orf\d+",
    "symbols as of mouse or rat": r"[A-Z][a-z]+(\d|-|Rik\b|[a-z])*",
    "symbols as of bacteria": r"[a-z]{3}[A-Z]\d?",
}
_SURE = r"ENS[A-Z]*[GTP]\d+(\.\d+)?|[NX][MPR]_\d+(\.\d+)?|\w+_AT|ILMN_\d+|MSTRG\.\d+.*"
_WELL_KNOWN = {
    *("ACTB", "GAPDH", "B2M", "TP53", "MYC", "EGFR", "STAT3", "JUN", "FOS", "VIM", "HPRT1", "TBP"),
    *("UBC", "CD4", "KRAS", "AKT1"),
}
UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What tables, XML and HDF5 cannot hold, and halves of characters (bytes that are no UTF-8)."""

_R_RESERVED = {"if", "else", "repeat", "while", "function", "for", "next", "break", "in"} | {
    *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
}


def join_first(names: Sequence[str], limit: int = _SHOWN) -> str:
    """The first few names."""
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")


def check_characters(file: str | PathLike[str], kind: str, names: Iterable[str]) -> None:
    """Refuse names with characters that tables and networks cannot hold, of whatever ``kind``.

    Raises
    ------
    InputError
        Naming the file, the first such name and its character.
    """
    for name in names:
        if found := UNUSABLE.search(name):
            place, character = f"{kind} {name!r}", f"the character {found.group()!r}"
            expected = "names without control characters, as tables and networks cannot hold them"
            raise InputError.at(file, place, character, expected)


def rows_of(
    place: str, names: Sequence[str] | pd.Series, index: pd.Index, expected: str
) -> NDArray[np.int64]:
    """The row of each name in an index: int64 (names,).

    Raises ValueError for a name that is not there: ``place`` says whose it is, ``expected`` what
    the index holds.
    """
    wanted = pd.Index(names)
    rows = index.get_indexer(wanted)
    if (rows < 0).any():
        raise ValueError(f"{place}: found {wanted[int(rows.argmin())]!r}; expected {expected}")
    return rows.astype(np.int64)


def without_version(name: str) -> str:
    """ENSG00000141510 of ENSG00000141510.18: the name without the number after its last point."""
    return _VERSION.sub(r"\1", name)


def numbered(names: Iterable[str], ignore_case: bool = False) -> list[str]:
    """The names, in order; of those that are the same, the later ones get ``_2``, ``_3``, ..."""
    unique: list[str] = []
    taken: set[str] = set()
    for name in names:
        new, number = name, 1
        while (new.lower() if ignore_case else new) in taken:
            number += 1
            new = f"{name}_{number}"
        taken.add(new.lower() if ignore_case else new)
        unique.append(new)
    return unique


def r_name(name: str) -> str:
    """The name that R's ``make.names`` gives to a column: points for blanks and dashes, and an X
    before a digit."""
    found = re.sub(r"[^\w.]", ".", name)
    if not re.match(r"[^\W\d_]|\.(?!\d)", found):
        found = "X" + found
    return found + "." if found in _R_RESERVED else found


class FoundNames(NamedTuple):
    """``rows``: of each listed name that was found, the genes. ``ways``: how many were found by
    anything else than the very name of the table."""

    rows: dict[str, list[int]]
    ways: Counter[str]

    def messages(self, n_listed: int, kind: str) -> list[Message]:
        """What to say of names that are not those of the table, and of those of several genes."""
        several = [name for name, rows in self.rows.items() if len(rows) > 1]
        ways = ", ".join(
            f"{way} ({k})" if len(self.ways) > 1 else way for way, k in self.ways.items()
        )
        said = {
            "names_matched": {"n": self.ways.total(), "listed": n_listed, "ways": ways},
            "names_of_several": {"n": len(several), "names": join_first(several)},
        }
        return [message(code, kind=kind, **of) for code, of in said.items() if of["n"]]


@dataclass(frozen=True)
class GeneNames:
    """The genes of a table under all names that a list may have for them.

    names : as the table has them. symbols, accessions : what else each is called, one for each
    gene ("": nothing), or none at all.
    """

    names: Sequence[str]
    symbols: Sequence[str] = ()
    accessions: Sequence[str] = ()
    ignore_case: bool = False
    ignore_versions: bool = False

    @classmethod
    def of_items(cls, items: pd.DataFrame, ignore_case: bool, ignore_versions: bool) -> GeneNames:
        """Those of the kept items of an analysis."""
        kept = items[items["kept"].astype(bool)]
        names, symbols, accessions = (
            kept[column].fillna("").astype(str).tolist() if column in kept else ()
            for column in ("name", "symbol", "accession")
        )
        return cls(names, symbols, accessions, ignore_case, ignore_versions)

    def find(self, listed: Iterable[str]) -> FoundNames:
        """The genes of each name of a list: by the name in the table, else by symbol, else by
        identifier, else without quotes and what does not show, else as one of several names that
        stand between ``|``, ``;`` or ``///``, else without the version of an accession, else in
        other capitals.

        A name that several genes share stands for all of them; in other capitals only where
        ``ignore_case`` says so, else for none.
        """
        every = [*self.names, *self.symbols, *self.accessions]
        version = _VERSION if self.ignore_versions else _KNOWN_VERSION
        parts: Callable[[str], list[str]] = lambda name: _PARTS.split(plain_name(name))  # noqa: E731
        bare: Callable[[str], list[str]] = lambda name: [version.sub(r"\1", p) for p in parts(name)]  # noqa: E731
        ways: dict[str, tuple[Sequence[str], Callable[[str], list[str]]]] = {
            "by name": (self.names, lambda name: [name]),
            "by symbol": (self.symbols, lambda name: [name]),
            "by identifier": (self.accessions, lambda name: [name]),
            "in another spelling": (every, lambda name: [plain_name(name)]),
            "as part of a name": (every, parts),
            "without version": (every, bare),
            "in other capitals": (every, lambda name: [part.casefold() for part in bare(name)]),
        }
        found = FoundNames({}, Counter())
        left = [name for name in dict.fromkeys(listed) if name]
        for way, (names, keys) in ways.items():
            genes: dict[str, dict[int, None]] = {}
            for k, name in enumerate(names if left else ()):
                for key in filter(None, keys(name)):
                    genes.setdefault(key, {})[k % len(self.names)] = None
            most = 1 if way == "in other capitals" and not self.ignore_case else len(self.names)
            for name in left:
                here = list(genes.get("|".join(keys(name)), ()))  # several names are none
                if 0 < len(here) <= most:
                    found.rows[name] = here
                    found.ways[way] += 1
            left = [name for name in left if name not in found.rows]
        del found.ways["by name"]
        if n_capitals := found.ways.pop("in other capitals", 0):
            differ = different_kinds([*found.rows], self.names)
            found.ways["in other capitals" + (differ and f" ({differ})")] = n_capitals
        return found

    def spell(
        self, table: pd.DataFrame, columns: Sequence[str], kind: str
    ) -> tuple[pd.DataFrame, list[Message]]:
        """A table with the names in some columns as the genes have them, and what to say of it.

        A name of several genes makes a row for each; what is no gene stays. ``kind``: what messages
        call the names.
        """
        listed = pd.unique(table[list(columns)].to_numpy(dtype=object).ravel())
        own = set(self.names)
        found = self.find(str(name) for name in listed if name not in own)
        spelled = table.copy()
        for column in columns if found.rows else ():
            spelled[column] = [
                [self.names[row] for row in found.rows.get(str(name), ())] or [name]
                for name in spelled[column]
            ]
            spelled = spelled.explode(column, ignore_index=True)
        return spelled, found.messages(len(listed), kind)


def kind_of_names(names: Sequence[str]) -> str:
    """What most of the first names are: Ensembl genes, symbols, ..."""
    first = [plain_name(name) for name in names[:1_000]]
    matches = {
        kind: sum(re.fullmatch(pattern, name) is not None for name in first)
        for kind, pattern in _KINDS.items()
    }
    return next((kind for kind, n in matches.items() if 2 * n > len(first)), _OTHER_KIND)


def seem_genes(names: Sequence[str]) -> bool:
    """Whether names are surely of genes: most are of a kind that no sample has, or some are those
    that hardly a table of symbols lacks. Of ``TP53 (7157)`` and the like the first part counts."""
    first = [re.split(r"[\s|(]", plain_name(name))[0].upper() for name in names[:100_000]]
    sure = sum(re.fullmatch(_SURE, name) is not None for name in first)
    return 2 * sure > len(first) or len(_WELL_KNOWN.intersection(first)) > 2


def different_kinds(listed: Sequence[str], genes: Sequence[str]) -> str:
    """Of which kinds the names of a list and of a table seem to be; "" where these are the same, or
    one of them is not known."""
    kinds = [kind_of_names(names) for names in (listed, genes)]
    if _OTHER_KIND in kinds or kinds[0] == kinds[1]:
        return ""
    return "the list seems to have {}, the table {}".format(*kinds)


def match_samples(
    samples: Sequence[str], listed: Sequence[str], source: str | PathLike[str]
) -> tuple[dict[str, str], list[Message]]:
    """What the samples of a table are called in a list, and a note where the names differ.

    A sample that is not listed is looked for under the name that R gives to columns (``Sample.1``
    for ``Sample 1`` and ``Sample-1``, ``X1h`` for ``1h``). Where this finds none, folders are left
    out and what all names of a side share before and behind (``/bam/S01.sorted.bam`` is ``S01``),
    if all samples of one side then have one of the other. Those that the list lacks are not in the
    result. Raises InputError where several names stand for one sample, or one for several.
    """
    exact = set(listed)
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(listed):
        alike.setdefault(r_name(name), []).append(name)
    matched: dict[str, str] = {}
    taken: dict[str, str] = {}
    for sample in samples:
        names = [sample] if sample in exact else alike.get(r_name(sample), [])
        twice = [sample, taken[names[0]]] if names and names[0] in taken else []
        if len(names) > 1 or twice:
            several = twice or names
            raise InputError.at(
                source,
                f"sample {(names if twice else [sample])[0]!r}",
                f"{several[0]!r} and {several[1]!r}, which are the same to R's make.names",
                "the same names of samples in both files",
            )
        if names:
            matched[sample] = names[0]
            taken[names[0]] = sample
    code = "r_names" if matched else "sample_names_cut"
    matched = matched or _matched_by_parts(samples, list(dict.fromkeys(listed)))
    changed = [(sample, name) for sample, name in matched.items() if sample != name]
    if not changed:
        return matched, []
    sample, name = changed[0]
    return matched, [message(code, n=len(changed), sample=sample, name=name)]


def _matched_by_parts(samples: Sequence[str], listed: Sequence[str]) -> dict[str, str]:
    """Samples by the part of their names in which they differ: all of either side, and in one way
    only, however the names are cut; else none."""
    found: list[dict[str, str]] = []
    others = [dict(zip(cut, listed, strict=True)) for cut in _cut_names(listed)]
    for cut in _cut_names(samples):
        of_sample = dict(zip(cut, samples, strict=True))
        for other in others:
            here = {of_sample[part]: other[part] for part in of_sample if part in other}
            if len(here) == min(len(samples), len(listed)) > 1 and here not in found:
                found.append(here)
    return found[0] if len(found) == 1 else {}


def _cut_names(names: Sequence[str]) -> Iterator[list[str]]:
    """The names without folders, and without words that all of them share at their beginning or
    end but for numbers (``S01_S1_L001`` and ``S02_S2_L001``), as far as all remain different."""
    for whole in (names, [re.split(r"[/\\]", name)[-1] for name in names]):
        words = [list(re.finditer(r"[^\W_]+", name)) for name in whole]
        fewest = min(map(len, words), default=0)
        shapes = [
            [re.sub(r"\d+", "0", w[0]) if re.search(r"\D", w[0]) else w[0] for w in of_name]
            for of_name in words
        ]
        n_begin, n_end = (
            next((k for k in range(fewest) if len({s[at(k)] for s in shapes}) > 1), fewest)
            for at in (int, lambda k: -1 - k)
        )
        for begin in range(n_begin + 1):
            for end in range(min(n_end + 1, fewest - begin)):
                cut = [
                    r_name(name[of_name[begin].start() : of_name[-1 - end].end()])
                    for name, of_name in zip(whole, words, strict=True)
                ]
                if len(set(cut)) == len(cut):
                    yield cut
