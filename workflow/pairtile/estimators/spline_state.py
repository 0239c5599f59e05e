"""Expression made ready for mutual information: the estimator's state, and its account."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.estimators.base import PreparedInput, Section
from pairtile.estimators.spline_values import marginal_entropies, scaled, spline_settings
from pairtile.inputs.expression import read_expression
from pairtile.inputs.regulators import match_regulators, read_regulators
from pairtile.network.significance import entropy_classes
from pairtile.prepare import prepare_expression


def spline_state(section: Section) -> PreparedInput:
    """Read, clean and scale the expression that a section names; match its regulators.

    The arrays of the state are those of ``MutualInformation``. Raises InputError as
    ``read_expression``, ``prepare_expression`` and ``read_regulators`` do.
    """
    expression = read_expression(
        section["expression"], section["orientation"], section.get("layer")
    )
    prepared = prepare_expression(expression, section["preprocess"], overwrite=True)
    notes = list(prepared.notes)
    warnings = list(prepared.warnings)
    counts = dict(prepared.counts)
    items = prepared.items
    regulators = np.empty(0, dtype=np.int32)
    if section["regulators"] is not None:
        names = read_regulators(section["regulators"])
        regulators, absent = match_regulators(names, prepared.genes, section["regulators"])
        counts |= {"regulators_listed": len(names), "regulators_used": int(regulators.size)}
        if absent:
            shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
            warnings.append(
                f"{len(absent)} of {len(names)} regulators are not among the genes: {shown}."
            )
        items.loc[regulators, "is_regulator"] = True
    settings = spline_settings(section, "float64")
    transform = section["estimator"]["transform"]
    z = scaled(prepared.values, settings, transform, overwrite=True)
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
    parameters = {"preprocess": prepared.parameters}
    return PreparedInput(items, state, counts, notes, warnings, parameters)
