"""The section of ``method: predictor_pairs``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    Strict,
    ValidationInfo,
    field_validator,
)

from pairtile.config.keep import Keep, Share
from pairtile.config.models import ConfigModel, InputFile, JobNeeds, Rule, UsedBy
from pairtile.config.network import (
    Chunks,
    ExportList,
    GoldStandard,
    OptionalPath,
    chunks_field,
    export_field,
    gold_standard_field,
)
from pairtile.config.preprocess import Preprocess, TableAnalysis
from pairtile.config.values import Expected, Exponent, join_list, validation_error

MIN_LEVELS, MAX_LEVELS = 2, 4

LEVELS_OF_RULE: Mapping[str, tuple[int, ...]] = {
    "mean_split": (2, 3),
    "extreme_split": (3,),
    "quantile": (2, 3, 4),
    "kmeans": (2, 3, 4),
    "thresholds": (2, 3, 4),
}
"""How many levels each rule can make."""

_THRESHOLDS_FORM = "a list of 1 to 3 increasing numbers, such as [2.5, 6], or null"


def _increasing(thresholds: tuple[float, ...]) -> tuple[float, ...]:
    if not 1 <= len(thresholds) < MAX_LEVELS or any(a >= b for a, b in pairwise(thresholds)):
        raise validation_error(_THRESHOLDS_FORM)
    return thresholds


Thresholds = Annotated[
    Annotated[tuple[float, ...], Strict(False), AfterValidator(_increasing)] | None,
    Expected(_THRESHOLDS_FORM),
]


RULE_FILES = ("network.bnet", "network.sbml", "rules.tsv", "attractors.tsv")


class QuantizeConfig(ConfigModel):
    """How the values of each gene become levels 0, 1, ... (low to high), each gene by itself over
    all its observed samples. A gene that never changes has level 0 everywhere; a missing value
    stays missing."""

    levels: Literal["auto"] | Annotated[int, Field(ge=MIN_LEVELS, le=MAX_LEVELS)] = Field(
        default="auto",
        description=(
            "How many levels. `auto`: 3 for an expression table (with `rule: thresholds` one more "
            "than there are thresholds), and for a table of `levels` as many as it holds. 2 "
            "(binary) needs the fewest samples."
        ),
    )
    rule: Literal["mean_split", "extreme_split", "quantile", "kmeans", "thresholds"] = Field(
        default="mean_split",
        description=(
            "Where the borders between levels lie; a value on a border belongs to the lower "
            "level. `mean_split`: at the mean, or, of 3 levels, at a third of the mean of the "
            "negative z-scores and of that of the others. `extreme_split`: 3 levels, at a third "
            "of the lowest and of the highest z-score. `quantile`: as many samples in each level "
            "as ties allow. `kmeans`: least sum of squares, exact. `thresholds`: your own "
            "borders, the same for all genes."
        ),
    )
    thresholds: Thresholds = Field(
        default=None,
        description=(
            "The borders for `rule: thresholds`, one fewer than there are levels, in units of the "
            "values after `preprocess` (z-scores under `normalize: zscore`). null for other rules."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        stated, wanted = self.thresholds is not None, self.rule == "thresholds"
        yield Rule(stated and not wanted, "thresholds", "null, or rule: thresholds beside it")
        yield Rule(
            wanted and not stated,
            "thresholds",
            "a list of increasing numbers for rule: thresholds",
        )
        n = len(self.thresholds or ())
        yield Rule(
            stated and self.levels not in ("auto", n + 1),
            "levels",
            f"auto or {n + 1} for {n} thresholds",
        )

    def for_expression(self) -> QuantizeConfig:
        """This section with ``levels`` decided for an expression table.

        Raises PydanticCustomError where the rule does not make so many levels.
        """
        levels = self.levels
        if levels == "auto":
            levels = len(self.thresholds) + 1 if self.thresholds else 3
        able = LEVELS_OF_RULE[self.rule]
        if levels not in able:
            others = [rule for rule, numbers in LEVELS_OF_RULE.items() if levels in numbers]
            raise validation_error(
                f"{join_list([str(n) for n in able])} for rule: {self.rule} ({levels} levels with "
                f"{join_list(others)})",
                key="levels",
            )
        return self.model_copy(update={"levels": levels})


class PredictorEstimatorConfig(ConfigModel):
    """The search: which sets of predictors tell most of a target. Its criterion is the mean
    conditional entropy of the target's level given the levels of the set, in bits: 0 where the set
    tells the target's level in every sample, and the target's own entropy where it tells nothing.
    The lower, the better."""

    penalty: Literal["no_obs", "none", "poor_obs"] = Field(
        default="no_obs",
        description=(
            "How few samples are made up for, with which thousands of sets look perfect. "
            "`no_obs`: combinations of levels that were never seen count as uninformative (weight "
            "`alpha`); recommended. `poor_obs`: those seen once count as uncertain (`beta`). "
            "`none`: the entropy as counted, for comparison."
        ),
    )
    alpha: Annotated[float, Field(ge=0)] = Field(
        default=1.0,
        description=(
            "Weight of each combination of levels under `penalty: no_obs`, in samples: each "
            "counts as if it had been seen so many times more. 0: no penalty."
        ),
    )
    beta: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.8,
        description=(
            "Under `penalty: poor_obs`, how sure one is of the target's level where a combination "
            "was seen once: the probability of the level that was seen; the others share the rest."
        ),
    )
    cardinality: Annotated[int, Field(ge=1, le=4)] = Field(
        default=2,
        description=(
            "Predictors in a set. Threes and fours need many samples: there are 27 and 81 "
            "combinations of 3 levels."
        ),
    )
    top: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10,
        description="How many sets to report for each target, best first.",
    )
    self: bool = Field(
        default=False,
        description=(
            "Whether a target may be among its own predictors: fits genes that keep their level, "
            "and hides what else acts on them."
        ),
    )
    search: Literal["auto", "exhaustive", "sffs"] = Field(
        default="auto",
        description=(
            "How threes and fours are found; smaller sets are all tried. `exhaustive`: all. "
            "`sffs` (threes): sequential forward floating selection from each target's best pairs; "
            "it may miss the best. `auto`: exhaustive; beyond 2e11 threes times targets "
            "`sffs`; fours that take over a day are refused."
        ),
    )


class PredictorNullConfig(ConfigModel):
    """How good the best sets are by chance: p-values from shuffled targets."""

    kind: Literal["auto", "permutation", "circular_shift", "courses", "blocks"] = Field(
        default="auto",
        description=(
            "What is done to a target. `permutation`: its levels are shuffled over the samples. "
            "`circular_shift`: each series is moved along in time, its end coming back in at the "
            "start. `courses`: whole series change places with others of equal times and batch "
            "(replicates of one stimulus). `blocks`: they are shuffled within each batch. `auto`: "
            "courses where series follow one course, else shifts where targets keep their level "
            "from sample to sample clearly more often than samples in random order would, else "
            "`blocks` where batches are stated (these first where samples are no time series), "
            "else permutation; `summary.json` says which and why."
        ),
    )
    permutations: Literal["auto"] | Annotated[int, Exponent(), Field(ge=0, le=100_000)] = Field(
        default="auto",
        description=(
            "How many times each target is shuffled or shifted; each draw costs as much as the "
            "search. 0: no p-values. `auto`: 20 or more for each target, or as many as the series "
            "have, and each target is compared with the draws of all, standardised, and the tail "
            "fitted to the best of them. A number: each is compared with its own draws alone, and "
            "no p- or q-value is less than 1 / (permutations + 1)."
        ),
    )


class KeepSets(Keep):
    """Which of the reported sets become edges."""

    words: ClassVar[tuple[str, ...]] = ("best", "auto")
    forms: ClassVar[tuple[str, ...]] = ("p_value", "fdr", "best_fdr")

    p_value: Share = Field(
        default=None,
        description="Keep the reported sets whose permutation p-value is at most this.",
    )
    fdr: Share = Field(
        default=None,
        description=("Keep the reported sets whose q-value (Benjamini-Hochberg) is at most this."),
    )
    best_fdr: Share = Field(
        default=None, description="As `fdr`, but of each target's sets only the best."
    )


AUTO_FDR = 0.05

AUTO_DRAWS = 99
"""Shuffled targets from which on `keep: auto` tests: with fewer no p-value is below 0.01, and a
false discovery rate of 0.05 is out of reach unless most targets pass."""


def auto_keep(draws: int) -> KeepSets:
    """What ``keep: auto`` is, by the shuffled targets that each target is compared with."""
    return KeepSets.model_validate({"best_fdr": AUTO_FDR} if draws >= AUTO_DRAWS else "best")


def _each_lag_once(lag: int | list[int]) -> int | list[int]:
    lags = sorted({lag} if isinstance(lag, int) else set(lag))
    return lags if len(lags) > 1 else lags[0]


_Lag = Annotated[int, Field(ge=0, le=1000)]

Lag = Annotated[
    _Lag | Annotated[list[_Lag], Field(min_length=1, max_length=10)],
    AfterValidator(_each_lag_once),
    Expected("an integer between 0 and 1000, or a list of up to 10 of them"),
]


class PredictorPairsConfig(TableAnalysis):
    """Predictors of each gene's level: all pairs of candidate genes (or one, three or four genes)
    against every target, by mean conditional entropy of levels, over time steps or samples, with
    exact counts of ties, intrinsically multivariate prediction and permutation p-values; or
    transfer entropy of every ordered pair of genes."""

    method: Literal["predictor_pairs"] = Field(description="Which method this analysis runs.")
    expression: Annotated[OptionalPath, InputFile(folder=True)] = Field(
        default=None,
        description=(
            "The expression table, genes x samples, the samples of a time series in order of "
            "time, in the formats of other methods. Give this or `levels`."
        ),
    )
    levels: Annotated[OptionalPath, InputFile(folder=True)] = Field(
        default=None,
        description=(
            "In place of `expression`: a table of levels, whole numbers from 0 up to 3; empty or "
            "NA where missing. Then `quantize.rule` does nothing, and of `preprocess` only "
            "`min_samples` and `drop_constant` count."
        ),
    )
    quantize: QuantizeConfig = Field(
        default=QuantizeConfig(), description="How expression values become levels."
    )
    lag: Lag = Field(
        default=1,
        description=(
            "Time steps from predictor to target. 1: predictors in one sample, the target in the "
            "next of the same series. 0: both in the same sample. A list, such as [1, 2]: every "
            "candidate at each of these lags (columns `lag_1`, ... say which); two lags have four "
            "times the pairs."
        ),
    )
    score: Literal["mean_conditional_entropy", "transfer_entropy"] = Field(
        default="mean_conditional_entropy",
        description=(
            "`mean_conditional_entropy`: sets of predictors with each target. `transfer_entropy`: "
            "every ordered pair source -> target, by what the source's level adds to the target's "
            "own past (Schreiber 2000), in bits. Then `estimator` and `rules` do nothing."
        ),
    )
    history: Annotated[int, Field(ge=1, le=2)] = Field(
        default=1,
        description=(
            "Past steps of the target that `score: transfer_entropy` takes as known. 2 for genes "
            "that swing or follow a trend; it needs as many times more samples as there are levels."
        ),
    )
    series: OptionalPath = Field(
        default=None,
        description=(
            "Of several time series: a table with two columns, sample and series, a line for "
            "every sample. Within a series, samples are taken in the order of the expression "
            "table. null: one series."
        ),
    )
    regulators: OptionalPath = Field(
        default=None,
        description=(
            "A text file of candidate predictors, one name a line; `#` starts a comment line. "
            "null: every gene."
        ),
    )
    targets: OptionalPath = Field(
        default=None,
        description=(
            "A text file of the genes whose predictors are sought, one name a line. null: every "
            "gene."
        ),
    )
    gold_standard: GoldStandard = gold_standard_field()
    estimator: PredictorEstimatorConfig = Field(
        default=PredictorEstimatorConfig(),
        description="How sets of predictors are scored and searched.",
    )
    null: PredictorNullConfig = Field(
        default=PredictorNullConfig(), description="The null distribution, for p- and q-values."
    )
    keep: Annotated[KeepSets, UsedBy("network", "tables")] = Field(
        default=KeepSets.model_validate("auto"),
        description=(
            "Which of the reported sets become edges, predictor to target; give one form. `auto`: "
            f"`{{best_fdr: {AUTO_FDR}}}` where each test has at least {AUTO_DRAWS} shuffled "
            "targets, else `best`. `best`: the best set of each target, ties going to the first "
            "in the table's order, however likely by chance."
        ),
    )
    dpi: Annotated[bool, UsedBy("network")] = Field(
        default=True,
        description=(
            "With `score: transfer_entropy`, whether indirect edges go: X -> Z where an edge "
            "between X and Y and a stronger Y -> Z are kept, and the transfer entropy from X to Z "
            "given Y is no larger than by chance."
        ),
    )
    rules: Annotated[bool, UsedBy("tables")] = Field(
        default=False,
        description=(
            "Whether the best kept set of each target is written as a rule (truth table) from one "
            "sample to the next: `network.bnet` (BoolNet; two levels), `network.sbml` "
            "(SBML-qual), `rules.tsv` with how well each gives what was measured, and "
            "`attractors.tsv` of networks of up to 2^20 states (20 genes of two levels). Needs "
            "`lag` of 1 or more."
        ),
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field()

    tables: ClassVar[tuple[str, ...]] = ("predictors.tsv", "hyperedges.tsv", *RULE_FILES)
    jobs: ClassVar[JobNeeds] = JobNeeds(report_state=True, prepare_seed=True, network_gpu=False)

    def result_tables(self) -> tuple[str, ...]:
        if self.is_transfer:
            return ()
        return tuple(table for table in self.tables if self.rules or table not in RULE_FILES)

    def table_path(self) -> str | None:
        return self.expression if self.levels is None else self.levels

    @property
    def is_transfer(self) -> bool:
        """Whether ordered pairs are scored, by transfer entropy."""
        return self.score == "transfer_entropy"

    @property
    def lags(self) -> list[int]:
        """The lags of predictors, ascending."""
        return [self.lag] if isinstance(self.lag, int) else self.lag

    @property
    def steps_back(self) -> int:
        """How many steps before the target's sample a transition begins."""
        return max(self.lags[-1], self.history) if self.is_transfer else self.lags[-1]

    @property
    def table(self) -> str:
        """The path of the table, of expression or of levels."""
        path = self.table_path()
        assert path is not None  # _one_table
        return path

    @field_validator("quantize")
    @classmethod
    def _levels_decided(cls, quantize: QuantizeConfig, info: ValidationInfo) -> QuantizeConfig:
        from_expression = info.data.get("expression") is not None
        return quantize.for_expression() if from_expression else quantize

    def requirements(self) -> Iterator[Rule]:
        yield from super().requirements()
        transfer = self.is_transfer
        yield Rule(transfer and self.lags[0] == 0, "lag", "1 or more for score: transfer_entropy")
        yield Rule(transfer and self.rules, "rules", "false for score: transfer_entropy")
        yield Rule(
            self.rules and self.lags[0] == 0,
            "rules",
            "false with lag: 0, since rules lead from one sample to the next",
        )
        yield Rule(
            self.estimator.cardinality == 4 and self.estimator.search == "sffs",
            "estimator/search",
            "auto or exhaustive beside cardinality: 4",
        )
        given = self.levels is not None
        yield Rule(
            self.expression is None and not given,
            "expression",
            "the path of a table here, or under levels",
        )
        yield Rule(
            given and self.expression is not None,
            "levels",
            "null beside expression (one of them, not both)",
        )
        yield Rule(
            given and self.duplicates != "error",
            "duplicates",
            "error beside levels (levels have no mean)",
        )
        cleaned = set(self.preprocess) - set(Preprocess()) - set(self.preprocess.of_levels)
        yield Rule(
            given and cleaned,
            "preprocess",
            "min_samples and drop_constant only beside levels, which are used as they are",
        )
        named = self.samples.annotations is not None or self.samples.columns
        yield Rule(
            given and named,
            "samples",
            "null beside levels (name their series under series, columns in order of time)",
        )
        yield Rule(
            self.series is not None and self.samples.series is not None,
            "series",
            "null beside samples.series (one of them, not both)",
        )
        yield Rule(
            self.null.kind == "blocks" and self.samples.batch is None,
            "null",
            "auto or another kind, or a column under samples.batch",
        )
        yield Rule(
            self.keep.bounds and self.null.permutations == 0,
            "keep",
            "auto or best under null.permutations: 0 (no p-values)",
        )
