"""CLR and target_z against dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile.methods.mutual_information.context_scores import clr, moments_from_pairs, target_z


def dense_scores(mi: Any, is_regulator: Any) -> tuple[np.ndarray, np.ndarray]:
    """CLR and target_z, source x target matrices, straight from the definition."""
    n_genes = len(mi)
    candidate = np.tile(is_regulator[:, None], n_genes) & ~np.eye(n_genes, dtype=bool)
    by_target, by_source = np.full((2, n_genes, n_genes), np.nan)
    for gene in range(n_genes):
        column = candidate[:, gene] & ~np.isnan(mi[:, gene])
        values = mi[column, gene]
        if len(values):
            sd = values.std() if np.ptp(values) > 0 else np.inf
            by_target[column, gene] = (values - values.mean()) / sd
        row = candidate[gene] & ~np.isnan(mi[gene])
        values = mi[gene, row]
        if len(values):
            sd = values.std() if np.ptp(values) > 0 else np.inf
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
    moments = moments_from_pairs(i, j, values, len(mi), is_regulator)
    for score, expected in zip((clr, target_z), dense_scores(mi, everybody), strict=True):
        forward, backward = score(i, j, values, moments, is_regulator)
        np.testing.assert_allclose(forward, expected[i, j], atol=1e-9)
        np.testing.assert_allclose(
            backward, np.where(everybody[j], expected[j, i], np.nan), atol=1e-9
        )


def test_clr_is_symmetric_without_regulators() -> None:
    mi, _ = np.random.default_rng(0).gamma(2, 0.2, (2, 20, 20))
    i, j, values = pairs_of(mi, None)
    forward, backward = clr(i, j, values, moments_from_pairs(i, j, values, 20))
    np.testing.assert_array_equal(forward, backward)


def test_backward_scores_are_missing_where_the_target_is_no_regulator() -> None:
    is_regulator = np.array([True, True, False])
    i, j, mi = [0, 0, 1], [1, 2, 2], [0.3, 0.1, 0.2]
    moments = moments_from_pairs(i, j, mi, 3, is_regulator)
    for score in (clr, target_z):
        forward, backward = score(i, j, mi, moments, is_regulator)
        assert np.isfinite(forward).all()
        np.testing.assert_array_equal(np.isnan(backward), [False, True, True])


def test_moments_of_parts_add_up_to_those_of_the_whole() -> None:
    random = np.random.default_rng(1)
    mi = random.gamma(2, 0.2, (30, 30))
    i, j, values = pairs_of(mi, None)
    whole = moments_from_pairs(i, j, values, 30)
    part = random.random(len(i)) < 0.4
    added = moments_from_pairs(i[part], j[part], values[part], 30) + moments_from_pairs(
        i[~part], j[~part], values[~part], 30
    )
    for role in ("as_target", "as_source"):
        for name in ("count", "sum", "sum_squares"):
            np.testing.assert_allclose(
                getattr(getattr(added, role), name), getattr(getattr(whole, role), name)
            )


def test_rounding_errors_are_not_taken_for_spread() -> None:
    """A constant gene, MI 0.1 with everything: 0.1^2 does not sum exactly."""
    i, j = np.triu_indices(1000, 1)
    mi = np.full(len(i), 0.1)
    forward, backward = target_z(i, j, mi, moments_from_pairs(i, j, mi, 1000))
    assert not forward.any()
    assert not backward.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"i": [0, 3]}, "expected genes from 0 to 2"),
        ({"mi": [0.1]}, "expected three vectors of one length"),
        ({"i": [0.5, 1.0]}, "expected integers"),
        ({"is_regulator": np.array([True, False, False])}, r"i\[1\] is gene 1, no regulator"),
        ({"is_regulator": np.array([True])}, r"expected bool of shape \(3,\)"),
    ],
)
def test_bad_pairs_are_refused_with_a_reason(change: dict[str, Any], message: str) -> None:
    valid: dict[str, Any] = {"i": [0, 1], "j": [1, 2], "mi": [0.1, 0.2], "n_genes": 3}
    with pytest.raises(ValueError, match=message):
        moments_from_pairs(**(valid | change))
