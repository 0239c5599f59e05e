"""Which genes share a null distribution; warnings where samples depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import map_rows
from pairtile.errors import InputError
from pairtile.methods.mutual_information.arrays import GeneArrays, SplineArrays
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.null import class_pairs
from pairtile.preprocess.null_design import (
    CourseSteps,
    NullDesign,
    common_course_warning,
    course_arrays,
    dependence_arrays,
    null_design,
    order_autocorrelation,
    shift_warnings,
)
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.statistics.dependence import Dependence

message = messages_of(__package__)

ENTROPY_SPREAD_BITS = 0.1
"""Genes whose entropies (5th to 95th percentile) lie within this share one null."""

MAX_CLASSES = 4


def measured_samples(z: NDArray[np.float64], stated: SampleArrays) -> tuple[Dependence, GeneArrays]:
    """How samples depend on each other, and what a state keeps of it for nulls and classes.

    ``dependence_arrays``, and ``autocorrelation``: float64 (genes,), at lag 1; ``observed``: the
    share of samples in which each gene is observed, where values are missing.
    """
    found, measured = dependence_arrays(z, stated)
    arrays: GeneArrays = {**measured, "autocorrelation": found.autocorrelation}
    observed = map_rows(lambda block: 1.0 - np.isnan(block).mean(axis=1), z, np.empty(len(z)))
    if observed.min() < 1.0:
        arrays["observed"] = observed
    if "sample_series" in stated:
        arrays.update(course_arrays(z, stated))
    return found, arrays


def chosen_null(config: MutualInformationConfig, state: SplineArrays) -> NullDesign:
    """The null that the section asks for."""
    kind, why = config.null.kind, str(state.get("courses_found", [""])[0])
    if "course_groups" in state and (kind == "courses" or (kind == "auto" and why)):
        steps = state["course_steps"]
        courses = CourseSteps(np.maximum(steps, 1), state["course_order"])
        return NullDesign(
            kind="courses",
            groups=state["course_groups"],
            shifted=steps > 0,
            reason=why if kind == "auto" else "as set",
            courses=courses,
        )
    return null_design(kind, state, int(state["z"].shape[1]))


def check_courses(config: MutualInformationConfig, measured: GeneArrays) -> None:
    """Raise InputError where courses are to change places and cannot."""
    if config.null.kind == "courses" and "course_groups" not in measured:
        raise InputError.at(
            config.samples.annotations or "samples",
            "samples.series",
            "most samples are of series that share their times (and batch) with no other",
            "series of equal times for null.kind: courses",
        )


def order_matters(config: MutualInformationConfig, state: SplineArrays) -> bool:
    """Whether neighbours in the table are alike, and nothing that is stated says why."""
    mean, chance = state.get("order_autocorrelation", np.zeros(2))
    stated = "sample_series" in state or "sample_batch" in state
    return bool(mean > chance) and (config.null.kind == "permutation" or not stated)


def order_warnings(
    config: MutualInformationConfig, state: SplineArrays, share: float
) -> list[Message]:
    """The order of samples, where nothing says what it is (nor does a warning of annotations that
    explain what samples share), and drifts, which shifts do not keep.

    ``share``: of pairs of unrelated genes that a permutation null gives p <= 0.05, by shifts.
    """
    warnings: list[Message] = []
    if order_matters(config, state) and "explained" not in state:
        alike = {**order_autocorrelation(state), "share": share}
        if config.null.kind == "permutation":
            warnings.append(message("order_ignored", **alike))
        elif config.null.kind == "auto":
            warnings.append(message("order_kept", **alike))
    kind = chosen_null(config, state).kind
    if kind == "circular_shift":
        warnings += shift_warnings(state)
    common = str(state.get("courses_found", [""])[0])
    if common and kind != "courses":
        warnings.append(common_course_warning(common, kind))
    return warnings


def entropy_classes(entropy_bits: NDArray[np.float64]) -> NDArray[np.int8]:
    """Null class of each gene: one class, or up to four of about equal size by entropy."""
    return quantile_classes(entropy_bits, entropy_bits > 0.0, ENTROPY_SPREAD_BITS, MAX_CLASSES)


def null_classes(state: SplineArrays, design: NullDesign) -> NDArray[np.int8]:
    """Which genes share a null distribution, int8 (genes,), numbered from 0.

    By marginal entropy; by the number of samples in which they are observed; and, where samples
    are shifted, by autocorrelation; where courses change places, by how far genes follow
    them. Where several of these spread widely, each makes two classes,
    else the one makes up to four. The genes of two tables have classes of their own, those of the
    first before those of the other.
    """
    if "columns" not in state:
        return _classes_of(state, design, slice(None))
    split = int(state["columns"])
    first, other = (_classes_of(state, design, s) for s in (slice(split), slice(split, None)))
    return np.concatenate([first, other + first.max(initial=0) + np.int8(1)])


def _classes_of(state: SplineArrays, design: NullDesign, genes: slice) -> NDArray[np.int8]:
    """``null_classes`` of some genes among themselves."""
    entropy = state["entropy_bits"][genes]
    varied = entropy > 0.0
    # What genes may differ in, and the spread within which they share one null.
    criteria = [(entropy, ENTROPY_SPREAD_BITS)]
    if "observed" in state:
        criteria.append((np.asarray(state["observed"][genes], dtype=np.float64), 0.05))
    if design.kind in ("circular_shift", "courses") and "autocorrelation" in state:
        criteria.append((np.asarray(state["autocorrelation"][genes]), 0.3))
    if design.kind == "courses":
        criteria.append((np.asarray(state["course_strength"][genes]), 0.3))
    active = [c for c in criteria if quantile_classes(c[0], varied, c[1], 2).any()]
    most = MAX_CLASSES if len(active) < 2 else 2
    number = np.zeros(entropy.size, dtype=np.int64)
    for values, spread in active:
        number = number * most + quantile_classes(values, varied, spread, most)
    return np.unique(number, return_inverse=True)[1].astype(np.int8)


def paired_classes(state: SplineArrays, classes: NDArray[np.int8]) -> list[tuple[int, int]]:
    """Classes whose genes are paired: all with all, and of two tables those of the first with those
    of the other."""
    pairs = class_pairs(int(classes.max(initial=0)) + 1)
    if "columns" not in state:
        return pairs
    first = int(classes[: int(state["columns"])].max(initial=0))
    return [(a, b) for a, b in pairs if a <= first < b]


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
