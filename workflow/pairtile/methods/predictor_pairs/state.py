"""From prepared levels to the state that tiles are computed from (``arrays.PredictorArrays``)."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.estimator import PreparedInput
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.null import (
    MIN_SHIFTS,
    NullTargets,
    most_shifts,
    permuted_targets,
    shifted_targets,
    targets_within_batches,
)
from pairtile.methods.predictor_pairs.prepare import PreparedPredictors
from pairtile.preprocess.samples import dependence_warnings
from pairtile.statistics.dependence import measure_dependence, trending_share

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
    n_predictors, n_targets = int(prepared.predictors.size), int(prepared.targets.size)
    asked = config.estimator.cardinality
    notes = list(prepared.notes)
    search = "exhaustive"
    if asked == 3:
        triples = comb(n_predictors, 3) * n_targets
        search, note = _search_of_triples(config.estimator.search, triples)
        notes.append(note)
    cardinality = asked if search == "exhaustive" else 2
    slow = _slow_targets(config, prepared)
    kind = _kind_of_null(config, prepared, slow)
    null = _null(config, kind, prepared, comb(n_predictors, cardinality), seed)
    notes += _null_notes(config, kind, null, slow)
    state: PredictorArrays = {
        "levels": prepared.levels,
        "values": prepared.values,
        "series": prepared.series,
        "source_samples": prepared.source_samples,
        "target_samples": prepared.target_samples,
        "predictors": prepared.predictors,
        "targets": prepared.targets,
        "cardinality": np.array([cardinality], dtype=np.int32),
        "n_levels": np.array([prepared.n_levels], dtype=np.int32),
        "null_levels": null.levels,
        "null_class": null.of_class,
        "null_exclude": null.exclude,
        "target_class": null.target_class,
    }
    parameters = dict(prepared.parameters)
    parameters["estimator"] = dict(parameters.get("estimator", {})) | {"search": search}
    counts = dict(prepared.counts) | {"null_draws": len(null.levels)}
    parameters["null"] = dict(parameters.get("null", {})) | {"kind": kind}
    warnings = [*prepared.warnings, *_null_warnings(config, kind, prepared, slow)]
    if not _is_ordered(config):
        batch = prepared.stated.get("sample_batch")
        warnings += dependence_warnings(measure_dependence(prepared.values, None, batch), config)
    return PreparedInput(prepared.items, state, counts, notes, warnings, parameters)


def _search_of_triples(asked: str, triples: int) -> tuple[str, str]:
    """How triples are searched, and the sentence that says so."""
    work = f"{triples:,} triples of predictors times targets"
    if asked == "exhaustive" or (asked == "auto" and triples <= EXHAUSTIVE_TRIPLES):
        return "exhaustive", f"Every one of {work} is scored."
    reason = "are too many to score all" if asked == "auto" else "are not all scored, as asked"
    return "sffs", (
        f"{work} {reason}: triples are grown from the best pairs by sequential forward floating "
        "selection (sffs) and may miss the best."
    )


def _is_ordered(config: PredictorPairsConfig) -> bool:
    """Whether samples are known to stand in the order of time."""
    stated = config.samples.series or config.samples.time
    return bool(config.lag or config.series or stated)


def _kind_of_null(
    config: PredictorPairsConfig, prepared: PreparedPredictors, slow: str | None
) -> str:
    if config.null.kind != "auto":
        return config.null.kind
    if "sample_batch" in prepared.stated and not (slow and _is_ordered(config)):
        return "blocks"
    return "circular_shift" if slow else "permutation"


def _null(
    config: PredictorPairsConfig, kind: str, prepared: PreparedPredictors, sets: int, seed: int
) -> NullTargets:
    """The shuffled targets that the section asks for."""
    targets = prepared.levels[np.ix_(prepared.targets, prepared.target_samples)]
    asked = config.null.permutations
    number = None if asked == "auto" else int(asked)
    if kind == "circular_shift":
        if _is_too_short(config, kind, prepared):
            number = 0
        return shifted_targets(targets, prepared.transitions.series, number, seed)
    if kind == "blocks":
        batch = prepared.stated["sample_batch"][prepared.target_samples]
        return targets_within_batches(targets, batch, number, seed)
    return permuted_targets(targets, prepared.n_levels, number, sets, seed)


def _is_too_short(config: PredictorPairsConfig, kind: str, prepared: PreparedPredictors) -> bool:
    """Whether shifts, which nobody asked for and which cost a search each, would tell nothing."""
    return (
        kind == "circular_shift"
        and config.null.kind == config.null.permutations == "auto"
        and most_shifts(prepared.transitions.series) < MIN_SHIFTS
    )


def _null_notes(
    config: PredictorPairsConfig, kind: str, null: NullTargets, slow: str | None
) -> list[str]:
    """Which null there is and why, how many draws for each test, and how small a p-value can
    get."""
    if not null.of_class.size:
        return []
    reason = "as set"
    if config.null.kind == "auto":
        reason = slow or "targets keep their level no more often than in random order"
        reason = "samples.batch states batches" if kind == "blocks" else reason
    chosen = f"Null: {kind} ({reason})."
    number = np.unique(null.of_class, return_counts=True)[1]
    draws, most = int(number.max()), "" if (number == number[0]).all() else "up to "
    classes = int(np.unique(null.of_class).size)
    if kind == "circular_shift":
        text = f"{most}{draws:,} circular shifts of each of {classes:,} targets"
    elif kind == "blocks":
        text = f"{draws:,} permutations within batches of each of {classes:,} targets"
    else:
        text = f"{draws:,} permutations for each of {classes:,} compositions of targets"
    asked = config.null.permutations
    if asked != "auto" and draws < asked:
        text += f" (the series are too short for the {asked:,} asked for)"
    return [chosen, f"{text}: no p-value is below {1 / (draws + 1):.2g}."]


def _slow_targets(config: PredictorPairsConfig, prepared: PreparedPredictors) -> str | None:
    """How slowly levels change, where permutation would make chance look rarer than it is."""
    if config.null.permutations == 0:
        return None
    targets = prepared.levels[np.ix_(prepared.targets, prepared.target_samples)]
    kept, chance = kept_levels(targets, prepared.transitions.series, prepared.n_levels)
    if kept - chance < SLOW:
        return None
    return (
        f"targets keep their level in {kept:.0%} of the steps, where samples in random order "
        f"would in {chance:.0%}"
    )


def _null_warnings(
    config: PredictorPairsConfig, kind: str, prepared: PreparedPredictors, slow: str | None
) -> list[str]:
    """What the null does not keep: the order of samples under permutation, drifts under shifts."""
    if config.null.permutations == 0:
        return []
    warnings = []
    if _is_too_short(config, kind, prepared):
        shifts = most_shifts(prepared.transitions.series)
        warnings.append(
            f"There are no p-values. Levels change slowly ({slow}), so that targets have to be "
            f"shifted in time, and {prepared.target_samples.size} transitions have {shifts} "
            "circular shifts: no p-value could be below 0.05. null: {kind: circular_shift} "
            f"computes them all the same, which takes as long as {shifts} searches."
        )
    # With lag 0, samples have an order only where a table of series says so.
    if kind == "permutation" and slow is not None and _is_ordered(config):
        warnings.append(
            f"Levels change slowly: {slow}. Permutation breaks that up, so its p- and q-values "
            "come out far too small: genes that have nothing to do with each other pass. Set "
            "null.kind: circular_shift, which keeps it."
        )
    targets = prepared.levels[np.ix_(prepared.targets, prepared.target_samples)]
    values = np.where(targets < 0, np.nan, targets.astype(np.float64))
    drifting = trending_share(values, prepared.transitions.series)
    if drifting >= DRIFTING:
        warnings.append(
            f"{drifting:.0%} of the targets drift along their series (5 % would by chance). "
            "Neither shifts nor permutations keep drifts: genes that only drift at the same time "
            "predict each other, with p- and q-values far too small. preprocess.regress_out with "
            "a column of times removes straight drifts before levels are made."
        )
    return warnings


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
