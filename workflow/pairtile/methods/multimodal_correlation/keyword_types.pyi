"""Made by `python -m pairtile.config.describe` from the models."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

class MultimodalCorrelationKeywords(TypedDict, total=False):
    clustering: Literal["gmm", "none"]
    correlation: Literal["spearman", "pearson", "bicor", "kendall", "partial"]
    min_clusters: int
    max_clusters: int
    criterion: Literal["icl", "bic", "aic"]
    min_samples: int
    min_correlation: float
    max_correlation: float
    min_expression: float | None
    max_expression: float | None
    outliers_before: bool
    outliers_after: bool
    restarts: int
    compatibility: Literal["none", "kinc"]
    lag: int
    preprocess: Mapping[str, Any] | None
    other_preprocess: Mapping[str, Any] | None
    series: Any
    time: Any
    step: Mapping[str, float] | None
    batch: Any
    seed: int
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    layer: str | None
    obs: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]

class NetworkKeywords(TypedDict, total=False):
    power: Mapping[str, Any] | bool
    conditions: Sequence[Any]
    condition_networks: Mapping[str, Any] | None
    modules: Mapping[str, Any] | bool
