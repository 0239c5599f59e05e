"""Matrices in Matrix Market's format, against SciPy; what is no entry is refused."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from pairtile.errors import InputError
from pairtile.io.expression import read_expression
from pairtile.io.matrix_market import read_matrix_market
from scipy import io, sparse

BLANKS = {"as Arrow reads it": " ", "line by line": "  "}


@pytest.mark.parametrize("between", BLANKS.values(), ids=BLANKS.keys())
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_every_symmetry_is_read_as_by_scipy(tmp_path: Path, symmetry: str, between: str) -> None:
    values = np.random.default_rng(1).integers(-3, 4, size=(6, 6)).astype(float)
    if symmetry != "general":
        lower = np.tril(values, -1)
        values = lower - lower.T if symmetry == "skew-symmetric" else np.tril(values) + lower.T
    io.mmwrite(tmp_path / "t.mtx", sparse.coo_array(values), symmetry=symmetry)
    head, *lines = (tmp_path / "t.mtx").read_text().splitlines()
    assert symmetry in head
    lines = [line if line.startswith("%") else between.join(line.split()) for line in lines]
    (tmp_path / "t.mtx").write_text("\n".join([head, *lines]) + "\n")
    np.testing.assert_array_equal(read_matrix_market(tmp_path / "t.mtx").toarray(), values)


@pytest.mark.parametrize("between", BLANKS.values(), ids=BLANKS.keys())
@pytest.mark.parametrize("place", ["0 1", "1 0", "3 1", "1 4", "-1 1", "+1 1", "1 +1", "1.0 1"])
def test_places_outside_the_matrix_are_refused(tmp_path: Path, place: str, between: str) -> None:
    lines = ["%%MatrixMarket matrix coordinate integer general", "2 3 2", "2 3 7", f"{place} 5"]
    lines[2:] = [between.join(line.split()) for line in lines[2:]]
    (tmp_path / "t.mtx").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"t\.mtx"):
        read_matrix_market(tmp_path / "t.mtx")


@pytest.mark.parametrize("stated", [1, 3])
def test_another_number_of_entries_than_stated_is_refused(tmp_path: Path, stated: int) -> None:
    text = f"%%MatrixMarket matrix coordinate real general\n2 3 {stated}\n1 1 1\n2 3 4\n"
    (tmp_path / "t.mtx").write_text(text)
    with pytest.raises(InputError, match=f"found 2 entries; expected {stated}, as line 2 says"):
        read_matrix_market(tmp_path / "t.mtx")


def test_a_place_given_twice_is_refused(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n2 3 4\n1 1 2\n"
    (tmp_path / "t.mtx").write_text(text)
    with pytest.raises(InputError, match="row 1, column 1 more than once"):
        read_matrix_market(tmp_path / "t.mtx")


HEAD = "%%MatrixMarket matrix coordinate integer general\n"
GENES, CELLS = "a\nb\n", "s1\ns2\ns3\n"


def folder(
    path: Path, matrix: str = f"{HEAD}2 3 2\n1 2 5\n2 3 1\n", features: str = GENES,
    barcodes: str = CELLS, prefix: str = "", names: str = "features.tsv",
) -> Path:  # fmt: skip
    path.mkdir(exist_ok=True)
    parts = {"matrix.mtx": matrix, names: features, "barcodes.tsv": barcodes}
    for name, text in parts.items():
        (path / f"{prefix}{name}.gz").write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize("sizes", ["2000000000 2000000000", "2000000000 3", "2 2000000000"])
@pytest.mark.parametrize("orientation", ["genes_in_rows", "samples_in_rows"])
def test_sizes_that_the_lists_do_not_have_take_no_memory(
    sizes: str, orientation: str, tmp_path: Path
) -> None:
    tracemalloc.start()
    with pytest.raises(InputError, match=r"2 genes .*3 barcodes"):
        read_expression(folder(tmp_path / "m", f"{HEAD}{sizes} 1\n1 1 5\n"), orientation)
    (tmp_path / "t.mtx").write_text(f"{HEAD}2000000000 2000000000 1\n1 1 5\n")
    with pytest.raises(InputError, match="unpack"):
        read_matrix_market(tmp_path / "t.mtx")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


ENDLESS = "\n" * (3 << 20)


@pytest.mark.parametrize(
    "parts",
    [
        {"matrix": ENDLESS},
        {"matrix": f"{HEAD}{ENDLESS}2 3 0\n"},
        {"matrix": HEAD + "%\n" * (1 << 20) + "2 3 0\n"},
        {"features": GENES + ENDLESS},
        {"features": " \n" * (2 << 20)},
        {"features": "a\n" * (3 << 20)},
        {"barcodes": ENDLESS},
        {"barcodes": "s\n" * (3 << 20)},
    ],
)
def test_small_files_that_unpack_to_much_of_nothing_are_refused(
    parts: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"(matrix.mtx|features.tsv|barcodes.tsv).gz"):
        read_expression(folder(tmp_path / "m", **parts))


@pytest.mark.parametrize(
    ("features", "barcodes", "expected"),
    [
        ("gene_id\tgene_symbol\nE1\ta\nE2\tb\n", CELLS, {"features.tsv.gz"}),
        ("x\n" + GENES, "barcode\n" + CELLS, {"features.tsv.gz", "barcodes.tsv.gz"}),
        ("\tgene_name\n0\ta\n1\tb\n", CELLS, {"features.tsv.gz"}),
        ("Gene\n" + GENES, CELLS, {"features.tsv.gz"}),
        ("x\nb\n", CELLS, set()),
    ],
)  # fmt: skip
def test_headers_of_lists_are_left_out_and_said(
    features: str, barcodes: str, expected: set[str], tmp_path: Path
) -> None:
    found = read_expression(folder(tmp_path / "m", features=features, barcodes=barcodes))
    said = {n.numbers["file"] for n in found.notes if getattr(n, "code", "") == "header_left_out"}
    assert said == expected
    assert len(found.genes) == 2
    assert found.samples == ["s1", "s2", "s3"]
    np.testing.assert_array_equal(found.values, [[0, 5, 0], [0, 0, 1]])


def test_a_first_line_that_may_be_a_gene_is_no_header(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"3 genes \(features.tsv.gz\)"):
        read_expression(folder(tmp_path / "m", features="TP53\n" + GENES))


@pytest.mark.parametrize("names", ["features.tsv", "genes.tsv"])
@pytest.mark.parametrize("prefix", ["GSM1_s1_", "sample-2.", "filtered"])
def test_file_names_may_have_one_prefix(prefix: str, names: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "m", prefix=prefix, names=names)
    found = read_expression(path)
    np.testing.assert_array_equal(found.values, [[0, 5, 0], [0, 0, 1]])
    assert [n.numbers for n in found.notes if getattr(n, "code", "") == "files_with_prefix"]
    folder(path, prefix="GSM2_s2_", names=names)
    with pytest.raises(InputError, match="GSM2_s2_.*" if prefix < "GSM2" else "GSM2_s2_, "):
        read_expression(path)
    folder(path, barcodes="t1\nt2\nt3\n")  # without a prefix: this one is meant
    assert read_expression(path).samples == ["t1", "t2", "t3"]


def test_a_prefix_is_that_of_all_three_files(tmp_path: Path) -> None:
    path = folder(tmp_path / "m", prefix="GSM1_")
    (path / "GSM1_barcodes.tsv.gz").rename(path / "GSM2_barcodes.tsv.gz")
    with pytest.raises(InputError, match=r"GSM1_barcodes\.tsv"):
        read_expression(path)
