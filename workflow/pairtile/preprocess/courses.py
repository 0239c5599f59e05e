"""Which samples may change places where series follow one course (``statistics.courses``)."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.state import copy_rows
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.statistics.courses import common_courses, moments_of
from pairtile.statistics.dependence import standardised


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
