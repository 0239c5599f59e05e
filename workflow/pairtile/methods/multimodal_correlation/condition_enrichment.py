"""Whether a label is more frequent in a mode than among the samples that it was chosen from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.mode_samples import ModeSamples


@dataclass(frozen=True)
class Enrichment:
    """Tests of M modes for L labels.

    n : int32 (M,), samples that could be in the mode and have a label.
    n_mode : int32 (M,), those of them that are in the mode.
    n_label : int32 (M, L), those of ``n`` with the label.
    n_both : int32 (M, L), those of ``n_mode`` with the label.
    p_value : float64 (M, L); NaN where there is nothing to test.
    """

    n: NDArray[np.int32]
    n_mode: NDArray[np.int32]
    n_label: NDArray[np.int32]
    n_both: NDArray[np.int32]
    p_value: NDArray[np.float64]

    def counts(self) -> dict[str, int]:
        """Tests made, and tests that could not be: the mode holds all or none of its samples with
        a label (``mode_is_whole``); else none or all of the samples have the label
        (``label_is_constant``)."""
        tested = ~np.isnan(self.p_value)
        whole = (self.n_mode == self.n) | (self.n_mode == 0)
        n_whole = int(whole.sum()) * self.p_value.shape[1]
        return {
            "tests": int(tested.sum()),
            "mode_is_whole": n_whole,
            "label_is_constant": tested.size - n_whole - int(tested.sum()),
        }


def enrichment(modes: ModeSamples, condition: Condition) -> Enrichment:
    """One-sided hypergeometric test (Fisher's exact test) of each mode and label.

    Of the n samples of a pair that the mixture could place in a mode and that have a label, n_label
    have this one, n_mode are in the mode and n_both are both. If labels and modes had nothing to do
    with each other, n_both were hypergeometric; p is the chance of as many or more.

    Samples that are missing in either gene, or were taken away as outliers, are not among the n:
    they could be in no mode, and if they were counted, a label that is missing more often would
    make every other label look enriched. Where a mode holds all its n samples, or the label is that
    of all or of none, p could only be 1 whatever the labels: there is no test and p is NaN.
    """
    shape = (len(modes), len(condition.labels))
    n, n_mode = np.zeros(len(modes), np.int32), np.zeros(len(modes), np.int32)
    n_label, n_both = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    has_label = (condition.codes[:, None] == np.arange(shape[1])).astype(np.float32)
    # Counts below 2^24 are exact in float32, and a matrix product is much the fastest way to them.
    for block in modes.blocks():
        n_label[block.rows] = block.usable.astype(np.float32) @ has_label
        n_both[block.rows] = block.members.astype(np.float32) @ has_label
    n[:], n_mode[:] = n_label.sum(axis=1), n_both.sum(axis=1)
    p = np.full(shape, np.nan)
    for label in range(shape[1]):
        p[:, label] = upper_tail(n_both[:, label], n, n_label[:, label], n_mode)
    return Enrichment(n, n_mode, n_label, n_both, p)


def upper_tail(
    n_both: NDArray[np.int32],
    n: NDArray[np.int32],
    n_label: NDArray[np.int32],
    n_mode: NDArray[np.int32],
) -> NDArray[np.float64]:
    """P(X >= n_both) for hypergeometric X, float64 (M,); NaN where X can only have one value."""
    p = np.full(len(n), np.nan)
    open_ = np.flatnonzero((n_label > 0) & (n_label < n) & (n_mode > 0) & (n_mode < n))
    if not open_.size:
        return p
    # Modes share few different numbers: the tail is computed once for each.
    side = int(n.max()) + 1
    key = n[open_].astype(np.int64)
    for part in (n_label, n_mode, n_both):
        key = key * side + part[open_]
    if side > 50_000:
        raise ValueError(f"{side - 1} samples; expected fewer than 50,000")
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    some = open_[first]
    tail = stats.hypergeom.sf(n_both[some] - 1, n[some], n_label[some], n_mode[some])
    # The sum of the whole distribution can come out an ulp beyond 1.
    p[open_] = np.clip(tail, 0.0, 1.0)[place]
    return p
