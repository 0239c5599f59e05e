"""Correlations of the modes of mixtures that the kernels do not know (``with_p_values``).

Either backend finds the modes and their samples, as for Spearman's correlation; the host correlates
these samples, a block of modes for each thread.
"""

from __future__ import annotations

from dataclasses import replace
from pkgutil import resolve_name

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import Float64Array, Int64Array
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import HISTOGRAM_BINS
from pairtile.methods.multimodal_correlation.mixtures import Modes, mode_arrays, pair_mixtures
from pairtile.runtime.threads import in_threads

BLOCK_VALUES = 1 << 17
"""Of either gene, in the modes that a thread correlates at a time."""


class ScoredModes:
    """``pair_mixtures`` for a correlation ``with_p_values``; values are float64 (genes, samples),
    NaN where missing."""

    def __init__(
        self,
        values: Float64Array,
        keys: NDArray[np.uint64],
        config: MultimodalCorrelationConfig,
        device: Device,
        seed: int,
    ) -> None:
        self.values, self.estimator = values, config.estimator
        # Spearman's is defined wherever no gene is constant, as these are.
        found_by = config.with_estimator(
            correlation="spearman", min_correlation=0.0, max_correlation=1.0
        )
        self._mixtures = pair_mixtures(values, keys, found_by, device, seed)

    def tile(self, rows: Int64Array, columns: Int64Array, upper: bool) -> Modes:
        """As ``MixturesCpu.tile``: of the same modes those whose correlation is within limits."""
        modes = self._mixtures.tile(rows, columns, upper)
        r, _ = self._scores(modes, rows, columns)
        least, most = self.estimator.min_correlation, self.estimator.max_correlation
        kept = (np.abs(r) >= least) & (np.abs(r) <= most)
        arrays = {name: getattr(modes, name)[kept] for name in mode_arrays(0, 0)}
        pair = arrays["row"].astype(np.int64) * len(columns) + arrays["column"]
        _, first, at, of_pair = np.unique(
            pair, return_index=True, return_inverse=True, return_counts=True
        )
        arrays["correlation"] = r[kept].astype(np.float32)
        arrays["cluster"] = (np.arange(1, pair.size + 1) - first[at]).astype(np.int32)
        arrays["n_clusters"] = of_pair[at].astype(np.int32)
        bins = np.minimum(np.floor((r + 1.0) * 100.0), HISTOGRAM_BINS - 1).astype(np.int64)
        counts = {"modes_kept": pair.size, "modes_below": r.size - pair.size}
        return replace(
            modes,
            **arrays,
            counts=modes.counts | counts,
            histogram_r=np.bincount(bins, minlength=HISTOGRAM_BINS),
        )

    def p_values(self, modes: Modes, rows: Int64Array, columns: Int64Array) -> Float64Array:
        """Two-sided p-values of no relation within the modes of a tile, float64 (entries,)."""
        return self._scores(modes, rows, columns)[1]

    def _scores(
        self, modes: Modes, rows: Int64Array, columns: Int64Array
    ) -> tuple[Float64Array, Float64Array]:
        """Correlations and p-values."""
        samples = self.values.shape[1]
        scores = resolve_name(f"{__package__}.{self.estimator.facts.with_p_values}")
        step = max(1, BLOCK_VALUES // samples)
        found = np.empty((2, len(modes)))

        def fill(begin: int) -> None:
            here = slice(begin, begin + step)
            members = np.unpackbits(modes.samples[here], axis=1, count=samples) > 0
            genes = rows[modes.row[here]], columns[modes.column[here]]
            found[:, here] = scores(*(np.where(members, self.values[g], np.nan) for g in genes))

        list(in_threads(fill, range(0, len(modes), step)))
        return found[0], found[1]
