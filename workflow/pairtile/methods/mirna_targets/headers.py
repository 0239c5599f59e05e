"""Headers that name transcript, gene and symbol, as databases write them, taken apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from pairtile.errors import InputError
from pairtile.io.names import without_version
from pairtile.methods.mirna_targets.fasta import Fasta

# Ensembl and GENCODE, RefSeq, FlyBase, TAIR. BioMart joins several with the same sequence by ";".
_TRANSCRIPT = r"(?:ENS[A-Z]*T\d{6,}|[NX][MR]_\d+|FBtr\d+|AT[1-5CM]G\d{5}\.\d+)(?:\.\d+)?(?:_PAR_Y)?"
_GENE = r"(?:ENS[A-Z]*G\d{6,}|FBgn\d+|AT[1-5CM]G\d{5})(?:\.\d+)?(?:_PAR_Y)?"
_TRANSCRIPTS = re.compile(f"{_TRANSCRIPT}(?:;{_TRANSCRIPT})*")
_GENES = re.compile(f"{_GENE}(?:;{_GENE})*")
_NO_SYMBOL = re.compile(
    r"[-+.\d]*|gi|ref|gb|emb|dbj|(chr)?([XYWZM]|MT)|(ENS|OTT)[A-Z]*[GTPE]\d{6,}[.\d]*|[NX]P_\d+[.\d]*"
    r"|protein_coding|\w*RNA|\w*pseudogene|nonsense_mediated_decay|retained_intron|TEC"
)
_NCBI = re.compile(rf"(?:gi\|\d+\|)?(?:(?:ref|gb|emb|dbj)\|)?({_TRANSCRIPT})\|?")
_NCBI_SYMBOL = re.compile(r".*\(([^()\s]+)\),")
_UCSC = re.compile(rf"[A-Za-z]+\d*_[A-Za-z]\w*?_({_TRANSCRIPT})")
_HEADER_GENE = re.compile(r"\bgene[:=](\S+)")
_HEADER_SYMBOL = re.compile(r"\bgene_(?:symbol|name)[:=](\S+)")


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
            found = f"{other} and {name}, which differ in the version only"
            raise InputError.at(fasta.path, "", found, "one of them, or ignore_versions: false")
    names, genes = ([_bare(name) for name in part] for part in (fasta.names, fasta.genes))
    return replace(fasta, names=names, genes=genes, ignore_versions=True)


def _bare(name: str) -> str:
    return ";".join(map(without_version, name.split(";")))


_Parts = tuple[list[str], list[str], list[str], str] | None
"""Transcripts (none: the first words stay), genes, symbols, pattern."""


def _of_ncbi(fasta: Fasta) -> _Parts:
    """``gi|34147578|ref|NM_014338.3| Homo sapiens ... (PISD), mRNA``"""
    names = [_NCBI.fullmatch(word) for word in fasta.first_words]
    symbols = [_NCBI_SYMBOL.match(header) for header in fasta.headers]
    if not all(names) or not any(symbols):
        return None
    return _first_groups(names), [], _first_groups(symbols), "transcript description (symbol), ..."


def _of_ucsc(fasta: Fasta) -> _Parts:
    """``hg38_knownGene_ENST00000456328.2 range=chr1:...``"""
    names = [_UCSC.fullmatch(word) for word in fasta.first_words]
    return (_first_groups(names), [], [], "assembly_track_transcript") if all(names) else None


def _of_ensembl(fasta: Fasta) -> _Parts:
    """``ENST00000415118.1 cdna chromosome:... gene:ENSG00000223997.1 gene_symbol:TRDD1``"""
    genes = [_HEADER_GENE.search(header) for header in fasta.headers]
    if not all(genes):
        return None
    symbols = _first_groups([_HEADER_SYMBOL.search(header) for header in fasta.headers])
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
    fits = (k for k, column in enumerate(columns) if all(map(pattern.fullmatch, column)))
    return next(fits, None)


def _symbol_column(
    columns: Sequence[list[str]], transcript: int | None, gene: int | None
) -> int | None:
    """In GENCODE's the sixth, before the length; else the first with words that are about as many
    as genes."""
    gencode = (transcript, gene) == (0, 1) and len(columns) > 6
    if gencode and all(map(re.compile("(OTT.*|-|)").fullmatch, columns[2])):
        return 5 if all(length.isdigit() for length in columns[6]) else None
    n_genes = len(set(columns[0 if gene is None else gene]))
    for k, column in enumerate(columns):
        words = {word for word in column if not _NO_SYMBOL.fullmatch(word)}
        ids = _TRANSCRIPTS.fullmatch, _GENES.fullmatch
        words = {word for word in words if " " not in word and not any(of(word) for of in ids)}
        if words and 2 * len(words) >= n_genes:
            return k
    return None


def _first_groups(found: Sequence[re.Match[str] | None]) -> list[str]:
    return [match[1] if match else "" for match in found]
