"""Parquet, AnnData, GCT and 10x folders: what is read and what is refused."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from pairtile.declare.messages import Message
from pairtile.errors import ConfigError, InputError
from pairtile.io.anndata_file import read_obs
from pairtile.io.expression import Expression, read_expression, read_sparsely
from scipy import io, sparse

GENES, SAMPLES = ["a", "b"], ["s1", "s2", "s3"]
VALUES = np.array([[1, 2.5, -3], [400, np.nan, 6]])
FRAME = pd.DataFrame(VALUES, index=GENES, columns=SAMPLES)


def assert_is_table(expression: Expression) -> None:
    np.testing.assert_array_equal(expression.values, VALUES)
    assert expression.values.dtype == np.float64
    assert expression.values.flags.c_contiguous
    assert (expression.genes, expression.samples) == (GENES, SAMPLES)


# Parquet ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(FRAME, id="index"),
        pytest.param(FRAME.rename_axis("gene"), id="named_index"),
        pytest.param(FRAME.rename_axis("gene").reset_index(), id="first_column"),
        pytest.param(FRAME.assign(gene=GENES).reset_index(drop=True), id="last_column"),
        pytest.param(FRAME.assign(gene=GENES).set_axis([7, 3], axis=0), id="column_beside_numbers"),
        pytest.param(
            FRAME.assign(gene=pd.Categorical(GENES)).reset_index(drop=True), id="category"
        ),
    ],
)
def test_parquet_names_come_from_the_index_or_the_text_column(
    tmp_path: Path, frame: pd.DataFrame
) -> None:
    frame.to_parquet(tmp_path / "t.parquet")
    assert_is_table(read_expression(tmp_path / "t.parquet"))


def test_parquet_with_samples_in_rows_is_turned_over(tmp_path: Path) -> None:
    FRAME.T.to_parquet(tmp_path / "t.parquet")
    assert_is_table(read_expression(tmp_path / "t.parquet", orientation="samples_in_rows"))


def test_parquet_nulls_and_number_types_are_read(tmp_path: Path) -> None:
    table = pa.table(
        {
            "gene": pa.array(GENES, pa.large_string()),
            "s1": pa.array([1, 400], pa.int16()),
            "s2": pa.array([2.5, None], pa.float32()),
            "s3": pa.array([-3, 6], pa.decimal128(5, 2)),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert_is_table(read_expression(tmp_path / "t.parquet"))


def test_parquet_index_of_whole_numbers_gives_names_where_no_text_does(tmp_path: Path) -> None:
    FRAME.set_axis([7157, 672], axis=0).to_parquet(tmp_path / "t.parquet")
    assert read_expression(tmp_path / "t.parquet").genes == ["7157", "672"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.reset_index(drop=True), "no text column and no pandas index"),
        (FRAME.assign(x="u", y="v").reset_index(drop=True), "sample 'y': found text"),
        (FRAME.assign(x="u"), "sample 'x': found text"),
        (FRAME.assign(x=[True, False]), "sample 'x': found type bool"),
        (FRAME.set_axis(["a", "a"], axis=0), "duplicate gene name: 'a' 2 times"),
        (FRAME.set_axis(["a", ""], axis=0), "1 gene without a name"),
        (FRAME.set_axis(["a", None], axis=0), "1 gene without a name"),
        (FRAME[["s1", "s2"]], "found 2 samples"),
        (FRAME.iloc[:0], "a table without rows; expected genes in rows"),
        (FRAME.replace(2.5, np.inf), "gene 'a', sample 's2': found inf (1 infinite values in all)"),
        (FRAME.set_index("s1", append=True), "an index of several columns"),
    ],
)
def test_bad_parquet_tables_are_refused(tmp_path: Path, frame: pd.DataFrame, message: str) -> None:
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=re.escape(message)):
        read_expression(tmp_path / "t.parquet")


# AnnData ---------------------------------------------------------------------------------------


def annotated(values: np.ndarray = VALUES, **layers: object) -> anndata.AnnData:
    return anndata.AnnData(
        np.ascontiguousarray(values.T),
        obs=pd.DataFrame({"batch": [1, 2, 3]}, index=SAMPLES),
        var=pd.DataFrame(index=GENES),
        layers=layers,
    )


def test_h5ad_has_cells_in_rows_whatever_the_orientation(tmp_path: Path) -> None:
    annotated().write_h5ad(tmp_path / "t.h5ad")
    for orientation in ("genes_in_rows", "samples_in_rows"):
        assert_is_table(read_expression(tmp_path / "t.h5ad", orientation=orientation))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_h5ad_sparse_layers_are_read(tmp_path: Path, form: type, dtype: type) -> None:
    layer = form(VALUES.T.astype(dtype))
    annotated(np.zeros((2, 3)), raw=layer).write_h5ad(tmp_path / "t.h5ad")
    assert_is_table(read_expression(tmp_path / "t.h5ad", layer="raw"))
    np.testing.assert_array_equal(read_expression(tmp_path / "t.h5ad").values, np.zeros((2, 3)))


def test_h5ad_without_the_layer_names_those_it_has(tmp_path: Path) -> None:
    annotated(counts=VALUES.T).write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(InputError, match="no layer 'raw'; expected one of its layers: 'counts'"):
        read_expression(tmp_path / "t.h5ad", layer="raw")


def test_h5ad_without_x_asks_for_a_layer(tmp_path: Path) -> None:
    anndata.AnnData(
        obs=pd.DataFrame(index=SAMPLES), var=pd.DataFrame(index=GENES), layers={"tpm": VALUES.T}
    ).write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(InputError, match=r"no X; expected X, or a layer .* \('tpm'\)"):
        read_expression(tmp_path / "t.h5ad")
    assert_is_table(read_expression(tmp_path / "t.h5ad", layer="tpm"))


@pytest.mark.filterwarnings("ignore:.*names are not unique")
def test_h5ad_duplicate_genes_and_infinite_values_are_refused(tmp_path: Path) -> None:
    data = annotated()
    data.var_names = ["a", "a"]
    data.write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(InputError, match="duplicate gene name: 'a' 2 times"):
        read_expression(tmp_path / "t.h5ad")
    annotated(np.where(VALUES == 2.5, -np.inf, VALUES)).write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(InputError, match="gene 'a', sample 's2': found -inf"):
        read_expression(tmp_path / "t.h5ad")


@pytest.mark.parametrize(
    ("suffix", "message"), [(".h5ad", "no sound HDF5"), (".parquet", "no sound Parquet")]
)
def test_other_content_under_a_binary_suffix_is_refused(
    tmp_path: Path, suffix: str, message: str
) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_text("gene\ts1\n")
    with pytest.raises(InputError, match=message):
        read_expression(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="an empty file"):
        read_expression(path)


UNKNOWN = {"encoding-type": "of-the-future", "encoding-version": "9.0.0"}


@pytest.mark.parametrize("place", ["obs/q", "var/q", "uns/q", "obsm/q", "varm/q", "layers/q"])
def test_h5ad_with_parts_of_unknown_encoding_is_read_where_they_are_not_needed(
    tmp_path: Path, place: str
) -> None:
    annotated().write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        file.create_group(place)["values"] = np.arange(3)
        file[place].attrs.update(UNKNOWN)
    assert_is_table(read_expression(tmp_path / "t.h5ad", obs={"batch": [1, 2, 3]}))
    if place == "obs/q":
        with pytest.raises(InputError, match="column 'q' of obs"):
            read_expression(tmp_path / "t.h5ad", obs={"q": 1})
    if place == "layers/q":
        with pytest.raises(InputError, match=r"the layer 'q'.*of-the-future"):
            read_expression(tmp_path / "t.h5ad", layer="q")


@pytest.mark.parametrize("kind", ["categorical", "nullable", "bytes"])
def test_h5ad_names_of_every_encoding_are_read(tmp_path: Path, kind: str) -> None:
    data = annotated()
    if kind == "categorical":
        data.obs.index = pd.CategoricalIndex(SAMPLES)
    data.obs["mask"] = pd.array([True, None, False], dtype="boolean")
    data.write_h5ad(tmp_path / "t.h5ad")
    if kind == "bytes":
        with h5py.File(tmp_path / "t.h5ad", "r+") as file:
            del file["var/_index"]
            file["var/_index"] = np.array(GENES, dtype="S4")
    assert_is_table(read_expression(tmp_path / "t.h5ad"))
    if kind == "nullable":
        data.obs["batch"] = pd.array([1, None, 3], dtype="Int64")
        data.write_h5ad(tmp_path / "t.h5ad")
        assert read_obs(tmp_path / "t.h5ad", ["batch", "mask"], SAMPLES).columns == {
            "batch": ["1", "", "3"],
            "mask": ["True", "", "False"],
        }


def write_anndata_06(path: Path) -> None:
    """As anndata 0.6: tables are compound datasets, categories lie in uns, raw has a point."""
    with h5py.File(path, "w") as file:
        obs = np.zeros(4, dtype=[("index", "S2"), ("donor", "i1")])
        obs["index"], obs["donor"] = [b"s0", b"s1", b"s2", b"s3"], [1, 0, 0, 0]
        var = np.zeros(2, dtype=[("index", "S1")])
        var["index"] = [name.encode() for name in GENES]
        file["obs"], file["var"], file["raw.var"] = obs, var, var
        file["uns/donor_categories"] = np.array([b"x", b"y"])
        for name, values in (("X", VALUES), ("raw.X", np.abs(np.nan_to_num(VALUES)))):
            matrix = sparse.csr_matrix(np.vstack([[9, 9], values.T]))
            group = file.create_group(name)
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
            group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", matrix.shape


def write_anndata_07(path: Path) -> None:
    """As anndata 0.7: columns of codes refer to their categories."""
    with h5py.File(path, "w") as file:
        file["X"] = np.vstack([[9, 9], VALUES.T])
        for table, names in (("obs", ["s0", *SAMPLES]), ("var", GENES)):
            group = file.create_group(table)
            group["names"] = np.array(names, dtype=object)
            group.attrs.update({"_index": "names", "column-order": np.array(["donor"], object)})
            group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.1.0"})
        file["obs/donor"] = np.array([1, 0, 0, 0], dtype=np.int8)
        file["obs/__categories/donor"] = np.array(["x", "y"], dtype=object)
        file["obs/donor"].attrs["categories"] = file["obs/__categories/donor"].ref


@pytest.mark.parametrize("write", [write_anndata_06, write_anndata_07])
def test_h5ad_of_old_versions_is_read(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "t.h5ad")
    assert read_expression(tmp_path / "t.h5ad").samples == ["s0", *SAMPLES]
    assert_is_table(read_expression(tmp_path / "t.h5ad", obs={"donor": "x"}))
    assert read_obs(tmp_path / "t.h5ad", ["donor"], ["s0", "s2"]).columns["donor"] == ["y", "x"]
    if write is write_anndata_06:
        raw = read_expression(tmp_path / "t.h5ad", layer="raw").values
        np.testing.assert_array_equal(raw[:, 1:], np.abs(np.nan_to_num(VALUES)))


def external_link(file: Any, other: Path) -> None:
    file["X"] = h5py.ExternalLink(str(other), "X")


def link_through_another(file: Any, other: Path) -> None:
    file["uns/all"] = h5py.ExternalLink(str(other), "/")
    file["X"] = h5py.SoftLink("/uns/all/X")


def external_values(file: Any, other: Path) -> None:
    other.write_bytes(VALUES.tobytes())
    file.create_dataset("X", (3, 2), "f8", external=[(str(other), 0, h5py.h5f.UNLIMITED)])


def virtual_values(file: Any, other: Path) -> None:
    layout = h5py.VirtualLayout((3, 2), "f8")
    layout[:] = h5py.VirtualSource(str(other), "X", (3, 2))
    file.create_virtual_dataset("X", layout)


@pytest.mark.parametrize(
    "refer", [external_link, link_through_another, external_values, virtual_values]
)
@pytest.mark.parametrize("suffix", [".h5ad", ".h5"])
def test_hdf5_that_reads_other_files_is_refused(
    tmp_path: Path, refer: Callable[[Any, Path], None], suffix: str
) -> None:
    other = tmp_path / "other.h5ad"
    annotated().write_h5ad(other)
    annotated().write_h5ad(tmp_path / f"t{suffix}")
    with h5py.File(tmp_path / f"t{suffix}", "r+") as file:
        del file["X"]
        refer(file, other)
    with pytest.raises(InputError, match="expected values in this file"):
        read_expression(tmp_path / f"t{suffix}")
    with pytest.raises(InputError, match="expected values in this file"):
        read_obs(tmp_path / f"t{suffix}", ["batch"], SAMPLES)


def test_h5ad_symbols_and_names_of_numbered_raw_are_read(tmp_path: Path) -> None:
    counts = np.array([[0, 3, 0, 1], [5, 0, 0, 2], [7, 0, 7, 0]] * 8, dtype=float)
    genes = ["ENSG1", "ENSG2", "ENSG3", "ENSG4"]
    of_raw = pd.DataFrame({"features": genes}, index=list("0123"))
    raw = anndata.AnnData(counts, var=of_raw)
    var = pd.DataFrame({"note": list("wxyz"), "feature_name": ["A", "B", "", "D"]}, index=genes)
    data = anndata.AnnData(np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e4), var=var)
    data.raw = raw
    data.write_h5ad(tmp_path / "t.h5ad")
    found = read_expression(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(found.values, counts.T)
    assert found.genes == genes
    assert found.symbols == {"ENSG1": "A", "ENSG2": "B", "ENSG4": "D"}
    assert read_expression(tmp_path / "t.h5ad", layer="raw").genes == genes


# Cell Ranger's .h5 ------------------------------------------------------------------------------


def write_10x_h5(path: Path, version: int, kinds: Sequence[str] = ("Gene Expression",) * 3) -> None:
    matrix = sparse.csc_matrix(np.array([[0, 3, 0], [5, 0, 1], [7, 7, 7]], dtype=np.int32))
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix" if version == 3 else "GRCh38")
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(matrix, part)
        group["shape"] = np.array(matrix.shape, dtype=np.int32)
        group["barcodes"] = np.array(SAMPLES, dtype="S")
        names = np.array(["E1", "E2", "E3"], dtype="S"), np.array(["a", "b", "c"], dtype="S")
        if version == 3:
            group["features/id"], group["features/name"] = names
            group["features/feature_type"] = np.array(kinds, dtype="S")
            group["features/_all_tag_keys"] = np.array([b"genome"])
        else:
            group["genes"], group["gene_names"] = names


@pytest.mark.parametrize("version", [2, 3])
def test_10x_h5_of_both_versions_is_read(tmp_path: Path, version: int) -> None:
    write_10x_h5(tmp_path / "t.h5", version)
    found = read_expression(tmp_path / "t.h5")
    np.testing.assert_array_equal(found.values, [[0, 3, 0], [5, 0, 1], [7, 7, 7]])
    assert (found.genes, found.samples) == (["a", "b", "c"], SAMPLES)


def test_10x_h5_has_the_gene_expression_alone(tmp_path: Path) -> None:
    kinds = ["Gene Expression", "Antibody Capture", "Gene Expression"]
    write_10x_h5(tmp_path / "t.h5", 3, kinds)
    found = read_expression(tmp_path / "t.h5")
    np.testing.assert_array_equal(found.values, [[0, 3, 0], [7, 7, 7]])
    said = {note.code: note.numbers for note in found.notes if isinstance(note, Message)}
    assert said["features_left_out"] == {"n": 1, "kinds": "1 Antibody Capture"}


def test_other_content_under_h5_is_refused(tmp_path: Path) -> None:
    annotated().write_h5ad(tmp_path / "t.h5")
    with pytest.raises(InputError, match=r"AnnData files end in \.h5ad"):
        read_expression(tmp_path / "t.h5")
    for part in ("data", "features/name", "shape", "barcodes"):
        write_10x_h5(tmp_path / "t.h5", 3)
        with h5py.File(tmp_path / "t.h5", "r+") as file:
            del file[f"matrix/{part}"]
        with pytest.raises(InputError, match=r"t\.h5"):
            read_expression(tmp_path / "t.h5")
    write_10x_h5(tmp_path / "t.h5", 2)
    with h5py.File(tmp_path / "t.h5", "r+") as file:
        file.copy("GRCh38", "mm10")
    with pytest.raises(InputError, match="GRCh38, mm10"):
        read_expression(tmp_path / "t.h5")


# GCT -------------------------------------------------------------------------------------------

GCT_12 = "#1.2\n2\t3\nName\tDescription\ts1\ts2\ts3\na\tfirst\t1\t2.5\t-3\nb\t\t400\tNA\t6\n"
GCT_13 = (
    "#1.3\n2\t3\t1\t2\nid\tsymbol\ts1\ts2\ts3\nage\tna\t1\t2\t3\nsex\tna\tf\tm\tf\n"
    "a\tTP53\t1\t2.5\t-3\nb\tBRCA1\t400\tNaN\t6\n"
)
GCT_13_BARE = "#1.3\n2\t3\t0\t0\nid\ts1\ts2\ts3\na\t1\t2.5\t-3\nb\t400\t\t6\n"


@pytest.mark.parametrize("text", [GCT_12, GCT_13, GCT_13_BARE, GCT_12.replace("\n", "\r\n")])
def test_gct_of_both_versions_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.gct").write_bytes(text.encode())
    (tmp_path / "t.gct.gz").write_bytes(gzip.compress(text.encode()))
    assert_is_table(read_expression(tmp_path / "t.gct"))
    assert_is_table(read_expression(tmp_path / "t.gct.gz"))


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        (GCT_13, {"a": "TP53", "b": "BRCA1"}),
        (GCT_12, {}),  # too few to tell
        (GCT_12.replace("first", "a"), {}),
        (GCT_12.replace("first", "a protein of the membrane"), {}),
    ],
)
def test_descriptions_of_gct_are_symbols_where_they_can_be(
    tmp_path: Path, text: str, symbols: dict[str, str]
) -> None:
    (tmp_path / "t.gct").write_text(text)
    found = read_expression(tmp_path / "t.gct")
    assert found.symbols == symbols
    assert ("symbols_in_table" in [note.code for note in found.notes]) == bool(symbols)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GCT_12.replace("#1.2", "#1.1"), "line 1: found '#1.1'; expected #1.2 or #1.3"),
        (GCT_12.replace("2\t3\n", "3\t3\n"), "line 2: found 3 rows stated; expected the 2"),
        (GCT_12.replace("2\t3\n", "2\t4\n", 1), "line 3: found 5 fields; expected 6: 2 for names"),
        (GCT_12.replace("2\t3\n", "two\t3\n", 1), "line 2: found 'two\\t3'; expected 2 whole"),
        (GCT_13.replace("\t1\t2\n", "\n", 1), "line 2: found '2\\t3'; expected 4 whole numbers"),
        (GCT_13.replace("\t1\t2\n", f"\t1\t{'9' * 18}\n", 1), "found no rows after it"),
        (GCT_13.replace("\t1\t2\n", f"\t1\t{'9' * 5000}\n", 1), "expected 4 whole numbers"),
        (GCT_12.replace("2.5", "x"), "line 4 (gene 'a'), field 4 (sample 's2'): found 'x'"),
        (GCT_12.replace("\t6", ""), "line 5: found 4 fields; expected 5"),
        (GCT_12.replace("\ns2", "").split("a\tfirst")[0], "line 3: found no rows after it"),
        (GCT_12.replace("b\t\t", "a\t\t"), "'a' 2 times (lines 4 and 5)"),
        (GCT_12.replace("s3", "s1"), "'s1' 2 times (line 3, fields 3 and 5)"),
    ],
)
def test_bad_gct_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.gct").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        read_expression(tmp_path / "t.gct")


# 10x folders -----------------------------------------------------------------------------------

COUNTS = np.array([[0, 3, 0], [5, 0, 1]])


def write_10x(
    folder: Path,
    *,
    compressed: bool = True,
    features: str = "ENSG1\ta\tGene Expression\nENSG2\tb\tGene Expression\n",
    barcodes: str = "s1\ns2\ns3\n",
) -> Path:
    folder.mkdir()
    io.mmwrite(folder / "matrix.mtx", sparse.coo_array(COUNTS))
    names = "features.tsv" if compressed else "genes.tsv"
    (folder / names).write_text(features)
    (folder / "barcodes.tsv").write_text(barcodes)
    if compressed:
        for file in list(folder.iterdir()):
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()
    return folder


@pytest.mark.parametrize("compressed", [True, False])
def test_10x_folders_of_either_generation_are_read(tmp_path: Path, compressed: bool) -> None:
    expression = read_expression(write_10x(tmp_path / "m", compressed=compressed))
    np.testing.assert_array_equal(expression.values, COUNTS)
    assert (expression.genes, expression.samples) == (GENES, SAMPLES)


def test_10x_symbols_that_are_shared_give_way_to_identifiers(tmp_path: Path) -> None:
    features = "ENSG1\tTBCE\tGene Expression\nENSG2\tTBCE\tGene Expression\n"
    expression = read_expression(write_10x(tmp_path / "m", features=features))
    assert expression.genes == ["ENSG1", "ENSG2"]
    assert any("2 features whose symbol is shared" in note for note in expression.notes)


def test_10x_features_of_one_column_are_the_names(tmp_path: Path) -> None:
    assert read_expression(write_10x(tmp_path / "m", features="a\nb\n")).genes == GENES


def test_10x_sizes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    folder = write_10x(tmp_path / "m", barcodes="s1\ns2\ns3\ns4\n")
    with pytest.raises(
        InputError, match=re.escape("matrix.mtx.gz: found 2 x 3 entries; expected 2 genes")
    ):
        read_expression(folder)
    with pytest.raises(InputError, match="set the other orientation"):
        read_expression(write_10x(tmp_path / "n"), orientation="samples_in_rows")


def test_10x_folders_that_lack_a_file_or_hold_a_bad_one_are_refused(tmp_path: Path) -> None:
    folder = write_10x(tmp_path / "m")
    (folder / "barcodes.tsv.gz").rename(folder / "cells.tsv.gz")
    with pytest.raises(InputError, match=r"cells\.tsv\.gz.*expected one of barcodes\.tsv\.gz"):
        read_expression(folder)
    (folder / "cells.tsv.gz").rename(folder / "barcodes.tsv.gz")
    whole = (folder / "matrix.mtx.gz").read_bytes()
    for bad in (b"hello", whole[: len(whole) // 2], gzip.compress(b"%%MatrixMarket rubbish\n")):
        (folder / "matrix.mtx.gz").write_bytes(bad)
        with pytest.raises(InputError, match=r"matrix\.mtx\.gz: (line 1: )?found"):
            read_expression(folder)


TWICE = {"b": [1.0, 2.0, 3.0], "a": [7.0, np.nan, 8.0], "b ": [5.0, np.nan, 5.0], "c": [0.0, 1, 2]}
"""Two rows are called b, once read."""

ONCE = {
    "mean": [[3.0, 2.0, 4.0], [7.0, np.nan, 8.0], [0.0, 1.0, 2.0]],
    "max": [[5.0, np.nan, 5.0], [7.0, np.nan, 8.0], [0.0, 1.0, 2.0]],
    "first": [[1.0, 2.0, 3.0], [7.0, np.nan, 8.0], [0.0, 1.0, 2.0]],
}


@pytest.mark.parametrize("how", list(ONCE))
@pytest.mark.parametrize("form", ["tsv", "csv.gz", "samples.tsv", "h5ad"])
def test_genes_of_one_name_become_one(how: str, form: str, tmp_path: Path) -> None:
    table = pd.DataFrame(TWICE, index=["s1", "s2", "s3"]).T
    table.index = table.index.str.strip()
    path = tmp_path / f"table.{form}"
    orientation = "genes_in_rows"
    if form == "h5ad":
        anndata.AnnData(table.T.to_numpy(), pd.DataFrame(index=table.columns)).write_h5ad(path)
        data = anndata.read_h5ad(path)
        data.var_names = list(table.index)
        data.write_h5ad(path)
    elif form == "samples.tsv":
        orientation = "samples_in_rows"
        table.T.to_csv(path, sep="\t")
    else:
        table.to_csv(path, sep="," if "csv" in form else "\t")
    found = read_expression(path, orientation, duplicates=how)
    assert found.genes == ["b", "a", "c"]
    np.testing.assert_array_equal(found.values, ONCE[how])
    assert "4 rows have 3 names" in found.notes[-1]
    with pytest.raises(InputError, match=r"duplicate gene name.*'b' 2 times.*duplicates"):
        read_expression(path, orientation)


def test_names_that_are_empty_are_refused_whatever_is_done_with_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("gene\ts1\ts2\ts3\na\t1\t2\t3\n\t4\t5\t6\n")
    with pytest.raises(InputError, match="gene without a name"):
        read_expression(path, duplicates="first")
    with pytest.raises(ConfigError, match="duplicates: found 'sum'; expected error or mean"):
        read_expression(path, duplicates="sum")


def loom(path: Path, matrix: np.ndarray, rows: dict[str, list[str]], cells: list[str]) -> Path:
    with h5py.File(path, "w") as file:
        file["matrix"] = matrix
        for name, values in rows.items():
            file[f"row_attrs/{name}"] = np.array(values, dtype=object)
        file["col_attrs/CellID"] = np.array(cells, dtype=object)
        file.create_group("layers")
    return path


@pytest.mark.parametrize("sparse_values", [False, True])
def test_loom_has_genes_in_rows_with_symbols_or_accessions(
    tmp_path: Path, sparse_values: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairtile.io.anndata_file._ENTRIES", 5)  # several blocks
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    if sparse_values:
        matrix[:, ::2] = 0
    rows = {"Gene": ["a", "b", "b"], "Accession": ["E1", "E2", "E3"]}
    path = loom(tmp_path / "t.loom", matrix, rows, list("wxyz"))
    found = read_expression(path)
    assert (found.genes, found.samples) == (["a", "E2", "E3"], list("wxyz"))
    np.testing.assert_array_equal(found.values, matrix)
    assert hasattr(read_sparsely(path).values, "matrix") == sparse_values
    loompy = pytest.importorskip("loompy", reason="loompy is not installed")
    loompy.create(
        str(tmp_path / "own.loom"),
        matrix,
        {"Gene": np.array(["a", "b", "c"])},
        {"CellID": np.array(list("wxyz"))},
    )
    np.testing.assert_array_equal(read_expression(tmp_path / "own.loom").values, matrix)


def test_loom_without_names_says_which_are_known(tmp_path: Path) -> None:
    path = loom(tmp_path / "t.loom", np.ones((2, 3)), {"Chromosome": ["1", "2"]}, list("xyz"))
    with pytest.raises(InputError, match=r"row_attrs.*Chromosome.*Gene"):
        read_expression(path)
    with h5py.File(tmp_path / "u.loom", "w") as file:
        file["other"] = [1]
    with pytest.raises(InputError, match="col_attrs"):
        read_expression(tmp_path / "u.loom")


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("described", [False, True])
def test_gct_descriptions_that_are_symbols_are_read_as_such(
    tmp_path: Path, numbered: bool, described: bool
) -> None:
    end = " of the cell" if described else ""
    lines = ["#1.2", "4\t3", "Name\tDescription\ts1\ts2\ts3"]
    lines += [f"E{k}\tS{k}{end}\t{k}\t2\t{k * k}" for k in range(4)]
    if numbered:  # GTEx by tissue
        lines[2:] = ["id\t" + lines[2], *(f"{k}\t{line}" for k, line in enumerate(lines[3:]))]
    (tmp_path / "t.gct").write_text("\n".join(lines) + "\n")
    found = read_expression(tmp_path / "t.gct")
    assert (found.genes, found.samples) == (["E0", "E1", "E2", "E3"], SAMPLES)
    assert found.symbols == ({} if described else {f"E{k}": f"S{k}" for k in range(4)})
    np.testing.assert_array_equal(found.values[:, 2], [0, 1, 4, 9])


def test_features_of_other_types_are_left_out_of_a_folder_as_of_a_file(tmp_path: Path) -> None:
    kinds = ["Gene Expression", "Antibody Capture", "Gene Expression"]
    write_10x_h5(tmp_path / "t.h5", 3, kinds)
    folder = tmp_path / "m"
    folder.mkdir()
    matrix = sparse.coo_array(np.array([[0, 3, 0], [5, 0, 1], [7, 7, 7]]))
    io.mmwrite(folder / "matrix.mtx", matrix)
    names = zip(("E1", "E2", "E3"), ("a", "b", "c"), kinds, strict=True)
    (folder / "features.tsv").write_text("".join("\t".join(line) + "\n" for line in names))
    (folder / "barcodes.tsv").write_text("".join(f"{sample}\n" for sample in SAMPLES))
    found, other = read_expression(folder), read_expression(tmp_path / "t.h5")
    assert (found.genes, found.samples) == (other.genes, other.samples) == (["a", "c"], SAMPLES)
    np.testing.assert_array_equal(found.values, other.values)
