"""From scored predictor sets to edges: which sets are kept, what each predictor adds, what ties
mean. DataFrames in, DataFrames out; genes are item numbers.

A table of sets has one row a set: ``target``, ``rank``, ``predictor_1`` .. ``predictor_c`` (int),
``mce_bits``, ``n_ties``, ``target_entropy_bits``, ``mi_bits``, ``imp_bits``, ``gain_1`` ..
``gain_c`` (what the set loses without that predictor, bits), ``spearman_1`` .. ``spearman_c`` (its
rank correlation with the target), ``p_value``, ``q_value``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.methods.predictor_pairs.config import KeepSets, PredictorEstimatorConfig
from pairtile.statistics.correction import benjamini_hochberg

message = messages_of(__package__)

MAX_GAIN_BITS = 2.0
"""No predictor adds more: the entropy of four levels."""

LEVEL = 0.05
"""p- and q-values at most this are counted at the top of the page."""

SET_NAMES = {1: "predictor", 2: "pair", 3: "triple", 4: "quadruple"}
"""What a set of so many predictors is called."""


def members(sets: pd.DataFrame) -> list[str]:
    """The columns of a table of sets that hold its predictors."""
    return [column for size in SET_NAMES if (column := f"predictor_{size}") in sets]


def set_q_values(p: NDArray[np.float64], rank: NDArray[np.integer]) -> NDArray[np.float64]:
    """Benjamini-Hochberg over the targets: each brings one test, its best set.

    The sets of higher rank are judged at the threshold that would let them in: n tests times p,
    over the best sets with a p no larger, or the q of a best set with a larger p where that is
    less. NaN where there is no p.
    """
    q = np.full(p.size, np.nan)
    tested = (rank == 1) & ~np.isnan(p)
    if not tested.any():
        return q
    order = np.argsort(p[tested])
    of_best = benjamini_hochberg(p[tested])[order]
    ordered = p[tested][order]
    known = ~np.isnan(p)
    # One more place, for a set that is worse than every best set.
    larger = np.append(of_best, 1.0)[np.searchsorted(ordered, p[known], side="left")]
    let_in = np.searchsorted(ordered, p[known], side="right")
    own = p[known] * ordered.size / np.maximum(let_in, 1)
    q[known] = np.minimum(np.where(let_in > 0, own, 1.0), larger)
    return q


def kept_sets(sets: pd.DataFrame, keep: KeepSets) -> pd.DataFrame:
    """The sets that make the network, of those that are informative about their target.

    keep : ``best`` (the best set of each target), ``{p_value: x}`` or ``{fdr: x}`` (every reported
    set whose p- or q-value is at most x), ``{best_fdr: x}`` (the best sets with such a q-value).
    """
    informative = sets["mi_bits"] > 0.0
    if keep.rule in ("best", "best_fdr"):
        informative &= sets["rank"] == 1
    if keep.limit is not None:
        informative &= sets["q_value" if keep.p_value is None else "p_value"] <= keep.limit
    return sets[informative]


def auto_keep_message(keep: KeepSets) -> Message:
    """What ``keep: auto`` has become."""
    return message(
        "keep_auto", keep=f"{{{keep.rule}: {keep.limit:g}}}" if keep.bounds else keep.rule
    )


def edges_of_sets(sets: pd.DataFrame) -> pd.DataFrame:
    """Edges predictor -> target, best first; each with the numbers of the best set that holds it.

    ``gain_bits`` is what the set loses without this predictor, ``spearman`` its rank correlation
    with the target, ``n_sets`` in how many of the sets the edge occurs. Edges of best sets come
    first, then those of second sets, and so on; within a rank they go by ``gain_bits``, and
    ``score`` says both in one number. (The score of the set would rank what stands beside a strong
    predictor as high as the predictor itself.)
    """
    parts = []
    for number, column in enumerate(members(sets), start=1):
        part = sets[sets[column] >= 0]
        of_member = {
            "gain_bits": f"gain_{number}",
            "spearman": f"spearman_{number}",
            **{k: f"{k}_{number}" for k in ("mode", "lag") if f"{k}_{number}" in part},
        }
        parts.append(part.assign(source=part[column], **{k: part[v] for k, v in of_member.items()}))
    edges = pd.concat(parts, ignore_index=True)
    edges["score"] = edges["gain_bits"] - MAX_GAIN_BITS * (edges["rank"] - 1)
    edges = edges.sort_values(["target", "source", "rank"], kind="stable")
    edges["n_sets"] = edges.groupby(["target", "source"])["rank"].transform("nunique")
    edges = edges.drop_duplicates(["target", "source"])
    edges = edges.sort_values(
        ["rank", "gain_bits", "target", "source"], ascending=[True, False, True, True]
    )
    columns = [
        *("source", "target", "mi_bits", "mce_bits", "gain_bits", "imp_bits", "spearman"),
        *("rank", "n_ties", "n_sets", "p_value", "q_value", "score"),
        *(column for column in ("mode", "lag") if column in edges),
    ]
    kinds = {"source": np.int32, "target": np.int32, "rank": np.int32, "n_sets": np.int32}
    return edges[columns].astype(kinds).reset_index(drop=True)


def set_counts(sets: pd.DataFrame, kept: pd.DataFrame, edges: pd.DataFrame) -> dict[str, int]:
    """Numbers for the summary."""
    best = sets[sets["rank"] == 1]
    varied = best[best["target_entropy_bits"] > 0.0]
    return {
        "targets_searched": len(best),
        "targets_constant": len(best) - len(varied),
        "targets_with_tied_best": int((varied["n_ties"] > 1).sum()),
        "sets_reported": len(sets),
        "sets_kept": len(kept),
        "edges": len(edges),
    }


def set_warnings(sets: pd.DataFrame, estimator: PredictorEstimatorConfig) -> list[Message]:
    """A warning where "the best" is one of many that are as good."""
    best = sets[(sets["rank"] == 1) & (sets["target_entropy_bits"] > 0.0)]
    tied = best[best["n_ties"] > 1]
    if tied.empty:
        return []
    return [
        message(
            "tied_sets_without_penalty" if estimator.penalty == "none" else "tied_sets",
            n=len(tied),
            targets=len(best),
            word=SET_NAMES[estimator.cardinality],
            median=tied["n_ties"].median(),
            most=tied["n_ties"].max(),
        )
    ]


def lacking_warnings(
    sets: pd.DataFrame, n_targets: int, cardinality: int, min_samples: int
) -> list[Message]:
    """A warning where targets have no result, of ``n_targets`` with candidates enough."""
    lacking = n_targets - int(sets["target"].nunique())
    if lacking <= 0:
        return []
    return [
        message(
            "targets_without_result",
            n=lacking,
            targets=n_targets,
            word=SET_NAMES[cardinality],
            least=min_samples,
        )
    ]


def threshold_warnings(keep: KeepSets, draws: int) -> list[Message]:
    """A warning where no set can be kept, because ``draws`` shuffled targets for each test are
    too few."""
    least = 1.0 / (draws + 1)
    if keep.limit is None or least <= keep.limit:
        return []
    return [
        message("keep_cannot_be_met", key=keep.rule, limit=keep.limit, draws=draws, least=least)
    ]


def weak_warnings(best: pd.DataFrame) -> list[Message]:
    """A warning where best sets are kept by rank whatever their p-values."""
    weak = int((best["p_value"] > LEVEL).sum())
    if not weak:
        return []
    return [
        message(
            "kept_by_rank",
            word=SET_NAMES[len(members(best))],
            weak=weak,
            targets=len(best),
            level=LEVEL,
        )
    ]
