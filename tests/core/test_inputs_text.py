"""TSV and CSV tables: what is read, and that the fast and the careful way agree."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.errors import InputError
from pairtile.io import text_table
from pairtile.io.expression import read_expression
from pairtile.io.table import Kinds
from pairtile.io.text_table import MISSING, find_layout, read_careful, read_fast

TABLE = "gene\ts1\ts2\ts3\na\t1\t2.5\t-3\nb\t4e2\tNA\t6\n"
VALUES = np.array([[1, 2.5, -3], [400, np.nan, 6]])


def write(path: Path, text: str | bytes) -> Path:
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", TABLE),
        ("t.tsv.gz", TABLE),
        ("t.TSV", TABLE),
        ("t.csv", TABLE.replace("\t", ",")),
        ("t.csv.gz", TABLE.replace("\t", ",")),
        ("t.txt", TABLE),
        ("comma.txt", TABLE.replace("\t", ",")),
        ("t.txt.gz", TABLE),
        ("header_without_field.tsv", TABLE.replace("gene\t", "")),
        ("header_with_empty_field.tsv", TABLE.replace("gene\t", "\t")),
        ("crlf.tsv", TABLE.replace("\n", "\r\n")),
        ("cr.tsv", TABLE.replace("\n", "\r")),
        ("bom.tsv", b"\xef\xbb\xbf" + TABLE.encode()),
        ("bom_without_field.tsv", b"\xef\xbb\xbf" + TABLE.replace("gene\t", "").encode()),
        ("no_end_of_line.tsv", TABLE.rstrip("\n")),
        ("blank_lines.tsv", "\n" + TABLE.replace("\nb", "\n\nb") + "\n\n"),
        ("quoted.csv", '"gene","s1","s2","s3"\n"a","1","2.5","-3"\n"b",4e2,NA,6\n'),
        ("spaces.csv", "gene, s1, s2 ,s3\n a ,1 , 2.5,-3\nb,4e2, NA ,6\n"),
        ("plus.tsv", TABLE.replace("2.5", "+2.5")),
        ("gzip_without_suffix.tsv", gzip.compress(TABLE.encode(), mtime=0)),
        ("two_gzip_members.tsv.gz", TABLE),
    ],
)
def test_one_table_reads_the_same_however_it_is_written(
    tmp_path: Path, name: str, text: str | bytes
) -> None:
    path = write(tmp_path / name, text)
    if name.startswith("two"):
        path.write_bytes(
            gzip.compress(TABLE[:20].encode(), mtime=0) + gzip.compress(TABLE[20:].encode())
        )
    expression = read_expression(path)
    np.testing.assert_array_equal(expression.values, VALUES)
    assert expression.values.dtype == np.float64
    assert expression.values.flags.c_contiguous
    assert (expression.genes, expression.samples) == (["a", "b"], ["s1", "s2", "s3"])
    assert expression.source == str(path)
    assert "1 of 6 cells were read as missing." in expression.notes


def test_samples_in_rows_are_turned_over(tmp_path: Path) -> None:
    text = "sample\ta\tb\ns1\t1\t400\ns2\t2.5\t\ns3\t-3\t6\n"
    expression = read_expression(write(tmp_path / "t.tsv", text), orientation="samples_in_rows")
    np.testing.assert_array_equal(expression.values, VALUES)
    assert expression.values.flags.c_contiguous
    assert (expression.genes, expression.samples) == (["a", "b"], ["s1", "s2", "s3"])


@pytest.mark.parametrize("spelling", sorted(MISSING))
def test_spellings_of_missing_are_read_as_missing_on_either_way(
    tmp_path: Path, spelling: str
) -> None:
    path = write(tmp_path / "t.tsv", f"g\ts1\ts2\ts3\na\t1\t{spelling}\t3\n")
    layout = find_layout(path, Kinds("gene", "sample"))
    fast, careful = read_fast(path, layout), read_careful(path, layout)
    assert fast is not None
    for found in (fast, careful):
        np.testing.assert_array_equal(found.values, [[1, np.nan, 3]])


@pytest.mark.parametrize("word", ["<LOD", "< LOQ", "n.d.", "ND", "<0.05", "BLQ", "not detected"])
def test_words_for_what_was_not_detected_are_missing_and_counted(tmp_path: Path, word: str) -> None:
    units = "unit\tuM\tuM\tuM\n"
    path = write(tmp_path / "t.tsv", f"g\ts1\ts2\ts3\n{units}a\t1\t{word}\t3\nb\t4\t5\t6\n")
    expression = read_expression(path)
    np.testing.assert_array_equal(expression.values, [[1, np.nan, 3], [4, 5, 6]])
    units_note, note = expression.notes[:2]
    assert units_note.code == "label_line"
    assert note.code == "not_detected"
    assert f"{word!r} (1)" in note


@pytest.mark.parametrize("name", ["NA", "nan", "null", "1", "5'-nucleotidase", "α-actin", "a b"])
def test_gene_names_are_taken_as_they_stand(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "t.tsv", f"g\ts1\ts2\ts3\n{name}\t1\t2\t3\nb\t1\t2\t3\n")
    assert read_expression(path).genes == [name, "b"]


CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(sorted(MISSING)),
    st.sampled_from(["x", "inf", "-Infinity", "1_0", "nAn", "nan(1)", "0x1p3", "1,5", "+1", " 2 "]),
    st.text(alphabet="0123456789eE+-. ", max_size=5),
)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_fast_way_gives_up_or_agrees_with_the_careful_way(cells: list[list[str]]) -> None:
    lines = ["g\ts1\ts2\ts3", *("\t".join([f"g{k}", *row]) for k, row in enumerate(cells))]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "t.tsv", "\n".join(lines) + "\n")
        fast = None
        try:
            layout = find_layout(path, Kinds("gene", "sample"))
            fast = read_fast(path, layout)
            careful = read_careful(path, layout)
        except InputError:
            assert fast is None
            return
        if fast is not None:
            assert fast[0] == careful[0]
            np.testing.assert_array_equal(fast[1], careful[1])


def test_plain_tables_take_the_fast_way(tmp_path: Path) -> None:
    # Also where Arrow parses many blocks: rows far larger than one megabyte in all.
    rng = np.random.default_rng(1)
    values = rng.normal(size=(400, 300)).round(9)
    rows = [f"g{k}\t" + "\t".join(map(repr, row.tolist())) for k, row in enumerate(values)]
    text = "\t".join(["g", *(f"s{k}" for k in range(300))]) + "\n" + "\n".join(rows)
    for name in ("t.tsv", "t.tsv.gz"):
        path = write(tmp_path / name, text)
        fast = read_fast(path, find_layout(path, Kinds("gene", "sample")))
        assert fast is not None
        np.testing.assert_array_equal(fast[1], values)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n\n"])
@pytest.mark.parametrize("piece", [1, 500, 1 << 26])
def test_a_table_reads_the_same_in_any_pieces(
    tmp_path: Path, end: str, last: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_table, "_PIECE", piece)
    values = np.random.default_rng(piece).normal(size=(200, 3)).round(3)
    lines = [f"g{k}\t" + "\t".join(map(str, row)) for k, row in enumerate(values)]
    path = write(tmp_path / "t.tsv.gz", end.join(["gene\ta\tb\tc", *lines]) + last)
    found = read_fast(path, find_layout(path, Kinds.of_orientation("genes_in_rows")))
    assert found is not None
    assert found.names == [f"g{k}" for k in range(200)]
    np.testing.assert_array_equal(found.values, values)


@pytest.mark.parametrize(
    "fault", ["g0\t1\t2\t3", "g\t1\t2", "g\t1\tx\t3", " ", "g\t1\tinf\t3", 'g"\t1']
)
def test_a_fault_in_a_late_piece_is_left_to_the_careful_way(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_table, "_PIECE", 100)
    rows = [f"g{k}\t1\t2\t3" for k in range(100)]
    path = write(tmp_path / "t.tsv", "\n".join(["gene\ta\tb\tc", *rows, fault]) + "\n")
    assert read_fast(path, find_layout(path, Kinds.of_orientation("genes_in_rows"))) is None
    with pytest.raises(InputError):
        read_expression(path)
