"""Tests of modes against what is known of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from pairtile.config.models import ConfigModel
from pairtile.config.values import Choice, Form, Number, Text, refusal

_LEVELS_FORM = "a list of two or more labels, each once, lowest first, or null"


def _labels(levels: Any) -> Any:
    if levels is None:
        return None
    words = levels if isinstance(levels, list | tuple) else []
    # A label that looks like a number stands in the table as text, too.
    plain = [isinstance(word, str | int | float) and not isinstance(word, bool) for word in words]
    labels = [word if isinstance(word, str) else f"{word}" for word in words]
    if len(labels) < 2 or not all(plain) or len(set(labels)) < len(labels):
        raise refusal(_LEVELS_FORM)
    return tuple(labels)


Labels = Annotated[
    tuple[Annotated[str, Text("a label")], ...] | None,
    BeforeValidator(_labels, json_schema_input_type=list[str | int | float] | None),
    Form(_LEVELS_FORM),
]


class Condition(ConfigModel):
    """A column of `annotations` that modes are tested against; its name alone stands for all
    defaults."""

    name: Annotated[str, Text("the name of a column")] = Field(
        description="The column of the annotation table."
    )
    kind: Annotated[Literal["auto", "categorical", "ordinal", "quantitative"], Choice()] = Field(
        default="auto",
        description=(
            "`categorical`: labels; each is tested for more samples in the mode than by chance. "
            "`ordinal`: labels in an order, or ranks. `quantitative`: numbers. Both are regressed "
            "on the expression of the two genes. `auto`: quantitative where all cells are numbers "
            "and more than five differ, else categorical; never ordinal."
        ),
    )
    levels: Labels = Field(
        default=None,
        description=(
            "Of kind `ordinal`: the labels from lowest to highest, such as [low, middle, high]. "
            "null: the cells are numbers."
        ),
    )

    @model_validator(mode="after")
    def _levels_of_ordinal_only(self) -> Self:
        if self.levels is not None and self.kind != "ordinal":
            raise refusal("null, or kind: ordinal beside it", key="levels")
        return self


_CONDITIONS_FORM = (
    "a list of columns, each a name or a mapping with keys name, kind and levels, such as "
    "[Treatment, {name: Hours, kind: quantitative}]"
)


def _entries(value: Any) -> Any:
    """A name stands for a section that has it as its ``name``; null for an empty list."""
    if value is None:
        return ()
    entries = value if isinstance(value, list | tuple) else [None]
    if not all(isinstance(entry, str | Mapping | Condition) for entry in entries):
        raise refusal(_CONDITIONS_FORM)
    sections = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    names = [_name(section) for section in sections]
    for n, name in enumerate(names):
        if name is not None and name in names[:n]:
            raise refusal(f"each column once, but {name!r} is there twice")
    return tuple(sections)


def _name(section: Any) -> Any:
    name = section.name if isinstance(section, Condition) else section.get("name")
    return name if isinstance(name, str) else None


ConditionList = Annotated[
    tuple[Condition, ...],
    BeforeValidator(
        _entries, json_schema_input_type=list[Annotated[str, Text("a name")] | Condition] | None
    ),
    Form(_CONDITIONS_FORM),
]


class ConditionNetworks(ConfigModel):
    """Which edges belong to a condition: the limits for `condition_networks.tsv`."""

    q_value: Annotated[float, Number(low=0, high=1)] = Field(
        default=0.001,
        description=(
            "Largest q-value of a test (Benjamini-Hochberg, over all tests of the condition)."
        ),
    )
    r_squared: Annotated[float, Number(low=0, high=1)] = Field(
        default=0.3,
        description="Least R² of a regression; categorical conditions have none.",
    )
