"""Every fault of a text table is refused with one message that names file, place and text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pairtile.errors import ConfigError, InputError
from pairtile.io.expression import read_expression

HEADER = "gene\ts1\ts2\ts3\n"
ROWS = "".join(f"g{k}\t1\t2\t3\n" for k in range(200))

BAD_TABLES: dict[str, tuple[str | bytes, str]] = {
    "no_text": ("\n\n", "no line of text"),
    "no_byte": ("", "an empty file"),
    "header_only": (HEADER, "a header only"),
    "row_too_short": (HEADER + "a\t1\t2\t3\nb\t1\t2\n", "line 3: found 3 fields; expected 4"),
    "row_too_long": (HEADER + "a\t1\t2\t3\nb\t1\t2\t3\t4\n", "line 3: found 5 fields; expected 4"),
    "first_row_too_short": (HEADER + "a\t1\t2\n", "line 2: found 3 fields; expected 4"),
    "delimiters_end_rows": (HEADER + "a\t1\t2\t3\t\n" * 3, "found 5 fields, of which the last is"),
    "last_row_cut": (HEADER + ROWS + "h\t1\t2", "line 202: found 3 fields; expected 4"),
    "blank_line_before_fault": (HEADER + "\n" + ROWS + "h\t1\n", "line 203: found 2 fields"),
    "word": (
        HEADER + "a\t1\t2\t3\nb\t1\tlow\t3\n",
        "line 3 (gene 'b'), field 3 (sample 's2'): found 'low'; expected a finite number",
    ),
    "word_without_field": (
        HEADER[5:] + "a\t1\tlow\t3\n",
        "line 2 (gene 'a'), field 3 (sample 's2'): found 'low'",
    ),
    "text_among_numbers": (
        "gene\ts1\tgroup\ts2\ts3\na\t1\tlow\t2\t3\n",
        "line 2 (gene 'a'), field 3 (sample 'group'): found 'low'",
    ),
    "underscore": (HEADER + "a\t1\t1_000\t3\n", "found '1_000'"),
    "thai_digits": (HEADER + "a\t1\t๓\t3\n", "found '๓'"),
    "decimal_comma_and_point": (
        HEADER + "a\t1.5\t2,5\t3\n",
        "found '2,5' (a decimal comma or a mark between thousands: write plain numbers)",
    ),
    "infinite": (
        HEADER + "a\t1\t2\t3\nb\t1\t2\t-inf\n",
        "line 3 (gene 'b'), field 4 (sample 's3'): found the infinite value '-inf'",
    ),
    "too_large": (HEADER + "a\t1\t2\t1e999\n", "found the infinite value '1e999'"),
    "duplicate_genes": (
        HEADER + "a\t1\t2\t3\nb\t1\t2\t3\na\t1\t2\t3\n",
        "found 1 duplicate gene name: 'a' 2 times (lines 2 and 4); expected each gene once",
    ),
    "duplicate_by_spaces": (HEADER + "a\t1\t2\t3\na \t1\t2\t3\n", "'a' 2 times (lines 2 and 3)"),
    "many_duplicates": (HEADER + ROWS + ROWS, "found 200 duplicate gene names: 'g0' 2 times"),
    "duplicate_samples": (
        "gene\ts1\ts2\ts1\na\t1\t2\t3\n",
        "found 1 duplicate sample name: 's1' 2 times (line 1, fields 2 and 4)",
    ),
    "two_samples": ("gene\ts1\ts2\na\t1\t2\n", "found 2 samples; expected at least 3"),
    "one_sample": ("gene\ts1\na\t1\n", "found 1 sample; expected at least 3"),
    "empty_gene": (HEADER + "a\t1\t2\t3\n \t1\t2\t3\n", "line 3: found 1 gene without a name"),
    "empty_sample": (HEADER.replace("s2", "") + "a\t1\t2\t3\n", "line 1, field 3: found 1 sample"),
    "commas_in_tsv": ((HEADER + ROWS).replace("\t", ","), "line 1: found no tab (it holds commas"),
    "spaces_in_tsv": ((HEADER + ROWS).replace("\t", " "), "line 1: found no tab (it holds blanks"),
    "no_header": ("0.5\t1\t2\t3\n1.5\t1\t2\t3\n", "line 1: found numbers only"),
    "no_header_but_names": ("a\t0.511\t-1.2\t3\nb\t1\t2\t3\n", "line 1: found numbers only"),
    "no_names": (HEADER + "0.5\t1\t2\t3\n0.7\t1\t2\t3\n", "first column: found numbers only"),
    "latin1": (HEADER.encode() + b"a\t1\t2\t3\ncaf\xe9\t1\t2\t3\n", "line 3: found bytes that"),
    "latin1_header": (b"g\ts1\ts\xe9\ts3\na\t1\t2\t3\n", "are not UTF-8 (0xE9, in Latin-1 'é')"),
    "latin1_cell": (HEADER.encode() + b"a\t1\t\xb5\t3\n", "line 2: found bytes that are not UTF-8"),
    "utf16_cut": ((HEADER + ROWS).encode("utf-16")[:-1], "found damaged UTF-16"),
    "nul": (HEADER + "a\t1\t\0\t3\n", "line 2: found the character '\\x00', which no text holds"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz"])
def test_bad_tables_are_refused_with_place_and_text(tmp_path: Path, case: str, suffix: str) -> None:
    text, message = BAD_TABLES[case]
    raw = text.encode() if isinstance(text, str) else text
    if suffix.endswith(".gz"):
        raw = gzip.compress(raw)
        message = message.replace("an empty file", "no line of text")
    path = tmp_path / f"{case}{suffix}"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        read_expression(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("names", ["0.125 0.25 1e2", "1.1 2.1 1.2", "3 1 2"])
def test_samples_may_be_called_by_numbers(tmp_path: Path, names: str) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("\t".join(["gene", *names.split()]) + "\na\t1\t2\t3\nb\t3\t1\t2\n")
    assert read_expression(path).samples == names.split()


def test_duplicates_of_samples_in_rows_are_called_samples(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("s,g1,g1\na,1,2\nb,1,2\nc,1,2\n")
    with pytest.raises(InputError, match="duplicate gene name: 'g1' 2 times"):
        read_expression(path, orientation="samples_in_rows")
    path.write_text("s,g1,g2\na,1,2\na,1,2\nc,1,2\n")
    with pytest.raises(InputError, match="duplicate sample name: 'a' 2 times"):
        read_expression(path, orientation="samples_in_rows")


@pytest.mark.parametrize("packed", [bz2.compress, lzma.compress])
def test_files_packed_in_other_ways_are_named(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "table.tsv"
    path.write_bytes(packed(HEADER.encode() + ROWS.encode()))
    with pytest.raises(InputError, match=r"found a file packed by (bzip2|xz); expected text"):
        read_expression(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.tsv: found no such file"):
        read_expression(tmp_path / "nowhere.tsv")


WHOLE = gzip.compress((HEADER + ROWS).encode())


@pytest.mark.parametrize(
    ("content", "message"),
    [(WHOLE[: int(len(WHOLE) * keep)], "cut short") for keep in (0.3, 0.9, 0.999)]
    + [
        (WHOLE[:-6] + bytes([WHOLE[-6] ^ 0xFF]) + WHOLE[-5:], "damaged gzip"),  # its checksum
        ((HEADER + ROWS).encode(), "a file that is not gzip"),
    ],
    ids=["cut", "cut late", "cut at the end", "flipped", "text"],
)
def test_damaged_gzip_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.tsv.gz").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_expression(tmp_path / "t.tsv.gz")


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.gz", "t.parquet.gz", "matrix.mtx"])
def test_an_unknown_suffix_is_refused_with_those_known(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"x"))
    with pytest.raises(InputError, match=r"found the suffix .*expected \.tsv") as error:
        read_expression(path)
    assert ("folder of the matrix" in str(error.value)) == (name == "matrix.mtx")


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("t.xlsx", "save the sheet"),
        ("t.RDS", r"in R, write\.table"),
        ("t.mtx.gz", "give the folder"),
    ],
)
def test_what_makes_a_table_of_another_file_is_named(tmp_path: Path, name: str, cure: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"x"))
    with pytest.raises(InputError, match=f"found the suffix .*10x mtx folder; {cure}"):
        read_expression(tmp_path / name)


def test_an_unknown_orientation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(HEADER + ROWS)
    with pytest.raises(ConfigError, match="orientation: found 'sideways'; expected genes_in_rows"):
        read_expression(path, orientation="sideways")
