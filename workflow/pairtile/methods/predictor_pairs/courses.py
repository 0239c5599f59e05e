"""Which samples may change places where series follow one course (``statistics.courses``)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.statistics.courses import common_courses


class Courses(NamedTuple):
    """Samples of series that may change places, by groups; in how many ways; and a clause that says
    which series follow one course, empty where shifts and permutations do."""

    places: list[list[NDArray[np.int64]]]
    exchanges: int
    clause: str


def found_courses(
    targets: NDArray[np.int8],
    series: NDArray[np.integer],
    moments: NDArray[np.float64],
    batch: NDArray[np.int32] | None,
) -> Courses:
    """Of levels (targets, transitions), -1 where missing; ``batch``: (transitions,) if stated."""
    values = np.where(targets < 0, np.nan, targets.astype(np.float64))
    found = common_courses(values, series.astype(np.int32), moments)
    group = found.group[np.unique(series, return_inverse=True)[1]]
    places = replicate_courses(series, moments, [group, *([] if batch is None else [batch])])
    return Courses(places, most_exchanges(places), found.clause("levels of a target"))


def replicate_courses(
    series: NDArray[np.integer], moments: NDArray[np.float64], alike: list[NDArray[np.integer]]
) -> list[list[NDArray[np.int64]]]:
    """Groups of series that may change places: of each group the samples of each series.

    series : int (samples,). moments : float64 (samples,), in the order of time within a series.
    alike : int (samples,), such as batches, that series of one group have in common.
    """
    groups: dict[tuple[bytes, ...], list[NDArray[np.int64]]] = {}
    for name in np.unique(series):
        here = np.flatnonzero(series == name)
        key = tuple(each[here].tobytes() for each in (moments, *alike))
        groups.setdefault(key, []).append(here)
    return list(groups.values())


def most_exchanges(courses: list[list[NDArray[np.int64]]]) -> int:
    """In how many ways courses can be exchanged within their groups, none left out."""
    return math.prod(math.factorial(len(group)) for group in courses) - 1
