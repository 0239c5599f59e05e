"""What the search for predictors is made from, read from the files that a section names."""

from __future__ import annotations

from dataclasses import dataclass

from pairtile.io.expression import Expression, read_expression
from pairtile.io.regulators import read_regulators
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig
from pairtile.methods.predictor_pairs.read_levels import Levels, read_levels
from pairtile.methods.predictor_pairs.read_series import Series, read_series
from pairtile.preprocess.expression import Prepared


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


def read_predictor_input(config: PredictorPairsConfig) -> PredictorInput:
    """Read the files that a section names."""
    orientation, layer = config["orientation"], config.get("layer")
    table: Expression | Levels
    if config["levels"] is None:
        table = read_expression(config["expression"], orientation, layer)
    else:
        asked = config["quantize"]["levels"]
        n_levels = None if asked == "auto" else int(asked)
        table = read_levels(config["levels"], orientation, layer, n_levels)
    return PredictorInput(
        table,
        None if config["series"] is None else read_series(config["series"], table.samples),
        _names(config, "regulators", "regulator"),
        _names(config, "targets", "target"),
    )


def _names(config: PredictorPairsConfig, key: str, kind: str) -> list[str] | None:
    return None if config[key] is None else read_regulators(config[key], kind)
