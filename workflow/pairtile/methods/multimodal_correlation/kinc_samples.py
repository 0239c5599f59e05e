"""KINC's sample strings: what became of every sample in one mode of a pair of genes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

IN_MODE, ELSEWHERE, OUT_OF_RANGE, OUTLIER_BEFORE, OUTLIER_AFTER, MISSING = 1, 0, 6, 7, 8, 9
"""The digits: in the mode, in another one, beyond the limits of expression, an outlier taken away
before the mixture or after it, missing in either gene."""

_CELLS = 2_000_000  # values of one gene that are looked at together


class SampleRules(Protocol):
    """The settings that decide which samples a pair uses."""

    @property
    def min_expression(self) -> float | None: ...
    @property
    def max_expression(self) -> float | None: ...
    @property
    def outliers_before(self) -> bool: ...


def sample_strings(
    i: NDArray[Any],
    j: NDArray[Any],
    samples: NDArray[np.uint8],
    outliers: NDArray[np.uint8],
    values: NDArray[np.floating],
    rules: SampleRules,
) -> NDArray[np.bytes_]:
    """One digit for each sample, as KINC writes them.

    Parameters
    ----------
    i, j : integers, shape (modes,)
        Rows of ``values``: the genes of each mode's pair.
    samples, outliers : uint8, shape (modes, ceil(n_samples / 8))
        Bit masks (``numpy.packbits``, first sample in the highest bit): members of the mode, and
        samples that were taken away from the pair as outliers, before the mixture or after it.
    values : float, shape (genes, n_samples)
        What was paired, in the precision in which outliers were judged (single in KINC); NaN where
        missing.
    rules : SampleRules
        Which pass took an outlier away is found again from ``values`` by Tukey's rule.

    Returns
    -------
    bytes, shape (modes,), of ``n_samples`` digits each.

    Raises
    ------
    ValueError
        A mask of another width than ``values`` asks for, or a member of the mode that is missing,
        out of range or an outlier.
    """
    n_samples = values.shape[1]
    width = -(-n_samples // 8)
    for name, mask in (("samples", samples), ("outliers", outliers)):
        if mask.shape != (len(i), width):
            raise ValueError(f"{name} has shape {mask.shape}; expected {(len(i), width)}")
    strings = np.empty(len(i), dtype=f"S{n_samples}")
    block = max(1, _CELLS // n_samples)
    for start in range(0, len(i), block):
        rows = slice(start, start + block)
        member = _unpacked(samples[rows], n_samples)
        states = _states(
            values[i[rows]], values[j[rows]], member, _unpacked(outliers[rows], n_samples), rules
        )
        lost = member & (states != IN_MODE)
        if lost.any():
            row, sample = np.argwhere(lost)[0]
            raise ValueError(
                f"row {start + row}: sample {sample} is in the mode, but missing, out of range or "
                "an outlier; expected masks of these values"
            )
        strings[rows] = (states + ord("0")).view(strings.dtype)[:, 0]
    return strings


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


def _states(
    x: NDArray[np.floating],
    y: NDArray[np.floating],
    member: NDArray[np.bool_],
    outlier: NDArray[np.bool_],
    rules: SampleRules,
) -> NDArray[np.uint8]:
    missing = np.isnan(x) | np.isnan(y)
    out_of_range = ~missing & (_beyond(x, rules) | _beyond(y, rules))
    usable = ~(missing | out_of_range)
    before = np.zeros_like(usable)
    if rules.outliers_before:
        touched = np.flatnonzero((outlier & usable).any(axis=1))
        known = usable[touched]
        before[touched] = tukey_outliers(x[touched], known) | tukey_outliers(y[touched], known)
    states = np.full(x.shape, ELSEWHERE, dtype=np.uint8)
    states[member] = IN_MODE
    states[outlier & before] = OUTLIER_BEFORE
    states[outlier & ~before] = OUTLIER_AFTER
    states[out_of_range] = OUT_OF_RANGE
    states[missing] = MISSING
    return states


def _beyond(values: NDArray[np.floating], rules: SampleRules) -> NDArray[np.bool_]:
    low = -np.inf if rules.min_expression is None else rules.min_expression
    high = np.inf if rules.max_expression is None else rules.max_expression
    return np.asarray((values < low) | (values > high))


def _unpacked(mask: NDArray[np.uint8], n_samples: int) -> NDArray[np.bool_]:
    return np.unpackbits(mask, axis=1, count=n_samples).view(np.bool_)
