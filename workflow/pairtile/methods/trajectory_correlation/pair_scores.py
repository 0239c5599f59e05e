"""Scores of blocks of pairs over all replicas, each against its own time-shifted surrogates.

Surrogates keep each series' own memory, and lose the pair's: frames that are shuffled lose their
correlation in time, and any two slow variables then look significant. Shifting one of the two
series in time, around its end, keeps both as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtr

from pairtile.arrays import BoolArray, DeviceArray, Float64Array, FloatingArray, Int64Array
from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import (
    MotionPairs,
    finite_sample_bias,
    generalized_correlation,
)
from pairtile.methods.trajectory_correlation.kernels import surrogates
from pairtile.methods.trajectory_correlation.pair_blocks import Variables, numbers_of
from pairtile.runtime.threads import in_threads

HISTOGRAM_BINS = 200
"""Of correlations, from 0 (of a signed correlation, from -1) to 1."""

HALVES = ("correlation_half_1", "correlation_half_2")
"""Columns of the two halves of the data, which show whether communities are found again."""

_REPLICAS_OF_HALVES = (slice(0, None, 2), slice(1, None, 2))


@dataclass(frozen=True)
class ScoredMotion:
    """A block of pairs.

    blocks : columns of the pairs table, float64 (rows, columns) each; where only some cells are
    wanted, float64 (wanted cells,), row by row. mi_nats : mean over the
    replicas, by their weights; NaN for ``kind: dcc``. correlation : the generalized correlation of
    ``mi_nats``, or the DCC for ``kind: dcc``. dcc : mean over the replicas; NaN for angles.

    With surrogates, of their ``mi_nats`` (or DCC) null_mean, null_sd, p_value; mi_centred,
    correlation_centred (see ``centred``; not for ``kind: dcc``); from two replicas on also
    correlation_half_1, correlation_half_2: the same of the replicas with odd and with even numbers
    (for ``kind: dcc`` the DCC).

    From two replicas on mi_sd, correlation_sd, dcc_sd : standard deviation over them (n - 1);
    correlation_se : correlation_sd as standard error of the mean; and
    mi_replica_1, ... (without the mean of the replica's own surrogates, where there are any; not
    for ``kind: dcc``), dcc_replica_1, ....

    null_counts : int64 (bins,), correlations of the surrogates of these pairs.
    """

    blocks: dict[str, Float64Array]
    null_counts: Int64Array


class MotionScores:
    """Scores blocks of the variables of an analysis.

    A pair's value is the mean over the replicas, by weight, each estimated by itself and never
    joined with another. The s-th surrogate of a pair is the mean over the replicas of what each
    gives under its own s-th shift, so that value and null are the same statistic.
    """

    def __init__(
        self,
        replicas: list[FloatingArray],
        settings: list[MotionEstimatorConfig],
        shifts: Sequence[Int64Array],
        device: Device,
        weights: Float64Array | None = None,
    ) -> None:
        """
        Parameters
        ----------
        replicas
            Series (variables, d, frames) of each, of the same variables; may be memory-mapped.
        settings
            Of each replica: they differ in the Theiler window alone.
        shifts
            Of each replica frames, int64 (surrogates,), or orders of its frames, int64
            (surrogates, frames); no surrogates, or two at least.
        device
            Where to compute.
        weights
            Of each replica in means over them, 0 for one that is left out; None: all alike.
        """
        self.replicas = replicas
        self.settings = settings
        self.shifts = shifts
        self.n_surrogates = len(shifts[0])
        self.device = device
        self.weights = weights
        self.d = int(replicas[0].shape[1])
        self.kind = settings[0].facts
        self._bias = 0.0
        if self.kind.known_bias and settings[0].corrected:
            biases = [finite_sample_bias(self.d, part.shape[2])[-1, -1] for part in replicas]
            self._bias = float(np.average(biases, weights=weights))

    def block(
        self, rows: Variables, columns: Variables, wanted: BoolArray | None = None
    ) -> ScoredMotion:
        """Score row against column variables.

        ``wanted``: bool (rows, columns), the cells that are scored (None: all). A block for which
        the device has no room is scored in parts.

        Raises ``DeviceError`` where there is no room for a single pair.
        """
        try:
            return self._block(rows, columns, wanted)
        except MemoryError as error:  # CuPy's is one, too
            self._let_go()
            if len(numbers_of(rows)) == 1 and len(numbers_of(columns)) == 1:
                raise DeviceError(
                    f"memory: found no room for one pair of {self.replicas[0].shape[2]} frames; "
                    "expected more free memory"
                ) from error
        sides = numbers_of(rows), numbers_of(columns)
        along = 0 if len(sides[0]) >= len(sides[1]) else 1
        middle = len(sides[along]) // 2
        joined: dict[str, Float64Array] = {}
        counts = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
        for inside in (slice(0, middle), slice(middle, None)):
            here, there = (sides[0][inside], columns) if along == 0 else (rows, sides[1][inside])
            place = (slice(None),) * along + (inside,)
            part = self.block(here, there, None if wanted is None else wanted[place])
            filled = np.zeros((len(sides[0]), len(sides[1])), dtype=bool)
            filled[place] = True
            filled = filled if wanted is None else filled[wanted]
            for name, values in part.blocks.items():
                joined.setdefault(name, np.empty(filled.shape))[filled] = values.ravel()
            counts += part.null_counts
        return ScoredMotion(joined, counts)

    def n_frames(self, rows: Variables, columns: Variables) -> Int64Array:
        """Frames that both variables have, in all replicas: int64 (rows, columns)."""
        return np.sum([pairs.frames_block(rows, columns) for pairs in self._pairs], axis=0)

    def correlation(self, values: DeviceArray) -> DeviceArray:
        """Mutual information in nats as generalized correlation; a DCC as it is."""
        return values if self.kind.signed else generalized_correlation(values, self.d)

    def normal(self, values: DeviceArray) -> DeviceArray:
        """The statistic that p-values are taken of: as nearly normal among unrelated motions as a
        known function of the value makes it.

        Gaussian mutual information scatters like chi squared, whose cube root is nearly normal
        (Wilson and Hilferty 1931); that of splines has a longer tail still, of which the logarithm
        is nearly normal. Without these, p-values below 0.001 come five times too often. KSG and DCC
        are nearly normal as they are.
        """
        function = self.kind.nearly_normal
        return (
            values
            if function is None
            else _of_parts(lambda part: function(np, part, self._bias), values)
        )

    def histogram(self, values: DeviceArray) -> Int64Array:
        """Counts of the correlations of mutual informations in nats, or of DCCs: int64 (bins,)."""
        if not isinstance(values, np.ndarray):
            xp = self.device.xp
            share = (values + 1.0) / 2.0 if self.kind.signed else self.correlation(values)
            place = xp.nan_to_num(share * HISTOGRAM_BINS).clip(0, HISTOGRAM_BINS - 1)
            found = xp.bincount(place.astype(np.int32).ravel(), minlength=HISTOGRAM_BINS)
            return self.device.to_host(found).astype(np.int64)
        # Parts that are counted by themselves, at most by so many threads.
        counts = np.zeros((max(1, min(64, values.size >> 12)), HISTOGRAM_BINS), dtype=np.int64)
        surrogates.count_correlations(_flat(values), 0 if self.kind.signed else self.d, counts)
        return counts.sum(axis=0)

    def _mean(self, parts: list[DeviceArray], which: slice = slice(None)) -> DeviceArray:
        """Mean over replicas, by their weights; over all alike where none of ``which`` counts."""
        parts = parts[which]
        weights = None if self.weights is None else self.weights[which]
        if len(parts) == 1 or weights is None or not weights.any():
            return parts[0] if len(parts) == 1 else np.mean(np.stack(parts), axis=0)
        # What is left out may hold NaN.
        counted = [w * part for w, part in zip(weights, parts, strict=True) if w > 0.0]
        return np.sum(np.stack(counted), axis=0) / weights.sum()

    # --- one block ------------------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> list[MotionPairs]:
        parts = zip(self.replicas, self.settings, strict=True)
        return [MotionPairs(series, how, self.device) for series, how in parts]

    def _let_go(self) -> None:
        self.__dict__.pop("_pairs", None)  # opened anew when asked for
        if self.device.backend == "cuda":
            self.device.xp.get_default_memory_pool().free_all_blocks()

    def _block(self, rows: Variables, columns: Variables, wanted: BoolArray | None) -> ScoredMotion:
        cells, to_host = self._cells(wanted), self.device.to_host
        there = [pairs.block(rows, columns, wanted=wanted)[cells] for pairs in self._pairs]
        each = [to_host(part) for part in there]
        value, n = self._mean(each), len(each)
        unknown = np.full(value.shape, np.nan)
        if self.kind.signed:
            dcc_of_each, mi_nats = each, unknown
        else:
            dcc_of_each = [
                to_host(pairs.dcc_block(rows, columns, wanted=wanted)[cells])
                if not self.kind.cyclic
                else unknown
                for pairs in self._pairs
            ]
            mi_nats = value
        blocks = {
            "mi_nats": mi_nats,
            "correlation": self.correlation(value),
            "dcc": self._mean(dcc_of_each),
        }
        counts, own_means = np.zeros(HISTOGRAM_BINS, dtype=np.int64), [np.zeros_like(value)] * n
        if self.n_surrogates:
            null, counts, own_means = self._surrogates(there, rows, columns, wanted)
            blocks |= null
        if n > 1:
            spread = np.std([self.correlation(part) for part in each], axis=0, ddof=1)
            blocks |= {
                "correlation_sd": spread,
                "correlation_se": spread / np.sqrt(n),
                "mi_sd": unknown if self.kind.signed else np.std(each, axis=0, ddof=1),
                "dcc_sd": np.std(dcc_of_each, axis=0, ddof=1),
                **{f"dcc_replica_{k}": part for k, part in enumerate(dcc_of_each, 1)},
            }
            if not self.kind.signed:
                parts = zip(each, own_means, strict=True)
                blocks |= {f"mi_replica_{k}": a - b for k, (a, b) in enumerate(parts, 1)}
        return ScoredMotion(blocks, counts)

    def _cells(self, wanted: BoolArray | None) -> DeviceArray:
        return ... if wanted is None else self.device.xp.asarray(wanted)

    def _surrogates(
        self,
        each: list[DeviceArray],
        rows: Variables,
        columns: Variables,
        wanted: BoolArray | None,
    ) -> tuple[dict[str, Float64Array], Int64Array, list[Float64Array]]:
        """``each``: the values of the replicas. Gives columns, counts, and of each replica the mean
        of its surrogates.

        NumPy's functions work where the values are, and all sums stay there: to add up on the host
        takes half as long as the estimates of a GPU.
        """
        to_host = self.device.to_host
        observed, cells = self._mean(each), self._cells(wanted)
        moments = SurrogateMoments(observed)
        halves = [
            SurrogateMoments(self._mean(each, part))
            for part in _REPLICAS_OF_HALVES
            if len(each) > 1
        ]
        normal = SurrogateMoments(self.normal(observed))
        counts = np.zeros(HISTOGRAM_BINS, dtype=np.int64)
        own_sums = [np.zeros_like(observed) for _ in each]
        for number in range(self.n_surrogates):
            parts = [
                pairs.block(rows, columns, shifts[number], wanted)[cells]
                for pairs, shifts in zip(self._pairs, self.shifts, strict=True)
            ]
            for total, part in zip(own_sums, parts, strict=True):
                total += part
            shifted = self._mean(parts)
            moments.add(shifted)
            for half, which in zip(halves, _REPLICAS_OF_HALVES, strict=False):
                half.add(self._mean(parts, which))
            normal.add(self.normal(shifted))
            counts += self.histogram(shifted)
        for sums in (moments, normal, *halves):
            sums.bring(to_host)
        null = {
            "null_mean": moments.mean,
            "null_sd": moments.standard_deviation,
            "p_value": normal.p_value(two_sided=self.kind.signed),
        }
        if not self.kind.signed:
            null |= {
                "mi_centred": moments.centred,
                "correlation_centred": self.correlation(moments.centred),
            }
        null |= {
            name: self.correlation(half.observed if self.kind.signed else half.centred)
            for name, half in zip(HALVES, halves, strict=False)
        }
        return null, counts, [to_host(total) / self.n_surrogates for total in own_sums]


def _flat(values: Float64Array) -> Float64Array:
    """All cells in one row: of an array that is in order, the same memory."""
    return np.ascontiguousarray(values).reshape(-1)


def _of_parts(function: Callable[[DeviceArray], DeviceArray], values: DeviceArray) -> DeviceArray:
    """A function of each value; on the host in threads."""
    if not isinstance(values, np.ndarray):
        return function(values)
    parts = np.array_split(_flat(values), max(1, values.size // (1 << 15)))
    return np.concatenate(list(in_threads(function, parts))).reshape(values.shape)


# --- surrogates -----------------------------------------------------------------------------------


class SurrogateMoments:
    """Mean and standard deviation of the surrogates of a block, added one by one where they are,
    and on the host from ``bring`` on."""

    def __init__(self, observed: DeviceArray) -> None:
        """``observed``: the values that surrogates are held against, any shape."""
        self.observed = observed
        self.number = 0
        self.mean = np.zeros_like(observed, order="C")
        self._squares = np.zeros_like(observed, order="C")

    def bring(self, to_host: Callable[[DeviceArray], Float64Array]) -> None:
        """Bring all to the host."""
        arrays = self.observed, self.mean, self._squares
        self.observed, self.mean, self._squares = map(to_host, arrays)

    def add(self, surrogate: DeviceArray) -> None:
        """Take in the values under one more shift (Welford)."""
        self.number += 1
        if isinstance(surrogate, np.ndarray):
            surrogates.add(_flat(surrogate), self.number, _flat(self.mean), _flat(self._squares))
        else:
            difference = surrogate - self.mean
            self.mean += difference / self.number
            self._squares += difference * (surrogate - self.mean)

    @property
    def standard_deviation(self) -> Float64Array:
        """Of the surrogates, with n - 1; 0 for a single one."""
        return np.asarray(np.sqrt(self._squares / max(1, self.number - 1)))

    @property
    def centred(self) -> Float64Array:
        """``observed`` minus the mean of its own surrogates.

        The bias of few independent frames is that of the surrogates, which are as slow: of normal
        variables it does not depend on what they share (their entropies' expectation differs from
        the true one by a function of the number of frames alone, as in ``finite_sample_bias``).
        """
        return np.asarray(self.observed - self.mean)

    def p_value(self, two_sided: bool = False) -> Float64Array:
        """See :func:`p_value`."""
        spread = self.standard_deviation
        return p_value(self.observed, self.mean, spread, self.number, two_sided)


def p_value(
    observed: Float64Array,
    null_mean: Float64Array,
    null_standard_deviation: Float64Array,
    number: int,
    two_sided: bool = False,
) -> Float64Array:
    """Chance that one more surrogate is as large as ``observed``; ``two_sided``: or as small, where
    values may lie on either side of the surrogates.

    Student's t with ``number`` - 1 degrees of freedom for the next draw of a normal population of
    which ``number`` are known. Unlike ranks it resolves small chances with 20 surrogates; far out
    it rests on the assumption that surrogates are normal. 0.5 where all surrogates and the value
    are one; NaN where ``observed`` is. Needs at least two surrogates (``ValueError``).
    """
    if number < 2:
        raise ValueError(f"surrogates: found {number}; expected 2 or more for a p-value")
    spread = null_standard_deviation * np.sqrt(1.0 + 1.0 / number)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (observed - null_mean) / spread
    t = np.where(np.isnan(t) & ~np.isnan(observed), 0.0, t)
    if two_sided:
        return _of_parts(lambda part: 2.0 * stdtr(number - 1, -np.abs(part)), t)
    return _of_parts(lambda part: stdtr(number - 1, -part), t)
