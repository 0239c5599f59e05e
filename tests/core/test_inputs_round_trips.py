"""Whatever table is written in whatever format is read back the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pairtile.errors import InputError
from pairtile.io.expression import read_expression
from scipy import io, sparse

# Letters and marks as names have them; a name of digits and points only may be taken for a value.
NAME = st.text(st.sampled_from("abcXYZ0123456789.-_:;'()/ αβé#"), min_size=1, max_size=8).map(
    lambda text: f"n{text.strip()}"
)


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    genes = draw(st.lists(NAME, min_size=1, max_size=5, unique=True))
    # Of 30 values or more, -3 twice would be a code for missing.
    samples = draw(st.lists(NAME, min_size=3, max_size=5, unique=True))
    elements = st.one_of(
        st.floats(allow_nan=True, allow_infinity=False), st.integers(-5, 5).map(float)
    )
    values = draw(hnp.arrays(np.float64, (len(genes), len(samples)), elements=elements))
    return pd.DataFrame(values, index=genes, columns=samples)


def _text(frame: pd.DataFrame, folder: Path, name: str, **keywords: object) -> Path:
    frame.to_csv(folder / name, **keywords)  # type: ignore[call-overload]
    return folder / name


def _h5ad(frame: pd.DataFrame, folder: Path) -> Path:
    anndata.AnnData(
        frame.to_numpy().T,
        obs=pd.DataFrame(index=frame.columns),
        var=pd.DataFrame(index=frame.index),
    ).write_h5ad(folder / "t.h5ad")
    return folder / "t.h5ad"


def _parquet(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def _gct(frame: pd.DataFrame, folder: Path) -> Path:
    described = frame.rename_axis("Name")
    described.insert(0, "Description", "x")
    head = f"#1.2\n{frame.shape[0]}\t{frame.shape[1]}\n"
    (folder / "t.gct").write_text(head + described.to_csv(sep="\t", na_rep="NA"))
    return folder / "t.gct"


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Path]] = {
    "tsv": lambda frame, folder: _text(frame, folder, "t.tsv", sep="\t"),
    "tsv.gz": lambda frame, folder: _text(frame, folder, "t.tsv.gz", sep="\t", na_rep="NaN"),
    "csv": lambda frame, folder: _text(frame, folder, "t.csv", na_rep="null"),
    "quoted csv": lambda frame, folder: _text(frame, folder, "t.csv", quoting=1, na_rep="NA"),
    "txt": lambda frame, folder: _text(frame, folder, "t.txt", sep="\t", index_label="gene"),
    "no field": lambda frame, folder: _text(frame, folder, "t.tsv", sep="\t", index_label=False),
    "parquet": _parquet,
    "h5ad": _h5ad,
    "gct": _gct,
}


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=25, deadline=None)
@given(frame=frames())
def test_a_table_comes_back_as_it_was_written(form: str, frame: pd.DataFrame) -> None:
    with tempfile.TemporaryDirectory() as folder:
        expression = read_expression(WRITERS[form](frame, Path(folder)))
    np.testing.assert_array_equal(expression.values, frame.to_numpy())
    assert expression.genes == list(frame.index)
    assert expression.samples == list(frame.columns)


@settings(max_examples=25, deadline=None)
@given(
    counts=hnp.arrays(
        np.int64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=3), elements=st.integers(0, 9)
    )
)
def test_a_10x_folder_comes_back_as_it_was_written(counts: np.ndarray) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        io.mmwrite(folder / "matrix.mtx", sparse.coo_array(counts))
        for file, letter, n in (
            ("genes", "g", counts.shape[0]),
            ("barcodes", "c", counts.shape[1]),
        ):
            (folder / f"{file}.tsv").write_text("".join(f"{letter}{k}\n" for k in range(n)))
        np.testing.assert_array_equal(read_expression(folder).values, counts)


def test_few_values_do_not_say_that_one_stands_for_missing(tmp_path: Path) -> None:
    """-3 twice beside 0 and 1: in a table of six values that is a value like others."""
    few = pd.DataFrame([[0.0, 0, 0], [1, -3, -3]], index=["a", "b"], columns=["s1", "s2", "s3"])
    np.testing.assert_array_equal(read_expression(_text(few, tmp_path, "t.csv")).values, few)
    many = pd.DataFrame(np.tile([0.0, 1.0], (20, 2)), [f"g{k}" for k in range(20)]).add_prefix("s")
    many.iloc[:2, 0] = -3.0
    with pytest.raises(InputError, match="-3 in 2 cells"):
        read_expression(_text(many, tmp_path, "t.csv"))
