"""Exhaustive search for the predictor sets of least mean conditional entropy.

The search is an array-in, array-out function: levels of candidate predictors and of targets, both
(rows, samples), already paired in time (predictors at t, target at t + lag). The score and its
order of operations are those of ``kernels/mean_conditional_entropy``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import bit_planes
from pairtile.gpu.device import threads
from pairtile.methods.predictor_pairs.best_sets import (
    ANY_KEY,
    BestSets,
    all_tied,
    best_of_lists,
    empty_lists,
    join_best,
    reduce_best,
)
from pairtile.methods.predictor_pairs.kernels.lanes import LANES, Targets
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import BestLists
from pairtile.methods.predictor_pairs.kernels.search import search_pairs, search_sets
from pairtile.methods.predictor_pairs.predictor_table import PredictorTable, SearchSettings
from pairtile.runtime.threads import in_threads

__all__ = ["BestSets", "PredictorSearch", "SearchSettings", "reduce_best"]


class PredictorSearch(PredictorTable):
    """Searches the sets of one table of candidate predictors."""

    def best(
        self,
        targets: NDArray[np.int8],
        exclude: NDArray[np.int32],
        first_begin: int,
        first_end: int,
        max_key: NDArray[np.int64] | None = None,
    ) -> BestSets:
        """Score every set whose first predictor is in [first_begin, first_end), for every target.

        targets : int8 (n_targets, n_samples)
        exclude : int32 (n_targets,), a predictor whose sets are left out for this target, or -1;
        with several ``settings.lags`` the number of its neighbours in the table, in such groups
        max_key : int64 (n_targets,), sets with a larger key are not reported. Counts of the keys
        that are reported are exact with and without it.
        """
        targets = np.ascontiguousarray(targets, dtype=np.int8)
        exclude = np.ascontiguousarray(exclude, dtype=np.int32)
        if max_key is None:
            max_key = np.full(len(targets), ANY_KEY)
        search = best_cpu
        if self.device.backend == "cuda":
            from pairtile.methods.predictor_pairs.search_cuda import best_cuda as search
        settings = self.settings
        tied = self._ties_all_sets(targets)
        if not tied.any():
            return search(self, targets, exclude, first_begin, first_end, max_key)
        rows = np.flatnonzero(tied & (max_key >= 0)).astype(np.int32)
        others = np.flatnonzero(~tied).astype(np.int32)
        found = search(
            self, targets[others], exclude[others], first_begin, first_end, max_key[others]
        )
        ties = all_tied(
            rows,
            exclude[rows],
            self.n_predictors,
            settings.cardinality,
            first_begin,
            first_end,
            settings.top,
            settings.lags,
        )
        return join_best([replace(found, target=others[found.target]), ties], settings.top)

    def _ties_all_sets(self, targets: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which targets every set scores 0 for: constant ones, if neither they nor predictors lack
        levels. (Not with ``poor_obs``, which gives cells seen once an entropy of their own.)"""
        settings = self.settings
        known = self.complete and self.n_samples >= settings.min_samples
        if not known or settings.penalty == "poor_obs":
            return np.zeros(len(targets), dtype=bool)
        constant: NDArray[np.bool_] = (targets == targets[:, :1]).all(axis=1) & (targets[:, 0] >= 0)
        return constant


MIN_CHUNK, MAX_CHUNK = 128, 1024
"""Targets that a thread screens together: enough to outweigh the work done once for a set, few
enough for their bit planes and counts to stay in its cache."""


def best_cpu(
    search: PredictorSearch,
    targets: NDArray[np.int8],
    exclude: NDArray[np.int32],
    first_begin: int,
    first_end: int,
    max_key: NDArray[np.int64],
) -> BestSets:
    """``PredictorSearch.best`` on the CPU."""
    settings = search.settings
    n_targets = len(targets)
    complete = search.complete and bool((targets >= 0).all())
    tasks, n_slabs = plan_tasks(
        n_targets, search.n_predictors, settings.cardinality, first_begin, first_end, threads()
    )
    lists = empty_lists(n_slabs * n_targets, settings.top, settings.cardinality)
    if complete and search.n_samples < settings.min_samples:
        return best_of_lists(lists)
    planes = bit_planes(targets, settings.levels)
    slab_max_key = np.tile(max_key, n_slabs)
    by_pairs = complete and settings.cardinality == 2 and settings.levels <= 3
    kernel = search_pairs if by_pairs else search_sets

    def run(task: Task) -> None:
        chunk = slice(task.begin, task.end)
        row = task.slab * n_targets
        rows = slice(row + task.begin, row + task.end)
        kernel(
            search.planes,
            Targets(planes[chunk], exclude[chunk], slab_max_key[rows], complete, settings.lags),
            task.first_begin,
            task.first_end,
            search.scoring,
            search.cell_tables,
            BestLists._make(values[rows] for values in lists),
        )

    list(in_threads(run, tasks))
    best = best_of_lists(lists)
    if n_slabs == 1:
        return best
    return reduce_best(replace(best, target=best.target % n_targets), settings.top)


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
