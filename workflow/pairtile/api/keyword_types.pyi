"""Made by `python -m pairtile.config.describe` from the models."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, TypedDict

class DifferentialKeywords(TypedDict, total=False):
    score: Literal["spearman", "pearson", "mi"]
    preprocess: Mapping[str, Any] | None
    series: Any
    time: Any
    step: Mapping[str, float] | None
    batch: Any
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    layer: str | None
    obs: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]

class PrepareExpressionKeywords(TypedDict, total=False):
    log2: Literal["auto"] | bool
    pseudocount: Literal["auto"] | float
    normalize: Literal[
        "auto",
        "none",
        "quantile",
        "cpm",
        "cp10k",
        "median_ratio",
        "tmm",
        "vst",
        "depth_ranks",
        "nb_residuals",
        "zscore",
    ]
    min_samples: int
    min_expressed: float
    top_variable: int | None
    drop_constant: bool
    sample_scale: Literal["auto"] | bool
    hidden_factors: Literal["none", "auto"] | int
    control_genes: str | PathLike[str] | None
    orientation: Literal["genes_in_rows", "samples_in_rows"]
    layer: str | None
    obs: Mapping[str, Any] | None
