"""Which records of the FASTA files are used: miRNAs of some species or names, each record once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Generic, NamedTuple, TypeVar

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.names import join_first, without_version
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
        several = [message("several_species", **counts, species=_format_species(there))]
        return mirnas, several if n_species > 1 else []
    wanted = {name.lower() for name in ([species] if isinstance(species, str) else species or ())}
    if wanted - there.keys():
        raise InputError.at(
            mirnas.path,
            "species",
            f"no miRNA of {', '.join(sorted(wanted - there.keys()))}",
            f"some of {_format_species(there, 20)}",
        )
    listed = read_regulators(names, "miRNA") if isinstance(names, str) else names
    named = {name.lower(): name for name in listed or ()}

    def asked(name: str) -> bool:
        of_species = not wanted or species_of(name) in wanted
        return of_species and (listed is None or name.lower() in named)

    rows = [k for k, name in enumerate(mirnas.names) if asked(name)]
    bad = [record for record in mirnas.bad if not record.name or asked(record.name)]
    chosen = replace(
        mirnas.only(rows), bad=bad, n_passed=len(mirnas) - len(rows) + len(mirnas.bad) - len(bad)
    )
    note = message("mirnas_chosen", **counts, species=_format_species(there), chosen=len(rows))
    found = {name.lower() for name in chosen.names}
    missing = [name for key, name in named.items() if key not in found]
    if missing and not rows:
        raise InputError.at(
            names if isinstance(names, str) else "mirna_names",
            "",
            f"none of its {len(named)} names ({join_first(missing)}) in {mirnas.path}",
            f"names such as {join_first(mirnas.names)}",
        )
    lost = message("mirnas_not_there", n=len(missing), of=len(named), names=join_first(missing))
    return chosen, [note, lost] if missing else [note]


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
    first: dict[tuple[str, str], int] = {}
    for k, name in enumerate(fasta.first_words):
        letters = fasta.letters.sequence(k).upper().replace("U", "T") if name in twice else ""
        first.setdefault((name, letters), k)
    n = len(fasta) - len(first)
    if not n:
        return fasta, []
    return fasta.only([*first.values()]), [message("same_record_twice", path=fasta.path, n=n)]


def _format_species(there: Counter[str], limit: int = 5) -> str:
    """``hsa 2,656, mmu 1,978, ...``"""
    shown = [f"{name or 'without a species'} {n:,}" for name, n in there.most_common()]
    return join_first(shown, limit)


# --- headers that name transcript, gene and symbol, as databases write them -----------------------


# Ensembl and GENCODE, RefSeq, FlyBase, TAIR. BioMart joins several with the same sequence by ";".
_TRANSCRIPT = r"(?:ENS[A-Z]*T\d{6,}|[NX][MR]_\d+|FBtr\d+|AT[1-5CM]G\d{5}\.\d+)(?:\.\d+)?(?:_PAR_Y)?"
_GENE = r"(?:ENS[A-Z]*G\d{6,}|FBgn\d+|AT[1-5CM]G\d{5})(?:\.\d+)?(?:_PAR_Y)?"
_TRANSCRIPTS = re.compile(f"{_TRANSCRIPT}(?:;{_TRANSCRIPT})*")
_GENES = re.compile(f"{_GENE}(?:;{_GENE})*")
_NO_SYMBOL = re.compile(
    r"[-+.\d]*|gi|ref|gb|emb|dbj|(chr)?([XYWZM]|MT)|(ENS|OTT)[A-Z]*[GTPE]\d{6,}[.\d]*|[NX]P_\d+[.\d]*"
    r"|protein_coding|\w*RNA|\w*pseudogene|nonsense_mediated_decay|retained_intron|TEC"
)


def take_apart(fasta: Fasta) -> tuple[Fasta, str]:
    """The same records, named by their transcripts, with genes and symbols; and the pattern of the
    headers, "" where they have none that is known and all of them have.

    The names are those of the transcripts only where these tell the records apart as the first
    words do.
    """
    for parts in (_of_ncbi, _of_ucsc, _of_pipes, _of_ensembl):
        found = parts(fasta) if len(fasta) else None
        if found:
            names, genes, symbols, pattern = found
            names = names or fasta.first_words
            if len(set(names)) < len(set(fasta.first_words)):
                names = fasta.first_words
            return replace(fasta, names=names, genes=genes, symbols=symbols), pattern
    return fasta, ""


def without_versions(fasta: Fasta) -> Fasta:
    """The same records, names and genes without versions.

    Raises InputError where records differ in their versions only.
    """
    first: dict[str, str] = {}
    for name in fasta.names:
        other = first.setdefault(_bare(name), name)
        if other != name:
            raise InputError.at(
                fasta.path,
                "",
                f"{other} and {name}, which differ in the version only",
                "one of them, or ignore_versions: false",
            )
    names, genes = ([_bare(name) for name in part] for part in (fasta.names, fasta.genes))
    return replace(fasta, names=names, genes=genes, ignore_versions=True)


def _bare(name: str) -> str:
    return ";".join(map(without_version, name.split(";")))


_Parts = tuple[list[str], list[str], list[str], str] | None
"""Transcripts (none: the first words stay), genes, symbols, pattern."""


def _of_ncbi(fasta: Fasta) -> _Parts:
    """``gi|34147578|ref|NM_014338.3| Homo sapiens ... (PISD), mRNA``"""
    form = rf"(?:gi\|\d+\|)?(?:(?:ref|gb|emb|dbj)\|)?({_TRANSCRIPT})\|?"
    names = [re.fullmatch(form, word) for word in fasta.first_words]
    symbols = [re.match(r".*\(([^()\s]+)\),", header) for header in fasta.headers]
    if not all(names) or not any(symbols):
        return None
    return _first_groups(names), [], _first_groups(symbols), "transcript description (symbol), ..."


def _of_ucsc(fasta: Fasta) -> _Parts:
    """``hg38_knownGene_ENST00000456328.2 range=chr1:...``"""
    form = rf"[A-Za-z]+\d*_[A-Za-z]\w*?_({_TRANSCRIPT})"
    names = [re.fullmatch(form, word) for word in fasta.first_words]
    return (_first_groups(names), [], [], "assembly_track_transcript") if all(names) else None


def _of_ensembl(fasta: Fasta) -> _Parts:
    """``ENST00000415118.1 cdna chromosome:... gene:ENSG00000223997.1 gene_symbol:TRDD1``"""
    genes = [re.search(r"\bgene[:=](\S+)", header) for header in fasta.headers]
    if not all(genes):
        return None
    form = r"\bgene_(?:symbol|name)[:=](\S+)"
    symbols = _first_groups([re.search(form, header) for header in fasta.headers])
    return [], _first_groups(genes), symbols, "transcript gene:... gene_symbol:..."


def _of_pipes(fasta: Fasta) -> _Parts:
    """Fields between ``|`` in any order, as in BioMart's and GENCODE's: which of them is the
    transcript, the gene or the symbol is what fits all records."""
    lines = zip(fasta.first_words, fasta.headers, strict=True)
    rows = [f"{word} {header}".strip().split("|") for word, header in lines]
    if min(map(len, rows)) < 2 or rows[0][0] == "gi":  # NCBI's, with something added
        return None
    columns = [list(column) for column in zip_longest(*rows, fillvalue="")]
    transcript, gene = _column_of(_TRANSCRIPTS, columns), _column_of(_GENES, columns)
    if transcript is None and gene is None:
        return None
    places = transcript, gene, _symbol_column(columns, transcript, gene)
    named = dict(zip(places, ("transcript", "gene", "symbol"), strict=True))
    names, genes, symbols = ([] if k is None else columns[k] for k in places)
    last = max(k for k in places if k is not None)
    pattern = "|".join(named.get(k, "...") for k in range(last + 1))
    return names, genes, symbols, pattern


def _column_of(pattern: re.Pattern[str], columns: Sequence[list[str]]) -> int | None:
    return next((k for k, c in enumerate(columns) if all(map(pattern.fullmatch, c))), None)


def _symbol_column(
    columns: Sequence[list[str]], transcript: int | None, gene: int | None
) -> int | None:
    """In GENCODE's the sixth, before the length; else the first with words that are about as many
    as genes."""
    gencode = (transcript, gene) == (0, 1) and len(columns) > 6
    if gencode and all(map(re.compile("(OTT.*|-|)").fullmatch, columns[2])):
        return 5 if all(length.isdigit() for length in columns[6]) else None
    n_genes = len(set(columns[0 if gene is None else gene]))
    others = _NO_SYMBOL.fullmatch, _TRANSCRIPTS.fullmatch, _GENES.fullmatch
    for k, column in enumerate(columns):
        words = {w for w in set(column) if " " not in w and not any(of(w) for of in others)}
        if words and 2 * len(words) >= n_genes:
            return k
    return None


def _first_groups(found: Sequence[re.Match[str] | None]) -> list[str]:
    return [match[1] if match else "" for match in found]
