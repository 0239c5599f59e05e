"""The least correlation that makes an edge: sought by random matrix theory (Luo et al. 2007) or the
power law (Zhang and Horvath 2005); and the power of a correlation, by its number of samples.

Every search walks over one correlation of each pair, from high to low.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.eigenvalues import (
    NetworkEigenvalues,
    PartTooLargeError,
    chi_square,
    distinct,
    spacing_density,
)


@dataclass
class Threshold:
    """Outcome of a search for a threshold of the correlation.

    ``threshold``: keep the pairs with ``|r| >= np.float32(threshold)``; None where none was found.
    ``curve``: a row for each step of the walk. ``message``: the outcome in words; where there is
    none, why, and what to do. ``spacings``: see ``random_matrix_threshold``; empty otherwise.
    """

    threshold: float | None
    curve: pd.DataFrame
    message: str
    spacings: pd.DataFrame = field(default_factory=pd.DataFrame)


def arrays_of_walk(found: Threshold) -> dict[str, NDArray[np.generic]]:
    """The walk, for ``scores.npz``: one array for each column."""
    threshold = np.nan if found.threshold is None else found.threshold
    return {
        "threshold": np.array(threshold, dtype=np.float64),
        "threshold_unit": np.array("correlation"),
        **{f"curve_{name}": found.curve[name].to_numpy() for name in found.curve},
        **{f"spacings_{name}": found.spacings[name].to_numpy() for name in found.spacings},
    }


def table_of_walk(arrays: Mapping[str, NDArray[np.generic]], prefix: str) -> pd.DataFrame:
    """``curve`` or ``spacings`` of what ``arrays_of_walk`` gave; empty where there is none."""
    names = [name for name in arrays if name.startswith(f"{prefix}_")]
    return pd.DataFrame({name.removeprefix(f"{prefix}_"): arrays[name] for name in names})


@dataclass(frozen=True)
class RankedPairs:
    """Pairs of genes by falling ``|r|``, so that those of a threshold are the first so many.

    ``i``, ``j``: int64 (pairs,), i < j, numbers below ``n_genes``. ``r``, ``size``: float32
    (pairs,), the correlation and its absolute value. Make one with ``RankedPairs.of``.
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    r: NDArray[np.float32]
    size: NDArray[np.float32]
    n_genes: int

    @classmethod
    def of_modes(cls, i: ArrayLike, j: ArrayLike, r: ArrayLike, n_genes: int) -> RankedPairs:
        """From modes in any order: of several modes of a pair that of largest ``|r|`` counts, of
        equally large ones the positive. Correlations are taken in single precision.

        i, j, r : shape (modes,), gene numbers 0 .. n_genes - 1 and correlation of each mode.

        Raises
        ------
        ValueError
            Where arrays differ in length, a gene is not in 0 .. n_genes - 1 or paired with
            itself, or a correlation is missing or not within -1 .. 1.
        """
        first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        value = np.asarray(r, dtype=np.float32)
        if not first.shape == second.shape == value.shape or first.ndim != 1:
            raise ValueError("i, j and r: expected three lists of equal length")
        low, high = np.minimum(first, second), np.maximum(first, second)
        if low.size and (low.min() < 0 or high.max() >= n_genes or (low == high).any()):
            raise ValueError(f"i and j: expected pairs of two genes from 0 to {n_genes - 1}")
        if not (np.abs(value) <= 1).all():
            raise ValueError("r: expected correlations from -1 to 1")
        size = np.abs(value)
        order = np.lexsort((-value, high, low, -size))
        _, strongest = np.unique((low * n_genes + high)[order], return_index=True)
        if strongest.size < order.size:
            order = order[np.sort(strongest)]
        return cls(low[order], high[order], value[order], size[order], n_genes)

    @property
    def lowest(self) -> float | None:
        """The smallest ``|r|``; None without pairs."""
        return float(self.size[-1]) if self.size.size else None

    def count(self, threshold: float) -> int:
        """How many pairs have ``|r|`` of at least ``threshold`` (taken in single precision)."""
        return int(np.searchsorted(-self.size, -np.float32(threshold), side="right"))


def walk(
    start: float, step: float, stop: float | None, lowest: float, single: bool = False
) -> list[float]:
    """Thresholds from ``start`` down by ``step``, none below ``stop`` or ``lowest``.

    Parameters
    ----------
    start, step : float
        Above 0.
    stop : float or None
        Where to end; None: at ``lowest``.
    lowest : float
        Least ``|r|`` that was kept: below it the network is not known.
    single : bool
        Subtract in single precision, errors adding up, as KINC does.
    """
    if not (0 < start <= 1 and 0 < step < 1):
        raise ValueError(f"start {start}, step {step}: expected from above 0 to 1")
    end = lowest if stop is None else max(stop, lowest)
    if single:
        values = [np.float32(start)]
        while values[-1] > end:
            values.append(np.float32(values[-1] - np.float32(step)))
        return [float(value) for value in values if value >= np.float32(end)]
    n_steps = max(0, int((start - end) / step) + 2)
    decimal = (round(start - k * step, 9) for k in range(n_steps))
    return [value for value in decimal if np.float32(value) >= np.float32(end)]


# --- random matrix theory ---

RULES = ("symmetric", "kinc")
SEPARATE = 99.607
"""Below this chi-square (60 bins, p = 0.001) spacings are taken for those of separate modules."""
RANDOM = 200.0
"""From this chi-square on the network is taken to be tied together by noise."""
MIN_EIGENVALUES = 50  # below, no pace leaves five knots


def random_matrix_threshold(
    pairs: RankedPairs,
    *,
    start: float = 0.99,
    step: float = 0.001,
    stop: float | None = None,
    rule: str = "symmetric",
    min_eigenvalues: int = MIN_EIGENVALUES,
    device: Device | None = None,
) -> Threshold:
    """``pairtile.rmt_threshold`` of one correlation of each pair.

    The threshold t goes down from ``start``. At each, the matrix has the genes with a pair of
    ``|r| >= t``, the correlations of these pairs, zeros for the others and ones on the diagonal.
    The spacings of its distinct eigenvalues are held against those of separate modules, by
    chi-square (``eigenvalues.chi_square``). The threshold is the last t with a chi-square below
    99.607; the walk ends once a later one reaches 200, or, without a threshold, at the lowest.
    Under ``rule="kinc"`` thresholds are counted down in single precision, as there.

    device : where to compute eigenvalues; None: the CPU.
    """
    if rule not in RULES:
        raise ValueError(f"rule: found {rule!r}; expected one of {', '.join(RULES)}")
    if min_eigenvalues < MIN_EIGENVALUES:
        raise ValueError(
            f"min_eigenvalues: found {min_eigenvalues}; expected at least {MIN_EIGENVALUES}"
        )
    lowest = start if pairs.lowest is None else pairs.lowest
    solver = NetworkEigenvalues(pairs.n_genes, device or Device("cpu", "", ""))
    rows: list[dict[str, float]] = []
    row: dict[str, float] = {"edges_above": -1}
    shown: dict[str, tuple[float, NDArray[np.float64]]] = {}
    found, last, highest_after, trouble = None, None, -np.inf, ""
    for threshold in walk(start, step, stop, lowest, single=rule == "kinc"):
        count = pairs.count(threshold)
        if row["edges_above"] != count:  # else it is the same network
            i, j, r = pairs.i[:count], pairs.j[:count], pairs.r[:count]
            present = np.zeros(pairs.n_genes, dtype=bool)
            present[j] = True
            if rule == "kinc":
                inside = present[i]
                i, j, r = i[inside], j[inside], r[inside]
            else:
                present[i] = True
            genes = np.flatnonzero(present)
            try:
                values = distinct(solver.of_matrix(genes, i, j, r)) if genes.size else np.empty(0)
            except PartTooLargeError as error:
                trouble = f"at {threshold:.6g} {error}"
                break
            chi = chi_square(values) if values.size >= min_eigenvalues else np.nan
            row = {
                "edges_above": count,
                "genes": genes.size,
                "edges": i.size,
                "eigenvalues": values.size,
                "chi_square": chi,
            }
        rows.append({**row, "threshold": threshold})
        if np.isnan(chi):
            continue
        here = (threshold, values)
        shown.setdefault("first", here)
        shown["last"] = here
        if chi < SEPARATE:
            shown["threshold"] = here
            last, highest_after = threshold, -np.inf
        elif last is not None:
            highest_after = max(highest_after, chi)
            if chi >= RANDOM:
                found = last
                break
    columns = ["threshold", "genes", "edges", "eigenvalues", "chi_square"]
    curve = pd.DataFrame(rows, columns=columns).astype({"threshold": float, "chi_square": float})
    if found is None:
        shown.pop("threshold", None)
        fallen = None if last is None else (last, highest_after)
        message = _no_rmt_threshold(pairs, curve, start, min_eigenvalues, fallen, trouble)
    else:
        at = curve[curve["threshold"] == found].iloc[0]
        message = (
            f"threshold {found:.6g}: the last with a chi-square below {SEPARATE:g} "
            f"({at['chi_square']:.1f}, {int(at['genes']):,} genes, {int(at['edges']):,} "
            f"edges); at {threshold:.6g} it is {chi:.1f}"
        )
    shares = [
        spacing_density(values).assign(threshold=threshold)
        for threshold, values in dict(shown.values()).items()
    ]
    spacings = pd.concat(shares, ignore_index=True) if shares else pd.DataFrame()
    return Threshold(found, curve, message, spacings)


def _none_between(curve: pd.DataFrame) -> str:
    steps = curve["threshold"]
    return f"no threshold found between {steps.iloc[0]:.6g} and {steps.iloc[-1]:.6g}"


def _no_rmt_threshold(
    pairs: RankedPairs,
    curve: pd.DataFrame,
    start: float,
    least: int,
    fallen: tuple[float, float] | None,
    trouble: str,
) -> str:
    """Why there is none. ``fallen``: the last threshold with a chi-square below ``SEPARATE``, and
    the highest chi-square after it."""
    none = "no threshold found" if curve.empty else _none_between(curve)
    if trouble:
        return (
            f"{none}: {trouble}. Take a device with more memory (backend: cpu, where the GPU's is "
            f"short), or {_OTHER}"
        )
    weaker = "Keep weaker pairs (a lower estimator.min_correlation)"
    if curve.empty:
        return (
            f"{none}: the weakest pair has |r| = {pairs.size[-1]:.6g}, above the start of the "
            f"walk, {start:g}. {weaker}, or {_OTHER}"
        )
    if curve["chi_square"].isna().all():
        return (
            f"{none}: at most {int(curve['eigenvalues'].max())} distinct eigenvalues, of "
            f"{int(curve['genes'].max())} genes; {least} are needed. {weaker}, or {_OTHER}"
        )
    if fallen is None:
        return (
            f"{none}: chi-square never falls below {SEPARATE:g} (least "
            f"{curve['chi_square'].min():.1f}). Even the strongest correlations tie genes "
            "together, as few samples, outliers or data that are not normalised make them. Look "
            f"at the data, begin higher (start), or {_OTHER}"
        )
    last, highest = fallen
    seen = np.isfinite(highest)
    after = f"the highest after that is {highest:.1f}" if seen else "and none follows"
    return (
        f"{none}: chi-square is below {SEPARATE:g} down to {last:.6g}, but never reaches "
        f"{RANDOM:g} after it ({after}). {weaker}, so that the walk can go on, or {_OTHER}"
    )


_OTHER = "take threshold: {method: fdr}, {method: power_law} or {method: score, score: x}"


# --- power law ---

_BINS = 10
_MIN_BINS = 4  # occupied ones; a line through fewer points fits whatever they are


def scale_free_fit(degrees: ArrayLike) -> tuple[float, float]:
    """How well a straight line fits the degrees' distribution on logarithmic axes.

    Zhang and Horvath 2005, Stat Appl Genet Mol Biol 4:17: degrees in 10 bins of equal width
    between the least and the greatest; log10 of the share of genes in a bin on log10 of their mean
    degree. The fit is R^2 (the square of the correlation), with the opposite sign of the slope: 1
    is a perfect power law. Bins without genes are left out (WGCNA counts them as a share of 1e-9).

    Parameters
    ----------
    degrees : array-like, shape (genes,)
        All above 0.

    Returns
    -------
    tuple of float
        The fit, negative where the line rises, and its slope; NaN with fewer than 4 occupied bins.
    """
    degree = np.asarray(degrees, dtype=np.int64)
    if not degree.size or degree.min() == degree.max():
        return np.nan, np.nan
    low, high = int(degree.min()), int(degree.max())
    place = np.minimum((degree - low) * _BINS // (high - low), _BINS - 1)
    genes = np.bincount(place, minlength=_BINS)
    occupied = genes > 0
    if occupied.sum() < _MIN_BINS:
        return np.nan, np.nan
    mean_degree = np.bincount(place, weights=degree, minlength=_BINS)[occupied] / genes[occupied]
    share = np.log10(genes[occupied] / degree.size)
    if np.ptp(share) == 0:
        return 0.0, 0.0
    line = scipy.stats.linregress(np.log10(mean_degree), share)
    return float(-np.sign(line.slope) * line.rvalue**2), float(line.slope)


def scale_free_threshold(
    pairs: RankedPairs,
    *,
    start: float = 0.99,
    step: float = 0.01,
    stop: float | None = None,
    fit: float = 0.8,
    min_genes: int = 50,
) -> Threshold:
    """``pairtile.power_law_threshold`` of one correlation of each pair; ``fit``: least signed R^2
    (``scale_free_fit``). A correlation of the log-log line of -0.9 is a fit of 0.81."""
    if not 0 < fit <= 1:
        raise ValueError(f"fit: found {fit}; expected above 0, at most 1")
    lowest = start if pairs.lowest is None else pairs.lowest
    degree = np.zeros(pairs.n_genes, dtype=np.int64)
    done = 0
    rows = []
    for threshold in walk(start, step, stop, lowest):
        count = pairs.count(threshold)
        for ends in (pairs.i[done:count], pairs.j[done:count]):
            degree += np.bincount(ends, minlength=pairs.n_genes)
        done = count
        present = degree[degree > 0]
        enough = present.size >= max(min_genes, 1)
        line = scale_free_fit(present) if enough else (np.nan, np.nan)
        mean = float(present.mean()) if present.size else 0.0
        rows.append((threshold, present.size, count, mean, int(degree.max(initial=0)), *line))
    columns = ["threshold", "genes", "edges", "mean_degree", "max_degree", "fit", "slope"]
    curve = pd.DataFrame(rows, columns=columns)
    good = curve[curve["fit"] >= fit]
    found = float(good["threshold"].iloc[-1]) if len(good) else None
    return Threshold(found, curve, _power_law_message(curve, found, fit, min_genes))


def _power_law_message(curve: pd.DataFrame, found: float | None, fit: float, min_genes: int) -> str:
    other = "take threshold: {method: rmt} or {method: score, score: x}"
    if curve.empty:
        return (
            "no threshold found: the weakest pair is above the start of the walk. Keep weaker "
            f"pairs (a lower estimator.min_correlation), or {other}"
        )
    if found is not None:
        row = curve[curve["threshold"] == found].iloc[0]
        return (
            f"threshold {found:.6g}: the lowest with a power-law fit of at least {fit:g} "
            f"({row['fit']:.3f}, {int(row['genes']):,} genes, {int(row['edges']):,} edges)"
        )
    none = _none_between(curve)
    if curve["fit"].isna().all():
        return (
            f"{none}: nowhere are there {min_genes} genes, of at least {_MIN_BINS} different "
            "ranges of degree. Keep weaker pairs (a lower estimator.min_correlation), lower "
            f"min_genes, or {other}"
        )
    best = curve.loc[curve["fit"] == curve["fit"].max()].iloc[-1]
    return (
        f"{none}: the best power-law fit is {best['fit']:.3f}, at {best['threshold']:.6g}; {fit:g} "
        f"is asked for. Ask for less (fit), keep weaker pairs (a lower estimator.min_correlation), "
        f"or {other}"
    )


# --- power ---


def correlation_power(
    correlation: ArrayLike, n_samples: ArrayLike, alpha: float = 0.001
) -> NDArray[np.float64]:
    """Power of the two-sided test of correlation 0, if the true correlation is the one observed.

    The test rejects where |r| > r_c, with t_c the upper alpha / 2 point of Student's t with n - 2
    degrees of freedom and r_c = t_c / sqrt(t_c^2 + n - 2). Under a true correlation rho, Fisher's z
    of r is about normal with mean atanh(rho) + rho / (2 (n - 1)) and variance 1 / (n - 3), so

        power = Phi((z - z_c) sqrt(n - 3)) + Phi((-z - z_c) sqrt(n - 3)),   z_c = atanh(r_c).

    Parameters
    ----------
    correlation : real [array-like, shape: (M,)]
        Correlations, -1 to 1; only their size counts.
    n_samples : int [array-like, shape: (M,)]
        Samples of each.
    alpha : float
        Significance level, above 0 and below 1.

    Returns
    -------
    float64 [shape: (M,)]
        0 to 1. NaN for fewer than 4 samples (Fisher's z has no variance) and NaN correlations.

    Raises
    ------
    ValueError
        For ``alpha`` outside 0 to 1 or a correlation outside -1 to 1.

    Notes
    -----
    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 3 and
    p. 546, with the correction of z for the bias of r on the true side only, as in ``pwr.r.test``
    of the R package pwr. statsmodels and scipy have no such function.

    Examples
    --------
    >>> correlation_power([0.3], [50], alpha=0.05).round(7)
    array([0.5715558])
    """
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is {alpha}; expected above 0 and below 1")
    r = np.abs(np.asarray(correlation, dtype=np.float64))
    if (r > 1.0).any():
        raise ValueError(f"a correlation is {r[r > 1.0].flat[0]} in size; expected -1 to 1")
    n = np.asarray(n_samples, dtype=np.float64)
    n = np.where(n >= 4, n, np.nan)
    limit = scipy.stats.t.isf(alpha / 2.0, n - 2.0)
    critical = np.arctanh(limit / np.sqrt(limit**2 + n - 2.0))
    with np.errstate(divide="ignore"):  # atanh(1) is infinite: power 1
        z = np.arctanh(r) + r / (2.0 * (n - 1.0))
    spread = np.sqrt(n - 3.0)
    upper, lower = (scipy.special.ndtr((at - critical) * spread) for at in (z, -z))
    return np.asarray(upper + lower, dtype=np.float64)


def power_filter(
    correlation: ArrayLike, n_samples: ArrayLike, alpha: float = 0.001, power: float = 0.8
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Power of each correlation, and which are kept: those with ``power`` or more. NaN is not.

    Raises ValueError as ``correlation_power``, and for ``power`` outside 0 to 1.
    """
    if not 0.0 <= power <= 1.0:
        raise ValueError(f"power is {power}; expected 0 to 1")
    reached = correlation_power(correlation, n_samples, alpha)
    return reached, reached >= power
