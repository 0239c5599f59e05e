"""The modes of pairs of genes: Gaussian mixtures and the correlation of each mode (Shealy et al.
2019, without the faults of its program; ``compatibility: kinc`` has them).

Arrays in, arrays out. ``kernels/pair_mixtures`` says what is computed, and in which order. The CPU
takes blocks of pairs, a thread for each; the GPU a warp for each pair. Both give the same modes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import CupyArray
from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import (
    COUNTS,
    HISTOGRAM_BINS,
    MAX_CLUSTERS,
    Found,
    MixtureGenes,
    Rules,
    Tallies,
    make_work,
    modes_of_pairs,
)
from pairtile.methods.multimodal_correlation.modes import tukey_outliers, within_limits
from pairtile.runtime.threads import in_threads

# Constants of the fits, on the scale of standardised values. They were chosen by the recovery of
# planted modes: see benchmarks/bench_planted_modes.py.
N_SHORT_STEPS: Final = 5
"""EM steps that each start is given before the best goes on alone."""

LIMIT: Final = 200
"""EM steps at most after that."""

KINC_LIMIT: Final = 100
"""EM steps at most as KINC does them."""

TOLERANCE: Final = 1e-5
"""A fit has settled once a step gains less than this for each sample, in bits."""

RIDGE: Final = 2e-3
"""Added to both variances of each component."""

PRIOR_SCATTER: Final = 0.5
"""Sum of squares on each axis that is added to a component's own, divided by K."""

PRIOR_SAMPLES: Final = 0.0
"""Samples that this scatter counts for."""

MIN_SAMPLES: Final = 0.5
"""A fit whose component has the responsibility for fewer samples has failed. One sample far from
all others may be a component: the modes of the others are left alone then."""

DEGENERATE: Final = 1e-6
"""A pair with 1 - r^2 below this is one mode on a line: no mixture is fitted."""


def mixture_rules(config: MultimodalCorrelationConfig, seed: int) -> Rules:
    """The settings and constants as the kernels take them."""
    estimator, kinc = config.estimator, config.compatibility == "kinc"
    return Rules(
        spearman=estimator.facts.of_ranks,
        k_min=estimator.min_clusters,
        k_max=estimator.max_clusters,
        criterion=("aic", "bic", "icl").index(estimator.criterion),
        min_samples=estimator.min_samples,
        min_correlation=float(estimator.min_correlation),
        max_correlation=float(estimator.max_correlation),
        outliers_before=estimator.outliers_before,
        outliers_after=estimator.outliers_after,
        restarts=estimator.restarts,
        kinc=kinc,
        seed=np.uint64(seed % (1 << 64)),
        short_steps=N_SHORT_STEPS,
        limit=KINC_LIMIT if kinc else LIMIT,
        degenerate=DEGENERATE,
        least=np.float32(0.0 if kinc else MIN_SAMPLES),
        ridge=np.float32(0.0 if kinc else RIDGE),
        prior_n=np.float32(0.0 if kinc else PRIOR_SAMPLES),
        tolerance=np.float32(TOLERANCE),
        prior_scatter=np.float32(0.0 if kinc else PRIOR_SCATTER),
    )


@dataclass
class Modes:
    """The kept modes of a tile's pairs, sorted by (row, column, cluster), and its counts.

    Arrays have one entry for each mode; ``samples`` and ``outliers`` are bit masks (entries,
    ceil(S / 8)), sample 0 in the highest bit of byte 0. Means, variances and covariance are those
    of the component, in units of the values. ``counts`` are of all pairs; ``histogram_k`` int64
    (6,), pairs by number of modes; ``histogram_r`` int64 (200,), correlations of modes with enough
    samples, kept or not, in bins of 0.01 from -1.
    """

    row: NDArray[np.int32]
    column: NDArray[np.int32]
    cluster: NDArray[np.int32]
    n_clusters: NDArray[np.int32]
    n_samples: NDArray[np.int32]
    n_modes: NDArray[np.int32]
    n_usable: NDArray[np.int32]
    correlation: NDArray[np.float32]
    weight: NDArray[np.float32]
    mean_i: NDArray[np.float32]
    mean_j: NDArray[np.float32]
    variance_i: NDArray[np.float32]
    variance_j: NDArray[np.float32]
    covariance: NDArray[np.float32]
    log_likelihood: NDArray[np.float32]
    criterion: NDArray[np.float32]
    samples: NDArray[np.uint8]
    outliers: NDArray[np.uint8]
    counts: dict[str, int]
    histogram_k: NDArray[np.int64]
    histogram_r: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def joined(
        cls,
        parts: list[dict[str, NDArray[Any]]],
        n_samples: int,
        counts: dict[str, int],
        histogram_k: NDArray[np.int64],
        histogram_r: NDArray[np.int64],
    ) -> Modes:
        """The arrays of parts of a tile, one after another."""
        if len(parts) != 1:
            whole = {
                name: np.concatenate([none, *(part[name] for part in parts)])
                for name, none in mode_arrays(0, n_samples).items()
            }
            parts = [whole]
        return cls(**parts[0], counts=counts, histogram_k=histogram_k, histogram_r=histogram_r)


def mode_arrays(entries: int, n_samples: int) -> dict[str, NDArray[np.generic]]:
    """Room for so many modes: the arrays of ``Modes``, not filled."""
    whole = ("row", "column", "cluster", "n_clusters", "n_samples", "n_modes", "n_usable")
    mask = (entries, -(-n_samples // 8))
    return {
        **{name: np.empty(entries, dtype=np.int32) for name in whole},
        **{name: np.empty(entries, dtype=np.float32) for name in (*NUMBERS, *FIT)},
        **{name: np.empty(mask, dtype=np.uint8) for name in ("samples", "outliers")},
    }


NUMBERS = (
    *("correlation", "weight", "mean_i", "mean_j"),
    *("variance_i", "variance_j", "covariance"),
)
"""The numbers of a mode, in the order of the CUDA kernel."""

FIT = ("log_likelihood", "criterion")
"""The numbers of a pair."""


def pair_mixtures(
    values: NDArray[np.float64],
    keys: NDArray[np.uint64],
    config: MultimodalCorrelationConfig,
    device: Device,
    seed: int = 0,
) -> MixturesCpu | MixturesCuda:
    """What finds the modes of the pairs of one expression table.

    values : float64 (genes, samples), NaN where missing
    keys : uint64 (genes,), one number for each name; the same table in another order of genes gives
    the same modes.
    config : ``estimator`` and ``compatibility`` are used
    seed : of the starts of the fits
    """
    limits = config.estimator.min_expression, config.estimator.max_expression
    genes = mixture_genes(values, keys, *limits, single=config.compatibility == "kinc")
    rules = mixture_rules(config, seed)
    if device.backend == "cuda":
        return MixturesCuda(genes, rules, device)
    return MixturesCpu(genes, rules)


MAX_SAMPLES = 1 << 20
"""Sums of squared ranks are whole numbers of 64 bits up to here."""


def mixture_genes(
    values: NDArray[np.float64],
    keys: NDArray[np.uint64],
    min_expression: float | None = None,
    max_expression: float | None = None,
    single: bool = False,
) -> MixtureGenes:
    """Prepare the genes of an expression table.

    values : float64 (genes, samples), NaN where missing; values outside
    [min_expression, max_expression] count as missing.
    keys : uint64 (genes,), names as numbers: they decide the order within a pair and what is drawn.
    single : round values to float32 first and keep their scale, as KINC does.

    Of what is returned: ``values`` divided by ``unit``, the power of two that brings the largest
    magnitude of a gene to [1, 2), 0 where missing; ``present``, bit s % 32 of word s / 32;
    ``order``, the gene's usable samples by ascending value, then the others; ``codes``, equal where
    values are, ascending from 0, -1 where missing; ``usable``, how many there are; ``log_n``, ln n.

    Raises ValueError for more samples than masks have bits.
    """
    values = np.array(values, dtype=np.float64, ndmin=2)
    keys = np.ascontiguousarray(keys, dtype=np.uint64)
    n_genes, n_samples = values.shape
    if n_samples > MAX_SAMPLES:
        raise ValueError(f"there are {n_samples:,} samples; expected up to {MAX_SAMPLES:,}")
    with np.errstate(invalid="ignore", over="ignore"):
        usable = within_limits(values, min_expression, max_expression)
        if single:
            values = values.astype(np.float32).astype(np.float64)
            usable &= np.isfinite(values)
    values[~usable] = 0.0
    unit = np.ones(n_genes)
    if not single:
        largest = np.abs(values).max(axis=1, initial=0.0)
        exponent = np.frexp(largest)[1] - 1
        unit = np.where(largest > 0.0, np.ldexp(1.0, np.clip(exponent, -1022, 1023)), 1.0)
        values = values / unit[:, None]
    order = np.argsort(np.where(usable, values, np.inf), axis=1, kind="stable").astype(np.int32)
    sorted_values = np.take_along_axis(values, order, axis=1)
    steps = np.zeros(values.shape, dtype=np.int32)
    steps[:, 1:] = sorted_values[:, 1:] != sorted_values[:, :-1]
    codes = np.empty(values.shape, dtype=np.int32)
    np.put_along_axis(codes, order, np.cumsum(steps, axis=1, dtype=np.int32), axis=1)
    codes[~usable] = -1
    counts = np.arange(n_samples + 1, dtype=np.float64)
    return MixtureGenes(
        values=np.ascontiguousarray(values),
        unit=np.ascontiguousarray(unit),
        present=bit_words(usable),
        order=np.ascontiguousarray(order),
        codes=codes,
        usable=usable.sum(axis=1).astype(np.int32),
        keys=keys,
        log_n=np.log(np.maximum(counts, 1.0)),
    )


def bit_words(flags: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """uint32 (rows, ceil(columns / 32)): bit c % 32 of word c / 32."""
    n_rows, n_columns = flags.shape
    words = -(-n_columns // 32)
    padded = np.pad(flags, ((0, 0), (0, words * 32 - n_columns)))
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u4").astype(np.uint32).reshape(n_rows, words)


# --- CPU ---

BLOCK = 2048
"""Pairs that a thread takes at a time: some tenths of a second of work."""


class MixturesCpu:
    """``pair_mixtures`` on the CPU."""

    def __init__(self, genes: MixtureGenes, rules: Rules) -> None:
        self.genes = genes
        self.rules = rules

    def tile(self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool) -> Modes:
        """The modes of every gene of ``rows`` with every gene of ``columns``.

        ``row`` and ``column`` of the result are places in these two. upper: ``columns`` is
        ``rows``, and only pairs with column > row are asked for.
        """
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        columns = np.ascontiguousarray(columns, dtype=np.int64)
        every = np.indices((len(rows), len(columns)), dtype=np.int32)
        row, column = every[:, every[0] < every[1]] if upper else every.reshape(2, -1)
        blocks = [slice(begin, begin + BLOCK) for begin in range(0, len(row), BLOCK)]

        entries, n_samples = BLOCK * self.rules.k_max, self.genes.values.shape[1]

        def run(block: slice) -> tuple[dict[str, NDArray[np.generic]], Tallies]:
            room = mode_arrays(entries, n_samples)
            del room["row"], room["column"]
            found, tallies = Found(pair=np.empty(entries, dtype=np.int64), **room), _tallies()
            genes = rows[row[block]], columns[column[block]]
            work = make_work(n_samples)
            kept = modes_of_pairs(self.genes, self.rules, *genes, work, found, tallies)
            pair = found.pair[:kept]
            # Copies: a block keeps few modes, and its room is large.
            taken = {name: array[:kept].copy() for name, array in room.items()}
            return taken | {"row": row[block][pair], "column": column[block][pair]}, tallies

        parts = list(in_threads(run, blocks))
        found = [part for part, _ in parts]
        sums = Tallies(
            *(
                np.sum(each, axis=0)
                for each in zip(_tallies(), *(own for _, own in parts), strict=True)
            )
        )
        counts = {
            "pairs": len(row),
            "modes_kept": sum(len(part["row"]) for part in found),
            **dict(zip(COUNTS, sums.counts.tolist(), strict=True)),
        }
        return Modes.joined(found, n_samples, counts, sums.by_modes, sums.by_correlation)


def _tallies() -> Tallies:
    sizes = (len(COUNTS), MAX_CLUSTERS + 1, HISTOGRAM_BINS)
    return Tallies(*(np.zeros(size, dtype=np.int64) for size in sizes))


# --- GPU ---

KERNELS = Path(__file__).parent / "kernels"

FREE_SHARE = 0.4
MAX_PAIRS = 1 << 22
"""Share of the free GPU memory for a batch's room for modes, and pairs of a batch at most."""

KERNEL_COUNTS = (
    "too_few_samples",
    "constant",
    "degenerate",
    "failed",
    "modes_small",
    "modes_undefined",
    "fits",
    "fits_failed",
    "fits_unfinished",
    "em_steps",
)
"""What the kernel counts, in its order."""


def _structure(pointers: str, **numbers: type[np.number]) -> np.dtype[np.void]:
    """A structure of ``pair_mixtures_arguments.cuh``: pointers to arrays, then numbers."""
    fields = [*((name, np.uint64) for name in pointers.split()), *numbers.items()]
    return np.dtype(fields, align=True)


GENES = _structure(
    "values unit present outlying order run_first run_last codes n_usable tied keys log_n",
    n_samples=np.int32,
)
PLACES = _structure("rows columns row_start", first_pair=np.int64, n_rows=np.int32, upper=np.int32)
SETTINGS = _structure(
    "seed",
    **dict.fromkeys(("min_correlation", "max_correlation", "degenerate"), np.float64),
    **dict.fromkeys(("tolerance", "ridge", "prior_scatter", "prior_n", "least"), np.float32),
    **dict.fromkeys(("k_min", "k_max", "criterion"), np.int32),
    **dict.fromkeys(("min_samples", "outliers_before", "outliers_after"), np.int32),
    **dict.fromkeys(("restarts", "short_steps", "limit"), np.int32),
)
"""Of ``Rules``; those that are left are macros."""
FOUND = _structure(
    "row column n_clusters n_modes n_usable log_likelihood criterion outliers"
    " n_samples numbers members"
)
SUMS = _structure("counts histogram_k histogram_r")


def _argument(structure: np.dtype[np.void], values: Mapping[str, Any]) -> NDArray[np.void]:
    """A structure to pass by value. It has but the addresses of arrays: they must outlive the
    launch."""
    held = np.zeros(1, dtype=structure)
    for name in structure.names or ():
        value = values[name]
        held[name] = value.data.ptr if hasattr(value, "__cuda_array_interface__") else value
    return held


class MixturesCuda:
    """``pair_mixtures`` on the GPU.

    Each pair has room for all the modes it can have, so that nothing depends on the order in which
    pairs are done; the kept modes are then gathered on the GPU, in order, and copied to the host, a
    batch of pairs at a time.

    Raises DeviceError where there are more samples than the GPU's shared memory holds.
    """

    def __init__(self, genes: MixtureGenes, rules: Rules, device: Device) -> None:
        from pairtile.gpu import compiling

        self.rules = rules
        self.device = device
        self.cupy = device.xp
        self.n_samples = genes.values.shape[1]
        self.words = -(-self.n_samples // 32)
        self.shared_bytes = shared_bytes(self.n_samples)
        limit = most_samples(device)
        if self.n_samples > limit:
            raise DeviceError(
                f"shared memory of the GPU: found {self.n_samples:,} samples; expected at most "
                f"{limit:,} for pairs of genes on this GPU, or backend: cpu"
            )
        self._held = {
            name: self.cupy.asarray(array) for name, array in gene_arrays(genes, rules.kinc).items()
        }
        self.genes = _argument(GENES, self._held | {"n_samples": self.n_samples})
        self.settings = _argument(SETTINGS, rules._asdict())
        defines = {"KINC": int(rules.kinc), "SPEARMAN": int(rules.spearman)}
        module = compiling.load(KERNELS / "pair_mixtures.cu", defines, fused=False)
        self.kernel = module.get_function("pair_mixtures")
        if self.shared_bytes > 48 << 10:
            self.kernel.max_dynamic_shared_size_bytes = self.shared_bytes

    def tile(self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool) -> Modes:
        """As ``MixturesCpu.tile``; raises DeviceError where no pair's modes find room."""
        xp = self.cupy
        n_rows, n_columns = len(rows), len(columns)
        lengths = n_columns - 1 - np.arange(n_rows) if upper else np.full(n_rows, n_columns)
        row_start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        n_pairs = int(row_start[-1])
        self._places = {
            "rows": xp.asarray(np.asarray(rows, dtype=np.int32)),
            "columns": xp.asarray(np.asarray(columns, dtype=np.int32)),
            "row_start": xp.asarray(row_start),
            "n_rows": n_rows,
            "upper": upper,
        }
        sizes = len(KERNEL_COUNTS), MAX_CLUSTERS + 1, HISTOGRAM_BINS
        self._sums = [xp.zeros(size, dtype=np.uint64) for size in sizes]
        parts = []
        begin = 0
        pair_bytes = 28 + 4 * self.words + self.rules.k_max * (32 + 4 * self.words)
        batch = min(MAX_PAIRS, int(FREE_SHARE * self.device.free_bytes()) // pair_bytes)
        while begin < n_pairs:
            size = max(1, min(batch, n_pairs - begin))
            before = [array.copy() for array in self._sums]
            try:
                parts.append(self._batch(begin, size))
            except xp.cuda.memory.OutOfMemoryError as error:
                xp.get_default_memory_pool().free_all_blocks()
                if size == 1:
                    raise DeviceError(
                        f"GPU memory: found no room for the modes of one pair ({pair_bytes} "
                        "bytes) beside the genes; expected a GPU with more free memory"
                    ) from error
                batch = size // 2
                for array, old in zip(self._sums, before, strict=True):
                    array[...] = old
                continue
            begin += size
        return self._modes(parts, n_pairs)

    def _batch(self, begin: int, size: int) -> dict[str, NDArray[np.generic]]:
        """Kept modes of pairs ``begin`` to ``begin + size`` of the tile's order."""
        xp = self.cupy
        of_pair = {
            name: xp.empty(size, dtype=np.int32)
            for name in ("row", "column", "n_clusters", "n_modes", "n_usable")
        }
        of_pair |= {name: xp.empty(size, dtype=np.float32) for name in FIT}
        outliers = xp.empty((size, self.words), dtype=np.uint32)
        slots = self.rules.k_max
        entries = size * slots
        of_mode = {
            "n_samples": xp.empty(entries, dtype=np.int32),
            "numbers": xp.empty((entries, len(NUMBERS)), dtype=np.float32),
            "members": xp.empty((entries, self.words), dtype=np.uint32),
        }
        arguments = (
            self.genes,
            _argument(PLACES, self._places | {"first_pair": begin}),
            self.settings,
            _argument(FOUND, of_pair | of_mode | {"outliers": outliers}),
            _argument(SUMS, dict(zip(SUMS.names or (), self._sums, strict=True))),
        )
        self.kernel((size,), (32,), arguments, shared_mem=self.shared_bytes)
        cluster = xp.arange(slots, dtype=np.int32)
        kept = xp.flatnonzero(cluster[None, :] < of_pair["n_clusters"][:, None])
        pair = kept // slots
        taken = np.ascontiguousarray(xp.asnumpy(of_mode["numbers"][kept]).T)
        return {
            **{name: xp.asnumpy(array[pair]) for name, array in of_pair.items()},
            "cluster": xp.asnumpy((kept - pair * slots + 1).astype(np.int32)),
            "n_samples": xp.asnumpy(of_mode["n_samples"][kept]),
            "samples": self._bytes(of_mode["members"][kept]),
            "outliers": self._bytes(outliers[pair]),
            **dict(zip(NUMBERS, taken, strict=True)),
        }

    def _bytes(self, masks: CupyArray) -> NDArray[np.uint8]:
        """Words of masks on the GPU as bytes on the host, without those past the last sample."""
        of_words = masks.view(np.uint8).reshape(-1, 4 * self.words)
        trimmed: CupyArray = self.cupy.ascontiguousarray(of_words[:, : -(-self.n_samples // 8)])
        return np.asarray(self.cupy.asnumpy(trimmed))

    def _modes(self, parts: list[dict[str, NDArray[np.generic]]], n_pairs: int) -> Modes:
        counts, histogram_k, histogram_r = (
            self.cupy.asnumpy(array).astype(np.int64) for array in self._sums
        )
        counted = dict(zip(KERNEL_COUNTS, counts.tolist(), strict=True))
        kept = {"pairs": n_pairs, "modes_kept": sum(len(part["row"]) for part in parts)}
        counted["modes_below"] = int(histogram_r.sum()) - kept["modes_kept"]
        histogram_k[0] = sum(counted[name] for name in ("too_few_samples", "constant", "failed"))
        counts = kept | {name: counted[name] for name in COUNTS}
        return Modes.joined(parts, self.n_samples, counts, histogram_k, histogram_r)


def most_samples(device: Device) -> int:
    """Samples for which a pair finds room in the shared memory of a GPU's multiprocessor."""
    limit = device.xp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    fixed = shared_bytes(0)
    most = 32 * ((limit - fixed) // (shared_bytes(32) - fixed))
    # Places in the sort order, and doubled ranks, are 16 bits.
    return int(min(most, 32_000))


def shared_bytes(n_samples: int) -> int:
    """Shared memory for a pair; the layout stands in ``pair_mixtures_shared.cuh``."""
    words = -(-n_samples // 32)
    fixed = 3 * MAX_CLUSTERS * 48 + 32 * 4
    return fixed + words * (6 * 4 + 32 * (3 * 4 + 2 + 1))


def gene_arrays(genes: MixtureGenes, kinc: bool) -> dict[str, NDArray[np.generic]]:
    """The genes' arrays as the kernel takes them (``GENES``).

    Besides those of ``MixtureGenes``: bits of each gene's own outliers; for each place of ``order``
    the first and the last place of its ties, and whether the gene has any. Places are uint16: up
    to 65,535 samples.
    """
    n_samples = genes.values.shape[1]
    codes = np.take_along_axis(genes.codes, genes.order.astype(np.int64), axis=1)
    places = np.arange(n_samples)
    begins = np.ones(codes.shape, dtype=bool)
    begins[:, 1:] = codes[:, 1:] != codes[:, :-1]
    last = np.where(np.roll(begins, -1, axis=1), places, n_samples)[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    values = genes.values.astype(np.float32) if kinc else genes.values  # as the kernels find them
    made = genes._asdict()
    made["n_usable"] = made.pop("usable")
    return made | {
        "outlying": bit_words(tukey_outliers(values, genes.codes >= 0)),
        "order": genes.order.astype(np.uint16),
        "run_first": np.maximum.accumulate(np.where(begins, places, 0), axis=1).astype(np.uint16),
        "run_last": last.astype(np.uint16),
        "tied": np.asarray((~begins & (codes >= 0)).any(axis=1), dtype=np.uint8),
    }
