"""Columns of annotations that something is tested against, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pairtile.config.models import ConfigModel, Rule
from pairtile.config.values import Expected, Text, validation_error

_LEVELS_FORM = "a list of two or more labels, each once, lowest first, or null"


def _labels(levels: object) -> tuple[str, ...] | None:
    if levels is None:
        return None
    words = levels if isinstance(levels, list | tuple) else []
    # A label that looks like a number stands in the table as text, too.
    plain = [isinstance(word, str | int | float) and not isinstance(word, bool) for word in words]
    labels = [word if isinstance(word, str) else f"{word}" for word in words]
    if len(labels) < 2 or not all(plain) or len(set(labels)) < len(labels):
        raise validation_error(_LEVELS_FORM)
    return tuple(labels)


Labels = Annotated[
    tuple[Annotated[str, Text("a label")], ...] | None,
    BeforeValidator(_labels, json_schema_input_type=list[str | int | float] | None),
    Expected(_LEVELS_FORM),
]


class ConditionConfig(ConfigModel):
    """A column of annotations that something is tested against; its name alone stands for all
    defaults."""

    name: Annotated[str, Text("the name of a column")] = Field(
        description="The column of the annotation table."
    )
    kind: Literal["auto", "categorical", "ordinal", "quantitative"] = Field(
        default="auto",
        description=(
            "`categorical`: labels. `ordinal`: labels in an order, or ranks. `quantitative`: "
            "numbers. `auto`: quantitative where all cells are numbers and more than five differ, "
            "else categorical; never ordinal."
        ),
    )
    levels: Labels = Field(
        default=None,
        description=(
            "Of kind `ordinal`: the labels from lowest to highest, such as [low, middle, high]. "
            "null: the cells are numbers."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        unordered = self.levels is not None and self.kind != "ordinal"
        yield Rule(unordered, "levels", "null, or kind: ordinal beside it")


_CONDITIONS_FORM = (
    "a list of columns, each a name or a mapping with keys name, kind and levels, such as "
    "[Treatment, {name: Hours, kind: quantitative}]"
)


def _entries(value: object) -> tuple[object, ...]:
    """A name stands for a section that has it as its ``name``; null for an empty list."""
    if value is None:
        return ()
    entries = value if isinstance(value, list | tuple) else [None]
    if not all(isinstance(entry, str | Mapping | ConditionConfig) for entry in entries):
        raise validation_error(_CONDITIONS_FORM)
    sections: list[Any] = [
        {"name": entry} if isinstance(entry, str) else entry for entry in entries
    ]
    names = [s.name if isinstance(s, ConditionConfig) else s.get("name") for s in sections]
    for n, name in enumerate(names):
        if isinstance(name, str) and name in names[:n]:
            raise validation_error(f"each column once, but {name!r} is there twice")
    return tuple(sections)


ConditionList = Annotated[
    tuple[ConditionConfig, ...],
    BeforeValidator(
        _entries,
        json_schema_input_type=list[Annotated[str, Text("a name")] | ConditionConfig] | None,
    ),
    Expected(_CONDITIONS_FORM),
]
