"""Every test of modes against the conditions of their samples, corrected for their number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.condition_enrichment import Enrichment, enrichment
from pairtile.methods.multimodal_correlation.condition_regression import regression
from pairtile.methods.multimodal_correlation.mode_samples import ModeSamples
from pairtile.statistics.correction import benjamini_hochberg

ENRICHMENT, REGRESSION = "enrichment", "regression"


@dataclass(frozen=True)
class ConditionTest:
    """One test of each of M modes: a label of a condition, or a whole condition.

    name : begins the names of its columns, such as ``Treatment_Heat``.
    condition, label : label is ``""`` for a regression.
    kind : ``enrichment`` or ``regression``.
    n : int32 (M,), samples tested (enrichment: all that could be in the mode and have a label;
        regression: those of the mode with a value).
    n_mode, n_label, n_both : int32 (M,), enrichment: samples in the mode, with the label, and both;
        None for a regression.
    p_value, q_value : float64 (M,), NaN where there was nothing to test. q is by Benjamini and
        Hochberg, over all modes and all labels of the condition.
    r_squared : float64 (M,), for a regression; None for an enrichment.
    """

    name: str
    condition: str
    label: str
    kind: str
    n: NDArray[np.int32]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]
    r_squared: NDArray[np.float64] | None = None
    n_mode: NDArray[np.int32] | None = None
    n_label: NDArray[np.int32] | None = None
    n_both: NDArray[np.int32] | None = None


@dataclass(frozen=True)
class ConditionTests:
    """All tests, in the order of conditions and labels; ``counts`` by condition."""

    tests: list[ConditionTest]
    counts: dict[str, dict[str, int]]

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Columns of a network table: ``<name>_p_value``, ``<name>_q_value`` and, for a regression,
        ``<name>_r_squared``."""
        result = {}
        for test in self.tests:
            result[f"{test.name}_p_value"] = test.p_value
            result[f"{test.name}_q_value"] = test.q_value
            if test.r_squared is not None:
                result[f"{test.name}_r_squared"] = test.r_squared
        return result

    def table(self, modes: pd.DataFrame, rows: slice = slice(None)) -> pd.DataFrame:
        """One row for each mode and test, mode by mode; those without a p-value too.

        modes : M rows; its columns (``source``, ``target``, ``cluster``) come first. ``rows``: the
        modes wanted, so that a large table can be written in parts.
        """
        part = modes.iloc[rows]
        blank = np.full(len(part), np.nan)
        tables = []
        for test in self.tests:
            enriched = {
                name: blank if (values := getattr(test, name)) is None else values[rows]
                for name in ("n_mode", "n_label", "n_both")
            }
            columns = {
                "condition": test.condition,
                "label": test.label,
                "test": test.kind,
                "n": test.n[rows],
                **enriched,
                "p_value": test.p_value[rows],
                "q_value": test.q_value[rows],
                "r_squared": blank if test.r_squared is None else test.r_squared[rows],
            }
            tables.append(part.assign(**columns))
        if not tables:
            names = ["condition", "label", "test", "n", "n_mode", "n_label", "n_both"]
            return pd.DataFrame(columns=[*modes.columns, *names, "p_value", "q_value", "r_squared"])
        whole = pd.concat(tables, ignore_index=True)
        order = np.arange(len(whole)).reshape(len(tables), len(part)).T.ravel()
        whole = whole.iloc[order].reset_index(drop=True)
        counted = ["n_mode", "n_label", "n_both"]
        return whole.astype(dict.fromkeys(counted, "Int32"))


def condition_tests(modes: ModeSamples, conditions: Sequence[Condition]) -> ConditionTests:
    """Test each mode against each condition.

    Categorical: the hypergeometric test of every label (``enrichment``). Ordinal and quantitative:
    regression on the two genes (``regression``); of an ordinal condition the ranks 1, 2, ... of its
    levels.

    Raises ValueError where a condition has another number of samples than the modes.
    """
    names = _names(conditions)
    tests: list[ConditionTest] = []
    counts: dict[str, dict[str, int]] = {}
    for condition in conditions:
        if len(condition.codes) != modes.n_samples:
            found = f"condition {condition.name!r} has {len(condition.codes)} samples"
            raise ValueError(f"{found}; expected {modes.n_samples}")
        if condition.kind == "categorical":
            enriched = enrichment(modes, condition)
            tests += _of_labels(condition, enriched, names)
            counts[condition.name] = enriched.counts()
        else:
            fit = regression(modes, condition.numbers)
            name = names[condition.name, ""]
            q = _corrected(fit.p_value)
            test = ConditionTest(
                name, condition.name, "", REGRESSION, fit.n, fit.p_value, q, fit.r_squared
            )
            tests.append(test)
            counts[condition.name] = fit.counts
    return ConditionTests(tests, counts)


def unique_names(words: Sequence[Sequence[str]]) -> list[str]:
    """Words joined to names of columns: ``Treatment_Heat``; none is empty and no two are the same.

    Whatever is no letter, digit, dot or hyphen becomes ``_``, in runs. Of names that would be the
    same, the later ones get ``_2``, ``_3``, ...

    >>> unique_names([("Treatment", "Heat"), ("Dose (mg)",), ("Dose mg",)])
    ['Treatment_Heat', 'Dose_mg', 'Dose_mg_2']
    """
    result: list[str] = []
    for parts in words:
        plain = "_".join(re.sub(r"[^\w.\-]+", "_", part).strip("_") or "_" for part in parts)
        name, k = plain, 1
        while name in result:
            k += 1
            name = f"{plain}_{k}"
        result.append(name)
    return result


def _of_labels(
    condition: Condition, found: Enrichment, names: dict[tuple[str, str], str]
) -> list[ConditionTest]:
    q = _corrected(found.p_value)
    return [
        ConditionTest(
            names[condition.name, label],
            condition.name,
            label,
            ENRICHMENT,
            found.n,
            found.p_value[:, k],
            q[:, k],
            None,
            found.n_mode,
            found.n_label[:, k],
            found.n_both[:, k],
        )
        for k, label in enumerate(condition.labels)
    ]


def _corrected(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """q-values over all tests that were made; NaN stays NaN."""
    q = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    q[tested] = benjamini_hochberg(p[tested])
    return q


def _names(conditions: Sequence[Condition]) -> dict[tuple[str, str], str]:
    """(condition, label) -> name; label ``""`` for a regression."""
    keys = [
        (condition.name, label)
        for condition in conditions
        for label in (condition.labels if condition.kind == "categorical" else ("",))
    ]
    words = [(name, label) if label else (name,) for name, label in keys]
    return dict(zip(keys, unique_names(words), strict=True))
