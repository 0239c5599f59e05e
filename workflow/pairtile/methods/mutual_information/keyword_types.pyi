"""Made by `python -m pairtile.config.describe` from the models."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

class InferNetworkKeywords(TypedDict, total=False):
    lag: int
    score: Literal["auto", "mi", "clr", "target_z", "combined"]
    keep: Mapping[str, Any] | str
    dpi: Mapping[str, Any] | bool | None
    preprocess: Mapping[str, Any] | None
    other_preprocess: Mapping[str, Any] | None
    bins: Literal["auto"] | int
    order: Literal["auto"] | int
    knots: Literal["clamped", "uniform"]
    transform: Literal["auto", "rank", "none"]
    precision: Literal["auto", "float64", "mixed"]
    permutations: Literal["auto"] | int
    null: Literal["auto", "permutation", "circular_shift", "courses", "blocks"]
    series: Any
    time: Any
    step: Mapping[str, float] | None
    batch: Any
    seed: int
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    layer: str | None
    obs: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]

class MutualInformationKeywords(TypedDict, total=False):
    bins: Literal["auto"] | int
    order: Literal["auto"] | int
    knots: Literal["clamped", "uniform"]
    transform: Literal["auto", "rank", "none"]
    precision: Literal["auto", "float64", "mixed"]
    min_samples: int
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    obs: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]

class PermutationNullKeywords(TypedDict, total=False):
    permutations: Literal["auto"] | int
    null: Literal["auto", "permutation", "circular_shift", "courses", "blocks"]
    series: Any
    time: Any
    step: Mapping[str, float] | None
    batch: Any
    seed: int
    bins: Literal["auto"] | int
    order: Literal["auto"] | int
    knots: Literal["clamped", "uniform"]
    transform: Literal["auto", "rank", "none"]
    precision: Literal["auto", "float64", "mixed"]
    min_samples: int
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    obs: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]
