"""Which pairs of moving variables become edges: contacts first, then a rule of the section."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.network import Network
from pairtile.methods.trajectory_correlation.config_network import KeepMotionConfig
from pairtile.statistics.correction import benjamini_hochberg

COLUMNS = ("i", "j", "mi_nats", "correlation", "p_value", "dcc")
"""Columns of the pairs table that a network is made from."""

EDGE_COLUMNS = ["source", "target", "mi_nats", "correlation", "p_value", "q_value", "dcc"]

GIRVAN_NEWMAN_EDGES = 2_000
"""From here on Girvan and Newman's communities take minutes, and soon hours."""


def candidate_q_values(
    p_value: NDArray[np.float64], candidate: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Benjamini-Hochberg q-values among the candidates; NaN for other pairs and without p-values.

    p_value : float64 (pairs,), of all pairs. candidate : bool (pairs,), or None for all. What makes
    a pair a candidate (a contact) must not depend on its p-value.
    """
    tested = ~np.isnan(p_value) if candidate is None else candidate & ~np.isnan(p_value)
    q = np.full(p_value.size, np.nan)
    q[tested] = benjamini_hochberg(p_value[tested])
    return q


def motion_network(
    pairs: pd.DataFrame, keep: KeepMotionConfig | str, candidate: NDArray[np.bool_] | None = None
) -> Network:
    """The network of the pairs that are kept, strongest first.

    Parameters
    ----------
    pairs : DataFrame
        All pairs: ``COLUMNS``.
    keep : KeepMotionConfig or "all"
        By ``p_value``, ``fdr``, ``correlation`` (its size) or ``top_edges``.
    candidate : bool array, shape (pairs,), optional
        Pairs that may become edges: those in contact. All without it.

    Returns
    -------
    Network
        Edges ``EDGE_COLUMNS``, by the size of the correlation, equals by their numbers; undirected.
    """
    size = np.abs(pairs["correlation"].to_numpy(dtype=np.float64))
    p = pairs["p_value"].to_numpy(dtype=np.float64)
    q = candidate_q_values(p, candidate)
    may = np.ones(size.size, dtype=bool) if candidate is None else candidate
    order = np.lexsort((pairs["j"], pairs["i"], -size))
    chosen = order[may[order]]
    rule, limit = (keep.rule, keep.bound) if isinstance(keep, KeepMotionConfig) else ("all", None)
    if rule == "top_edges":
        chosen = chosen[: int(limit or 0)]
    elif limit is not None:
        passed = {"p_value": p <= limit, "fdr": q <= limit, "correlation": size >= limit}[rule]
        chosen = chosen[passed[chosen]]
    edges = pairs.iloc[chosen][list(COLUMNS)].rename(columns={"i": "source", "j": "target"})
    edges = edges.assign(q_value=q[chosen])[EDGE_COLUMNS].reset_index(drop=True)
    least = float(size[chosen].min()) if chosen.size else None
    candidates = int(may.sum())
    result = Network(
        edges,
        directed=False,
        counts={"pairs_candidates": candidates, "pairs_kept": len(edges), "edges": len(edges)},
        threshold={"keep": rule, "value": limit, "least_correlation": least},
    )
    if rule == "p_value" and limit is not None and candidates:
        chance = limit * candidates
        result.notes.append(
            f"{len(edges)} of {candidates} pairs have p <= {limit:g}; by chance alone it would be "
            f"about {chance:.0f}. keep: {{fdr: {limit:g}}} corrects for the number of pairs."
        )
    if not len(edges) and candidates:
        result.warnings.append(_why_empty(rule, limit, p, q, size, may))
    return result


def dense_warnings(n_edges: int, communities: tuple[str, ...] | list[str]) -> list[str]:
    """What takes long in a network of so many edges, said before it begins."""
    if "girvan_newman" not in communities or n_edges < GIRVAN_NEWMAN_EDGES:
        return []
    hours = (n_edges / 10_000) ** 2
    long = f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.0f} hours"
    return [
        f"Communities by girvan_newman in a network of {n_edges} edges take of the order of "
        f"{long}: contacts, a stricter keep, or communities: [leiden] are faster."
    ]


def _why_empty(
    rule: str,
    limit: Any,
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    size: NDArray[np.float64],
    may: NDArray[np.bool_],
) -> str:
    strongest = f"the strongest correlation is {size[may].max():.3g}"
    if rule in ("p_value", "fdr"):
        name, values = ("p-value", p) if rule == "p_value" else ("q-value", q)
        return (
            f"No pair has a {name} of at most {limit:g} (the least is {np.nanmin(values[may]):.3g};"
            f" {strongest}): slow motions need longer runs to tell what they share."
        )
    return f"No pair has a correlation of {limit:g} or more: {strongest}."
