"""Slow, plain versions of the tests of modes against conditions: one mode, one label at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.modes import ModeSamples
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.oneway import anova_oneway


def hypergeometric_tail(n_both: int, n: int, n_label: int, n_mode: int) -> float:
    """P(X >= n_both), from whole numbers."""
    most = min(n_label, n_mode)
    ways = sum(
        math.comb(n_label, k) * math.comb(n - n_label, n_mode - k) for k in range(n_both, most + 1)
    )
    return float(Fraction(ways, math.comb(n, n_mode)))


def samples_of(modes: ModeSamples, mode: int) -> tuple[set[int], set[int]]:
    """(members, usable samples) of one mode, as sets of sample numbers."""

    def bits(mask: NDArray[np.uint8]) -> set[int]:
        text = "".join(f"{byte:08b}" for byte in mask)
        return {s for s in range(modes.n_samples) if text[s] == "1"}

    members = bits(modes.members[mode])
    usable = set()
    for s in range(modes.n_samples):
        pair = [modes.values[modes.i[mode], s], modes.values[modes.j[mode], s]]
        low = -math.inf if modes.min_expression is None else modes.min_expression
        high = math.inf if modes.max_expression is None else modes.max_expression
        if all(low <= value <= high for value in pair):  # NaN is not
            usable.add(s)
    if modes.outliers is not None:
        usable -= bits(modes.outliers[mode])
    return members, usable | members


def enrichment_p(modes: ModeSamples, condition: Condition) -> NDArray[np.float64]:
    """p of each mode and label; NaN where the numbers allow one outcome only."""
    p = np.full((len(modes), len(condition.labels)), np.nan)
    for mode in range(len(modes)):
        members, usable = samples_of(modes, mode)
        known = {s for s in usable if condition.codes[s] >= 0}
        inside = members & known
        for label in range(len(condition.labels)):
            with_label = {s for s in known if condition.codes[s] == label}
            if inside and with_label and inside != known and with_label != known:
                numbers = len(inside & with_label), len(known), len(with_label), len(inside)
                p[mode, label] = hypergeometric_tail(*numbers)
    return p


def ols(g_i: Sequence[float], g_j: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """(p of the F-test, R^2) of y ~ g_i + g_j + g_i g_j by statsmodels; NaN where undefined."""
    a, b, target = (np.asarray(x, dtype=float) for x in (g_i, g_j, y))
    if len(target) < 3 or np.ptp(target) == 0:
        return math.nan, math.nan
    # Shifts and scales change neither F nor R^2, but statsmodels loses digits to them.
    a, b = ((x - x.mean()) / (x.std() if np.ptp(x) else 1.0) for x in (a, b))
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return math.nan, math.nan
    design = np.column_stack([np.ones(len(a)), a, b, a * b])
    fit = OLS(target - target.mean(), design).fit()
    if fit.df_resid < 1:
        return math.nan, math.nan
    return float(fit.f_pvalue), float(fit.rsquared)


def regression(
    modes: ModeSamples, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(p, R^2) of each mode."""
    results = []
    for mode in range(len(modes)):
        members, _ = samples_of(modes, mode)
        at = [s for s in sorted(members) if not math.isnan(numbers[s])]
        g_i, g_j = modes.values[modes.i[mode], at], modes.values[modes.j[mode], at]
        results.append(ols(g_i, g_j, numbers[at]))
    p, r_squared = np.array(results).T
    return p, r_squared


def welch_p(modes: ModeSamples, genes: NDArray[np.integer]) -> NDArray[np.float64]:
    """p of Welch's analysis of variance between members and other usable samples."""
    p = np.full(len(modes), np.nan)
    for mode in range(len(modes)):
        members, usable = samples_of(modes, mode)
        row = modes.values[genes[mode]]
        groups = [row[sorted(members)], row[sorted(usable - members)]]
        if min(len(group) for group in groups) < 2:
            continue
        flat = [np.ptp(group) == 0 for group in groups]
        if any(flat):  # the analysis of variance divides by each variance; the t test does not
            p[mode] = math.nan if all(flat) else stats.ttest_ind(*groups, equal_var=False).pvalue
        else:
            p[mode] = anova_oneway(groups, use_var="unequal").pvalue
    return p


def missing_p(modes: ModeSamples) -> NDArray[np.float64]:
    """McNemar's exact p of the two genes' missing values."""
    p = []
    for mode in range(len(modes)):
        a = np.isnan(modes.values[modes.i[mode]])
        b = np.isnan(modes.values[modes.j[mode]])
        counts = [[(~a & ~b).sum(), (~a & b).sum()], [(a & ~b).sum(), (a & b).sum()]]
        one_only = counts[0][1] + counts[1][0]
        p.append(mcnemar(counts, exact=True).pvalue if one_only else 1.0)
    return np.array(p)


def missing_by_label_p(modes: ModeSamples, condition: Condition) -> NDArray[np.float64]:
    """p of "missing in either gene" by label: Fisher (two labels) or chi-square (more)."""
    p = np.full(len(modes), np.nan)
    present = [k for k in range(len(condition.labels)) if (condition.codes == k).any()]
    for mode in range(len(modes)):
        either = np.isnan(modes.values[[modes.i[mode], modes.j[mode]]]).any(axis=0)
        seen = [(~either & (condition.codes == k)).sum() for k in present]
        counts = np.array([seen, [(either & (condition.codes == k)).sum() for k in present]])
        if len(present) < 2 or not counts.sum(axis=1).all():
            continue
        if len(present) == 2:
            p[mode] = stats.fisher_exact(counts).pvalue
        else:
            p[mode] = stats.chi2_contingency(counts, correction=False).pvalue
    return p
