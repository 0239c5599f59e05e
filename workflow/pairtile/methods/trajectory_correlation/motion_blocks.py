"""Blocks of variables made ready once and kept while there is room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device

SHARE = 0.4
"""Part of the device's free memory that prepared blocks may hold."""


class PreparedBlocks:
    """Blocks by their place in the series, least recently used ones dropped first."""

    def __init__(self, make: Callable[[slice], tuple[Any, ...]], device: Device) -> None:
        """``make`` turns a slice of the variables into arrays of the device."""
        self._make = make
        self._blocks: OrderedDict[tuple[int, int], tuple[Any, ...]] = OrderedDict()
        self._bytes = 0
        self._allowed = int(device.free_bytes() * SHARE)

    def get(self, block: slice) -> tuple[Any, ...]:
        """The prepared block, made now if it is not at hand."""
        key = (block.start, block.stop)
        if key in self._blocks:
            self._blocks.move_to_end(key)
            return self._blocks[key]
        made = self._make(block)
        self._blocks[key] = made
        self._bytes += _bytes_of(made)
        while self._bytes > self._allowed and len(self._blocks) > 2:
            self._bytes -= _bytes_of(self._blocks.popitem(last=False)[1])
        return made


def _bytes_of(arrays: tuple[Any, ...]) -> int:
    return sum(int(array.nbytes) for array in arrays)


def coordinates(
    series: NDArray[np.floating], block: slice, device: Device, *, single: bool, centred: bool
) -> Any:
    """Some variables as float64 (variables, d, frames) on the device; mean 0 if ``centred``."""
    values = np.asarray(series[block])
    if single:
        values = values.astype(np.float32)
    made = device.xp.ascontiguousarray(device.xp.asarray(values), dtype=np.float64)
    if not centred:
        return made
    centred_values = made - made.mean(axis=2, keepdims=True)
    # The mean of equal numbers may miss them by rounding: what does not move is exactly 0.
    still = (made == made[:, :, :1]).all(axis=2)
    centred_values[still] = 0.0
    return centred_values


def shifted(xp: Any, values: Any, shift: int) -> Any:
    """The series ``shift`` frames later, around its end; frames on the last axis."""
    return values if shift == 0 else xp.ascontiguousarray(xp.roll(values, -shift, axis=-1))


def mirrored(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """A square block whose upper triangle (with diagonal) is known, made symmetric."""
    return np.triu(upper) + np.triu(upper, 1).T
