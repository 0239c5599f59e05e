"""FASTA files as people have them, and every fault in them found and named."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.errors import InputError
from pairtile.methods.mirna_targets.fasta import LETTERS, Fasta, read_fasta, refuse_bad_records
from pairtile.methods.mirna_targets.prepare import match_restrict, read_restrict


def read(folder: Path, content: bytes | str, on_bad_record: str = "error") -> Fasta:
    path = folder / "x.fa"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_fasta(path, "mirnas", on_bad_record)


def sequences(fasta: Fasta) -> list[str]:
    return [fasta.letters.sequence(k) for k in range(len(fasta))]


def test_wrapped_lines_are_joined_and_case_and_u_are_kept(tmp_path: Path) -> None:
    fasta = read(tmp_path, ">a first one\nACGU\nacgt\n>b\nNRYKMSWBDHVX\nnrykmswbdhvx\n")
    assert fasta.names == ["a", "b"]
    assert fasta.headers == ["first one", ""]
    assert sequences(fasta) == ["ACGUacgt", "NRYKMSWBDHVXnrykmswbdhvx"]
    assert fasta.letters.offsets.tolist() == [0, 8, 32]
    assert fasta.letters.text.dtype == np.uint8
    assert fasta.letters.offsets.dtype == np.int64
    assert fasta.records.tolist() == [1, 2]


@pytest.mark.parametrize(
    "content",
    [
        b">a\nACGU\n>b\nGG\n",
        b">a\nACGU\n>b\nGG",
        b">a\r\nACGU\r\n>b\r\nGG\r\n",
        b"\n\r\n \t>a\nAC\n\nGU\n\n>b\nGG\n\n",
        b">a\n A C\tG\vU\f\n>b\nG G\n",
        b">a\nACGU>b\nGG\n",
        b"\xef\xbb\xbf>a\nACGU\n>b\nGG\n",
    ],
    ids=["plain", "no_newline_at_end", "crlf", "blank_lines", "blanks", "inside_a_line", "bom"],
)
def test_forms_of_the_same_file_read_the_same(tmp_path: Path, content: bytes) -> None:
    fasta = read(tmp_path, content)
    assert fasta.names == ["a", "b"]
    assert sequences(fasta) == ["ACGU", "GG"]


def test_gzip_of_several_members_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.fa.gz"
    path.write_bytes(gzip.compress(b">a\nACGU\n>") + gzip.compress(b"b\nGG\n"))
    assert sequences(read_fasta(path)) == ["ACGU", "GG"]


def test_names_give_back_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    fasta = read(tmp_path, b">\xb5RNA \xe9\nAC\n>\xc2\xb5\nAC\n")
    assert fasta.names[0].encode("utf-8", "surrogateescape") == b"\xb5RNA"
    assert fasta.headers[0].encode("utf-8", "surrogateescape") == b"\xe9"
    assert fasta.names[1] == "µ"


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\t\n"])
def test_a_file_without_a_record_has_no_sequences(tmp_path: Path, content: bytes) -> None:
    fasta = read(tmp_path, content)
    assert len(fasta) == 0
    assert not fasta.bad
    assert fasta.letters.text.size == 0
    assert fasta.letters.offsets.tolist() == [0]


BAD = {
    "illegal": (
        ">a\nAC\n\n>b\nAC\nG-U*\n",
        "record 2 'b', line 6: found illegal character '-' (and",
    ),
    "protein": (">a\nMKLV\n", "record 1 'a', line 2: found illegal character 'L'"),
    "digit": (">a\n1 ACGU\n", "record 1 'a', line 2: found illegal character '1'"),
    "not_ascii": (">a\nAC\u00b5\n", "record 1 'a', line 2: found illegal character 0xC2 (and 1"),
    "nul": (">a\nAC\0\n", "record 1 'a', line 2: found illegal character 0x00"),
    "empty": (">a\n>b\nAC\n", "record 1 'a', line 1: found an empty sequence"),
    "blank": (">a\nAC\n>b x\n \n\t\n", "record 2 'b', line 3: found an empty sequence"),
    "no_name": ("\n> a\nAC\n", "record 1, line 2: found no name"),
    "no_name_tab": (">\ta\nAC\n", "record 1, line 1: found no name"),
    "bare": (">\nAC\n", "record 1, line 1: found no name"),
    "no_header": ("\n ACGU\n>a\nAC\n", "record 1, line 2: found text before the first '>': 'ACGU'"),
    "cut": (">a\nAC\n>b x", "record 2 'b', line 3: found a header in which the file ends"),
    "cut_bare": (">a\nAC\n>", "record 2, line 3: found a header in which the file ends"),
    "macintosh": (">a\rACGU\r>b\rAC\r", "record 1 'a', line 1: found lines that end in CR alone"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_refused_with_its_place_or_left_out_and_listed(
    tmp_path: Path, name: str
) -> None:
    content, message = BAD[name]
    with pytest.raises(InputError) as error:
        read(tmp_path, content)
    fasta = read(tmp_path, content, "skip")
    (bad,) = fasta.bad
    for text in (str(error.value), bad.message(fasta.path)):
        assert text.startswith(f"{tmp_path / 'x.fa'}: {message}")
    assert bad.record not in fasta.records
    assert all(set(text.upper()) <= set(LETTERS) for text in sequences(fasta))


def test_all_bad_records_are_found_before_the_error(tmp_path: Path) -> None:
    content = "AC\n>a\nAC\n>b\n>c\nA-\nC*\n> d\nAC\n>e\nGU\n>f"
    with pytest.raises(InputError) as error:
        read(tmp_path, content)
    places = [line.split(": ")[1] for line in str(error.value).splitlines()[:-1]]
    assert places == [
        "record 1, line 1",
        "record 3 'b', line 4",
        "record 4 'c', line 6",
        "record 5, line 8",
        "record 7 'f', line 12",
    ]
    assert str(error.value).splitlines()[-1].startswith("5 bad records")
    fasta = read(tmp_path, content, "skip")
    assert fasta.names == ["a", "e"]
    assert fasta.records.tolist() == [2, 6]


def test_bad_records_of_two_files_make_one_message(tmp_path: Path) -> None:
    first = read(tmp_path, ">a\n>b\nA\n", "skip")
    (tmp_path / "y.fa").write_text(">c\nA!\n")
    with pytest.raises(InputError, match=r"(?s)x\.fa: record 1 'a'.*y\.fa: record 1 'c'.*2 bad"):
        refuse_bad_records([first, read_fasta(tmp_path / "y.fa", on_bad_record="skip")])


def test_a_flood_of_bad_records_is_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, ">a\n" * 1000)
    lines = str(error.value).splitlines()
    assert len(lines) == 7
    assert "995 more" in lines[-2]
    assert lines[-1].startswith("1000 bad records")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.fa.gz", b">a\nAC\n", "found a file that is not gzip"),
        ("x.fa.gz", gzip.compress(b">a\nAC\n" * 99)[:-9], "found a gzip file that is cut short"),
        ("x.fa", gzip.compress(b">a\n")[:-8] + bytes(8), "found damaged gzip"),
        ("x.fa", ">a\nAC\n".encode("utf-16"), "line 1: found UTF-16"),
    ],
    ids=["no_gzip", "cut", "damaged", "utf16"],
)
def test_files_that_cannot_be_read_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_fasta(tmp_path / name, on_bad_record="skip")


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_fasta(tmp_path / "none.fa")
    with pytest.raises(InputError, match="a folder"):
        read_fasta(tmp_path)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("bad_char", ["a"]),
        ("bad_empty", ["a", "b"]),
        ("bad_nohdr", []),
        ("bad_noname", []),
        ("bad_trunc", ["a"]),
    ],
)
def test_what_stops_miranda_is_refused_or_left_out(
    shared: Path, name: str, kept: list[str]
) -> None:
    path = shared / "golden/mirna/inputs" / f"{name}.fa"
    with pytest.raises(InputError, match="record"):
        read_fasta(path)
    assert read_fasta(path, on_bad_record="skip").names == kept


def test_names_headers_and_lengths_are_those_that_miranda_prints(shared: Path) -> None:
    folder = shared / "golden/mirna"
    files = {
        "crlf": ["mir8", "ref_crlf"],
        "nonewline_end": ["nonewline_end"],
        "emptyfile": ["mir8", "emptyfile"],
    }
    for run, inputs in files.items():
        printed = gzip.decompress((folder / f"expected/{run}.txt.gz").read_bytes()).split(b"\n")
        read_lines = {line for line in printed if line.startswith(b"Read Sequence:")}
        for name in inputs:
            fasta = read_fasta(folder / f"inputs/{name}.fa")
            for k, length in enumerate(fasta.letters.lengths):
                line = f"Read Sequence:{fasta.names[k]} {fasta.headers[k]}({length} nt)"
                assert line.encode() in read_lines
                read_lines.discard(line.encode())
        assert len(read_lines) == (0 if len(inputs) == 2 else 9)  # 9: those of mir8


WHITE = st.sampled_from(["", " ", "\t", "\n", "\r\n", "\n\n", " \v\f\n"])
NAMES = st.text(st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: not set(name) & set("\n\r\t\v\f ")
)
RECORDS = st.lists(
    st.tuples(
        NAMES,
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=9),
        st.text(LETTERS + LETTERS.lower(), min_size=1, max_size=20),
        st.lists(WHITE, min_size=1, max_size=20),
    ),
    max_size=6,
)


@given(RECORDS, st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[str, str, str, list[str]]],
    compressed: bool,
) -> None:
    text = ""
    for name, header, letters, white in records:
        spread = "".join(c + white[k % len(white)] for k, c in enumerate(letters))
        text += f">{name} {header}\n{spread}"
    path = tmp_path_factory.mktemp("fasta") / "x.fa"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    fasta = read_fasta(path)
    found = list(zip(fasta.names, fasta.headers, sequences(fasta), strict=True))
    assert found == [record[:3] for record in records]


@given(content=st.binary(max_size=60) | st.text(">AcU\n\r -x", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("fasta")
    try:
        fasta = read(folder, content, "skip")
    except InputError:
        return
    assert set(fasta.letters.text.tobytes().decode().upper()) <= set(LETTERS)
    assert (fasta.letters.lengths > 0).all()
    assert all(fasta.names)
    records = sorted([*fasta.records.tolist(), *(bad.record for bad in fasta.bad)])
    assert records == list(range(1, len(records) + 1))
    if fasta.faults:
        with pytest.raises(InputError):
            read(folder, content)


def records(*names: str) -> Fasta:
    return Fasta.of_records("", "", list(names), [b"ACGU"] * len(names))


def write_pairs(folder: Path, text: str) -> Path:
    path = folder / "pairs.tsv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "a\tx\nb\ty\n",
        "# known\nmiRNA\tTarget\na\tx\n\nb\ty\na\tx\n",
        "a x\r\nb y\r\n",
        "a\tx\nb\ty",
    ],
    ids=["plain", "header_and_comment", "crlf_and_blanks", "no_newline_at_end"],
)
def test_restrict_lists_are_read(tmp_path: Path, text: str) -> None:
    assert read_restrict(write_pairs(tmp_path, text)) == [("a", "x"), ("b", "y")]
    (tmp_path / "pairs.csv").write_text('miRNA,"transcript"\na,x\n"b",y\n')
    assert read_restrict(tmp_path / "pairs.csv") == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tx\nb\n", "line 2: found 1 field: b; expected 2: miRNA and transcript"),
        ("a\tx\t3\n", "line 1: found 3 fields: a, x, 3; expected 2"),
        ("# none\n", "found no pairs"),
        ("", "found an empty file"),
    ],
    ids=["one_field", "three_fields", "no_pairs", "empty"],
)
def test_bad_restrict_lists_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_restrict(write_pairs(tmp_path, text))


def test_a_name_of_several_records_stands_for_all_of_them() -> None:
    pairs = [("b", "x"), ("a", "y"), ("a", "none"), ("c", "x")]
    mirnas, transcripts = records("a", "b", "a"), records("x", "y", "x")
    found, missing, _ = match_restrict(pairs, mirnas, transcripts, "pairs.tsv")
    assert found.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert found.dtype == np.int32
    assert missing == [("a", "none"), ("c", "x")]


def test_a_restrict_list_of_which_nothing_is_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"none of its 1 pairs \(x a\).*such as a x, the miRNA"):
        match_restrict([("x", "a")], records("a"), records("x"), "pairs.tsv")
    none, *_ = match_restrict([("x", "a")], records(), records("x"), "pairs.tsv")
    assert none.shape == (0, 2)


def test_restrict_lists_name_transcripts_by_gene_symbol_or_without_version() -> None:
    transcripts = replace(
        records("ENST00000000001.4", "ENST00000000002.1", "ENST00000000003.1"),
        genes=["ENSG00000000001.1", "ENSG00000000001.1", "ENSG00000000002.1"],
        symbols=["TP53", "TP53", "MDM2"],
    )
    pairs = [("hsa-MIR-1", "TP53"), ("hsa-miR-1", "ENST00000000003"), ("hsa-miR-1", "nothing")]
    pairs += [("hsa-miR-1", "ENST00000000003.1"), ("hsa-miR-1", "MDM2")]  # the same pair again
    found, missing, notes = match_restrict(pairs, records("hsa-miR-1"), transcripts, "pairs.tsv")
    assert found.tolist() == [[0, 0], [0, 1], [0, 2]]
    assert missing == [("hsa-miR-1", "nothing")]
    matched = [note.numbers["n"] for note in notes if note.code == "names_matched"]
    assert matched == [1, 3]
