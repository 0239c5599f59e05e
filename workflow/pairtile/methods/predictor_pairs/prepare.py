"""Prepare the search for predictors: a table to levels, samples to transitions, genes to roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.preprocess import Preprocess
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.io.regulators import match_regulators
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.prepare_input import PredictorInput, read_predictor_input
from pairtile.methods.predictor_pairs.quantize import quantize
from pairtile.methods.predictor_pairs.read_levels import MISSING_LEVEL, Levels
from pairtile.methods.predictor_pairs.read_series import Series
from pairtile.methods.predictor_pairs.transitions import Transitions, transitions
from pairtile.preprocess.expression import Prepared, prepare_expression

_SHOWN = 5


@dataclass(frozen=True)
class PreparedPredictors:
    """Levels ready for the search, and the account of how they came about.

    ``levels``: int8 (kept genes, samples), 0 to ``n_levels`` - 1, -1 where missing, C order;
    ``genes`` in input order. ``series``: int32 (samples,), the time series of each sample, all 0
    where there is one. ``transitions``: which sample's predictors go with which sample's target.
    ``predictors``, ``targets``: int32, rows of ``levels``, ascending: the candidates, and the genes
    whose predictors are sought.

    ``items``: one row per input gene, kept ones first (so that row numbers of ``levels`` and
    ``items`` agree): the columns of ``prepare.items.items_table``, and

    | column | meaning |
    |---|---|
    | is_regulator | listed in ``regulators``; false everywhere without a list |
    | is_target | its predictors are sought |
    | n_level_0, n_level_1, ... | samples at that level, int32; 0 for a dropped gene |

    ``counts``, ``warnings``, ``notes``: what was changed and decided. ``parameters``: keys of the
    section as they were decided, nested as there.
    """

    levels: NDArray[np.int8]
    n_levels: int
    genes: list[str]
    samples: list[str]
    series: NDArray[np.int32]
    transitions: Transitions
    predictors: NDArray[np.int32]
    targets: NDArray[np.int32]
    items: pd.DataFrame
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def source_samples(self) -> NDArray[np.int32]:
        """Column of ``levels`` where each transition's predictors are read, (transitions,)."""
        return self.transitions.source_samples

    @property
    def target_samples(self) -> NDArray[np.int32]:
        """Column of ``levels`` where each transition's target is read, (transitions,)."""
        return self.transitions.target_samples


def prepare_predictors(config: PredictorPairsConfig) -> PreparedPredictors:
    """Read what a section of ``method: predictor_pairs`` names, and prepare it.

    ``config`` has every default filled in.

    Raises
    ------
    InputError
        If a file cannot be read, or as ``prepare_predictor_input``.
    ConfigError
        For settings that are not allowed.
    """
    return prepare_predictor_input(config, read_predictor_input(config))


def prepare_predictor_input(
    config: PredictorPairsConfig, given: PredictorInput
) -> PreparedPredictors:
    """Prepare what was read, or is in memory, by a section's settings.

    Expression values go through ``preprocess`` and ``quantize`` (prepared ones through ``quantize``
    alone); a table of levels is used as it is, without the genes that ``min_samples`` and
    ``drop_constant`` leave out. The section's paths are what messages call the input.

    Raises
    ------
    InputError
        If the input cannot be used; no transition is left, or fewer than ``min_samples``; the
        candidates are fewer than a set of predictors needs.
    ConfigError
        For settings that are not allowed.
    """
    prepared, levels, n_levels = _levels(config, given.table)
    account = _Account(prepared)
    series = _series(config, prepared, given.series, account)
    found = _transitions(config, series, account)
    predictors = account.chosen(config, "regulators", "regulator", given.regulators)
    targets = account.chosen(config, "targets", "target", given.targets)
    _check_candidates(config, predictors, targets, account)
    account.tell_levels(levels, n_levels, targets)
    items = _items(prepared.items, levels, n_levels)
    if config["regulators"] is not None:
        items.loc[predictors, "is_regulator"] = True
    items.loc[targets, "is_target"] = True
    return PreparedPredictors(
        levels=levels,
        n_levels=n_levels,
        genes=prepared.genes,
        samples=prepared.samples,
        series=series,
        transitions=found,
        predictors=predictors,
        targets=targets,
        items=items,
        counts=account.counts,
        notes=account.notes,
        warnings=account.warnings,
        parameters={
            "preprocess": prepared.parameters,
            "quantize": {**config["quantize"], "levels": n_levels},
        },
    )


def _levels(
    config: PredictorPairsConfig, table: Expression | Prepared | Levels
) -> tuple[Prepared, NDArray[np.int8], int]:
    """The kept genes' values, and their levels."""
    if not isinstance(table, Levels):
        prepared = table
        if isinstance(prepared, Expression):
            prepared = prepare_expression(prepared, config["preprocess"])
        return (
            prepared,
            quantize(prepared.values, config["quantize"]),
            int(config["quantize"]["levels"]),
        )
    prepared = _filter_levels(table, config["preprocess"])
    missing = np.isnan(prepared.values)
    return (
        prepared,
        np.where(missing, MISSING_LEVEL, prepared.values).astype(np.int8),
        table.n_levels,
    )


def _filter_levels(table: Levels, preprocess: Mapping[str, Any]) -> Prepared:
    values = np.where(table.values == MISSING_LEVEL, np.nan, table.values.astype(np.float64))
    filters = {key: preprocess[key] for key in ("min_samples", "drop_constant")}
    as_they_are = Expression(values, table.genes, table.samples, table.source, table.notes)
    prepared = prepare_expression(as_they_are, Preprocess(log2=False, **filters))
    prepared.parameters["log2_requested"] = preprocess["log2"]
    prepared.notes = [
        *table.notes,
        f"The table holds {table.n_levels} levels; they are used as they are.",
    ]
    return prepared


def _series(
    config: PredictorPairsConfig, prepared: Prepared, series: Series | None, account: _Account
) -> NDArray[np.int32]:
    """The time series of each sample."""
    n_samples = len(prepared.samples)
    if series is None:
        if config["lag"]:
            account.notes.append(
                f"The {n_samples} samples are taken for one time series, in the table's order."
            )
        return np.zeros(n_samples, dtype=np.int32)
    account.counts["series"] = len(series.names)
    if series.n_unused:
        account.notes.append(
            f"{series.n_unused} samples in {config['series']} are not in the table; they are "
            "passed over."
        )
    return series.numbers


def _transitions(
    config: PredictorPairsConfig,
    series: NDArray[np.int32],
    account: _Account,
) -> Transitions:
    lag, least, n_samples = config["lag"], config["preprocess"]["min_samples"], len(series)
    table = config["expression"] if config["levels"] is None else config["levels"]
    found = transitions(n_samples, lag, series, source=config["series"] or table)
    if found.n_short:
        account.warnings.append(
            f"{found.n_short} of {found.n_series} series have no more than {lag} samples, too few "
            f"for lag: {lag}; their samples are not used."
        )
    account.counts["transitions"] = len(found)
    if len(found) < least:
        raise InputError.at(
            table,
            "",
            f"{len(found)} transitions ({n_samples} samples, {found.n_series} series, lag: {lag})",
            f"at least preprocess.min_samples ({least}); lower that key if so few are meant",
        )
    return found


def _check_candidates(
    config: PredictorPairsConfig,
    predictors: NDArray[np.int32],
    targets: NDArray[np.int32],
    account: _Account,
) -> None:
    wanted = config["estimator"]["cardinality"]
    own = 0 if config["estimator"]["self"] else np.isin(targets, predictors).astype(int)
    lacking = int((np.broadcast_to(predictors.size - own, targets.shape) < wanted).sum())
    if lacking == targets.size:
        raise InputError.at(
            config["regulators"] or config["levels"] or config["expression"],
            "",
            f"{predictors.size} candidate predictors among the kept genes",
            f"at least {wanted} beside the target for estimator.cardinality: {wanted}",
        )
    if lacking:
        account.warnings.append(
            f"{lacking} of {targets.size} targets have fewer than {wanted} candidate predictors "
            "beside themselves, and so no result."
        )


def _items(items: pd.DataFrame, levels: NDArray[np.int8], n_levels: int) -> pd.DataFrame:
    items = items.copy()
    items["is_target"] = False
    for level in range(n_levels):
        counts = np.zeros(len(items), dtype=np.int32)
        counts[: len(levels)] = (levels == level).sum(axis=1)
        items[f"n_level_{level}"] = counts
    return items


class _Account:
    """Counts, notes and warnings, begun by the table's own."""

    def __init__(self, prepared: Prepared) -> None:
        self.counts = dict(prepared.counts)
        self.notes = list(prepared.notes)
        self.warnings = list(prepared.warnings)
        self._genes = prepared.genes

    def chosen(
        self, config: PredictorPairsConfig, key: str, kind: str, names: list[str] | None
    ) -> NDArray[np.int32]:
        """Rows of the genes that are listed under ``key``; all where nothing is."""
        if names is None:
            rows = np.arange(len(self._genes), dtype=np.int32)
        else:
            rows, absent = match_regulators(names, self._genes, config[key], kind)
            self.counts[f"{key}_listed"] = len(names)
            if absent:
                shown = ", ".join(absent[:_SHOWN]) + (", ..." if len(absent) > _SHOWN else "")
                self.warnings.append(
                    f"{len(absent)} of {len(names)} {key} are not among the kept genes: {shown}."
                )
        self.counts[f"{key}_used"] = int(rows.size)
        return rows

    def tell_levels(
        self, levels: NDArray[np.int8], n_levels: int, targets: NDArray[np.int32]
    ) -> None:
        """What the levels look like, and what that means for the search."""
        self.counts["levels"] = n_levels
        self.counts["levels_missing"] = int((levels == MISSING_LEVEL).sum())
        used = sum((levels == level).any(axis=1).astype(int) for level in range(n_levels))
        single = np.flatnonzero(used <= 1)
        self.counts["genes_at_one_level"] = int(single.size)
        most = int(used.max(initial=0))
        if 1 < most < n_levels:
            self.warnings.append(
                f"There are {n_levels} levels, but no gene has more than {most} of them: "
                "combinations that cannot occur count as not seen. Fewer suit this table "
                "(quantize.levels; a table that holds levels already goes under the key levels)."
            )
        n_targets = int(np.isin(targets, single).sum())
        if n_targets:
            self.warnings.append(
                f"{n_targets} of {targets.size} targets have the same level in all samples: every "
                "set of predictors tells it, so their best set means nothing."
            )
