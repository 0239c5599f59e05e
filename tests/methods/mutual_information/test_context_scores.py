"""CLR and target_z: lists of pairs against dense matrices, and matrices against lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mutual_information import NaiveMoments, naive_moments
from pairtile import clr, mutual_information, target_z
from pairtile.methods.mutual_information.context_scores import directed_scores

SCORES = ("clr", "target_z")


def spread(values: Any) -> float:
    sd = values.std()
    return sd if sd > 1e-6 * np.sqrt((values**2).mean()) else np.inf


def dense_scores(mi: Any, is_regulator: Any) -> tuple[np.ndarray, np.ndarray]:
    """CLR and target_z, source x target matrices, straight from the definition."""
    n_genes = len(mi)
    candidate = np.tile(is_regulator[:, None], n_genes) & ~np.eye(n_genes, dtype=bool)
    by_target, by_source = np.full((2, n_genes, n_genes), np.nan)
    for gene in range(n_genes):
        column = candidate[:, gene] & ~np.isnan(mi[:, gene])
        values = mi[column, gene]
        if len(values):
            sd = spread(values)
            by_target[column, gene] = (values - values.mean()) / sd
        row = candidate[gene] & ~np.isnan(mi[gene])
        values = mi[gene, row]
        if len(values):
            sd = spread(values)
            by_source[gene, row] = (values - values.mean()) / sd
    return np.hypot(np.maximum(by_source, 0), np.maximum(by_target, 0)), by_target


@st.composite
def matrices(draw: Any) -> Any:
    """Symmetric MI, with constant genes and missing pairs, and some regulators or None."""
    n_genes = draw(st.integers(2, 25))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mi = random.gamma(2, 0.2, (n_genes, n_genes))
    mi = np.triu(mi, 1) + np.triu(mi, 1).T
    if draw(st.booleans()):
        mi[0] = mi[:, 0] = 0.1
    if draw(st.booleans()):
        mi = 0.1 + 1e-5 * mi
    if draw(st.booleans()):
        missing = np.triu(random.random(mi.shape) < 0.2, 1)
        mi[missing | missing.T] = np.nan
    share = draw(st.sampled_from([None, 0.3, 1.0]))
    is_regulator = None if share is None else random.random(n_genes) < share
    return mi, is_regulator


def pairs_of(mi: Any, is_regulator: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs table: every unordered pair once, a regulator in ``i``."""
    i, j = np.triu_indices(len(mi), 1)
    if is_regulator is not None:
        swap = ~is_regulator[i]
        i, j = np.where(swap, j, i), np.where(swap, i, j)
        i, j = i[is_regulator[i]], j[is_regulator[i]]
    return i.astype(np.int32), j.astype(np.int32), mi[i, j]


@given(case=matrices())
@settings(max_examples=150, deadline=None)
def test_scores_agree_with_dense_matrices(case: Any) -> None:
    mi, is_regulator = case
    i, j, values = pairs_of(mi, is_regulator)
    everybody = np.ones(len(mi), dtype=bool) if is_regulator is None else is_regulator
    moments = naive_moments(i, j, values, len(mi), is_regulator)
    for score, expected in zip(SCORES, dense_scores(mi, everybody), strict=True):
        forward, backward = directed_scores(score, values, i, j, moments, is_regulator)
        np.testing.assert_allclose(forward, expected[i, j], atol=1e-9)
        np.testing.assert_allclose(
            backward, np.where(everybody[j], expected[j, i], np.nan), atol=1e-9
        )


def test_clr_is_symmetric_without_regulators() -> None:
    mi, _ = np.random.default_rng(0).gamma(2, 0.2, (2, 20, 20))
    i, j, values = pairs_of(mi, None)
    of_gene = naive_moments(i, j, values, 20).target
    forward, backward = directed_scores("clr", values, i, j, NaiveMoments(of_gene, of_gene))
    np.testing.assert_array_equal(forward, backward)


def of_list(score: str, mi: np.ndarray, regulators: np.ndarray | None) -> np.ndarray:
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
    moments = naive_moments(i, j, mi[row, j], n, flags)
    forward, backward = directed_scores(score, mi[row, j], i, j, moments, flags)
    square = np.full((n, n), np.nan)
    square[i, j] = forward
    square[j, i] = backward
    return square[rows]


@st.composite
def matrices_of_results(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray | None]:
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


@pytest.mark.parametrize(("of_matrix", "score"), [(clr, "clr"), (target_z, "target_z")])
@settings(deadline=None)
@given(case=matrices_of_results())
def test_matrix_form_gives_what_the_list_form_gives(
    of_matrix: Any, score: str, case: tuple[np.ndarray, np.ndarray | None]
) -> None:
    mi, regulators = case
    np.testing.assert_allclose(of_matrix(mi), of_list(score, mi, regulators), atol=1e-9)


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
