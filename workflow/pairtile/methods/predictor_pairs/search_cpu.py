"""Exhaustive search for predictor sets on the CPU: the other half is ``predictor_search_cuda``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import bit_planes
from pairtile.gpu.device import threads
from pairtile.methods.predictor_pairs.best import Best, best_of_lists, empty_lists, reduce_best
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_lanes import LANES
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_pairs import search_pairs
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_sets import search_sets

if TYPE_CHECKING:
    from pairtile.methods.predictor_pairs.search import PredictorSearch

MIN_CHUNK, MAX_CHUNK = 128, 1024
"""Targets that a thread screens together: enough to outweigh the work done once for a set, few
enough for their bit planes and counts to stay in its cache."""


def best_cpu(
    search: PredictorSearch,
    targets: NDArray[np.int8],
    exclude: NDArray[np.int32],
    first_begin: int,
    first_end: int,
    cut: NDArray[np.int64],
) -> Best:
    """``PredictorSearch.best`` on the CPU; the arguments have been checked."""
    settings = search.settings
    n_targets = len(targets)
    complete = search.complete and bool((targets >= 0).all())
    tasks, n_slabs = plan_tasks(
        n_targets, search.n_predictors, settings.cardinality, first_begin, first_end, threads()
    )
    lists = empty_lists(n_slabs * n_targets, settings.top, settings.cardinality)
    if complete and search.n_samples < settings.min_samples:
        return best_of_lists(*lists)
    planes = bit_planes(targets, settings.levels)
    worst = np.tile(cut, n_slabs)
    kernel: Any = search_sets
    more: tuple[Any, ...] = (complete, settings.min_samples)
    if complete and settings.cardinality == 2 and settings.levels <= 3:
        kernel, more = search_pairs, search.cell_entropies

    def run(task: Task) -> None:
        chunk = slice(task.begin, task.end)
        row = task.slab * n_targets
        rows = slice(row + task.begin, row + task.end)
        kernel(
            search.planes,
            planes[chunk],
            exclude[chunk],
            task.first_begin,
            task.first_end,
            *search.score_arguments,
            search.bound_coefficients,
            *more,
            worst[rows],
            *(values[rows] for values in lists),
        )

    run_in_threads(run, tasks)
    best = best_of_lists(*lists)
    if n_slabs == 1:
        return best
    rows = best.target % n_targets
    return reduce_best(rows, best.predictors, best.key, best.mce_bits, best.n_ties, settings.top)


class Task(NamedTuple):
    """One thread's part of a search: a chunk of targets, a slab of first predictors."""

    begin: int
    end: int
    first_begin: int
    first_end: int
    slab: int


def plan_tasks(
    n_targets: int,
    n_predictors: int,
    cardinality: int,
    first_begin: int,
    first_end: int,
    n_threads: int,
) -> tuple[list[Task], int]:
    """Divide a search among threads: chunks of targets, then slabs of first predictors.

    Returns the tasks and the number of slabs. The result of a search does not depend on them.
    """
    rounds = -(-n_targets // (n_threads * MAX_CHUNK)) or 1
    chunk = max(MIN_CHUNK, -(-n_targets // (n_threads * rounds)))
    chunk = -(-chunk // LANES) * LANES
    begins = range(0, n_targets, chunk)
    n_slabs = -(-n_threads // max(1, len(begins)))
    # Sets that begin with a predictor: those after it, taken cardinality - 1 at a time.
    after = n_predictors - 1.0 - np.arange(first_begin, first_end)
    work = np.concatenate([[0.0], np.cumsum(np.maximum(after, 0.0) ** (cardinality - 1))])
    edges = np.searchsorted(work, np.linspace(0.0, work[-1], n_slabs + 1)) + first_begin
    edges[0], edges[-1] = first_begin, first_end
    tasks = [
        Task(begin, min(begin + chunk, n_targets), int(edges[slab]), int(edges[slab + 1]), slab)
        for slab in range(n_slabs)
        for begin in begins
    ]
    return tasks, n_slabs


def run_in_threads(function: Callable[[Any], None], tasks: Sequence[Any]) -> None:
    """Call a function that lets go of the interpreter lock once for each task."""
    if len(tasks) < 2 or threads() < 2:
        for task in tasks:
            function(task)
        return
    with ThreadPoolExecutor(threads()) as pool:
        for _ in pool.map(function, tasks):
            pass
