"""Networks as matrices and arrays: a sparse NumPy archive, AnnData, MuData, Zarr for xarray."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from pairtile.io.names import numbered
from pairtile.io.networks.table import NODE_COLUMNS, NetworkTable


def sparse_matrices(network: NetworkTable) -> dict[str, scipy.sparse.csr_array]:
    """One CSR array (genes, genes) for each numeric column, all with the same stored cells.

    Rows are sources, columns targets; an undirected network is stored symmetrically. Absent cells
    are pairs without an edge; stored ones may be 0 or NaN. Where a pair has several rows, the
    strongest is taken. The network's value (``mi_bits``) comes first.
    """
    n_genes = len(network.genes)
    edges = network.directed_edges().sort_values(["source", "target", "rank"])
    edges = edges.drop_duplicates(["source", "target"])
    starts = np.searchsorted(edges["source"], np.arange(n_genes + 1)).astype(np.int32)
    ends = edges["target"].to_numpy(np.int32)
    numeric = [c for c in network.columns if network.edges[c].dtype.kind in "iuf"]
    numeric.sort(key=lambda c: c != network.value_column)
    return {
        name: scipy.sparse.csr_array(
            (network.edges[name].to_numpy()[edges.index], ends.copy(), starts.copy()),
            shape=(n_genes, n_genes),
        )
        for name in numeric
    }


def write_adjacency(network: NetworkTable, path: Path) -> None:
    """Write the matrix of all kept genes so that ``scipy.sparse.load_npz`` reads it.

    The matrix is a CSR array (genes, genes) of the network's value (``mi_bits``), rows sources,
    columns targets, symmetric if undirected. ``numpy.load`` on the same file gives the rest:

    | array | content |
    |---|---|
    | genes | names of rows and columns, Unicode, shape (genes,) |
    | is_regulator | bool, shape (genes,) |
    | value | name of the column that the matrix holds |
    | directed | bool |
    | data_COLUMN | the network's other numbers, in the order of the matrix' stored cells |

    So ``csr_array((f["data_clr"], f["indices"], f["indptr"]), f["shape"])`` is the matrix of
    ``clr``. Where a pair has several rows, all matrices hold the numbers of the strongest. A slash
    in the name of a column, which would be a path in the archive, becomes an underscore.
    """
    (value, matrix), *others = sparse_matrices(network).items()
    arrays: dict[str, np.ndarray] = {
        # The fields of scipy.sparse.save_npz, which cannot add arrays of its caller's.
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape, dtype=np.int64),
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "_is_array": np.array(True),
        "genes": np.array(network.names, dtype=np.str_),
        "is_regulator": network.is_regulator,
        "value": np.array(value),
        "directed": np.array(network.directed),
    }
    names = _without_slash([name for name, _ in others])
    arrays |= {f"data_{name}": matrix.data for name, (_, matrix) in zip(names, others, strict=True)}
    with path.open("wb") as output:
        np.savez_compressed(output, allow_pickle=False, **arrays)


_NO_OBSERVATIONS = pd.DataFrame(index=pd.Index([], dtype=object))


def write_h5ad(network: NetworkTable, path: Path) -> None:
    """Write an AnnData file with no observations and all kept genes as variables.

    ``var`` has the items' columns. ``varp["pairtile"]`` is the sparse matrix (genes, genes) of the
    network's value (``mi_bits``), rows sources, columns targets, symmetric if undirected;
    ``varp["pairtile_COLUMN"]`` are its other numbers, with the same stored cells (an absent
    ``p_value`` means no edge, not 0). Where a pair has several rows, all matrices hold the numbers
    of the strongest. ``uns["pairtile"]`` has name, direction, which column is where, and the
    metadata. A slash in the name of a column or of a metadata key, which HDF5 has no place for,
    becomes an underscore.
    """
    import anndata

    var, varp, about = _frames_of_network(network)
    data = anndata.AnnData(obs=_NO_OBSERVATIONS, var=var, varp=varp, uns={"pairtile": about})
    data.write_h5ad(path, compression="gzip")


def write_h5mu(network: NetworkTable, path: Path) -> None:
    """Write a MuData file: each kind of item is a modality, without observations.

    Modalities are ``mirna`` and ``transcript`` where items have a ``kind``, the two tables where
    they have a ``table``, else ``genes``. ``var``, ``varp`` and ``uns`` of the whole are as
    ``write_h5ad`` has them, in the order of the modalities.
    """
    import anndata
    import mudata

    var, varp, about = _frames_of_network(network)
    column = next((c for c in ("kind", "table") if c in var), None)
    kinds = var[column].to_numpy(dtype=np.str_) if column else np.full(len(var), "genes")
    rows = {str(kind): np.flatnonzero(kinds == kind) for kind in pd.unique(kinds)}
    parts = {
        kind: anndata.AnnData(obs=_NO_OBSERVATIONS, var=var.iloc[at]) for kind, at in rows.items()
    }
    order = np.concatenate([*rows.values(), np.empty(0, dtype=np.int64)])
    # What mudata does by itself from 0.4 on, which has no such option.
    options = getattr(mudata, "set_options", lambda **_: nullcontext())
    with options(pull_on_update=False):
        data = mudata.MuData(parts)
        for key, matrix in varp.items():
            data.varp[key] = matrix[order][:, order]
        data.uns["pairtile"] = about
        data.write_h5mu(path, compression="gzip")


def write_zarr(network: NetworkTable, path: Path) -> None:
    """Write an xarray data set as one file, a Zarr store in a ZIP archive:
    ``xarray.open_zarr(zarr.storage.ZipStore(path))``.

    Along ``edge``: the coordinates ``source`` and ``target``, and the edges' columns. Along
    ``gene``, all kept genes: their names, and the items' columns that nodes have. Attributes: name,
    direction, the column of the network's value, and the metadata. A missing number is NaN, a
    missing word is empty.
    """
    import xarray

    genes = network.genes[[c for c in NODE_COLUMNS if c in network.genes]]
    values = (("edge", _to_array(network.edges[c])) for c in network.columns)
    columns = {
        **dict(zip(_without_slash(network.columns), values, strict=True)),
        **{f"gene_{c}": ("gene", _to_array(genes[c])) for c in genes},
    }
    ends = {end: ("edge", _to_array(network.edges[end])) for end in ("source", "target")}
    about = {"name": network.name, "directed": int(network.directed)}
    data = xarray.Dataset(
        columns,
        coords=ends | {"gene": np.array(network.names, dtype=np.str_)},
        attrs=about | {"value": network.value_column} | network.metadata,
    )
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        data.to_zarr(folder, mode="w", zarr_format=2, consolidated=True)
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(Path(folder).rglob("*")):
                if file.is_file():
                    name = file.relative_to(folder).as_posix()
                    archive.writestr(zipfile.ZipInfo(name), file.read_bytes())  # no date


def _frames_of_network(
    network: NetworkTable,
) -> tuple[pd.DataFrame, dict[str, scipy.sparse.csr_array], dict[str, object]]:
    """``var``, ``varp`` and ``uns`` of a network for scverse's files."""
    var = network.genes.drop(columns=["item", "name", "kept", "reason"], errors="ignore")
    var.index = pd.Index(network.names, dtype=object)
    value, *others = sparse_matrices(network).items()
    others = list(
        zip(_without_slash([name for name, _ in others]), (m for _, m in others), strict=True)
    )
    keys = {value[0]: "pairtile", **{name: f"pairtile_{name}" for name, _ in others}}
    about = {
        "name": network.name,
        "directed": network.directed,
        "varp_keys": keys,
        "metadata": dict(
            zip(_without_slash(network.metadata), network.metadata.values(), strict=True)
        ),
    }
    return var, {keys[name]: matrix for name, matrix in (value, *others)}, about


def _to_array(values: pd.Series) -> np.ndarray:
    """Numbers as they are, NaN where missing; all else as text, empty where missing."""
    if values.dtype.kind in "iufb" and not values.isna().any():
        return values.to_numpy(dtype=values.dtype.name.lower().replace("boolean", "bool"))
    if values.dtype.kind in "iuf":
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return values.astype(object).where(values.notna(), "").astype(str).to_numpy(dtype=np.str_)


def _without_slash(names: Iterable[str]) -> list[str]:
    """Names without a slash, all different: in HDF5 it would mean a group inside a group, in an
    archive a path, which may lead out of the folder where that is unpacked."""
    return numbered(re.sub(r"[/\\]", "_", name) if name.strip(".") else "_" for name in names)
