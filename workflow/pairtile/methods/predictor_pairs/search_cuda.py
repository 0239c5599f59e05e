"""Exhaustive search for predictor sets on the GPU: the CUDA half of ``search``.

Every set is screened for every target (``search_sets``); what the screen cannot rule out is scored
exactly and, unless behind the target's cut, becomes a candidate. After each batch of sets
``merge_candidates`` merges the candidates into the best sets so far and lowers the cuts. The first
batches are small, so that nearly all sets meet a good cut. Where a target has more candidates than
there is room for, those there is room for lower its cut and the batch is repeated for it. The
result does not depend on the order of batches or of candidates.

A set is a prefix (its predictors but the last; "left" in the kernel) and a final predictor ("right"
there). A block is a rectangle of prefixes and finals, int32 (first prefix, first final, prefixes,
finals); sets of it whose final does not come after the prefix's last predictor are not sets at all,
and are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import CupyArray, CupyKernel
from pairtile.cpu.bit_planes import bit_planes
from pairtile.errors import DeviceError
from pairtile.gpu import compiling as cuda
from pairtile.methods.predictor_pairs.best_sets import (
    ANY_KEY,
    BestSets,
    best_of_lists,
    empty_lists,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_OBS, POOR_OBS
from pairtile.methods.predictor_pairs.kernels.screens import bound_coefficients
from pairtile.methods.predictor_pairs.predictor_table import PredictorTable

Blocks = NDArray[np.int32]

BLOCK_PREFIXES = 8
BLOCK_FINALS = 512
MIN_PREFIXES = 2
MIN_FINALS = 32
"""Eight for each warp of a CUDA block."""

MIN_TILE_TARGETS = 32


def all_blocks(last: NDArray[np.int32], final_begin: int, final_end: int) -> Blocks:
    """Blocks that hold every set of the prefixes with finals in a range, each once.

    last : int32 (n_prefixes,), the last predictor of every prefix; finals must come after it.
    """
    first_prefix = np.arange(0, len(last), BLOCK_PREFIXES)
    prefixes = np.minimum(BLOCK_PREFIXES, len(last) - first_prefix)
    least = np.minimum.reduceat(last, first_prefix) if len(last) else last
    first_final = np.maximum(least + 1, final_begin)
    whole = np.stack([first_prefix, first_final, prefixes, final_end - first_final], axis=1)
    whole = whole[whole[:, 3] > 0].astype(np.int32)
    return split(whole, BLOCK_PREFIXES, BLOCK_FINALS)


def with_later(sets: NDArray[np.int32], n_predictors: int) -> NDArray[np.int32]:
    """Sets with one predictor more, each that comes after their last: in lexicographic order.

    sets : int32 (n_sets, size), ascending within a set.
    """
    last = sets[:, -1]
    rows = np.repeat(np.arange(len(sets)), n_predictors - 1 - last)
    place = np.arange(rows.size) - np.searchsorted(rows, rows)
    return np.column_stack([sets[rows], last[rows] + 1 + place]).astype(np.int32)


def n_sets(blocks: Blocks) -> NDArray[np.int64]:
    """Sets of each block, counting those that are passed over."""
    return blocks[:, 2].astype(np.int64) * blocks[:, 3]


def split(blocks: Blocks, most_prefixes: int, most_finals: int) -> Blocks:
    """The same sets in blocks of at most so many prefixes and finals."""
    for axis, most in ((0, most_prefixes), (1, most_finals)):
        parts = -(-blocks[:, 2 + axis] // most)
        number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        blocks = np.repeat(blocks, parts, axis=0)
        offset = (number * most).astype(np.int32)
        blocks[:, axis] += offset
        blocks[:, 2 + axis] = np.minimum(most, blocks[:, 2 + axis] - offset)
    return blocks


def batches(blocks: Blocks, done: int, first: int, growth: int) -> Iterator[Blocks]:
    """The blocks in batches: about ``first`` sets, then up to ``growth`` times those before.

    done : sets that were searched before these. The blocks come in a random order, always the
    same, so that the first batches are a fair sample of all.
    """
    blocks = blocks[np.random.default_rng(0).permutation(len(blocks))]
    if not done and len(blocks) and n_sets(blocks[:1]).sum() > first:
        blocks = np.concatenate([split(blocks[:1], MIN_PREFIXES, MIN_FINALS), blocks[1:]])
    ends = np.cumsum(n_sets(blocks))
    begin = 0
    while begin < len(blocks):
        before = int(ends[begin - 1]) if begin else 0
        room = min(growth * (done + before), int(ends[-1])) if done + before else first
        end = max(begin + 1, int(np.searchsorted(ends, before + room, side="right")))
        yield blocks[begin:end]
        begin = end


def spread(blocks: Blocks, n_targets: int, tile_targets: int, busy: int) -> tuple[Blocks, int]:
    """Blocks and targets of a tile made smaller until there are ``busy`` of both together.

    tile_targets : largest number of targets of a tile, a multiple of 16; the one returned is
    too, and divides the targets evenly.
    """
    prefixes, finals = BLOCK_PREFIXES, BLOCK_FINALS
    width, height = blocks[:, 2], blocks[:, 3]

    def number() -> int:
        return int((-(-width // prefixes) * -(-height // finals)).sum()) * -(
            -n_targets // tile_targets
        )

    while number() < busy:
        if finals > MIN_FINALS:
            finals //= 2
        elif prefixes > MIN_PREFIXES:
            prefixes //= 2
        elif tile_targets > MIN_TILE_TARGETS:
            tile_targets //= 2
        else:
            break
    even = -(-n_targets // -(-n_targets // tile_targets))
    return split(blocks, prefixes, finals), -(-even // 16) * 16


KERNELS = Path(__file__).parent / "kernels"

CODE_BITS = {1: 21, 2: 21, 3: 21, 4: 15}
"""Of a predictor's number in the 64-bit code of a set of so many, as in the kernel."""

THREADS = 128
QUEUE_BYTES = 8 * THREADS
SHARED_BYTES = 40 * 1024
TILE_STEP = 16
"""Targets of a tile come in multiples of this."""

SetPrefixes = tuple[CupyArray, CupyArray, NDArray[np.int32]]
"""Sets less their last predictor: planes uint32 (n, q^(c-1), stride), int64 codes, and the last
predictor of each int32 (n,)."""


class CudaPredictors:
    """One table of candidate predictors on the GPU, with the kernels that search it."""

    def __init__(self, search: PredictorTable) -> None:
        import cupy

        self.code_bits = CODE_BITS[search.settings.cardinality]
        if search.n_predictors >= 1 << self.code_bits:
            raise DeviceError(
                f"predictors: found {search.n_predictors:,} candidates; expected fewer than "
                f"{1 << self.code_bits:,} on a GPU, or backend: cpu"
            )
        self.cupy = cupy
        self.device = search.device
        self.settings = search.settings
        self.n_samples = search.n_samples
        self.words = search.planes.shape[2]
        self.chunks = -(-self.words // 4)
        self.planes = self.on_gpu(search.planes)
        self.log_table = cupy.asarray(search.scoring.log_table)
        # What 4 w / n is for a cell of n samples.
        coefficients = bound_coefficients(
            self.n_samples, self.settings.penalty_code, self.settings.alpha
        )
        self.weight_table = cupy.asarray(np.ascontiguousarray(coefficients[:, 1]))
        self.merge = cuda.load(KERNELS / "mean_conditional_entropy_best.cu", {}).get_function(
            "merge_candidates"
        )

    def on_gpu(self, planes: NDArray[np.uint32]) -> CupyArray:
        """Bit planes on the GPU, padded to whole chunks of 128 samples."""
        padded = self.cupy.zeros((*planes.shape[:2], 4 * self.chunks), dtype=np.uint32)
        padded[:, :, : planes.shape[2]] = self.cupy.asarray(planes)
        return padded

    def search_kernel(self, count_all: bool) -> tuple[CupyKernel, int, int]:
        """``search_sets``, targets of a tile at most, and shared bytes for each of them."""
        levels = self.settings.levels
        classes = levels if count_all else levels - 1
        plane_bytes = -(-classes // 2) * self.chunks * 128 // (8 if classes == 1 else 4)
        tile = (SHARED_BYTES - QUEUE_BYTES) // (16 + plane_bytes) // TILE_STEP * TILE_STEP
        shared = tile > 0
        cells = levels**self.settings.cardinality
        module = cuda.load(
            KERNELS / "mean_conditional_entropy.cu",
            {
                "LEVELS": levels,
                "CARDINALITY": self.settings.cardinality,
                "PENALTY": self.settings.penalty_code,
                "WORDS": self.words,
                "COUNT_ALL": int(count_all),
                # Samples for each cell from which on the closer bound pays: the
                # other passes ever more sets.
                "TIGHT": int(levels > 2 and self.n_samples >= 6 * cells),
                "SHARED": int(shared),
                "LAGS": self.settings.lags,
            },
        )
        tile = min(512, tile) if shared else 128
        return module.get_function("search_sets"), tile, 16 + (plane_bytes if shared else 0)

    def prefixes(self, first_begin: int, first_end: int) -> Iterator[SetPrefixes]:
        """All sets, less their last predictor, whose first one is in the range."""
        xp = self.cupy
        n_predictors, levels, stride = self.planes.shape
        if self.settings.cardinality == 1:
            planes = self.on_gpu(bit_planes(np.zeros((1, self.n_samples), dtype=np.int8), 1))
            yield planes, xp.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int32)
        else:
            size = self.settings.cardinality - 1
            heads = np.arange(first_begin, first_end, dtype=np.int32)[:, None]
            for _ in range(size - 2):
                heads = with_later(heads, n_predictors)
            # Heads are taken as many at a time as memory allows with the planes of their prefixes.
            head_bytes = levels**size * stride * 4 * (n_predictors if size > 1 else 1)
            step = max(1, min(1 << 28, self.device.free_bytes() // 8) // head_bytes)
            for begin in range(0, len(heads), step):
                sets = heads[begin : begin + step]
                if size > 1:
                    sets = with_later(sets, n_predictors)
                members = xp.asarray(sets.T)
                planes, codes = self.planes[members[0]], members[0].astype(np.int64)
                for later in members[1:]:
                    both = planes[:, :, None] & self.planes[later][:, None]
                    planes = both.reshape(len(sets), planes.shape[1] * levels, stride)
                    codes = (codes << self.code_bits) | later
                yield planes, codes, np.ascontiguousarray(sets[:, -1])


MARGIN_BITS, MARGIN_BITS_OF_CELL = 1e-5, 3e-7
"""More than the rounding error of the screen in bits of MCE, constant and for each cell."""

GROWTH = 16
"""Sets of a batch over sets before it. The candidates of a batch are about ``top`` times this."""

ROOM = 32
MIN_ROOM = 1000
"""Room for candidates, in multiples of ``top`` and at least."""

_PREDICTORS: WeakKeyDictionary[PredictorTable, CudaPredictors] = WeakKeyDictionary()


def best_cuda(
    search: PredictorTable,
    targets: NDArray[np.int8],
    exclude: NDArray[np.int32],
    first_begin: int,
    first_end: int,
    max_key: NDArray[np.int64],
) -> BestSets:
    """``PredictorSearch.best`` on the GPU.

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
    # Candidates take half of the GPU's free memory, and no more than 4 GiB.
    memory = min(1 << 32, int(0.5 * search.device.free_bytes()))
    portion = max(1, memory // row_bytes)
    parts = []
    begin = 0
    while begin < len(targets):
        rows = slice(begin, begin + portion)
        try:
            part = _TargetSearch(predictors, targets[rows], exclude[rows], max_key[rows], complete)
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
        max_key: NDArray[np.int64],
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
        self.best_keys = xp.asarray(max_key)
        self.best_ties = xp.zeros(n, dtype=np.uint64)
        self.cut_keys = xp.array(max_key)
        self.cut_codes = xp.full(n, np.iinfo(np.int64).max)
        self.cut_is_known = bool((max_key < ANY_KEY).all())
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
        single = predictors.settings.cardinality == 1
        finals = (first_begin, first_end) if single else (0, len(predictors.planes))
        for prefixes in predictors.prefixes(first_begin, first_end):
            blocks = all_blocks(prefixes[2], *finals)
            first = self.row_length - predictors.settings.top
            if self.cut_is_known:  # two batches: only ties can be too many, and show in the first
                first = max(first, int(n_sets(blocks).sum()) // GROWTH)
            for batch in batches(blocks, self.done, first, GROWTH):
                self._search(prefixes, batch, finals[1])
                self.done += int(n_sets(batch).sum())

    def _search(self, prefixes: SetPrefixes, batch: Blocks, final_end: int) -> None:
        """Search one batch, repeatedly for targets that had more candidates than there is room."""
        p, xp, settings = self.predictors, self.predictors.cupy, self.predictors.settings
        planes, codes, last = prefixes
        last_on_gpu = xp.asarray(last)
        again = np.arange(self.n_targets, dtype=np.int32)
        while len(again):
            columns = xp.asarray(again)
            # Blocks that keep any GPU busy to the end.
            blocks, tile = spread(batch, len(again), self.tile_targets, 4096)
            self.kernel(
                (len(blocks), -(-len(again) // tile)),
                (THREADS,),
                (
                    planes,
                    codes,
                    last_on_gpu,
                    np.int32(len(last)),
                    p.planes,
                    np.int32(final_end),
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

    def results(self) -> tuple[NDArray[np.generic], ...]:
        """Scores and codes (n_targets, top), filled places and ties of the last key (n_targets)."""
        arrays = (self.best_scores, self.best_codes, self.n_best, self.best_ties)
        return tuple(self.predictors.cupy.asnumpy(array) for array in arrays)


def _row_length(top: int) -> int:
    """Places of a row of candidates: a power of two, because rows are sorted in place."""
    return 1 << int(max(ROOM * top, MIN_ROOM) + top - 1).bit_length()


def _table(parts: list[tuple[NDArray[np.generic], ...]], cardinality: int) -> BestSets:
    """One table of the best sets of all targets."""
    if not parts:
        return best_of_lists(empty_lists(0, 1, cardinality))
    scores, codes, n_best, last_ties = (np.concatenate(c) for c in zip(*parts, strict=True))
    rows = np.arange(scores.shape[1])[None, :] < n_best[:, None]
    target = np.nonzero(rows)[0].astype(np.int32)
    scores, codes = scores[rows], codes[rows]
    keys = np.rint(scores * 1e9).astype(np.int64)
    shifts = CODE_BITS[cardinality] * np.arange(cardinality - 1, -1, -1)
    predictors = (codes[:, None] >> shifts) & ((1 << CODE_BITS[cardinality]) - 1)

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
    return BestSets(target, predictors.astype(np.int32), keys, scores, n_ties)
