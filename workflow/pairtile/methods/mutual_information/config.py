"""The section of ``method: mutual_information``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from pairtile.config.models import ConfigModel
from pairtile.config.network import (
    BootstrapsOrNumber,
    Chunks,
    Dpi,
    DpiOrFalse,
    ExportList,
    Keep,
    KeepPValue,
    OptionalPath,
    chunks_field,
    export_field,
    gold_standard_field,
)
from pairtile.config.preprocess import ExpressionAnalysis
from pairtile.config.values import Choice, Whole, refusal

JUDGING = frozenset({"plan", "score", "network", "evaluate"})
"""Steps that depend on what makes an edge: all but the preparation."""

_NO_BOOTSTRAPS: Any = 0  # the short form; the section makes Bootstraps(number=0) of it


class Estimator(ConfigModel):
    """The B-spline estimator of mutual information (Daub et al. 2004)."""

    bins: Annotated[int, Whole(1, 64)] = Field(
        default=10,
        description=(
            "Bins into which each gene's values are spread. Mutual information is at most "
            "log2(bins) bits. 10 suits 200 samples and more; with about 100 samples 5 or 6 bins "
            "gave better networks. Many bins on few samples raise the score of every pair alike."
        ),
    )
    order: Annotated[int, Whole(1, 64, high_text="bins")] = Field(
        default=3,
        description=(
            "Spline order: over how many neighbouring bins one value is spread. 1: each value "
            "falls into one bin (a plain histogram). 3: a smooth quadratic spread, which lessens "
            "the noise at bin borders. At most `bins`."
        ),
    )
    knots: Annotated[Literal["clamped", "uniform"], Choice()] = Field(
        default="clamped",
        description=(
            "What happens at both ends of the range. `clamped`: end knots are repeated, so that "
            "the extreme values fall into the end bins, as in the paper and in most tools. "
            "`uniform`: evenly spaced knots, as in the authors' own R code; differs by up to 0.05 "
            "bits at order 3. For comparison with that code only."
        ),
    )
    transform: Annotated[Literal["rank", "none"], Choice()] = Field(
        default="rank",
        description=(
            "What is binned. `rank`: each gene's ranks; one outlier then cannot push all other "
            "samples into one bin, and one null distribution serves all genes. `none`: the values "
            "themselves, as older tools do; genes with unlike spreads then get null distributions "
            "of their own, which takes longer."
        ),
    )
    precision: Annotated[Literal["auto", "float64", "mixed"], Choice()] = Field(
        default="auto",
        description=(
            "Arithmetic. `float64`: doubles throughout. `mixed`: half-precision weights with "
            "single-precision sums, several times faster on a GPU and within 1e-4 bits. `auto`: "
            "`mixed` on a GPU, `float64` on the CPU."
        ),
    )

    @field_validator("order")
    @classmethod
    def _order_fits_bins(cls, order: int, info: ValidationInfo) -> int:
        bins = info.data.get("bins")
        if bins is not None and order > bins:
            raise refusal(f"an integer between 1 and bins ({bins})")
        return order


class Null(ConfigModel):
    """The null distribution: what the scores of unrelated genes look like."""

    permutations: Annotated[
        Literal["auto"] | int, Whole(100, 1_000_000_000, word="auto", exponent=True)
    ] = Field(
        default="auto",
        description=(
            "Scores drawn between genes of which one is shuffled. A p-value needs at least 10 / p "
            "of them; where there are fewer, it is extrapolated from the tail and marked "
            "(`p_method: extrapolated`). `auto` draws as many as `keep` needs, up to 1e8."
        ),
    )


class MutualInformationConfig(ExpressionAnalysis):
    """Mutual information of all pairs of genes, or of all regulators with all genes: B-spline
    estimate, permutation significance, CLR and target z-scores, DPI, bootstrap consensus."""

    method: Annotated[Literal["mutual_information"], Choice()] = Field(
        description="Which method this analysis runs."
    )
    regulators: OptionalPath = Field(
        default=None,
        description=(
            "A text file of regulators (transcription factors), one name a line, as they are named "
            "in the table; `#` starts a comment line. Then only pairs with a regulator are scored, "
            "edges point from regulator to gene, and networks get better and faster. null: every "
            "gene with every gene. A relative path starts at the working directory."
        ),
    )
    gold_standard: OptionalPath = gold_standard_field(
        " A relative path starts at the working directory."
    )
    estimator: Estimator = Field(
        default=Estimator(), description="How mutual information is estimated."
    )
    score: Annotated[Literal["mi", "clr", "target_z"], Choice()] = Field(
        default="mi",
        description=(
            "What ranks the pairs, for `keep: {score: x}`, `keep: {top_edges: n}`, the order of "
            "the network table and the evaluation. `mi`: mutual information itself, in bits. "
            "`clr`: context likelihood of relatedness, how far a pair stands out among all pairs "
            "of both its genes. `target_z`: how far it stands out among all candidate regulators "
            "of the target, in standard deviations; directed, and mostly the best of the three "
            "against gold standards: recommended. p- and q-values are those of mutual "
            "information whatever stands here."
        ),
    )
    null: Null = Field(default=Null(), description="The null distribution, for p- and q-values.")
    keep: Keep = Field(
        default=KeepPValue(p_value=1e-5),
        description=(
            "Which pairs become edges; give one form. `{p_value: x}`: p-value at most x. "
            "`{fdr: x}`: Benjamini-Hochberg q-value at most x (recommended where you have no "
            "reason for another). `{score: x}`: `score` at least x. `{top_edges: n}`: the n best "
            "by `score`. `all`: every pair (large!)."
        ),
    )
    dpi: DpiOrFalse = Field(
        default=Dpi(),
        description=(
            "Removal of indirect edges by the data processing inequality; `false` turns it off. It "
            "works on mutual information, after `keep`. With regulators, an edge of a regulator "
            "is not removed because of a gene that is none. It makes networks cleaner "
            "(precision) and loses some true edges (recall): on for a network to look at, off "
            "for a ranking of all candidates."
        ),
    )
    bootstraps: BootstrapsOrNumber = Field(
        default=_NO_BOOTSTRAPS,
        description=(
            "Consensus of networks from resampled data: a number of resampled networks (0: none, "
            "100 is usual), or a section with more settings. Each costs as much as the network "
            "itself and is a restartable unit of its own."
        ),
    )
    chunks: Chunks = chunks_field(more=" A few thousand jobs are as many as Snakemake likes.")
    export: ExportList = export_field()

    @property
    def n_bootstraps(self) -> int:
        return self.bootstraps.number

    input_keys: ClassVar[tuple[str, ...]] = ("expression", "regulators", "gold_standard")
    used_by: ClassVar[Mapping[str, frozenset[str]]] = {
        **dict.fromkeys(("score", "null", "keep", "gold_standard"), JUDGING),
        "dpi": frozenset({"network"}),
        "bootstraps": frozenset({"plan", "network"}),
        "chunks": frozenset({"plan"}),
        "export": frozenset(),
    }
