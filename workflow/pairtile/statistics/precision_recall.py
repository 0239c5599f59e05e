"""Precision-recall and ROC curves of a ranking that is cut off and may hold ties (DREAM5 rule)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SAME_SCORE = 1e-12
"""Scores closer than this fraction of the largest differ by rounding only: they are tied."""


@dataclass(frozen=True)
class RankingCurve:
    """True positives among the first k candidates, for every k, as a broken line.

    ``ranks`` (int64) and ``true_positives`` (float64), both of shape (K,), ascending, are its
    corners: from (0, 0) to (``n_candidates``, ``n_positives``). A straight piece over many ranks
    is a set of candidates in random order: tied ones, or all that come after the ranking's end.
    """

    ranks: NDArray[np.int64]
    true_positives: NDArray[np.float64]

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
        if total <= 1:
            return area + first * first / total
        return area / (1 - 1 / total)

    def auroc(self) -> float:
        """Area under the ROC curve: the chance that a true candidate comes before a false one."""
        tp = self.true_positives
        fp = self.ranks - tp
        area = np.sum(np.diff(fp) * (tp[1:] + tp[:-1]) / 2)
        return float(area / (fp[-1] * tp[-1]))

    def points(self, n_points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Recall and precision at every rank, or at up to ``n_points`` evenly in log(rank)."""
        if self.n_candidates <= n_points:
            ranks = np.arange(1, self.n_candidates + 1)
        else:
            spaced = np.geomspace(1, self.n_candidates, n_points)
            ranks = np.unique(np.round(spaced).astype(np.int64))
        tp = np.interp(ranks, self.ranks, self.true_positives)
        return tp / self.n_positives, tp / ranks


def ranking_curve(
    score: NDArray[np.float64],
    is_judged: NDArray[np.bool_],
    is_positive: NDArray[np.bool_],
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
    close = SAME_SCORE * np.abs(score).max()
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
