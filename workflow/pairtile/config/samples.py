"""The section ``samples``: what is known of the samples that decides which of them are alike."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pairtile.config.models import ConfigModel
from pairtile.config.network import OptionalPath
from pairtile.config.values import Choice, Text

OptionalColumn = Annotated[str | None, Text("the name of a column", optional=True)]


class SamplesConfig(ConfigModel):
    """Time courses, batches and technical replicates among the samples. Null distributions keep
    what is stated here, so that it is not taken for a relation of genes."""

    annotations: OptionalPath = Field(
        default=None,
        description=(
            "A table with a row for each sample and a header; sample names in its first column, "
            "or in the one that names the most. null: of an `.h5ad` expression table its `obs`, "
            "where a column is named here."
        ),
    )
    unannotated: Annotated[Literal["error", "leave_out"], Choice()] = Field(
        default="error",
        description=(
            "What becomes of samples of the expression table that have no row in a table of "
            "annotations: `error`: refuse them; `leave_out`: go on without them."
        ),
    )
    series: OptionalColumn = Field(
        default=None,
        description=(
            "Which time course (subject, run) each sample is of. A null by circular shifts moves "
            "samples within their own series only."
        ),
    )
    time: OptionalColumn = Field(
        default=None,
        description=(
            "When each sample was taken, as a number: samples are put in this order within their "
            "series. null: they are taken in the order of the table."
        ),
    )
    batch: OptionalColumn = Field(
        default=None,
        description=(
            "Which batch (plate, laboratory, run) each sample is of. A null by `blocks` permutes "
            "samples within their own batch only, so that a shift between batches makes no edge."
        ),
    )
    replicate: OptionalColumn = Field(
        default=None,
        description=(
            "Which specimen each sample was measured on: samples of one label are technical "
            "replicates, and one sample takes their place before anything else is done. So are "
            "cells made to pseudobulk or metacells, by donor, type or cluster. An empty cell: the "
            "sample stands for itself."
        ),
    )
    combine: Annotated[Literal["auto", "mean", "sum"], Choice()] = Field(
        default="auto",
        description=(
            "What becomes of samples with one label under `replicate`: their `mean` or their "
            "`sum`, over those in which a gene is observed. `auto`: the sum of counts, the mean of "
            "other values."
        ),
    )

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are named, by their keys."""
        keys = ("series", "time", "batch", "replicate")
        return {key: column for key in keys if (column := getattr(self, key)) is not None}


def _none_is_empty(value: Any) -> Any:
    return {} if value is None else value


OptionalSamples = Annotated[
    SamplesConfig,
    BeforeValidator(_none_is_empty, json_schema_input_type=SamplesConfig | None),
]
