"""Which samples of a pair enter, and which are outliers."""

from __future__ import annotations

import numpy as np
from numba import njit

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_layout import CONSTANT, TOO_FEW
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_modes import (
    mark_outliers,
    sorted_members,
)


@njit(cache=True, nogil=True, error_model="numpy")
def take_samples(genes, rules, gene_x, gene_y, work):  # type: ignore[no-untyped-def]
    """Label 0 for the samples that enter, -1 for the others; what is wrong with the pair, or -1."""
    n = 0
    for sample in range(work.label.shape[0]):
        word = genes.present[gene_x, sample >> 5] & genes.present[gene_y, sample >> 5]
        here = (np.int64(word) >> (sample & 31)) & 1
        work.label[sample] = np.int32(here - 1)
        work.any_out[sample] = 0
        n += here
    if n < max(rules.min_samples, 1):
        return TOO_FEW
    sort_members(genes, gene_x, gene_y, work)
    if rules.outliers_before:
        removed = remove_outliers(genes, rules, gene_x, gene_y, 0, work)
        if removed:
            n -= removed
            if n < max(rules.min_samples, 1):
                return TOO_FEW
            sort_members(genes, gene_x, gene_y, work)
    if is_constant(genes, gene_x, gene_y, 0, work):
        return CONSTANT
    return -1


@njit(cache=True, nogil=True)
def sort_members(genes, gene_x, gene_y, work):  # type: ignore[no-untyped-def]
    """The samples of each label by ascending value of either gene."""
    sorted_members(
        genes.order[gene_x], genes.usable[gene_x], work.label, work.members_x, work.sizes
    )
    sorted_members(
        genes.order[gene_y], genes.usable[gene_y], work.label, work.members_y, work.sizes
    )


@njit(cache=True, nogil=True)
def remove_outliers(genes, rules, gene_x, gene_y, k, work):  # type: ignore[no-untyped-def]
    """Take the outliers on either axis out of label k; returns how many."""
    size = work.sizes[k]
    work.out[:] = 0
    found = mark_outliers(genes.values[gene_x], work.members_x[k], size, rules.kinc, work.out)
    found += mark_outliers(genes.values[gene_y], work.members_y[k], size, rules.kinc, work.out)
    if found == 0:
        return 0
    removed = 0
    for sample in range(work.label.shape[0]):
        if work.out[sample]:
            work.label[sample] = -1
            work.any_out[sample] = 1
            removed += 1
    return removed


@njit(cache=True, nogil=True)
def is_constant(genes, gene_x, gene_y, k, work):  # type: ignore[no-untyped-def]
    """Whether either gene has one value only in the samples of label k, of which there are some."""
    last = work.sizes[k] - 1
    x, y = work.members_x[k], work.members_y[k]
    codes_x, codes_y = genes.codes[gene_x], genes.codes[gene_y]
    return codes_x[x[0]] == codes_x[x[last]] or codes_y[y[0]] == codes_y[y[last]]


@njit(cache=True, nogil=True)
def compact(genes, gene_x, gene_y, work):  # type: ignore[no-untyped-def]
    """The values that enter, one after another in the order of the samples; how many."""
    n = 0
    for sample in range(work.label.shape[0]):
        if work.label[sample] == 0:
            work.raw_x[n] = genes.values[gene_x, sample]
            work.raw_y[n] = genes.values[gene_y, sample]
            work.sample[n] = sample
            work.element_label[n] = 0
            n += 1
    return n
