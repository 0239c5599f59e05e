"""How a network is made of scored pairs: which to keep, DPI, bootstrap consensus, export; and the
keys that every method has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pairtile.config.models import ConfigModel
from pairtile.config.values import (
    EXPECTED,
    Choice,
    Form,
    Number,
    Text,
    Whole,
    listed,
    model_or_false,
    model_or_false_form,
    refusal,
)

ExportFormat = Literal[
    "tsv", "parquet", "graphml", "gexf", "sif", "cx2", "adjacency", "h5ad", "regulon", "html"
]
MAX_BOOTSTRAPS = 10_000
SUBSAMPLE_FRACTION = 0.632
"""Share of distinct samples in a bootstrap sample of the same size: 1 - 1/e."""


class KeepPValue(ConfigModel):
    """Keep pairs by p-value."""

    p_value: Annotated[float, Number(above=0, high=1)] = Field(
        description=(
            "Keep pairs whose permutation p-value of mutual information is at most this. With n "
            "pairs tested, n times this number are kept by chance alone: 1e-5 of 2e8 pairs is "
            "2,000."
        )
    )


class KeepFdr(ConfigModel):
    """Keep pairs by false discovery rate."""

    fdr: Annotated[float, Number(above=0, high=1)] = Field(
        description=(
            "Keep pairs whose q-value (Benjamini-Hochberg, from the permutation p-values) is at "
            "most this: the expected share of unrelated pairs among those kept."
        )
    )


class KeepScore(ConfigModel):
    """Keep pairs by score."""

    score: Annotated[float, Number()] = Field(
        description=(
            "Keep edges whose `score` is at least this: in bits for `mi`, in standard deviations "
            "for `clr` and `target_z`."
        )
    )


class KeepTopEdges(ConfigModel):
    """Keep the best so many."""

    top_edges: Annotated[int, Whole(1, 1_000_000_000, exponent=True)] = Field(
        description="Keep this many edges, those with the highest `score`."
    )


KEEP_SECTIONS = (KeepPValue, KeepFdr, KeepScore, KeepTopEdges)
_KEEP_KEYS = tuple(key for section in KEEP_SECTIONS for key in section.model_fields)
_KEEP_FORMS = listed([f"{{{key}: x}}" for key in _KEEP_KEYS] + ["all"]) + " (one of them)"
_KEEP_FORMS = _KEEP_FORMS.replace("top_edges: x", "top_edges: n")


def _keep_form(value: Any) -> str | None:
    if isinstance(value, KEEP_SECTIONS):
        return f"<{next(iter(type(value).model_fields))}>"
    if isinstance(value, Mapping):
        key = next(iter(value)) if len(value) == 1 else None
        return f"<{key}>" if key in _KEEP_KEYS else None
    return "<all>" if value == "all" and isinstance(value, str) else None


Keep = Annotated[
    Annotated[KeepPValue, Tag("<p_value>")]
    | Annotated[KeepFdr, Tag("<fdr>")]
    | Annotated[KeepScore, Tag("<score>")]
    | Annotated[KeepTopEdges, Tag("<top_edges>")]
    | Annotated[Literal["all"], Tag("<all>")],
    Discriminator(
        _keep_form,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={"expected": _KEEP_FORMS, "choices": " ".join([*_KEEP_KEYS, "all"])},
    ),
    Form(_KEEP_FORMS),
]


class Dpi(ConfigModel):
    """The data processing inequality (Margolin et al. 2006): in a triangle of three edges, the
    weakest is taken for an indirect one and removed."""

    tolerance: Annotated[float, Number(low=0)] = Field(
        default=0.0,
        description=(
            "How much weaker than both others the weakest edge of a triangle must be to go. For "
            "`rule: relative` a share between 0 and 1: 0 removes it whenever it is weaker, 0.1 "
            "when it is more than 10 % weaker, 1 never. For `rule: additive` in bits, 0 or more. "
            "Usual: 0 to 0.15, relative."
        ),
    )
    rule: Annotated[Literal["relative", "additive"], Choice()] = Field(
        default="relative",
        description=(
            "`relative`: remove an edge if its mutual information is below (1 - tolerance) times "
            "the lesser of the two others, as ARACNe does. `additive`: remove it if it is more "
            "than `tolerance` bits below the lesser of the two others, as minet does."
        ),
    )

    @model_validator(mode="after")
    def _tolerance_fits_rule(self) -> Self:
        if self.rule == "relative" and self.tolerance > 1:
            raise refusal("a number between 0 and 1 for rule: relative", key="tolerance")
        return self


DpiOrFalse = Annotated[
    Annotated[Dpi, Tag("<dpi>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(Dpi),
    Form(model_or_false_form(Dpi)),
]


class Bootstraps(ConfigModel):
    """Consensus over networks made from resampled data, as ARACNe-AP does: an edge's support is the
    number of networks that hold it, and only edges with more support than chance are kept."""

    number: Annotated[int, Whole(0, MAX_BOOTSTRAPS)] = Field(
        default=0,
        description="How many resampled networks; 0 for none: one network from all samples.",
    )
    resample: Annotated[Literal["bootstrap", "subsample"], Choice()] = Field(
        default="bootstrap",
        description=(
            "How samples are drawn each time. `bootstrap`: as many as there are, with replacement. "
            "`subsample`: the share `fraction` of them, without replacement (no sample counts "
            "twice, so scores of copies do not grow)."
        ),
    )
    fraction: Annotated[float | None, Number(above=0, below=1, optional=True)] = Field(
        default=None,
        description=(
            "Share of the samples in a subsample; null takes 0.632 (the share of distinct samples "
            "in a bootstrap). Only for `resample: subsample`."
        ),
    )
    correction: Annotated[Literal["bonferroni", "bh"], Choice()] = Field(
        default="bonferroni",
        description=(
            "How the p-values of edge support are corrected for the number of edges tested. "
            "`bonferroni`: strict, bounds the chance of any false edge. `bh`: Benjamini-Hochberg, "
            "bounds the share of false edges and keeps more."
        ),
    )
    alpha: Annotated[float, Number(above=0, high=1)] = Field(
        default=0.05,
        description="Keep edges whose corrected p-value of support is at most this.",
    )

    @field_validator("fraction")
    @classmethod
    def _fraction_fits_resample(cls, fraction: float | None, info: ValidationInfo) -> float | None:
        resample = info.data.get("resample")
        if resample == "subsample":
            return SUBSAMPLE_FRACTION if fraction is None else fraction
        if resample == "bootstrap" and fraction is not None:
            raise refusal("null, or resample: subsample beside it")
        return fraction


_BOOTSTRAPS_FORMS = (
    f"an integer between 0 and {MAX_BOOTSTRAPS}, "
    f"or a mapping with keys {listed(tuple(Bootstraps.model_fields), 'and')}"
)


def _number_of_bootstraps(value: Any) -> Any:
    """A plain number stands for a section that has it as its ``number``."""
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value <= MAX_BOOTSTRAPS:
            return Bootstraps(number=value)
    elif isinstance(value, Mapping | Bootstraps):
        return value
    raise refusal(_BOOTSTRAPS_FORMS)


BootstrapsOrNumber = Annotated[
    Bootstraps,
    BeforeValidator(
        _number_of_bootstraps,
        json_schema_input_type=Annotated[int, Whole(0, MAX_BOOTSTRAPS)] | Bootstraps,
    ),
    Form(_BOOTSTRAPS_FORMS),
]


def _each_once(formats: Any) -> Any:
    if not isinstance(formats, list | tuple):
        raise refusal("a list of formats, such as [tsv, graphml]")
    repeated = [name for n, name in enumerate(formats) if name in formats[:n]]
    if repeated:
        raise refusal(f"each format once, but {repeated[0]!r} is there twice")
    return tuple(formats)


ExportList = Annotated[
    tuple[Annotated[ExportFormat, Choice()], ...],
    BeforeValidator(_each_once, json_schema_input_type=list[Annotated[ExportFormat, Choice()]]),
    Form(f"a list of {listed(get_args(ExportFormat))}"),
]


OptionalPath = Annotated[str | None, Text("a path", optional=True)]
Chunks = Annotated[Literal["auto"] | int, Whole(1, 100_000, word="auto")]


def gold_standard_field(more: str = "") -> Any:
    """The key ``gold_standard`` (an ``OptionalPath``) of a method whose edges join genes."""
    return Field(
        default=None,
        description=(
            "A table of known edges, columns source and target, to judge the network by: adds "
            "`evaluation.json` (AUPR, AUROC, precision, recall) and its part of the report. null: "
            f"no evaluation. It does not change the network.{more}"
        ),
    )


def chunks_field(what: str = "the pairs are", more: str = "") -> Any:
    """The key ``chunks`` (a ``Chunks``); ``what`` is split into jobs."""
    return Field(
        default="auto",
        description=(
            f"Into how many jobs {what} split. `auto` makes jobs of one to five minutes, and one "
            f"job of a small problem. Results are the same for any number.{more}"
        ),
    )


def export_field(
    what: str = "the network", beside: str = "`network.parquet`", more: str = ""
) -> Any:
    """The key ``export`` (an ``ExportList``): formats of ``what``, written ``beside`` something."""
    return Field(
        default=("tsv", "graphml"),
        description=(
            f"Formats in which {what} is written, beside {beside}. `tsv`: table; `parquet`: the "
            "same, typed; `graphml`: Cytoscape, igraph, networkx; `gexf`: Gephi; `sif`: plain "
            "Cytoscape; `cx2`: Cytoscape Web and NDEx; `adjacency`: sparse matrix (`.npz`); "
            "`h5ad`: AnnData with the network in `varp`; `regulon`: table for VIPER and decoupler; "
            f"`html`: a page with the network drawn.{more}"
        ),
    )
