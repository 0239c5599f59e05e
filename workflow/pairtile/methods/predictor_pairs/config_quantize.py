"""The section ``quantize``: how expression values become a few levels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pairtile.config.models import ConfigModel
from pairtile.config.values import Choice, Form, Number, Whole, listed, refusal

Rule = Literal["mean_split", "extreme_split", "quantile", "kmeans", "thresholds"]

DEFAULT_LEVELS = 3
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


def _increasing(thresholds: Any) -> Any:
    if thresholds is None:
        return None
    if not isinstance(thresholds, list | tuple) or not 1 <= len(thresholds) < MAX_LEVELS:
        raise refusal(_THRESHOLDS_FORM)
    try:
        numbers = [float(x) for x in thresholds]
    except (TypeError, ValueError, OverflowError):
        return tuple(thresholds)  # refused below, one by one
    if any(a >= b for a, b in pairwise(numbers)):
        raise refusal(_THRESHOLDS_FORM)
    return tuple(thresholds)


Thresholds = Annotated[
    tuple[Annotated[float, Number()], ...] | None,
    BeforeValidator(_increasing, json_schema_input_type=list[Annotated[float, Number()]] | None),
    Form(_THRESHOLDS_FORM),
]


class Quantize(ConfigModel):
    """How the values of each gene become levels 0, 1, ... (low to high), each gene by itself over
    all its observed samples. A gene that never changes has level 0 everywhere; a missing value
    stays missing."""

    levels: Annotated[Literal["auto"] | int, Whole(MIN_LEVELS, MAX_LEVELS, word="auto")] = Field(
        default="auto",
        description=(
            "How many levels. `auto`: 3 for an expression table (with `rule: thresholds` one more "
            "than there are thresholds), and for a table of `levels` as many as it holds. 2 "
            "(binary) needs the fewest samples; each level more multiplies the combinations of "
            "predictor levels, and with them the samples that it takes to see each."
        ),
    )
    rule: Annotated[Rule, Choice()] = Field(
        default="mean_split",
        description=(
            "Where the borders between levels lie; a value on a border belongs to the lower level. "
            "`mean_split`: values as z-scores (mean 0, standard deviation 1); 2 levels: above the "
            "mean or not; 3 levels: borders at a third of the mean of the negative z-scores and a "
            "third of the mean of the others. `extreme_split`: 3 levels, borders at a third of the "
            "lowest and a third of the highest z-score. `quantile`: as many samples in each level "
            "as ties allow. `kmeans`: the levels whose values lie closest together (least sum of "
            "squares, exact). `thresholds`: your own borders, the same for all genes. "
            "`mean_split` and `extreme_split` make no 4 levels."
        ),
    )
    thresholds: Thresholds = Field(
        default=None,
        description=(
            "The borders for `rule: thresholds`, one fewer than there are levels, in units of the "
            "values after `preprocess` (z-scores under `normalize: zscore`). null for other rules."
        ),
    )

    @model_validator(mode="after")
    def _thresholds_fit(self) -> Self:
        if self.rule != "thresholds":
            if self.thresholds is not None:
                raise refusal("null, or rule: thresholds beside it", key="thresholds")
        elif self.thresholds is None:
            raise refusal("a list of increasing numbers for rule: thresholds", key="thresholds")
        elif self.levels not in ("auto", len(self.thresholds) + 1):
            raise refusal(
                f"auto or {len(self.thresholds) + 1} for {len(self.thresholds)} thresholds",
                key="levels",
            )
        return self

    def for_expression(self) -> Quantize:
        """This section with ``levels`` decided for an expression table.

        Raises PydanticCustomError where the rule does not make so many levels.
        """
        levels = self.levels
        if levels == "auto":
            levels = len(self.thresholds) + 1 if self.thresholds else DEFAULT_LEVELS
        able = LEVELS_OF_RULE[self.rule]
        if levels not in able:
            others = [rule for rule, numbers in LEVELS_OF_RULE.items() if levels in numbers]
            raise refusal(
                f"{listed([str(n) for n in able])} for rule: {self.rule} ({levels} levels with "
                f"{listed(others)})",
                key="levels",
            )
        return self.model_copy(update={"levels": levels})
