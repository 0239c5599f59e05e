"""FASTA files: miRNAs and transcripts, read by miRanda's rules, every fault found and named.

Our own reader: what counts as a record, a name or white space must be exactly what it is to
miRanda 3.3a, and a damaged file needs a message that names its record and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from pairtile.errors import InputError
from pairtile.io.in_memory import unless_in_memory
from pairtile.io.names import without_version
from pairtile.io.text_file import check_file, open_binary
from pairtile.methods.mirna_targets.scoring import SequenceBatch

LETTERS = "ACGTUNRYKMSWBDHVX"
"""Letters of a sequence, in either case: bases, and IUPAC's codes for several of them."""

EXPECTED = f"letters of {' '.join(LETTERS)}, in either case"

MAX_LENGTH = 2**31 - 1
"""Longest sequence: positions are int32."""

_SPACE = b" \t\n\v\f\r"  # what C's isspace takes for white space
_PASSED = LETTERS.encode() + LETTERS.lower().encode() + _SPACE
_NAME = re.compile(rb"[^ \t\n\v\f\r]*")
_SHOWN = 5

_PLACEHOLDER = re.compile(
    rb"[^\n]*\b(unavailable|not available|not found|annotated|no (sequence|utr))\b[^\n]*"
    rb"|n\.?/?a\.?|none|null|[-.?*\s]+",
    re.IGNORECASE,
)
"""What stands where there is no sequence: BioMart's "Sequence unavailable", and its like."""


@dataclass(frozen=True)
class BadRecord:
    """A record that cannot be used: which (counted from 1), where, and what is wrong with it.

    strange : the different characters that are no letters. placeholder : whether it says that there
    is no sequence; such a record is no fault of the file.
    """

    record: int
    line: int
    name: str
    found: str
    expected: str
    strange: str = ""
    placeholder: bool = False

    def message(self, path: str | PathLike[str]) -> str:
        """One line that names the file, the record and the line."""
        name = f" {self.name!r}" if self.name else ""
        place = f"record {self.record}{name}, line {self.line}"
        return str(InputError.at(path, place, self.found, self.expected))


@dataclass(frozen=True)
class Fasta:
    """The records of a FASTA file, in file order, without the bad ones.

    path : the file. key : what the configuration calls it ("" where it has no key).
    first_words : each header up to white space; several records may have the same. Bytes that are
    not UTF-8 are surrogates (PEP 383), so that ``encode("utf-8", "surrogateescape")`` gives them
    back. names : the same, or the part of it that names the transcript (``records``).
    headers : the header line after the first word and the one white space that ends it.
    letters : those of each record as in the file (case kept), without white space.
    records : int32 (n,), the number of each record in the file, from 1, bad ones counted.
    bad : the records left out, in file order. n_passed : records that are not asked for, or are
    there twice. genes, symbols : of each record, where headers say them; else empty lists.
    ignore_versions : whether names, here and in lists, are without the version after their last
    point.
    """

    path: str
    key: str
    names: list[str]
    first_words: list[str]
    headers: list[str]
    letters: SequenceBatch
    records: np.ndarray
    bad: list[BadRecord] = field(default_factory=list)
    n_passed: int = 0
    genes: list[str] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    ignore_versions: bool = False

    @classmethod
    def of_records(
        cls, path: str | PathLike[str], key: str, names: list[str], texts: Sequence[bytes]
    ) -> Fasta:
        """Records of names and letters, without headers."""
        return cls(
            path=str(path),
            key=key,
            names=names,
            first_words=names,
            headers=[""] * len(names),
            letters=SequenceBatch(
                np.frombuffer(b"".join(texts), dtype=np.uint8),
                np.cumsum([0, *map(len, texts)], dtype=np.int64),
            ),
            records=np.arange(1, len(names) + 1, dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _name_of_word(self) -> dict[str, str]:
        return dict(zip(self.first_words, self.names, strict=True))

    def spelled(self, name: str) -> str:
        """A name of a list as records are named: it may be the first word of a header, too."""
        name = self._name_of_word.get(name, name)
        return without_version(name) if self.ignore_versions else name

    @property
    def faults(self) -> list[BadRecord]:
        """The bad records that are faults of the file."""
        return [bad for bad in self.bad if not bad.placeholder]

    def only(self, rows: Sequence[int]) -> Fasta:
        """Some of the records (counted from 0), ascending."""
        if len(rows) == len(self):
            return self
        return replace(
            self,
            names=[self.names[k] for k in rows],
            first_words=[self.first_words[k] for k in rows],
            headers=[self.headers[k] for k in rows],
            letters=self.letters.block(np.asarray(rows, dtype=np.int64)),
            records=self.records[list(rows)],
            n_passed=self.n_passed + len(self) - len(rows),
        )


@unless_in_memory
def read_fasta(path: str | PathLike[str], key: str = "", on_bad_record: str = "error") -> Fasta:
    """Read a FASTA file, plain or gzip, as miRanda 3.3a reads it.

    A record begins with ``>``, also inside a line of letters, and not inside a header. Its name is
    what follows up to white space; the rest of the line is kept beside it. White space between
    letters is passed over (wrapped lines, CRLF, blank lines, blanks), and so are, which miRanda
    does not, lines that begin with ``;`` and a ``*`` that ends a sequence. A file without a record
    is one with no sequences. A record with words such as "Sequence unavailable" in place of letters
    is no fault, and always in ``Fasta.bad``.

    key : what the configuration calls the file, for messages. on_bad_record : ``error``: refuse a
    file with bad records; ``skip``: leave them out and list them in ``Fasta.bad``. Bad is a record
    without a name or letters, with a character that is none of ``LETTERS``, with a header that the
    file ends in, and text before the first ``>``.

    Raises InputError: file missing, damaged or FASTQ; or, with a line for each of the first, its
    bad records.
    """
    fasta = fasta_of(str(path), key, file_content(path))
    if on_bad_record == "error":
        refuse_bad_records([fasta])
    return fasta


def refuse_bad_records(files: Sequence[Fasta]) -> None:
    """Refuse files with bad records in one message: a line for each of the first of a file, how
    many there are, and what to do."""
    lines = []
    for fasta in files:
        faults = fasta.faults
        lines += [bad.message(fasta.path) for bad in faults[:_SHOWN]]
        if len(faults) > _SHOWN:
            lines.append(f"{fasta.path}: ... and {len(faults) - _SHOWN} more bad records")
    if not lines:
        return
    total = sum(len(fasta.faults) for fasta in files)
    records = "1 bad record" if total == 1 else f"{total} bad records"
    cure = "; ".join(filter(None, map(_cure, files))) or "on_bad_record: skip goes on without"
    raise InputError("\n".join([*lines, f"{records}; {cure}"]))


def _cure(fasta: Fasta) -> str:
    """What a file is whose records are mostly bad, and what to give instead; empty if unknown."""
    strange = [bad.strange for bad in fasta.faults if bad.strange]
    half = (len(fasta) + len(fasta.faults)) / 2
    if sum(bool(set(text.upper()) & set("EFILPQ")) for text in strange) > half:
        return f"{fasta.path} seems to hold proteins: give nucleotide sequences (cDNA or 3' UTRs)"
    if sum(set(text) <= set("-.~") for text in strange) > half:
        return (
            f"{fasta.path} seems to be an alignment: remove its gaps (seqkit seq -g, for instance)"
            "; on_bad_record: skip goes on without these records"
        )
    return ""


def file_content(path: str | PathLike[str]) -> bytes:
    """All bytes of the file, unpacked; none of an empty file, which is a FASTA file too."""
    file = Path(path)
    if file.is_file() and file.stat().st_size == 0:
        return b""
    check_file(path)
    try:
        with open_binary(path) as handle:
            content = bytes(handle.read())
    except OSError as error:
        raise InputError.at(path, "", str(error), "a readable file") from error
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError.at(path, "line 1", "UTF-16", "text saved as UTF-8")
    return content.removeprefix(b"\xef\xbb\xbf")


@dataclass(frozen=True)
class _Raw:
    """A record as it stands in the file; positions are those of its first byte there."""

    begin: int
    header: bytes
    body_begin: int
    body: bytes
    fault: tuple[str, str] | None = None  # found, expected: where it is no record at all


def fasta_of(path: str, key: str, data: bytes) -> Fasta:
    """The records of a file's content, bad ones in ``Fasta.bad``; see ``read_fasta``."""
    if re.match(rb"\s*@[^\n]*\n[^\n>]+\n\+", data):
        raise InputError.at(
            path, "line 1", "FASTQ", "FASTA (seqkit fq2fa converts it); transcripts, not reads"
        )
    data = re.sub(rb"(?m)^;[^\n]*", b"", data)  # comments of old files
    kept: list[tuple[int, str, str, bytes]] = []  # number, name, rest of the header, letters
    bad: list[BadRecord] = []
    positions: list[int] = []  # of their faults
    for number, raw in enumerate(_raw_records(data), start=1):
        found = _NAME.match(raw.header)
        name = _decoded(found.group() if found else b"")
        sequence = raw.body.translate(None, _SPACE)
        if sequence.translate(None, _PASSED) == b"*":
            sequence = sequence.removesuffix(b"*")
        fault = _fault(raw, name, sequence)
        if fault:
            positions.append(fault[0])
            body, (_, problem, expected) = raw.body.strip(_SPACE), fault
            placeholder = bool(name and body and _PLACEHOLDER.fullmatch(body))
            if placeholder:
                problem, expected = f"no sequence: {_start(body)!r}", "letters"
            other = set(sequence.translate(None, _PASSED).decode("ascii", "replace"))
            strange = "" if placeholder else "".join(sorted(other))
            bad.append(BadRecord(number, 0, name, problem, expected, strange, placeholder))
            continue
        header = _decoded(raw.header[found.end() + 1 :] if found else b"")
        kept.append((number, name, header, sequence))
    breaks = np.flatnonzero(np.frombuffer(data if bad else b"", np.uint8) == ord("\n"))
    lines = 1 + np.searchsorted(breaks, positions)
    return replace(
        Fasta.of_records(path, key, [name for _, name, _, _ in kept], [of[-1] for of in kept]),
        headers=[header for _, _, header, _ in kept],
        records=np.array([number for number, *_ in kept], dtype=np.int32),
        bad=[replace(one, line=line) for one, line in zip(bad, lines.tolist(), strict=True)],
    )


def _raw_records(data: bytes) -> Iterator[_Raw]:
    """Cut the file at each ``>`` that is not inside a header."""
    at = data.find(b">")
    lead = data if at < 0 else data[:at]
    if lead.strip(_SPACE):
        begin = len(lead) - len(lead.lstrip(_SPACE))
        found = f"text before the first '>': {_start(lead[begin : begin + 10])!r}"
        yield _Raw(begin, b"", begin, b"", (found, "'>' and a name first"))
    while at >= 0:
        end = data.find(b"\n", at)
        if end < 0:
            found, expected = (
                "a header in which the file ends",
                "a header line, and letters below it",
            )
            if b"\r" in data[at:].rstrip(_SPACE):  # as old Macintosh programs wrote it
                found, expected = "lines that end in CR alone", "lines that end in LF or CRLF"
            yield _Raw(at, data[at + 1 :], len(data), b"", (found, expected))
            return
        following = data.find(b">", end)
        body = data[end + 1 : following if following >= 0 else len(data)]
        yield _Raw(at, data[at + 1 : end], end + 1, body)
        at = following


def _start(text: bytes) -> str:
    return text[:40].split(b"\n")[0].decode("ascii", "backslashreplace").strip()


def _fault(raw: _Raw, name: str, sequence: bytes) -> tuple[int, str, str] | None:
    """Position, what was found and what is expected, where a record cannot be used."""
    if raw.fault:
        return raw.begin, *raw.fault
    if not name:
        return raw.begin, "no name", "a name right after '>'"
    fault = letters_fault(sequence)
    if fault is None:
        return None
    strange = sequence.translate(None, _PASSED)[:1]
    at = raw.body_begin + raw.body.index(strange) if strange else raw.begin
    return at, *fault


def letters_fault(sequence: bytes) -> tuple[str, str] | None:
    """What was found and what is expected of a sequence that has not letters alone, or too few or
    too many; else None."""
    strange = sequence.translate(None, _PASSED)
    if strange:
        byte = strange[0]
        shown = repr(chr(byte)) if 0x20 <= byte < 0x7F else f"0x{byte:02X}"
        more = f" (and {len(strange) - 1} more)" if len(strange) > 1 else ""
        return f"illegal character {shown}{more}", EXPECTED
    if not sequence:
        return "an empty sequence", "at least one letter"
    if len(sequence) > MAX_LENGTH:
        return f"a sequence of {len(sequence)} letters", f"at most {MAX_LENGTH}"
    return None


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
