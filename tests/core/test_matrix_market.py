"""Matrices in Matrix Market's format, against SciPy; what is no entry is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pairtile.errors import InputError
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
