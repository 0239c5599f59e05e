"""Entropies of given predictor sets, and sets of three grown from pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import bit_planes
from pairtile.gpu.device import threads
from pairtile.methods.predictor_pairs.best_sets import BestSets, best_of_lists, empty_lists
from pairtile.methods.predictor_pairs.kernels import given_sets as kernels
from pairtile.methods.predictor_pairs.kernels.given_sets import SetEntropies
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import n_log_n_table
from pairtile.methods.predictor_pairs.search import PredictorSearch
from pairtile.runtime.threads import in_threads


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
    entropies = SetEntropies(np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64))
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
