"""Counts of the sites of shuffled miRNAs on the GPU, where they are found: none leaves it unless it
is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from pairtile.arrays import BoolArray, CupyModule, Float64Array, Int64Array
from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import DeviceArray
from pairtile.methods.mirna_targets.kernels.pair_scores import (
    CLASSES,
    PAIR_BINS,
    PAIR_STEP,
    SCORE_BINS,
    SCORE_STEP,
)
from pairtile.methods.mirna_targets.screen_cuda import BlockSearch
from pairtile.methods.mirna_targets.search import Sites, TargetSearch
from pairtile.methods.mirna_targets.search_cuda import in_blocks

KERNELS = Path(__file__).parent / "kernels/shuffled_sites.cu"
DEFINES: dict[str, str | int] = {
    "CLASSES": CLASSES,
    "SCORE_BINS": SCORE_BINS,
    "SCORE_STEP": f"{SCORE_STEP}.0",
    "PAIR_BINS": PAIR_BINS,
    "PAIR_STEP": str(PAIR_STEP),
}
THREADS = 128

COUNT_ARRAYS = (
    "null_site_counts",
    "null_mirna_sites",
    "null_mirna_canonical",
    "null_pair_score_counts",
)
"""What is counted here, in the order of the kernels' arguments."""


class SiteCounter:
    """Searches and counts; opened once on all shuffles and transcripts."""

    def __init__(
        self,
        search: TargetSearch,
        each: int,
        tables: tuple[Float64Array, ...],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> None:
        """each : shuffles of a miRNA; tables : ``SiteWords``, ``Background``, rates of hits;
        shapes : ``count_shapes``."""
        self.search = search
        self.each = np.int32(each)
        self.xp = search.device.xp
        self._tables = [self.xp.asarray(table) for table in tables]
        self._shapes = {name: shapes[name] for name in COUNT_ARRAYS}

    def zeros(self) -> dict[str, DeviceArray]:
        """A count of nothing, on the GPU."""
        return {n: self.xp.zeros(shape, dtype=np.uint64) for n, shape in self._shapes.items()}

    def add(
        self,
        total: dict[str, DeviceArray],
        begin: int,
        end: int,
        columns: Int64Array,
        allowed: BoolArray | None,
        wanted: bool,
    ) -> Iterator[Sites]:
        """Count the sites of shuffles ``begin`` .. ``end`` - 1 on neighbouring transcripts; gives
        them, in parts, if they are ``wanted``."""
        search = self.search
        transcripts = search.transcripts.block(columns, search.settings.trim)

        def counted(block: BlockSearch, allowed: BoolArray | None) -> Sites:
            first = begin, int(columns[0]) + block.begin
            return self._count(total, block, allowed, first, wanted)

        sequences = search.mirnas.block(np.arange(begin, end)), transcripts
        yield from in_blocks(counted, *sequences, search.scoring, allowed, search.device)

    def _count(
        self,
        total: dict[str, DeviceArray],
        block: BlockSearch,
        allowed: BoolArray | None,
        first_rows: tuple[int, int],
        wanted: bool,
    ) -> Sites:
        """The same of a block. Nothing is counted before there is memory for all of it."""
        xp = self.xp
        numbers, states = block.traced(allowed)
        n_sites = numbers.shape[1]
        if n_sites == 0:
            return Sites.none()
        i, j, *_ = numbers
        begins = xp.ones(n_sites, dtype=bool)
        begins[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        pair = xp.cumsum(begins, dtype=np.int64) - 1
        first = xp.append(xp.flatnonzero(begins), n_sites)
        seed_class, keys = xp.empty(n_sites, dtype=np.int8), xp.empty(n_sites, dtype=np.uint64)
        sequences = (block.mirnas, block.references)
        letters = [xp.asarray(part) for of in sequences for part in (of.codes, of.offsets)]
        mirna, transcript = map(np.int32, first_rows)
        each = self.each
        *of_sites, of_pairs = (total[name] for name in COUNT_ARRAYS)
        module = cuda.load(KERNELS, DEFINES, fused=False)
        least = np.float64(self.search.settings.score)
        found = numbers, states, np.int64(states.shape[1]), *letters, pair, least, mirna, each
        _each(module, "class_sites", n_sites, *found, *of_sites, seed_class, keys)
        keys.sort()
        found = first, keys, numbers, np.int64(n_sites), mirna, transcript, each
        _each(module, "score_pairs", len(first) - 1, *found, *self._tables, of_pairs)
        if not wanted:
            return Sites.none()
        to_host = self.search.device.to_host
        rows = to_host(i) + mirna, to_host(j) + transcript
        return Sites(*rows, to_host(numbers[4]), to_host(seed_class))


def _each(module: CupyModule, name: str, count: int, *arguments: DeviceArray) -> None:
    """Call a kernel with a thread for each of ``count`` things, which is its first argument."""
    module.get_function(name)((-(-count // THREADS),), (THREADS,), (np.int64(count), *arguments))
