"""Which records of the FASTA files are used: miRNAs of some species or names, each record once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.names import some, without_version
from pairtile.io.regulators import read_regulators
from pairtile.methods.mirna_targets.fasta import Fasta

message = messages_of(__package__)


A = TypeVar("A")
"""Arrays of the state."""


class PreparedPart(NamedTuple, Generic[A]):
    """What a part of the input adds to what is prepared: arrays of the state, counts and
    messages."""

    state: A
    counts: dict[str, int]
    messages: list[Message]


# miRBase and MirGeneDB: hsa-miR-21-5p, Hsa-Mir-10-P1a_5p, ebv-miR-BART1-3p, cel-lin-4-5p.
_SPECIES = re.compile(r"([a-z][a-z0-9]{2,5})-(?:let|mirt?|bantam|lin|lsy|iab|novel)", re.IGNORECASE)


def species_of(name: str) -> str:
    """The species that a miRNA's name begins with, in small letters; "" where it has none."""
    found = _SPECIES.match(name)
    return found[1].lower() if found else ""


def choose_mirnas(
    mirnas: Fasta, species: str | Sequence[str] | None, names: str | Sequence[str] | None
) -> tuple[Fasta, list[Message]]:
    """The miRNAs of some species and of some names, and what there is to say of them.

    species : what names begin with, such as ``hsa``; None: any. names : miRNAs, or the path of a
    file of them, one a line; None: any. Capitals make no difference in either.

    Raises InputError for a species, or all of the names, that the file does not have, and for a
    list that cannot be read.
    """
    there = Counter(map(species_of, mirnas.names))
    n_species = len(there.keys() - {""})
    counts = {"path": mirnas.path, "n": len(mirnas), "n_species": n_species}
    if species is None and names is None:
        several = [message("several_species", **counts, species=_listed(there))]
        return mirnas, several if n_species > 1 else []
    wanted = {name.lower() for name in ([species] if isinstance(species, str) else species or ())}
    if wanted - there.keys():
        none = f"no miRNA of {', '.join(sorted(wanted - there.keys()))}"
        raise InputError.at(mirnas.path, "species", none, f"some of {_listed(there, 20)}")
    listed = names
    if isinstance(names, str):
        listed = read_regulators(names, "miRNA")
    named = {name.lower(): name for name in listed or ()}

    def asked(name: str) -> bool:
        of_species = not wanted or species_of(name) in wanted
        return of_species and (listed is None or name.lower() in named)

    rows = [k for k, name in enumerate(mirnas.names) if asked(name)]
    bad = [record for record in mirnas.bad if not record.name or asked(record.name)]
    chosen = replace(
        mirnas.only(rows), bad=bad, n_passed=len(mirnas) - len(rows) + len(mirnas.bad) - len(bad)
    )
    note = message("mirnas_chosen", **counts, species=_listed(there), chosen=len(rows))
    found = {name.lower() for name in chosen.names}
    missing = [name for key, name in named.items() if key not in found]
    if missing and not rows:
        source = names if isinstance(names, str) else "mirna_names"
        none = f"none of its {len(named)} names ({some(missing)}) in {mirnas.path}"
        raise InputError.at(source, "", none, f"names such as {some(mirnas.names)}")
    if not missing:
        return chosen, [note]
    numbers = {"n": len(missing), "of": len(named), "names": some(missing)}
    return chosen, [note, message("mirnas_not_there", **numbers)]


def with_whole_headers(fasta: Fasta) -> tuple[Fasta, list[Message]]:
    """Records whose first word others have, too, by their whole header lines where these differ:
    ``miR 21-5p`` and ``miR 122-5p`` are no two ``miR``."""
    lines = zip(fasta.first_words, fasta.headers, strict=True)
    whole = [f"{word} {header}".strip() for word, header in lines]
    different = Counter(word for word, _ in set(zip(fasta.first_words, whole, strict=True)))
    rows = [k for k, word in enumerate(fasta.first_words) if different[word] > 1]
    if not rows:
        return fasta, []
    names = dict(enumerate(fasta.names)) | {k: whole[k] for k in rows}
    numbers = {"n": len(rows), "name": whole[rows[0]], "word": fasta.first_words[rows[0]]}
    found = replace(fasta, names=list(names.values()))
    return found, [message("whole_headers", path=fasta.path, **numbers)]


def without_duplicates(fasta: Fasta) -> tuple[Fasta, list[Message]]:
    """Each record once: of those with the same header and the same letters (U as T, in either case)
    the first; a note of how many were passed over."""
    twice = {name for name, n in Counter(fasta.first_words).items() if n > 1}
    seen: set[tuple[str, str]] = set()
    rows = []
    for k, name in enumerate(fasta.first_words):
        record = (
            (name, fasta.sequence(k).upper().replace("U", "T")) if name in twice else (name, "")
        )
        if record not in seen:
            rows.append(k)
        seen.add(record)
    n = len(fasta) - len(rows)
    if not n:
        return fasta, []
    return fasta.only(rows), [message("same_record_twice", path=fasta.path, n=n)]


def hint_of_versions(names: Iterable[str], known: Iterable[str]) -> str:
    """What to add where names are not among the known ones; "" unless versions are the cause."""
    if {without_version(name) for name in names}.isdisjoint(map(without_version, known)):
        return ""
    return "; some differ only in the version after the last point (see ignore_versions)"


def _listed(there: Counter[str], limit: int = 5) -> str:
    """``hsa 2,656, mmu 1,978, ...``"""
    shown = [f"{name or 'without a species'} {n:,}" for name, n in there.most_common()]
    return some(shown, limit)
