"""Networks stored in AnnData, by the habits of scverse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pairtile.api.table import is_anndata
from pairtile.errors import require_columns
from pairtile.io.names import rows_of

if TYPE_CHECKING:
    from anndata import AnnData


def add_network(
    adata: AnnData,
    network: pd.DataFrame,
    *,
    weight: str | None = None,
    directed: bool | None = None,
    key_added: str = "network",
    copy: bool = False,
) -> AnnData | None:
    """Store a network of the variables (genes) of an AnnData.

    Parameters
    ----------
    adata : AnnData
        Its ``var_names`` hold every gene of the network.
    network : DataFrame
        ``source``, ``target`` and further columns, as any function here returns it.
    weight : str, optional
        The column that becomes the matrix. None: the score that ``network`` says it is ranked by
        (``attrs["score"]``), else its first column of decimal numbers, else 1 for each edge. Of
        several edges of a pair, the one of greatest size counts; edges of NaN are left out of the
        matrix.
    directed : bool, optional
        Whether an edge runs from source to target only. None: as ``network.attrs`` says, else
        False. Undirected edges are stored both ways, so that the matrix is symmetric.
    key_added : str
        ``varp[key_added]``: genes x genes, sparse, row = source. ``uns[key_added]``: ``params``
        (with ``varp_key``, ``weight``, ``directed`` and what ``network.attrs`` says of how it
        was made) and ``edges``, the table.
    copy : bool
        Change and return a copy of ``adata``, instead of ``adata`` itself.

    Returns
    -------
    None, or with ``copy`` the AnnData.

    Raises
    ------
    ValueError
        Not an AnnData; a gene that is not among ``var_names``; no such column.

    Examples
    --------
    >>> import anndata
    >>> adata = anndata.AnnData(np.ones((3, 3)), var=pd.DataFrame(index=["a", "b", "c"]))
    >>> network = pd.DataFrame({"source": ["a"], "target": ["c"], "mi_bits": [0.5]})
    >>> add_network(adata, network, key_added="mi_network")
    >>> adata.varp["mi_network"].toarray()[0, 2], adata.uns["mi_network"]["params"]["weight"]
    (np.float64(0.5), 'mi_bits')
    """
    if not is_anndata(adata):
        raise ValueError(f"adata: found {type(adata).__name__}; expected an AnnData")
    column = _weight(network, weight)
    if directed is None:
        directed = bool(network.attrs.get("directed", False))
    rows = [
        rows_of("network", network[end].astype(str), adata.var_names, "names of adata.var_names")
        for end in ("source", "target")
    ]
    values = np.ones(len(network)) if column is None else network[column].to_numpy(np.float64)
    target = adata.copy() if copy else adata
    target.varp[key_added] = _matrix(rows, values, adata.n_vars, directed)
    params = {"varp_key": key_added, "weight": column or "1", "directed": directed}
    edges = network.reset_index(drop=True).copy()
    edges.attrs = {}
    edges.index = edges.index.astype(str)
    target.uns[key_added] = {
        "params": params | _storable(network.attrs.get("settings") or {}),
        "edges": edges,
    }
    return target if copy else None


def check_storage(expression: object, key_added: str | None, copy: bool) -> None:
    """Refuse to store a result in what is no AnnData, or to copy what is not stored."""
    if key_added is not None and not is_anndata(expression):
        raise ValueError(
            f"key_added: found {key_added!r} with {type(expression).__name__}; expected it only "
            "with an AnnData"
        )
    if copy and key_added is None:
        raise ValueError("copy: found True without key_added; expected a key to store under")


def _weight(network: pd.DataFrame, weight: str | None) -> str | None:
    require_columns(network, ["source", "target", *filter(None, [weight])], "network")
    ranked = network.attrs.get("score")
    if weight is None and ranked in network:
        return str(ranked)
    decimal = [str(name) for name in network if network[name].dtype.kind == "f"]
    return weight or next(iter(decimal), None)


def _matrix(
    rows: list[NDArray[np.int64]], values: NDArray[np.float64], n: int, directed: bool
) -> scipy.sparse.csr_matrix:
    source, target = rows
    if not directed:
        source, target = np.append(source, target), np.append(target, source)
        values = np.tile(values, 2)
    kept = ~np.isnan(values)
    table = pd.DataFrame({"s": source[kept], "t": target[kept], "value": values[kept]})
    table = table.loc[table["value"].abs().sort_values(ascending=False, kind="stable").index]
    table = table.drop_duplicates(["s", "t"])
    # A matrix is what AnnData of every version writes.
    return scipy.sparse.csr_matrix(
        scipy.sparse.csr_array((table["value"], (table["s"], table["t"])), shape=(n, n))
    )


def _storable(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings as AnnData can write them: no None, text for what is neither number nor text."""
    found: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found[str(key)] = _storable(value)
        elif value is not None:
            found[str(key)] = value if isinstance(value, str | int | float) else str(value)
    return found
