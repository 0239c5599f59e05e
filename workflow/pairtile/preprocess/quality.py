"""What the samples of a table look like, for the report: their totals, and how alike they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.state import copy_rows
from pairtile.io.expression import Expression
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.preprocess.samples import SampleDesign
from pairtile.preprocess.statistics import RawCounts, column_medians
from pairtile.statistics.dependence import MAX_GENES, evenly_spaced, principal_components


@dataclass(frozen=True)
class SampleQuality:
    """The samples as they were read, before any normalisation.

    samples : their names. size : float64 (samples,), the sum of each over all genes where values
    are counts (``is_counts``), else the median over at most ``MAX_GENES`` genes, evenly spaced.
    zeros, missing : float64 (samples,), shares of all genes. group : int32 (samples,), the batch of
    each, or without batches the series; empty where neither is stated. labels : of the groups.
    """

    samples: list[str]
    is_counts: bool
    size: NDArray[np.float64]
    zeros: NDArray[np.float64]
    missing: NDArray[np.float64]
    group: NDArray[np.int32]
    labels: list[str]

    @classmethod
    def of_expression(
        cls, expression: Expression, counts: RawCounts, counted: bool, design: SampleDesign | None
    ) -> SampleQuality:
        """Of a table's raw values."""
        size = counts.totals
        if not counted:
            genes = evenly_spaced(len(expression.genes), MAX_GENES)
            size = column_medians(copy_rows(expression.values, genes))
        design = design or SampleDesign.unknown()
        of_batch = design.batch.size > 0
        n_genes = len(expression.genes)
        return cls(
            samples=list(expression.samples),
            is_counts=counted,
            size=size,
            zeros=counts.sample_zero / n_genes,
            missing=counts.sample_missing / n_genes,
            group=design.batch if of_batch else design.series,
            labels=design.batch_labels if of_batch else design.series_labels,
        )

    def state(self, values: NDArray[np.float64]) -> SampleArrays:
        """As arrays of a state, with the first two components of the prepared ``values``
        (genes, samples)."""
        found = principal_components(values)
        return {
            "quality_samples": np.array(self.samples, dtype=np.str_),
            "quality_counted": np.array(self.is_counts),
            "quality_size": self.size,
            "quality_zeros": self.zeros,
            "quality_missing": self.missing,
            "quality_group": self.group,
            "quality_labels": np.array(self.labels, dtype=np.str_),
            "component_samples": found.samples,
            "component_scores": found.scores,
            "component_shares": found.shares,
        }
