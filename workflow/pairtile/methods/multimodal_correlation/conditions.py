"""Tests of modes: what their samples have in common, and whether they are groups of their own.

Each mode is tested against each condition of the samples: the labels of a categorical one by
enrichment, an ordinal or quantitative one by regression. These are tests of expression: genes that
follow a condition pass them, however they are co-expressed. ``coexpression`` tests whether the
correlation of the pair differs, and networks of single conditions hold the edges that pass that.
Tests of bias ask whether a mode is no group of its own, or is made by missing values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pairtile.arrays import Float64Array, Int64Array, UInt8Array
from pairtile.io.annotations import Condition
from pairtile.io.names import numbered
from pairtile.methods.multimodal_correlation.coexpression import (
    detectable_correlation,
    differential_coexpression,
)
from pairtile.methods.multimodal_correlation.kernels.mode_statistics import (
    ModeMoments,
    group_moments,
    unexplained_shares,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples
from pairtile.statistics.correction import known_q_values
from pairtile.statistics.counting_noise import Counts
from pairtile.statistics.exchangeable import Exchangeable

ENRICHMENT, REGRESSION = "enrichment", "regression"


@dataclass(frozen=True)
class ConditionTest:
    """One test of each of M modes: a label of a condition, or a whole condition.

    name : begins the names of its columns, such as ``Treatment_Heat``.
    condition, label : label is ``""`` for a regression.
    kind : ``enrichment`` or ``regression``.
    results : M rows, columns ``RESULTS``.
    """

    name: str
    condition: str
    label: str
    kind: str
    results: pd.DataFrame


COUNT_COLUMNS = ("n_mode", "n_label", "n_both")
RESULTS = (
    *("n", *COUNT_COLUMNS, "p_value", "q_value", "r_squared"),
    *("r_label", "r_others", "coexpression_p_value", "coexpression_q_value", "counting_noise"),
)
"""Results of a test. ``n``: samples tested (enrichment: all that could be in the mode and have a
label; regression: those of the mode with a value). ``n_mode``, ``n_label``, ``n_both``, of an
enrichment: samples in the mode, with the label, and both. ``p_value``, ``q_value``: NaN where there
was nothing to test; q is by Benjamini and Hochberg, over all modes and all labels of the condition.
``r_squared``, of a regression. ``counting_noise``: ``thinned`` where that of either gene differs
between labels and was made equal, ``unequal`` where it was not, else empty. The others are of
``DifferentialCoexpression``."""


@dataclass(frozen=True)
class ConditionTests:
    """All tests, in the order of conditions and labels."""

    tests: list[ConditionTest]

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Columns of a network table: ``<name>_p_value``, ``<name>_q_value`` and, for a regression,
        ``<name>_r_squared``; ``<name>_coexpression_p_value``, ``<name>_coexpression_q_value``."""
        names = ("p_value", "q_value", "r_squared", "coexpression_p_value", "coexpression_q_value")
        return {
            f"{test.name}_{name}": test.results[name].to_numpy()
            for test in self.tests
            for name in names
            if name != "r_squared" or test.kind == REGRESSION
        }

    def table(self, modes: pd.DataFrame, rows: slice = slice(None)) -> pd.DataFrame:
        """One row for each mode and test, mode by mode; those without a p-value too.

        modes : M rows; its columns (``source``, ``target``, ``cluster``) come first. ``rows``: the
        modes wanted, so that a large table can be written in parts.
        """
        part = modes.iloc[rows].reset_index(drop=True)
        labels = ("condition", "label", "test")
        if not self.tests:
            return pd.DataFrame(columns=[*modes.columns, *labels, *RESULTS])
        tables = [
            part.assign(
                **dict(zip(labels, (test.condition, test.label, test.kind), strict=True)),
                **test.results.iloc[rows].reset_index(drop=True),
            )
            for test in self.tests
        ]
        whole = pd.concat(tables).sort_index(kind="stable").reset_index(drop=True)
        return whole.astype(dict.fromkeys(COUNT_COLUMNS, "Int32"))


def condition_tests(
    modes: ModeSamples,
    conditions: Sequence[Condition],
    exchangeable: Exchangeable | None = None,
    spearman: bool = True,
    counts: Counts | None = None,
) -> ConditionTests:
    """Test each mode against each condition.

    Categorical: the hypergeometric test of every label (``enrichment``). Ordinal and quantitative:
    regression on the two genes (``regression``); of an ordinal condition the ranks 1, 2, ... of its
    levels. And each by ``differential_coexpression``: of ranks (``spearman``) or values, by
    permutations of samples that are ``exchangeable`` (None: all of them), with the ``counts`` that
    the values were made from.

    Raises ValueError where a condition has another number of samples than the modes.
    """
    keys = [(condition, label) for condition in conditions for label in condition.tested_labels]
    names = iter(unique_names([tuple(filter(None, (each.name, label))) for each, label in keys]))
    exchangeable = exchangeable or Exchangeable.of_state({})
    tests: list[ConditionTest] = []
    for condition in conditions:
        if len(condition.codes) != modes.n_samples:
            found = f"condition {condition.name!r} has {len(condition.codes)} samples"
            raise ValueError(f"{found}; expected {modes.n_samples}")
        differs = differential_coexpression(modes, condition, exchangeable, spearman, counts=counts)
        mark = "unequal" if counts is not None and counts.effects_removed else "thinned"
        results: dict[str, NDArray[np.generic]] = {
            "r_label": differs.r_label,
            "r_others": differs.r_others,
            "coexpression_p_value": differs.p_value,
            "coexpression_q_value": known_q_values(differs.p_value),
        }
        kind = ENRICHMENT if condition.kind == "categorical" else REGRESSION
        if kind == ENRICHMENT:
            results |= enrichment(modes, condition)
        else:
            results |= regression(modes, condition.numbers)
        results["q_value"] = known_q_values(results["p_value"])
        for k, label in enumerate(condition.tested_labels):
            own = {name: a if a.ndim == 1 else a[:, k] for name, a in results.items()}
            table = pd.DataFrame(dict.fromkeys(RESULTS, np.nan) | own, index=range(len(modes)))
            table["counting_noise"] = np.where(differs.unequal_noise, mark, "")
            tests.append(ConditionTest(next(names), condition.name, label, kind, table))
    return ConditionTests(tests)


def unique_names(words: Sequence[Sequence[str]]) -> list[str]:
    """Words joined to names of columns: ``Treatment_Heat``; none is empty and no two are the same.

    ``<``, ``>``, ``=`` and ``+`` are written out; whatever else is no letter, digit, dot or hyphen
    becomes ``_``, in runs. Of names that would be the same, the later ones get ``_2``, ``_3``, ...

    >>> unique_names([("Treatment", "Heat"), ("Dose (mg)",), ("Dose mg",)])
    ['Treatment_Heat', 'Dose_mg', 'Dose_mg_2']
    >>> unique_names([("Age", "<10"), ("Age", "10"), ("Age", ">=10"), ("ER", "+")])
    ['Age_less_10', 'Age_10', 'Age_greater_equal_10', 'ER_plus']
    """
    signs = str.maketrans({"<": " less ", ">": " greater ", "=": " equal ", "+": " plus "})

    def plain(word: str) -> str:
        return re.sub(r"[^\w.\-]+", "_", word.translate(signs)).strip("_") or "_"

    return numbered("_".join(map(plain, parts)) for parts in words)


# --- enrichment of labels ---


def enrichment(modes: ModeSamples, condition: Condition) -> dict[str, NDArray[np.number]]:
    """One-sided hypergeometric test (Fisher's exact test) of each of M modes and L labels.

    Returns, as ``RESULTS`` says, ``n``, ``n_mode`` int32 (M,), ``n_label``, ``n_both`` int32 (M, L)
    and ``p_value`` float64 (M, L).

    Of the n samples of a pair that the mixture could place in a mode and that have a label, n_label
    have this one, n_mode are in the mode and n_both are both. If labels and modes had nothing to do
    with each other, n_both were hypergeometric; p is the chance of as many or more.

    Samples that are missing in either gene, or were taken away as outliers, are not among the n:
    they could be in no mode, and if they were counted, a label that is missing more often would
    make every other label look enriched. Where a mode holds all its n samples, or the label is that
    of all or of none, p could only be 1 whatever the labels: there is no test and p is NaN.
    """
    shape = (len(modes), len(condition.labels))
    n_label, n_both = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    has_label = (condition.codes[:, None] == np.arange(shape[1])).astype(np.float32)
    # Counts below 2^24 are exact in float32, and a matrix product is much the fastest way to them.
    for block in modes.blocks():
        n_label[block.rows] = block.usable.astype(np.float32) @ has_label
        n_both[block.rows] = block.members.astype(np.float32) @ has_label
    n, n_mode = (table.sum(axis=1, dtype=np.int32) for table in (n_label, n_both))
    p = np.full(shape, np.nan)
    for label in range(shape[1]):
        p[:, label] = upper_tail(n_both[:, label], n, n_label[:, label], n_mode)
    return {"n": n, "n_mode": n_mode, "n_label": n_label, "n_both": n_both, "p_value": p}


def upper_tail(
    n_both: NDArray[np.int32],
    n: NDArray[np.int32],
    n_label: NDArray[np.int32],
    n_mode: NDArray[np.int32],
) -> NDArray[np.float64]:
    """P(X >= n_both) for hypergeometric X, float64 (M,); NaN where X can only have one value."""
    p = np.full(len(n), np.nan)
    open_ = np.flatnonzero((n_label > 0) & (n_label < n) & (n_mode > 0) & (n_mode < n))
    if not open_.size:
        return p
    # Modes share few different numbers: the tail is computed once for each.
    numbers = [part[open_] for part in (n, n_label, n_mode, n_both)]
    key = np.ravel_multi_index(numbers, (int(n.max()) + 1,) * 4)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    some = open_[first]
    tail = scipy.stats.hypergeom.sf(n_both[some] - 1, n[some], n_label[some], n_mode[some])
    # The sum of the whole distribution can come out an ulp beyond 1.
    p[open_] = np.clip(tail, 0.0, 1.0)[place]
    return p


# --- regression on the two genes ---


def regression(modes: ModeSamples, numbers: NDArray[np.float64]) -> dict[str, NDArray[np.number]]:
    """Ordinary least squares y ~ g_i + g_j + g_i g_j over the samples of each mode.

    Parameters
    ----------
    modes : ModeSamples
        M modes of genes i and j.
    numbers : float64 [shape: (S,)]
        The condition y; NaN where a sample has none: it is left out.

    Returns
    -------
    ``n`` int32 (M,); ``p_value`` (of the F-test of the whole model) and ``r_squared`` (share of the
    condition's variance that is explained) float64 (M,), NaN where there is no degree of freedom
    left or the condition or both genes are constant.

    Notes
    -----
    The model is that of KINC 3 (its ``cond-test``). F = (R^2 / k) / ((1 - R^2) / (n - k - 1)) with
    k = 3, or fewer where regressors are collinear (their rank counts, as in statsmodels). R^2 and F
    stay the same when genes are shifted and scaled, so both are standardised in the mode first: a
    product of uncentred factors is nearly collinear with them, which costs digits.
    """
    n, rank = np.zeros(len(modes), np.int32), np.zeros(len(modes), np.int32)
    y = np.asarray(numbers, dtype=np.float64)
    # A regressor of which the ones before it leave less, of its own size, says nothing of its
    # own.
    left = unexplained_shares(*_for_kernels(modes), y, 1e-9, n, rank)
    free = n - rank - 1
    tested = (free >= 1) & ~np.isnan(left) & (rank > 0)
    p, r_squared = np.full(len(modes), np.nan), np.full(len(modes), np.nan)
    r_squared[tested] = 1.0 - left[tested]
    # The upper tail of F as that of a beta distribution: exact where R^2 is close to 1.
    p[tested] = scipy.special.betainc(free[tested] / 2.0, rank[tested] / 2.0, left[tested])
    return {"n": n, "p_value": p, "r_squared": r_squared}


def _for_kernels(
    modes: ModeSamples,
) -> tuple[Int64Array, Int64Array, UInt8Array, Float64Array]:
    return (
        modes.i.astype(np.int64),
        modes.j.astype(np.int64),
        np.ascontiguousarray(modes.members),
        np.ascontiguousarray(modes.values),
    )


# --- what was tested, and what could have been found ---

MAX_NAMED = 6
"""Labels of which it is said what could have been found: those with most samples."""


def _size(r: float) -> str:
    """A least correlation, rounded up and never to 1; "" where there is none."""
    if np.isnan(r):
        return ""
    digits = 100 if r <= 0.99 else 1000
    return f"r = {np.ceil(r * digits) / digits:g}"


def tested_edges(
    tests: ConditionTests,
    condition: Condition,
    exchangeable: Exchangeable,
    spearman: bool,
    q_value: float,
) -> dict[str, Any]:
    """How far the tests of one condition reach, with the limit of q of its networks: the numbers
    of the messages on them.

    ``edges``, ``tested``: edges of the network, and those tested for some label. Where there are
    such, for ``MAX_NAMED`` of the labels, or the trend: ``detectable``, the least
    ``detectable_correlation`` at the level that the limit of q leaves to the only edge that
    differs (None where there is none), and ``found``, the same in words, such as ``r = 0.9 or more
    under Heat (12 samples) ..., against r = 0 under the others``.
    """
    own = [test for test in tests.tests if test.condition == condition.name]
    tested = ~np.isnan([test.results["coexpression_p_value"] for test in own])
    numbers = {"edges": tested.shape[1], "tested": int(tested.any(axis=0).sum())}
    if not numbers["tested"]:
        return numbers
    level = q_value / int(tested.sum())
    sizes = (
        [int((condition.codes == k).sum()) for k in range(len(own))]
        if condition.kind == "categorical"
        else [int(condition.known.sum())]
    )
    named = sorted(sorted(range(len(own)), key=lambda k: -sizes[k])[:MAX_NAMED])
    detectable = [
        detectable_correlation(condition, k, exchangeable, spearman, level) for k in named
    ]
    least = [_size(r) or "no r, however large," for r in detectable]
    if np.isnan(detectable).all():
        of_named = [sizes[k] for k in named]
        fewest, most = min(of_named), max(of_named)
        size = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        of = " of a label" if condition.kind == "categorical" else ""
        found = f"no correlation, however large, with {size} samples{of}"
    elif condition.kind != "categorical":
        found = f"{least[0]} at the highest values, against r = 0 at the lowest"
    else:
        under = [
            f"{size} under {own[k].label} ({sizes[k]} samples)"
            for k, size in zip(named, least, strict=True)
        ]
        found = f"{', '.join(under)}, against r = 0 under the others"
    return numbers | {
        "detectable": [None if np.isnan(r) else r for r in detectable],
        "found": found,
    }


# --- networks of single conditions ---

LABEL = ["condition", "label"]


def condition_networks(
    modes: pd.DataFrame, tests: ConditionTests, q_value: float = 0.001
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choose the modes of each condition-specific network: those whose pair is co-expressed
    differently under the label.

    Parameters
    ----------
    modes : DataFrame [M rows]
        ``source`` and ``target`` (or ``i`` and ``j``), ``cluster``, ``correlation``.
    tests : ConditionTests
        Of the same modes.
    q_value : float
        A mode belongs to the network of a label where ``coexpression_q_value`` is at most this and
        the pair's correlation under the label is further in the direction of the mode's: a pair
        that goes together under one label only is in the network of this one. A regression has no
        label, and either direction of its trend counts.

    Returns
    -------
    edges : DataFrame
        One row for each mode and test that meets the limits, in the order of tests, then of modes:
        ``condition``, ``label``, the two genes, ``cluster``, ``correlation``, ``p_value`` and
        ``q_value`` (of the difference of co-expression), ``r_squared``, ``direction`` (of the
        correlation: ``positive`` or ``negative``), ``unique`` (whichever its modes, the pair of
        genes is in the network of no other label of the condition), ``mode`` (row of ``modes``).
    counts : DataFrame
        One row for each test: ``condition``, ``label``, ``modes``, ``positive``, ``negative`` (of
        the modes), ``gene_pairs``, ``unique_gene_pairs``, ``genes``; zeros for an empty network.
    """
    pair = ["source", "target"] if "source" in modes else ["i", "j"]
    columns = [
        *(*LABEL, *pair, "cluster", "correlation", "p_value", "q_value", "r_squared"),
        *("direction", "unique", "mode"),
    ]
    of_counts = [*LABEL, *COUNTS_OF_NETWORK]
    parts = []
    for test in tests.tests:
        results = test.results
        met = results["coexpression_q_value"].to_numpy() <= q_value  # NaN is not
        if test.kind == ENRICHMENT:
            difference = (results["r_label"] - results["r_others"]).to_numpy()
            met &= modes["correlation"].to_numpy() * difference > 0.0
        rows = np.flatnonzero(met)
        chosen = results.iloc[rows]
        part = modes[[*pair, "cluster", "correlation"]].iloc[rows]
        parts.append(
            part.assign(
                condition=test.condition,
                label=test.label,
                p_value=chosen["coexpression_p_value"].to_numpy(),
                q_value=chosen["coexpression_q_value"].to_numpy(),
                r_squared=chosen["r_squared"].to_numpy(dtype=np.float64),
                mode=rows,
            )
        )
    if not parts:
        return pd.DataFrame(columns=columns), pd.DataFrame(columns=of_counts)
    edges = pd.concat(parts, ignore_index=True)
    edges["direction"] = np.where(edges["correlation"] < 0.0, "negative", "positive")
    n_labels = edges.drop_duplicates([*LABEL, *pair]).groupby(["condition", *pair]).size()
    of_edge = pd.MultiIndex.from_frame(edges[["condition", *pair]])
    edges["unique"] = n_labels.reindex(of_edge).to_numpy() == 1
    # By position, not by name: the network of a label may be empty, and is counted too.
    ends = np.cumsum([len(part) for part in parts])
    counts = [
        (test.condition, test.label, *counts_of_network(edges[end - len(part) : end], pair))
        for test, part, end in zip(tests.tests, parts, ends, strict=True)
    ]
    return edges[columns], pd.DataFrame(counts, columns=of_counts)


COUNTS_OF_NETWORK = ("modes", "positive", "negative", "gene_pairs", "unique_gene_pairs", "genes")


def counts_of_network(network: pd.DataFrame, pair: Sequence[str]) -> tuple[int, ...]:
    """``COUNTS_OF_NETWORK`` of the network of one label; ``pair``: columns of the two genes."""
    pairs = network.drop_duplicates(list(pair))
    negative = int((network["direction"] == "negative").sum())
    return (
        len(network),
        len(network) - negative,
        negative,
        len(pairs),
        int(pairs["unique"].astype(bool).sum()),
        len(pd.unique(pairs[list(pair)].to_numpy().ravel())),
    )


# --- bias ---


def mode_bias(
    modes: ModeSamples, conditions: Sequence[Condition] = ()
) -> dict[str, NDArray[np.float64]]:
    """Test each mode for bias.

    Expression, of each gene: Welch's analysis of variance (Welch 1951, Biometrika 38:330) between
    the samples of the mode and the pair's other usable samples; with two groups it is Welch's t
    test, two-sided. NaN where a group has fewer than two samples or neither group varies.

    Missing values: McNemar's exact test of the samples that only one of the genes lacks (both
    genes are seen in the same samples, so the comparison is paired). p is 1 where there are none.
    With a condition: Fisher's exact test (two labels, two-sided) or Pearson's chi-square test
    (more, without correction, approximate where few are missing) of label by "missing in either
    gene"; NaN where all samples with a label are missing, or none.

    Returns
    -------
    dict of float64 (M,)
        Columns of a network table, NaN where a p-value is undefined: ``source_welch_p_value`` and
        ``target_welch_p_value`` (a mode that differs in neither gene is no group of its own),
        ``missing_p_value``, and for each condition ``missing_by_<condition>_p_value``.

    Notes
    -----
    KINC 3's companion KINC.R filters edges by the same two questions. Its test of missing values is
    a paired t-test on 0 and 1, for which McNemar's is the exact form; its samples outside a mode
    are all those that the mode does not hold.
    """
    size = len(modes)
    lacking = np.zeros((2, size), np.int64)
    categorical = [condition for condition in conditions if condition.kind == "categorical"]
    has_label = [
        (each.codes[:, None] == np.arange(len(each.labels))).astype(np.float32)
        for each in categorical
    ]
    # Samples by label, seen in both genes and missing in either.
    tables = [np.zeros((size, 2, each.shape[1]), np.int32) for each in has_label]
    for block in modes.blocks():
        lacking[0, block.rows] = (block.observed_j & ~block.observed_i).sum(axis=1)
        lacking[1, block.rows] = (block.observed_i & ~block.observed_j).sum(axis=1)
        seen = (block.observed_i & block.observed_j).astype(np.float32)
        for of_label, table in zip(has_label, tables, strict=True):
            table[block.rows, 0] = seen @ of_label  # exact: counts are far below 2^24
            table[block.rows, 1] = of_label.sum(axis=0) - table[block.rows, 0]
    either, fewer = lacking.sum(axis=0), lacking.min(axis=0)
    missing = np.minimum(1.0, 2.0 * scipy.stats.binom.cdf(fewer, np.maximum(either, 1), 0.5))
    missing[either == 0] = 1.0
    source, target = _welch(modes)
    names = unique_names([(condition.name,) for condition in categorical])
    return {
        "source_welch_p_value": source,
        "target_welch_p_value": target,
        "missing_p_value": missing,
        **{
            f"missing_by_{name}_p_value": _independence(table)
            for name, table in zip(names, tables, strict=True)
        },
    }


def _welch(modes: ModeSamples) -> NDArray[np.float64]:
    """p of both genes, (2, M)."""
    shape = (2, 2, len(modes))
    n, mean, sd = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
    outliers = np.zeros((0, 0), np.uint8) if modes.outliers is None else modes.outliers
    group_moments(*_for_kernels(modes), outliers, modes.inside(), ModeMoments(n, mean, sd))
    p = np.full((2, len(modes)), np.nan)
    defined = (n > 1).all(axis=1) & (sd > 0.0).any(axis=1)
    (n_1, n_2), (sd_1, sd_2) = (each.swapaxes(0, 1)[:, defined] for each in (n, sd))
    apart = (mean[:, 0] - mean[:, 1])[defined]
    scale = np.maximum(sd_1, sd_2)  # the fourth power of a tiny spread would be 0
    p[defined] = scipy.stats.ttest_ind_from_stats(
        apart / scale, sd_1 / scale, n_1, np.zeros_like(scale), sd_2 / scale, n_2, equal_var=False
    ).pvalue
    return p


def _independence(table: NDArray[np.int32]) -> NDArray[np.float64]:
    """p of independence of each (2, L) table; NaN where a row is empty or there is one label."""
    table = table[:, :, table.sum(axis=1).max(axis=0, initial=0) > 0]
    p = np.full(len(table), np.nan)
    defined = np.flatnonzero(table.sum(axis=2).min(axis=1) > 0)
    if not defined.size or table.shape[2] < 2:
        return p
    if table.shape[2] > 2:
        seen = table[defined].astype(np.float64)
        rows, columns = (seen.sum(axis=axis, keepdims=True) for axis in (2, 1))
        expected = rows * columns / seen.sum(axis=(1, 2), keepdims=True)
        distance = ((seen - expected) ** 2 / expected).sum(axis=(1, 2))
        p[defined] = scipy.stats.chi2.sf(distance, table.shape[2] - 1)
        return p
    # Pairs share few different tables, which two numbers identify: those missing, by label.
    missing, place = np.unique(table[defined, 1], axis=0, return_inverse=True)
    total = table[defined[0]].sum(axis=0)  # the same in every pair
    of_table = [scipy.stats.fisher_exact(np.stack([total - row, row])).pvalue for row in missing]
    p[defined] = np.array(of_table)[place.ravel()]
    return p


# --- as arrays, so that a file of arrays can hold them ---

_NAMES, _KINDS = "condition_names", "condition_kinds"


def arrays_of_conditions(conditions: Sequence[Condition]) -> dict[str, NDArray[np.generic]]:
    """``condition_names`` and ``condition_kinds`` (C,) and, for condition k from 0,
    ``condition_k_labels``, ``condition_k_codes`` and ``condition_k_numbers`` (S,)."""
    arrays: dict[str, NDArray[np.generic]] = {
        _NAMES: np.array([each.name for each in conditions], dtype=np.str_),
        _KINDS: np.array([each.kind for each in conditions], dtype=np.str_),
    }
    for k, each in enumerate(conditions):
        labels = np.array(each.labels, dtype=np.str_)
        found = {"labels": labels, "codes": each.codes, "numbers": each.numbers}
        arrays |= {f"condition_{k}_{name}": array for name, array in found.items()}
    return arrays


def conditions_of_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> list[Condition]:
    """What ``arrays_of_conditions`` was given; none where the arrays hold no conditions."""
    if _NAMES not in arrays:
        return []
    return [
        Condition(
            str(name),
            str(kind),
            tuple(str(label) for label in arrays[f"condition_{k}_labels"]),
            np.asarray(arrays[f"condition_{k}_codes"]),
            np.asarray(arrays[f"condition_{k}_numbers"]),
        )
        for k, (name, kind) in enumerate(zip(arrays[_NAMES], arrays[_KINDS], strict=True))
    ]
