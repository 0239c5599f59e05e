"""What ``trajectory_correlation`` returns: all pairs as matrices, the network, and its analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.trajectory_correlation.matrices import correlation_matrix
from pairtile.methods.trajectory_correlation.motion_difference import difference, matched_items
from pairtile.methods.trajectory_correlation.motion_network import candidate_q_values
from pairtile.methods.trajectory_correlation.network import ResidueNetwork
from pairtile.methods.trajectory_correlation.residue_paths import path_ends, shortest_paths
from pairtile.methods.trajectory_correlation.residue_tables import path_table


@dataclass(frozen=True)
class MotionCorrelation:
    """Correlated motion of all pairs of variables.

    Attributes
    ----------
    items : DataFrame
        A row for each variable, in the order of the matrices: ``name``, where it is (``chain``,
        ``resid``, ``resname``, ... of a molecule), ``sd`` (root mean square fluctuation of
        positions), ``correlation_time`` in frames, ``n_effective`` (independent frames).
    pairs : DataFrame
        A row for each pair, i < j: the columns of ``pairs.parquet``.
    network : DataFrame
        The pairs that were kept, strongest first: ``source``, ``target``, ``mi_nats``,
        ``correlation``, ``p_value``, ``q_value``, ``dcc``.
    counts, notes, warnings, device, settings
        How it came about.
    """

    items: pd.DataFrame
    pairs: pd.DataFrame
    network: pd.DataFrame
    labels: pd.Index[Any] | None = field(repr=False)
    contacts: NDArray[np.bool_] | None = field(default=None, repr=False)
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    device: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def matrix(self, column: str = "correlation") -> Any:
        """A column of ``pairs``, or ``q_value``, as a symmetric matrix, NaN on the diagonal.

        A DataFrame with names, or an array where the variables have none. Raises ``ValueError`` for
        a column that is not there.
        """
        pairs = self.pairs
        if column == "q_value":
            q = candidate_q_values(pairs["p_value"].to_numpy(), self.contacts)
            pairs = pairs[["i", "j"]].assign(q_value=q)
        if column not in pairs or column in ("i", "j"):
            there = [name for name in self.pairs.columns if name not in ("i", "j")]
            raise ValueError(
                f"column: found {column!r}; expected one of {', '.join([*there, 'q_value'])}"
            )
        values = correlation_matrix(pairs, self.items, column)
        if self.labels is None:
            return values
        return pd.DataFrame(values, index=self.labels, columns=self.labels, copy=False)

    @property
    def correlation(self) -> Any:
        """Generalized correlation, 0 to 1 (under ``kind="dcc"`` the DCC); see ``matrix``."""
        return self.matrix("correlation")

    @property
    def mi_nats(self) -> Any:
        """Mutual information in nats; see ``matrix``."""
        return self.matrix("mi_nats")

    @property
    def dcc(self) -> Any:
        """Dynamical cross-correlation, -1 to 1; see ``matrix``."""
        return self.matrix("dcc")

    @property
    def p_value(self) -> Any:
        """p-values against time-shifted surrogates; see ``matrix``."""
        return self.matrix("p_value")

    def residue_network(self) -> ResidueNetwork:
        """The network as a graph: ``graph`` (igraph), ``betweenness()``, ``communities()``, ..."""
        number = self._numbers
        i, j = (number.get_indexer(pd.Index(self.network[end])) for end in ("source", "target"))
        return ResidueNetwork.of(len(self.items), i, j, self.network["correlation"])

    def communities(self, method: str = "leiden", seed: int = 1) -> pd.Series:
        """Community of each variable, from 1 (the largest) on; 0 without an edge.

        ``method``: "leiden" or "girvan_newman".
        """
        found = self.residue_network().communities(method, seed)
        return pd.Series(found, index=self._numbers, name="community")

    def betweenness(self) -> pd.Series:
        """Share of the pairs of others whose shortest path runs through each variable."""
        found = self.residue_network().betweenness()
        return pd.Series(found, index=self._numbers, name="betweenness")

    def paths(self, source: Any, target: Any, number: int = 1) -> pd.DataFrame:
        """The ``number`` shortest paths of the network between two variables, shortest first.

        A step is as long as -ln of its correlation. Columns: ``source``, ``target``, ``rank``,
        ``length``, ``n_edges``, ``weakest_correlation``, ``path`` (names with blanks between
        them). One row without ``rank`` where nothing joins the two. Raises ``ConfigError`` for a
        name that is not there.
        """
        ends = path_ends(self.items, [(str(source), str(target))])
        network = self.residue_network()
        found = [shortest_paths(network, start, end, number) for start, end in ends]
        return path_table(self.items, network, ends, found)

    def difference(self, other: MotionCorrelation) -> pd.DataFrame:
        """How pairs that both have differ, this one minus ``other``.

        Variables are matched by name, else by chain, residue number and atom (a mutant). Columns:
        ``source``, ``target``, and of ``correlation``, ``mi_nats`` and ``dcc`` the value here,
        ``_other`` and ``_difference``. Raises ``InputError`` where the two share fewer than two
        variables.
        """
        matched = matched_items(self.items, other.items, ("this", "other"))
        table = difference(self.pairs, other.pairs, matched, len(other.items))
        for place, (end, number) in enumerate((("source", "i"), ("target", "j"))):
            table.insert(place, end, self._numbers[table[number].to_numpy()])
        return table.drop(columns=["i", "j"])

    @property
    def _numbers(self) -> pd.Index[Any]:
        return pd.RangeIndex(len(self.items)) if self.labels is None else self.labels
