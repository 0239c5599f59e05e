"""The section of ``method: multimodal_correlation``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from pairtile.config.models import ConfigModel
from pairtile.config.network import (
    Chunks,
    ExportList,
    OptionalPath,
    chunks_field,
    export_field,
    gold_standard_field,
)
from pairtile.config.preprocess import ExpressionAnalysis
from pairtile.config.values import Choice, Number, Switch, Whole, refusal
from pairtile.methods.multimodal_correlation.config_conditions import (
    ConditionList,
    ConditionNetworks,
)
from pairtile.methods.multimodal_correlation.config_modules import Modules, ModulesOrFalse
from pairtile.methods.multimodal_correlation.config_threshold import Power, PowerOrFalse, Threshold

MAX_CLUSTERS = 5
CONDITION_TABLES = ("condition_tests.tsv", "condition_networks.tsv")
KINC_TEXTS = ("kinc.txt", "kinc_tidy.txt", "kinc_minimal.txt")

SCORING = frozenset({"plan", "score", "network", "tables"})
"""Steps that depend on how pairs are scored: all but preparation and evaluation."""

CHOOSING = frozenset({"network", "tables"})
"""Steps that depend on which modes become edges, and on what is told of these."""


class MixtureEstimator(ConfigModel):
    """How the samples of a pair of genes are split into modes (clusters), and how each mode is
    correlated."""

    clustering: Annotated[Literal["gmm", "none"], Choice()] = Field(
        default="gmm",
        description=(
            "`gmm`: a Gaussian mixture for each pair, one correlation for each of its modes. "
            "`none`: one correlation of all samples, as other co-expression tools do; many times "
            "faster."
        ),
    )
    correlation: Annotated[Literal["spearman", "pearson"], Choice()] = Field(
        default="spearman",
        description=(
            "`spearman`: of ranks within the mode; outliers and curves do little harm. `pearson`: "
            "of the values."
        ),
    )
    min_clusters: Annotated[int, Whole(1, MAX_CLUSTERS)] = Field(
        default=1,
        description=(
            "Least number of modes to try. 2 and more split every pair, whether or not the data "
            "ask for it."
        ),
    )
    max_clusters: Annotated[int, Whole(1, MAX_CLUSTERS)] = Field(
        default=5,
        description=(
            "Largest number of modes to try. Each one more makes the search longer; with few "
            "samples 2 or 3 are enough, since a mode needs `min_samples` to count."
        ),
    )
    criterion: Annotated[Literal["icl", "bic", "aic"], Choice()] = Field(
        default="icl",
        description=(
            "What decides the number of modes; the lowest wins. `icl`: takes only modes that are "
            "apart. `bic`: also modes that overlap. `aic`: splits most, often too much."
        ),
    )
    min_samples: Annotated[int, Whole(3, 1_000_000)] = Field(
        default=30,
        description=(
            "Least number of samples in a mode, outliers taken away, and of a pair's samples "
            "before it is split. Smaller modes get no correlation."
        ),
    )
    min_correlation: Annotated[float, Number(low=0, high=1)] = Field(
        default=0.5,
        description=(
            "Keep modes whose correlation has at least this size. What is below is counted and "
            "not stored; `threshold` cannot go lower. 0 stores every mode (large)."
        ),
    )
    max_correlation: Annotated[float, Number(low=0, high=1)] = Field(
        default=1.0,
        description="Keep modes whose correlation has at most this size.",
    )
    min_expression: Annotated[float | None, Number(optional=True)] = Field(
        default=None,
        description=(
            "Leave out samples in which either gene is below this, in units of the values after "
            "`preprocess` (log2 where it was taken). null: no limit."
        ),
    )
    max_expression: Annotated[float | None, Number(optional=True)] = Field(
        default=None,
        description="Leave out samples in which either gene is above this. null: no limit.",
    )
    outliers_before: Annotated[bool, Switch()] = Field(
        default=True,
        description=(
            "Leave out a pair's outliers before it is split: values of either gene more than 1.5 "
            "interquartile ranges beyond its quartiles."
        ),
    )
    outliers_after: Annotated[bool, Switch()] = Field(
        default=True,
        description=(
            "Leave out outliers of each mode by the same rule, where the pair has more than one."
        ),
    )
    restarts: Annotated[int, Whole(1, 100)] = Field(
        default=3,
        description=(
            "Random starts of each mixture; the best is taken. More find the best split more "
            "surely and take longer. Does nothing under `compatibility: kinc`."
        ),
    )

    @field_validator("max_clusters")
    @classmethod
    def _clusters_in_order(cls, high: int, info: ValidationInfo) -> int:
        low = info.data.get("min_clusters")
        if low is not None and high < low:
            raise refusal(f"an integer between min_clusters ({low}) and {MAX_CLUSTERS}")
        return high

    @field_validator("max_correlation")
    @classmethod
    def _correlations_in_order(cls, high: float, info: ValidationInfo) -> float:
        low = info.data.get("min_correlation")
        if low is not None and high < low:
            raise refusal(f"a number of at least min_correlation ({low:g}) and at most 1")
        return high

    @field_validator("max_expression")
    @classmethod
    def _expressions_in_order(cls, high: float | None, info: ValidationInfo) -> float | None:
        low = info.data.get("min_expression")
        if low is not None and high is not None and high <= low:
            raise refusal(f"a number greater than min_expression ({low:g}), or null")
        return high


class MultimodalCorrelationConfig(ExpressionAnalysis):
    """Co-expression in parts of the samples: a Gaussian mixture for each pair of genes, one
    correlation for each of its modes, a threshold by random matrix theory, and tests of what the
    samples of a mode have in common."""

    method: Annotated[Literal["multimodal_correlation"], Choice()] = Field(
        description="Which method this analysis runs."
    )
    gold_standard: OptionalPath = gold_standard_field(
        " A relative path starts at the working directory."
    )
    compatibility: Annotated[Literal["none", "kinc"], Choice()] = Field(
        default="none",
        description=(
            "`kinc`: the mixtures and the threshold as KINC 3.4.2 computes them, with its faults, "
            "to repeat or extend a run of it. `none`: the sound method."
        ),
    )
    estimator: MixtureEstimator = Field(
        default=MixtureEstimator(), description="How pairs are split into modes and correlated."
    )
    threshold: Threshold = Field(
        default=Threshold(), description="The least size of a correlation that makes an edge."
    )
    power: PowerOrFalse = Field(
        default=Power(),
        description=(
            "Removal of modes with too few samples for their correlation, after the threshold; "
            "`false` turns it off."
        ),
    )
    annotations: OptionalPath = Field(
        default=None,
        description=(
            "A table of the samples: their names in the first column, named as in the expression "
            "table, and what is known of them in the others (treatment, tissue, hours ...). Text, "
            "tab- or comma-separated, plain or `.gz`. Then each edge is tested for what its "
            "samples have in common. null: no tests. A relative path starts at the working "
            "directory."
        ),
    )
    conditions: ConditionList = Field(
        default=(),
        description=(
            "Which columns of `annotations` to test. An empty list: every column that can be "
            "tested."
        ),
    )
    condition_networks: ConditionNetworks = Field(
        default=ConditionNetworks(), description="Which edges belong to a condition."
    )
    modules: ModulesOrFalse = Field(
        default=Modules(), description="Groups of genes in the network; `false` turns it off."
    )
    kinc_text: Annotated[bool, Switch()] = Field(
        default=True,
        description=(
            "Write the network also as the three texts of KINC (`kinc.txt`, `kinc_tidy.txt`, "
            "`kinc_minimal.txt`). The first two have a digit for each sample in each line: `false` "
            "for a large network."
        ),
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field(
        more=" A pair has an edge for each of its modes; matrices hold the strongest."
    )

    input_keys: ClassVar[tuple[str, ...]] = ("expression", "annotations", "gold_standard")
    network_inputs: ClassVar[tuple[str, ...]] = ("annotations",)
    report_needs_state: ClassVar[bool] = True
    report_needs_pairs: ClassVar[bool] = True
    tables: ClassVar[tuple[str, ...]] = (
        "threshold.tsv",
        *CONDITION_TABLES,
        "modules.tsv",
        *KINC_TEXTS,
    )
    used_by: ClassVar[Mapping[str, frozenset[str]]] = {
        **dict.fromkeys(("compatibility", "estimator"), SCORING),
        **dict.fromkeys(
            ("threshold", "power", "annotations", "conditions", "condition_networks", "modules"),
            CHOOSING,
        ),
        "kinc_text": frozenset({"tables"}),
        "gold_standard": frozenset({"evaluate"}),
        "chunks": frozenset({"plan"}),
        "export": frozenset(),
    }

    def result_tables(self) -> tuple[str, ...]:
        left_out: set[str] = set()
        if self.threshold.method not in ("rmt", "power_law"):
            left_out.add("threshold.tsv")
        if self.annotations is None:
            left_out.update(CONDITION_TABLES)
        if self.modules is False:
            left_out.add("modules.tsv")
        if not self.kinc_text:
            left_out.update(KINC_TEXTS)
        return tuple(table for table in self.tables if table not in left_out)

    @field_validator("threshold")
    @classmethod
    def _threshold_decided(cls, threshold: Threshold, info: ValidationInfo) -> Threshold:
        estimator = info.data.get("estimator")
        if isinstance(estimator, MixtureEstimator):
            threshold.check_within(estimator.min_correlation, estimator.max_correlation)
        return threshold.decided(str(info.data.get("compatibility")))

    @model_validator(mode="after")
    def _conditions_have_annotations(self) -> Self:
        if self.conditions and self.annotations is None:
            raise refusal("no conditions, or a table under annotations", key="conditions")
        return self
