"""What the fits of mixtures need to know of each gene, prepared once for all its pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import Genes

MAX_SAMPLES = 1 << 20
"""Sums of squared ranks are whole numbers of 64 bits up to here."""


def mixture_genes(
    values: NDArray[np.float64],
    keys: NDArray[np.uint64],
    min_expression: float | None = None,
    max_expression: float | None = None,
    single: bool = False,
) -> Genes:
    """Prepare the genes of an expression table.

    values : float64 (genes, samples), NaN where missing; values outside
    [min_expression, max_expression] count as missing.
    keys : uint64 (genes,), names as numbers: they decide the order within a pair and what is drawn.
    single : round values to float32 first and keep their scale, as KINC does.

    Of what is returned: ``values`` divided by ``unit``, the power of two that brings the largest
    magnitude of a gene to [1, 2), 0 where missing; ``present``, bit s % 32 of word s / 32;
    ``order``, the gene's usable samples by ascending value, then the others; ``codes``, equal where
    values are, ascending from 0, -1 where missing; ``usable``, how many there are; ``log_n``, ln n.

    Raises ValueError where shapes do not fit.
    """
    values = np.array(values, dtype=np.float64, ndmin=2)
    keys = np.ascontiguousarray(keys, dtype=np.uint64)
    n_genes, n_samples = values.shape
    if keys.shape != (n_genes,):
        raise ValueError(f"keys have shape {keys.shape}; expected ({n_genes},)")
    if n_samples > MAX_SAMPLES:
        raise ValueError(f"there are {n_samples:,} samples; expected up to {MAX_SAMPLES:,}")
    usable = np.isfinite(values)
    with np.errstate(invalid="ignore", over="ignore"):
        if min_expression is not None:
            usable &= values >= min_expression
        if max_expression is not None:
            usable &= values <= max_expression
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
    return Genes(
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
    padded = np.zeros((n_rows, words * 32), dtype=bool)
    padded[:, :n_columns] = flags
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u4").astype(np.uint32).reshape(n_rows, words)
