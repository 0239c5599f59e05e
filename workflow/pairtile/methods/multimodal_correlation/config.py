"""The settings of ``method: multimodal_correlation``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, Tag, ValidationInfo, field_validator, model_validator

from pairtile.config.conditions import ConditionList
from pairtile.config.models import ConfigModel, InputFile, JobNeeds, Rule, UsedBy
from pairtile.config.modules import GeneModulesConfig
from pairtile.config.network import (
    OF_MODULES,
    Chunks,
    ExportList,
    GoldStandard,
    OptionalPath,
    chunks_field,
    export_field,
    gold_standard_field,
)
from pairtile.config.preprocess import ExpressionAnalysis, TwoTableAnalysis
from pairtile.config.values import (
    Expected,
    Text,
    join_list,
    model_or_false,
    model_or_false_form,
    validation_error,
)
from pairtile.methods.multimodal_correlation.correlations import CORRELATIONS, Correlation

MAX_CLUSTERS = 5
CONDITION_TABLES = ("condition_tests.tsv", "condition_networks.tsv")
KINC_TEXTS = ("kinc.txt", "kinc_tidy.txt", "kinc_minimal.txt")

SCORING = UsedBy("plan", "score", "network", "tables")
"""Steps that depend on how pairs are scored: all but preparation and evaluation."""

CHOOSING = UsedBy("network", "tables")
"""Steps that depend on which modes become edges, and on what is reported of these."""


class MixtureEstimatorConfig(ConfigModel):
    """How the samples of a pair of genes are split into modes (clusters), and how each mode is
    correlated."""

    clustering: Literal["gmm", "none"] = Field(
        default="gmm",
        description=(
            "`gmm`: a Gaussian mixture for each pair, one correlation for each of its modes. "
            "`none`: one correlation of all samples, as other co-expression tools do; many times "
            "faster."
        ),
    )
    correlation: Literal["spearman", "pearson", "bicor", "kendall", "partial"] = Field(
        default="spearman",
        description=" ".join(one.description for one in CORRELATIONS.values()),
    )
    min_clusters: Annotated[int, Field(ge=1, le=MAX_CLUSTERS)] = Field(
        default=1,
        description=("Least number of modes to try. 2 and more split every pair."),
    )
    max_clusters: Annotated[int, Field(ge=1, le=MAX_CLUSTERS)] = Field(
        default=5,
        description=("Largest number of modes to try. With few samples 2 or 3 are enough."),
    )
    criterion: Literal["icl", "bic", "aic"] = Field(
        default="icl",
        description=(
            "What decides the number of modes; the lowest wins. `icl`: takes only modes that are "
            "apart. `bic`: also modes that overlap. `aic`: splits most, often too much."
        ),
    )
    min_samples: Annotated[int, Field(ge=3, le=1_000_000)] = Field(
        default=30,
        description=(
            "Least number of samples in a mode, outliers taken away, and of a pair's samples "
            "before it is split. Smaller modes get no correlation."
        ),
    )
    min_correlation: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.5,
        description=(
            "Keep modes whose correlation has at least this size; `threshold` cannot go lower."
        ),
    )
    max_correlation: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="Keep modes whose correlation has at most this size."
    )
    min_expression: float | None = Field(
        default=None,
        description=(
            "Leave out samples in which either gene is below this, in units of the values after "
            "`preprocess` (log2 where it was taken). null: no limit."
        ),
    )
    max_expression: float | None = Field(
        default=None,
        description="Leave out samples in which either gene is above this. null: no limit.",
    )
    outliers_before: bool = Field(
        default=True,
        description=(
            "Leave out a pair's outliers before it is split: values of either gene more than 1.5 "
            "interquartile ranges beyond its quartiles. With `clustering: none` only of `spearman` "
            "and `pearson`."
        ),
    )
    outliers_after: bool = Field(
        default=True,
        description=(
            "Leave out outliers of each mode by the same rule, where the pair has more than one."
        ),
    )
    restarts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3,
        description=(
            "Random starts of each mixture; the best is taken. Does nothing under `compatibility: "
            "kinc`."
        ),
    )

    @property
    def facts(self) -> Correlation:
        """What is known of its correlation."""
        return CORRELATIONS[self.correlation]

    def requirements(self) -> Iterator[Rule]:
        of_modes = tuple(name for name, one in CORRELATIONS.items() if not one.given_all_genes)
        of_all = self.facts.given_all_genes and self.clustering == "gmm"
        expected = f"{join_list(of_modes)}, or clustering: none beside it"
        yield Rule(of_all, "correlation", expected, of_modes)
        low, high = self.min_clusters, self.max_clusters
        expected = f"an integer between min_clusters ({low}) and {MAX_CLUSTERS}"
        yield Rule(high < low, "max_clusters", expected)
        least, most = self.min_correlation, self.max_correlation
        expected = f"a number of at least min_correlation ({least:g}) and at most 1"
        yield Rule(most < least, "max_correlation", expected)
        if self.min_expression is not None and self.max_expression is not None:
            expected = f"a number greater than min_expression ({self.min_expression:g}), or null"
            yield Rule(self.max_expression <= self.min_expression, "max_expression", expected)


ThresholdMethod = Literal["auto", "rmt", "fdr", "power_law", "score", "none"]

_RMT = {"start": 0.99, "step": 0.001, "stop": None, "rule": "auto", "min_eigenvalues": 50}
_FDR = {"fdr": 0.05}

METHOD_KEYS: dict[str, dict[str, Any]] = {
    "auto": {**_RMT, **_FDR},
    "rmt": _RMT,
    "fdr": _FDR,
    "power_law": {"start": 0.99, "step": 0.01, "stop": None, "fit": 0.8, "min_genes": 50},
    "score": {"score": None},
    "none": {},
}
"""The keys of each method beside ``method``, with their values where none is given."""


class ThresholdConfig(ConfigModel):
    """The least size of a correlation that makes an edge: found in the data, or given. Keys of
    another method than `method` must be left out or null."""

    method: ThresholdMethod = Field(
        default="auto",
        description=(
            "`auto`: `rmt` where it holds (1,000 genes or more, no `regulators`, and at most 5 % "
            "of the modes above its threshold expected by chance, by the modes of permuted "
            "genes), else `fdr`; a note says which and why. Under `compatibility: kinc` it is "
            "`rmt`. `rmt`: random matrix theory (Luo et al. 2007). `fdr`: modes whose false "
            "discovery rate is at most `fdr`, by the modes of permuted genes; for any number of "
            "genes. `power_law`: the lowest threshold at which the numbers of neighbours follow a "
            "power law (Zhang and Horvath 2005). `score`: the number under `score`. `none`: every "
            "mode that `estimator` kept."
        ),
    )
    score: Annotated[float | None, Field(ge=0, le=1)] = Field(
        default=None,
        description="Of `method: score`: keep modes whose correlation has at least this size.",
    )
    fdr: Annotated[float | None, Field(gt=0, lt=1)] = Field(
        default=None,
        description=(
            "Of `method: fdr`: largest `q_value` of an edge, the share of edges that are expected "
            "to be false; null: 0.05."
        ),
    )
    start: Annotated[float | None, Field(gt=0, le=1)] = Field(
        default=None,
        description="Of `rmt` and `power_law`: where the walk down begins; null: 0.99.",
    )
    step: Annotated[float | None, Field(ge=0.0001, le=0.1)] = Field(
        default=None,
        description=(
            "Of `rmt` and `power_law`: how far each step goes down; null: 0.001 for `rmt`, 0.01 "
            "for `power_law`."
        ),
    )
    stop: Annotated[float | None, Field(ge=0, lt=1)] = Field(
        default=None,
        description=(
            "Of `rmt` and `power_law`: where the walk ends if it found nothing, below `start`; "
            "null: at the smallest correlation that was kept."
        ),
    )
    rule: Literal["auto", "symmetric", "kinc"] = Field(
        default="auto",
        description=(
            "Of `rmt`: which genes are in the matrix. `symmetric`: those with a correlation at or "
            "above the threshold with any gene. `kinc`: with a gene before it in the table only. "
            "`auto`: `symmetric`, or `kinc` under `compatibility: kinc`."
        ),
    )
    min_eigenvalues: Annotated[int | None, Field(ge=50, le=100_000)] = Field(
        default=None,
        description=(
            "Of `rmt`: the test is made where the matrix has at least so many distinct "
            "eigenvalues; null: 50."
        ),
    )
    fit: Annotated[float | None, Field(gt=0, le=1)] = Field(
        default=None,
        description="Of `power_law`: least R² of the straight line on log-log axes; null: 0.8.",
    )
    min_genes: Annotated[int | None, Field(ge=10, le=100_000)] = Field(
        default=None,
        description="Of `power_law`: the fit is made where at least so many genes have an edge; "
        "null: 50.",
    )

    def resolve_auto(self) -> Mapping[str, object]:
        defaults = METHOD_KEYS[self.method]
        return {key: value for key, value in defaults.items() if getattr(self, key) is None}

    def requirements(self) -> Iterator[Rule]:
        for key in type(self).model_fields:
            able = [f"method: {name}" for name, keys in METHOD_KEYS.items() if key in keys]
            unset = "auto" if key == "rule" else "null"
            other = able and key not in METHOD_KEYS[self.method]
            stated = getattr(self, key) not in (None, "auto")
            yield Rule(other and stated, key, f"{unset}, or {join_list(able)} beside it")
        lacks = self.method == "score" and self.score is None
        yield Rule(lacks, "score", "a number of at least 0 and at most 1 for method: score")
        if self.stop is not None and self.start is not None:
            expected = f"a number of at least 0 and less than start ({self.start:g}), or null"
            yield Rule(self.stop >= self.start, "stop", expected)

    def taking(self, method: ThresholdMethod) -> ThresholdConfig:
        """This section with one of the methods that ``auto`` chooses from."""
        return self.model_copy(update={"method": method})

    @property
    def walks(self) -> bool:
        """Whether a threshold may be sought step by step, as ``threshold.tsv`` shows."""
        return "start" in METHOD_KEYS[self.method]

    def of_method(self) -> dict[str, Any]:
        """The keys of the method that is chosen, with their values."""
        return {key: getattr(self, key) for key in METHOD_KEYS[self.method]}

    def resolved_for(self, compatibility: str) -> ThresholdConfig:
        """This section with what is ``auto`` decided as far as ``compatibility`` decides it."""
        if "rule" not in METHOD_KEYS[self.method]:
            return self
        kinc = compatibility == "kinc"
        rule = self.rule if self.rule != "auto" else "kinc" if kinc else "symmetric"
        method = {"method": "rmt", "fdr": None} if kinc else {}
        return self.model_copy(update={"rule": rule, **method})


class PowerConfig(ConfigModel):
    """The power filter: drops modes with too few samples for their correlation. A mode passes if a
    test at level `alpha` would find a true correlation of that size, in that many samples, with
    probability `power` or more."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.001, description="Level of the two-sided test of correlation."
    )
    power: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.8, description="Least probability that the test finds the correlation."
    )


PowerOrFalse = Annotated[
    Annotated[PowerConfig, Tag("<powerconfig>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(PowerConfig),
    Expected(model_or_false_form(PowerConfig)),
]


class ConditionNetworksConfig(ConfigModel):
    """Which edges belong to a condition: the limits for `condition_networks.tsv`."""

    q_value: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.001,
        description=(
            "Largest q-value of a difference in co-expression (Benjamini-Hochberg, over all edges "
            "and labels of the condition)."
        ),
    )


class ModulesConfig(GeneModulesConfig):
    """Modules: groups of genes that go together. `min_size` and `max_p` do nothing without
    `eigengenes`."""

    method: Literal["leiden", "link_communities", "wgcna"] = Field(  # type: ignore[assignment]
        default="leiden",
        description=(
            "`leiden`: each gene of the network in one module, by modularity. `link_communities`: "
            "edges are grouped, so that a gene can be in several; refused where hubs make the "
            "graph of edges too large. `wgcna`: as R's WGCNA finds them, whatever the network."
        ),
    )
    eigengenes: bool = Field(
        default=False,
        description=(
            "`leiden`: whether modules are tested against noise and get eigengenes; `traits` "
            "without `activity` turn it on. Those of `wgcna` always are."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        several = self.eigengenes and self.method == "link_communities"
        yield Rule(several, "eigengenes", "false, since link_communities put genes in several")


ModulesOrFalse = Annotated[
    Annotated[ModulesConfig, Tag("<modulesconfig>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(ModulesConfig),
    Expected(model_or_false_form(ModulesConfig)),
]


class MultimodalCorrelationConfig(ExpressionAnalysis, TwoTableAnalysis):
    """Co-expression in parts of the samples: a Gaussian mixture for each pair of genes, one
    correlation for each of its modes, a threshold by random matrix theory, and tests of what the
    samples of a mode have in common."""

    method: Literal["multimodal_correlation"] = Field(
        description="Which method this analysis runs."
    )
    regulators: OptionalPath = Field(
        default=None,
        description=(
            "A text file of regulators, one name a line; `#` starts a comment line. Then only "
            "pairs with a regulator are scored; it is the `source` of their edges, which stay "
            "undirected. Not beside `threshold: {method: rmt}` or `power_law`, which need all "
            "pairs (`auto` then takes `fdr`). null: every gene with every gene."
        ),
    )
    gold_standard: GoldStandard = gold_standard_field()
    compatibility: Annotated[Literal["none", "kinc"], SCORING] = Field(
        default="none",
        description=(
            "`kinc`: the mixtures and the threshold as KINC 3.4.2 computes them, with its faults, "
            "to repeat or extend a run of it. `none`: the sound method."
        ),
    )
    estimator: Annotated[MixtureEstimatorConfig, SCORING] = Field(
        default=MixtureEstimatorConfig(),
        description="How pairs are split into modes and correlated.",
    )
    lag: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0,
        description=(
            "Of time courses, with `clustering: none`: correlate each gene with the others so "
            "many samples later in the same series (`samples.series`, `samples.time`); edges are "
            "directed, `source` first, and `threshold` must be `auto` (which takes `fdr`), `fdr`, "
            "`score` or `none`."
        ),
    )
    threshold: Annotated[
        ThresholdConfig,
        BeforeValidator(
            lambda value: {"method": value} if value == "auto" else value,
            json_schema_input_type=ThresholdConfig | Literal["auto"],
        ),
        CHOOSING,
    ] = Field(
        default=ThresholdConfig(),
        description="The least size of a correlation that makes an edge; `auto`, or a mapping.",
    )
    power: Annotated[PowerOrFalse, CHOOSING] = Field(
        default=PowerConfig(),
        description=(
            "Removal of modes with too few samples for their correlation, after the threshold; "
            "`false` turns it off. Never of partial correlations."
        ),
    )
    annotations: Annotated[OptionalPath, InputFile("network"), CHOOSING] = Field(
        default=None,
        description=(
            "A table of the samples: their names in the first column, and what is known of them "
            "in the others (treatment, tissue, hours ...); tab- or comma-separated, plain or "
            "`.gz`. Each edge is then tested for what its samples have in common; "
            "`samples.annotations: null` is this table, too. null: no tests."
        ),
    )
    conditions: Annotated[ConditionList, CHOOSING] = Field(
        default=(),
        description=(
            "Which columns of `annotations` to test; an empty list: every column that can be. "
            "Labels are tested for more samples in the mode than by chance, numbers and ranks for "
            "a regression on the expression of the two genes, all for a difference in "
            "co-expression."
        ),
    )
    condition_networks: Annotated[ConditionNetworksConfig, CHOOSING] = Field(
        default=ConditionNetworksConfig(), description="Which edges belong to a condition."
    )
    modules: Annotated[ModulesOrFalse, UsedBy("tables", *OF_MODULES.steps)] = Field(  # type: ignore[assignment]
        default=ModulesConfig(), description="Groups of genes in the network; `false` turns it off."
    )
    kinc_text: Annotated[bool, UsedBy("tables")] = Field(
        default=True,
        description=(
            "Write the network also as the three texts of KINC (`kinc.txt`, `kinc_tidy.txt`, "
            "`kinc_minimal.txt`). The first two have a digit for each sample in each line: "
            "`false` for a large network. Not of partial correlations."
        ),
    )
    chunks: Chunks = chunks_field()
    reuse: Annotated[str | None, Text("a path", optional=True), UsedBy()] = Field(
        default=None,
        description=(
            "Results folder of another analysis, of fewer genes or of an interrupted run: tiles "
            "that it scored are taken from its `chunks/` where genes, values and settings are the "
            "same. Results do not change."
        ),
    )
    export: ExportList = export_field()

    jobs: ClassVar[JobNeeds] = JobNeeds(report_state=True, report_pairs=True)
    tables: ClassVar[tuple[str, ...]] = (
        "threshold.tsv",
        *CONDITION_TABLES,
        "modules.tsv",
        *KINC_TEXTS,
    )
    node_tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"modules.tsv": ("gene", "module")}

    def with_estimator(self, **changes: object) -> MultimodalCorrelationConfig:
        """These settings with others of ``estimator``, which are not checked."""
        return self.model_copy(update={"estimator": self.estimator.model_copy(update=changes)})

    @property
    def gene_modules(self) -> GeneModulesConfig | None:
        """The stage writes ``modules.tsv`` then, in place of the tables of this method."""
        asked = self.modules and (self.modules.eigengenes or self.modules.method == "wgcna")
        return self.modules if self.modules and asked else None

    @property
    def writes_kinc_text(self) -> bool:
        """KINC's texts have no direction, and samples that the pair has."""
        return self.kinc_text and not self.lag and not self.estimator.facts.given_all_genes

    def result_tables(self) -> tuple[str, ...]:
        left_out: set[str] = set()
        if not self.threshold.walks:
            left_out.add("threshold.tsv")
        if self.annotations is None:
            left_out.update(CONDITION_TABLES)
        if self.modules is False or self.gene_modules is not None:
            left_out.add("modules.tsv")
        if not self.writes_kinc_text:
            left_out.update(KINC_TEXTS)
        return tuple(table for table in self.tables if table not in left_out)

    @model_validator(mode="before")
    @classmethod
    def _traits_are_of_eigengenes(cls, given: object) -> object:
        if not isinstance(given, Mapping) or not given.get("traits") or given.get("activity"):
            return given
        section = given.get("modules", {})
        if not isinstance(section, Mapping) or section.get("method", "leiden") != "leiden":
            return given
        return {**given, "modules": {"eigengenes": True, **section}}

    @model_validator(mode="before")
    @classmethod
    def _columns_are_of_annotations(cls, given: object) -> object:
        """Columns that other sections name are looked up in ``annotations``, where neither
        ``samples.annotations`` nor an ``.h5ad`` file has them."""
        if not isinstance(given, Mapping) or not given.get("annotations"):
            return given
        sections = [given.get(key) or {} for key in ("samples", "preprocess", "other_preprocess")]
        if not all(isinstance(section, Mapping) for section in sections):
            return given
        samples, *cleaning = sections
        named = [
            *(given.get(key) for key in ("traits", "differential", "obs", "split_by")),
            *(samples.get(key) for key in ("series", "time", "batch", "replicate")),
            *(section.get("regress_out") for section in cleaning),
        ]
        elsewhere = str(given.get("expression")).lower().endswith(".h5ad")
        if elsewhere or samples.get("annotations") or not any(named):
            return given
        return {**given, "samples": {**samples, "annotations": given["annotations"]}}

    @field_validator("threshold")
    @classmethod
    def _threshold_decided(
        cls, threshold: ThresholdConfig, info: ValidationInfo
    ) -> ThresholdConfig:
        estimator = info.data.get("estimator")
        if isinstance(estimator, MixtureEstimatorConfig):
            # No mode that is stored could pass.
            for key in ("score", "start", "stop"):
                given = getattr(threshold, key)
                if given is not None and given < estimator.min_correlation:
                    kept = f"estimator.min_correlation ({estimator.min_correlation:g})"
                    raise validation_error(
                        f"a number of at least {kept}, below which nothing is kept", key=key
                    )
            if threshold.score is not None and threshold.score > estimator.max_correlation:
                kept = f"estimator.max_correlation ({estimator.max_correlation:g})"
                raise validation_error(
                    f"a number of at most {kept}, above which nothing is kept", key="score"
                )
        return threshold.resolved_for(str(info.data.get("compatibility")))

    def resolve_auto(self) -> Mapping[str, object]:
        # How far a partial correlation is shrunken, no formula of the number of samples knows.
        return {"power": False} if self.estimator.facts.given_all_genes else {}

    def requirements(self) -> Iterator[Rule]:
        yield from super().requirements()
        lag, estimator = self.lag, self.estimator
        modes = lag and estimator.clustering == "gmm"
        yield Rule(modes, "lag", "0, or estimator.clustering: none (modes have no lag)")
        expected = f"0, or another estimator.correlation than {estimator.correlation}"
        yield Rule(lag and estimator.facts.given_all_genes, "lag", expected)
        walks = self.threshold.method in ("rmt", "power_law")
        for key in ("regulators", "other_expression", "lag"):
            choices = ("auto", "fdr", "score", "none")
            stated = getattr(self, key) not in (None, 0)
            yield Rule(
                walks and stated,
                "threshold/method",
                f"fdr, score or none beside {key} (it needs all pairs of genes), or auto",
                choices,
            )
        stated = self.annotations is not None
        yield Rule(
            self.lag and stated,
            "annotations",
            "null beside lag: conditions are tested in the same sample",
        )
        yield Rule(
            self.conditions and not stated,
            "conditions",
            "no conditions, or a table under annotations",
        )
