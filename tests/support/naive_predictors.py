"""Predictor sets by the definition: plain loops over sets, samples and cells, for tests."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
from pairtile.methods.predictor_pairs.best_sets import BestSets


def rows_of(best: BestSets) -> list[tuple[int, tuple[int, ...], int, float, int]]:
    """What a search found, as ``naive_search`` gives it."""
    columns = [best.target, best.key, best.mce_bits, best.n_ties]
    target, key, mce, ties = (column.tolist() for column in columns)
    sets = [tuple(row) for row in best.predictors.tolist()]
    return list(zip(target, sets, key, mce, ties, strict=True))


def entropy_bits(counts: Any) -> float:
    """Shannon entropy of a row of counts."""
    n = sum(counts)
    return -sum(k / n * np.log2(k / n) for k in counts if k)


def naive_counts(predictors: Any, target: Any, levels: int) -> dict[tuple[int, ...], list[int]]:
    """Counts of the target's levels in each observed cell; predictors (c, S), target (S,)."""
    counts: dict[tuple[int, ...], list[int]] = {}
    for *x, y in zip(*predictors, target, strict=True):
        if y >= 0 and min(x) >= 0:
            counts.setdefault(tuple(int(v) for v in x), [0] * levels)[y] += 1
    return counts


def naive_mce(
    predictors: Any, target: Any, levels: int, penalty: str, alpha: float, beta: float
) -> tuple[float, int]:
    """Mean conditional entropy in bits by its definition, and the samples that it used."""
    counts = naive_counts(predictors, target, levels)
    n_samples = sum(sum(row) for row in counts.values())
    if n_samples == 0:
        return float("nan"), 0
    if penalty == "none":
        total = sum(sum(row) * entropy_bits(row) for row in counts.values())
        return total / n_samples, n_samples
    if penalty == "no_obs":
        n_cells = levels ** len(predictors)
        alone = entropy_bits([sum(row[y] for row in counts.values()) for y in range(levels)])
        total = sum((sum(row) + alpha) * entropy_bits(row) for row in counts.values())
        total += alpha * (n_cells - len(counts)) * alone
        return total / (n_samples + alpha * n_cells), n_samples
    p = np.array([beta] + [(1 - beta) / (levels - 1)] * (levels - 1))
    poor = -sum(v * np.log2(v) for v in p if v > 0)
    total = sum(poor if sum(row) == 1 else sum(row) * entropy_bits(row) for row in counts.values())
    return total / n_samples, n_samples


def canonical_mce(
    predictors: Any, target: Any, levels: int, penalty: str, alpha: float, beta: float
) -> tuple[float, int]:
    """As ``naive_mce``, in the order of operations that the kernels promise: equal in every bit."""
    counts = naive_counts(predictors, target, levels)
    n_samples = sum(sum(row) for row in counts.values())
    if n_samples == 0:
        return float("nan"), 0
    others = (1.0 - beta) / (levels - 1)
    poor = max(0.0, -sum(p * np.log2(p) for p in [beta] + [others] * (levels - 1) if p > 0))

    def n_log_n(n: int) -> Any:
        return np.float64(n) * np.log2(np.float64(n)) if n else np.float64(0.0)

    def entropy_of(row: list[int]) -> Any:
        h = n_log_n(sum(row))
        for n in row:
            h = h - n_log_n(n)
        return h

    total = np.float64(0.0)
    for x in product(range(levels), repeat=len(predictors)):
        if x in counts:
            n = sum(counts[x])
            h = poor if penalty == "poor_obs" and n == 1 else entropy_of(counts[x])
            total = total + ((h + (alpha * h) / n) if penalty == "no_obs" else h)
    divisor: Any = n_samples
    if penalty == "no_obs":
        n_cells = levels ** len(predictors)
        of_target = [sum(row[y] for row in counts.values()) for y in range(levels)]
        unseen = alpha * (n_cells - len(counts))
        total = total + unseen * (entropy_of(of_target) / n_samples)
        divisor = n_samples + alpha * n_cells
    mce = total / divisor
    return (float(mce) if mce > 0 else 0.0), n_samples


Row = tuple[int, tuple[int, ...], int, float, int]
"""target, predictors, key, MCE in bits, number of ties"""


def naive_search(
    predictors: Any,
    targets: Any,
    exclude: Any,
    settings: Any,
    first_begin: int = 0,
    first_end: int | None = None,
) -> list[Row]:
    """Every set of every target, scored, sorted and cut to the best: what ``best`` must return."""
    rows: list[Row] = []
    last = len(predictors) if first_end is None else first_end
    for target, y in enumerate(targets):
        scored = []
        for chosen in combinations(range(len(predictors)), settings.cardinality):
            if not first_begin <= chosen[0] < last or exclude[target] in chosen:
                continue
            mce, n = score(predictors, chosen, y, settings)
            if n >= settings.min_samples:
                scored.append((round_half_even(mce), chosen, mce))
        rows += ranked(target, scored, settings.top)
    return rows


def score(predictors: Any, chosen: Any, y: Any, settings: Any) -> tuple[float, int]:
    """``canonical_mce`` of one set with the given settings."""
    return canonical_mce(
        [predictors[p] for p in chosen],
        y,
        settings.levels,
        settings.penalty,
        settings.alpha,
        settings.beta,
    )


def round_half_even(mce: float) -> int:
    """The key of a score: whole 1e-9 bits."""
    return int(np.rint(np.float64(mce) * 1e9))


def ranked(target: int, scored: list[tuple[int, tuple[int, ...], float]], top: int) -> list[Row]:
    """The best of scored sets as rows, ties counted on the first row of each key."""
    ties = Counter(key for key, _, _ in scored)
    rows: list[Row] = []
    for key, chosen, mce in sorted(scored)[:top]:
        rows.append((target, chosen, key, mce, ties.pop(key, 0)))
    return rows


def naive_floating_search(
    predictors: Any, targets: Any, exclude: Any, target_of: Any, pairs: Any, settings: Any
) -> list[Row]:
    """Floating search from pairs to sets of three, by its description, for complete targets."""
    rows: list[Row] = []
    for target, y in enumerate(targets):
        scored: dict[tuple[int, ...], float] = {}
        grown: set[tuple[int, ...]] = set()

        def key_of(chosen: tuple[int, ...], y: Any = y) -> int | None:
            mce, n = score(predictors, chosen, y, settings)
            return round_half_even(mce) if n >= settings.min_samples else None

        for row in np.flatnonzero(np.asarray(target_of) == target):
            pair = tuple(sorted(int(p) for p in pairs[row]))
            if exclude[target] in pair:
                continue
            of_pair = key_of(pair)
            while pair not in grown:
                grown.add(pair)
                added = {}
                for third in range(len(predictors)):
                    if third in pair or third == exclude[target]:
                        continue
                    chosen = tuple(sorted((*pair, third)))
                    mce, n = score(predictors, chosen, y, settings)
                    if n >= settings.min_samples:
                        scored[chosen] = mce
                        added[round_half_even(mce), third] = chosen
                if not added:
                    break
                smaller = [
                    (key, kept)
                    for kept in combinations(added[min(added)], 2)
                    if (key := key_of(kept)) is not None
                ]
                if not smaller or (of_pair is not None and min(smaller)[0] >= of_pair):
                    break
                of_pair, pair = min(smaller)
        rows += ranked(
            target, [(round_half_even(m), s, m) for s, m in scored.items()], settings.top
        )
    return rows


def one_hot(table: Any, levels: int) -> Any:
    return np.stack([table == level for level in range(levels)], axis=1).astype(np.float64)


def dense_search(predictors: Any, targets: Any, exclude: Any, settings: Any) -> Any:
    """All pairs of all targets at once by matrix products, nothing missing.

    Returns pairs (n, 2), keys (n, targets) and scores, computed in the canonical order; keys of
    excluded pairs are -1.
    """
    q, samples = settings.levels, predictors.shape[1]
    table = np.zeros(samples + 1)
    n = np.arange(1, samples + 1, dtype=np.float64)
    table[1:] = n * np.log2(n)
    cells, of_target = one_hot(predictors, q), one_hot(targets, q)
    pairs = np.array(list(combinations(range(len(predictors)), 2)))
    n_target = of_target.sum(axis=2).astype(int)
    alone = table[np.full(len(targets), samples)]
    for y in range(q):
        alone = alone - table[n_target[:, y]]
    scores = np.empty((len(pairs), len(targets)))
    for row, (i, j) in enumerate(pairs):
        both = (cells[i][:, None] * cells[j][None, :]).reshape(q * q, samples)
        total, observed = np.zeros(len(targets)), 0
        for cell in both:
            size = int(cell.sum())
            if size == 0:
                continue
            observed += 1
            h = np.full(len(targets), table[size])
            for y in range(q):
                h = h - table[(of_target[:, y] @ cell).astype(int)]
            if settings.penalty == "poor_obs" and size == 1:
                h[:] = settings.poor_bits
            total = total + (
                (h + (settings.alpha * h) / size) if settings.penalty == "no_obs" else h
            )
        if settings.penalty == "no_obs":
            total = total + (settings.alpha * (q * q - observed)) * (alone / samples)
            scores[row] = total / (samples + settings.alpha * q * q)
        else:
            scores[row] = total / samples
    scores = np.where(scores > 0, scores, 0.0)
    keys = np.rint(scores * 1e9).astype(np.int64)
    keys[(pairs[:, :, None] == exclude).any(axis=1)] = -1
    return pairs, keys, scores
