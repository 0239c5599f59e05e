"""Tables of residues, their communities, and the paths between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation.network import ResidueNetwork
from pairtile.methods.trajectory_correlation.residue_paths import ResiduePath
from pairtile.runtime.files import atomic_path

PLACE = ("name", "chain", "resid", "icode", "resname", "atom", "domain", "secondary_structure")
"""Columns of the items table that say where a variable lies; those that are there are taken."""

MOTION = ("sd", "correlation_time", "n_effective")
"""Columns of the items table that say how it moves."""


def residue_table(
    items: pd.DataFrame,
    network: ResidueNetwork,
    communities: Mapping[str, NDArray[np.integer[Any]]],
    betweenness: NDArray[np.float64] | None = None,
    mean_correlation: NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """One row for each variable that is paired, in the order of items (``residues.tsv``).

    | column | meaning |
    |---|---|
    | item | number in ``items.parquet`` |
    | name, chain, resid, icode, resname, atom, domain, secondary_structure | as there |
    | community_METHOD | community, from 1 (the largest) on; 0 for none |
    | betweenness | share of pairs of others whose shortest path runs through it |
    | degree | edges of the network |
    | strength | sum of the sizes of their correlations |
    | mean_correlation | mean size of the correlation with all others, in the network or not |
    | sd, correlation_time, n_effective | as in the items table |

    ``communities``: by method, as ``ResidueNetwork.communities`` gives them. ``betweenness``: where
    it is known already, or too much to ask for (NaN).
    """
    kept = _kept(items, network)
    table = kept[[column for column in PLACE if column in kept]].copy()
    table.insert(0, "item", kept.index.to_numpy(dtype=np.int32))
    for method, found in communities.items():
        table[f"community_{method}"] = np.asarray(found)
    table["betweenness"] = network.betweenness() if betweenness is None else betweenness
    table["degree"] = network.degree()
    ends = network.ends.ravel()
    weights = np.repeat(network.correlation, 2)
    table["strength"] = np.bincount(ends, weights, minlength=network.n_nodes)
    if mean_correlation is not None:
        table["mean_correlation"] = mean_correlation
    for column in MOTION:
        if column in kept:
            table[column] = kept[column].to_numpy()
    return table.reset_index(drop=True)


def community_table(
    items: pd.DataFrame,
    network: ResidueNetwork,
    communities: Mapping[str, NDArray[np.integer[Any]]],
) -> pd.DataFrame:
    """One row for each community of each method, the largest first (``communities.tsv``).

    | column | meaning |
    |---|---|
    | method | leiden or girvan_newman |
    | community | number, as in ``residues.tsv`` |
    | n_members | variables in it |
    | edges_within, edges_out | edges of the network within it, and to others |
    | mean_correlation | of the edges within, by size |
    | modularity | of the whole division |
    | members | names, separated by blanks |
    """
    names = _kept(items, network)["name"].astype(str).to_numpy(dtype=object)
    rows = []
    for method, found in communities.items():
        member = np.asarray(found)
        score = network.modularity(member)
        at = member[network.ends]
        for number in range(1, int(member.max(initial=0)) + 1):
            inside = (at == number).all(axis=1)
            touching = (at == number).any(axis=1)
            within = network.correlation[inside]
            rows.append(
                {
                    "method": method,
                    "community": number,
                    "n_members": int((member == number).sum()),
                    "edges_within": int(inside.sum()),
                    "edges_out": int((touching & ~inside).sum()),
                    "mean_correlation": float(within.mean()) if within.size else np.nan,
                    "modularity": score,
                    "members": " ".join(names[member == number]),
                }
            )
    columns = ["method", "community", "n_members", "edges_within", "edges_out"]
    return pd.DataFrame(rows, columns=[*columns, "mean_correlation", "modularity", "members"])


def path_table(
    items: pd.DataFrame,
    network: ResidueNetwork,
    ends: Sequence[tuple[int, int]],
    paths: Sequence[Sequence[ResiduePath]],
) -> pd.DataFrame:
    """One row for each path, those of the same ends together, shortest first (``paths.tsv``).

    | column | meaning |
    |---|---|
    | source, target | names of the ends |
    | rank | from 1; empty where no path joins the two |
    | length | sum of -ln of the correlations along it |
    | n_edges | edges |
    | weakest_correlation | the least along it, by size |
    | path | names from one end to the other, separated by blanks |
    """
    names = _kept(items, network)["name"].astype(str).tolist()
    size = {
        (min(a, b), max(a, b)): value
        for (a, b), value in zip(network.ends.tolist(), network.correlation.tolist(), strict=True)
    }
    rows: list[dict[str, Any]] = []
    for (start, end), found in zip(ends, paths, strict=True):
        between = {"source": names[start], "target": names[end]}
        if not found:
            rows.append({**between, "rank": None, "path": ""})
        for rank, path in enumerate(found, start=1):
            steps = zip(path.nodes, path.nodes[1:], strict=False)
            rows.append(
                {
                    **between,
                    "rank": rank,
                    "length": path.length,
                    "n_edges": len(path.nodes) - 1,
                    "weakest_correlation": min(size[min(a, b), max(a, b)] for a, b in steps),
                    "path": " ".join(names[node] for node in path.nodes),
                }
            )
    columns = ["source", "target", "rank", "length", "n_edges", "weakest_correlation", "path"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"rank": "Int32", "n_edges": "Int32", "length": np.float64})


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as tab-separated text, whole or not at all; missing values are empty."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, sep="\t", index=False, lineterminator="\n", encoding="utf-8")


def _kept(items: pd.DataFrame, network: ResidueNetwork) -> pd.DataFrame:
    numbered = items.reset_index(drop=True)
    kept = numbered[numbered["kept"].to_numpy(dtype=bool)]
    if len(kept) != network.n_nodes:
        raise ValueError(f"{len(kept)} kept items, but a network of {network.n_nodes}")
    return kept
