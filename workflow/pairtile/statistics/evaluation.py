"""How well a ranking and a network agree with a gold standard, by the rule of DREAM5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pairtile.arrays import BoolArray, Float64Array, Int64Array
from pairtile.errors import require_columns

WHOLE_TABLE = 0.75
"""A gold standard that names this share of the table's genes is taken to judge all of them."""


@dataclass(frozen=True)
class Truth:
    """The gold standard in numbers; edge source -> target is ``source * n_genes + target``.

    universe : ``all`` or ``targets``: see ``pairtile.evaluate``. edges : those that are true and
    judged, ascending. is_source, is_judged_target : of each gene, whether it may be a source, and
    whether edges to it are judged.
    """

    universe: str
    edges: Int64Array
    is_source: BoolArray
    is_judged_target: BoolArray

    @property
    def n_genes(self) -> int:
        """Genes of the table."""
        return len(self.is_source)

    @property
    def n_candidates(self) -> int:
        """Judged edges, true or not."""
        both_roles = int((self.is_source & self.is_judged_target).sum())
        return int(self.is_source.sum()) * int(self.is_judged_target.sum()) - both_roles

    @property
    def n_candidate_pairs(self) -> int:
        """Unordered pairs with a judged direction."""
        both_roles = int((self.is_source & self.is_judged_target).sum())
        return self.n_candidates - both_roles * (both_roles - 1) // 2

    def judges(self, edge: Int64Array) -> BoolArray:
        """Which of these edges are candidates."""
        source, target = edge // self.n_genes, edge % self.n_genes
        return self.is_source[source] & self.is_judged_target[target] & (source != target)


def read_truth(
    gold: pd.DataFrame, index: pd.Index[str], is_source: BoolArray, universe: str
) -> tuple[Truth, dict[str, int]]:
    """Known edges (columns ``source``, ``target``: names) as numbers of the genes in ``index``.

    is_source : bool (G,), who may be a source. universe : auto, all or targets.

    Returns the truth, and counts of what was left out and why, named as in the result of
    ``pairtile.evaluate``. Raises ValueError if no edge, or nothing else, is left.
    """
    require_columns(gold, ("source", "target"), "gold standard")
    source = index.get_indexer(pd.Index(gold["source"]))
    target = index.get_indexer(pd.Index(gold["target"]))
    is_self = (gold["source"] == gold["target"]).to_numpy()
    outside = ~is_self & ((source < 0) | (target < 0))
    not_regulator = ~is_self & ~outside & ~is_source[source]
    usable = ~(is_self | outside | not_regulator)
    edges = np.unique(source[usable].astype(np.int64) * len(index) + target[usable])
    counts = {
        "n_gold_read": len(gold),
        "n_gold_self": int(is_self.sum()),
        "n_gold_outside_table": int(outside.sum()),
        "n_gold_source_not_regulator": int(not_regulator.sum()),
        "n_gold_repeated": int(usable.sum()) - len(edges),
    }
    if len(edges) == 0:
        strange = next(iter([*gold["source"][source < 0], *gold["target"][target < 0]]), "")
        reasons = {
            "to itself": "self",
            f"with a name that is not in the table, such as {strange!r}": "outside_table",
            "from a name that is no regulator": "source_not_regulator",
        }
        why = ", ".join(
            f"{counts[f'n_gold_{key}']} {words}"
            for words, key in reasons.items()
            if counts[f"n_gold_{key}"]
        )
        raise ValueError(
            f"none of the {len(gold)} gold standard edges goes from a regulator to another name "
            f"in the table ({why or 'the list is empty'}); expected at least one"
        )
    if universe == "auto":
        named = len(np.unique(np.concatenate([edges // len(index), edges % len(index)])))
        universe = "all" if named >= WHOLE_TABLE * len(index) else "targets"
    is_judged_target = np.full(len(index), universe == "all")
    is_judged_target[edges % len(index)] = True
    truth = Truth(universe, edges, is_source, is_judged_target)
    if truth.n_candidates == len(edges):
        raise ValueError(
            "every candidate edge is true (only targets that the gold standard names are judged); "
            "expected some that are not, from another source"
        )
    return truth, counts


# Precision-recall and ROC curves of a ranking that is cut off and may hold ties (DREAM5 rule).


@dataclass(frozen=True)
class RankingCurve:
    """True positives among the first k candidates, for every k, as a broken line.

    ``ranks`` (int64) and ``true_positives`` (float64), both of shape (K,), ascending, are its
    corners: from (0, 0) to (``n_candidates``, ``n_positives``). A straight piece over many ranks
    is a set of candidates in random order: tied ones, or all that come after the ranking's end.
    """

    ranks: Int64Array
    true_positives: Float64Array

    @property
    def n_candidates(self) -> int:
        """All candidates, ranked or not."""
        return int(self.ranks[-1])

    @property
    def n_positives(self) -> float:
        """Candidates that are true."""
        return float(self.true_positives[-1])

    def aupr(self) -> float:
        """Area under precision(recall), by trapezoids from rank 1 on, over 1 - 1/P (DREAM5).

        The divisor makes a perfect ranking score 1, since recall starts at 1/P. With one positive
        there is no such area: precision is then averaged over the steps of recall.
        """
        from scipy.special import digamma

        total = self.n_positives
        first = self.true_positives[1] / self.ranks[1]
        inner = self.ranks > 1
        k = np.concatenate([[1], self.ranks[inner]]).astype(np.float64)
        tp = np.concatenate([[first], self.true_positives[inner]])
        # Along a straight piece tp(k) = offset + slope k, so precision is slope + offset / k and
        # the sum of all its trapezoids, one for each rank, is a difference of harmonic numbers.
        steps = np.diff(k)
        slope = np.diff(tp) / steps
        offset = tp[:-1] - slope * k[:-1]
        harmonic = np.diff(digamma(k)) + np.diff(1.0 / k) / 2
        area = float(np.sum(slope * (slope * steps + offset * harmonic))) / total
        return area / (1 - 1 / total) if total > 1 else area + first * first / total

    def auroc(self) -> float:
        """Area under the ROC curve: the chance that a true candidate comes before a false one."""
        tp = self.true_positives
        fp = self.ranks - tp
        area = np.sum(np.diff(fp) * (tp[1:] + tp[:-1]) / 2)
        return float(area / (fp[-1] * tp[-1]))

    def points(self, n_points: int) -> tuple[Float64Array, Float64Array]:
        """Recall and precision at every rank, or at up to ``n_points`` evenly in log(rank)."""
        if self.n_candidates <= n_points:
            ranks = np.arange(1, self.n_candidates + 1)
        else:
            spaced = np.geomspace(1, self.n_candidates, n_points)
            ranks = np.unique(np.round(spaced).astype(np.int64))
        tp = np.interp(ranks, self.ranks, self.true_positives)
        return tp / self.n_positives, tp / ranks


def ranking_curve(
    score: Float64Array,
    is_judged: BoolArray,
    is_positive: BoolArray,
    *,
    top: int,
    n_candidates: int,
    n_positives: int,
) -> tuple[RankingCurve, int]:
    """Make the curve of a ranking; also return how many judged candidates it ranks.

    The ``top`` highest scores are taken, then those that the gold standard does not judge are
    left out, as the DREAM5 scorer does. Tied candidates share their true positives evenly, as on
    average over all orders; so do those of a tie that the cut at ``top`` falls into. All other
    candidates follow in random order.

    Parameters
    ----------
    score [shape: (M,)]
        Higher is better, in any order, no NaN.
    is_judged, is_positive [shape: (M,)]
        Whether the gold standard speaks about the candidate, and says it is true.
    n_candidates, n_positives
        Judged candidates and true ones in all, ranked or not.
    """
    if len(score) == 0:
        return RankingCurve(np.array([0, n_candidates]), np.array([0.0, n_positives])), 0
    order = np.argsort(-score, kind="stable")
    score, is_judged, is_positive = score[order], is_judged[order], is_positive[order]
    # Scores that differ by rounding only are tied.
    close = 1e-12 * np.abs(score).max()
    ends = np.append(np.flatnonzero(score[:-1] - score[1:] > close) + 1, len(score))
    starts = np.concatenate([[0], ends[:-1]])
    judged = np.add.reduceat(is_judged.astype(np.int64), starts)
    positive = np.add.reduceat(is_positive.astype(np.float64), starts)

    taken = starts < top
    starts, ends, judged, positive = starts[taken], ends[taken], judged[taken], positive[taken]
    if ends[-1] > top and judged[-1] > 0:
        part = round(int(judged[-1]) * (top - int(starts[-1])) / int(ends[-1] - starts[-1]))
        positive[-1] *= part / judged[-1]
        judged[-1] = part
    filled = judged > 0
    ranks = np.concatenate([[0], np.cumsum(judged[filled])])
    true_positives = np.concatenate([[0.0], np.cumsum(positive[filled])])
    n_ranked = int(ranks[-1])
    if n_ranked < n_candidates:
        ranks = np.append(ranks, n_candidates)
        true_positives = np.append(true_positives, float(n_positives))
    return RankingCurve(ranks, true_positives), n_ranked


TOP_EDGES = 100_000
"""Edges of a ranking that DREAM5 looks at."""

UNIVERSES = ("auto", "all", "targets")


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
        Columns ``source``, ``target`` (names; the library takes versions of accessions and other
        capitals, too, where one gene alone is meant). Self edges, repeats, and edges with a gene
        that is not in ``genes`` or a source that is no regulator are left out and counted.
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
        candidates), ``aupr_undirected`` and ``random_aupr_undirected`` (of unordered pairs, at the
        better score of the two directions, true if either is); ``n_gold_edges`` and
        ``n_candidates`` (judged), ``n_ranked`` (judged and among the top),
        ``n_ranking_rows_ignored``; ``n_gold_read``, ``n_gold_self``, ``n_gold_outside_table``,
        ``n_gold_source_not_regulator``, ``n_gold_repeated``; ``curve`` (``recall``, ``precision``,
        up to 500 points); ``network`` (or None) with ``directed``, ``n_edges``, ``n_edges_judged``,
        ``true_positives``, ``false_positives``, ``false_negatives``, ``true_negatives``,
        ``precision`` (None without an edge), ``recall``, ``sensitivity`` (the same),
        ``specificity``, ``verdicts`` (a character for each row: "+" true, "-" false, "." not
        judged; None for more than a million rows).

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
    is_source = np.asarray(index.isin(list(index if regulators is None else regulators)))
    truth, counts = read_truth(gold, index, is_source, universe)

    require_columns(ranking, ("source", "target", "score"), "ranking")
    source, target = _numbers(ranking, index, "ranking")
    score = ranking["score"].to_numpy(dtype=np.float64)
    scored = ~np.isnan(score)
    edge, score, n_ignored = _candidates(
        source[scored], target[scored], score[scored], is_source, directed
    )
    pair_curve = _curve_of_pairs(edge, score, truth, top)
    edge, score = _strongest(edge, score, top)
    ascending = np.sort(edge)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if repeated.size:
        one, other = (index[number] for number in divmod(int(repeated[0]), len(index)))
        raise ValueError(
            f"edge {one!r} -> {other!r} occurs twice; expected once "
            "(an undirected edge has one row)"
        )
    judged = truth.judges(edge)
    curve, n_ranked = ranking_curve(
        score,
        judged,
        np.isin(edge, truth.edges),
        top=top,
        n_candidates=truth.n_candidates,
        n_positives=len(truth.edges),
    )
    recall, precision = curve.points(500)
    if network_directed is None:
        network_directed = directed
    return {
        "rule": "DREAM5",
        "universe": truth.universe,
        "top": top,
        "aupr": curve.aupr(),
        "auroc": curve.auroc(),
        "random_aupr": len(truth.edges) / truth.n_candidates,
        "aupr_undirected": pair_curve.aupr(),
        "random_aupr_undirected": pair_curve.n_positives / truth.n_candidate_pairs,
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


def _numbers(table: pd.DataFrame, index: pd.Index[str], what: str) -> tuple[Int64Array, Int64Array]:
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
    source: Int64Array,
    target: Int64Array,
    score: Float64Array,
    is_source: BoolArray,
    directed: bool,
) -> tuple[Int64Array, Float64Array, int]:
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


def _curve_of_pairs(edge: Int64Array, score: Float64Array, truth: Truth, top: int) -> RankingCurve:
    edge, score = _strongest(edge, score, 2 * top)  # the top pairs are among them
    pair = _unordered(edge, truth.n_genes)
    order = np.lexsort((-score, pair))
    pair, first = np.unique(pair[order], return_index=True)
    true_pairs = np.unique(_unordered(truth.edges, truth.n_genes))
    low, high = pair // truth.n_genes, pair % truth.n_genes
    return ranking_curve(
        score[order][first],
        truth.judges(pair) | truth.judges(high * truth.n_genes + low),
        np.isin(pair, true_pairs),
        top=top,
        n_candidates=truth.n_candidate_pairs,
        n_positives=len(true_pairs),
    )[0]


def _unordered(edge: Int64Array, n_genes: int) -> Int64Array:
    """Number of each edge in the direction from its lower to its higher gene."""
    source, target = edge // n_genes, edge % n_genes
    return np.minimum(source, target) * n_genes + np.maximum(source, target)


def _strongest(edge: Int64Array, score: Float64Array, top: int) -> tuple[Int64Array, Float64Array]:
    """Leave out what comes after the cut, so that a long ranking need not be sorted."""
    if len(score) <= top:
        return edge, score
    last = np.partition(score, len(score) - top)[len(score) - top]
    reached = score >= last - 1e-9 * np.abs(score).max()  # keeps every tie with the last whole
    return edge[reached], score[reached]


def _judge_network(
    network: pd.DataFrame, index: pd.Index[str], truth: Truth, directed: bool
) -> dict[str, float | str | None]:
    source, target = _numbers(network, index, "network")
    n = truth.n_genes
    edge = source * n + target
    is_judged, true_edges, n_candidates = truth.judges(edge), truth.edges, truth.n_candidates
    if not directed:
        is_judged |= truth.judges(target * n + source)
        edge, true_edges = _unordered(edge, n), np.unique(_unordered(truth.edges, n))
        n_candidates = truth.n_candidate_pairs
    edge, first, edge_of_row = np.unique(edge, return_index=True, return_inverse=True)
    is_judged = is_judged[first]
    n_judged = int(is_judged.sum())
    is_true = is_judged & np.isin(edge, true_edges)
    true_positives = int(is_true.sum())
    verdicts = None
    if len(network) <= 1_000_000:
        of_edge = np.where(is_true, "+", np.where(is_judged, "-", "."))
        verdicts = "".join(of_edge[edge_of_row].tolist())
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
