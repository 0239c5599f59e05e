"""Orthologs from a multiple alignment (MAF), as the FASTA file that would say the same.

A small reader of our own: Biopython's would be a dependency for this one file, and names no line of
a damaged one. Format: https://genome.ucsc.edu/FAQ/FAQformat.html#format5.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import NamedTuple

from pairtile.errors import InputError
from pairtile.io.in_memory import unless_in_memory
from pairtile.methods.mirna_targets.fasta import LETTERS, Fasta, fasta_of, file_content

_LETTERS = LETTERS.encode() + LETTERS.lower().encode()
_EXPECTED = "s SOURCE START SIZE STRAND SOURCE_SIZE LETTERS"


@unless_in_memory
def read_orthologs(path: str | PathLike[str], key: str, reference: str | None) -> Fasta:
    """Read orthologs, a FASTA file or a multiple alignment (MAF), plain or gzip.

    A file that begins with ``##maf`` is an alignment. A block is of the transcript that the row of
    the reference names, ``reference.TRANSCRIPT``, on strand ``+``. What precedes the first ``.`` of
    another row's name is its species, whatever follows. The letters of a source (and strand) are
    joined, block after block, to a record ``TRANSCRIPT|species``; where its row does not go on
    where that of its last block ended, an N stands between, so that no word spans the gap. Letters
    of strand ``-`` are written along the reference, and taken as they are.

    reference : species of the transcripts. Its own rows are no orthologs.

    Raises InputError: file missing or damaged; an alignment without ``reference``; a line that is
    no row; a block without one row of the reference, on strand ``+`` and behind its last block.
    """
    content = file_content(path)
    if not content.startswith(b"##maf"):
        return fasta_of(str(path), key, content)
    if reference is None:
        raise InputError.at(
            path,
            "",
            "a multiple alignment (MAF), and no reference_species",
            "the species of the transcripts, as its rows name it",
        )
    parts: dict[tuple[str, str, str], list[bytes]] = {}
    ends: dict[tuple[str, str, str], int] = {}
    for line, rows in _blocks(path, content):
        transcript = _transcript(path, line, rows, reference, ends)
        for row in rows:
            if not row.letters or row.source.startswith(f"{reference}."):
                continue
            of = (transcript, row.source, row.strand)
            joint = [b"N"] if ends.get(of, row.begin) != row.begin else []
            parts.setdefault(of, []).extend([*joint, row.letters])
            ends[of] = row.begin + len(row.letters)
    names = [f"{name}|{source.partition('.')[0]}" for name, source, _ in parts]
    return Fasta.of_records(path, key, names, [b"".join(pieces) for pieces in parts.values()])


class _Row(NamedTuple):
    line: int
    source: str
    begin: int
    strand: str
    letters: bytes  # without gaps
    width: int  # with them


def _blocks(path: str | PathLike[str], content: bytes) -> Iterator[tuple[int, list[_Row]]]:
    """Line and rows of each block; lines of other kinds (``i``, ``e``, ``q``, ``#``) are passed."""
    begun = 0
    rows: list[_Row] = []
    for number, line in enumerate(content.splitlines(), start=1):
        fields = line.split()
        if fields[:1] == [b"a"]:
            if begun:
                yield begun, rows
            begun, rows = number, []
        elif fields[:1] == [b"s"]:
            if not begun:
                raise InputError.at(path, f"line {number}", "a row before any block", "'a' first")
            rows.append(_row(path, number, fields))
            if rows[-1].width != rows[0].width:
                raise InputError.at(
                    path,
                    f"line {number}",
                    f"a row of {rows[-1].width} columns in a block of {rows[0].width}",
                    "rows of equal width",
                )
    if begun:
        yield begun, rows


def _row(path: str | PathLike[str], number: int, fields: list[bytes]) -> _Row:
    place = f"line {number}"
    if len(fields) != len(_EXPECTED.split()):
        raise InputError.at(path, place, f"{len(fields)} fields", f"7: {_EXPECTED}")
    source, begin, size, strand = (text.decode("utf-8", "surrogateescape") for text in fields[1:5])
    for name, number_of in (("START", begin), ("SIZE", size)):
        if not (number_of.isascii() and number_of.isdigit()):
            raise InputError.at(path, place, f"the {name} {number_of!r}", "a whole number from 0")
    if strand not in ("+", "-"):
        raise InputError.at(path, place, f"the STRAND {strand!r}", "+ or -")
    if source.startswith("."):
        raise InputError.at(path, place, f"the SOURCE {source!r}", "SPECIES.NAME")
    letters = fields[6].replace(b"-", b"")
    strange = letters.translate(None, _LETTERS)
    if strange:
        raise InputError.at(
            path,
            place,
            f"illegal character {chr(strange[0])!r}",
            f"letters of {' '.join(LETTERS)}, and -",
        )
    if len(letters) != int(size):
        raise InputError.at(
            path, place, f"{len(letters)} letters and the SIZE {size}", "as many letters"
        )
    return _Row(number, source, int(begin), strand, letters, len(fields[6]))


def _transcript(
    path: str | PathLike[str],
    line: int,
    rows: list[_Row],
    reference: str,
    ends: dict[tuple[str, str, str], int],
) -> str:
    """The transcript of a block; ``ends`` then has where its row of the reference ends."""
    own = [row for row in rows if row.source.startswith(f"{reference}.")]
    if len(own) != 1:
        raise InputError.at(
            path,
            f"line {line}",
            f"a block with {len(own)} rows {reference}.TRANSCRIPT",
            "one in each block, of the species that reference_species names",
        )
    row = own[0]
    if row.strand == "-":
        raise InputError.at(
            path,
            f"line {row.line}",
            f"{row.source} on strand -",
            "strand + (transcripts are read 5' to 3')",
        )
    of = ("", row.source, row.strand)
    if row.begin < ends.get(of, 0):
        raise InputError.at(
            path,
            f"line {row.line}",
            f"{row.source} from {row.begin} on, after a block that ends at {ends[of]}",
            "blocks of a transcript in order, none over another",
        )
    ends[of] = row.begin + len(row.letters)
    return row.source[len(reference) + 1 :]
