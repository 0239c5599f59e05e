"""Exhaustive search for predictor sets on the GPU: the CUDA half of ``predictor_search``.

Every set is screened for every target (``search_sets``); what the screen cannot rule out is scored
exactly and, unless behind the target's cut, becomes a candidate. After each batch of sets
``merge_candidates`` merges the candidates into the best sets so far and lowers the cuts. The first
batches are small, so that nearly all sets meet a good cut. Where a target has more candidates than
there is room for, those there is room for lower its cut and the batch is repeated for it. The
result does not depend on the order of batches or of candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import bit_planes
from pairtile.errors import DeviceError
from pairtile.methods.predictor_pairs.best import Best
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_KEY,
    NO_OBS,
    POOR_OBS,
)
from pairtile.methods.predictor_pairs.search_blocks import (
    Blocks,
    all_blocks,
    batches,
    n_sets,
    spread,
)
from pairtile.methods.predictor_pairs.search_planes import (
    CODE_BITS,
    QUEUE_BYTES,
    THREADS,
    CudaPredictors,
    Lefts,
)

if TYPE_CHECKING:
    from pairtile.methods.predictor_pairs.search import PredictorSearch

MARGIN_BITS, MARGIN_BITS_OF_CELL = 1e-5, 3e-7
"""More than the rounding error of the screen in bits of MCE, constant and for each cell."""

GROWTH = 16
"""Sets of a batch over sets before it. The candidates of a batch are about ``top`` times this."""

ROOM = 32
LEAST_ROOM = 1000
"""Room for candidates, in multiples of ``top`` and at least."""

BUSY_BLOCKS = 4096
"""Blocks that keep any GPU busy to the end."""

TARGET_SHARE = 0.5
MOST_TARGET_BYTES = 1 << 32
"""GPU memory for candidates: a share of what is free, and no more than this."""

_PREDICTORS: WeakKeyDictionary[PredictorSearch, CudaPredictors] = WeakKeyDictionary()


def best_cuda(
    search: PredictorSearch,
    targets: NDArray[np.int8],
    exclude: NDArray[np.int32],
    first_begin: int,
    first_end: int,
    cut: NDArray[np.int64],
) -> Best:
    """``PredictorSearch.best`` on the GPU; the arguments have been checked.

    Raises DeviceError where the GPU has no room to search for a single target, or where there are
    more predictors than a set's code can hold.
    """
    if search not in _PREDICTORS:
        _PREDICTORS[search] = CudaPredictors(search)
    predictors = _PREDICTORS[search]
    settings = search.settings
    complete = search.complete and bool((targets >= 0).all())
    if complete and search.n_samples < settings.min_samples:
        targets = targets[:0]
    row_bytes = 16 * (_row_length(settings.top) + settings.top)
    memory = min(MOST_TARGET_BYTES, int(TARGET_SHARE * search.device.free_bytes()))
    portion = max(1, memory // row_bytes)
    parts = []
    begin = 0
    while begin < len(targets):
        rows = slice(begin, begin + portion)
        try:
            part = _TargetSearch(predictors, targets[rows], exclude[rows], cut[rows], complete)
            part.run(first_begin, first_end)
            parts.append(part.results())
        except predictors.cupy.cuda.memory.OutOfMemoryError as error:
            predictors.cupy.get_default_memory_pool().free_all_blocks()
            if portion == 1:
                raise DeviceError(
                    f"GPU memory: found no room for the best sets of one target ({row_bytes} "
                    "bytes) beside the predictors; expected a GPU with more free memory"
                ) from error
            portion = max(1, min(portion, len(targets) - begin) // 2)
            continue
        begin += portion
    return _table(parts, settings.cardinality)


class _TargetSearch:
    """The search for the best sets of some targets, as many as there is room for on the GPU."""

    def __init__(
        self,
        predictors: CudaPredictors,
        targets: NDArray[np.int8],
        exclude: NDArray[np.int32],
        cut: NDArray[np.int64],
        complete: bool,
    ) -> None:
        xp = predictors.cupy
        settings = predictors.settings
        n, top = len(targets), settings.top
        self.predictors = predictors
        self.n_targets = n
        self.kernel, self.tile_targets, self.tile_bytes = predictors.search_kernel(
            count_all=not complete or settings.levels**settings.cardinality > 16
        )
        self.planes = predictors.on_gpu(bit_planes(targets, settings.levels))
        self.weights = xp.asarray(self._special_weights(targets, complete))
        self.exclude = xp.asarray(exclude)
        self.row_length = _row_length(top)
        self.scores = xp.empty((n, self.row_length), dtype=np.float64)
        self.codes = xp.empty((n, self.row_length), dtype=np.int64)
        self.n_candidates = xp.zeros(n, dtype=np.uint32)
        self.n_ties = xp.zeros(n, dtype=np.uint64)
        self.best_scores = xp.empty((n, top), dtype=np.float64)
        self.best_codes = xp.empty((n, top), dtype=np.int64)
        self.n_best = xp.zeros(n, dtype=np.int32)
        self.best_keys = xp.asarray(cut)
        self.best_ties = xp.zeros(n, dtype=np.uint64)
        self.cut_keys = xp.array(cut)
        self.cut_codes = xp.full(n, np.iinfo(np.int64).max)
        self.cut_is_known = bool((cut < NO_KEY - 1).all())
        self.done = 0
        cells = settings.levels**settings.cardinality
        self.margin_bits = MARGIN_BITS + MARGIN_BITS_OF_CELL * cells
        self.zero_is_exact = complete and self._zero_is_exact(cells)

    def _special_weights(self, targets: NDArray[np.int8], complete: bool) -> NDArray[np.float32]:
        """Factor of each target for what cells not observed, or seen once, add to the bound."""
        settings = self.predictors.settings
        weights = np.zeros(len(targets), dtype=np.float32)
        if settings.penalty_code == POOR_OBS:
            weights[:] = 1.0
        elif settings.penalty_code == NO_OBS and complete:
            # Where samples are left out, the target's entropy differs from set to set: 0 is safe.
            shares = np.stack([(targets == y).mean(axis=1) for y in range(settings.levels)])
            weights[:] = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=0)
        return weights

    def _zero_is_exact(self, cells: int) -> bool:
        """Whether a bound that is not 0 is always more than its margin."""
        settings, n = self.predictors.settings, self.predictors.n_samples
        least, weight = 2.0, float(n)  # a cell with two levels of the target has 2 bits or more
        if settings.penalty_code == POOR_OBS and settings.poor_bits > 0:
            least = min(least, settings.poor_bits)
        if settings.penalty_code == NO_OBS and settings.alpha > 0:
            least = min(least, settings.alpha * np.log2(n) / n)  # the least entropy of a target
            weight += settings.alpha * cells
        return bool(least > 4 * self.margin_bits * weight)

    def run(self, first_begin: int, first_end: int) -> None:
        """Search all sets whose first predictor is in the range."""
        predictors = self.predictors
        n_predictors = len(predictors.planes)
        single = predictors.settings.cardinality == 1
        rights = (first_begin, first_end) if single else (0, n_predictors)
        for lefts in predictors.lefts(first_begin, first_end):
            blocks = all_blocks(lefts.last, *rights)
            first = self.row_length - predictors.settings.top
            if self.cut_is_known:  # two batches: only ties can be too many, and show in the first
                first = max(first, int(n_sets(blocks).sum()) // GROWTH)
            for batch in batches(blocks, self.done, first, GROWTH):
                self._search(lefts, batch, rights[1])
                self.done += int(n_sets(batch).sum())

    def _search(self, lefts: Lefts, batch: Blocks, right_end: int) -> None:
        """Search one batch, repeatedly for targets that had more candidates than there is room."""
        p, xp, settings = self.predictors, self.predictors.cupy, self.predictors.settings
        last = xp.asarray(lefts.last)
        again = np.arange(self.n_targets, dtype=np.int32)
        while len(again):
            columns = xp.asarray(again)
            blocks, tile = spread(batch, len(again), self.tile_targets, BUSY_BLOCKS)
            self.kernel(
                (len(blocks), -(-len(again) // tile)),
                (THREADS,),
                (
                    lefts.planes,
                    lefts.codes,
                    last,
                    np.int32(len(lefts.last)),
                    p.planes,
                    np.int32(right_end),
                    self.planes,
                    self.weights,
                    self.exclude,
                    columns,
                    np.int32(len(again)),
                    np.int32(tile),
                    xp.asarray(blocks),
                    p.log_table,
                    p.weight_table,
                    np.int32(p.n_samples),
                    np.int32(settings.min_samples),
                    np.float64(settings.alpha),
                    np.float64(settings.poor_bits),
                    np.float64(self.margin_bits),
                    np.int32(self.zero_is_exact),
                    self.cut_keys,
                    self.cut_codes,
                    np.int32(self.row_length - settings.top),
                    np.int32(self.row_length),
                    self.scores,
                    self.codes,
                    self.n_candidates,
                    self.n_ties,
                ),
                shared_mem=QUEUE_BYTES + tile * self.tile_bytes,
            )
            overflow = xp.empty(len(again), dtype=np.uint8)
            p.merge(
                (len(again),),
                (256,),
                (
                    columns,
                    np.int32(settings.top),
                    np.int32(self.row_length),
                    self.scores,
                    self.codes,
                    self.n_candidates,
                    self.n_ties,
                    self.best_scores,
                    self.best_codes,
                    self.n_best,
                    self.best_keys,
                    self.best_ties,
                    self.cut_keys,
                    self.cut_codes,
                    overflow,
                ),
            )
            again = again[xp.asnumpy(overflow) != 0]

    def results(self) -> tuple[NDArray[Any], ...]:
        """Scores and codes (n_targets, top), filled places and ties of the last key (n_targets)."""
        arrays = (self.best_scores, self.best_codes, self.n_best, self.best_ties)
        return tuple(self.predictors.cupy.asnumpy(array) for array in arrays)


def _row_length(top: int) -> int:
    """Places of a row of candidates: a power of two, because rows are sorted in place."""
    return 1 << int(max(ROOM * top, LEAST_ROOM) + top - 1).bit_length()


def _table(parts: list[tuple[NDArray[Any], ...]], cardinality: int) -> Best:
    """One table of the best sets of all targets."""
    if not parts:
        empty = np.empty(0, dtype=np.int32)
        no_sets = np.empty((0, cardinality), dtype=np.int32)
        return Best(empty, no_sets, empty.astype(np.int64), np.empty(0), empty.astype(np.int64))
    scores, codes, n_best, last_ties = (np.concatenate(c) for c in zip(*parts, strict=True))
    rows = np.arange(scores.shape[1])[None, :] < n_best[:, None]
    target = np.nonzero(rows)[0].astype(np.int32)
    scores, codes = scores[rows], codes[rows]
    keys = np.rint(scores * 1e9).astype(np.int64)
    shifts = CODE_BITS * np.arange(cardinality - 1, -1, -1)
    predictors = (codes[:, None] >> shifts) & ((1 << CODE_BITS) - 1)

    # A key below the last one of a full list has all its sets in the list.
    new = np.ones(len(target), dtype=bool)
    new[1:] = (target[1:] != target[:-1]) | (keys[1:] != keys[:-1])
    first = np.flatnonzero(new)
    ends = np.append(first[1:], len(target))
    full = n_best[target[first]] == rows.shape[1]
    is_last = np.append(target[first[1:]] != target[first[:-1]], True) if len(first) else full
    n_ties = np.zeros(len(target), dtype=np.int64)
    n_ties[first] = np.where(
        full & is_last, last_ties[target[first]].astype(np.int64), ends - first
    )
    return Best(target, predictors.astype(np.int32), keys, scores, n_ties)
