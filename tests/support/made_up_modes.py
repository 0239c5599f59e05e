"""Modes drawn at random, and conditions of their samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.modes import ModeSamples


def categorical(name: str, cells: Sequence[str]) -> Condition:
    """A sample's label is its cell; it has none where that is empty."""
    labels = tuple(sorted(set(cells) - {""}))
    codes = np.array([labels.index(c) if c else -1 for c in cells], dtype=np.int32)
    return Condition(name, "categorical", labels, codes, np.full(len(cells), np.nan))


def quantitative(name: str, numbers: NDArray[np.float64]) -> Condition:
    return Condition(name, "quantitative", (), np.full(len(numbers), -1, np.int32), numbers)


def random_modes(
    seed: int,
    n_modes: int = 60,
    n_samples: int = 37,
    missing: float | NDArray[np.float64] = 0.1,
    limits: tuple[float, float] | None = None,
    outliers: float = 0.05,
) -> ModeSamples:
    """Modes of twelve genes over a table with missing values; a part of the usable samples that
    are no members are outliers."""
    random = np.random.default_rng(seed)
    values = random.normal(8.0, 2.0, size=(12, n_samples))
    values[random.random(values.shape) < missing] = np.nan
    i = random.integers(0, 12, n_modes)
    j = (i + random.integers(1, 12, n_modes)) % 12
    low, high = limits or (None, None)
    inside = ~np.isnan(values)
    if limits:
        inside &= (values >= limits[0]) & (values <= limits[1])
    usable = inside[i] & inside[j]
    draw = random.random(usable.shape)
    members = usable & (draw < random.choice([0.0, 0.1, 0.4, 0.8, 1.0], size=(n_modes, 1)))
    out = usable & ~members & (draw > 1.0 - outliers)
    masks = np.packbits(members, axis=1), np.packbits(out, axis=1)
    return ModeSamples(i, j, masks[0], values, masks[1] if outliers else None, low, high)
