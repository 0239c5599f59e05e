"""All the modes of pairs of genes: the mixture of each pair, and the correlation of each mode.

The CPU twin of ``pair_mixtures.cu``; both give the same bits. A thread does one pair after another
in scratch of its own (``Work``): which samples enter, without outliers; the fit, on standardised
values (``mixture_fit``); each sample's component; the correlation of each mode, of which those
within the limits are written one after another (``Found``).

Order and ties are looked up in ``order`` and ``codes`` of the genes, prepared once, so that nothing
is sorted here. Sums of values are float64 in 32 lanes (element i in lane i % 32), added pairwise;
sums of ranks are whole numbers.
"""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import Float32Array, Float64Array, Int32Array, Int64Array, UInt8Array
from pairtile.cpu.njit import njit, subroutine
from pairtile.cpu.vectors import LANES
from pairtile.methods.multimodal_correlation.kernels.mixture_fit import (
    COVARIANCE,
    LN2,
    MEAN_X,
    MEAN_Y,
    SUM_ROWS,
    THETA_COLUMNS,
    VARIANCE_X,
    VARIANCE_Y,
    WEIGHT,
    FitWork,
    Samples,
    choose_mixture,
    label_samples,
    pair_seed,
)
from pairtile.methods.multimodal_correlation.kernels.vectors import lane_sum

MAX_CLUSTERS = 5
HISTOGRAM_BINS = 200

COUNTS = (
    *("too_few_samples", "constant", "degenerate", "failed"),
    *("modes_below", "modes_small", "modes_undefined"),
    *("fits", "fits_failed", "fits_unfinished", "em_steps"),
)
"""What is counted over the pairs of a tile, in the order of ``Tallies.counts``."""
TOO_FEW, CONSTANT, DEGENERATE, FAILED, BELOW, SMALL, UNDEFINED = range(7)


class Rules(NamedTuple):
    """The settings and constants of a run (see ``mixtures.mixture_rules``)."""

    spearman: bool
    k_min: int
    k_max: int
    criterion: int
    min_samples: int
    min_correlation: float
    max_correlation: float
    outliers_before: bool
    outliers_after: bool
    restarts: int
    kinc: bool
    seed: np.uint64
    short_steps: int
    limit: int
    degenerate: float
    least: np.float32
    ridge: np.float32
    prior_n: np.float32
    tolerance: np.float32
    prior_scatter: np.float32


class MixtureGenes(NamedTuple):
    """The genes' values, prepared once (see ``mixtures.mixture_genes``)."""

    values: Float64Array
    unit: Float64Array
    present: NDArray[np.uint32]
    order: Int32Array
    codes: Int32Array
    usable: Int32Array
    keys: NDArray[np.uint64]
    log_n: Float64Array


Found = namedtuple(
    "Found",
    "pair cluster n_clusters n_samples n_modes n_usable correlation weight mean_i mean_j "
    "variance_i variance_j covariance log_likelihood criterion samples outliers",
)
"""Where the kept modes of a block of pairs are written, one after another: the number of the pair,
and arrays of ``mixtures.Modes``."""


class Tallies(NamedTuple):
    """What is added up over pairs, int64. counts (11,): as ``COUNTS``; by_modes (6,): pairs by
    their number of modes; by_correlation (200,): modes by correlation, in bins of 0.01 from -1."""

    counts: Int64Array
    by_modes: Int64Array
    by_correlation: Int64Array


class Pair(NamedTuple):
    """number: of the pair in its block; x, y: numbers of its genes, the one of smaller key first
    (with KINC's rules the one of larger number); swapped: whether x is the column's gene."""

    number: int
    x: int
    y: int
    swapped: bool


class Mixture(NamedTuple):
    """K components of n samples; centre_x, scale_x, centre_y, scale_y: how the fit's values are
    made those of the genes."""

    n: int
    k: int
    log_likelihood: np.float32
    criterion: np.float32
    frame: tuple[float, float, float, float]


class Work(NamedTuple):
    """Scratch of one thread. x, y, live: the fit's samples; label: each sample's component, below 0
    for none; fit.labels: the same of the samples that entered, one after another; raw, centred:
    their values; sample: which they are."""

    x: Float32Array
    y: Float32Array
    live: Float32Array
    raw_x: Float64Array
    raw_y: Float64Array
    centred_x: Float64Array
    centred_y: Float64Array
    sample: Int32Array
    label: Int32Array
    out: UInt8Array
    any_out: UInt8Array
    members_x: Int32Array
    members_y: Int32Array
    sizes: Int64Array
    ranks_x: Int64Array
    ranks_y: Int64Array
    lanes: Float64Array
    order: Int64Array
    correlations: Float64Array
    fit: FitWork


@njit(nogil=True, error_model="numpy")
def modes_of_pairs(genes, rules, rows, columns, work, found, tallies):  # type: ignore[no-untyped-def]
    """Write the kept modes of pairs one after another; returns how many.

    genes: ``MixtureGenes``; rules: ``Rules``; rows, columns: int64 (pairs,), gene numbers
    work: ``make_work``; found: ``Found``, with room for K_max modes of each pair
    tallies: ``Tallies``, added to
    """
    n_found = 0
    for number in range(rows.shape[0]):
        row, column = rows[number], columns[number]
        swapped = column > row if rules.kinc else genes.keys[column] < genes.keys[row]
        x, y = (column, row) if swapped else (row, column)
        pair = Pair(number, x, y, swapped)
        n_found = _modes_of_pair(genes, rules, pair, work, found, n_found, tallies)
    return n_found


@subroutine(inline="always")
def _modes_of_pair(genes, rules, pair, work, found, n_found, tallies):  # type: ignore[no-untyped-def]
    problem = _take_samples(genes, rules, pair, work)
    if problem >= 0:
        tallies.counts[problem] += 1
        tallies.by_modes[0] += 1
        return n_found
    n = _compact(genes, pair, work)
    k, bits, value, frame, problem = _mixture(genes, rules, pair, n, work, tallies.counts)
    if problem >= 0:
        tallies.counts[problem] += 1
    tallies.by_modes[k] += 1
    if k == 0:
        return n_found
    mixture = Mixture(n, k, bits, value, frame)
    return _write_modes(genes, rules, pair, mixture, work, found, n_found, tallies)


def make_work(n_samples: int) -> Work:
    """Scratch for that many samples."""
    length = (n_samples + LANES - 1) // LANES * LANES
    return Work(
        x=np.zeros(length, np.float32),
        y=np.zeros(length, np.float32),
        live=np.zeros(length, np.float32),
        raw_x=np.zeros(length, np.float64),
        raw_y=np.zeros(length, np.float64),
        centred_x=np.zeros(length, np.float64),
        centred_y=np.zeros(length, np.float64),
        sample=np.zeros(length, np.int32),
        label=np.zeros(n_samples, np.int32),
        out=np.zeros(n_samples, np.uint8),
        any_out=np.zeros(n_samples, np.uint8),
        members_x=np.zeros((MAX_CLUSTERS, n_samples), np.int32),
        members_y=np.zeros((MAX_CLUSTERS, n_samples), np.int32),
        sizes=np.zeros(MAX_CLUSTERS, np.int64),
        ranks_x=np.zeros(n_samples, np.int64),
        ranks_y=np.zeros(n_samples, np.int64),
        lanes=np.zeros(LANES, np.float64),
        order=np.zeros(MAX_CLUSTERS, np.int64),
        correlations=np.zeros(MAX_CLUSTERS, np.float64),
        fit=FitWork(
            density=np.zeros(MAX_CLUSTERS * length, np.float32),
            highest=np.zeros(length, np.float32),
            rows=np.zeros(SUM_ROWS * LANES, np.float32),
            sums=np.zeros(SUM_ROWS, np.float32),
            labels=np.zeros(length, np.int32),
            trial=np.zeros(MAX_CLUSTERS * THETA_COLUMNS, np.float32),
            theta=np.zeros(MAX_CLUSTERS * THETA_COLUMNS, np.float32),
            best=np.zeros(MAX_CLUSTERS * THETA_COLUMNS, np.float32),
        ),
    )


# --- the mixture of a pair ------------------------------------------------------------------------


@subroutine(inline="always")
def _mixture(genes, rules, pair, n, work, counts):  # type: ignore[no-untyped-def]
    """K, log-likelihood, criterion, the frame (centre and scale of both axes), and a problem or -1.

    Sets the elements' labels, the components' parameters and their order.
    """
    nan = np.float32(np.nan)
    plain = (0.0, 1.0, 0.0, 1.0)
    frame = plain
    best = work.fit.best
    work.order[0] = 0
    if rules.kinc:
        for i in range(n):
            work.x[i] = np.float32(work.raw_x[i])
            work.y[i] = np.float32(work.raw_y[i])
    else:
        for i in range(n):
            work.centred_x[i], work.centred_y[i] = work.raw_x[i], work.raw_y[i]
        mean_x, variance_x = _centre(work.centred_x, n, work.lanes)
        mean_y, variance_y = _centre(work.centred_y, n, work.lanes)
        if not (variance_x > 0.0 and variance_y > 0.0):
            return 0, nan, nan, plain, CONSTANT
        frame = (mean_x, np.sqrt(variance_x), mean_y, np.sqrt(variance_y))
        inverse_x, inverse_y = 1.0 / frame[1], 1.0 / frame[3]
        together = _sum_products(work.centred_x, work.centred_y, n, work.lanes) / np.float64(n)
        r = (together * inverse_x) * inverse_y
        if 1.0 - r * r < rules.degenerate:
            _set_line(best, r)
            return 1, nan, nan, frame, DEGENERATE
        for i in range(n):
            work.x[i] = np.float32(work.centred_x[i] * inverse_x)
            work.y[i] = np.float32(work.centred_y[i] * inverse_y)
    vectors = (n + LANES - 1) // LANES
    for i in range(vectors * LANES):
        work.live[i] = np.float32(i < n)
        if i >= n:
            work.x[i] = np.float32(0.0)
            work.y[i] = np.float32(0.0)
    samples = Samples(work.x, work.y, work.live, vectors, n)
    stream = pair_seed(rules.seed, genes.keys[pair.x], genes.keys[pair.y])
    k, bits, value = choose_mixture(samples, genes.log_n[n], stream, rules, work.fit, counts)
    if k == 0:
        return 0, nan, nan, plain, FAILED
    label_samples(samples, k, best, work.fit.labels)
    _order_components(best, k, rules.kinc, work.order)
    return k, np.float32(np.float64(bits) * LN2), np.float32(value), frame, -1


@subroutine()
def _set_line(theta, r):  # type: ignore[no-untyped-def]
    """One component of standardised values on a line."""
    theta[WEIGHT] = np.float32(1.0)
    theta[MEAN_X] = np.float32(0.0)
    theta[MEAN_Y] = np.float32(0.0)
    theta[VARIANCE_X] = np.float32(1.0)
    theta[VARIANCE_Y] = np.float32(1.0)
    theta[COVARIANCE] = np.float32(min(max(r, -1.0), 1.0))


@subroutine()
def _order_components(theta, n_components, as_they_are, order):  # type: ignore[no-untyped-def]
    """Component numbers by falling weight, unless as they are."""
    for k in range(n_components):
        place = k
        weight = theta[k * THETA_COLUMNS + WEIGHT]
        if not as_they_are:
            while place > 0 and theta[order[place - 1] * THETA_COLUMNS + WEIGHT] < weight:
                order[place] = order[place - 1]
                place -= 1
        order[place] = k


# --- which samples enter ---


@subroutine()
def _take_samples(genes, rules, pair, work):  # type: ignore[no-untyped-def]
    """Label 0 for the samples that enter, -1 for the others; what is wrong with the pair, or -1."""
    n = 0
    for sample in range(work.label.shape[0]):
        word = genes.present[pair.x, sample >> 5] & genes.present[pair.y, sample >> 5]
        here = (np.int64(word) >> (sample & 31)) & 1
        work.label[sample] = np.int32(here - 1)
        work.any_out[sample] = 0
        n += here
    if n < max(rules.min_samples, 1):
        return TOO_FEW
    _sort_members(genes, pair, work)
    if rules.outliers_before:
        removed = _remove_outliers(genes, rules, pair, 0, work)
        if removed:
            n -= removed
            if n < max(rules.min_samples, 1):
                return TOO_FEW
            _sort_members(genes, pair, work)
    return CONSTANT if _is_constant(genes, pair, 0, work) else -1


@subroutine()
def _sort_members(genes, pair, work):  # type: ignore[no-untyped-def]
    """The samples of each label by ascending value of either gene."""
    x, y, label, sizes = pair.x, pair.y, work.label, work.sizes
    _sorted_members(genes.order[x], genes.usable[x], label, work.members_x, sizes)
    _sorted_members(genes.order[y], genes.usable[y], label, work.members_y, sizes)


@subroutine()
def _remove_outliers(genes, rules, pair, k, work):  # type: ignore[no-untyped-def]
    """Take the outliers on either axis out of label k; returns how many."""
    size = work.sizes[k]
    work.out[:] = 0
    found = _mark_outliers(genes.values[pair.x], work.members_x[k], size, rules.kinc, work.out)
    found += _mark_outliers(genes.values[pair.y], work.members_y[k], size, rules.kinc, work.out)
    if found == 0:
        return 0
    removed = 0
    for sample in range(work.label.shape[0]):
        if work.out[sample]:
            work.label[sample] = -1
            work.any_out[sample] = 1
            removed += 1
    return removed


@subroutine()
def _is_constant(genes, pair, k, work):  # type: ignore[no-untyped-def]
    """Whether either gene has one value only in the samples of label k, of which there are some."""
    last = work.sizes[k] - 1
    x, y = work.members_x[k], work.members_y[k]
    codes_x, codes_y = genes.codes[pair.x], genes.codes[pair.y]
    return codes_x[x[0]] == codes_x[x[last]] or codes_y[y[0]] == codes_y[y[last]]


@subroutine()
def _compact(genes, pair, work):  # type: ignore[no-untyped-def]
    """The values that enter, one after another in the order of the samples; how many."""
    n = 0
    for sample in range(work.label.shape[0]):
        if work.label[sample] == 0:
            work.raw_x[n] = genes.values[pair.x, sample]
            work.raw_y[n] = genes.values[pair.y, sample]
            work.sample[n] = sample
            work.fit.labels[n] = 0
            n += 1
    return n


# --- the modes, once samples have labels ---


@subroutine()
def _write_modes(genes, rules, pair, mixture, work, found, n_found, tallies):  # type: ignore[no-untyped-def]
    """Write the kept modes from place ``n_found`` on; returns how many are written then.

    Of the work, ``fit.labels``, ``fit.best`` (parameters) and ``order`` (of components) are set.
    """
    n, n_components, counts = mixture.n, mixture.k, tallies.counts
    for i in range(n):
        work.label[work.sample[i]] = work.fit.labels[i]
    _sort_members(genes, pair, work)
    if rules.outliers_after and n_components > 1:
        removed = 0
        for k in range(n_components):
            removed += _remove_outliers(genes, rules, pair, k, work)
        if removed:
            _sort_members(genes, pair, work)
            for i in range(n):
                work.fit.labels[i] = work.label[work.sample[i]]
    kept = 0
    for place in range(n_components):
        k = work.order[place]
        size = work.sizes[k]
        if size < max(rules.min_samples, 2):
            counts[SMALL] += 1
            continue
        r = np.nan
        if not _is_constant(genes, pair, k, work):
            r = _correlation(genes, rules, pair, n, k, work)
        if not np.isfinite(r):
            counts[UNDEFINED] += 1
        else:
            bin_ = min(HISTOGRAM_BINS - 1, np.int64(np.floor((r + 1.0) * 100.0)))
            tallies.by_correlation[bin_] += 1
            if rules.min_correlation <= abs(r) <= rules.max_correlation:
                work.correlations[kept] = r
                work.order[kept] = k
                kept += 1
            else:
                counts[BELOW] += 1
    for place in range(kept):
        k, at = work.order[place], n_found + place
        found.pair[at] = pair.number
        found.cluster[at] = place + 1
        found.n_clusters[at] = kept
        found.n_samples[at] = work.sizes[k]
        found.n_modes[at] = n_components
        found.n_usable[at] = n
        found.correlation[at] = work.correlations[place]
        found.log_likelihood[at] = mixture.log_likelihood
        found.criterion[at] = mixture.criterion
        _write_parameters(genes, pair, mixture, k, work, found, at)
        _write_masks(k, work, found.samples[at], found.outliers[at])
    return n_found + kept


@subroutine()
def _correlation(genes, rules, pair, n, k, work):  # type: ignore[no-untyped-def]
    if not rules.spearman and rules.kinc:
        return _pearson_as_kinc(work.raw_x, work.raw_y, work.fit.labels, n, k)
    if not rules.spearman:
        return _pearson(work.raw_x, work.raw_y, work.fit.labels, n, k, work.lanes)
    size = work.sizes[k]
    _doubled_ranks(genes.codes[pair.x], work.members_x[k], size, work.ranks_x)
    _doubled_ranks(genes.codes[pair.y], work.members_y[k], size, work.ranks_y)
    return _spearman(work.members_x[k], size, work.ranks_x, work.ranks_y)


@subroutine(inline="always")
def _write_parameters(genes, pair, mixture, k, work, found, at):  # type: ignore[no-untyped-def]
    """Parameters of a component in units of the values, as the pair was given in."""
    row = k * THETA_COLUMNS
    theta, swapped = work.fit.best, pair.swapped
    centre_x, scale_x, centre_y, scale_y = mixture.frame
    mean_x, mean_y = np.float64(theta[row + MEAN_X]), np.float64(theta[row + MEAN_Y])
    variance_x = np.float64(theta[row + VARIANCE_X])
    variance_y = np.float64(theta[row + VARIANCE_Y])
    covariance = np.float64(theta[row + COVARIANCE])
    unit_x, unit_y = genes.unit[pair.x], genes.unit[pair.y]
    mean_x = (centre_x + scale_x * mean_x) * unit_x
    mean_y = (centre_y + scale_y * mean_y) * unit_y
    variance_x = ((scale_x * scale_x) * variance_x) * (unit_x * unit_x)
    variance_y = ((scale_y * scale_y) * variance_y) * (unit_y * unit_y)
    found.weight[at] = theta[row + WEIGHT]
    found.mean_i[at] = mean_y if swapped else mean_x
    found.mean_j[at] = mean_x if swapped else mean_y
    found.variance_i[at] = variance_y if swapped else variance_x
    found.variance_j[at] = variance_x if swapped else variance_y
    found.covariance[at] = ((scale_x * scale_y) * covariance) * (unit_x * unit_y)


@subroutine()
def _write_masks(k, work, samples, outliers):  # type: ignore[no-untyped-def]
    """Bit masks over all samples, sample 0 in the highest bit of byte 0."""
    samples[:] = 0
    outliers[:] = 0
    for sample in range(work.label.shape[0]):
        bit = np.uint8(128 >> (sample & 7))
        if work.label[sample] == k:
            samples[sample >> 3] |= bit
        if work.any_out[sample]:
            outliers[sample >> 3] |= bit


# --- outliers, sums, correlations ---


@subroutine()
def _sorted_members(order, usable, label, members, sizes):  # type: ignore[no-untyped-def]
    """The samples of each label 0, 1, ... by ascending value of one gene, and how many.

    order: int32 (S,), the first ``usable`` count; label: int32 (S,), below 0 for no label
    members: int32 (K, S), sizes: int64 (K,), both written
    """
    sizes[:] = 0
    for place in range(usable):
        sample = order[place]
        k = label[sample]
        if k >= 0:
            members[k, sizes[k]] = sample
            sizes[k] += 1


@subroutine()
def _mark_outliers(values, members, size, single, out):  # type: ignore[no-untyped-def]
    """Set ``out`` of the samples beyond 1.5 interquartile ranges (Tukey 1977); returns how many.

    Quartiles are elements n / 4 and 3 n / 4 (rounded down) of the sorted values.
    values: float64 (S,); members: samples by ascending value; single: compute in float32
    """
    if size == 0:
        return 0
    first, third = values[members[size // 4]], values[members[3 * size // 4]]
    if single:
        q1, q3 = np.float32(first), np.float32(third)
        reach = np.float32(1.5) * (q3 - q1)
        low, high = np.float64(q1 - reach), np.float64(q3 + reach)
    else:
        low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
    found = 0
    # Sorted: outliers are at both ends.
    for i in range(size):
        if not values[members[i]] < low:
            break
        out[members[i]] = 1
        found += 1
    for i in range(size - 1, -1, -1):
        if not values[members[i]] > high:
            break
        out[members[i]] = 1
        found += 1
    return found


@subroutine()
def _sum_products(first, second, n, lanes):  # type: ignore[no-untyped-def]
    lanes[:] = 0.0
    for i in range(n):
        lanes[i % LANES] += first[i] * second[i]
    return lane_sum(lanes)


@subroutine()
def _centre(values, n, lanes):  # type: ignore[no-untyped-def]
    """Subtract the mean from n float64 in place; the mean and the population variance."""
    lanes[:] = 0.0
    for i in range(n):
        lanes[i % LANES] += values[i]
    mean = lane_sum(lanes) / np.float64(n)
    for i in range(n):
        values[i] = values[i] - mean
    return mean, _sum_products(values, values, n, lanes) / np.float64(n)


@subroutine()
def _doubled_ranks(codes, members, size, ranks):  # type: ignore[no-untyped-def]
    """Set twice the average rank, less size + 1, for each member; ties share a rank.

    codes: int32 (S,): equal where values are; members: by ascending value; ranks: int64 (S,)
    """
    first = 0
    while first < size:
        end = first + 1
        code = codes[members[first]]
        while end < size and codes[members[end]] == code:
            end += 1
        rank = np.int64(first + 1 + end - (size + 1))
        for i in range(first, end):
            ranks[members[i]] = rank
        first = end


@subroutine()
def _spearman(members, size, ranks_x, ranks_y):  # type: ignore[no-untyped-def]
    """Spearman's correlation from ``_doubled_ranks`` of both genes; the sums are exact."""
    xx, yy, xy = np.int64(0), np.int64(0), np.int64(0)
    for i in range(size):
        rank_x, rank_y = ranks_x[members[i]], ranks_y[members[i]]
        xx += rank_x * rank_x
        yy += rank_y * rank_y
        xy += rank_x * rank_y
    return _clamped(np.float64(xy) / np.sqrt(np.float64(xx) * np.float64(yy)))


@subroutine()
def _pearson(x, y, label, n, k, lanes):  # type: ignore[no-untyped-def]
    """Pearson's correlation of the elements with label k. x, y: float64 (n,); label: int32 (n,)"""
    count = 0
    for i in range(n):
        count += label[i] == k
    size = np.float64(count)
    mean_x = _sum_of_label(x, label, n, k, lanes) / size
    mean_y = _sum_of_label(y, label, n, k, lanes) / size
    xx = _products_of_label(x, mean_x, x, mean_x, label, n, k, lanes)
    yy = _products_of_label(y, mean_y, y, mean_y, label, n, k, lanes)
    xy = _products_of_label(x, mean_x, y, mean_y, label, n, k, lanes)
    return _clamped(xy / np.sqrt(xx * yy))


@subroutine()
def _sum_of_label(values, label, n, k, lanes):  # type: ignore[no-untyped-def]
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += values[i]
    return lane_sum(lanes)


@subroutine()
def _products_of_label(first, mean_1, second, mean_2, label, n, k, lanes):  # type: ignore[no-untyped-def]
    lanes[:] = 0.0
    for i in range(n):
        if label[i] == k:
            lanes[i % LANES] += (first[i] - mean_1) * (second[i] - mean_2)
    return lane_sum(lanes)


@subroutine()
def _pearson_as_kinc(x, y, label, n, k):  # type: ignore[no-untyped-def]
    """Pearson's correlation as KINC sums it up: float32, one element after another."""
    sum_x, sum_y = np.float32(0.0), np.float32(0.0)
    xx, yy, xy = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    count = 0
    for i in range(n):
        if label[i] == k:
            a, b = np.float32(x[i]), np.float32(y[i])
            sum_x += a
            sum_y += b
            xx += a * a
            yy += b * b
            xy += a * b
            count += 1
    size = np.float32(count)
    scale = np.sqrt((size * xx - sum_x * sum_x) * (size * yy - sum_y * sum_y))
    r = np.float64((size * xy - sum_x * sum_y) / scale)
    return _clamped(r) if np.isfinite(r) else np.nan


@subroutine()
def _clamped(r):  # type: ignore[no-untyped-def]
    return min(max(r, -1.0), 1.0)
