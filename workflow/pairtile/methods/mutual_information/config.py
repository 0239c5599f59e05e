"""The section of ``method: mutual_information``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    Tag,
)

from pairtile.config.models import ConfigModel, JobNeeds, Rule, UsedBy
from pairtile.config.network import (
    Chunks,
    ExportList,
    GoldStandard,
    OptionalPath,
    chunks_field,
    export_field,
    gold_standard_field,
)
from pairtile.config.preprocess import TwoTableAnalysis
from pairtile.config.samples import OptionalColumn
from pairtile.config.values import (
    Expected,
    Exponent,
    join_list,
    model_or_false,
    model_or_false_form,
)
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.scores import (
    MUTUAL_INFORMATION,
    OF_ONE_TABLE,
    OF_TWO_TABLES,
    SCORES,
    Score,
)

SCORING_STEPS = UsedBy("plan", "score", "network", "evaluate")
"""Steps that depend on what makes an edge: all but the preparation."""

MAX_BOOTSTRAPS = 10_000

AUTO_FDR = 0.05
EDGES_PER_GENE = 2
"""Of ``keep: auto``: where precision and recall balance on the sets of docs/quality.md."""


if TYPE_CHECKING:
    ScoreName = str
else:
    ScoreName = Literal[("auto", *SCORES)]


class SplineEstimatorConfig(ConfigModel):
    """The B-spline estimator of mutual information (Daub et al. 2004)."""

    bins: Literal["auto"] | Annotated[int, Field(ge=1, le=64)] = Field(
        default="auto",
        description=(
            "Bins into which each gene's values are spread; mutual information is at most "
            "log2(bins) bits. `auto`: 5 for fewer than 200 samples; 6 for ranks of more, or where "
            "values have a floor (more than a tenth of a gene's samples at one value); 10 for the "
            "values of more; at least `order`."
        ),
    )
    order: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=1, le=64)],
        Expected("auto or an integer between 1 and bins"),
    ] = Field(
        default="auto",
        description=(
            "Spline order: over how many neighbouring bins one value is spread; 1 is a plain "
            "histogram. At most `bins`. `auto`: 4 beside `bins: auto` where that is 5 or 6, else "
            "3 (or `bins`)."
        ),
    )
    knots: Literal["clamped", "uniform"] = Field(
        default="clamped",
        description=(
            "`clamped`: end knots are repeated, so that the extreme values fall into the end "
            "bins, as in the paper. `uniform`: evenly spaced knots, as in the authors' R code, "
            "for comparison with it; differs by up to 0.05 bits at order 3."
        ),
    )
    transform: Literal["auto", "rank", "none"] = Field(
        default="auto",
        description=(
            "What is binned. `rank`: each gene's ranks; outliers do no harm, and one null "
            "distribution serves all genes. `none`: the values themselves; genes with unlike "
            "spreads then get null distributions of their own, which takes longer. `auto`: `none` "
            "from 200 samples on, if the values have no floor (in the median gene at most 1 % of "
            "the samples share its most common value), else `rank`."
        ),
    )
    precision: Literal["auto", "float64", "mixed"] = Field(
        default="auto",
        description=(
            "`float64`: doubles throughout. `mixed`: half-precision weights with single-precision "
            "sums, several times faster on a GPU and within 1e-4 bits. `auto`: `mixed` on a GPU, "
            "`float64` on the CPU."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        if self.bins != "auto" and self.order != "auto":
            expected = f"an integer between 1 and bins ({self.bins})"
            yield Rule(self.order > self.bins, "order", expected)

    def resolved_for(self, n_samples: int, floor_share: float) -> Self:
        """The same with what is ``auto`` decided (docs/quality.md).

        floor_share : of the median gene, the share of the samples at its most common value.
        """
        bins, order, transform = self.bins, self.order, self.transform
        # Raw values rank edges better from so many samples on, unless some of them lie at one value
        # (zeros, a detection limit), which then is an outlier for all others.
        many = n_samples >= 200
        if transform == "auto":
            transform = "none" if many and floor_share <= 0.01 else "rank"
        if bins == "auto":
            few = 6 if many or floor_share > 0.1 else 5
            fitting = 10 if many and transform == "none" else few
            bins = fitting if order == "auto" else max(fitting, order)
            order = order if order != "auto" else 3 if bins == 10 else 4
        if order == "auto":
            order = min(3, bins)
        return self.model_copy(update={"bins": bins, "order": order, "transform": transform})

    @property
    def bins_order(self) -> tuple[int, int]:
        """``bins`` and ``order``, once they are decided."""
        assert self.bins != "auto" != self.order
        return self.bins, self.order


class NullConfig(ConfigModel):
    """The null distribution: what the scores of unrelated genes look like."""

    kind: Literal["auto", "permutation", "circular_shift", "courses", "blocks"] = Field(
        default="auto",
        description=(
            "What is done to the samples of a gene. `permutation`: any changes places with any "
            "other (independent samples). `circular_shift`: they are moved along in their order, "
            "within each series (time courses). `courses`: whole series change places with others "
            "of equal times and batch (replicates of one stimulus). `blocks`: they are permuted "
            "within their batch. `auto`: courses where stated series follow one course, else "
            "shifts where series or times are stated, else blocks where batches are, else shifts "
            "where neighbours in the table are more alike than in any of 999 random orders, else "
            "permutation; `summary.json` says which and why."
        ),
    )
    permutations: Literal["auto"] | Annotated[int, Exponent(), Field(ge=100, le=1_000_000_000)] = (
        Field(
            default="auto",
            description=(
                "Scores drawn between genes whose samples are exchanged. Where there are fewer "
                "than 10 / p, `p_value` goes on from their tail (`p_method: extrapolated`). "
                "`auto`: as many as `keep` needs, up to 1e8."
            ),
        )
    )
    samples_alike: bool = Field(
        default=False,
        description=(
            "Whether unrelated genes are drawn in samples as much alike as those of the table "
            "(relatives, pools): by the correlations of samples over all genes, shrunken until "
            "unrelated genes correlate as widely as those of the table that correlate least. It "
            "costs power where most genes are related."
        ),
    )


class DpiConfig(ConfigModel):
    """The data processing inequality (Margolin et al. 2006): in a triangle of three edges, the
    weakest is taken for an indirect one and removed."""

    tolerance: Annotated[float, Field(ge=0)] = Field(
        default=0.0,
        description=(
            "How much weaker than both others the weakest edge of a triangle must be to go: for "
            "`rule: relative` a share (0: whenever it is weaker; 1: never), for `additive` bits. "
            "Usual: 0 to 0.15, relative."
        ),
    )
    rule: Literal["relative", "additive"] = Field(
        default="relative",
        description=(
            "`relative`: an edge goes if its mutual information is below (1 - tolerance) times "
            "the lesser of the two others (ARACNe). `additive`: if it is more than `tolerance` "
            "bits below it (minet)."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        above = self.rule == "relative" and self.tolerance > 1
        yield Rule(above, "tolerance", "a number between 0 and 1 for rule: relative")


DpiOrFalse = Annotated[
    Annotated[DpiConfig, Tag("<dpiconfig>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(DpiConfig),
    Expected(model_or_false_form(DpiConfig)),
]


class BootstrapsConfig(ConfigModel):
    """Consensus over networks made from resampled data, as ARACNe-AP does: an edge's support is the
    number of networks that hold it, and only edges with more support than chance are kept."""

    number: Annotated[int, Field(ge=0, le=MAX_BOOTSTRAPS)] = Field(
        default=0,
        description="How many resampled networks; 0 for none: one network from all samples.",
    )
    resample: Literal["bootstrap", "subsample"] = Field(
        default="bootstrap",
        description=(
            "How samples are drawn. `bootstrap`: as many as there are, with replacement. "
            "`subsample`: the share `fraction` of them, without."
        ),
    )
    fraction: Annotated[float | None, Field(gt=0, lt=1)] = Field(
        default=None,
        description=(
            "Share of the samples in a subsample; null: 0.632. With 0.5 every second network is "
            "of the other half, and a note gives Shah and Samworth's bound on edges by luck."
        ),
    )
    correction: Literal["fdr", "poisson", "bonferroni", "bh"] = Field(
        default="fdr",
        description=(
            "What an edge's support is compared with. `fdr`: the supports of unrelated genes, "
            "from as many bootstraps of data in which the samples of every gene were exchanged, "
            "which takes twice as long. For comparison only: `poisson`, the same as `bonferroni`, "
            "a Poisson with the mean support of all pairs, as ARACNe-AP does; `bh`, that with "
            "Benjamini and Hochberg's correction. Noise gives dozens of edges by these."
        ),
    )
    alpha: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.05,
        description=(
            "Keep edges whose q-value of support is at most this: with `fdr` the expected share of "
            "unrelated pairs among them, and at most as many edges as `keep` takes of all samples."
        ),
    )

    @property
    def complementary_halves(self) -> bool:
        """Whether each network has another one from the rest of the samples."""
        return self.fraction == 0.5 and self.number % 2 == 0

    def resolve_auto(self) -> Mapping[str, object]:
        unsaid = self.resample == "subsample" and self.fraction is None
        # Share of distinct samples in a bootstrap sample of the same size: 1 - 1/e.
        return {"fraction": 0.632} if unsaid else {}

    def requirements(self) -> Iterator[Rule]:
        unused = self.resample == "bootstrap" and self.fraction is not None
        yield Rule(unused, "fraction", "null, or resample: subsample beside it")


def _number_of_bootstraps(value: object) -> object:
    """A plain number stands for a section that has it as its ``number``."""
    plain = isinstance(value, int) and not isinstance(value, bool)
    return {"number": value} if plain else value


BootstrapsOrNumber = Annotated[
    BootstrapsConfig,
    BeforeValidator(
        _number_of_bootstraps,
        json_schema_input_type=Annotated[int, Field(ge=0, le=MAX_BOOTSTRAPS)] | BootstrapsConfig,
    ),
    Expected(
        f"an integer between 0 and {MAX_BOOTSTRAPS}, "
        f"or a mapping with keys {join_list(tuple(BootstrapsConfig.model_fields), 'and')}"
    ),
]


_NO_BOOTSTRAPS: Any = 0  # the short form; validation makes BootstrapsConfig(number=0) of it


BESIDE_SCORES = {
    *("method", "scores", "score_column", "scores_null", "regulators", "gold_standard", "score"),
    *("keep", "dpi", "chunks", "export", "ignore_case", "ignore_versions"),
}
"""Keys that mean something where scores are given; all others are of what they are made from."""

MIN_DRAWS = 1000
"""Of a null that is given: p-values beyond are extrapolated from the top 1 % of it."""


class MutualInformationConfig(TwoTableAnalysis):
    """Mutual information of all pairs of genes, or of all regulators with all genes: B-spline
    estimate, permutation significance, CLR and target z-scores, DPI, bootstrap consensus."""

    method: Literal["mutual_information"] = Field(description="Which method this analysis runs.")
    scores: OptionalPath = Field(
        default=None,
        description=(
            "In place of `expression`: mutual information in bits (text, plain or `.gz`), for "
            "`score`, `keep`, `dpi` and exports. A square table; or, with `score_column`, a list "
            "of pairs. Others have no score."
        ),
    )
    score_column: OptionalColumn = Field(
        default=None,
        description="`scores` is a list of pairs: two columns of names first, the scores in this.",
    )
    scores_null: OptionalPath = Field(
        default=None,
        description=(
            "p-values of `scores` from these of unrelated genes (permuted samples): at least "
            f"{MIN_DRAWS} numbers, a line each."
        ),
    )
    regulators: OptionalPath = Field(
        default=None,
        description=(
            "A text file of regulators (transcription factors), one name a line; `#` starts a "
            "comment line. Then only pairs with a regulator are scored, edges point from "
            "regulator to gene, and networks get better and faster. null: every gene with every "
            "gene."
        ),
    )
    gold_standard: Annotated[GoldStandard, SCORING_STEPS] = gold_standard_field()
    estimator: SplineEstimatorConfig = Field(
        default=SplineEstimatorConfig(), description="How mutual information is estimated."
    )
    lag: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0,
        description=(
            "Of time courses: pair each gene with the others so many samples later in the same "
            "series (`samples.series`, `samples.time`). Edges are directed, `source` first, and "
            "the null shifts genes along their series. Only with `score: mi` (which `auto` takes) "
            "and without `bootstraps` and `other_expression`; no DPI."
        ),
    )
    score: Annotated[ScoreName, SCORING_STEPS] = Field(
        default="auto",
        description=(
            "What ranks the pairs, for `keep`, the order of the network table and the evaluation. "
            + " ".join(f"`{score.name}`: {score.description}" for score in SCORES.values())
            + f" `auto`: `mi` of `scores`, `{OF_TWO_TABLES.name}` beside `other_expression`, else "
            f"`{OF_ONE_TABLE.name}`. p- and q-values are those of mutual information whatever "
            "stands here; beside `other_expression` all but `mi` are directed."
        ),
    )
    null: Annotated[NullConfig, SCORING_STEPS] = Field(
        default=NullConfig(), description="The null distribution, for p- and q-values."
    )
    keep: Annotated[KeepGenePairs, SCORING_STEPS] = Field(
        default=KeepGenePairs.model_validate("auto"),
        description=(
            "Which pairs become edges; give one form. `auto`: `{fdr: 0.05, top_edges: n}`, with "
            "two edges for each gene of the table. `{fdr: x, top_edges: n}`: the n best by "
            "`score` of the pairs whose p-values are so small that q is at most x among so few. "
            "`all`: every pair (large!)."
        ),
    )
    dpi: Annotated[DpiOrFalse, UsedBy("network")] = Field(
        default=DpiConfig(tolerance=0.1),
        description=(
            "Removal of indirect edges by the data processing inequality; `false` turns it off. "
            "It works on mutual information, after `keep`. With regulators, an edge of a "
            "regulator is not removed because of a gene that is none. Precision rises and recall "
            "falls: turn it off for a ranking of all candidates."
        ),
    )
    bootstraps: Annotated[BootstrapsOrNumber, UsedBy("plan", "network")] = Field(
        default=_NO_BOOTSTRAPS,
        description=(
            "Consensus of networks from resampled data: a number of them (0: none, 100 is usual), "
            "or a section. Each costs as much as the network itself."
        ),
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field()

    def resolve_auto(self) -> Mapping[str, object]:
        as_it_is = self.score == "auto" and (self.lag or self.scores)
        score = {"score": MUTUAL_INFORMATION.name} if as_it_is else {}
        # DPI compares pairs of the same samples.
        return score | ({"dpi": False} if self.lag else {})

    def resolved(self) -> dict[str, object]:
        keys = super().resolved()
        return {k: v for k, v in keys.items() if self.scores is None or k in BESIDE_SCORES}

    def requirements(self) -> Iterator[Rule]:
        stated = self.scores or self.expression
        yield Rule(not stated, "expression", "the path of a table, or scores in place of it")
        for key in self.model_fields_set - BESIDE_SCORES:
            yield Rule(self.scores, key, "nothing beside scores, which are used as they are")
        for key in ("score_column", "scores_null"):
            alone = getattr(self, key) and not self.scores
            yield Rule(alone, key, "null, or scores beside it")
        by_p = not self.has_p_values and self.keep.by_p_value
        expected = "auto, all, {score: x} or {top_edges: n} beside scores without scores_null"
        yield Rule(by_p, "keep", expected)
        alone = tuple(name for name, one in SCORES.items() if not one.sums_partial_correlations)
        unknown = self.scores and self.ranked_by.sums_partial_correlations
        yield Rule(unknown, "score", f"{join_list(alone)} beside scores", alone)
        yield from super().requirements()
        only = MUTUAL_INFORMATION.name
        expected = f"{only} or auto beside lag"
        yield Rule(self.lag and self.score != only, "score", expected, (only, "auto"))
        yield Rule(self.lag and self.bootstraps.number, "bootstraps", "0 beside lag")
        yield Rule(self.lag and self.other_expression, "other_expression", "null beside lag")
        for kind, key in (("blocks", "batch"), ("courses", "series")):
            unknown = self.null.kind == kind and getattr(self.samples, key) is None
            yield Rule(unknown, "null/kind", f"another kind, or a column under samples.{key}")

    @property
    def has_p_values(self) -> bool:
        """Whether there is a null: of given scores only one that is given, too."""
        return self.scores is None or self.scores_null is not None

    @property
    def ranked_by(self) -> Score:
        """What ranks the pairs."""
        auto = OF_TWO_TABLES if self.other_expression else OF_ONE_TABLE
        return auto if self.score == "auto" else SCORES[self.score]

    @property
    def directed(self) -> bool:
        """Whether each direction of a pair has a score of its own."""
        one_way = (self.regulators or self.other_expression) is not None
        return bool(self.lag) or self.ranked_by.is_directed(one_way)

    @property
    def network_memory_factor(self) -> int:
        """A pair is stored in 20 bytes. It takes about 50 while few can be edges, 170 where all may
        become one, 300 where all may become two (``benchmarks.bench_many_pairs``)."""
        if self.keep.rule == "auto":
            return 4
        return 20 if self.directed else 12

    jobs: ClassVar[JobNeeds] = JobNeeds(
        report_state=True,
        small_bytes=1 << 21,
        small_gpu_bytes=1 << 29,
        many_draws="bootstraps.number",
    )
