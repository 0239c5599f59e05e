"""Which correlations of a multimodal network are strong enough: threshold and power."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag, ValidationInfo, field_validator

from pairtile.config.models import ConfigModel
from pairtile.config.values import (
    Choice,
    Form,
    Number,
    Whole,
    listed,
    model_or_false,
    model_or_false_form,
    refusal,
)

ThresholdMethod = Literal["rmt", "power_law", "score", "none"]

DEFAULTS: dict[str, dict[str, Any]] = {
    "rmt": {"start": 0.99, "step": 0.001, "stop": None, "rule": "auto", "min_eigenvalues": 50},
    "power_law": {"start": 0.99, "step": 0.01, "stop": None, "fit": 0.8, "min_genes": 50},
    "score": {"score": None},
    "none": {},
}
"""The keys of each method beside ``method``, with their values where none is given."""


class Threshold(ConfigModel):
    """The least size of a correlation that makes an edge: found in the data, or given. Keys of
    another method than `method` must be left out or null."""

    method: Annotated[ThresholdMethod, Choice()] = Field(
        default="rmt",
        description=(
            "`rmt`: random matrix theory; the threshold goes down until the spacings of the "
            "matrix' eigenvalues look like those of a random matrix, and stays above (Luo et al. "
            "2007). Needs some hundred genes. `power_law`: the lowest threshold at which the "
            "numbers of neighbours follow a power law (Zhang and Horvath 2005). `score`: the "
            "number under `score`. `none`: every mode that `estimator` kept. Where the walk finds "
            "none, the network is empty, and a warning says why and what to do."
        ),
    )
    score: Annotated[float | None, Number(low=0, high=1, optional=True)] = Field(
        default=None,
        description="Of `method: score`: keep modes whose correlation has at least this size.",
    )
    start: Annotated[float | None, Number(above=0, high=1, optional=True)] = Field(
        default=None,
        description="Of `rmt` and `power_law`: where the walk down begins; null: 0.99.",
    )
    step: Annotated[float | None, Number(low=0.0001, high=0.1, optional=True)] = Field(
        default=None,
        description=(
            "Of `rmt` and `power_law`: how far each step goes down; null: 0.001 for `rmt`, 0.01 "
            "for `power_law`."
        ),
    )
    stop: Annotated[float | None, Number(low=0, below=1, optional=True)] = Field(
        default=None,
        description=(
            "Of `rmt` and `power_law`: where the walk ends if it found nothing, below `start`; "
            "null: at the smallest correlation that was kept."
        ),
    )
    rule: Annotated[Literal["auto", "symmetric", "kinc"], Choice()] = Field(
        default="auto",
        description=(
            "Of `rmt`: which genes are in the matrix. `symmetric`: those with a correlation at or "
            "above the threshold with any gene. `kinc`: with a gene before it in the table only, "
            "as KINC has it, which depends on the order of genes. `auto`: `symmetric`, or `kinc` "
            "under `compatibility: kinc`."
        ),
    )
    min_eigenvalues: Annotated[int | None, Whole(50, 100_000, optional=True)] = Field(
        default=None,
        description=(
            "Of `rmt`: the test is made where the matrix has at least so many distinct "
            "eigenvalues; null: 50."
        ),
    )
    fit: Annotated[float | None, Number(above=0, high=1, optional=True)] = Field(
        default=None,
        description="Of `power_law`: least R² of the straight line on log-log axes; null: 0.8.",
    )
    min_genes: Annotated[int | None, Whole(10, 100_000, optional=True)] = Field(
        default=None,
        description="Of `power_law`: the fit is made where at least so many genes have an edge; "
        "null: 50.",
    )

    @field_validator(
        "score", "start", "step", "stop", "rule", "min_eigenvalues", "fit", "min_genes"
    )
    @classmethod
    def _fits_method(cls, value: Any, info: ValidationInfo) -> Any:
        method, key = info.data.get("method"), str(info.field_name)
        if method is None:
            return value
        if key not in DEFAULTS[method]:
            if value not in (None, "auto"):
                able = listed([f"method: {name}" for name, keys in DEFAULTS.items() if key in keys])
                unset = "auto" if key == "rule" else "null"
                raise refusal(f"{unset}, or {able} beside it")
            return value
        if key == "score" and value is None:
            raise refusal("a number of at least 0 and at most 1 for method: score")
        return DEFAULTS[method][key] if value is None else value

    @field_validator("stop")
    @classmethod
    def _stop_below_start(cls, stop: float | None, info: ValidationInfo) -> float | None:
        start = info.data.get("start")
        if stop is not None and start is not None and stop >= start:
            raise refusal(f"a number of at least 0 and less than start ({start:g}), or null")
        return stop

    def check_within(self, min_correlation: float, max_correlation: float) -> None:
        """Raises PydanticCustomError where no mode that is stored can pass."""
        for key in ("score", "start", "stop"):
            given = getattr(self, key)
            if given is not None and given < min_correlation:
                kept = f"estimator.min_correlation ({min_correlation:g})"
                raise refusal(f"a number of at least {kept}, below which nothing is kept", key=key)
        if self.score is not None and self.score > max_correlation:
            kept = f"estimator.max_correlation ({max_correlation:g})"
            raise refusal(f"a number of at most {kept}, above which nothing is kept", key="score")

    def decided(self, compatibility: str) -> Threshold:
        """This section with ``rule: auto`` decided for a value of ``compatibility``."""
        if self.method != "rmt" or self.rule != "auto":
            return self
        rule = "kinc" if compatibility == "kinc" else "symmetric"
        return self.model_copy(update={"rule": rule})


class Power(ConfigModel):
    """The power filter: drops modes with too few samples for their correlation. A mode passes if a
    test at level `alpha` would find a true correlation of that size, in that many samples, with
    probability `power` or more."""

    alpha: Annotated[float, Number(above=0, below=1)] = Field(
        default=0.001, description="Level of the two-sided test of correlation."
    )
    power: Annotated[float, Number(above=0, below=1)] = Field(
        default=0.8, description="Least probability that the test finds the correlation."
    )


PowerOrFalse = Annotated[
    Annotated[Power, Tag("<power>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(Power),
    Form(model_or_false_form(Power)),
]
