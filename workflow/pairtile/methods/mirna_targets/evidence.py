"""What speaks for a pair beside its hits, and all of it in one rank.

Every pair with a seed match (``seed_sites``), and those of the miRNA's shuffles, have a class, a
context score, how well the best site is kept in other species, and the correlation of miRNA and
transcript. Of each, the logarithm of how much more frequent such values are among the miRNAs' pairs
than among the shuffles' (naive Bayes) is added to the pair score, by how much the score itself
tells. What tells nothing is as frequent in both, and adds nothing. p is again that of the shuffles.

Where a miRNA represses its targets, transcripts with its own sites must not be among those that its
correlations are compared with. Without them short transcripts would be too frequent: a transcript
without an own site counts 1 / (1 - f), where a share f of the shuffles has a site on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.conservation import CANONICAL, Conservation
from pairtile.methods.mirna_targets.expression import Correlations
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.kernels.pair_scores import PAIR_BINS, PAIR_STEP
from pairtile.methods.mirna_targets.null import PairNull, pair_score_bins, seed_scores
from pairtile.methods.mirna_targets.scoring import SequenceBatch, state_sequences
from pairtile.methods.mirna_targets.seed_sites import (
    CLASSES,
    CORE,
    SeedIndex,
    SeedSites,
    context_scores,
)
from pairtile.statistics.dependence import evenly_spaced

MAX_MATCHES, MIN_SHUFFLES = 10**8, 20
"""Seed matches of shuffles that are looked up, and the shuffles of a miRNA that are in any case."""

HALF = 0.5
"""Added to what is counted and to what is expected in a step."""

MIN_FITTED, SLOPES = 100, (0.25, 1.0)
"""Pairs from which the slope of pair scores is measured, at least; its bounds."""

GAIN_BINS, JOINT_BINS = 500, 800
"""Steps of ``PAIR_STEP`` of what is added to pair scores, and of the sum."""


class Evidence(NamedTuple):
    """Of all miRNAs.

    own, controls   pairs with a seed match, and pairs of shuffles on transcripts without an own
                    site: ``i``, ``j`` (rows of the state), ``seed_class``; what is the higher the
                    more it speaks for a target, NaN where unknown: ``z`` (of the correlation),
                    ``context``, ``kept`` (level of conservation); ``seed_score`` of own ones, 0
                    unless ``scored``; ``weight`` of the others
    counts          int64 (miRNAs, PAIR_BINS): the shuffles' pairs by score
    shuffles        so many of each miRNA were looked at
    sums            float64 (miRNAs, 2, 1 + shuffles): canonical pairs with a correlation, and the
                    sum of these, of the miRNA and of each shuffle
    """

    own: pd.DataFrame
    controls: pd.DataFrame
    counts: NDArray[np.int64]
    shuffles: int
    sums: NDArray[np.float64]


def collect_evidence(
    state: SequenceArrays, shuffles: int, listed: NDArray[np.int64] | None, scored: bool
) -> Evidence:
    """Look up the seed matches of all miRNAs and of some or all of their ``shuffles``.

    listed : int64 (pairs, 2), rows in the state of the pairs to look at, sorted; None: all.
    scored : whether pairs have a score of their seed matches.
    """
    mirnas, transcripts = state_sequences(state)
    shuffled, index = SequenceBatch.of_state(state, "null"), SeedIndex(transcripts)
    correlations = Correlations(state) if "mirna_ranks" in state else None
    conservation = Conservation(state) if "ortholog_codes" in state else None
    n_mirnas, rows = len(mirnas), np.arange(len(transcripts))
    expected = n_mirnas * len(transcripts.text) / 4**CORE
    used = min(shuffles, max(MIN_SHUFFLES, int(MAX_MATCHES / max(expected, 1))))
    counts, sums = np.zeros((n_mirnas, PAIR_BINS), np.int64), np.zeros((n_mirnas, 2, 1 + used))
    own: list[pd.DataFrame] = []
    controls: list[pd.DataFrame] = []

    def described(sites: SeedSites, of: SequenceBatch, i: int, **more: NDArray) -> pd.DataFrame:
        kept = np.full(len(sites.i), np.nan)
        if conservation is not None:
            there = np.flatnonzero(conservation.species_of(sites.j) > 0)
            kept[there] = conservation.kept(of, *sites.taken(there)[:3]).level
        context = -context_scores(sites, of, transcripts)
        values = {"seed_class": sites.seed_class, "context": context, "kept": kept, **more}
        return pd.DataFrame({"i": i, "j": sites.j, **values})

    for i in range(n_mirnas):
        among = None
        if listed is not None:
            begin, end = np.searchsorted(listed[:, 0], [i, i + 1])
            among = np.isin(rows, listed[begin:end, 1])
        mirna, drawn = mirnas.block(np.array([i])), shuffled.block(np.arange(used) + i * shuffles)
        sites, null_sites = index.sites(mirna, among), index.sites(drawn, among)
        best, null = sites.best(), null_sites.best()
        score = np.zeros(len(best.i), np.float32)
        if scored:
            score = seed_scores(state, mirna, sites)
            steps = pair_score_bins(seed_scores(state, drawn, null_sites))
            counts[i] = np.bincount(steps, minlength=PAIR_BINS)
        # Transcripts without an own site; of strong classes only, where few have none at all.
        for least in (*CLASSES, len(SEED_CLASSES)):
            free = ~np.isin(rows, best.j[best.seed_class >= least])
            # A third must be left to compare with: else transcripts with weak sites stay.
            if free.sum() >= 1 / 3 * len(rows):
                break
        share = np.bincount(null.j[null.seed_class >= least], minlength=len(rows)) / (used + 1)
        weight, z = (free / (1 - share))[null.j], np.full(len(rows), np.nan)
        if correlations is not None:
            r = correlations.of_pairs(np.full(len(rows), i), rows)
            for of, first in ((best, 0), (null, 1)):
                known = (of.seed_class >= CANONICAL.start) & np.isfinite(r[of.j])
                np.add.at(sums[i, 0], of.i[known] + first, 1)
                np.add.at(sums[i, 1], of.i[known] + first, r[of.j[known]])
            weight = weight * np.isfinite(r[null.j])
            # Fewer transcripts do not show the spread of correlations.
            if len(np.unique(null.j[weight > 0])) >= 3:
                z = -np.arctanh(np.clip(r, -0.999999, 0.999999))
                of_null = np.where(weight > 0, z[null.j], 0.0)
                middle = np.average(of_null, weights=weight)
                z = (z - middle) / np.sqrt(np.average((of_null - middle) ** 2, weights=weight))
        some = np.flatnonzero(weight > 0)
        # About 2 million pairs of shuffles are kept to compare with.
        some = some[evenly_spaced(len(some), max(2_000_000 // n_mirnas, 1))]
        null, weight = null.taken(some), weight[some]
        # All of a miRNA together count as many as they have different transcripts.
        weight *= len(np.unique(null.j)) / max(weight.sum(), 1e-300)
        own.append(described(best, mirna, i, z=z[best.j], seed_score=score))
        controls.append(described(null, drawn, i, z=z[null.j], weight=weight))
    return Evidence(_joined(own), _joined(controls), counts, used, sums)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part for part in parts if len(part)] or [_NONE], ignore_index=True)


_NONE = pd.DataFrame(
    {name: np.empty(0, np.int64) for name in ("i", "j", "seed_class")}
    | {name: np.empty(0) for name in ("context", "kept", "z", "seed_score", "weight")}
)


# --- tests ----------------------------------------------------------------------------------------


def correlation_p_values(evidence: Evidence) -> NDArray[np.float64]:
    """How often a pair of shuffles goes as much against its miRNA, by transcripts without an own
    site: of the own pairs, NaN where there is no expression.

    Correlations, by Fisher's transformation, are set off by the mean and the standard deviation of
    those of their miRNA's shuffles: then those of all miRNAs together are one null.
    """
    z, null = evidence.own["z"], evidence.controls.sort_values("z")
    above = np.append(np.cumsum(null["weight"].to_numpy()[::-1])[::-1], 0.0)
    p = (1.0 + above[np.searchsorted(null["z"], z)]) / (1.0 + null["weight"].sum())
    return np.where(np.isfinite(z), np.minimum(p, 1.0), np.nan)


def score_slope(score: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """How much log10 of the ratio of own pairs to pairs of shuffles rises with the pair score, of
    pairs with a site; 1, as if every high score were a target's, where they are few.

    counts : int64 (miRNAs, PAIR_BINS), the shuffles' pairs by score
    """
    score = score[score >= PAIR_STEP]
    if len(score) < MIN_FITTED:
        return 1.0
    steps: NDArray[np.float64] = np.arange(PAIR_BINS) * np.float64(PAIR_STEP)
    edges, ratio = _log_ratio(score, steps[1:], counts.sum(axis=0).astype(np.float64)[1:])
    slope = np.polyfit(score, ratio[np.searchsorted(edges, score, side="right")], 1)[0]
    return float(np.clip(slope, *SLOPES))


def joint_gains(
    evidence: Evidence, slope: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is added to the pair score of each own pair, float64 (pairs,); and the share of the
    shuffles' pairs to which as much or more is added, float64 (GAIN_BINS,), by ``PAIR_STEP``.

    In units of the pair score: what is found is divided by its ``slope`` (``score_slope``).

    Each seed class is compared by itself; the share is the greatest of all. It is 1 for no gain:
    hits without a seed match have none.
    """
    own, controls = evidence.own, evidence.controls
    weight = controls["weight"].to_numpy()
    gain, share = np.zeros(len(own)), np.zeros(GAIN_BINS)
    for seed_class in CLASSES:
        mine = np.flatnonzero(own["seed_class"] == seed_class)
        theirs = np.flatnonzero(controls["seed_class"] == seed_class)
        gain_of_null = np.zeros(len(controls))
        for name in ("z", "context", "kept") if len(mine) and len(theirs) else ():
            of_own, null = own[name].to_numpy()[mine], controls[name].to_numpy()
            if name != "z":  # a correlation does not depend on the class
                null = np.resize(null[theirs], len(null))
            edges, ratio = _log_ratio(of_own, null, weight)
            ratio /= slope
            gain[mine] += ratio[np.searchsorted(edges, of_own, side="right")]
            gain_of_null += ratio[np.searchsorted(edges, null, side="right")]
        step = np.clip(np.ceil(gain_of_null / PAIR_STEP), 0, GAIN_BINS - 1).astype(np.int64)
        above = np.cumsum(np.bincount(step, weight, GAIN_BINS)[::-1])[::-1]
        share = np.maximum(share, (1.0 + above) / (1.0 + above[0]))
    share[0], share[int(np.ceil(gain.max(initial=0.0) / PAIR_STEP)) + 1 :] = 1.0, 0.0
    return gain, share


def _log_ratio(
    own: NDArray[np.float64], null: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges of steps of a value, ascending, and in each step log10 of how much more frequent such
    values are among the own than by chance: never falling. The last one, of NaN, is 0.

    Steps are such that each has about half as many of the null above it as the one before.
    """
    from scipy.optimize import isotonic_regression  # slow to import, and few need it

    known = np.flatnonzero(np.isfinite(null) & (weight > 0))
    known, mine = known[np.argsort(null[known], kind="stable")], own[np.isfinite(own)]
    if not len(known):
        return np.array([np.inf]), np.zeros(2)
    up_to = np.cumsum(weight[known])
    above = 0.5 ** np.arange(1, 13)
    edges = np.unique(null[known[np.searchsorted(up_to, (1 - above) * up_to[-1])]])
    steps = (np.searchsorted(edges, values, side="right") for values in (null[known], mine))
    share, seen = (
        np.bincount(step, of, len(edges) + 1)
        for step, of in zip(steps, (weight[known], None), strict=True)
    )
    expected = share / up_to[-1] * len(mine) + HALF
    ratio = isotonic_regression((seen + HALF) / expected, weights=expected).x
    return np.append(edges, np.inf), np.append(np.log10(ratio), 0.0)


def joint_log_p(
    share: NDArray[np.float64],
    null: PairNull,
    mirna: NDArray[np.integer],
    score: NDArray[np.float64],
) -> NDArray[np.float64]:
    """log10 of the probability of so high a sum of pair score and gain.

    The null of the pair scores, moved by each gain and weighted by its share (``joint_gains``). The
    gain is taken not to depend on the pair score, which sequences alone decide.
    """
    steps = np.maximum(np.arange(JOINT_BINS), 1) * PAIR_STEP
    of_score = 10.0 ** null.log_p(np.arange(len(null.last))[:, None], steps)
    total = np.zeros_like(of_score)
    for step, weight in enumerate(-np.diff(share, append=0.0)):
        if weight > 0:
            moved = np.maximum(np.arange(JOINT_BINS) - step, 0)
            total += weight * of_score[:, moved]
    log_p = np.log10(total)
    place = np.maximum(score, 0.0) / PAIR_STEP
    low = np.minimum(place.astype(np.int64), JOINT_BINS - 2)
    left, right = log_p[mirna, low], log_p[mirna, low + 1]
    return np.minimum(left + (place - low) * (right - left), 0.0)
