"""What the search for predictors is made from, read from the files that a section names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairtile.inputs.expression import Expression, read_expression
from pairtile.inputs.levels import Levels, read_levels
from pairtile.inputs.regulators import read_regulators
from pairtile.inputs.series import Series, read_series
from pairtile.prepare.expression import Prepared


@dataclass(frozen=True)
class PredictorInput:
    """What an analysis is made from: a table, and what is said about its samples and genes.

    ``table``: expression values, raw or prepared already, or levels. ``series``: the time series of
    its samples, None for one. ``regulators``, ``targets``: names, None for every gene.
    """

    table: Expression | Prepared | Levels
    series: Series | None = None
    regulators: list[str] | None = None
    targets: list[str] | None = None


def read_predictor_input(section: Mapping[str, Any]) -> PredictorInput:
    """Read the files that a section names."""
    orientation, layer = section["orientation"], section.get("layer")
    table: Expression | Levels
    if section["levels"] is None:
        table = read_expression(section["expression"], orientation, layer)
    else:
        asked = section["quantize"]["levels"]
        n_levels = None if asked == "auto" else int(asked)
        table = read_levels(section["levels"], orientation, layer, n_levels)
    return PredictorInput(
        table,
        None if section["series"] is None else read_series(section["series"], table.samples),
        _names(section, "regulators", "regulator"),
        _names(section, "targets", "target"),
    )


def _names(section: Mapping[str, Any], key: str, kind: str) -> list[str] | None:
    return None if section[key] is None else read_regulators(section[key], kind)
