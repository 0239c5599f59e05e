"""Open text files as people have them: plain or gzip, with BOM, with any line ends.

Compressed input is read up to a limit: a small file must not fill the memory or never end. DEFLATE
packs at most 1,032 to 1. Tables of counts with one entry in a thousand above zero reach about 400
to 1; what goes beyond the limits here was made to do harm, or is damaged. So are lines without an
end, and lines that are the same a million times.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path

from pairtile.config.addresses import no_file
from pairtile.errors import InputError

FREE_BYTES = 1 << 27
"""What a file may unpack to however small it is: 128 MiB."""

MAX_RATIO = 500
"""How many times its size a file may unpack to beyond that."""

MAX_BYTES = 1 << 40
"""What a file may unpack to at all: 1 TiB."""

MAX_LINE = 1 << 27
"""Characters of a line: a table of a million columns has lines of some ten million."""

MAX_EQUAL_LINES = 1_000_000
"""Lines in a row that may be the same, blank ones above all."""

_NO_VALUE = "NA na N/A n/a #N/A NaN nan NAN -nan -NaN null NULL Null None none"
MISSING = frozenset(["", *_NO_VALUE.split()])
"""Spellings of a missing value."""

EMPTY = MISSING - {"None", "none"}
"""Spellings of an empty cell. "none" is a label here: a treatment is often called so."""

ABOVE = ("#", "sep=", "!", "^")
"""What lines above a header begin with; the last two in files of GEO."""

_BLOCK = 1 << 20
_QUOTED = re.compile(r"^([\"'])(.*)\1$")


def open_unpacked(path: str | PathLike[str]) -> io.BufferedReader:
    """Open a gzip file to read what it holds.

    Reading raises InputError where it unpacks beyond the limits, and what ``gzip`` raises where it
    is damaged.
    """
    return io.BufferedReader(_Unpacked(path), _BLOCK)


def check_unpacked_size(path: str | PathLike[str], n_bytes: int) -> None:
    """Refuse a file whose content takes ``n_bytes``, as it says itself, when that is beyond the
    limits."""
    packed = os.path.getsize(path)
    if n_bytes > MAX_BYTES or n_bytes > max(FREE_BYTES, MAX_RATIO * packed):
        raise InputError.at(
            path,
            "",
            f"{packed:,} bytes that unpack to more than {min(n_bytes, MAX_BYTES):,}",
            f"at most {MAX_RATIO} times its size beyond {FREE_BYTES:,} bytes, and at most "
            f"{MAX_BYTES:,} (a sound file of such content can be given unpacked)",
        )


class _Unpacked(io.RawIOBase):
    """Counts what comes out."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self._packed = gzip.open(path, "rb")  # noqa: SIM115 (closed in close)
        self._limit = min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * os.path.getsize(path)))
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        n = self._packed.readinto(buffer)
        self._count += n
        if self._count > self._limit:
            check_unpacked_size(self._path, self._count)
        return n

    def close(self) -> None:
        self._packed.close()
        super().close()


_OTHERS = {b"PK\3\4": "zip, as .xlsx is", b"BZh9": "bzip2", b"\xfd7zX": "xz"}
Row = tuple[int, list[str]]


def check_file(path: str | PathLike[str], expected: str = "a table") -> None:
    """Refuse what is not there, is no file (a folder, a pipe, a device), or holds no byte."""
    file = Path(path)
    if not file.exists():
        raise InputError.at(path, "", "no such file", "an existing file")
    if found := no_file(path):
        raise InputError.at(path, "", found, "a file")
    try:
        with file.open("rb") as handle:
            first = handle.read(1)
    except OSError as error:
        raise InputError.at(path, "", str(error), "a readable file") from error
    if not first:
        raise InputError.at(path, "", "an empty file", expected)


def is_gzip(path: str | PathLike[str]) -> bool:
    """Whether the content is gzip; a name that ends in .gz over other content is refused."""
    with Path(path).open("rb") as handle:
        begin = handle.read(4)
    if begin in _OTHERS:
        raise InputError.at(path, "", f"a file packed by {_OTHERS[begin]}", "text, plain or gzip")
    compressed = begin[:2] == b"\x1f\x8b"
    if not compressed and Path(path).suffix.lower() == ".gz":
        raise InputError.at(path, "", "a file that is not gzip", "gzip, as the name ends in .gz")
    return compressed


@contextmanager
def open_rows(path: str | PathLike[str], delimiter: str) -> Iterator[Iterator[Row]]:
    """Iterate over (line number, fields) of a delimited file, blank lines left out.

    Between tabs a quote is a letter, unless two enclose the whole field: a row is a line. Between
    commas or semicolons quoted fields may hold them, and ends of lines; a row then has the number
    of its first line. Lines are numbered from 1. Raises InputError as ``open_lines``, and for a
    quote in a file of commas or semicolons that is never closed.
    """
    with open_lines(path) as lines:
        yield _rows_of_tabs(lines) if delimiter == "\t" else _rows(path, lines, delimiter)


def read_list(
    path: str | PathLike[str], delimiter: str, blanks: str = r'"\d+" '
) -> list[tuple[int, list[str]]]:
    """The rows of a list, read whole: (line number, fields without what does not show), those that
    are empty or begin with ``#`` left out, and so are numbers of rows before the fields, as R and
    pandas write them.

    Fields stand between blanks where no line of the first two has a delimiter and the second begins
    with what ``blanks`` says (of R's write.table, a number in quotes).
    """
    with open_lines(path) as lines:
        texts = (line for _, line in lines if line.strip() and not line.startswith("#"))
        first = [line.strip() for line in islice(texts, 2)]
    if not any(delimiter in line for line in first) and re.match(
        blanks, first[-1] if first else ""
    ):
        delimiter = " "
    with open_rows(path, delimiter) as rows:
        found = [(line, [plain_name(text) for text in fields]) for line, fields in rows]
    if delimiter == " ":
        found = [(line, [text for text in fields if text]) for line, fields in found]
    found = [row for row in found if any(row[1]) and not row[1][0].startswith("#")]
    numbers = [fields[0] for _, fields in found[1:]]
    header = found[0][1] if found else []
    unnamed = header[:1] == [""] or any(len(fields) > len(header) for _, fields in found)
    counted = [*map(str, range(len(numbers)))], [*map(str, range(1, 1 + len(numbers)))]
    if not unnamed or not numbers or numbers not in counted:
        return found
    return [(found[0][0], header[header[0] == "" :])] + [(n, fields[1:]) for n, fields in found[1:]]


def plain_name(name: str) -> str:
    """A name without quotes around it, blanks at its ends, and letters that do not show (zero-width
    spaces, marks of byte order)."""
    if not name.isascii():
        name = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return _QUOTED.sub(r"\2", name.strip()).strip()


@contextmanager
def open_lines(path: str | PathLike[str]) -> Iterator[Iterator[tuple[int, str]]]:
    """Iterate over (line number, line without its end), UTF-8, or UTF-16 where the file begins with
    its mark.

    Raises InputError for what ``check_file`` refuses, gzip that is damaged or cut short, other
    encodings, a line beyond ``MAX_LINE``, and more than ``MAX_EQUAL_LINES`` that are the same.
    """
    check_file(path)
    # Surrogates stand for bytes that are not UTF-8, so that the line that holds them can be named.
    try:
        with open_binary(path) as binary:
            utf16 = binary.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            encoding, errors = ("utf-16", "strict") if utf16 else ("utf-8-sig", "surrogateescape")
            with io.TextIOWrapper(binary, encoding, errors=errors, newline="") as handle:
                yield _lines(path, handle)
    except UnicodeDecodeError as error:
        raise InputError.at(path, "", f"damaged UTF-16 ({error})", "text saved as UTF-8") from error


@contextmanager
def open_binary(path: str | PathLike[str]) -> Iterator[io.BufferedReader]:
    """Open a file, plain or gzip, to read what it holds. Raises InputError, also while it is read,
    for gzip that is damaged or cut short."""
    try:
        with open_unpacked(path) if is_gzip(path) else Path(path).open("rb") as binary:
            yield binary
    except EOFError as error:
        raise InputError.at(
            path, "", "a gzip file that is cut short", "a whole file (copy it again)"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError.at(path, "", f"damaged gzip ({error})", "a sound gzip file") from error


def _lines(path: str | PathLike[str], handle: io.TextIOWrapper) -> Iterator[tuple[int, str]]:
    number, before, equal = 0, "", 0
    while line := handle.readline(MAX_LINE):
        number += 1
        line = line.rstrip("\r\n")
        equal = equal + 1 if line == before else 0
        if len(line) >= MAX_LINE - 2 or equal >= MAX_EQUAL_LINES:
            long = equal < MAX_EQUAL_LINES
            found = f"{MAX_LINE:,} characters" if long else f"the same line {equal + 1:,} times"
            raise InputError.at(path, f"line {number}", found, "lines of text, as in a table")
        _check_encoding(path, number, line)
        before = line
        yield number, line


def _rows_of_tabs(lines: Iterator[tuple[int, str]]) -> Iterator[Row]:
    for number, line in lines:
        if '"' in line:
            yield number, [unquoted(field) for field in line.split("\t")]
        elif line:
            yield number, line.split("\t")


def unquoted(field: str) -> str:
    """A field without the quotes around it, doubled ones within it single."""
    quoted = len(field) > 1 and field[0] == field[-1] == '"'
    return field[1:-1].replace('""', '"') if quoted else field


def _rows(
    path: str | PathLike[str], lines: Iterator[tuple[int, str]], delimiter: str
) -> Iterator[Row]:
    reader = csv.reader((text + "\n" for _, text in lines), delimiter=delimiter, strict=True)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError.at(
            path, f"line {line}", f"text that cannot be split ({error})", "closed quotes"
        ) from error


def _check_encoding(path: str | PathLike[str], line: int, text: str) -> None:
    if "\0" in text:
        found = f"the character {chr(0)!r}, which no text holds"
        raise InputError.at(path, f"line {line}", found, "text saved as UTF-8")
    if text.isascii():
        return
    stray = next((ord(c) - 0xDC00 for c in text if 0xDC80 <= ord(c) <= 0xDCFF), None)
    if stray is not None:
        latin = bytes([stray]).decode("latin-1")
        found = f"bytes that are not UTF-8 (0x{stray:02X}"
        found += f", in Latin-1 {latin!r})" if latin.isprintable() else ")"
        cure = f"text saved as UTF-8 (iconv -f LATIN1 -t UTF-8 {path} makes it so of Latin-1)"
        raise InputError.at(path, f"line {line}", found, cure)


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def find_delimiter(path: str | PathLike[str]) -> str:
    """Tab of ``.tsv`` and ``.tab``, comma or semicolon of ``.csv``, any of these of others: the one
    that the first line that is no comment holds most of."""
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in (".tsv", ".tab"):
        check_file(path)
        return "\t"
    with open_lines(path) as lines:
        some = (line for _, line in lines if line)
        first = next(some, "")
        if first.startswith(ABOVE):
            first = next((line for line in some if not line.startswith(ABOVE)), first)
    return max(",;" if suffix == ".csv" else "\t,;", key=first.count)
