"""Targets that no gene can predict: what the best of all predictor sets scores by chance.

The search itself is repeated on shuffled targets, so that a p-value counts the choice of the best
among millions of sets, not only the luck of the one that was chosen. Under permutation the mean
conditional entropy of a shuffled target depends on how often each level occurs and on nothing
else, hence all targets of one composition share their draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.statistics.tail import tail_p_values

CONSTANT = -1
"""Class of targets that have one level only: every set predicts them, none is tested."""

EACH_DRAWS = 20
"""Draws of each target under ``auto``: 1 / 0.05, so that the best of all targets can have q = 0.05
by counting alone."""

MIN_POOL, MAX_POOL = 1000, 20_000
"""Draws of all targets: so many at least; of classes that targets share, so many at most."""

MIN_SHIFTS = 5
"""With fewer draws of each target, their spread is not known."""

PRIOR_DRAWS = 5
"""Weight of the usual spread of draws beside a class's own, in draws."""


@dataclass(frozen=True)
class NullTargets:
    """Shuffled targets, and which class of targets each stands for.

    levels : int8 (draws, samples). of_class : int32 (draws,). exclude : int32 (draws,), the target
    (row of the targets) that must not predict its own shifted self, -1 where there is none.
    target_class : int32 (targets,), ``CONSTANT`` where there is nothing to test.
    """

    levels: NDArray[np.int8]
    of_class: NDArray[np.int32]
    exclude: NDArray[np.int32]
    target_class: NDArray[np.int32]


def compositions(
    targets: NDArray[np.int8], levels: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """How often levels occur in each target, whichever they are, and the class of each target.

    targets : int8 (targets, samples), -1 where missing. levels : their number q.

    Returns int64 (classes, levels + 1): occurrences in descending order, then the missing samples;
    and int32 (targets,): the class of each target, ``CONSTANT`` for one with one level or none.
    """
    seen = np.stack([(targets == level).sum(axis=1) for level in range(levels)], axis=1)
    seen = -np.sort(-seen, axis=1)
    table = np.concatenate([seen, (targets < 0).sum(axis=1)[:, None]], axis=1).astype(np.int64)
    varied = table[:, 1] > 0
    of_target = np.full(len(targets), CONSTANT, dtype=np.int32)
    if not varied.any():
        return np.empty((0, levels + 1), dtype=np.int64), of_target
    classes, inverse = np.unique(table[varied], axis=0, return_inverse=True)
    of_target[varied] = inverse.reshape(-1)
    return classes, of_target


def draws_of_each(targets: int) -> int:
    """``permutations: auto``, for each of so many targets: enough of all together."""
    return max(EACH_DRAWS, math.ceil(MIN_POOL / max(targets, 1)))


def permuted_targets(
    targets: NDArray[np.int8], levels: int, permutations: int | None, seed: int
) -> NullTargets:
    """``permutations`` random orders of each composition; None for ``auto``: in proportion to the
    targets that share it.

    Each draw is keyed on (seed, composition, draw): other genes in the table do not change it.
    """
    classes, of_target = compositions(targets, levels)
    numbers = np.full(len(classes), permutations or 0)
    if permutations is None:
        share = np.bincount(of_target[of_target >= 0], minlength=len(classes))
        pool = min(share.sum() * draws_of_each(int(share.sum())), MAX_POOL)
        numbers = np.maximum(EACH_DRAWS, np.rint(pool * share / max(share.sum(), 1)).astype(int))
    drawn = np.empty((numbers.sum(), targets.shape[1]), dtype=np.int8)
    symbols = np.array([*range(levels), -1], dtype=np.int8)
    row = 0
    for composition, permutations in zip(classes, numbers.tolist(), strict=True):
        ordered = np.repeat(symbols, composition)
        packed = [0, *(int(n) for n in composition), 0, 0][: levels + 2]
        for draw in range(permutations):
            # SeedSequence mixes what is drawn into the key; the order of draws has no part in it.
            key = np.random.SeedSequence([seed, 0x7065726D, *packed, draw])
            drawn[row] = np.random.Generator(np.random.Philox(key)).permutation(ordered)
            row += 1
    number = np.repeat(np.arange(len(classes), dtype=np.int32), numbers)
    nobody = np.full(len(drawn), -1, dtype=np.int32)
    return NullTargets(drawn, number, nobody, of_target)


def shifted_targets(
    targets: NDArray[np.int8], series: NDArray[np.integer], shifts: int | None, seed: int
) -> NullTargets:
    """Each target against itself at another time: circular shifts within each series.

    Keeps the autocorrelation of every series, which permutation destroys. With one series of S
    samples there are S - 1 shifts, and no more are taken; None for ``auto``.
    Of several series, which may be short, only the shifts that leave as many changes of level as
    there are (see ``_smooth_shifts``).

    series : int (samples,), the series of each sample; samples of one in the order of time.
    """
    segments = [np.flatnonzero(series == name) for name in np.unique(series)]

    every = [np.arange(segment.size) for segment in segments]
    wanted = draws_of_each(len(targets)) if shifts is None else shifts

    def draws(row: NDArray[np.int8], random: np.random.Generator) -> list[NDArray[np.int8]]:
        offsets: list[tuple[int, ...]] = []
        if len(segments) > 1 or shifts is None:
            smooth = [_smooth_shifts(row[segment]) for segment in segments]
            offsets = _offsets(smooth, wanted, random)
        if len(offsets) < (MIN_SHIFTS if len(segments) == 1 else 1):
            offsets = _offsets(every, wanted, random)
        return [_shifted(row, segments, of_segments) for of_segments in offsets]

    return _of_each_target(targets, draws, seed, 0x73686966)


def shifted_orders(
    series: NDArray[np.integer], shifts: int, most_lag: int, seed: int
) -> NDArray[np.int32]:
    """Orders of samples that move each series along by a number of steps of its own, the end coming
    back in at the start: int32 (at most ``shifts``, samples).

    No shift is shorter than the longest lag, or a tenth of the series, where a quarter of the
    series is longer: what acts with a delay would still act after it.
    """
    segments = [np.flatnonzero(series == name) for name in np.unique(series)]
    choices = []
    for segment in segments:
        every = np.arange(segment.size)
        least = max(1, min(segment.size // 4, max(most_lag + 1, segment.size // 10)))
        far = np.minimum(every, segment.size - every) >= least
        choices.append(every[far] if far.any() else every)
    found = _offsets(choices, shifts, np.random.default_rng([seed, 0x74726566]))
    in_place = np.arange(series.size, dtype=np.int32)
    orders = [_shifted(in_place, segments, offsets) for offsets in found]
    return np.array(orders, dtype=np.int32).reshape(-1, series.size)


def targets_within_batches(
    targets: NDArray[np.int8], batch: NDArray[np.integer], permutations: int | None, seed: int
) -> NullTargets:
    """Each target permuted within each batch; None for ``auto``.

    batch : int (samples,), the batch of each sample.
    """
    members = [np.flatnonzero(batch == name) for name in np.unique(batch)]
    number = draws_of_each(len(targets)) if permutations is None else permutations

    def draws(row: NDArray[np.int8], random: np.random.Generator) -> list[NDArray[np.int8]]:
        found = np.repeat(row[None], number, axis=0)
        for here in members:
            found[:, here] = random.permuted(found[:, here], axis=1)
        return list(found)

    return _of_each_target(targets, draws, seed, 0x62617463)


def replicate_courses(
    series: NDArray[np.integer], moments: NDArray[np.float64], alike: list[NDArray[np.integer]]
) -> list[list[NDArray[np.int64]]]:
    """Groups of series that may change places: of each group the samples of each series.

    series : int (samples,). moments : float64 (samples,), in the order of time within a series.
    alike : int (samples,), such as batches, that series of one group have in common.
    """
    groups: dict[tuple[bytes, ...], list[NDArray[np.int64]]] = {}
    for name in np.unique(series):
        here = np.flatnonzero(series == name)
        key = tuple(each[here].tobytes() for each in (moments, *alike))
        groups.setdefault(key, []).append(here)
    return list(groups.values())


def most_exchanges(courses: list[list[NDArray[np.int64]]]) -> int:
    """In how many ways courses can be exchanged within their groups, none left out."""
    return math.prod(math.factorial(len(group)) for group in courses) - 1


def exchanged_courses(
    targets: NDArray[np.int8],
    courses: list[list[NDArray[np.int64]]],
    exchanges: int | None,
    seed: int,
) -> NullTargets:
    """Each target with its whole courses exchanged between the series of a group; None for
    ``auto``. No more often than there are different exchanges.

    Genes that respond to one stimulus go together in time, whether or not they act on each other.
    Given the stimulus, it makes no difference to an unrelated target which of its replicate courses
    stands beside which of the predictors (exchangeability blocks kept whole: Winkler et al. 2015,
    NeuroImage 123:253).

    courses : as ``replicate_courses``.
    """
    available = min(most_exchanges(courses), 2**31)
    number = min(draws_of_each(len(targets)) if exchanges is None else exchanges, available)

    def draws(row: NDArray[np.int8], random: np.random.Generator) -> list[NDArray[np.int8]]:
        found: dict[tuple[int, ...], NDArray[np.int8]] = {}
        while len(found) < number:
            orders = [random.permutation(len(group)) for group in courses]
            if all((order == np.arange(order.size)).all() for order in orders):
                continue
            exchanged = row.copy()
            for group, order in zip(courses, orders, strict=True):
                for here, there in zip(group, order.tolist(), strict=True):
                    exchanged[here] = row[group[there]]
            found[tuple(np.concatenate(orders).tolist())] = exchanged
        return list(found.values())

    return _of_each_target(targets, draws, seed, 0x636F7572)


def _of_each_target(
    targets: NDArray[np.int8],
    draws: Callable[[NDArray[np.int8], np.random.Generator], list[NDArray[np.int8]]],
    seed: int,
    use: int,
) -> NullTargets:
    """Draws of each target that varies, keyed on (seed, use, target)."""
    constant = np.array([np.unique(row[row >= 0]).size < 2 for row in targets])
    rows: list[NDArray[np.int8]] = []
    number: list[int] = []
    for target in np.flatnonzero(~constant):
        key = np.random.SeedSequence([seed, use, int(target)])
        found = draws(targets[target], np.random.Generator(np.random.Philox(key)))
        rows += found
        number += [int(target)] * len(found)
    levels = np.array(rows, dtype=targets.dtype).reshape(-1, targets.shape[1])
    of_class = np.array(number, dtype=np.int32)
    of_target = np.where(constant, CONSTANT, np.arange(len(targets))).astype(np.int32)
    return NullTargets(levels, of_class, of_class, of_target)


def _shifted(
    row: np.ndarray, segments: list[NDArray[np.int64]], offsets: tuple[int, ...]
) -> np.ndarray:
    """A row whose segments are moved along, each by its own number of samples."""
    shifted = row.copy()
    for segment, offset in zip(segments, offsets, strict=True):
        shifted[segment] = np.roll(row[segment], offset)
    return shifted


def _smooth_shifts(levels: NDArray[np.int8]) -> NDArray[np.int64]:
    """Shifts of a series, 0 among them, after which it changes its level as often as before.

    A shift joins the end to the start and cuts the series elsewhere. Where a join makes a change of
    level and the cut takes none away, short series become rougher than any gene is, and every
    real target looks well predicted beside them.
    """
    cut = np.arange(1, levels.size)
    changes = levels[cut - 1] != levels[cut]
    return np.append(0, levels.size - cut[changes == (levels[-1] != levels[0])])


def _offsets(
    choices: list[NDArray[np.int64]], wanted: int, random: np.random.Generator
) -> list[tuple[int, ...]]:
    """At most ``wanted`` distinct sets of shifts, one of ``choices`` for each series, never all of
    them 0."""
    available = min(math.prod(each.size for each in choices) - 1, 2**31)
    number = min(wanted, available)
    if len(choices) == 1:
        every = choices[0][choices[0] > 0]
        return [(int(k),) for k in np.sort(random.permutation(every)[:number])]
    found: dict[tuple[int, ...], None] = {}
    while len(found) < number:
        offsets = tuple(int(each[random.integers(each.size)]) for each in choices)
        if any(offsets):
            found[offsets] = None
    return list(found)


def search_p_values(
    keys: NDArray[np.int64],
    key_class: NDArray[np.int32],
    null_keys: NDArray[np.int64],
    null_class: NDArray[np.int32],
) -> NDArray[np.float64]:
    """p of a set: how often the best set of a shuffled target is as good or better.

    (1 + draws of the class with a key at most this) / (1 + draws); 1 for constant targets; NaN
    where a class has no draw.
    """
    p = np.full(keys.size, np.nan)
    p[key_class == CONSTANT] = 1.0
    order = np.lexsort((null_keys, null_class))
    sorted_keys, sorted_class = null_keys[order], null_class[order]
    for number in np.unique(sorted_class):
        begin, end = np.searchsorted(sorted_class, [number, number + 1])
        here = key_class == number
        at_most = np.searchsorted(sorted_keys[begin:end], keys[here], side="right")
        p[here] = (1 + at_most) / (1 + end - begin)
    return p


def pooled_p_values(
    bits: NDArray[np.float64],
    bits_class: NDArray[np.int32],
    null_bits: NDArray[np.float64],
    null_class: NDArray[np.int32],
    target_class: NDArray[np.int32],
) -> NDArray[np.float64]:
    """p of a set: as ``search_p_values``, against the draws of all targets.

    Scores are comparable once they are standardised by the mean and spread of the draws of their
    class; each draw by those of the others of its class. Then the share of all draws that are as
    good, each class weighted by its targets, times the number of targets is the expected number of
    chance sets, whatever the differences that are left between classes (as Storey & Tibshirani
    2003, with the studentised statistic of Tusher et al. 2001). Beyond the best draws p is that of
    the generalised Pareto distribution fitted to them, its shape not below 0 (Knijnenburg et al.
    2009).

    bits : scores of sets. bits_class : the class of their targets. null_bits : the best score of
    each draw, NaN where it has none. null_class, target_class : classes of draws, of all targets.
    1 for constant targets; NaN where a class has fewer than two draws.
    """
    number = int(max(null_class.max(initial=0), target_class.max(initial=0))) + 1
    there = ~np.isnan(null_bits)
    of_draw, drawn = null_class[there], null_bits[there]
    n = np.bincount(of_draw, minlength=number).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(of_draw, drawn, minlength=number) / n
        apart = drawn - mean[of_draw]
        squares = np.bincount(of_draw, apart**2, minlength=number).astype(float)
        usual = float(np.median((squares / (n - 1))[n > 1])) if (n > 1).any() else np.nan

        def standardised(
            score: NDArray[np.float64],
            others: NDArray[np.floating],
            mean: NDArray[np.float64],
            squares: NDArray[np.float64],
        ) -> NDArray[np.float64]:
            variance = (squares + PRIOR_DRAWS * usual) / (others - 1 + PRIOR_DRAWS)
            # So small a spread, where nearly all scores are equal, is that of rounding.
            return (mean - score) / np.sqrt(variance * (1 + 1 / others) + 1e-18)

        k = n[of_draw]
        null = standardised(
            drawn, k - 1, mean[of_draw] - apart / (k - 1), squares[of_draw] - apart**2 * k / (k - 1)
        )
        own = standardised(bits, n[bits_class], mean[bits_class], squares[bits_class])
        weight = np.bincount(target_class[target_class >= 0], minlength=number) / n
    used = k > 1
    order = np.argsort(-null[used], kind="stable")
    null, weight = null[used][order], weight[of_draw[used][order]]
    weight *= null.size / weight.sum()
    better = np.searchsorted(-null, -own, side="right")
    as_good = np.append(0.0, np.cumsum(weight))[better]
    p = tail_p_values(own, as_good, null.size, null, weight)
    p[bits_class == CONSTANT] = 1.0
    p[(bits_class != CONSTANT) & (n[bits_class] < 2)] = np.nan
    return p
