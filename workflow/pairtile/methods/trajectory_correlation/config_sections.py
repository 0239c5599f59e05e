"""How the correlation of two motions is estimated: the section ``estimator``, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from pairtile.config.models import ConfigModel
from pairtile.config.values import Choice, Switch, Whole, refusal

_KSG_RAW = {"variant": 1, "norm": "max", "scale": "raw", "theiler": 0}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "mdigest": {**_KSG_RAW, "neighbours": 5},
    "normi": {**_KSG_RAW, "neighbours": 5, "scale": "std"},
    "dynetan": {**_KSG_RAW, "neighbours": 7, "variant": 2, "scale": "std"},
    "netsci": {**_KSG_RAW, "variant": 2},
}
"""What other tools do: keys of ``estimator`` that a preset decides."""

_BINS = {"dihedral": 12}
_BINS_ELSE = 10


class MotionEstimatorConfig(ConfigModel):
    """The estimator. Each gives mutual information in nats, 0 for independent motions, and from it
    the generalized correlation sqrt(1 - exp(-2 I / d)) for variables of d dimensions (Lange and
    Grubmueller 2006); `dcc` gives the cosine correlation alone."""

    preset: Annotated[Literal["none", "mdigest", "normi", "dynetan", "netsci"], Choice()] = Field(
        default="none",
        description=(
            "Numbers as another tool gives them: decides `neighbours`, `variant`, `norm`, `scale` "
            "and `theiler`, whatever stands there. `mdigest`: 5 neighbours, KSG 1, largest "
            "coordinate, as they are, no Theiler window. `normi`: the same, each coordinate "
            "divided by its standard deviation. `dynetan`: 7 neighbours, KSG 2, divided too. "
            "`netsci`: KSG 2, as they are, `neighbours` as given here. Only for `kind: ksg`."
        ),
    )
    kind: Annotated[Literal["ksg", "gaussian", "dcc", "bspline", "dihedral"], Choice()] = Field(
        default="ksg",
        description=(
            "`ksg`: nearest neighbours (Kraskov et al. 2004); any dependence, in all dimensions "
            "at once. `gaussian`: as if motions were normally distributed (linear mutual "
            "information); fast, blind to curved dependence. `dcc`: cosine (Pearson) correlation "
            "of displacements; blind to motions at right angles. `bspline`: B-spline mutual "
            "information, of scalars only. `dihedral`: the same of angles, with splines that close "
            "at 360 degrees."
        ),
    )
    neighbours: Annotated[int, Whole(1, 64)] = Field(
        default=6,
        description=(
            "Of `ksg`: which nearest neighbour measures the density. Fewer follow finer detail "
            "and scatter more. Usual: 3 to 7."
        ),
    )
    variant: Annotated[int, Whole(1, 2)] = Field(
        default=1,
        description="Of `ksg`: the first or the second estimator of Kraskov et al.",
    )
    norm: Annotated[Literal["euclidean", "max"], Choice()] = Field(
        default="euclidean",
        description=(
            "Of `ksg`: how far apart two frames of one variable are. `euclidean`: the distance; "
            "does not depend on how the system is turned. `max`: the largest difference of a "
            "coordinate."
        ),
    )
    scale: Annotated[Literal["raw", "std"], Choice()] = Field(
        default="raw",
        description=(
            "Of `ksg`: coordinates as they are (`raw`), or each divided by its own standard "
            "deviation (`std`; no longer independent of how the system is turned)."
        ),
    )
    theiler: Annotated[Literal["auto"] | int, Whole(0, 1_000_000, word="auto")] = Field(
        default="auto",
        description=(
            "Of `ksg`: frames nearer in time than this are no neighbours, because successive "
            "frames are alike whatever the motions have to do with each other. `auto`: twice the "
            "correlation time. 0: all frames count."
        ),
    )
    corrected: Annotated[bool, Switch()] = Field(
        default=False,
        description=(
            "Of `gaussian`: take away the bias of few frames (exact for independent frames): "
            "about 0.05 nats for two atoms and 100 frames."
        ),
    )
    bins: Annotated[Literal["auto"] | int, Whole(2, 64, word="auto")] = Field(
        default="auto",
        description="Of `bspline` and `dihedral`: bins of a variable. `auto`: 10, for angles 12.",
    )
    order: Annotated[int, Whole(1, 10, high_text="bins")] = Field(
        default=3,
        description="Of `bspline` and `dihedral`: spline order. 1: plain histogram; 3: usual.",
    )
    transform: Annotated[Literal["rank", "none"], Choice()] = Field(
        default="rank",
        description=(
            "Of `bspline`: values are replaced by their ranks, so that every bin is used and "
            "outliers do no harm, or are taken as they are, from the least to the greatest."
        ),
    )
    surrogates: Annotated[int, Whole(0, 10_000)] = Field(
        default=20,
        description=(
            "How many times one motion of each pair is shifted in time (the end comes back in at "
            "the start) to see what the estimator gives for unrelated motions that are as slow as "
            "these: the null of the p-values. Successive frames are no independent samples, and a "
            "plain permutation would call everything significant. Each costs as much as the "
            "estimate. 0: no p-values."
        ),
    )

    @property
    def window(self) -> int:
        """The Theiler window in frames, once it is decided; ``auto`` is a ValueError."""
        if self.theiler == "auto":
            raise ValueError("theiler: found auto; expected a number of frames")
        return self.theiler

    @property
    def n_bins(self) -> int:
        """``bins``, which validation has decided."""
        assert self.bins != "auto"
        return self.bins

    @property
    def single(self) -> bool:
        """Whether coordinates are rounded to float32 first, as NetSci does."""
        return self.preset == "netsci"

    def with_window(self, frames: int) -> Self:
        """The same with a Theiler window in frames."""
        return self.model_copy(update={"theiler": frames})

    @field_validator("neighbours", "variant", "norm", "scale", "theiler")
    @classmethod
    def _as_the_preset_says(cls, value: Any, info: ValidationInfo) -> Any:
        preset = PRESETS[info.data.get("preset", "none")]
        return preset.get(str(info.field_name), value)

    @field_validator("bins")
    @classmethod
    def _bins_decided(cls, bins: Any, info: ValidationInfo) -> Any:
        return _BINS.get(info.data.get("kind", ""), _BINS_ELSE) if bins == "auto" else bins

    @field_validator("order")
    @classmethod
    def _order_at_most_bins(cls, order: int, info: ValidationInfo) -> int:
        bins = info.data.get("bins")
        if isinstance(bins, int) and order > bins:
            raise refusal(f"an integer between 1 and bins ({bins})")
        return order

    @field_validator("surrogates")
    @classmethod
    def _enough_to_scatter(cls, surrogates: int) -> int:
        if surrogates == 1:
            raise refusal("0 (no p-values), or 2 to 10000: one does not say how far they scatter")
        return surrogates

    @model_validator(mode="after")
    def _presets_are_of_ksg(self) -> Self:
        if self.preset != "none" and self.kind != "ksg":
            raise refusal(f"none beside kind: {self.kind} (presets are of kind: ksg)", key="preset")
        return self
