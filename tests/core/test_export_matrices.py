"""adjacency, h5ad, h5mu and zarr, read back by scipy, numpy, anndata, mudata and xarray."""

from __future__ import annotations

import warnings
from pathlib import Path

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray
from export_networks import AWKWARD, METADATA, chain, items_table, write
from pairtile.config.export_formats import EXPORT_FORMATS
from pairtile.config.load import load_config
from pairtile.errors import ConfigError
from zarr.storage import ZipStore


def dense(network: pd.DataFrame, names: list[str], column: str, directed: bool) -> np.ndarray:
    """The matrix of a column, pair by pair; NaN where there is no edge."""
    matrix = np.full((len(names), len(names)), -1.0)
    for row in network.to_dict("records"):
        i, j = names.index(row["source"]), names.index(row["target"])
        matrix[i, j] = row[column]
        if not directed:
            matrix[j, i] = row[column]
    return matrix


def filled(matrix: scipy.sparse.csr_array) -> np.ndarray:
    result = np.full(matrix.shape, -1.0)
    cells = matrix.tocoo()
    result[cells.row, cells.col] = cells.data
    return result


@pytest.mark.parametrize("directed", [False, True])
def test_scipy_reads_the_adjacency_with_all_kept_genes(directed: bool, tmp_path: Path) -> None:
    names = [*AWKWARD, "alone"]
    network, items = chain(AWKWARD, directed), items_table(names, 2)
    path = write(tmp_path, "adjacency", network, items, directed=directed)
    matrix = scipy.sparse.load_npz(path)
    assert isinstance(matrix, scipy.sparse.csr_array)
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(filled(matrix), dense(network, names, "mi_bits", directed))
    with np.load(path, allow_pickle=False) as archive:
        assert archive["genes"].tolist() == names
        assert archive["is_regulator"].tolist() == [k < 2 for k in range(len(names))]
        assert (str(archive["value"]), bool(archive["directed"])) == ("mi_bits", directed)
        for column in ("p_value", "support", "target_z" if directed else "clr"):
            other = scipy.sparse.csr_array(
                (archive[f"data_{column}"], archive["indices"], archive["indptr"]),
                shape=archive["shape"],
            )
            np.testing.assert_array_equal(filled(other), dense(network, names, column, directed))


@pytest.mark.parametrize("directed", [False, True])
def test_anndata_reads_the_network_in_varp(directed: bool, tmp_path: Path) -> None:
    names = [*AWKWARD, "alone"]
    network, items = chain(AWKWARD, directed), items_table(names, 2)
    path = write(tmp_path, "h5ad", network, items, directed=directed)
    data = anndata.read_h5ad(path)
    score = "target_z" if directed else "clr"
    assert data.shape == (0, len(names))
    assert data.var_names.tolist() == names
    assert data.var["is_regulator"].tolist() == [k < 2 for k in range(len(names))]
    assert set(data.varp) == {"pairtile"} | {
        f"pairtile_{c}" for c in ("p_value", "q_value", "support", score)
    }
    np.testing.assert_array_equal(
        filled(data.varp["pairtile"]), dense(network, names, "mi_bits", directed)
    )
    for column in ("p_value", score):
        np.testing.assert_array_equal(
            filled(data.varp[f"pairtile_{column}"]), dense(network, names, column, directed)
        )
    about = data.uns["pairtile"]
    assert bool(about["directed"]) is directed
    assert about["varp_keys"][score] == f"pairtile_{score}"
    assert about["metadata"]["threshold_bits"] == METADATA["threshold_bits"]


@pytest.mark.parametrize("column", ["kind", "table", None])
def test_mudata_reads_each_kind_as_a_modality(column: str | None, tmp_path: Path) -> None:
    network, items = chain(AWKWARD), items_table(AWKWARD)
    kinds = np.where(np.arange(len(items)) % 3 == 1, "mirna", "transcript")
    if column:
        items[column] = kinds.astype(object)
    data = mudata.read_h5mu(write(tmp_path, "h5mu", network, items))
    in_file = dict(zip(items["name"], kinds if column else ["genes"] * len(items), strict=True))
    assert list(data.mod) == list(dict.fromkeys(in_file.values()))
    for kind, part in data.mod.items():
        assert part.var_names.tolist() == [n for n in AWKWARD if in_file[n] == kind]
        assert part.var["mean"].notna().all()
    names = data.var_names.tolist()
    assert sorted(names) == sorted(AWKWARD)
    for column_, key in (("mi_bits", "pairtile"), ("p_value", "pairtile_p_value")):
        np.testing.assert_array_equal(
            filled(data.varp[key]), dense(network, names, column_, directed=False)
        )
    assert data.uns["pairtile"]["metadata"]["method"] == METADATA["method"]


@pytest.mark.parametrize("directed", [False, True])
def test_xarray_reads_edges_and_genes(directed: bool, tmp_path: Path) -> None:
    names = [*AWKWARD, "alone"]
    network, items = chain(AWKWARD, directed), items_table(names, 2)
    network.loc[1, "mi_bits"] = np.nan
    store = ZipStore(write(tmp_path, "zarr", network, items, directed=directed), mode="r")
    with xarray.open_zarr(store) as data:
        data.load()
    assert data["gene"].values.tolist() == names
    assert data["gene_is_regulator"].values.tolist() == [k < 2 for k in range(len(names))]
    back = data[["source", "target", *network.columns[2:]]].to_dataframe()[network.columns]
    pd.testing.assert_frame_equal(back.reset_index(drop=True), network, check_dtype=False)
    assert data.attrs["directed"] == int(directed)
    assert data.attrs["threshold_bits"] == METADATA["threshold_bits"]
    matrix = data.set_index(edge=["source", "target"])[data.attrs["value"]].unstack("edge")
    first = network.iloc[0]
    assert matrix.sel(source=first["source"], target=first["target"]) == first["mi_bits"]


@pytest.mark.parametrize("format", [n for n, f in EXPORT_FORMATS.items() if f.packages])
def test_a_missing_package_is_refused_before_a_run_and_by_the_writer(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairtile.config.export_formats.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=f"the extra {format} of pairtile"):
        write(tmp_path, format, chain(["a", "b"]), items_table(["a", "b"]))
    analysis = {"method": "mutual_information", "expression": "x.tsv", "export": [format]}
    with pytest.raises(ConfigError, match=f"the extra {format} of pairtile"):
        load_config({"analyses": {"a": analysis}})


@pytest.mark.parametrize("format", ["h5ad", "h5mu", "zarr"])
def test_writing_warns_of_nothing(format: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # anndata 0.13 and mudata 0.4 themselves ask pandas 3.1 for these.
        warnings.filterwarnings("ignore", "The 'future.infer_string' option is deprecated")
        warnings.filterwarnings("ignore", "The inplace keyword in DataFrame")
        write(tmp_path, format, chain(AWKWARD), items_table(AWKWARD))


@pytest.mark.parametrize("n_genes", [0, 3])
def test_empty_networks_are_empty_matrices(n_genes: int, tmp_path: Path) -> None:
    names = ["a", "b", "c"][:n_genes]
    network = chain(["a", "b"]).iloc[:0]
    matrix = scipy.sparse.load_npz(write(tmp_path, "adjacency", network, items_table(names)))
    assert (matrix.shape, matrix.nnz) == ((n_genes, n_genes), 0)
    data = anndata.read_h5ad(write(tmp_path, "h5ad", network, items_table(names)))
    assert data.varp["pairtile"].nnz == 0
    assert data.var_names.tolist() == names


def test_of_several_rows_of_a_pair_the_strongest_is_taken(tmp_path: Path) -> None:
    network = pd.DataFrame(
        {
            "source": ["a", "b", "a", "b"],
            "target": ["b", "a", "b", "c"],
            "cluster": [0, 1, 2, 0],
            "correlation": [0.5, -0.9, np.nan, 0.0],
        }
    )
    items = items_table(["a", "b", "c"])
    matrix = scipy.sparse.load_npz(write(tmp_path, "adjacency", network, items))
    assert matrix.toarray().tolist() == [[0, -0.9, 0], [-0.9, 0, 0], [0, 0, 0]]
    assert matrix.nnz == 4  # a correlation of 0 is still an edge
    directed = write(tmp_path, "adjacency", network, items, directed=True)
    assert scipy.sparse.load_npz(directed).toarray().tolist() == [
        [0, 0.5, 0],
        [-0.9, 0, 0],
        [0] * 3,
    ]
