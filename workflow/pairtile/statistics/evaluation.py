"""How well a ranking and a network agree with a gold standard, by the rule of DREAM5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.statistics.gold_truth import Truth, read_truth, require_columns
from pairtile.statistics.precision_recall import ranking_curve

TOP_EDGES = 100_000
"""Edges of a ranking that DREAM5 looks at."""

CURVE_POINTS = 500

UNIVERSES = ("auto", "all", "targets")

MOST_VERDICTS = 1_000_000
"""Rows of a network of which each one's verdict is kept."""


def evaluate(
    ranking: pd.DataFrame,
    gold: pd.DataFrame,
    *,
    genes: Sequence[str],
    regulators: Sequence[str] | None = None,
    directed: bool = True,
    network: pd.DataFrame | None = None,
    network_directed: bool | None = None,
    universe: str = "auto",
    top: int = TOP_EDGES,
) -> dict[str, Any]:
    """Score a ranking of edges, and a final network, against known regulator -> target edges.

    **Ranking.** Candidates are all regulator -> gene edges but self edges. The ``top`` best
    scores are taken; those that the gold standard does not judge are left out; all judged
    candidates not among them follow in random order. AUPR is the trapezoid area over 1 - 1/P, as
    in the DREAM5 scorer. Tied scores count as on average over all orders, so the figures do not
    depend on the order of rows.

    **What is judged** (``universe``). A gold standard from curation names few of a genome's
    genes, and a gene with no known regulator says nothing: ``targets`` judges only edges to genes
    that are a target in it. A simulation's gold standard is complete: ``all`` judges every
    candidate. ``auto`` is ``all`` if the gold standard names at least three quarters of the
    genes, else ``targets``.

    **Network.** An undirected network (``network_directed=False``) is judged on unordered pairs,
    a pair being true if either direction is. An edge counts once, however many rows it has (a
    multimodal network has one for each mode of a pair).

    Parameters
    ----------
    ranking : DataFrame
        Columns ``source``, ``target`` (names, or row numbers of ``genes``) and ``score`` (higher
        is better; NaN rows are left out). Rows that are no candidates are left out and counted.
    gold : DataFrame
        Columns ``source``, ``target`` (names). Self edges, repeats, and edges with a gene that is
        not in ``genes`` or a source that is no regulator are left out and counted.
    genes : sequence of str
        All genes that were scored.
    regulators : sequence of str, optional
        Who may be a source. Without it, every gene.
    directed : bool
        Whether a row of ``ranking`` stands for source -> target only, or for both directions (as
        far as they are candidates) with one score, as plain MI does.
    network : DataFrame, optional
        Columns ``source``, ``target`` of the final network.
    network_directed : bool, optional
        As ``directed``, for ``network``; the same unless given.
    universe : {"auto", "all", "targets"}
    top : int

    Returns
    -------
    dict, ready for JSON
        ``rule``, ``universe``, ``top``; ``aupr``, ``auroc``, ``random_aupr`` (share of true
        candidates); ``n_gold_edges`` and ``n_candidates`` (judged), ``n_ranked`` (judged and
        among the top), ``n_ranking_rows_ignored``; ``n_gold_read``, ``n_gold_self``,
        ``n_gold_outside_table``, ``n_gold_source_not_regulator``, ``n_gold_repeated``;
        ``curve`` (``recall``, ``precision``, up to 500 points); ``network`` (or None) with
        ``directed``, ``n_edges``, ``n_edges_judged``, ``true_positives``, ``false_positives``,
        ``false_negatives``, ``true_negatives``, ``precision`` (None without an edge), ``recall``,
        ``sensitivity`` (the same), ``specificity``, ``verdicts`` (a character for each row: "+"
        true, "-" false, "." not judged; None for more than a million rows).

    Raises
    ------
    ValueError
        If no gold edge, or nothing else, is left among the candidates; for repeated genes or
        edges of the ranking, names that are not in ``genes``, or an unknown ``universe``.

    Notes
    -----
    Source: Marbach et al. 2012, Nature Methods 9:796 (DREAM5, evaluation script); Stolovitzky et
    al. 2009, Ann. N.Y. Acad. Sci. 1158:159 (random completion of a cut ranking).
    """
    if universe not in UNIVERSES:
        raise ValueError(f"universe is {universe!r}; expected one of {', '.join(UNIVERSES)}")
    index = pd.Index(genes)
    if not index.is_unique:
        raise ValueError(f"gene {index[index.duplicated()][0]!r} is named twice; expected once")
    is_source = np.ones(len(index), dtype=bool)
    if regulators is not None:
        is_source = np.asarray(index.isin(list(regulators)))
    truth, counts = read_truth(gold, index, is_source, universe)

    require_columns(ranking, ("source", "target", "score"), "ranking")
    source, target = _numbers(ranking, index, "ranking")
    score = ranking["score"].to_numpy(dtype=np.float64)
    scored = ~np.isnan(score)
    edge, score, n_ignored = _candidates(
        source[scored], target[scored], score[scored], is_source, directed
    )
    edge, score = _strongest(edge, score, top)
    _refuse_repeated(edge, index)
    judged = truth.judges(edge)
    curve, n_ranked = ranking_curve(
        score,
        judged,
        np.isin(edge, truth.edges),
        top=top,
        n_candidates=truth.n_candidates,
        n_positives=len(truth.edges),
    )
    recall, precision = curve.points(CURVE_POINTS)
    if network_directed is None:
        network_directed = directed
    return {
        "rule": "DREAM5",
        "universe": truth.universe,
        "top": top,
        "aupr": curve.aupr(),
        "auroc": curve.auroc(),
        "random_aupr": len(truth.edges) / truth.n_candidates,
        "n_gold_edges": len(truth.edges),
        "n_candidates": truth.n_candidates,
        "n_ranked": n_ranked,
        "n_ranking_rows_ignored": n_ignored + int((~scored).sum()),
        **counts,
        "network": (
            None if network is None else _judge_network(network, index, truth, network_directed)
        ),
        "curve": {"recall": recall.tolist(), "precision": precision.tolist()},
    }


def _numbers(
    table: pd.DataFrame, index: pd.Index[Any], what: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of the sources and targets, from names or from row numbers."""
    ends = []
    require_columns(table, ("source", "target"), what)
    for column in ("source", "target"):
        values = table[column]
        if pd.api.types.is_integer_dtype(values.dtype):
            number = values.to_numpy(dtype=np.int64)
            known = (number >= 0) & (number < len(index))
        else:
            number = index.get_indexer(pd.Index(values)).astype(np.int64)
            known = number >= 0
        if not known.all():
            wrong = values.iloc[int(np.flatnonzero(~known)[0])]
            raise ValueError(f"{what}: {column} {wrong} is not among the genes")
        ends.append(number)
    return ends[0], ends[1]


def _candidates(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    score: NDArray[np.float64],
    is_source: NDArray[np.bool_],
    directed: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Numbers and scores of the candidate edges that the rows stand for, and rows with none."""
    n_genes = len(is_source)
    forward = is_source[source] & (source != target)
    edge, value = (source * n_genes + target)[forward], score[forward]
    if directed:
        return edge, value, int((~forward).sum())
    backward = is_source[target] & (source != target)
    edge = np.concatenate([edge, (target * n_genes + source)[backward]])
    value = np.concatenate([value, score[backward]])
    return edge, value, int((~(forward | backward)).sum())


def _strongest(
    edge: NDArray[np.int64], score: NDArray[np.float64], top: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Leave out what comes after the cut, so that a long ranking need not be sorted."""
    if len(score) <= top:
        return edge, score
    last = np.partition(score, len(score) - top)[len(score) - top]
    reached = score >= last - 1e-9 * np.abs(score).max()  # keeps every tie with the last whole
    return edge[reached], score[reached]


def _refuse_repeated(edge: NDArray[np.int64], index: pd.Index[Any]) -> None:
    ascending = np.sort(edge)
    repeated = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(repeated):
        source, target = divmod(int(ascending[repeated[0]]), len(index))
        raise ValueError(
            f"edge {index[source]!r} -> {index[target]!r} occurs twice; expected once "
            "(an undirected edge has one row)"
        )


def _judge_network(
    network: pd.DataFrame, index: pd.Index[Any], truth: Truth, directed: bool
) -> dict[str, Any]:
    source, target = _numbers(network, index, "network")
    n = truth.n_genes
    edge = source * n + target
    is_judged, true_edges, n_candidates = truth.judges(edge), truth.edges, truth.n_candidates
    if not directed:
        is_judged |= truth.judges(target * n + source)
        edge = np.minimum(source, target) * n + np.maximum(source, target)
        ends = np.divmod(truth.edges, n)
        true_edges = np.unique(np.minimum(*ends) * n + np.maximum(*ends))
        n_candidates = truth.n_candidate_pairs
    edge, first, of_row = np.unique(edge, return_index=True, return_inverse=True)
    is_judged = is_judged[first]
    n_judged = int(is_judged.sum())
    is_true = is_judged & np.isin(edge, true_edges)
    true_positives = int(is_true.sum())
    verdicts = None
    if len(network) <= MOST_VERDICTS:
        of_edge = np.where(is_true, "+", np.where(is_judged, "-", "."))
        verdicts = "".join(of_edge[of_row].tolist())
    false_positives = n_judged - true_positives
    false_negatives = len(true_edges) - true_positives
    true_negatives = n_candidates - len(true_edges) - false_positives
    negatives = true_negatives + false_positives
    sensitivity = true_positives / len(true_edges)
    return {
        "directed": directed,
        "n_edges": len(edge),
        "n_edges_judged": n_judged,
        "true_positives": true_positives,
        "false_positives": false_positives,
        "false_negatives": false_negatives,
        "true_negatives": true_negatives,
        "precision": true_positives / n_judged if n_judged else None,
        "recall": sensitivity,
        "sensitivity": sensitivity,
        "specificity": true_negatives / negatives if negatives else None,
        "verdicts": verdicts,
    }
