"""From what the merge leaves of an analysis of gene pairs to its network, ranking and histogram.

The one place where p- and q-values, ``keep``, DPI, scores and the bootstrap consensus come
together; the workflow's steps, bootstraps and ``pairtile.infer_network`` all call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.estimator import Merged, Ranking
from pairtile.engine.network import Network, sort_edges
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.build import (
    Pairs,
    build_network,
    directed_edges,
    p_values,
    q_values,
)
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.consensus import bootstrap_consensus
from pairtile.methods.mutual_information.moments import ExactMoments
from pairtile.methods.mutual_information.significance import Null


class GeneAnalysis(Protocol):
    """What is needed of an opened estimator of gene pairs."""

    config: MutualInformationConfig
    state: Mapping[str, NDArray[Any]]
    device: Device
    genes: int
    is_regulator: NDArray[np.bool_] | None

    def score_pairs(
        self, i: NDArray[Any], j: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Scores and samples of a list of pairs."""
        ...


def judge(analysis: GeneAnalysis, merged: Merged) -> Network:
    """The network: of the consensus where there are bootstraps, else of the merged pairs."""
    if merged.bootstraps is not None:
        return _consensus(analysis, merged)
    config = analysis.config
    pairs = Pairs.from_frame(merged.pairs)
    null = Null.from_arrays(merged.null)
    p, extrapolated = p_values(pairs, null)
    q = q_values(
        p,
        _n_tests(merged),
        null,
        merged.sums["statistic_histogram"],
        int(analysis.state["z"].shape[1]),
        _top_bits(config),
        complete_to=_complete_to(config["keep"]),
    )
    result = build_network(
        pairs,
        p,
        q,
        extrapolated,
        n_genes=analysis.genes,
        keep=config["keep"],
        score=config["score"],
        moments=_moments(merged),
        dpi=config["dpi"] or None,
        is_regulator=analysis.is_regulator,
        backend=analysis.device.backend,
    )
    beyond = result.counts["edges_with_extrapolated_p"]
    result.threshold = {
        "keep": config["keep"],
        "mi_bits": result.threshold_value,
        "p_method": "extrapolated" if beyond else "empirical",
        "permutations": int(sum(s.size for s in null.statistic)),
    }
    if beyond:
        result.notes.append(
            f"{beyond} edges have fewer than 10 null draws above them; their p-values are "
            "extrapolated from the top 1% of the null (p_method: extrapolated)."
        )
    return result


def rank(analysis: GeneAnalysis, merged: Merged) -> Ranking:
    """Every stored pair in its allowed directions, with the score that ranks it."""
    score = analysis.config["score"]
    edges = directed_edges(
        Pairs.from_frame(merged.pairs), score, _moments(merged), analysis.is_regulator
    )
    edges = edges.rename(columns={"mi_bits" if score == "mi" else score: "score"})
    directed = score == "target_z" or (score == "clr" and analysis.is_regulator is not None)
    return Ranking(edges[["source", "target", "score"]], directed)


def score_histogram(
    analysis: GeneAnalysis, merged: Merged, threshold_bits: float | None
) -> dict[str, NDArray[Any]]:
    """Histogram of all scores and of the null in the same bins, for ``scores.npz``."""
    counts = merged.sums["histogram"]
    top_bits = _top_bits(analysis.config)
    edges = np.linspace(0.0, top_bits, counts.size + 1)
    draws = np.concatenate(Null.from_arrays(merged.null).statistic)
    bits = np.minimum(draws / analysis.state["z"].shape[1], top_bits)
    return {
        "edges": edges,
        "counts": counts,
        "null_counts": np.histogram(bits, bins=edges)[0],
        "threshold": np.array(np.nan if threshold_bits is None else threshold_bits),
        "threshold_unit": np.array("bits"),
    }


def _consensus(analysis: GeneAnalysis, merged: Merged) -> Network:
    """Edges that come back in more bootstrap networks than chance explains."""
    held = merged.bootstraps
    assert held is not None
    settings = analysis.config["bootstraps"]
    table = bootstrap_consensus(
        held["bootstrap"],
        held["i"],
        held["j"],
        n_bootstraps=settings["number"],
        n_possible=_n_tests(merged),
        correction=settings["correction"],
    )
    seen = len(table)
    table = table[table["q_value"] <= settings["alpha"]].reset_index(drop=True)
    i, j = table["i"].to_numpy(), table["j"].to_numpy()
    bits, n_samples = analysis.score_pairs(i, j)
    result = build_network(
        Pairs(i, j, bits, n_samples),
        table["p_value"].to_numpy(),
        table["q_value"].to_numpy(),
        np.zeros(len(table), dtype=bool),
        n_genes=analysis.genes,
        keep="all",
        score=analysis.config["score"],
        moments=_moments(merged),
        dpi=None,
        is_regulator=analysis.is_regulator,
    )
    support = dict(zip(zip(i.tolist(), j.tolist(), strict=True), table["support"], strict=True))
    edges = result.edges
    ends = zip(edges["source"].tolist(), edges["target"].tolist(), strict=True)
    counted = [support[(a, b) if (a, b) in support else (b, a)] for a, b in ends]
    edges.insert(len(edges.columns) - 1, "support", np.array(counted, dtype=np.int64))
    edges["p_method"] = "poisson"
    score = analysis.config["score"]
    result.edges = sort_edges(edges, "mi_bits" if score == "mi" else score)
    result.counts = {
        "bootstraps": settings["number"],
        "edges_in_any_bootstrap": seen,
        "edges": len(edges),
    }
    result.threshold = {
        "keep": {"consensus_q_value": settings["alpha"]},
        "mi_bits": None,
        "p_method": "poisson",
        "permutations": int(merged.null["lengths"].sum()),
    }
    result.threshold_value = None
    return result


def _n_tests(merged: Merged) -> int:
    return int(merged.sums["pairs_scored"].sum())


def _top_bits(config: MutualInformationConfig) -> float:
    """Upper end of the histograms: no score is larger than the entropy of equal bins."""
    return max(1.0, float(np.log2(config["estimator"]["bins"])))


def _moments(merged: Merged) -> ExactMoments | None:
    return None if merged.scan is None else ExactMoments.from_summaries(merged.scan)


def _complete_to(keep: Any) -> float:
    """The p-value up to which every pair is stored, by the rule that chunks write rows by."""
    if keep == "all":
        return 1.0
    return float(keep.get("p_value", keep.get("fdr", 0.0)))
