"""What the kernel for pairs of genes needs of each gene beyond ``mixture_genes``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import Genes
from pairtile.methods.multimodal_correlation.mixture_genes import bit_words


def gene_arrays(genes: Genes, kinc: bool, outliers: bool) -> tuple[NDArray[Any], ...]:
    """The genes' arrays in the order of the kernel's arguments.

    Besides those of ``Genes``: bits of each gene's own outliers; for each place of ``order`` the
    first and the last place of its ties, and whether the gene has any; the place of each sample in
    ``order``, and which places are inside the gene's fences (all of them where ``outliers`` is
    False). Places are uint16: up to 65,535 samples.
    """
    n_genes, n_samples = genes.values.shape
    codes = np.take_along_axis(genes.codes, genes.order.astype(np.int64), axis=1)
    places = np.arange(n_samples)
    begins = np.ones(codes.shape, dtype=bool)
    begins[:, 1:] = codes[:, 1:] != codes[:, :-1]
    ends = np.roll(begins, -1, axis=1)
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.where(ends, places, n_samples)[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    tied = (~begins & (codes >= 0)).any(axis=1)
    low, high = _own_outliers(genes, kinc)
    inner = np.stack([low.sum(axis=1), genes.usable - high.sum(axis=1)], axis=1)
    if not outliers:
        inner = np.stack([np.zeros_like(genes.usable), genes.usable], axis=1)
    place = np.zeros((n_genes, 32 * genes.present.shape[1]), dtype=np.uint16)
    np.put_along_axis(
        place, genes.order.astype(np.int64), places[None, :].astype(np.uint16), axis=1
    )
    return (
        genes.values,
        genes.unit,
        genes.present,
        bit_words(low | high),
        genes.order.astype(np.uint16),
        first.astype(np.uint16),
        last.astype(np.uint16),
        genes.codes,
        genes.usable,
        np.asarray(tied, dtype=np.uint8),
        genes.keys,
        genes.log_n,
        place,
        inner.astype(np.int32),
    )


def _own_outliers(genes: Genes, kinc: bool) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Each gene's low and high outliers among its own usable samples, as the kernels find them
    among those of a pair."""
    kind: Any = np.float32 if kinc else np.float64
    values: NDArray[Any] = np.asarray(genes.values, dtype=kind)
    size = genes.usable.astype(np.int64)
    rows = np.arange(len(values))
    first, third = (values[rows, genes.order[rows, share * size // 4]] for share in (1, 3))
    reach = kind(1.5) * (third - first)
    usable = genes.codes >= 0
    return (values < (first - reach)[:, None]) & usable, (
        values > (third + reach)[:, None]
    ) & usable
