"""From the merged pairs of genes to edges: the one place where p- and q-values, ``keep``, DPI,
scores and the bootstrap consensus come together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.arrays import BoolArray, DeviceArray, Float64Array, Int32Array, Int64Array
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import MergedResults
from pairtile.engine.network import Network, sort_edges
from pairtile.engine.selection import RunningTopK
from pairtile.methods.mutual_information.bootstrap import bootstrap_consensus, low_selection_bound
from pairtile.methods.mutual_information.config import (
    BootstrapsConfig,
    DpiConfig,
)
from pairtile.methods.mutual_information.context_scores import Moments, SourceTarget
from pairtile.methods.mutual_information.dpi import prune
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.kernels.distinct_q_values import distinct_q_values
from pairtile.methods.mutual_information.null import Null
from pairtile.methods.mutual_information.scores import MUTUAL_INFORMATION, Score
from pairtile.runtime.threads import in_threads

message = messages_of(__package__)

_PART = 1 << 18
"""Pairs that are worked on together, where there may be very many."""

HELD_PAIRS = 1 << 25
"""Up to so many pairs, their p-values are held; of more they are computed where needed."""


@dataclass(frozen=True)
class Pairs:
    """The merged table: each unordered pair at most once, with its samples."""

    i: Int32Array
    j: Int32Array
    mi_bits: NDArray[np.floating]
    n_samples: Int32Array

    @classmethod
    def of_merged(cls, merged: MergedResults) -> Pairs:
        """From ``pairs.parquet``, part by part: it is in memory once."""
        names = ("i", "j", "mi_bits", "n_samples")
        if isinstance(merged.table, pd.DataFrame):
            return cls(*(merged.table[name].to_numpy() for name in names))
        schema, n_pairs = pq.read_schema(merged.table), pq.read_metadata(merged.table).num_rows
        columns = [np.empty(n_pairs, schema.field(name).type.to_pandas_dtype()) for name in names]
        begin = 0
        for batch in merged.batches(names):
            for name, column in zip(names, columns, strict=True):
                column[begin : begin + len(batch)] = batch[name].to_numpy()
            begin += len(batch)
        if n_pairs and (columns[3] == columns[3][0]).all():
            columns[3] = np.broadcast_to(columns[3][0], n_pairs)
        return cls(*columns)

    def take(self, which: Which) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.i[which], self.j[which], self.mi_bits[which], self.n_samples[which])


Which = NDArray[np.integer] | BoolArray | slice
"""Some of many pairs: their numbers, a mask, or a range."""


class Significance(NamedTuple):
    """p : gives the p-values of the pairs with some numbers. q : the q-values of a network of some
    pairs, by their numbers. extrapolated : of which of some pairs p goes on from the tail of the
    null. n_tests : at least 1."""

    p: Callable[[Which], Float64Array]
    q: Callable[[Int64Array], Float64Array]
    extrapolated: Callable[[Pairs], BoolArray]
    n_tests: int


class KeptPairs(NamedTuple):
    """What ``keep`` takes.

    kept : bool (1 or 2, pairs); of directed scores forwards and backwards. significant : pairs that
    the rule's p- or q-value lets pass, before only the best of them are taken. largest_p,
    least_score : of what is kept; None where nothing is.
    """

    kept: BoolArray
    significant: int
    largest_p: float | None
    least_score: float | None


class PairScores(NamedTuple):
    """What ranks the pairs of so many genes.

    is_regulator : who may be a source, None without a list. moments, combine, entropy_bits : of
    ``SourceTarget``; all scores but mutual information need the first.
    """

    number: int
    score: Score
    is_regulator: BoolArray | None = None
    moments: Moments | None = None
    combine: Callable[[SourceTarget], DeviceArray] | None = None
    entropy_bits: Float64Array = np.empty(0)

    @property
    def directed(self) -> bool:
        """Whether both directions of a pair have a score of their own."""
        return self.score.is_directed(self.is_regulator is not None)

    def from_bits(
        self,
        mi: DeviceArray,
        i: NDArray[np.integer],
        j: NDArray[np.integer],
        xp: ModuleType = np,
    ) -> list[DeviceArray]:
        """Scores of pairs i -> j and, of directed scores, of j -> i, float64 in the shape of ``mi``
        (bits; NaN has no score): NaN where ``j`` may not be a source. ``i`` and ``j`` as
        ``SourceTarget`` has them, on the host; with regulators, ``i`` is one."""
        if self.score.of is None:
            return [mi]
        if self.moments is None:
            raise ValueError(f"score {self.score.name} needs the moments of all pairs")
        bits, of = mi.astype(xp.float64), self.score.of
        known = xp, self.moments, self.combine, self.entropy_bits
        forward = of(SourceTarget(bits, i, j, *known))
        if not self.directed:
            return [forward]
        if self.is_regulator is None:
            return [forward, of(SourceTarget(bits, j, i, *known))]
        backward = xp.full(bits.shape, xp.nan)
        sources = np.flatnonzero(self.is_regulator[j])
        if sources.size:
            at, ends = xp.asarray(sources), i if i.shape[-1] == 1 else i[sources]
            backward[..., at] = of(SourceTarget(bits[..., at], j[..., sources], ends, *known))
        return [forward, backward]

    def of_pairs(self, pairs: Pairs) -> list[NDArray[np.floating]]:
        """Those of the merged table."""
        return self.from_bits(pairs.mi_bits, pairs.i, pairs.j)


def null_significance(pairs: Pairs, null: Null, n_tests: int) -> Significance:
    """p-values by the null; of very many pairs they are computed anew each time."""
    held = p_values(pairs, null) if pairs.i.size <= HELD_PAIRS else None

    def p_of(which: Which) -> Float64Array:
        return p_values(pairs.take(which), null) if held is None else held[which]

    return Significance(
        p_of,
        lambda rows: q_values(p_of(rows), n_tests),
        lambda some: extrapolated(some, null),
        n_tests,
    )


def p_values(pairs: Pairs, null: Null) -> Float64Array:
    """p-value of each pair's MI."""
    p = np.empty(pairs.i.size)

    def fill(part: slice) -> None:
        p[part] = _p_values(pairs.take(part), null)[0]

    list(in_threads(fill, parts_of(p.size)))
    return p


def extrapolated(pairs: Pairs, null: Null) -> BoolArray:
    """Whether too few draws reach the MI of each pair to resolve p (``Null.resolved``)."""
    return _p_values(pairs, null)[1]


def _p_values(pairs: Pairs, null: Null) -> tuple[Float64Array, BoolArray]:
    statistic = pairs.mi_bits.astype(np.float64) * pairs.n_samples
    return null.p_value(statistic, null.class_of[pairs.i], null.class_of[pairs.j])


def parts_of(size: int) -> list[slice]:
    """Of so many pairs, those that are worked on together."""
    return [slice(begin, begin + _PART) for begin in range(0, size, _PART)]


def q_values(p: Float64Array, n_tests: int) -> Float64Array:
    """Benjamini-Hochberg q-values of a network, from the p-values of its pairs.

    How many unrelated pairs of all ``n_tests`` are expected to have p-values as small, over the
    pairs of the network that have: every unrelated pair may have stayed in a network out of which
    indirect edges were taken.
    """
    found, q_of_found = _benjamini_hochberg(p.copy(), n_tests)
    order = np.argsort(p)  # searched in order, a long table is read once, not here and there
    place = np.empty(p.size, dtype=np.int64)
    place[order] = np.searchsorted(found, p[order])
    return q_of_found[place]


def _benjamini_hochberg(p: Float64Array, n_tests: int) -> tuple[Float64Array, Float64Array]:
    """The different p-values, rising, and the q-value of each, as
    ``statistics.correction.benjamini_hochberg``; ``p`` is overwritten.

    So very many pairs take little memory.
    """
    p.sort()
    q = np.empty_like(p)
    first = distinct_q_values(p, n_tests, q)
    found, q = p[first:], q[first:]
    # Where most are equal, as p-values by counting are, the rest of the memory is given back.
    return (found.copy(), q.copy()) if first > p.size // 2 else (found, q)


def choose(
    pairs: Pairs, significance: Significance, ranked: PairScores, keep: KeepGenePairs
) -> KeptPairs:
    """What ``keep`` takes of the candidates: of each pair or, of directed scores, of each allowed
    direction of a pair.

    Significance (``p_value``, ``fdr``) is that of MI; ``score`` and ``top_edges`` go by the chosen
    score. A score ranks, it tests nothing: of many pairs that ``fdr`` lets pass the best may be the
    few that chance made. So ``top_edges`` beside it are the best of the pairs with p-values so
    small that ``fdr`` holds for so few edges. Pairs are worked on part by part.
    """
    candidates = keep
    if keep.fdr is not None:
        # The largest p-value with q <= fdr among all tests, whose pairs are at hand.
        small = [np.empty(0)]
        for p in map(significance.p, parts_of(pairs.i.size)):
            small.append(p[p <= keep.fdr])
        found, q = _benjamini_hochberg(np.concatenate(small), significance.n_tests)
        bound = float(found[q <= keep.fdr].max(initial=0.0))
        candidates = keep.model_copy(update={"p_value": bound})
        if keep.top_edges is not None:
            bound = min(bound, keep.fdr * keep.top_edges / significance.n_tests)
        keep = keep.model_copy(update={"p_value": bound})
    kept = np.zeros((1 + ranked.directed, pairs.i.size), dtype=bool)
    significant, largest_p, least_score = 0, 0.0, np.inf
    best = RunningTopK(keep.top_edges or 0)
    for part in parts_of(pairs.i.size):
        p = significance.p(part)
        significant += int(candidates.significant(p).sum())
        # Of the pairs that are stored for their p-value, far fewer have such a q-value.
        some = np.flatnonzero(keep.significant(p))
        p, rows = p[some], part.start + some
        for number, scores in enumerate(ranked.of_pairs(pairs.take(rows))):
            passed = keep.passes(scores, p)
            if number:  # backwards
                passed &= ~np.isnan(scores)
            if keep.top_edges is not None:
                best.add(scores[passed])
                passed &= scores >= best.threshold
            kept[number, rows] = passed
            largest_p = float(p.max(where=passed, initial=largest_p))
            least_score = float(np.fmin.reduce(scores, where=passed, initial=least_score))
    if keep.top_edges is not None and int(kept.sum()) > keep.top_edges:
        # Of those that are as good as the last, the first ones, forwards before backwards.
        tied = np.zeros_like(kept)
        for rows in _rows(kept):
            for way, ties, scores in zip(
                kept, tied, ranked.of_pairs(pairs.take(rows)), strict=True
            ):
                ties[rows] = way[rows] & (scores == best.threshold)
                way[rows] &= scores > best.threshold
        first = np.flatnonzero(tied)[: best.top - int(kept.sum())]
        kept.reshape(-1)[first] = True
        least_score = best.threshold
        largest_p = max(float(significance.p(rows).max(initial=0.0)) for rows in _rows(kept))
    if not kept.any():
        return KeptPairs(kept, significant, None, None)
    return KeptPairs(kept, significant, largest_p, least_score)


def _rows(kept: BoolArray) -> Iterator[Int64Array]:
    for part in parts_of(kept.shape[1]):
        yield part.start + np.flatnonzero(kept[:, part].any(axis=0))


def build_network(
    pairs: Pairs,
    chosen: KeptPairs,
    significance: Significance,
    ranked: PairScores,
    *,
    dpi: DpiConfig | None,
    fdr: float | None = None,
    backend: str = "cpu",
    pairs_only: bool = False,
) -> Network:
    """Prune and direct.

    Of a directed score a pair is an edge in each direction that was chosen. DPI works on the pairs
    chosen; of scores without direction it takes them out of ``chosen``. It hardly ever takes
    unrelated pairs, so that more of what it leaves is false: with ``fdr`` the pairs go whose
    q-value in the network that is left is larger.
    """
    kept = chosen.kept
    in_network: BoolArray = kept[0] if len(kept) == 1 else np.logical_or.reduce(kept)
    before = int(in_network.sum())
    least_bits = float(np.fmin.reduce(pairs.mi_bits, where=in_network, initial=np.inf))
    if dpi is not None and before:
        prune(
            pairs.i,
            pairs.j,
            pairs.mi_bits,
            in_network,
            ranked.number,
            tolerance=dpi.tolerance,
            rule=dpi.rule,
            is_regulator=ranked.is_regulator,
            backend=backend,
        )
    # Only now the other columns: there may be far fewer edges than pairs.
    rows = np.flatnonzero(in_network)
    removed, q = before - rows.size, significance.q(rows)
    threshold = {"largest_p_value": chosen.largest_p, "least_score": chosen.least_score}
    passed = q <= (1.0 if fdr is None else fdr)
    if not passed.all():
        rows, q = rows[passed], q[passed]
        least_bits = float(pairs.mi_bits[rows].min(initial=np.inf))
        threshold["largest_p_value"] = float(significance.p(rows).max()) if rows.size else None
    if pairs_only:
        ends = {"source": pairs.i[rows], "target": pairs.j[rows]}
        return Network(pd.DataFrame(ends), directed=False, threshold=threshold)
    table = directed_edges(pairs.take(rows), ranked)
    backward = (np.arange(len(table)) >= rows.size).astype(int)
    table = table[kept[backward, rows[table["pair"].to_numpy()]]]
    edges = sort_edges(table, ranked.score.column)
    del table, backward
    p = significance.p(rows)
    if fdr is not None:
        # First come pairs with p-values that 0.05 unrelated pairs of the table are expected to have
        # (Bonferroni).
        unsure = (p > 0.05 / significance.n_tests)[edges["pair"]]
        edges = edges.iloc[np.argsort(unsure, kind="stable")].reset_index(drop=True)
    place = edges.pop("pair").to_numpy()
    pair = rows[place]
    beyond = np.empty(pair.size, dtype=bool)
    for part in parts_of(pair.size):
        beyond[part] = significance.extrapolated(pairs.take(pair[part]))
    edges.insert(3, "p_value", p[place])  # after source, target, mi_bits
    edges.insert(4, "q_value", q[place])
    methods = np.array(["empirical", "extrapolated"], dtype=object)
    edges["p_method"] = methods[beyond.astype(np.int8)]
    return Network(
        edges,
        directed=ranked.directed,
        score=ranked.score.column,
        value=MUTUAL_INFORMATION.column,
        counts={
            "pairs_kept": before,
            "pairs_before_dpi": before,
            "pairs_removed_by_dpi": removed,
            "pairs_removed_by_fdr": before - removed - rows.size,
            "edges": len(edges),
            "edges_with_extrapolated_p": int(beyond.sum()),
        },
        threshold_value=least_bits if np.isfinite(least_bits) else None,
        threshold=threshold,
    )


def directed_edges(pairs: Pairs, ranked: PairScores) -> pd.DataFrame:
    """The directed candidates of scored pairs: pair (row), source, target, mi_bits and the column
    of the score; one row for each pair or, of directed scores, for each allowed direction."""
    row, column = np.arange(pairs.i.size), ranked.score.column
    table = {"pair": row, "source": pairs.i, "target": pairs.j, "mi_bits": pairs.mi_bits}
    ahead, *back = ranked.of_pairs(pairs)
    forward = pd.DataFrame(table | {column: ahead})
    if not back:
        return forward
    backward = pd.DataFrame(table | {"source": pairs.j, "target": pairs.i, column: back[0]})
    return pd.concat([forward, backward[backward[column].notna()]], ignore_index=True)


def consensus_network(
    settings: BootstrapsConfig,
    ranked: PairScores,
    score_pairs: Callable[[Int32Array, Int32Array], tuple[Float64Array, Int32Array]],
    merged: MergedResults,
    bootstraps: pd.DataFrame,
    of_all_samples: Network,
    null_share: float,
) -> Network:
    """Edges that come back in more bootstrap networks than chance explains; of these the best
    supported, as many as ``keep`` takes of all samples: what is right for them bounds what
    resamples of them can show. ARACNe's corrections take all, as it does.

    score_pairs : gives scores and samples of a list of pairs. null_share : of all pairs, those that
    count among the unrelated ones.
    """
    of_data = bootstraps[~bootstraps["unrelated"]]
    against_null = settings.correction == "fdr"
    unrelated = bootstraps[bootstraps["unrelated"]]
    table = bootstrap_consensus(
        of_data["bootstrap"],
        of_data["i"],
        of_data["j"],
        n_bootstraps=settings.number,
        n_possible=n_tests_of(merged),
        correction="bh" if settings.correction == "bh" else "bonferroni",
        null=(unrelated["bootstrap"], unrelated["i"], unrelated["j"]) if against_null else None,
        null_share=null_share,
    )
    p_method = "bootstrap null" if against_null else "poisson"
    seen, support = len(table), table["support"].to_numpy()
    table = table[table["q_value"] <= settings.alpha].reset_index(drop=True)
    i, j = table["i"].to_numpy(), table["j"].to_numpy()
    pairs, column = Pairs(i, j, *score_pairs(i, j)), ranked.score.column
    edges = sort_edges(directed_edges(pairs, ranked), column)
    of_edge = table.iloc[edges.pop("pair")].reset_index(drop=True)
    edges.insert(3, "p_value", of_edge["p_value"])
    edges.insert(4, "q_value", of_edge["q_value"])
    edges["support"] = of_edge["support"].astype(np.int64)
    if against_null:
        edges["local_fdr"] = of_edge["local_fdr"]
        best = np.lexsort((-edges[column], -edges["support"]))
        edges = sort_edges(edges.iloc[best[: len(of_all_samples.edges)]], column)
    messages = [*of_all_samples.warnings]
    if settings.complementary_halves:
        messages.append(_bound_of_halves(settings, support, n_tests_of(merged)))
    return Network(
        edges.assign(p_method=p_method),
        directed=ranked.directed,
        score=column,
        value=MUTUAL_INFORMATION.column,
        counts={
            "bootstraps": settings.number,
            "edges_in_any_bootstrap": seen,
            "edges": len(edges),
        },
        threshold={
            "keep": {"consensus_q_value": settings.alpha},
            "mi_bits": None,
            "p_method": p_method,
            "permutations": int(merged.null["lengths"].sum()),
        },
        messages=messages,
    )


def _bound_of_halves(settings: BootstrapsConfig, support: Int32Array, n_possible: int) -> Message:
    """Where the bound that assumes nothing would have cut the consensus."""
    for least in range(settings.number // 2 + 1, settings.number + 1):
        held = int((support >= least).sum())
        bound = low_selection_bound(least, settings.number, int(support.sum()), n_possible)
        if bound <= settings.alpha * held:
            return message(
                "bound_of_halves", pairs=held, least=least, halves=settings.number, bound=bound
            )
    return message("no_bound_of_halves", alpha=settings.alpha)


def n_tests_of(merged: MergedResults) -> int:
    """How many pairs were scored."""
    return int(merged.sums["pairs_scored"].sum())
