"""Prepare the search for predictors: a table to levels, samples to transitions, genes to roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import messages_of, notes_of
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.io.names import GeneNames
from pairtile.io.regulators import find_listed
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.quantize import quantize
from pairtile.methods.predictor_pairs.read_input import (
    MISSING_LEVEL,
    PredictorInput,
    first_level,
    read_predictor_input,
)
from pairtile.preprocess.expression import Prepared, prepare_expression
from pairtile.preprocess.null_design import UNEVEN
from pairtile.preprocess.samples import SampleDesign
from pairtile.preprocess.transitions import lagged_samples
from pairtile.runtime.record import say_done

message = messages_of(__package__)

_SHOWN_STEPS = 6


@dataclass(repr=False)
class PreparedPredictors(Prepared):
    """Levels ready for the search; ``values`` are what they were made of, or they themselves.

    ``levels``: int8 (kept genes, samples), 0 to ``n_levels`` - 1, -1 where missing, C order.
    ``series``: int32 (samples,), the time series of each sample, all 0 where there is one.
    ``transitions``: which sample's predictors go with which sample's target. ``predictors``,
    ``targets``: int32, rows of ``levels``, ascending: the candidates, and the genes whose
    predictors are sought. ``items`` has ``is_regulator`` (listed in ``regulators``), ``is_target``
    and, for each level, ``n_level_0``... (samples at it, 0 for a dropped gene).
    """

    levels: NDArray[np.int8]
    n_levels: int
    series: NDArray[np.int32]
    transitions: Transitions
    predictors: NDArray[np.int32]
    targets: NDArray[np.int32]


def prepare_predictors(
    config: PredictorPairsConfig, scratch: Path | None = None
) -> PreparedPredictors:
    """Read what a section of ``method: predictor_pairs`` names, and prepare it.

    ``config`` has every default filled in. Raises InputError if a file cannot be read, or as
    ``prepare_predictor_input``.
    """
    return prepare_predictor_input(config, read_predictor_input(config, scratch), scratch)


def prepare_predictor_input(
    config: PredictorPairsConfig, given: PredictorInput, scratch: Path | None = None
) -> PreparedPredictors:
    """Prepare what was read, or is in memory, by a section's settings.

    Expression values go through ``preprocess`` and ``quantize`` (prepared ones through ``quantize``
    alone); a table of levels is used as it is, without the genes that ``min_samples`` and
    ``drop_constant`` leave out. The section's paths are what messages call the input.
    Values of a sparse table are mapped from a file in ``scratch``.

    Raises
    ------
    InputError
        If the input cannot be used; no transition is left, or fewer than ``min_samples``; the
        candidates are fewer than a set of predictors needs.
    ConfigError
        For settings that are not allowed.
    """
    table, levels, n_levels = _levels(config, given, scratch)
    design, series = given.design or SampleDesign.unknown(), given.series
    if series is not None:
        table.messages.extend(series.notes)
        design = replace(design, series=series.numbers, series_labels=series.names)
    in_order = "columns_in_series" if design.series.size else "columns_as_times"
    if design.series.size:
        table.counts["series"] = int(design.series.max()) + 1
    else:  # without any series all samples are one
        design = replace(design, series=np.zeros(len(table.samples), dtype=np.int32))
    if config.lag and config.samples.time is None:
        table.messages.append(message(in_order, samples=len(table.samples)))
    found = _transitions(config, design, table)
    predictors = _selected_rows("regulators", given.regulators, config, table)
    targets = _selected_rows("targets", given.targets, config, table)
    # A target is no candidate of its own, unless asked for.
    wanted = 1 if config.is_transfer else config.estimator.cardinality
    others_only = not config.estimator.self
    lacking = int((predictors.size - (np.isin(targets, predictors) & others_only) < wanted).sum())
    if lacking == targets.size:
        raise InputError.at(
            config.regulators or config.table,
            "",
            f"{predictors.size} candidate predictors among the kept genes",
            f"at least {wanted} beside the target for estimator.cardinality: {wanted}",
        )
    if lacking:
        table.messages.append(
            message("few_candidates", n=lacking, targets=targets.size, wanted=wanted)
        )
    items = table.items.assign(is_target=False)
    _describe_levels(levels, n_levels, targets, table, items)
    if config.regulators is not None:
        items.loc[predictors, "is_regulator"] = True
    items.loc[targets, "is_target"] = True
    parameters: dict[str, object] = {
        "preprocess": table.parameters,
        "quantize": config.quantize.model_dump() | {"levels": n_levels},
    }
    return PreparedPredictors(
        **vars(replace(table, items=items, parameters=parameters)),
        levels=levels,
        n_levels=n_levels,
        series=design.series,
        transitions=found,
        predictors=predictors,
        targets=targets,
    )


def _levels(
    config: PredictorPairsConfig, given: PredictorInput, scratch: Path | None
) -> tuple[Prepared, NDArray[np.int8], int]:
    table, n_levels, cleaning = given.table, given.n_levels, config.preprocess
    if n_levels is None:
        table = prepare_expression(table, cleaning, design=given.design, scratch=scratch)
        levels = quantize(table.values, config.quantize)
        say_done(message("levels_made", n=config.quantize.levels, rule=config.quantize.rule))
        return table, levels, int(config.quantize.levels)
    assert isinstance(table, Expression)
    prepared = prepare_expression(table, cleaning.of_levels)
    prepared.parameters["log2_requested"] = cleaning.log2
    as_they_are = message("levels_as_they_are", n=n_levels)
    say_done(as_they_are)
    prepared.messages[:] = [*notes_of(table.notes), as_they_are, *prepared.warnings]
    first = first_level(table.values, config.quantize.levels)
    if first:
        prepared.messages.append(message("levels_from_one", n=n_levels, highest=n_levels - 1))
    levels = np.where(np.isnan(prepared.values), MISSING_LEVEL, prepared.values - first)
    return prepared, levels.astype(np.int8), n_levels


def _transitions(
    config: PredictorPairsConfig, design: SampleDesign, table: Prepared
) -> Transitions:
    lag, least, n_samples = config.steps_back, config.preprocess.min_samples, design.series.size
    whole = transitions(design.series, lag, config.series or config.table)
    if whole.n_short:
        table.messages.append(
            message("series_too_short", n=whole.n_short, series=whole.n_series, lag=lag)
        )
    found, left = whole, ""
    if design.step is not None:
        # Those that take steps of the length that is stated, by stretches of such steps.
        source, target, stretches = whole.source_samples, whole.target_samples, design.stretches
        even = stretches[source] == stretches[target]
        found = replace(
            whole,
            source_samples=source[even],
            target_samples=target[even],
            series=np.unique(stretches[source[even]], return_inverse=True)[1].astype(np.int32),
        )
        left = f", {len(whole) - len(found)} left out by samples.step"
        table.counts["transitions_left_out"] = len(whole) - len(found)
    elif lag and design.times.size:
        lengths = design.times[found.target_samples] - design.times[found.source_samples]
        if lengths.max() > UNEVEN * lengths.min():
            # Six digits: differences of decimal fractions are off by rounding.
            common = Counter(f"{length:.6g}" for length in lengths).most_common()
            shown = [f"{length} ({n})" for length, n in common[:_SHOWN_STEPS]]
            if len(common) > _SHOWN_STEPS:
                shown.append(f"{len(common) - _SHOWN_STEPS} more")
            table.messages.append(
                message(
                    "uneven_steps",
                    transitions=len(lengths),
                    shortest=float(lengths.min()),
                    longest=float(lengths.max()),
                    step=float(common[0][0]) / lag,
                    of_step=common[0][1],
                    lengths=", ".join(shown),
                )
            )
    table.counts["transitions"] = len(found)
    if len(found) < least:
        raise InputError.at(
            config.table,
            "",
            f"{len(found)} transitions ({n_samples} samples, {found.n_series} series, lag: {lag}"
            f"{left})",
            f"at least preprocess.min_samples ({least}); lower that key if so few are meant",
        )
    if len(config.lags) > 1:
        earlier = earlier_samples(design.series, found.target_samples, config.lags)
        found = replace(found, source_samples=earlier)
    return found


def earlier_samples(
    series: NDArray[np.int32], samples: NDArray[np.int32], steps: Sequence[int]
) -> NDArray[np.int32]:
    """The samples that lie so many steps before others of the same series: int32 (steps, samples).

    series : int32, of every sample, those of one in the order of time.
    """
    order = np.argsort(series, kind="stable").astype(np.int32)
    place = np.argsort(order)[samples]
    return np.asarray(order[place - np.asarray(steps)[:, None]])


def _selected_rows(
    key: str, names: list[str] | None, config: PredictorPairsConfig, table: Prepared
) -> NDArray[np.int32]:
    """Rows of the genes that are listed under ``key``; all without a list."""
    rows = np.arange(len(table.genes), dtype=np.int32)
    if names is not None:
        genes = GeneNames.of_items(table.items, config.ignore_case, config.ignore_versions)
        found = find_listed(names, genes, getattr(config, key) or key, key)
        table.counts.update(found.counts)
        table.messages.extend(found.messages)
        rows = found.rows
    table.counts[f"{key}_used"] = int(rows.size)
    return rows


def _describe_levels(
    levels: NDArray[np.int8],
    n_levels: int,
    targets: NDArray[np.int32],
    table: Prepared,
    items: pd.DataFrame,
) -> None:
    """What the levels look like, and what that means for the search."""
    used = np.zeros(len(levels), dtype=np.int64)
    for level in range(n_levels):
        counts = np.zeros(len(items), dtype=np.int32)
        counts[: len(levels)] = (levels == level).sum(axis=1)
        items[f"n_level_{level}"] = counts
        used += counts[: len(levels)] > 0
    single = np.flatnonzero(used <= 1)
    table.counts["levels"] = n_levels
    table.counts["levels_missing"] = int((levels == MISSING_LEVEL).sum())
    table.counts["genes_at_one_level"] = int(single.size)
    most = int(used.max(initial=0))
    if 1 < most < n_levels:
        table.messages.append(message("levels_never_reached", levels=n_levels, most=most))
    n_targets = int(np.isin(targets, single).sum())
    if n_targets:
        table.messages.append(message("targets_constant", n=n_targets, targets=targets.size))


@dataclass(frozen=True)
class Transitions:
    """Pairs of samples: predictors are read in one, the target in the other, ``lag`` steps later.

    ``source_samples``, ``target_samples``: int32, shape (transitions,), column numbers of the
    table; with several lags the first (lags, transitions). They stand series by series, each in the
    order of time, so that the transitions of one series are neighbours; ``series``: int32, the
    series of each. ``n_short``: series that are too short to have a transition; ``n_series``: all.
    """

    source_samples: NDArray[np.int32]
    target_samples: NDArray[np.int32]
    series: NDArray[np.int32]
    n_series: int
    n_short: int

    def __len__(self) -> int:
        return len(self.target_samples)


def transitions(series: NDArray[np.int32], lag: int, source: str = "series") -> Transitions:
    """All pairs of samples that lie ``lag`` steps apart in the same series (``lagged_samples``).

    series : int32 (samples,), not negative. source : where they come from, for the message. Raises
    InputError if no series is longer than ``lag``.

    Examples
    --------
    >>> found = transitions(np.array([0, 0, 1, 0, 1], dtype=np.int32), 1)
    >>> list(zip(found.source_samples.tolist(), found.target_samples.tolist()))
    [(0, 1), (1, 3), (2, 4)]
    """
    found = lagged_samples(series, lag, source)
    _, lengths = np.unique(series, return_counts=True)
    return Transitions(
        source_samples=found.source,
        target_samples=found.target,
        series=series[found.source],
        n_series=len(lengths),
        n_short=int((lengths <= lag).sum()),
    )
