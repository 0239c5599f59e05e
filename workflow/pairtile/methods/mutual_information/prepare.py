"""Expression made ready: the estimator's state, and its account."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.engine.large_table import row_blocks, stored, take_columns
from pairtile.engine.state import release
from pairtile.errors import InputError
from pairtile.io.names import GeneNames
from pairtile.io.regulators import FoundRegulators, find_regulators
from pairtile.methods.mutual_information.arrays import MAX_SAMPLES, SplineArrays
from pairtile.methods.mutual_information.config import (
    MutualInformationConfig,
)
from pairtile.methods.mutual_information.null_design import entropy_classes, measured_samples
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.preprocess.samples import dependence_warnings, read_arranged
from pairtile.preprocess.transitions import lagged_samples
from pairtile.preprocess.two_tables import read_two_tables
from pairtile.runtime.record import say_done
from pairtile.runtime.threads import in_background, in_threads
from pairtile.splines.scorer import SplineSettings
from pairtile.splines.values import marginal_entropies, scaled, scaled_halves
from pairtile.statistics.dependence import MAX_GENES, evenly_spaced

message = messages_of(__package__)

_BLOCK_VALUES = 1 << 24
"""Values that are ranked and scaled together, by all cores."""


def spline_state(
    config: MutualInformationConfig, scratch: Path | None = None
) -> PreparedInput[SplineArrays]:
    """Read and clean the expression that the configuration names; match its regulators, and put
    the state together.

    Of a sparse table ``z`` is mapped from a file in ``scratch``. Raises InputError as
    ``read_expression``, ``prepare_expression`` and ``read_regulators`` do.
    """
    if config.other_expression is not None:
        prepared, rows, parameters = read_two_tables(config, scratch)
        found = FoundRegulators(rows, {}, [])
    else:
        expression, design = read_arranged(config, scratch)
        prepared = prepare_expression(
            expression, config.preprocess, True, design, scratch, half=not config.lag
        )
        del expression  # a sparse table may be the largest thing in memory
        parameters = {"preprocess": prepared.parameters}
        genes = GeneNames.of_items(prepared.items, config.ignore_case, config.ignore_versions)
        found = find_regulators(config.regulators, genes)
    regulators, counts, absent = found
    items = prepared.items
    counts = {**prepared.counts, **counts}
    items.loc[regulators, "is_regulator"] = True
    quality = prepared.quality.state(prepared.values)  # before the values are scaled
    config = counts_by_rank(config, *parameters.values())
    made = state_of_values(
        config,
        prepared.values,
        regulators,
        prepared.design.state,
        columns=None if config.other_expression is None else int(regulators[0]),
        scratch=scratch,
    )
    messages = [*prepared.messages, *absent, *made.messages]
    state: SplineArrays = {**made.state, **quality}
    return PreparedInput(items, state, counts, messages, parameters)


def counts_by_rank(
    config: MutualInformationConfig, *parameters: Mapping[str, object]
) -> MutualInformationConfig:
    """The section with ``transform: auto`` decided for residuals of counts: ranks, since extremes
    are noise of counting (of 60 true pairs of 400 cells with 8 counts on average, ranks find .89 at
    5 % false ones, values .76). ``parameters``: how each table was prepared."""
    of_counts = any(how.get("normalize") == "nb_residuals" for how in parameters)
    if not of_counts or config.estimator.transform != "auto":
        return config
    estimator = config.estimator.model_copy(update={"transform": "rank"})
    return config.model_copy(update={"estimator": estimator})


class SplineState(NamedTuple):
    """The state of ``MutualInformation``, with its estimator decided, and what there is to say."""

    config: MutualInformationConfig
    state: SplineArrays
    messages: list[Message]


def state_of_values(
    config: MutualInformationConfig,
    values: NDArray[np.float64],
    regulators: NDArray[np.int32],
    design: SampleArrays,
    columns: int | None = None,
    scratch: Path | None = None,
) -> SplineState:
    """Scale prepared values, float64 (genes, samples), NaN where missing; they are overwritten.

    design : what is known of the samples (``SampleDesign.state``). columns : of two tables, rows of
    the first, which stand before those of the other. scratch : where ``z`` is written, for the
    state to take it from there.
    """
    sources = None
    if config.lag:
        sources, values, design = lagged_values(values, design, config)
    n_samples, floor = values.shape[1], floor_share(values[:columns])
    if columns is not None:
        floor = max(floor, floor_share(values[columns:]))
    estimator = config.estimator.resolved_for(n_samples, floor)
    messages: list[Message] = []
    if estimator != config.estimator:  # what `auto` became, and what of
        what = "ranks" if estimator.transform == "rank" else "values as they are"
        how = {"bins": estimator.bins, "order": estimator.order, "values": what}
        messages.append(message("splines_auto", **how, samples=n_samples, share=floor))
    config = config.model_copy(update={"estimator": estimator})
    settings = spline_settings(config, "float64")
    kind = np.float16 if values.dtype == np.float16 else np.float64
    z = np.require(values, kind, "C")  # what is mapped from a file stays so
    entropy = np.empty(len(z))
    for rows in row_blocks(z.shape, _BLOCK_VALUES):
        if kind == np.float16:
            entropy[rows] = scaled_halves(z[rows], settings, estimator.transform)
        else:
            scaled(z[rows], settings, estimator.transform, overwrite=True)
            entropy[rows] = marginal_entropies(z[rows], settings)
        release(z)
    z_written = in_background(partial(stored, z, scratch))
    say_done(message("values_binned", genes=len(z), **estimator.model_dump()))
    n_classes = int(entropy_classes(entropy).max(initial=0)) + 1
    if n_classes > 1:
        low, high = np.percentile(entropy[entropy > 0.0], [5, 95])
        messages.append(message("entropy_classes", low=low, high=high, classes=n_classes))
    dependence, measured = measured_samples(z, design)
    if columns is not None or any(measured.get("courses_found", ())):
        measured.pop("shared_loadings", None)
    state: SplineArrays = {
        "z": z_written(),
        "entropy_bits": entropy,
        "regulators": regulators,
        "bins_order": np.array(estimator.bins_order),
        "by_rank": np.array(estimator.transform == "rank"),
        "shared_components": np.array(0 if columns is not None else dependence.factors),
        **design,
        **measured,
    }
    if (n_samples > MAX_SAMPLES or kind == np.float16) and not config.lag:
        state["z_some"] = take_columns(z, evenly_spaced(n_samples, MAX_SAMPLES), None)
        messages.append(message("many_samples", some=state["z_some"].shape[1], samples=n_samples))
    if columns is not None:
        state["columns"] = np.array(columns)
    if sources is not None:
        state["z_source"] = scaled(sources, settings, estimator.transform)
        if np.isnan(sources).any():
            state.setdefault("observed", np.ones(len(z)))
    messages += dependence_warnings(dependence, config) + few_samples_warnings(config, n_samples)
    return SplineState(config, state, messages)


def lagged_values(
    values: NDArray[np.float64], design: SampleArrays, config: MutualInformationConfig
) -> tuple[NDArray[np.float64], NDArray[np.float64], SampleArrays]:
    """Values of sources and of targets, float64 (genes, pairs of samples ``lag`` steps apart), and
    the design of these pairs: a course for each series, all one where none is stated.

    Raises InputError where no series has as many samples, or too few pairs are left.
    """
    series = design.get("sample_series", np.zeros(values.shape[1], dtype=np.int32))
    lagged = lagged_samples(series, config.lag, str(config.expression))
    pairs, least = lagged.source.size, config.preprocess.min_samples
    if pairs < least:
        found = f"{pairs} pairs of samples {config.lag} steps apart in one series"
        raise InputError.at(str(config.expression), "", found, f"at least min_samples ({least})")
    paired: SampleArrays = {
        "sample_series": np.unique(series[lagged.source], return_inverse=True)[1].astype(np.int32)
    }
    if "sample_time" in design:
        paired["sample_time"] = design["sample_time"][lagged.source]
    for key in ("degrees_given_up", "hidden_factors", "factor_columns", "factor_labels"):
        if key in design:
            paired[key] = design[key]
    return values[:, lagged.source], values[:, lagged.target], paired


def floor_share(values: NDArray[np.float64]) -> float:
    """Of the median gene, the share of its observed samples at its most common value.

    values : float64 (genes, samples), NaN where missing; of many some are looked at.
    """
    n_genes, n_samples = values.shape
    some = values[:: max(1, n_genes // MAX_GENES), :: max(1, n_samples // MAX_SAMPLES)]

    def in_block(genes: slice) -> NDArray[np.float64]:
        ordered = np.sort(some[genes], axis=1)
        begins = np.ones(ordered.shape, dtype=bool)  # of equal values; each NaN is by itself
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=begins[:, 1:])
        lengths = np.diff(np.flatnonzero(begins), append=begins.size)
        first = np.cumsum(begins.sum(axis=1)) - begins.sum(axis=1)
        known = np.count_nonzero(~np.isnan(ordered), axis=1)
        release(values)
        return (np.maximum.reduceat(lengths, first) / np.maximum(known, 1))[known > 0]

    shares = np.concatenate(list(in_threads(in_block, row_blocks(some.shape, 1 << 16))))
    return float(np.median(shares)) if shares.size else 0.0


def few_samples_warnings(config: MutualInformationConfig, n_samples: int) -> list[Message]:
    """Too few samples for the bins."""
    bins, _ = config.estimator.bins_order
    if bins <= 6 or n_samples >= 10 * bins:  # docs/quality.md compares bins
        return []
    return [message("few_samples_for_bins", samples=n_samples, bins=bins)]


def spline_settings(config: MutualInformationConfig, precision: str) -> SplineSettings:
    """The splines that a configuration asks for."""
    how = config.estimator
    return SplineSettings(*how.bins_order, how.knots, precision)
