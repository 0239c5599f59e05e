"""Which samples a null distribution may exchange, and which genes share one.

A permutation null is right where samples are independent. Where neighbours in a time course are
alike, unrelated genes agree by chance more often than permuted ones; a circular shift of one gene
against the other keeps each gene's course and breaks only what ties the two (as surrogates of time
series: Quian Quiroga et al. 2002, Phys. Rev. E 65:041903). Where samples come in batches, genes are
permuted within each batch (exchangeability blocks: Winkler et al. 2015, NeuroImage 123:253).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.estimator import State
from pairtile.engine.state import release
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.preprocess.statistics import row_blocks
from pairtile.statistics.dependence import Dependence, measure_dependence, trending_share

ENTROPY_SPREAD_BITS = 0.1
"""Genes whose entropies (5th to 95th percentile) lie within this share one null."""

OBSERVED_SPREAD = 0.05
"""Likewise for the share of samples in which genes are observed."""

AUTOCORRELATION_SPREAD = 0.3
"""Likewise for autocorrelation, where samples are shifted."""

MAX_CLASSES = 4

DRIFTING = 0.4
"""Share of drifting genes that is warned of. 5 % of fast ones drift by chance, 10 to 30 % of slow
ones in a short course, half of all random walks, all that follow a trend."""


@dataclass(frozen=True)
class NullDesign:
    """What a null does to the samples of a gene.

    kind : ``permutation``, ``circular_shift`` or ``blocks``.
    groups : int32 (samples,), the series or batch of each sample, from 0.
    shifted : bool (groups,): samples of this group are shifted along in their order, a quarter of
        it away at least; of the others they are permuted within the group.
    reason : why, a sentence for the log.
    """

    kind: str
    groups: NDArray[np.int32]
    shifted: NDArray[np.bool_]
    reason: str = ""

    @classmethod
    def permutation(cls, n_samples: int, reason: str = "") -> NullDesign:
        """Every sample with every other."""
        one = np.zeros(n_samples, dtype=np.int32)
        return cls("permutation", one, np.zeros(1, dtype=bool), reason)


def dependence_arrays(
    z: NDArray[np.float64], series: NDArray[np.int32] | None = None
) -> tuple[Dependence, dict[str, NDArray[Any]]]:
    """How samples depend on each other, and what a state keeps of it for ``null_design``.

    ``autocorrelation``: float64 (genes,), at lag 1. ``order_autocorrelation``: its mean, and the
    largest mean of 999 random orders. ``observed``: the share of samples in which each gene is
    observed, where values are missing.
    """
    found = measure_dependence(z, series)
    one = np.zeros(z.shape[1], dtype=np.int32)
    arrays: dict[str, NDArray[Any]] = {
        "autocorrelation": found.autocorrelation,
        "order_autocorrelation": np.array([found.mean, found.chance]),
        "drifting": np.array([trending_share(z, one if series is None else series)]),
    }
    observed = np.empty(len(z))
    for rows in row_blocks(z.shape):
        observed[rows] = 1.0 - np.isnan(z[rows]).mean(axis=1)
        release(z)
    if observed.min() < 1.0:
        arrays["observed"] = observed
    return found, arrays


def null_design(kind: str, state: State) -> NullDesign:
    """The null that ``null.kind`` asks for; ``auto`` goes by the section ``samples``, else by
    whether neighbours in the table are more alike than in 999 random orders.

    ``state``: with ``z`` (genes, samples), and where they are known ``sample_series``,
    ``sample_batch`` and what ``dependence_arrays`` gives.
    """
    n_samples = int(state["z"].shape[1])
    series, batch = state.get("sample_series"), state.get("sample_batch")
    mean, chance = state.get("order_autocorrelation", np.zeros(2))
    measured = f"lag-1 autocorrelation {mean:.2f} on average, at most {chance:.2f} in random orders"
    if kind == "auto":
        if series is not None:
            kind, reason = "circular_shift", "samples.series or samples.time states time courses"
        elif batch is not None:
            kind, reason = "blocks", "samples.batch states batches"
        elif mean > chance:
            kind = "circular_shift"
            reason = f"neighbours in the table are alike ({measured})"
        else:
            kind, reason = "permutation", f"the order of samples carries nothing ({measured})"
    else:
        reason = "as set"
    if kind == "permutation":
        return NullDesign.permutation(n_samples, reason)
    if kind == "blocks":
        assert batch is not None  # the configuration asks for samples.batch
        return NullDesign(kind, np.asarray(batch), np.zeros(int(batch.max()) + 1, bool), reason)
    groups = np.zeros(n_samples, np.int32) if series is None else np.array(series, dtype=np.int32)
    length = np.bincount(groups)
    # Series of one sample cannot be shifted: they are independent samples, which are permuted.
    groups[length[groups] == 1] = length.size
    numbers, renumbered = np.unique(groups, return_inverse=True)
    return NullDesign(kind, renumbered.astype(np.int32), numbers < length.size, reason)


def order_matters(config: MutualInformationConfig, state: State) -> bool:
    """Whether neighbours in the table are alike, and nothing that is stated says why."""
    mean, chance = state.get("order_autocorrelation", np.zeros(2))
    stated = "sample_series" in state or "sample_batch" in state
    return bool(mean > chance) and (config.null.kind == "permutation" or not stated)


def order_warnings(config: MutualInformationConfig, state: State, share: float) -> list[str]:
    """The order of samples, where nothing says what it is, and drifts, which shifts do not keep.

    ``share``: of pairs of unrelated genes that a permutation null gives p <= 0.05, by shifts.
    """
    mean, chance = state.get("order_autocorrelation", np.zeros(2))
    drifting = float(state.get("drifting", np.zeros(1))[0])
    warnings = []
    if order_matters(config, state):
        alike = (
            f"Neighbouring samples are alike (lag-1 autocorrelation {mean:.2f} on average over "
            f"genes, at most {chance:.2f} in 999 random orders). A permutation null takes them for "
            f"independent: {share:.0%} of pairs of unrelated genes (genes shifted along the "
            "samples) get p <= 0.05 by it. "
        )
        if config.null.kind == "permutation":
            warnings.append(f"{alike}null.kind: auto or circular_shift keeps their order.")
        elif config.null.kind == "auto":
            warnings.append(
                f"{alike}So the null shifts genes along the samples instead; state under samples "
                "what they are (series, time, batch or replicate)."
            )
    if drifting > DRIFTING and null_design(config.null.kind, state).kind == "circular_shift":
        warnings.append(
            f"{drifting:.0%} of the genes drift along the samples (5 % would by chance). Shifts "
            "keep ups and downs, not drifts: genes that only drift at the same time get p- and "
            "q-values that are too small. preprocess.regress_out with a column of times removes "
            "straight drifts."
        )
    return warnings


def entropy_classes(entropy_bits: NDArray[np.float64]) -> NDArray[np.int8]:
    """Null class of each gene: one class, or up to four of about equal size by entropy."""
    varied = entropy_bits > 0.0
    return quantile_classes(entropy_bits, varied, ENTROPY_SPREAD_BITS, MAX_CLASSES)


def null_classes(state: State, design: NullDesign) -> NDArray[np.int8]:
    """Which genes share a null distribution, int8 (genes,), numbered from 0.

    By marginal entropy; by the number of samples in which they are observed; and, where samples
    are shifted, by autocorrelation. Where several of these spread widely, each makes two classes,
    else the one makes up to four.
    """
    entropy = state["entropy_bits"]
    varied = entropy > 0.0
    criteria = [(entropy, ENTROPY_SPREAD_BITS)]
    if "observed" in state:
        criteria.append((np.asarray(state["observed"], dtype=np.float64), OBSERVED_SPREAD))
    if design.kind == "circular_shift" and "autocorrelation" in state:
        criteria.append((np.asarray(state["autocorrelation"]), AUTOCORRELATION_SPREAD))
    active = [c for c in criteria if quantile_classes(c[0], varied, c[1], 2).any()]
    most = MAX_CLASSES if len(active) < 2 else 2
    number = np.zeros(entropy.size, dtype=np.int64)
    for values, spread in active:
        number = number * most + quantile_classes(values, varied, spread, most)
    return np.unique(number, return_inverse=True)[1].astype(np.int8)


def quantile_classes(
    values: NDArray[np.float64], counted: NDArray[np.bool_], spread: float, most: int
) -> NDArray[np.int8]:
    """One class where 90 % of the ``counted`` values lie within ``spread``, else up to ``most`` of
    about equal size."""
    classes = np.zeros(values.shape, dtype=np.int8)
    if not counted.any():
        return classes
    low, high = np.percentile(values[counted], [5, 95])
    if high - low <= spread:
        return classes
    limits = np.unique(np.quantile(values[counted], np.arange(1, most) / most))
    return np.searchsorted(limits, values, side="right").astype(np.int8)
