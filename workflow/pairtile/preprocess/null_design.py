"""Which samples a null distribution may exchange.

A permutation null is right where samples are independent. Where neighbours in a time course are
alike, unrelated genes agree by chance more often than permuted ones; a circular shift of one gene
against the other keeps each gene's course and breaks only what ties the two (as surrogates of time
series: Quian Quiroga et al. 2002, Phys. Rev. E 65:041903). Where samples come in batches, genes are
permuted within each batch (exchangeability blocks: Winkler et al. 2015, NeuroImage 123:253).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.state import copy_rows
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.runtime.record import doing
from pairtile.runtime.threads import one_blas_thread
from pairtile.statistics.courses import common_courses, moments_of
from pairtile.statistics.dependence import (
    MAX_GENES,
    Dependence,
    evenly_spaced,
    measure_dependence,
    remembered,
    standardised,
    trending_share,
)
from pairtile.statistics.hidden_factors import (
    MAX_SAMPLES,
    MIN_GENES,
    Decomposed,
    Exchange,
    HiddenFactors,
    find_hidden_factors,
)
from pairtile.statistics.sample_effects import indicators, orthonormal

message = messages_of(__package__)

UNEVEN = 1.1
"""Longest over shortest step in time, from which steps are called uneven."""

DRIFTING = 0.3
"""Share of drifting genes that is warned of. 5 % of fast ones drift by chance, 10 to 25 % of slow
ones in a short course, 35 to 60 % of random walks, all that follow a trend."""


class CourseSteps(NamedTuple):
    """steps : int64 (groups,), samples of each course of a group, which a shift keeps together; 1
    where single samples move. order : int64 (samples,), course by course within each group."""

    steps: NDArray[np.int64]
    order: NDArray[np.int64]


@dataclass(frozen=True)
class NullDesign:
    """What a null does to the samples of a gene.

    kind : ``permutation``, ``circular_shift``, ``courses`` or ``blocks``.
    groups : int32 (samples,), the series or batch of each sample, from 0.
    shifted : bool (groups,): samples of this group are shifted along in their order; of the others
        they are permuted within the group.
    reason : why, a sentence for the log.
    courses : where groups of whole courses are shifted by one of them at a time; None elsewhere.
    """

    kind: str
    groups: NDArray[np.int32]
    shifted: NDArray[np.bool_]
    reason: str = ""
    courses: CourseSteps | None = None

    @classmethod
    def permutation(cls, n_samples: int, reason: str = "") -> NullDesign:
        """Every sample with every other."""
        return cls("permutation", np.zeros(n_samples, np.int32), np.zeros(1, bool), reason)


@remembered
@one_blas_thread()
def dependence_arrays(
    values: NDArray[np.float64], stated: SampleArrays
) -> tuple[Dependence, SampleArrays]:
    """How samples depend on each other, and what a state keeps of it for ``null_design``.

    ``order_autocorrelation``: the mean over genes at lag 1, and the largest mean of 999 random
    orders. ``drifting``: the share of genes that drift along the samples. ``correlation_width``:
    of ``Spread``, at least 1. ``shared_loadings``: of factors that samples make.

    values : float64 (genes, samples), NaN where missing. stated : ``SampleDesign.state``.
    """
    doing("look for what samples have in common")
    series = stated.get("sample_series", np.zeros(values.shape[1], dtype=np.int32))
    none = np.empty((values.shape[1], 0))
    known = [stated.get("removed", none), stated.get("explained", none)]
    if (batch := stated.get("sample_batch")) is not None:
        known.append(indicators(batch))
    removed = orthonormal(np.hstack(known))
    samples = evenly_spaced(values.shape[1], MAX_SAMPLES)
    rows = copy_rows(values, evenly_spaced(len(values), MAX_GENES), samples)
    table = Decomposed.of_values(rows, orthonormal(removed[samples]))
    found = measure_dependence(values, series, removed)
    arrays: SampleArrays = {
        "order_autocorrelation": np.array([found.mean, found.chance]),
        "drifting": np.array([trending_share(values, series)]),
    }
    design = null_design("auto", stated | arrays, values.shape[1])
    factors = find_hidden_factors(table, exchange=Exchange(design.groups[samples], design.shifted))
    spread = factors.spread
    of_samples = factors.strong and factors.made_by == "samples" and not found.ordered
    # What outliers leave of hubs looks like factors, and true edges went with it: up to 3 explain
    # 0.011 of squared correlations, on average over pairs, more 0.0133 (of 50 tables of 200 genes
    # one 0.017). A factor of 15 % of the variance mostly explains over 0.014, three of 10 % 0.02.
    number = len(factors.shares)
    of_samples &= factors.gain >= (0.012 if number <= 3 else 0.0145) * values.shape[1]
    # With fewer than 12 samples a factor, true edges were taken off with the factors.
    if of_samples and 12 * number <= values.shape[1]:
        arrays["shared_loadings"] = factors.loadings
    arrays["correlation_width"] = np.array([max(spread.width, 1.0)])
    if factors.strong and spread.wide and "hidden_factors" not in stated:
        found = replace(
            found,
            factors=len(factors.shares),
            factor_share=factors.share,
            of_genes=factors.made_by == "genes",
        )
    # Where more pairs have p <= 0.05, the centre may be none of unrelated ones: two modules that
    # are the whole table have a half. Relatives and pools have shapes of 1.1 to 2, networks that
    # hardly leave unrelated pairs up to 1; two modules of a quarter of few genes 1, too.
    elif spread.wide and spread.shape >= 1 and spread.passing < 1 / 3 and len(values) >= MIN_GENES:
        found = replace(found, alike=spread.unrelated)
    elif len(values) < MIN_GENES and spread.passing > 0.1:  # too few genes to tell why
        found = replace(found, unknown=spread.passing)
    return found, arrays


def hidden_factors(
    values: NDArray[np.float64],
    stated: SampleArrays,
    number: int | None = None,
    controls: NDArray[np.int64] | None = None,
) -> HiddenFactors:
    """What most genes share beside what the null of these samples allows
    (``find_hidden_factors``).

    values : float64 (genes, samples). stated : ``SampleDesign.state`` and what
    ``dependence_arrays`` adds. controls : rows that have nothing in common but factors; None: all
    rows, which may.
    """
    genes = np.arange(len(values)) if controls is None else controls
    design = null_design("auto", stated, values.shape[1])
    return find_hidden_factors(
        copy_rows(values, genes[evenly_spaced(genes.size, MAX_GENES)]),
        number=number,
        exchange=Exchange(design.groups, design.shifted),
        of_controls=controls is not None,
    )


def null_design(kind: str, state: SampleArrays, n_samples: int) -> NullDesign:
    """The null that ``kind`` asks for; ``auto`` goes by the section ``samples``, else by whether
    neighbours in the table are more alike than in 999 random orders.

    ``state``: with ``sample_series``, ``sample_batch`` and what ``dependence_arrays`` gives, where
    they are known.
    """
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


def inflation(state: SampleArrays, n_samples: int, kind: str = "") -> float:
    """By how much larger a statistic of unrelated genes is for the degrees of freedom that went
    with effects and factors: what is permuted keeps all ``n_samples``, but for those of batches,
    unless the null of this ``kind`` permutes across batches."""
    given_up = int(state.get("degrees_given_up", np.zeros(1))[0])
    of_batches = int(state.get("sample_batch", np.zeros(1)).max())
    kept = n_samples - (0 if kind == "permutation" else of_batches)
    return kept / max(n_samples - of_batches - given_up, 1)


def order_autocorrelation(state: SampleArrays) -> dict[str, float]:
    """Lag-1 autocorrelation of the samples, for the warnings that say that neighbours are alike:
    the mean over genes, and the largest by chance."""
    return dict(zip(("mean", "chance"), map(float, state["order_autocorrelation"]), strict=True))


def common_course_warning(common: str, kind: str) -> Message:
    """That the null ``kind`` takes apart the course that series have in common (``common``)."""
    return message("common_course", common=common, kind=kind)


def shift_warnings(state: SampleArrays) -> list[Message]:
    """What circular shifts do not keep: uneven steps in time, and drifts."""
    found: list[Message] = []
    if "sample_time" in state:
        steps = np.diff(state["sample_time"])[np.diff(state["sample_series"]) == 0]
        if steps.size and steps.max() > UNEVEN * steps.min():
            shortest, longest = float(steps.min()), float(steps.max())
            found.append(message("uneven_shifts", shortest=shortest, longest=longest))
    drifting = float(state.get("drifting", np.zeros(1))[0])
    if drifting > DRIFTING:
        found.append(message("drifting_genes", share=drifting))
    return found


# Courses that series have in common (``statistics.courses``).


class CourseArrays(TypedDict, total=False):
    """Of the courses that stated series have in common.

    courses_found : (1,), in words; empty where there are none. course_groups : (samples,),
    course_steps : (groups,; 0: samples are permuted) and course_order : (samples,), what may change
    places, where most samples can. course_strength : (genes,), correlation of a gene between series
    of one course.
    """

    courses_found: NDArray[np.str_]
    course_groups: NDArray[np.int32]
    course_steps: NDArray[np.int64]
    course_order: NDArray[np.int64]
    course_strength: NDArray[np.float64]


def course_arrays(z: NDArray[np.float64], stated: SampleArrays) -> CourseArrays:
    """Whether series follow a course in common, and which samples may then change places.

    Given the stimulus, it makes no difference to unrelated genes which replicate course of the one
    stands beside which of the other (exchangeability blocks kept whole: Winkler et al. 2015,
    NeuroImage 123:253). At moments that not all series of a course (and batch) have, samples are
    permuted among those that do. A series with a course of its own is shifted.
    """
    series = np.unique(stated["sample_series"], return_inverse=True)[1].astype(np.int32)
    moments = moments_of(series, stated.get("sample_time"))
    common = common_courses(z, series, moments)
    found: CourseArrays = {"courses_found": np.array([common.clause("genes")])}
    batch = stated.get("sample_batch", np.zeros(series.size, dtype=np.int32))
    blocks = np.unique([common.group[series], batch], axis=1, return_inverse=True)[1].reshape(-1)
    groups = np.empty(series.size, dtype=np.int32)
    steps: list[int] = []
    strength = [np.zeros(len(z))]
    in_courses = 0
    for block in range(int(blocks.max()) + 1):
        here = np.flatnonzero(blocks == block)
        members = np.unique(series[here]).size
        times, number = np.unique(moments[here], return_inverse=True)
        seen = np.bincount(number)
        whole = np.flatnonzero(seen == members)
        if members == 1:
            parts = [(here, int(here.size > 1))]
        else:
            parts = [(here[np.isin(number, whole)], whole.size)] if whole.size else []
            others = np.setdiff1d(np.arange(times.size), whole)
            parts += [(here[number == moment], 0) for moment in others]
            in_courses += here.size - int(np.count_nonzero(seen == 1))
            if whole.size > 1:
                courses = parts[0][0]
                courses = courses[np.lexsort((moments[courses], series[courses]))]
                strength.append(_agreement(z, courses.reshape(members, -1)))
        for samples, step in parts:
            groups[samples] = len(steps)
            steps.append(step)
    if 2 * in_courses > series.size:
        found["course_groups"], found["course_steps"] = groups, np.array(steps)
        found["course_order"] = np.lexsort((moments, series, groups))
        found["course_strength"] = np.mean(strength[1:] or strength, axis=0)
    return found


def _agreement(z: NDArray[np.float64], courses: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean correlation of each gene between courses, (courses, moments): float64 (genes,)."""
    n, length = courses.shape
    total = np.zeros((len(z), length))
    for course in courses:
        total += standardised(copy_rows(z, np.arange(len(z)), course))
    return ((total**2).sum(axis=1) / length - n) / (n * (n - 1))
