"""A network with its genes, checked: what every writer is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pairtile.errors import require_columns
from pairtile.io.names import check_characters, rows_of
from pairtile.method import sign_column, value_columns

NODE_COLUMNS = (
    *("item", "symbol", "table", "role", "is_regulator", "degree", "module"),
    *("community_leiden", "community_girvan_newman", "domain", "n_observed", "mean", "sd"),
    *("chain", "resid", "icode", "resname", "secondary_structure"),
    *("betweenness", "closeness", "eigenvector"),
)
"""Columns of the items table that become attributes of a node; ``role`` and ``degree`` are made."""


Scalar = str | int | float | bool


@dataclass(frozen=True)
class NetworkTable:
    """A network as the writers take it.

    ``edges`` has the columns ``source``, ``target`` and ``columns``; ``genes`` is the items table
    of the kept genes, in order; ``source`` and ``target`` are the edges' ends as row numbers of
    ``genes``, int64, shape (edges,). ``score_column``: the column that ranks the edges.
    ``value_column``: the column of what an edge is worth in one number, in its own unit.
    ``method``: what made them, "" where that is not known. ``sign_column``: the column whose sign
    is that of the relation; edges that it ranks are strong by its size.
    """

    edges: pd.DataFrame
    genes: pd.DataFrame
    source: np.ndarray
    target: np.ndarray
    directed: bool
    name: str
    metadata: dict[str, Scalar]
    score_column: str
    value_column: str
    method: str
    sign_column: str | None

    @classmethod
    def build(
        cls,
        network: pd.DataFrame,
        items: pd.DataFrame,
        *,
        directed: bool,
        name: str = "",
        metadata: Mapping[str, Scalar | None] | None = None,
        score: str | None = None,
        value: str | None = None,
    ) -> NetworkTable:
        """Check and number a network. Raises as ``export_network`` says."""
        require_columns(network, ("source", "target"), "network")
        method = str((metadata or {}).get("method") or "")
        numbers = value_columns(network, method) or [
            str(name) for name in network if pd.api.types.is_float_dtype(network[name])
        ]
        if not numbers:
            raise ValueError("the network has no column of real numbers")
        genes = items[items["kept"].to_numpy(dtype=bool)] if "kept" in items else items
        genes = genes.reset_index(drop=True)
        index = pd.Index(genes["name"].astype(object))
        if not index.is_unique:
            raise ValueError(f"gene {index[index.duplicated()][0]!r} is named twice in items")
        check_characters("network", "gene", index)
        source, target = (
            rows_of(end, network[end].astype(object), index, "kept genes of the items table")
            for end in ("source", "target")
        )
        if score is None or score not in network:
            # The first that holds a number; of empty ones the first.
            score = next((name for name in numbers if network[name].notna().any()), numbers[0])
        return cls(
            edges=network.reset_index(drop=True),
            genes=genes,
            source=source,
            target=target,
            directed=directed,
            name=name,
            metadata={str(k): _scalar(v) for k, v in (metadata or {}).items() if v is not None},
            score_column=score,
            value_column=score if value is None or value not in network else value,
            method=method,
            sign_column=sign_column(network, method),
        )

    @property
    def columns(self) -> list[str]:
        """The columns of ``edges`` beside ``source`` and ``target``."""
        return [str(c) for c in self.edges.columns if c not in ("source", "target")]

    @property
    def names(self) -> list[str]:
        """Names of the kept genes, in order."""
        return self.genes["name"].astype(str).tolist()

    @property
    def is_regulator(self) -> np.ndarray:
        """Which kept genes are regulators, bool; all false without a regulator list."""
        return self.genes.get("is_regulator", pd.Series(False, self.genes.index)).to_numpy(
            dtype=bool
        )

    def end_pairs(self) -> np.ndarray:
        """Both ends of each edge, int64, shape (edges, 2); the lower first if undirected."""
        pairs = np.stack([self.source, self.target], axis=1)
        return pairs if self.directed else np.sort(pairs, axis=1)

    @property
    def edges_by_number(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers of both genes and strength of each edge between two genes, (edges,)."""
        apart = self.source != self.target
        weight = self.edges[self.value_column].abs().to_numpy(dtype=np.float64)
        return self.source[apart], self.target[apart], weight[apart]

    def linked_genes(self) -> np.ndarray:
        """Rows of ``genes`` with at least one edge, ascending."""
        return np.unique(np.concatenate([self.source, self.target]))

    def strongest(self) -> np.ndarray:
        """Rows of ``edges`` from the strongest to the weakest; ties in order, NaN last."""
        score = self.edges[self.score_column].to_numpy(dtype=np.float64)
        score = np.abs(score) if self.score_column == self.sign_column else score
        return np.argsort(-score, kind="stable")

    def directed_edges(self) -> pd.DataFrame:
        """Each edge as ``source``, ``target`` (rows of ``genes``) and ``rank`` (from 0, the
        strongest); the index says which row of ``edges`` it is. Those of an undirected network are
        there in both directions."""
        edges = pd.DataFrame(
            {"source": self.source, "target": self.target, "rank": np.argsort(self.strongest())}
        )
        if self.directed:
            return edges
        return pd.concat([edges, edges.rename(columns={"source": "target", "target": "source"})])

    @property
    def degree(self) -> np.ndarray:
        """Edges at each kept gene, both ends counted, int64."""
        return np.bincount(np.concatenate([self.source, self.target]), minlength=len(self.genes))

    def node_records(self, rows: np.ndarray) -> list[dict[str, Scalar]]:
        """Attributes of the genes ``rows``, without the name; missing values are left out.

        ``role`` (regulator or target) only where there are regulators.
        """
        genes = self.genes.assign(degree=self.degree)
        if self.is_regulator.any():
            genes["role"] = np.where(self.is_regulator, "regulator", "target")
        return _records(genes.iloc[rows][[c for c in NODE_COLUMNS if c in genes]])

    def edge_records(self) -> list[dict[str, Scalar]]:
        """Attributes of the edges; missing values, and nodes' symbols, are left out."""
        symbols = ("source_symbol", "target_symbol")
        return _records(self.edges[[c for c in self.columns if c not in symbols]])


def _records(frame: pd.DataFrame) -> list[dict[str, Scalar]]:
    """Rows as dictionaries of plain Python values, without the missing ones."""
    names, missing = [*map(str, frame)], frame.isna().to_numpy()
    rows = frame.itertuples(index=False, name=None)
    records = [dict(zip(names, row, strict=True)) for row in rows]
    for row in np.flatnonzero(missing.any(axis=1)):
        found = zip(records[row].items(), missing[row], strict=True)
        records[row] = {column: value for (column, value), skip in found if not skip}
    return records


def _scalar(value: object) -> Scalar:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (str, bool, int, float)) else str(value)
