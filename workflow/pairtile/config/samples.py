"""The section ``samples``: what is known of the samples that decides which of them are alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pairtile.config.models import ConfigModel, Rule
from pairtile.config.network import OptionalPath
from pairtile.config.values import Text, null_is_empty

OptionalColumn = Annotated[str | None, Text("the name of a column", optional=True)]


class StepConfig(ConfigModel):
    """How far apart samples of a series are that follow each other. A series is cut where the
    step is another: no transition leads over the cut, and no circular shift. What was cut is
    counted."""

    time: Annotated[float, Field(gt=0)] = Field(
        description="One step, in the unit of the column `time`."
    )
    tolerance: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="How far a step may be off, in the same unit."
    )


class SamplesConfig(ConfigModel):
    """Time courses, batches and technical replicates among the samples. Null distributions keep
    what is stated here, so that it is not taken for a relation of genes."""

    annotations: OptionalPath = Field(
        default=None,
        description=(
            "A table with a row for each sample and a header; sample names in its first column, "
            "or in the one that names the most. null: `obs` of an `.h5ad` table."
        ),
    )
    unannotated: Literal["error", "leave_out"] = Field(
        default="error",
        description=(
            "Samples of the expression table without a row in a table of annotations: `error`: "
            "refuse them; `leave_out`: go on without them."
        ),
    )
    series: OptionalColumn = Field(
        default=None,
        description=(
            "Which time course (subject, run) each sample is of. Shifts of a null stay within it."
        ),
    )
    time: OptionalColumn = Field(
        default=None,
        description=(
            "When each sample was taken, as a number (or as `2h`, `day 3`: the same words in "
            "every cell): samples are put in this order within their series. Two of one series at "
            "the same time are refused: tell them apart by `series`, or combine them by "
            "`replicate`. null: the order of the table."
        ),
    )
    step: StepConfig | None = Field(
        default=None,
        description=(
            "How long one step in `time` is: `{time: 2, tolerance: 0.5}`. Samples further apart, "
            "or closer, do not follow each other. null: all steps count as one, with a warning "
            "where they differ."
        ),
    )
    batch: OptionalColumn = Field(
        default=None,
        description=(
            "Which batch (plate, laboratory, run) each sample is of. Means of batches go off "
            "every gene, and a null by `blocks` permutes within batches: noise that is larger in "
            "one makes no edge."
        ),
    )
    replicate: OptionalColumn = Field(
        default=None,
        description=(
            "Which specimen each sample was measured on: one sample takes the place of all with "
            "one label, before anything else (also pseudobulk or metacells of cells). An empty "
            "cell: the sample stands for itself."
        ),
    )
    combine: Literal["auto", "mean", "sum"] = Field(
        default="auto",
        description=(
            "Samples with one label under `replicate` become their `mean` or `sum`, over those in "
            "which a gene is observed. `auto`: the sum of counts, the mean of other values."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        lacks = self.step is not None and self.time is None
        yield Rule(lacks, "step", "null, or a column of times under samples.time")

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are named, by their keys."""
        keys = ("series", "time", "batch", "replicate")
        return {key: column for key in keys if (column := getattr(self, key)) is not None}


OptionalSamples = Annotated[
    SamplesConfig, BeforeValidator(null_is_empty, json_schema_input_type=SamplesConfig | None)
]
