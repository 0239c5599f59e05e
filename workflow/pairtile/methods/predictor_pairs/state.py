"""From prepared levels to the state that tiles are computed from (``arrays.PredictorArrays``)."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.network import SET_NAMES
from pairtile.methods.predictor_pairs.null import (
    MIN_SHIFTS,
    NullTargets,
    exchanged_courses,
    most_exchanges,
    permuted_targets,
    replicate_courses,
    shifted_orders,
    shifted_targets,
    targets_within_batches,
)
from pairtile.methods.predictor_pairs.prepare import PreparedPredictors
from pairtile.preprocess.null_design import common_course_warning, dependence_arrays
from pairtile.preprocess.samples import dependence_warnings
from pairtile.statistics.courses import common_courses, moments_of
from pairtile.statistics.dependence import trending_share

message = messages_of(__package__)

EXHAUSTIVE_TRIPLES = 200_000_000_000
"""``search: auto`` scores every triple of predictors up to so many (times targets): an hour on a
few cores. The same limit on every machine, because it decides the result."""


SLOW = 0.1
"""Share of steps, above that expected by chance, in which targets keep their level: from so much
on, permuted targets are no fair comparison (docs/methods/predictor_pairs.md has the measurement).
Random Boolean networks have about 0, a time course of the malaria parasite's cycle in steps of 3 h
0.3."""

DRIFTING = 0.4
"""Share of drifting targets that is warned of. 5 % of fast ones drift by chance, 10 to 30 % of slow
ones in a short course, half of all random walks, all that follow a trend."""


def search_input(
    config: PredictorPairsConfig, prepared: PreparedPredictors, seed: int
) -> PreparedInput[PredictorArrays]:
    """Decide how sets are searched, draw the shuffled targets of the null, and put the state
    together."""
    # Each gene once for each lag, these beside each other.
    lags = np.array(config.lags, dtype=np.int32)
    candidates = np.add.outer(prepared.predictors * lags.size, np.arange(lags.size)).astype(
        np.int32
    )
    asked = config.estimator.cardinality
    messages = list(prepared.messages)
    search = "exhaustive"
    if asked > 2:
        n_sets = comb(candidates.size, asked) * prepared.targets.size
        work = f"{n_sets:,} {SET_NAMES[asked]}s of predictors times targets"
        way = config.estimator.search
        if asked > 3 or way == "exhaustive" or (way == "auto" and n_sets <= EXHAUSTIVE_TRIPLES):
            messages.append(message("every_triple", work=work))
        else:
            search = "sffs"
            messages.append(
                message(
                    "triples_by_sffs",
                    work=work,
                    reason="are too many to score all"
                    if way == "auto"
                    else "are not all scored, as asked",
                )
            )
    choice, on_null = choose_null(config, prepared)
    null, on_draws = _null_targets(choice, prepared.n_levels, seed)
    messages += on_null + on_draws
    stated, transitions = prepared.design.state, prepared.transitions
    state: PredictorArrays = {
        **stated,
        "levels": prepared.levels,
        "values": prepared.values,
        "series": prepared.series,
        "source_samples": transitions.source_samples,
        "target_samples": transitions.target_samples,
        "predictors": candidates.ravel(),
        "targets": prepared.targets,
        "cardinality": np.array([asked if search == "exhaustive" else 2], dtype=np.int32),
        "n_levels": np.array([prepared.n_levels], dtype=np.int32),
        "null_levels": null.levels,
        "null_class": null.of_class,
        "null_exclude": null.exclude,
        "target_class": null.target_class,
    }
    if lags.size > 1:
        state["lags"] = lags
    if config.levels is None:
        state = {**state, **prepared.quality.state(prepared.values)}
    parameters = prepared.parameters | {
        "estimator": {"search": search},
        "null": {"kind": choice.kind},
    }
    counts = prepared.counts | {"null_draws": len(null.levels)}
    if not _is_ordered(config):
        dependence, _ = dependence_arrays(prepared.values, stated)
        messages += dependence_warnings(dependence, config)
    return PreparedInput(prepared.items, state, counts, messages, parameters)


def _is_ordered(config: PredictorPairsConfig) -> bool:
    """Whether samples are known to stand in the order of time."""
    return bool(config.lag or config.series or config.samples.series or config.samples.time)


class NullChoice(NamedTuple):
    """Which null the section asks for, and what it is drawn from.

    kind, reason : of ``null.kind``, and why. number : draws, None for ``auto``. targets : levels
    (targets, transitions). series : of the transitions. batch : theirs, for ``kind: blocks``.
    courses : ``null.replicate_courses``.
    """

    kind: str
    reason: str
    number: int | None
    targets: NDArray[np.int8]
    series: NDArray[np.int32]
    batch: NDArray[np.int32] | None
    courses: list[list[NDArray[np.int64]]]


def choose_null(
    config: PredictorPairsConfig, prepared: PreparedPredictors
) -> tuple[NullChoice, list[Message]]:
    """The null that the section asks for. Warnings: what it does not keep, the order of samples
    under permutation, drifts under shifts, a course that series have in common."""
    asked, series, stated = config.null, prepared.transitions.series, prepared.design.state
    samples = prepared.transitions.target_samples
    targets = prepared.levels[np.ix_(prepared.targets, samples)]
    batch, times = stated.get("sample_batch"), stated.get("sample_time")
    batch = None if batch is None else batch[samples]
    times = None if times is None else times[samples]
    slow, common = "", ""
    courses: list[list[NDArray[np.int64]]] = []
    values = np.where(targets < 0, np.nan, targets.astype(np.float64))
    if asked.permutations != 0:
        kept, chance = kept_levels(targets, series, prepared.n_levels)
        if kept - chance >= SLOW:  # permutation would make chance look rarer than it is
            slow = (
                f"targets keep their level in {kept:.0%} of the steps, where samples in random "
                f"order would in {chance:.0%}"
            )
        moments = moments_of(series, times)
        alike = common_courses(values, series, moments)
        group = alike.group[np.unique(series, return_inverse=True)[1]]
        courses = replicate_courses(series, moments, [group, *([] if batch is None else [batch])])
        common = alike.clause("levels of a target")
    kind, reason = str(asked.kind), "as set"
    if asked.kind == "auto":
        kind = "circular_shift" if slow else "permutation"
        reason = slow or "targets keep their level no more often than in random order"
        if common:
            kind, reason = "courses", common
        elif batch is not None and not (slow and _is_ordered(config)):
            kind, reason = "blocks", "samples.batch states batches"
    number = None if asked.permutations == "auto" else int(asked.permutations)
    said: list[Message] = []
    exchanges = most_exchanges(courses)
    # Nobody asked for these draws, each costs a search, and so few would tell nothing.
    if kind == "courses" and exchanges < (MIN_SHIFTS if number is None else 1):
        number = 0
        said.append(
            message(
                "too_few_courses",
                why=common or "null.kind is courses",
                series=int(np.unique(series).size),
                exchanges=exchanges,
                least=MIN_SHIFTS,
            )
        )
    # With lag 0, samples have an order only where a table of series says so.
    if kind == "permutation" and slow and _is_ordered(config):
        said.append(message("levels_change_slowly", slow=slow))
    if common and kind != "courses":
        said.append(common_course_warning(common, kind))
    if asked.permutations != 0 and kind != "courses":
        drifting = trending_share(values, series)
        if drifting >= DRIFTING:
            said.append(message("targets_drift", share=drifting))
    return NullChoice(kind, reason, number, targets, series, batch, courses), said


def _null_targets(
    choice: NullChoice, n_levels: int, seed: int
) -> tuple[NullTargets, list[Message]]:
    """Shuffled targets; and how many draws there are for each test, and how small a p-value can
    get."""
    kind, number, targets = choice.kind, choice.number, choice.targets
    if kind == "circular_shift":
        null = shifted_targets(targets, choice.series, number, seed)
    elif kind == "courses":
        null = exchanged_courses(targets, choice.courses, number, seed)
    elif kind == "blocks":
        assert choice.batch is not None  # the configuration asks for samples.batch
        null = targets_within_batches(targets, choice.batch, number, seed)
    else:
        null = permuted_targets(targets, n_levels, number, seed)
    if not len(null.levels):
        return null, []
    reason = message("null_of_targets", kind=kind, reason=choice.reason)
    each = np.unique(null.of_class, return_counts=True)[1]
    draws, most = int(each.max()), "" if (each == each[0]).all() else "up to "
    text = {
        "circular_shift": f"{most}{draws:,} circular shifts of each of {each.size:,} targets",
        "courses": f"{draws:,} exchanges of the courses of each of {each.size:,} targets",
        "blocks": f"{draws:,} permutations within batches of each of {each.size:,} targets",
        "permutation": f"{draws:,} permutations for each of {each.size:,} compositions of targets",
    }[kind]
    if number is None:
        return null, [reason, message("draws_pooled", draws=text, total=len(null.of_class))]
    if draws < number:
        few = "few" if kind == "courses" else "short"
        text += f" (the series are too {few} for the {number:,} asked for)"
    return null, [reason, message("least_p_value", draws=text, least=1 / (draws + 1))]


def source_orders(choice: NullChoice, most_lag: int, seed: int) -> tuple[np.ndarray, list[Message]]:
    """Orders of the sources' samples, for targets that stay as they are: int32 (draws,
    transitions); and what is said of them."""
    # With ``permutations: auto``, so many orders of the sources' samples, which all pairs share.
    number = 100 if choice.number is None else choice.number
    orders: np.ndarray
    every: np.ndarray = np.arange(choice.series.size, dtype=np.int32)[None]
    if choice.kind == "circular_shift":
        orders = shifted_orders(choice.series, number, most_lag, seed)
    elif choice.kind == "courses":
        orders = exchanged_courses(every, choice.courses, number, seed).levels
    else:
        one = np.zeros_like(choice.series)
        batch = choice.batch if choice.kind == "blocks" and choice.batch is not None else one
        orders = targets_within_batches(every, batch, number, seed).levels
    if not len(orders):
        return orders, []
    reason = message("null_of_targets", kind=choice.kind, reason=choice.reason)
    return orders, [reason, message("orders_of_sources", n=len(orders))]


def kept_levels(
    targets: NDArray[np.int8], series: NDArray[np.integer], n_levels: int
) -> tuple[float, float]:
    """Share of steps in which targets keep their level, and the share expected of samples in
    random order; the mean over targets that vary, 0 and 0 without any.

    targets : int8 (targets, samples), -1 where missing, samples of a series in order of time.
    series : int (samples,).
    """
    steps = series[1:] == series[:-1]
    before, after = targets[:, :-1][:, steps], targets[:, 1:][:, steps]
    present = (before >= 0) & (after >= 0)
    n_observed = np.maximum((targets >= 0).sum(axis=1), 1)
    shares = [(targets == level).sum(axis=1) / n_observed for level in range(n_levels)]
    chance = np.sum(np.square(shares), axis=0)
    counted = (np.max(shares, axis=0) < 1.0) & present.any(axis=1)
    if not counted.any():
        return 0.0, 0.0
    kept = ((before == after) & present).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    return float(kept[counted].mean()), float(chance[counted].mean())
