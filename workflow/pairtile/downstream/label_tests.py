"""Whether profiles over the samples, such as activities, go with what is known of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from pairtile.arrays import Float64Array, Int32Array, Int64Array, IntegerArray
from pairtile.io.annotations import Condition

_TOLERANCE = 1e-9


class LabelTest(NamedTuple):
    """``p_value`` float64 (profiles,), NaN where nothing could be tested. ``effect``: difference of
    the two labels' means (second less first), or slope on a number, in the blocks; NaN of three
    labels or more. ``units``: samples, or blocks, that were compared. ``of_blocks``: whether these
    are blocks."""

    effect: Float64Array
    p_value: Float64Array
    units: int
    of_blocks: bool


def label_test(
    profiles: Float64Array,
    condition: Condition,
    blocks: Sequence[Int32Array] = (),
    degrees_given_up: int = 0,
) -> LabelTest:
    """Test each profile for a difference between labels, or a slope on numbers.

    Least squares with the blocks as fixed effects. Labels may differ in variance: standard errors
    are those of HC2 (MacKinnon and White 1985), of two labels without blocks Welch's, with the
    degrees of freedom of Bell and McCaffrey (2002) and, for several labels, the F of Hotelling's
    T squared (Tipton and Pustejovsky 2015, J Educ Behav Stat 40:604). Where the label is the same
    all over every block (a donor with many cells), the means of the blocks are compared instead,
    within the larger blocks that these are in.

    Parameters
    ----------
    profiles : float64 (profiles, samples)
        Samples that lack all values are left out; a profile that lacks some others has no p-value.
    condition : Condition
        Labels or numbers of the samples; those without one are left out.
    blocks : sequence of int (samples,)
        Series (subject, run) and batch of each sample, the smaller blocks first.
    degrees_given_up : int
        Degrees of freedom that were taken off the values before.
    """
    known = condition.known & ~np.isnan(profiles).all(axis=0)
    values = profiles[:, known]
    if condition.kind == "categorical":
        codes = np.unique(condition.codes[known], return_inverse=True)[1]
        labels = indicators(codes)
    else:
        labels = condition.numbers[known][:, None]
    fixed = np.zeros(len(labels), dtype=np.int64)
    of_blocks = False
    outer = [codes[known] for codes in blocks]
    for k in range(len(outer)):
        block = np.unique(outer[k], return_inverse=True)[1]
        if not block.any() or (np.abs(within(labels, block)) > _TOLERANCE).any():
            fixed = np.unique(np.stack([fixed, block]), axis=1, return_inverse=True)[1]
            continue
        of_blocks, first = True, np.unique(block, return_index=True)[1]
        nested = [codes if (codes[first][block] == codes).all() else 0 * codes for codes in outer]
        outer = [codes[first] for codes in nested]
        labels, values = _means(labels, block), _means(values.T, block).T
        fixed = np.zeros(len(labels), dtype=np.int64)
    effect, p = _tests(values, labels, fixed, degrees_given_up)
    return LabelTest(effect, p, values.shape[1], of_blocks)


def indicators(codes: IntegerArray) -> Float64Array:
    """float64 (samples, codes): 1 where a sample has a code, from 0."""
    return (codes[:, None] == np.arange(codes.max(initial=0) + 1)).astype(np.float64)


def label_means(profiles: Float64Array, condition: Condition) -> list[str]:
    """Which label is higher in each profile, float64 (profiles, samples), and by how much: labels
    by their means, highest first, each in standard deviations of the profile with the half width of
    its 95 % interval (Student's t; none for a label of one sample). "" for numbers."""
    if condition.kind != "categorical":
        return [""] * len(profiles)
    spread = np.nanstd(profiles, axis=1, keepdims=True)
    z = (profiles - np.nanmean(profiles, axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    found = []
    for row in z:
        of_label = {}
        for code, label in enumerate(condition.labels):
            some = row[(condition.codes == code) & ~np.isnan(row)]
            half = (
                scipy.stats.t.ppf(0.975, some.size - 1) * scipy.stats.sem(some)
                if some.size > 1
                else np.nan
            )
            text = f"{label} {some.mean():z.2f}" if some.size else f"{label} unknown"
            of_label[text + (f" ± {half:.2f}" if half == half else "")] = some.mean()
        found.append(", ".join(sorted(of_label, key=of_label.__getitem__, reverse=True)))
    return found


def _means(columns: Float64Array, block: IntegerArray) -> Float64Array:
    member = indicators(block)
    return (member.T @ columns) / member.sum(axis=0)[:, None]


def within(columns: Float64Array, block: IntegerArray) -> Float64Array:
    """Columns (samples, any) less the means of their blocks."""
    return columns - _means(columns, block)[block]


def _tests(
    values: Float64Array, labels: Float64Array, block: Int64Array, given_up: int
) -> tuple[Float64Array, Float64Array]:
    """Effect and p-value of each profile."""
    n = values.shape[1]
    nothing = np.full(len(values), np.nan)
    if n < 3:
        return nothing, nothing
    x = within(labels, block)
    left, size, _ = np.linalg.svd(x, full_matrices=False)
    q = int((size > _TOLERANCE * max(float(size[0]), 1e-300)).sum()) if size[0] > _TOLERANCE else 0
    freedom = n - int(block.max()) - 1 - q - given_up
    if not q or freedom < 1:
        return nothing, nothing
    basis = left[:, :q]
    y = within(values.T, block).T
    along = y @ basis
    residuals = y - along @ basis.T
    leverage = np.minimum(1 / np.bincount(block)[block] + (basis**2).sum(axis=1), 1.0)
    alone = leverage > 1 - _TOLERANCE  # the only one of its label: its spread is unknown
    pooled = (residuals**2).sum(axis=1, keepdims=True) / freedom
    spread = np.where(alone, pooled, residuals**2 / np.where(alone, 1.0, 1 - leverage))
    variance = np.einsum("ps,si,sj->pij", spread, basis, basis, optimize=True)
    degrees = min(float(freedom), _own_degrees(basis, block, leverage))
    ok = (np.abs(y).max(axis=1) > 0) & (pooled[:, 0] > 0)
    variance[~ok] = np.eye(q)
    squared = np.einsum("pi,pi->p", along, np.linalg.solve(variance, along[..., None])[..., 0])
    rest = degrees - q + 1
    if rest <= 0:
        return nothing, nothing
    p = scipy.stats.f.sf(squared * rest / (degrees * q), q, rest)
    effect = nothing
    if labels.shape[1] == 1 or q == 1:
        # Of two labels the last column: by it the second lies above the first.
        step = x[:, -1]
        effect = (y @ step) / (step @ step)
    return effect, np.where(ok, p, np.nan)


def _own_degrees(basis: Float64Array, block: Int64Array, leverage: Float64Array) -> float:
    """Degrees of freedom of the variance, as those of a Wishart matrix with its total variance."""
    n, q = basis.shape
    # The variance of each group is known well: degrees of freedom are those of the samples.
    if n > 2000:
        return float(n)
    same = block[:, None] == block
    shared = basis @ basis.T
    left = np.eye(n) - same / np.bincount(block)[block][:, None] - shared
    weight = np.where(leverage > 1 - _TOLERANCE, 0.0, 1 / np.maximum(1 - leverage, _TOLERANCE))
    total = float(weight @ (left * shared) ** 2 @ weight)
    return q * (q + 1) / (2 * total) if total > 0 else float(n)
