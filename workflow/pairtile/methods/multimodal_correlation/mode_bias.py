"""Signs that a mode is no group of samples of its own, or that missing values made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.condition_tests import unique_names
from pairtile.methods.multimodal_correlation.kernels.mode_statistics import group_moments
from pairtile.methods.multimodal_correlation.mode_samples import ModeBlock, ModeSamples


@dataclass(frozen=True)
class ModeBias:
    """Tests of M modes; every p-value float64 (M,), NaN where it is undefined.

    source_welch_p_value, target_welch_p_value : is the gene's mean expression in the mode that of
        the pair's other usable samples? A mode that differs in neither gene is no group of its own.
    missing_p_value : do the two genes lack a value equally often? Where they do not, the one with
        more missing values decides which samples the pair has.
    condition_missing_p_value : by condition (categorical ones): is a sample of one label missing in
        the pair more often than one of another?
    """

    source_welch_p_value: NDArray[np.float64]
    target_welch_p_value: NDArray[np.float64]
    missing_p_value: NDArray[np.float64]
    condition_missing_p_value: dict[str, NDArray[np.float64]]

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Columns of a network table; of conditions: ``missing_by_<condition>_p_value``."""
        return {
            "source_welch_p_value": self.source_welch_p_value,
            "target_welch_p_value": self.target_welch_p_value,
            "missing_p_value": self.missing_p_value,
            **{f"missing_by_{k}_p_value": p for k, p in self.condition_missing_p_value.items()},
        }

    def counts(self) -> dict[str, int]:
        """Tests that are defined, by column."""
        return {name: int((~np.isnan(p)).sum()) for name, p in self.columns().items()}


def mode_bias(modes: ModeSamples, conditions: Sequence[Condition] = ()) -> ModeBias:
    """Test each mode for bias.

    Expression, of each gene: Welch's analysis of variance (Welch 1951, Biometrika 38:330) between
    the samples of the mode and the pair's other usable samples; with two groups it is Welch's t
    test, two-sided. NaN where a group has fewer than two samples or neither group varies.

    Missing values: McNemar's exact test of the samples that only one of the genes lacks (both
    genes are seen in the same samples, so the comparison is paired). p is 1 where there are none.
    With a condition: Fisher's exact test (two labels, two-sided) or Pearson's chi-square test
    (more, without correction, approximate where few are missing) of label by "missing in either
    gene"; NaN where all samples with a label are missing, or none.

    Notes
    -----
    KINC 3's companion KINC.R filters edges by the same two questions. Its test of missing values is
    a paired t-test on 0 and 1, for which McNemar's is the exact form; its samples outside a mode
    are all those that the mode does not hold.
    """
    size = len(modes)
    welch = _welch(modes)
    lacking = np.zeros((2, size), np.int64)
    categorical = [condition for condition in conditions if condition.kind == "categorical"]
    tables = [np.zeros((size, 2, len(c.labels)), np.int32) for c in categorical]
    for block in modes.blocks():
        lacking[0, block.rows] = (block.observed_j & ~block.observed_i).sum(axis=1)
        lacking[1, block.rows] = (block.observed_i & ~block.observed_j).sum(axis=1)
        for condition, table in zip(categorical, tables, strict=True):
            table[block.rows] = _label_table(block, condition)
    either, fewer = lacking.sum(axis=0), lacking.min(axis=0)
    missing = np.minimum(1.0, 2.0 * stats.binom.cdf(fewer, np.maximum(either, 1), 0.5))
    missing[either == 0] = 1.0
    names = unique_names([(condition.name,) for condition in categorical])
    by_condition = {name: _independence(table) for name, table in zip(names, tables, strict=True)}
    return ModeBias(welch[0], welch[1], missing, by_condition)


def _welch(modes: ModeSamples) -> NDArray[np.float64]:
    """p of both genes, (2, M)."""
    shape = (2, 2, len(modes))
    n, mean, sd = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
    group_moments(
        modes.i.astype(np.int64),
        modes.j.astype(np.int64),
        np.ascontiguousarray(modes.members),
        np.zeros((0, 0), np.uint8) if modes.outliers is None else modes.outliers,
        np.ascontiguousarray(modes.values),
        modes.inside(),
        n,
        mean,
        sd,
    )
    p = np.full((2, len(modes)), np.nan)
    for gene in range(2):
        defined = (n[gene] > 1).all(axis=0) & (sd[gene] > 0.0).any(axis=0)
        apart = mean[gene, 0, defined] - mean[gene, 1, defined]
        spread = sd[gene][:, defined]
        scale = spread.max(axis=0)  # the fourth power of a tiny spread would be 0
        size = n[gene][:, defined]
        test = stats.ttest_ind_from_stats(
            apart / scale,
            spread[0] / scale,
            size[0],
            np.zeros(len(scale)),
            spread[1] / scale,
            size[1],
            equal_var=False,
        )
        p[gene, defined] = test.pvalue
    return p


def _label_table(block: ModeBlock, condition: Condition) -> NDArray[np.int32]:
    """Samples by label, (B, 2, L): seen in both genes, and missing in either."""
    seen = (block.observed_i & block.observed_j).astype(np.float32)
    has_label = (condition.codes[:, None] == np.arange(len(condition.labels))).astype(np.float32)
    counted = seen @ has_label  # exact: counts are far below 2^24
    return np.stack([counted, has_label.sum(axis=0) - counted], axis=1).astype(np.int32)


def _independence(table: NDArray[np.int32]) -> NDArray[np.float64]:
    """p of independence of each (2, L) table; NaN where a row is empty or there is one label."""
    filled = table.sum(axis=1).max(axis=0, initial=0) > 0
    table = table[:, :, filled]
    p = np.full(len(table), np.nan)
    defined = np.flatnonzero(table.sum(axis=2).min(axis=1) > 0)
    if not defined.size or table.shape[2] < 2:
        return p
    if table.shape[2] > 2:
        p[defined] = _chi_square(table[defined].astype(np.float64))
        return p
    # Pairs share few different tables, which two numbers tell apart: those missing, by label.
    missing, place = np.unique(table[defined, 1], axis=0, return_inverse=True)
    total = table[defined[0]].sum(axis=0)  # the same in every pair
    of_table = [stats.fisher_exact(np.stack([total - row, row])).pvalue for row in missing]
    p[defined] = np.array(of_table)[place.ravel()]
    return p


def _chi_square(table: NDArray[np.float64]) -> NDArray[np.float64]:
    n = table.sum(axis=(1, 2), keepdims=True)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=2, keepdims=True) / n
    distance = ((table - expected) ** 2 / expected).sum(axis=(1, 2))
    return np.asarray(stats.chi2.sf(distance, table.shape[2] - 1), dtype=np.float64)
