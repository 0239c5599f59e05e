"""Made by `python -m pairtile.config.describe` from the models."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

class PredictorPairsKeywords(TypedDict, total=False):
    lag: int | Sequence[Any]
    series: Any
    time: Any
    step: Mapping[str, float] | None
    quantize: Mapping[str, Any] | None
    preprocess: Mapping[str, Any] | None
    penalty: Literal["no_obs", "none", "poor_obs"]
    alpha: float
    beta: float
    cardinality: int
    top: int
    include_self: bool
    search: Literal["auto", "exhaustive", "sffs"]
    null: Literal["auto", "permutation", "circular_shift", "courses", "blocks"]
    permutations: Literal["auto"] | int
    seed: int
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    layer: str | None
    obs: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]
