"""Bit planes: the samples of one gene at one level as the bits of 32-bit words.

Counting samples in which several genes are at given levels is then AND and population count.
Words of 32 bits, because a vector of their counts converts to float32 lane by lane.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing import Signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from pairtile.cpu.njit import njit

WORD_BITS = 32


def n_words(n_samples: int) -> int:
    """Words that hold ``n_samples`` bits, at least one."""
    return max(1, -(-n_samples // WORD_BITS))


def bit_planes(levels: NDArray[np.integer], n_levels: int) -> NDArray[np.uint32]:
    """Planes of every gene: uint32 (n_genes, n_levels, words), sample s in bit s % 32 of word s/32.

    levels : integers (n_genes, n_samples), 0 .. n_levels - 1; anything else is missing and lies
    in no plane. Unused bits are 0.
    """
    levels = np.ascontiguousarray(levels)
    planes = np.zeros((levels.shape[0], n_levels, n_words(levels.shape[1])), dtype=np.uint32)
    _fill_planes(levels, planes)
    return planes


@intrinsic
def popcount(typing_context: object, word: types.Type) -> tuple[Signature | None, object]:
    """Bits set in an integer, of the integer's own type; the compiler vectorises it."""

    def generate(
        context: object, builder: ir.IRBuilder, signature: object, arguments: list[ir.Value]
    ) -> ir.Instruction:
        return builder.ctpop(arguments[0])

    return word(word) if isinstance(word, types.Integer) else None, generate


@njit(nogil=True)
def _fill_planes(levels, planes):  # type: ignore[no-untyped-def]
    for gene in range(levels.shape[0]):
        for sample in range(levels.shape[1]):
            level = levels[gene, sample]
            if 0 <= level < planes.shape[1]:
                planes[gene, level, sample >> 5] |= np.uint32(1) << np.uint32(sample & 31)
