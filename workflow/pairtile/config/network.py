"""Keys that several methods have: chunks, export, and files that may be left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Strict, Tag

from pairtile.config.export_formats import (
    AUTO_FORMATS,
    EXPORT_FORMATS,
    MAX_AUTO_EDGES,
    lacking_packages,
)
from pairtile.config.models import InputFile, UsedBy
from pairtile.config.values import Expected, Text, each_once, join_list, validation_error

if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = Literal[tuple(EXPORT_FORMATS)]


def _can_be_written(formats: tuple[str, ...]) -> tuple[str, ...]:
    for name in formats:
        if lacking := lacking_packages(name):
            raise validation_error(f"formats whose packages are installed; {name} needs {lacking}")
    return formats


ExportList = Annotated[
    Annotated[Literal["auto"], Tag("<auto>")]
    | Annotated[
        tuple[FormatName, ...],
        Strict(False),
        AfterValidator(each_once),
        AfterValidator(_can_be_written),
        Tag("<list>"),
    ],
    Discriminator(lambda formats: "<auto>" if formats == "auto" else "<list>"),
    Expected(f"auto or a list of {join_list(tuple(EXPORT_FORMATS))}"),
    UsedBy(),
]


RequiredPath = Annotated[str, Text("a path"), InputFile()]
OptionalPath = Annotated[str | None, Text("a path", optional=True), InputFile()]
NamesTable = Annotated[OptionalPath, UsedBy("prepare", "values")]
GoldStandard = Annotated[OptionalPath, InputFile("evaluate"), UsedBy("evaluate")]
ModulesTable = Annotated[OptionalPath, InputFile("modules", "module_preservation", folder=True)]
OF_MODULES = UsedBy("modules", "module_preservation", "traits", "enrichment")
GeneSetsFile = Annotated[OptionalPath, InputFile("enrichment"), UsedBy("enrichment")]
Chunks = Annotated[Literal["auto"] | Annotated[int, Field(ge=1, le=100_000)], UsedBy("plan")]


def gold_standard_field() -> Any:
    """The key ``gold_standard`` (a ``GoldStandard``) of a method whose edges join genes."""
    return Field(
        default=None,
        description=(
            "A table of known edges, columns source and target, or lists of ARACNe (`.adj`), to "
            "compare the network with: adds `evaluation.json` (AUPR, AUROC, precision, recall) and "
            "its part of the report. It does not change the network."
        ),
    )


def chunks_field() -> Any:
    """The key ``chunks`` (a ``Chunks``)."""
    return Field(
        default="auto",
        description=(
            "Into how many jobs the pairs are split. `auto` makes jobs of one to five minutes, and "
            "one job of a small problem. Results are the same for any number."
        ),
    )


def export_field() -> Any:
    """The key ``export`` (an ``ExportList``)."""
    return Field(
        default="auto",
        description=(
            "Formats in which the network is written, beside `network.parquet`. `auto`: "
            f"`{AUTO_FORMATS[0]}`, and up to {MAX_AUTO_EDGES:,} edges `{AUTO_FORMATS[1]}`; or a "
            "list of any of these, which is written whatever the size. "
            + "; ".join(
                f"`{name}`: {format.description}" for name, format in EXPORT_FORMATS.items()
            )
            + ". Matrices hold the strongest edge of a pair."
        ),
    )
