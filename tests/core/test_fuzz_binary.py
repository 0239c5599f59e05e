"""Damaged Parquet, AnnData, Matrix Market and NumPy files are refused with a message, or read."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anndata
import naive_text
import numpy as np
import pandas as pd
import pytest
from fuzz import cases, check_message, damaged, in_child
from hypothesis import given
from pairtile.errors import PairtileError
from pairtile.io.expression import read_expression
from pairtile.methods.trajectory_correlation.read_tables import open_series_table
from scipy import io as scipy_io
from scipy import sparse

GENES, SAMPLES = ["a", "b", "c"], ["s1", "s2", "s3", "s4"]
VALUES = np.arange(12.0).reshape(3, 4) - 2.5


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def bytes_of(write) -> bytes:
    with tempfile.TemporaryDirectory() as path:
        write(Path(path) / "t")
        return (Path(path) / "t").read_bytes()


def parquet(path: Path) -> None:
    pd.DataFrame(VALUES, index=GENES, columns=SAMPLES).to_parquet(path)


def h5ad(path: Path, matrix: object = VALUES.T) -> None:
    obs, var = pd.DataFrame(index=SAMPLES), pd.DataFrame(index=GENES)
    anndata.AnnData(matrix, obs=obs, var=var).write_h5ad(path)


def sparse_h5ad(path: Path) -> None:
    h5ad(path, sparse.csr_matrix(VALUES.T))


def matrix(path: Path) -> None:
    with path.open("wb") as handle:
        scipy_io.mmwrite(handle, sparse.coo_array(VALUES))


def table(path: Path) -> list[list[float]]:
    found = read_expression(path)
    assert found.values.shape == (len(found.genes), len(found.samples))
    assert not np.isinf(found.values).any()
    assert len(set(found.genes)) == len(found.genes)
    assert all(found.genes)
    return found.values.tolist()


def frames(path: Path) -> None:
    for block in open_series_table(str(path)).blocks(2, missing=False):
        assert np.isfinite(block).all()


def array(path: Path) -> None:
    with path.open("wb") as handle:
        np.save(handle, VALUES)


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [
        ("t.parquet", parquet, table),
        ("dense.h5ad", h5ad, table),
        ("sparse.h5ad", sparse_h5ad, table),
        ("t.npy", array, frames),
    ],
)
def test_a_damaged_binary_file_is_read_or_refused(name, write, read, folder: Path) -> None:
    whole = bytes_of(write)
    path = folder / name

    @cases(ordinary=25, nightly=400)
    @given(damaged(whole, text=False))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        try:
            in_child(lambda: read(path))
        except PairtileError as error:
            check_message(str(error), path)

    path.write_bytes(whole)
    in_child(lambda: read(path))
    check()


NAMES = {
    "matrix.mtx": bytes_of(matrix),
    "features.tsv": b"E1\ta\tGene Expression\nE2\tb\tGene Expression\nE3\ta\tGene Expression\n",
    "barcodes.tsv": b"AAC-1\nAAG-1\nAAT-1\nACA-1\n",
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", NAMES)
def test_a_10x_folder_with_a_damaged_file_is_read_or_refused(
    name: str, packed: bool, tmp_path: Path
) -> None:
    path = tmp_path / (name + ".gz" * packed)
    for other, content in NAMES.items():
        if other != name:
            (tmp_path / other).write_bytes(content)

    @cases(ordinary=20, nightly=250)
    @given(damaged(NAMES[name], packed=packed))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        plain_matrix = name == "matrix.mtx" and not packed
        expected = naive_text.entries(data, (3, 4)) if plain_matrix else None
        try:
            found = in_child(lambda: table(tmp_path))
        except PairtileError as error:
            check_message(str(error), path)
            found = naive_text.REFUSED
        if expected is not None:
            np.testing.assert_equal(found, expected)

    check()


def test_the_check_of_a_dying_process_can_fail() -> None:
    import ctypes

    with pytest.raises(AssertionError, match="signal 11"):
        in_child(lambda: ctypes.string_at(0))
    with pytest.raises(RuntimeError, match="MemoryError"):
        in_child(lambda: np.ones(10**12))
    assert in_child(lambda: io.BytesIO(b"x").read()) == b"x"
