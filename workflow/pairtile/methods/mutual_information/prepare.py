"""Expression made ready for mutual information: the estimator's state, and its account."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.estimator import PreparedInput
from pairtile.io.regulators import match_regulators, read_regulators
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.null import entropy_classes
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.samples import read_arranged
from pairtile.splines.scorer import SplineSettings
from pairtile.splines.values import marginal_entropies, scaled


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
            shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
            warnings.append(
                f"{len(absent)} of {len(names)} regulators are not among the genes: {shown}."
            )
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
    parameters = {"preprocess": prepared.parameters}
    return PreparedInput(items, state, counts, notes, warnings, parameters)


def spline_settings(config: MutualInformationConfig, precision: str) -> SplineSettings:
    """The splines that a configuration asks for."""
    estimator = config.estimator
    return SplineSettings(estimator.bins, estimator.order, estimator.knots, precision)
