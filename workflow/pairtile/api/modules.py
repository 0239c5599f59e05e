"""Modules of a network in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pairtile.errors import require_columns
from pairtile.statistics.modules import leiden_modules, link_communities

METHODS = ("leiden", "links")


def network_modules(
    network: pd.DataFrame,
    *,
    weight: str | None = None,
    method: str = "leiden",
    resolution: float = 1.0,
    seed: int = 1,
) -> pd.DataFrame:
    """Find modules of a network: groups of genes, or of edges, with more edges among them.

    Parameters
    ----------
    network : DataFrame
        Columns ``source`` and ``target``, a row for each edge, as any function here returns it;
        directions are left aside.
    weight : str, optional
        The column that says how strong an edge is; its size counts, and edges of 0 or NaN join
        nothing. None: all edges alike.
    method : {"leiden", "links"}
        ``leiden``: each gene is in one module (Traag et al. 2019, Sci Rep 9:5233). ``links``:
        groups of edges, so that a gene can be in several (Evans and Lambiotte 2009, Phys Rev E
        80:016105).
    resolution : float
        Above 0: the higher, the smaller the modules.
    seed : int
        The same seed, the same modules.

    Returns
    -------
    DataFrame
        ``gene``, ``module`` (1 is the largest), ``degree`` (neighbours) and
        ``degree_in_module``, by module and falling ``degree_in_module``.

    Raises
    ------
    ValueError
        For columns that are not there, an edge of a gene with itself, an unknown method or a
        resolution that is not above 0.
    InputError
        ``links`` of a network whose edges meet too often.

    Examples
    --------
    >>> network = pd.DataFrame({"source": list("aabde"), "target": list("bccee")})[:3]
    >>> more = pd.DataFrame({"source": ["d", "d"], "target": ["e", "f"]})
    >>> network_modules(pd.concat([network, more]))["module"].tolist()
    [1, 1, 1, 2, 2, 2]
    """
    require_columns(network, ["source", "target", *filter(None, [weight])], "network")
    if method not in METHODS:
        raise ValueError(f"method: found {method!r}; expected one of {', '.join(METHODS)}")
    codes, genes = pd.factorize(network[["source", "target"]].to_numpy(dtype=object).ravel())
    i, j = codes.reshape(-1, 2).T
    r = np.ones(len(network)) if weight is None else network[weight].to_numpy(dtype=np.float64)
    pairs = pd.DataFrame({"i": np.minimum(i, j), "j": np.maximum(i, j)})
    if method == "leiden":
        module = leiden_modules(i, j, r, len(genes), resolution=resolution, seed=seed)
        rows = pd.DataFrame({"gene": np.arange(len(genes)), "module": module})
        inside = pairs[module[pairs["i"]] == module[pairs["j"]]]
        within = _neighbours(inside.assign(module=module[inside["i"].to_numpy()]))
    else:
        of_edge = link_communities(i, j, r, len(genes), resolution=resolution, seed=seed)
        within = _neighbours(pairs.assign(module=of_edge))
        rows = within[["gene", "module"]]
    degree = _neighbours(pairs.assign(module=0)).set_index("gene")["degree_in_module"]
    table = rows[rows["module"] > 0].merge(within, how="left", on=["gene", "module"])
    table["degree"] = degree.reindex(table["gene"]).to_numpy()
    table = table.sort_values(
        ["module", "degree_in_module", "gene"], ascending=[True, False, True], ignore_index=True
    )
    table["gene"] = genes[table["gene"].to_numpy()]
    return table[["gene", "module", "degree", "degree_in_module"]]


def _neighbours(edges: pd.DataFrame) -> pd.DataFrame:
    """Of each gene in each module, its distinct neighbours there."""
    single = edges.drop_duplicates()
    ends = pd.concat([single[[end, "module"]].rename(columns={end: "gene"}) for end in ("i", "j")])
    return ends.value_counts(["gene", "module"]).rename("degree_in_module").reset_index()
