"""Matrix forms of ``clr`` and ``target_z`` against the list forms that the workflow uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile import clr, mutual_information, target_z
from pairtile.methods.mutual_information import context_scores as scores

FUNCTIONS = [(clr, scores.clr), (target_z, scores.target_z)]


def of_list(function: Any, mi: np.ndarray, regulators: np.ndarray | None) -> np.ndarray:
    """The score of every source and target by way of a list of pairs."""
    n = mi.shape[1]
    is_regulator = np.ones(n, dtype=bool) if regulators is None else np.isin(range(n), regulators)
    rows = np.arange(n) if regulators is None else regulators
    both = [(r, i, j) for r, i in enumerate(rows) for j in range(n) if i != j]
    once = [(r, i, j) for r, i, j in both if not is_regulator[j] or i < j]
    row, i, j = (np.array(part, dtype=int) for part in zip(*once, strict=True))
    scored = ~np.isnan(mi[row, j])
    row, i, j = row[scored], i[scored], j[scored]
    flags = None if regulators is None else is_regulator
    moments = scores.moments_from_pairs(i, j, mi[row, j], n, flags)
    forward, backward = function(i, j, mi[row, j], moments, flags)
    square = np.full((n, n), np.nan)
    square[i, j] = forward
    square[j, i] = backward
    return square[rows]


@st.composite
def matrices(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray | None]:
    n = draw(st.integers(2, 8))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    mi = random.random((n, n)).round(draw(st.integers(0, 3)))
    mi[random.random((n, n)) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    mi = np.triu(mi, 1) + np.triu(mi, 1).T
    np.fill_diagonal(mi, np.nan)
    if draw(st.booleans()):
        return mi, None
    regulators = np.flatnonzero(random.random(n) < 0.5)
    regulators = regulators if regulators.size else np.array([0])
    return mi[regulators], regulators


@pytest.mark.parametrize(("of_matrix", "of_pairs"), FUNCTIONS)
@settings(deadline=None)
@given(case=matrices())
def test_matrix_form_gives_what_the_list_form_gives(
    of_matrix: Any, of_pairs: Any, case: tuple[np.ndarray, np.ndarray | None]
) -> None:
    mi, regulators = case
    np.testing.assert_allclose(of_matrix(mi), of_list(of_pairs, mi, regulators), atol=1e-9)


@pytest.mark.parametrize("function", [clr, target_z])
def test_self_scores_count_nowhere(function: Any) -> None:
    mi = mutual_information(np.random.default_rng(0).normal(size=(6, 30)))
    with_self = mi.copy()
    np.fill_diagonal(with_self, 99.0)
    np.testing.assert_array_equal(function(with_self), function(mi))
    names = list("abcdef")
    rows = pd.DataFrame(with_self, index=names, columns=names).loc[["e", "b"]]
    expected = function(mi[[4, 1]])
    found = function(rows)
    np.testing.assert_allclose(found, expected)
    assert list(found.index) == ["e", "b"]


def test_target_z_has_mean_0_and_deviation_1_in_every_column() -> None:
    z = target_z(mutual_information(np.random.default_rng(0).normal(size=(20, 40))))
    np.testing.assert_allclose(np.nanmean(z, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(z, axis=0), 1.0)


@pytest.mark.parametrize("function", [clr, target_z])
@pytest.mark.parametrize(
    ("mi", "message"),
    [
        (np.zeros(3), r"mi: found shape \(3,\); expected \(genes, genes\)"),
        (np.array([["a"]]), "mi: found no table of numbers"),
        (np.full((2, 2), np.inf), "mi: found infinite values"),
    ],
)
def test_what_is_no_matrix_of_scores_is_refused(function: Any, mi: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(mi)
