"""Modes of pairs on the CPU: blocks of pairs, one thread for each; the other half is
``pair_mixtures_cuda``."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu import device
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import (
    COUNTS,
    HISTOGRAM_BINS,
    MAX_CLUSTERS,
    Found,
    modes_of_pairs,
)
from pairtile.methods.multimodal_correlation.pair_mixtures import (
    MixtureSettings,
    Modes,
    prepared_genes,
)

BLOCK = 2048
"""Pairs that a thread takes at a time: some tenths of a second of work."""

VECTORS = tuple(name for name in Found._fields if name not in ("samples", "outliers"))
"""What ``Found`` holds with the modes along the last axis; the masks have them along the first."""


class MixturesCpu:
    """``PairMixtures`` on the CPU."""

    def __init__(
        self,
        values: NDArray[np.float64],
        keys: NDArray[np.uint64],
        settings: MixtureSettings,
        threads: int | None = None,
    ) -> None:
        self.genes = prepared_genes(values, keys, settings)
        self.settings = settings
        self.rules = settings.rules()
        self.threads = device.threads() if threads is None else threads

    def tile(self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool) -> Modes:
        """As ``PairMixtures.tile``."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        columns = np.ascontiguousarray(columns, dtype=np.int64)
        n_genes = len(self.genes.keys)
        for name, numbers in (("rows", rows), ("columns", columns)):
            if numbers.size and (numbers.min() < 0 or numbers.max() >= n_genes):
                raise ValueError(f"{name} hold gene numbers outside 0 to {n_genes - 1}")
        if upper:
            row, column = np.triu_indices(len(rows), 1)
        else:
            row, column = (part.ravel() for part in np.indices((len(rows), len(columns))))
        blocks = [slice(begin, begin + BLOCK) for begin in range(0, len(row), BLOCK)]

        def run(block: slice) -> _Part:
            return self._block(rows[row[block]], columns[column[block]], block.start)

        if self.threads > 1 and len(blocks) > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                parts = list(pool.map(run, blocks))
        else:
            parts = [run(block) for block in blocks]
        return self._joined(parts, row, column)

    def _block(self, rows: NDArray[np.int64], columns: NDArray[np.int64], begin: int) -> _Part:
        found = _room(len(rows) * self.settings.max_clusters, self.genes.values.shape[1])
        counts = np.zeros(len(COUNTS), dtype=np.int64)
        histogram_k = np.zeros(MAX_CLUSTERS + 1, dtype=np.int64)
        histogram_r = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
        kept = modes_of_pairs(
            self.genes, self.rules, rows, columns, found, counts, histogram_k, histogram_r
        )
        found.pair[:kept] += begin
        # Copies: a block keeps few modes, and its room is large.
        taken = {name: getattr(found, name)[..., :kept].copy() for name in VECTORS}
        taken |= {name: getattr(found, name)[:kept].copy() for name in ("samples", "outliers")}
        return Found(**taken), counts, histogram_k, histogram_r

    def _joined(self, parts: list[_Part], row: NDArray[np.intp], column: NDArray[np.intp]) -> Modes:
        if not parts:
            parts = [self._block(np.empty(0, np.int64), np.empty(0, np.int64), 0)]
        found = Found(
            *(
                np.concatenate(arrays, axis=1 if name == "parameters" else 0)
                for name, arrays in zip(
                    Found._fields, zip(*(part[0] for part in parts), strict=True), strict=True
                )
            )
        )
        counts = dict(zip(COUNTS, _total(part[1] for part in parts).tolist(), strict=True))
        counts = {"pairs": len(row), "modes_kept": len(found.pair), **counts}
        weight, mean_row, mean_column, variance_row, variance_column, covariance = found.parameters
        return Modes(
            row=row[found.pair].astype(np.int32),
            column=column[found.pair].astype(np.int32),
            cluster=found.cluster,
            n_clusters=found.n_clusters,
            n_samples=found.n_samples,
            n_modes=found.n_modes,
            n_usable=found.n_usable,
            correlation=found.correlation,
            weight=weight,
            mean_row=mean_row,
            mean_column=mean_column,
            variance_row=variance_row,
            variance_column=variance_column,
            covariance=covariance,
            log_likelihood=found.log_likelihood,
            criterion=found.criterion,
            samples=found.samples,
            outliers=found.outliers,
            counts=counts,
            histogram_k=_total(part[2] for part in parts),
            histogram_r=_total(part[3] for part in parts),
        )


def _total(arrays: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.sum(list(arrays), axis=0, dtype=np.int64)


_Part = tuple[Found, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _room(entries: int, n_samples: int) -> Found:
    integer: dict[str, Any] = {"dtype": np.int32}
    real: dict[str, Any] = {"dtype": np.float32}
    mask = (entries, -(-n_samples // 8))
    return Found(
        pair=np.empty(entries, dtype=np.int64),
        cluster=np.empty(entries, **integer),
        n_clusters=np.empty(entries, **integer),
        n_samples=np.empty(entries, **integer),
        n_modes=np.empty(entries, **integer),
        n_usable=np.empty(entries, **integer),
        correlation=np.empty(entries, **real),
        parameters=np.empty((6, entries), **real),
        log_likelihood=np.empty(entries, **real),
        criterion=np.empty(entries, **real),
        samples=np.empty(mask, dtype=np.uint8),
        outliers=np.empty(mask, dtype=np.uint8),
    )
