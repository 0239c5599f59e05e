"""The threshold of the correlation by random matrix theory (Luo et al. 2007)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.eigenvalues import (
    NetworkEigenvalues,
    PartTooLargeError,
)
from pairtile.methods.multimodal_correlation.thresholds import RankedPairs, Threshold, walk
from pairtile.methods.multimodal_correlation.unfolding import chi_square, distinct, spacing_density

RULES = ("symmetric", "kinc")
SEPARATE = 99.607
"""Below this chi-square (60 bins, p = 0.001) spacings are taken for those of separate modules."""
RANDOM = 200.0
"""From this chi-square on the network is taken to be tied together by noise."""
LEAST_EIGENVALUES = 50  # below, no pace leaves five knots

_CPU = Device("cpu", "", "")


def random_matrix_threshold(
    i: ArrayLike,
    j: ArrayLike,
    r: ArrayLike,
    n_genes: int,
    *,
    start: float = 0.99,
    step: float = 0.001,
    stop: float | None = None,
    rule: str = "symmetric",
    min_eigenvalues: int = LEAST_EIGENVALUES,
    device: Device | None = None,
    on_step: Callable[[dict[str, Any]], None] | None = None,
) -> Threshold:
    """The threshold at which a network of modules turns into one that noise ties together.

    The threshold t goes down from ``start``. At each, the matrix has the genes with a pair of
    ``|r| >= t``, the correlations of these pairs, zeros for the others and ones on the diagonal.
    The spacings of its distinct eigenvalues are held against those of separate modules, by
    chi-square (``unfolding.chi_square``). The threshold is the last t with a chi-square below
    99.607; the walk ends once a later one reaches 200, or, without a threshold, at the lowest.

    Parameters
    ----------
    i, j, r : array-like, shape (modes,)
        Gene numbers and correlation of each mode, in any order. Of several modes of a pair the
        one of largest ``|r|`` counts. Correlations are taken in single precision.
    n_genes : int
        Genes are numbered 0 .. n_genes - 1.
    start, step : float
        Of the walk.
    stop : float or None
        Where it ends; None, or below it: the smallest ``|r|`` there is.
    rule : str
        Which genes are in the matrix. ``symmetric``: every gene with a pair of ``|r| >= t``.
        ``kinc``: as KINC 3, only those that have one with a gene of lower number, and thresholds
        counted down in single precision. It depends on the order of the genes.
    min_eigenvalues : int
        With fewer distinct eigenvalues no chi-square is computed; at least 50.
    device : Device or None
        Where to compute eigenvalues; None: the CPU.
    on_step : callable or None
        Called with each row of the curve when it is there, for a log.

    Returns
    -------
    Threshold
        ``curve``: ``threshold``, ``genes``, ``edges``, ``eigenvalues`` (distinct ones),
        ``chi_square`` (NaN where there are too few). ``spacings``: the distribution of spacings
        (``unfolding.spacing_density``) with a column ``threshold``, at the first step with a
        chi-square, at the threshold, and at the last step.

    Raises
    ------
    ValueError
        For settings or arrays that make no sense (``thresholds.RankedPairs.of``).
    """
    if rule not in RULES:
        raise ValueError(f"rule: found {rule!r}; expected one of {', '.join(RULES)}")
    if min_eigenvalues < LEAST_EIGENVALUES:
        raise ValueError(
            f"min_eigenvalues: found {min_eigenvalues}; expected at least {LEAST_EIGENVALUES}"
        )
    pairs = RankedPairs.of(i, j, r, n_genes)
    lowest = float(pairs.size[-1]) if pairs.size.size else start
    search = _Search(pairs, n_genes, rule, min_eigenvalues, device or _CPU)
    trouble = ""
    for threshold in walk(start, step, stop, lowest, single=rule == "kinc"):
        try:
            row = search.step(threshold)
        except PartTooLargeError as error:
            trouble = f"at {threshold:.6g} {error}"
            break
        if on_step:
            on_step(row)
        if search.ended:
            break
    return search.outcome(start, trouble)


class _Search:
    """The walk: curve and state so far."""

    def __init__(
        self, pairs: RankedPairs, n_genes: int, rule: str, least: int, device: Device
    ) -> None:
        self.ended = False
        self._pairs = pairs
        self._n_genes = n_genes
        self._rule = rule
        self._least = least
        self._solver = NetworkEigenvalues(n_genes, device)
        self._rows: list[dict[str, Any]] = []
        self._last: float | None = None  # threshold with a chi-square below SEPARATE
        self._highest_after = -np.inf
        self._values = np.empty(0)  # distinct eigenvalues of the last step
        self._shown: dict[str, tuple[float, NDArray[np.float64]]] = {}

    def step(self, threshold: float) -> dict[str, Any]:
        count = self._pairs.count(threshold)
        if self._rows and self._rows[-1]["edges_above"] == count:
            row = {**self._rows[-1], "threshold": threshold}  # the same network
        else:
            row = {"threshold": threshold, "edges_above": count, **self._measure(count)}
        self._rows.append(row)
        chi = row["chi_square"]
        if np.isnan(chi):
            return row
        here = (threshold, self._values)
        self._shown.setdefault("first", here)
        self._shown["last"] = here
        if chi < SEPARATE:
            self._last, self._highest_after = threshold, -np.inf
            self._shown["threshold"] = here
        elif self._last is not None:
            self._highest_after = max(self._highest_after, chi)
            self.ended = chi >= RANDOM
        return row

    def _measure(self, count: int) -> dict[str, Any]:
        i, j, r = self._pairs.i[:count], self._pairs.j[:count], self._pairs.r[:count]
        present = np.zeros(self._n_genes, dtype=bool)
        present[j] = True
        if self._rule == "kinc":
            inside = present[i]
            i, j, r = i[inside], j[inside], r[inside]
        else:
            present[i] = True
        genes = np.flatnonzero(present)
        self._values = distinct(self._solver.of(genes, i, j, r)) if genes.size else np.empty(0)
        enough = self._values.size >= self._least
        return {
            "genes": genes.size,
            "edges": i.size,
            "eigenvalues": self._values.size,
            "chi_square": chi_square(self._values) if enough else np.nan,
        }

    def outcome(self, start: float, trouble: str) -> Threshold:
        columns = ["threshold", "genes", "edges", "eigenvalues", "chi_square"]
        curve = pd.DataFrame(self._rows, columns=columns)
        curve = curve.astype({"threshold": float, "chi_square": float})
        found = self._last if self.ended else None
        if found is None:
            self._shown.pop("threshold", None)
        shown = [
            spacing_density(values).assign(threshold=threshold)
            for threshold, values in dict(self._shown.values()).items()
        ]
        spacings = pd.concat(shown, ignore_index=True) if shown else pd.DataFrame()
        message = self._words(curve, found, start, trouble)
        return Threshold(found, curve, message, spacings)

    def _words(self, curve: pd.DataFrame, found: float | None, start: float, trouble: str) -> str:
        if found is not None:
            row = curve[curve["threshold"] == found].iloc[0]
            return (
                f"threshold {found:.6g}: the last with a chi-square below {SEPARATE:g} "
                f"({row['chi_square']:.1f}, {int(row['genes']):,} genes, {int(row['edges']):,} "
                f"edges); at {curve['threshold'].iloc[-1]:.6g} it is "
                f"{curve['chi_square'].iloc[-1]:.1f}"
            )
        if curve.empty:
            if trouble:
                return f"no threshold found: {trouble}. {_MEMORY}{_OTHER}"
            return (
                f"no threshold found: the weakest pair has |r| = {self._pairs.size[-1]:.6g}, above "
                f"the start of the walk, {start:g}. Keep weaker pairs (a lower "
                f"estimator.min_correlation), or {_OTHER}"
            )
        begin, end = curve["threshold"].iloc[0], curve["threshold"].iloc[-1]
        none = f"no threshold found between {begin:.6g} and {end:.6g}"
        chi = curve["chi_square"]
        if trouble:
            return f"{none}: {trouble}. {_MEMORY}{_OTHER}"
        if chi.isna().all():
            return (
                f"{none}: at most {int(curve['eigenvalues'].max())} distinct eigenvalues, of "
                f"{int(curve['genes'].max())} genes; {self._least} are needed. Keep weaker pairs "
                f"(a lower estimator.min_correlation), or {_OTHER}"
            )
        if self._last is None:
            return (
                f"{none}: chi-square never falls below {SEPARATE:g} (least {chi.min():.1f}). Even "
                "the strongest correlations tie genes together, as few samples, outliers or data "
                f"that are not normalised make them. Look at the data, begin higher (start), or "
                f"{_OTHER}"
            )
        highest = (
            f"the highest after that is {self._highest_after:.1f}"
            if np.isfinite(self._highest_after)
            else "and none follows"
        )
        return (
            f"{none}: chi-square is below {SEPARATE:g} down to {self._last:.6g}, but never "
            f"reaches {RANDOM:g} after it ({highest}). Keep weaker pairs (a lower "
            f"estimator.min_correlation), so that the walk can go on, or {_OTHER}"
        )


_MEMORY = "Take a device with more memory (backend: cpu, where the GPU's is short), or "
_OTHER = "take threshold: {method: power_law} or {method: score, score: x}"
