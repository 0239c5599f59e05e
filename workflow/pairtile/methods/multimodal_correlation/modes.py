"""The samples of modes: which a mode holds, and which it could have held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.arrays import DeviceArray


@dataclass(frozen=True)
class ModeBlock:
    """Some modes of a table, ``rows`` of it; B of them, S samples.

    members : bool (B, S), the samples of the mode.
    usable : bool (B, S), the samples that the mixture of the pair could place in a mode: observed
        in both genes, within the limits of expression, not taken away as outliers. Holds members.
    outliers : bool (B, S), samples taken away as outliers.
    observed_i, observed_j : bool (B, S), samples in which the gene has a value.
    """

    rows: slice
    members: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    outliers: NDArray[np.bool_]
    observed_i: NDArray[np.bool_]
    observed_j: NDArray[np.bool_]


@dataclass(frozen=True)
class ModeSamples:
    """Modes with the expression that they were found in. M modes, S samples.

    i, j : int (M,), rows of ``values``.
    members : uint8 (M, ceil(S / 8)), bit masks of the samples (order of ``numpy.packbits``).
    values : float (genes, S), NaN where missing.
    outliers : uint8 (M, ceil(S / 8)), bit masks of samples taken away as outliers; None: none.
    min_expression, max_expression : samples outside take no part; None: no limit.
    """

    i: NDArray[np.integer]
    j: NDArray[np.integer]
    members: NDArray[np.uint8]
    values: NDArray[np.floating]
    outliers: NDArray[np.uint8] | None = None
    min_expression: float | None = None
    max_expression: float | None = None

    def __post_init__(self) -> None:
        """Raises ValueError where masks do not fit the modes and the samples."""
        shape = (len(self.i), -(-self.values.shape[1] // 8))
        for name, masks in (("members", self.members), ("outliers", self.outliers)):
            if masks is not None and masks.shape != shape:
                raise ValueError(f"{name} has shape {masks.shape}; expected {shape}")

    def __len__(self) -> int:
        """Number of modes."""
        return len(self.i)

    @property
    def n_samples(self) -> int:
        """Number of samples S of the expression table."""
        return int(self.values.shape[1])

    def blocks(self, cells: int = 1 << 18) -> Iterator[ModeBlock]:
        """All modes in order, about ``cells`` modes times samples at a time."""
        observed, inside = ~np.isnan(self.values), self.inside()
        step = max(1, cells // max(1, self.n_samples))
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            i, j = self.i[rows], self.j[rows]
            members = self._bits(self.members[rows])
            masks = self.outliers
            outliers = np.zeros_like(members) if masks is None else self._bits(masks[rows])
            # What a table of modes says was a member, was: rounding of a limit must not undo it.
            usable = (inside[i] & inside[j] & ~outliers) | members
            yield ModeBlock(rows, members, usable, outliers, observed[i], observed[j])

    def take(self, rows: NDArray[np.integer]) -> ModeSamples:
        """Some of the modes."""
        outliers = None if self.outliers is None else self.outliers[rows]
        members = self.members[rows]
        return replace(self, i=self.i[rows], j=self.j[rows], members=members, outliers=outliers)

    def inside(self) -> NDArray[np.bool_]:
        """Which values are observed and within the limits of expression, bool (genes, S)."""
        return within_limits(self.values, self.min_expression, self.max_expression)

    def _bits(self, masks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.unpackbits(masks, axis=1, count=self.n_samples).astype(bool)


def within_limits(
    values: DeviceArray,
    min_expression: float | None,
    max_expression: float | None,
    xp: ModuleType = np,
) -> DeviceArray:
    """Which values are finite and within the limits of expression; None: no limit."""
    inside = xp.isfinite(values)
    if min_expression is not None:
        inside &= values >= min_expression
    if max_expression is not None:
        inside &= values <= max_expression
    return inside


def tukey_outliers(values: NDArray[np.floating], usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which usable values of each row lie more than 1.5 interquartile ranges beyond a quartile.

    ``values`` and ``usable`` have shape (rows, samples). With n usable values v in ascending order
    the quartiles are v[floor(n / 4)] and v[floor(3 n / 4)], without interpolation (KINC 3.4).
    """
    n_usable = usable.sum(axis=1)
    # Values that do not count go to the end.
    ascending = np.sort(np.where(usable, values, np.inf), axis=1)
    rows = np.arange(len(values))
    # A row without a usable value has no outlier, whatever its quartiles.
    first = ascending[rows, n_usable // 4]
    third = ascending[rows, np.minimum(3 * n_usable // 4, values.shape[1] - 1)]
    with np.errstate(invalid="ignore"):
        reach = 1.5 * (third - first)
        beyond = (values < (first - reach)[:, None]) | (values > (third + reach)[:, None])
    return np.asarray(beyond & usable)


def packed_masks(column: Sequence[bytes], n_samples: int) -> NDArray[np.uint8]:
    """A column of binary masks as uint8 (len, ceil(n_samples / 8)).

    Raises ValueError where a mask has another length.
    """
    width = -(-n_samples // 8)
    whole = np.frombuffer(b"".join(column), dtype=np.uint8)
    if whole.size != width * len(column) or any(len(mask) != width for mask in column):
        raise ValueError(f"masks of samples are not all {width} bytes, as {n_samples} samples need")
    return whole.reshape(len(column), width)


@dataclass(frozen=True)
class PairModes:
    """Two genes over S samples and the M modes of theirs that were kept.

    names : of the two genes.
    x, y : float64 (S,), their values, NaN where missing.
    members : bool (M, S), the samples of each mode.
    outliers : bool (S,), samples taken away as outliers.
    correlation, n_samples : (M,), of each mode.
    cluster : int (M,), number of the mode among those of the pair, from 1.
    means, covariances : float64 (M, 2) and (M, 2, 2), of the components of the mixture, in units of
        the values; NaN where no mixture was fitted.
    """

    names: tuple[str, str]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    members: NDArray[np.bool_]
    outliers: NDArray[np.bool_]
    correlation: NDArray[np.float64]
    n_samples: NDArray[np.int64]
    cluster: NDArray[np.int64]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]

    @classmethod
    def of_rows(
        cls, rows: pd.DataFrame, x: ArrayLike, y: ArrayLike, names: tuple[str, str]
    ) -> PairModes:
        """From the rows of ``pairs.parquet`` of one pair, with its packed masks.

        Raises ValueError without rows, or where masks do not fit the samples.
        """
        if rows.empty:
            raise ValueError(f"found no mode of {names[0]} and {names[1]}; expected one or more")
        first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        masks = {
            name: np.unpackbits(
                packed_masks(rows[name].tolist(), first.size), axis=1, count=first.size
            ).astype(bool)
            for name in ("samples", "outliers")
        }
        spread = rows[["variance_i", "covariance", "covariance", "variance_j"]]
        return cls(
            names,
            first,
            second,
            masks["samples"],
            np.asarray(masks["outliers"].any(axis=0)),
            rows["correlation"].to_numpy(dtype=np.float64),
            rows["n_samples"].to_numpy(dtype=np.int64),
            rows["cluster"].to_numpy(dtype=np.int64),
            rows[["mean_i", "mean_j"]].to_numpy(dtype=np.float64),
            spread.to_numpy(dtype=np.float64).reshape(-1, 2, 2),
        )

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Samples with a value of both genes, bool (S,)."""
        return np.isfinite(self.x) & np.isfinite(self.y)
