"""From scored pairs to the final network: p- and q-values, what is kept, DPI, directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.network import Network, sort_edges
from pairtile.methods.mutual_information.clr_scores import GeneMoments, clr, target_z
from pairtile.methods.mutual_information.dpi import data_processing_inequality
from pairtile.methods.mutual_information.significance import Null
from pairtile.statistics.correction import benjamini_hochberg

P_GRID = np.concatenate([np.logspace(-30, -6, 97), np.logspace(-6, 0, 241)[1:]])
"""p-values at which the tests of all pairs are counted, for q-values."""


@dataclass(frozen=True)
class Pairs:
    """The merged table: each unordered pair at most once, with its samples."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    mi_bits: NDArray[np.floating]
    n_samples: NDArray[np.int32]

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Pairs:
        """From ``pairs.parquet``."""
        names = ("i", "j", "mi_bits", "n_samples")
        return cls(*(frame[name].to_numpy() for name in names))

    def take(self, which: NDArray[Any]) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.i[which], self.j[which], self.mi_bits[which], self.n_samples[which])


def p_values(pairs: Pairs, null: Null) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """p-value of each pair's MI and whether it is extrapolated."""
    statistic = pairs.mi_bits.astype(np.float64) * pairs.n_samples
    return null.p_value(statistic, null.class_of[pairs.i], null.class_of[pairs.j])


def q_values(
    p: NDArray[np.float64],
    n_tests: int,
    null: Null,
    histogram: NDArray[np.int64],
    bits_to_statistic: float,
    top_bits: float,
    *,
    complete_to: float = 1.0,
) -> NDArray[np.float64]:
    """Benjamini-Hochberg q-values of pairs that are a part of all tests.

    Ranks come from the pairs at hand and from ``histogram``, the statistics of *all* pairs by
    class pair: a bin counts only where it lies wholly above the threshold, so that q is never too
    small. Exact up to ``complete_to``.

    Parameters
    ----------
    histogram : int64, shape (class pairs, bins), over 0 .. top_bits * bits_to_statistic.
    complete_to
        The p-value up to which the pairs at hand are all that there are. Those beyond were stored
        for another reason, and only the histogram ranks them.
    """
    complete = p <= complete_to
    q = np.ones(p.size)
    q[complete] = benjamini_hochberg(p[complete], n_tests)
    bins = histogram.shape[1]
    at_least = np.cumsum(histogram[:, ::-1], axis=1)[:, ::-1]
    at_least = np.concatenate([at_least, np.zeros((len(histogram), 1), dtype=np.int64)], axis=1)
    n = null.n_classes
    pairs_of_classes = [(a, b) for a in range(n) for b in range(a, n)]
    bound = np.empty(P_GRID.size)
    for k, p_grid in enumerate(P_GRID):
        limits = null.thresholds(float(p_grid))
        count = 0
        for number, (a, b) in enumerate(pairs_of_classes):
            first_bin = np.ceil(limits[a, b] / bits_to_statistic / top_bits * bins)
            count += int(at_least[number, int(np.clip(first_bin, 0, bins))])
        bound[k] = p_grid * n_tests / max(count, 1)
    # The least bound among all thresholds that are no stricter than p.
    least = np.minimum.accumulate(bound[::-1])[::-1]
    place = np.searchsorted(P_GRID, p, side="left")
    return np.minimum(q, np.minimum(least[np.minimum(place, P_GRID.size - 1)], 1.0))


def build_network(
    pairs: Pairs,
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    extrapolated: NDArray[np.bool_],
    *,
    n_genes: int,
    keep: Any,
    score: str,
    moments: GeneMoments | None,
    dpi: Mapping[str, Any] | None,
    is_regulator: NDArray[np.bool_] | None,
    backend: str = "cpu",
) -> Network:
    """Keep, prune and direct.

    Significance (``p_value``, ``fdr``) is that of MI; ``score`` and ``top_edges`` go by the chosen
    score. ``clr`` with regulators and ``target_z`` are directed: a pair is an edge in each allowed
    direction, judged on its own by ``score`` and ``top_edges``. DPI works on the pairs kept.
    """
    table = directed_edges(pairs, score, moments, is_regulator)
    pair = table.pop("pair").to_numpy()
    ranking = table["mi_bits" if score == "mi" else score].to_numpy()
    kept = _kept(keep, ranking, p[pair], q[pair])
    in_network = np.zeros(pairs.i.size, dtype=bool)
    in_network[pair[kept]] = True
    before = int(in_network.sum())
    threshold_bits = float(pairs.mi_bits[in_network].min()) if before else None
    if dpi is not None and before:
        few = pairs if before == pairs.i.size else pairs.take(in_network)
        in_network[in_network] = data_processing_inequality(
            few.i,
            few.j,
            few.mi_bits,
            n_genes,
            tolerance=dpi["tolerance"],
            rule=dpi["rule"],
            is_regulator=is_regulator,
            backend=backend,
        )
    kept &= in_network[pair]
    # Only now the other columns: there may be far fewer edges than pairs.
    table, pair = table[kept], pair[kept]
    table["p_value"] = p[pair]
    table["q_value"] = q[pair]
    table["p_method"] = np.where(extrapolated[pair], "extrapolated", "empirical")
    edges = sort_edges(table, "mi_bits" if score == "mi" else score)
    wanted = ["source", "target", "mi_bits", "p_value", "q_value"]
    wanted += [] if score == "mi" else [score]
    in_pairs = int(in_network.sum())
    return Network(
        edges[[*wanted, "p_method"]],
        directed=score == "target_z" or (score == "clr" and is_regulator is not None),
        counts={
            "pairs_kept": before,
            "pairs_before_dpi": before,
            "pairs_removed_by_dpi": before - in_pairs,
            "edges": len(edges),
            "edges_with_extrapolated_p": int((edges["p_method"] == "extrapolated").sum()),
        },
        threshold_value=threshold_bits,
    )


def directed_edges(
    pairs: Pairs,
    score: str,
    moments: GeneMoments | None,
    is_regulator: NDArray[np.bool_] | None,
) -> pd.DataFrame:
    """The directed candidates of scored pairs: pair (row), source, target, mi_bits, [score].

    ``mi``, and ``clr`` without regulators, are symmetric: one row for each pair. Otherwise one row
    for each allowed direction.
    """
    row = np.arange(pairs.i.size)
    forward = {"pair": row, "source": pairs.i, "target": pairs.j, "mi_bits": pairs.mi_bits}
    if score == "mi":
        return pd.DataFrame(forward)
    if moments is None:
        raise ValueError(f"score {score} needs the moments of all pairs")
    function = {"clr": clr, "target_z": target_z}[score]
    ahead, back = function(pairs.i, pairs.j, pairs.mi_bits, moments, is_regulator)
    first = pd.DataFrame(forward | {score: ahead})
    if score == "clr" and is_regulator is None:
        return first
    allowed = ~np.isnan(back)
    second = pd.DataFrame(
        {
            "pair": row[allowed],
            "source": pairs.j[allowed],
            "target": pairs.i[allowed],
            "mi_bits": pairs.mi_bits[allowed],
            score: back[allowed],
        }
    )
    return pd.concat([first, second], ignore_index=True)


def _kept(
    keep: Any, ranking: NDArray[Any], p: NDArray[np.float64], q: NDArray[np.float64]
) -> NDArray[np.bool_]:
    if keep == "all":
        return np.ones(p.size, dtype=bool)
    if "p_value" in keep:
        return np.asarray(p <= keep["p_value"])
    if "fdr" in keep:
        return np.asarray(q <= keep["fdr"])
    if "score" in keep:
        return np.asarray(ranking >= keep["score"])
    kept = np.zeros(p.size, dtype=bool)
    kept[np.argsort(-ranking, kind="stable")[: keep["top_edges"]]] = True
    return kept
