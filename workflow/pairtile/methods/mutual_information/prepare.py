"""Expression made ready for mutual information: the estimator's state, and its account."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.config.preprocess import ExpressionAnalysis
from pairtile.engine.estimator import PreparedInput
from pairtile.io.regulators import match_regulators, read_regulators, warning_of_absent
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.null_design import dependence_arrays, entropy_classes
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.samples import read_arranged, warn_of_near_copies
from pairtile.splines.scorer import SplineSettings
from pairtile.splines.values import marginal_entropies, scaled
from pairtile.statistics.dependence import Dependence

SAMPLES_PER_BIN = 10
"""Fewer are warned of (docs/quality.md compares bins)."""


def spline_state(config: MutualInformationConfig) -> PreparedInput:
    """Read, clean and scale the expression that the configuration names; match its regulators.

    The arrays of the state are those of ``MutualInformation``. Raises InputError as
    ``read_expression``, ``prepare_expression`` and ``read_regulators`` do.
    """
    expression, design = read_arranged(config)
    prepared = prepare_expression(expression, config.preprocess, True, design)
    notes = list(prepared.notes)
    warnings = list(prepared.warnings)
    counts = dict(prepared.counts)
    items = prepared.items
    regulators = np.empty(0, dtype=np.int32)
    if config.regulators is not None:
        names = read_regulators(config.regulators)
        regulators, absent = match_regulators(names, prepared.genes, config.regulators)
        counts |= {"regulators_listed": len(names), "regulators_used": int(regulators.size)}
        if absent:
            warnings.append(warning_of_absent(absent, len(names), prepared.genes))
        items.loc[regulators, "is_regulator"] = True
    settings = spline_settings(config, "float64")
    z = scaled(prepared.values, settings, config.estimator.transform, overwrite=True)
    entropy = marginal_entropies(z, settings)
    n_classes = int(entropy_classes(entropy).max(initial=0)) + 1
    if n_classes > 1:
        low, high = np.percentile(entropy[entropy > 0.0], [5, 95])
        warnings.append(
            f"Marginal entropies range from {low:.2f} to {high:.2f} bits (outliers or ties): "
            f"each pair of {n_classes} entropy classes gets a null distribution of its own; "
            "transform: rank makes them alike where ties are few."
        )
    state: dict[str, NDArray[Any]] = {"z": z, "entropy_bits": entropy, "regulators": regulators}
    state |= design.state
    dependence, measured = dependence_arrays(z, design.state.get("sample_series"))
    state |= measured
    warnings += sample_warnings(dependence, config, z.shape[1])
    parameters = {"preprocess": prepared.parameters}
    return PreparedInput(items, state, counts, notes, warnings, parameters)


def sample_warnings(
    found: Dependence, config: MutualInformationConfig, n_samples: int
) -> list[str]:
    """Samples that depend on each other, with nothing stated of it; too few for the bins."""
    warnings = [*warn_of_near_copies(found, config), *warn_of_groups(found, config)]
    bins = config.estimator.bins
    if n_samples < SAMPLES_PER_BIN * bins:
        warnings.append(
            f"{n_samples} samples are few for {bins} bins: chance raises the score of every pair, "
            "and true ones stand out less. estimator.bins: 5 or 6 is better below about 100 "
            "samples."
        )
    return warnings


def warn_of_groups(found: Dependence, config: ExpressionAnalysis) -> list[str]:
    """Samples fall into two groups, as batches do, and nothing is stated of it."""
    if not found.groups[0] or config.samples.batch or config.preprocess.regress_out:
        return []
    return [
        f"The first principal component splits the samples into groups of {found.groups[0]} "
        f"and {found.groups[1]}: a difference between batches or conditions makes genes "
        "agree that have nothing else in common. samples.batch keeps it out of p-values, "
        "preprocess.regress_out removes it."
    ]


def spline_settings(config: MutualInformationConfig, precision: str) -> SplineSettings:
    """The splines that a configuration asks for."""
    estimator = config.estimator
    return SplineSettings(estimator.bins, estimator.order, estimator.knots, precision)
