"""CLR and target_z: lists of pairs against dense matrices, and matrices against lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mutual_information import naive_moments
from pairtile import clr, mutual_information, target_z
from pairtile.methods.mutual_information.network import PairScores
from pairtile.methods.mutual_information.scores import SCORES


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
    for score, expected in zip(("clr", "target_z"), dense_scores(mi, everybody), strict=True):
        scores = PairScores(len(mi), SCORES[score], is_regulator, moments)
        forward, *backward = scores.from_bits(values, i, j)
        np.testing.assert_allclose(forward, expected[i, j], atol=1e-9)
        assert len(backward) == (score == "target_z" or is_regulator is not None)
        for found in backward:
            allowed = np.where(everybody[j], expected[j, i], np.nan)
            np.testing.assert_allclose(found, allowed, atol=1e-9)


@given(case=matrices())
@settings(max_examples=80, deadline=None)
def test_matrix_form_gives_the_definition(case: Any) -> None:
    mi, is_regulator = case
    everybody = np.ones(len(mi), dtype=bool) if is_regulator is None else is_regulator
    rows = np.flatnonzero(everybody)
    table = pd.DataFrame(mi[rows], index=rows, columns=range(len(mi)))
    for function, expected in zip((clr, target_z), dense_scores(mi, everybody), strict=True):
        np.testing.assert_allclose(function(table), expected[rows], atol=1e-9)


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
