"""Exhaustive search for the predictor sets of least mean conditional entropy.

The search is an array-in, array-out function: levels of candidate predictors and of targets, both
(rows, samples), already paired in time (predictors at t, target at t + lag). The score and its
order of operations are those of ``kernels/mean_conditional_entropy``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import bit_planes
from pairtile.gpu.device import Device
from pairtile.methods.predictor_pairs.best import Best, all_tied, join_best, reduce_best
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import (
    NO_KEY,
    PENALTIES,
    n_log_n_table,
    poor_entropy_bits,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_screens import (
    bound_coefficients,
)
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy_tables import cell_entropies

__all__ = ["Best", "PredictorSearch", "SearchSettings", "reduce_best"]

MAX_TOP = 1000
MAX_SAMPLES = 1 << 22
"""Counts and their float32 bounds are exact far beyond this; it keeps both so."""


@dataclass(frozen=True)
class SearchSettings:
    """What is searched, and how sets are scored.

    levels       q, 2 to 4
    cardinality  predictors in a set: 1, 2 or 3
    penalty      ``none``, ``no_obs`` (with ``alpha`` >= 0) or ``poor_obs`` (``beta`` in (0, 1])
    top          sets to report for each target, 1 to 1000
    min_samples  sets with fewer samples, all their levels present, are not admissible
    """

    levels: int
    cardinality: int = 2
    penalty: str = "no_obs"
    alpha: float = 1.0
    beta: float = 0.8
    top: int = 10
    min_samples: int = 1

    def __post_init__(self) -> None:
        allowed = {"levels": (2, 4), "cardinality": (1, 3), "top": (1, MAX_TOP)}
        for name, (low, high) in allowed.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} is {value}; expected {low} to {high}")
        if self.penalty not in PENALTIES:
            raise ValueError(f"penalty is {self.penalty!r}; expected one of {', '.join(PENALTIES)}")
        if not 0.0 <= self.alpha < np.inf:
            raise ValueError(f"alpha is {self.alpha}; expected a finite number, 0 or more")
        if not 0.0 < self.beta <= 1.0:
            raise ValueError(f"beta is {self.beta}; expected more than 0 and at most 1")
        if self.min_samples < 1:
            raise ValueError(f"min_samples is {self.min_samples}; expected 1 or more")

    @property
    def penalty_code(self) -> int:
        """The penalty as kernels know it: its place in ``PENALTIES``."""
        return PENALTIES.index(self.penalty)

    @property
    def poor_bits(self) -> float:
        """Entropy that ``poor_obs`` gives to a cell seen once."""
        return poor_entropy_bits(self.beta, self.levels)


class PredictorSearch:
    """Searches the sets of one table of candidate predictors.

    predictors : int8 (n_predictors, n_samples), levels 0 .. q-1, -1 where missing.
    """

    def __init__(
        self, predictors: NDArray[np.int8], settings: SearchSettings, device: Device
    ) -> None:
        self.settings = settings
        self.device = device
        self.predictors = check_levels("predictors", predictors, settings.levels)
        self.n_predictors, self.n_samples = self.predictors.shape
        if self.n_samples > MAX_SAMPLES:
            raise ValueError(
                f"there are {self.n_samples:,} samples; expected up to {MAX_SAMPLES:,}"
            )
        self.planes = bit_planes(self.predictors, settings.levels)
        self.complete = bool((self.predictors >= 0).all())
        self.log_table = n_log_n_table(self.n_samples)

    def best(
        self,
        targets: NDArray[np.int8],
        exclude: NDArray[np.int32],
        first_begin: int,
        first_end: int,
        cut: NDArray[np.int64] | None = None,
    ) -> Best:
        """Score every set whose first predictor is in [first_begin, first_end), for every target.

        targets : int8 (n_targets, n_samples)
        exclude : int32 (n_targets,), a predictor whose sets are left out for this target, or -1
        cut : int64 (n_targets,), sets with a larger key are not reported. Counts of the keys that
        are reported are exact with and without it.

        Raises ValueError where shapes, levels or the range do not fit.
        """
        targets, exclude, cut = self.check_targets(targets, exclude, cut)
        if not 0 <= first_begin <= first_end <= self.n_predictors:
            raise ValueError(
                f"first predictors are {first_begin} to {first_end}; "
                f"expected a range within 0 to {self.n_predictors}"
            )
        if self.device.backend == "cuda":
            from pairtile.methods.predictor_pairs.search_cuda import best_cuda as search
        else:
            from pairtile.methods.predictor_pairs.search_cpu import best_cpu as search
        settings = self.settings
        tied = self._ties_all_sets(targets)
        if not tied.any():
            return search(self, targets, exclude, first_begin, first_end, cut)
        rows = np.flatnonzero(tied & (cut >= 0)).astype(np.int32)
        others = np.flatnonzero(~tied).astype(np.int32)
        found = search(self, targets[others], exclude[others], first_begin, first_end, cut[others])
        ties = all_tied(
            rows,
            exclude[rows],
            self.n_predictors,
            settings.cardinality,
            first_begin,
            first_end,
            settings.top,
        )
        return join_best([replace(found, target=others[found.target]), ties], settings.top)

    def _ties_all_sets(self, targets: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which targets every set scores 0 for: constant ones, if neither they nor predictors lack
        levels. (Not with ``poor_obs``, which gives cells seen once an entropy of their own.)"""
        settings = self.settings
        known = self.complete and self.n_samples >= settings.min_samples
        if not known or settings.penalty == "poor_obs":
            return np.zeros(len(targets), dtype=bool)
        constant: NDArray[np.bool_] = (targets == targets[:, :1]).all(axis=1) & (targets[:, 0] >= 0)
        return constant

    @property
    def score_arguments(self) -> tuple[NDArray[np.float64], int, float, float]:
        """Table, penalty, alpha and poor, as kernels take them."""
        settings = self.settings
        return (
            self.log_table,
            settings.penalty_code,
            float(settings.alpha),
            float(settings.poor_bits),
        )

    @cached_property
    def bound_coefficients(self) -> NDArray[np.float32]:
        """Coefficients of a lower bound; see ``mean_conditional_entropy_screens``."""
        _, penalty, alpha, _ = self.score_arguments
        return bound_coefficients(self.n_samples, penalty, alpha)

    @cached_property
    def cell_entropies(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Look-up table of a cell's part of the score; see ``mean_conditional_entropy_tables``."""
        return cell_entropies(self.settings.levels, *self.score_arguments)

    def check_targets(
        self, targets: NDArray[np.int8], exclude: NDArray[np.int32], cut: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int64]]:
        """The three as kernels take them; without ``cut``, no key is too large."""
        targets = check_levels("targets", targets, self.settings.levels)
        n_targets = len(targets)
        if targets.shape[1] != self.n_samples:
            raise ValueError(
                f"targets have {targets.shape[1]} samples; expected {self.n_samples}, "
                "as the predictors have"
            )
        exclude = np.ascontiguousarray(exclude, dtype=np.int32)
        cut = np.full(n_targets, NO_KEY - 1) if cut is None else np.ascontiguousarray(cut, np.int64)
        for name, values in (("exclude", exclude), ("cut", cut)):
            if values.shape != (n_targets,):
                raise ValueError(f"{name} has shape {values.shape}; expected ({n_targets},)")
        return targets, exclude, cut


def check_levels(name: str, levels: NDArray[np.int8], n_levels: int) -> NDArray[np.int8]:
    """The table as contiguous int8; ValueError unless it is 2-D with levels -1 .. n_levels - 1."""
    table = np.ascontiguousarray(levels)
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise ValueError(
            f"{name} have type {table.dtype} and {table.ndim} dimensions; "
            "expected integers, (rows, samples)"
        )
    if table.size and (table.min() < -1 or table.max() >= n_levels):
        wrong = table.min() if table.min() < -1 else table.max()
        raise ValueError(
            f"{name} hold the level {wrong}; expected 0 to {n_levels - 1}, or -1 for missing"
        )
    return table.astype(np.int8, copy=False)
