"""Exhaustive search for the predictor sets of least mean conditional entropy; entropies of given
sets, and sets of three grown from pairs.

The search is an array-in, array-out function: levels of candidate predictors and of targets, both
(rows, samples), already paired in time (predictors at t, target at t + lag). The score and its
order of operations are those of ``kernels/mean_conditional_entropy``.
"""

from __future__ import annotations

from dataclasses import replace

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
from pairtile.methods.predictor_pairs.kernels import given_sets as kernels
from pairtile.methods.predictor_pairs.kernels.given_sets import SetEntropies
from pairtile.methods.predictor_pairs.kernels.lanes import LANES, Targets
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    BestLists,
    n_log_n_table,
)
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
        # Every set scores 0 for constant targets, if neither they nor predictors lack levels. (Not
        # with ``poor_obs``, which gives cells seen once an entropy of their own.)
        tied = np.zeros(len(targets), dtype=bool)
        known = self.complete and self.n_samples >= settings.min_samples
        if known and settings.penalty != "poor_obs":
            tied[:] = (targets == targets[:, :1]).all(axis=1) & (targets[:, 0] >= 0)
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

    def run(task: tuple[slice, int, int, int]) -> None:
        chunk, first_begin, first_end, slab = task
        rows = slice(slab * n_targets + chunk.start, slab * n_targets + chunk.stop)
        kernel(
            search.planes,
            Targets(planes[chunk], exclude[chunk], slab_max_key[rows], complete, settings.lags),
            first_begin,
            first_end,
            search.scoring,
            search.cell_tables,
            BestLists._make(values[rows] for values in lists),
        )

    list(in_threads(run, tasks))
    best = best_of_lists(lists)
    return reduce_best(replace(best, target=best.target % n_targets), settings.top)


def plan_tasks(
    n_targets: int,
    n_predictors: int,
    cardinality: int,
    first_begin: int,
    first_end: int,
    n_threads: int,
) -> tuple[list[tuple[slice, int, int, int]], int]:
    """Divide a search among threads: chunks of targets, then slabs of first predictors.

    Returns the tasks (targets, first predictors from and to, slab) and the number of slabs. The
    result of a search does not depend on them.
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
        (slice(begin, min(begin + chunk, n_targets)), int(edges[slab]), int(edges[slab + 1]), slab)
        for slab in range(n_slabs)
        for begin in begins
    ]
    return tasks, n_slabs


# --- given sets, and sets of three grown from pairs ---


def set_entropies(
    predictors: NDArray[np.int8],
    targets: NDArray[np.int8],
    target_rows: NDArray[np.int32],
    sets: NDArray[np.int32],
) -> SetEntropies:
    """Entropies in bits, without any penalty, of targets given predictor sets.

    predictors : int8 (n_predictors, n_samples), targets : int8 (n_targets, n_samples), -1 missing
    target_rows : int32 (n,), the target of each set
    sets : int32 (n, c), rows of ``predictors``

    With c = 1 the subset with one predictor fewer is empty, and its entropy H(Y); where a set and
    its target have no sample together all are 0 bits. The IMP score is the entropy given the best
    subset less that given the set (Martins et al. 2008, with entropy for error).
    """
    n_levels = max(2, *(int(table.max(initial=1)) + 1 for table in (predictors, targets)))
    n = len(sets)
    entropies = SetEntropies(
        np.empty(n), np.empty(n), np.empty(sets.shape), np.empty(n, dtype=np.int64)
    )
    kernels.set_entropies(
        bit_planes(predictors, n_levels),
        bit_planes(targets, n_levels),
        np.ascontiguousarray(target_rows, dtype=np.int32),
        np.ascontiguousarray(sets, dtype=np.int32),
        n_log_n_table(predictors.shape[1]),
        entropies,
    )
    return entropies


def set_modes(
    predictors: NDArray[np.int8],
    targets: NDArray[np.int8],
    target_rows: NDArray[np.int32],
    sets: NDArray[np.int32],
) -> NDArray[np.str_]:
    """What each predictor does to the target where the others stay: ``activation``, ``repression``
    or, where that depends on the levels of the others as in XOR, ``mixed``; "" where nothing.

    Arguments as of ``set_entropies``. Covariances within each combination of the others' levels are
    summed, rising and falling ones apart; half as much of the weaker kind is noise.
    """
    n_levels = int(predictors.max(initial=1)) + 1
    modes = np.empty(sets.shape, dtype="<U10")
    for begin in range(0, len(sets), 20_000):
        block = slice(begin, begin + 20_000)
        levels = predictors[sets[block]]
        after = targets[target_rows[block]].astype(float)
        known = (levels >= 0).all(axis=1) & (after >= 0)
        for k in range(sets.shape[1]):
            others = np.delete(levels, k, axis=1).astype(int)
            code = (others * n_levels ** np.arange(others.shape[1])[:, None]).sum(axis=1)
            rise = fall = np.zeros(len(after))
            for combination in range(n_levels ** others.shape[1]):
                here = known & (code == combination)
                x, y = levels[:, k] * here, after * here
                n = np.maximum(here.sum(axis=1), 1)
                covariance = (x * y).sum(axis=1) - x.sum(axis=1) * y.sum(axis=1) / n
                rise, fall = rise + np.maximum(covariance, 0), fall + np.maximum(-covariance, 0)
            kinds = [rise + fall < 1e-9, 2 * fall < rise, 2 * rise < fall]
            modes[block, k] = np.select(kinds, ["", "activation", "repression"], "mixed")
    return modes


def extend_sets(
    search: PredictorSearch,
    targets: NDArray[np.int8],
    exclude: NDArray[np.int32],
    pair_target: NDArray[np.int32],
    pairs: NDArray[np.int32],
) -> BestSets:
    """Grow pairs into sets of three by sequential floating forward search (SFFS), on the CPU.

    For targets and candidates too many to score every set of three. ``search`` has cardinality 3.

    targets : int8 (n_targets, n_samples), exclude : int32 (n_targets,), as in ``search.best``
    pair_target, pairs : int32 (n,), (n, 2), the pairs each target starts from, tried in this
    order; pairs with the target's excluded predictor are passed over

    Returns the ``top`` best of the sets that were scored. ``n_ties`` counts the scored sets that
    tie, each once: unlike that of ``search.best`` it is a lower limit.

    Source: Pudil, Novovicova and Kittler 1994 (floating search), with the criterion of
    ``search.settings`` for pairs and for sets of three.
    """
    settings = search.settings
    order = np.argsort(pair_target, kind="stable")
    begin = np.searchsorted(pair_target[order], np.arange(len(targets) + 1))
    lists = empty_lists(len(targets), settings.top, 3)
    planes = bit_planes(targets, settings.levels)
    pairs = np.ascontiguousarray(np.sort(pairs[order], axis=1), dtype=np.int32)

    shares = threads()

    def run(share: int) -> None:
        for target in range(share, len(targets), shares):
            kernels.floating_search(
                search.planes,
                planes,
                target,
                int(exclude[target]),
                settings.lags,
                pairs[begin[target] : begin[target + 1]],
                search.scoring,
                lists,
            )

    list(in_threads(run, range(shares)))
    return best_of_lists(lists)
