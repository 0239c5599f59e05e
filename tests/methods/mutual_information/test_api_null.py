"""``pairtile.permutation_null``: the workflow's null, asked in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile import benjamini_hochberg, mutual_information, permutation_null

QUICK = {"permutations": 10_000}


def unrelated(genes: int = 60, samples: int = 50, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(genes, samples))


def test_p_values_of_unrelated_genes_are_uniform() -> None:
    values = unrelated()
    p = permutation_null(values, **QUICK).p_value(mutual_information(values))
    of_pairs = p[np.triu_indices(60, 1)]
    for level in (0.01, 0.1, 0.5):
        # Pairs share genes, so their spread is wider than binomial: five times is far enough.
        spread = np.sqrt(level * (1 - level) / of_pairs.size)
        assert abs((of_pairs <= level).mean() - level) < 5 * spread
    assert (benjamini_hochberg(of_pairs) > 0.01).all()


def test_labels_tell_which_genes_are_meant() -> None:
    values = unrelated(8)
    values[3, :20] = np.nan
    frame = pd.DataFrame(values, index=list("abcdefgh"))
    null = permutation_null(frame, **QUICK)
    mi = mutual_information(frame)
    every = null.p_value(mi)
    some = null.p_value(mi.loc[["d", "b"], ["c", "h", "d"]])
    pd.testing.assert_frame_equal(some, every.loc[["d", "b"], ["c", "h", "d"]])
    assert np.isnan(some.loc["d", "d"])
    i, j = np.triu_indices(8, 1)
    of_pairs = null.p_value(mi.to_numpy()[i, j], i=i, j=j)
    np.testing.assert_array_equal(of_pairs, every.to_numpy()[i, j])
    np.testing.assert_array_equal(
        null.p_value(
            mi.to_numpy()[i, j], i=i, j=j, n_samples=np.where((i == 3) | (j == 3), 30, 50)
        ),
        of_pairs,
    )


def test_whole_matrix_is_judged_in_blocks_as_it_is_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = unrelated(30)
    values[:5, :10] = np.nan
    null = permutation_null(values, **QUICK)
    mi = mutual_information(values)
    whole = null.p_value(mi)
    monkeypatch.setattr("pairtile.methods.mutual_information.api.BLOCK", 64)
    np.testing.assert_array_equal(null.p_value(mi), whole)
    i, j = np.triu_indices(30, 1)
    np.testing.assert_array_equal(null.p_value(mi[i, j], i=i, j=j), whole[i, j])


def test_raw_values_with_outliers_get_classes_of_their_own() -> None:
    values = unrelated(40)
    values[20:, 0] = 1000.0
    null = permutation_null(values, transform="none", **QUICK)
    assert len(set(null.classes)) > 1
    mi = mutual_information(values, transform="none")
    assert null.p_value(mi).shape == (40, 40)
    with pytest.raises(ValueError, match=r"expected \(40, 40\), or i and j"):
        null.p_value(mi[0])


def test_threshold_separates_the_p_values() -> None:
    values = unrelated()
    null = permutation_null(values, **QUICK)
    for p in (0.5, 0.01, 1e-6):
        limit = null.threshold_bits(p)
        assert limit.shape == (1, 1)
        assert null.p_value(limit * (1 + 1e-6))[0, 0] <= p < null.p_value(limit * 0.999)[0, 0]
    assert null.extrapolated(null.threshold_bits(1e-6)).all()
    assert not null.extrapolated(null.threshold_bits(0.01) * 0.99).any()


def test_same_seed_same_null() -> None:
    values = unrelated(10)
    a, b, c = (permutation_null(values, seed=s, **QUICK).null.statistic[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    assert a.size == permutation_null(values, **QUICK).draws == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"i": [0]}, "found only one of i and j"),
        ({"i": [0.5], "j": [1]}, "i, j: found type float64; expected gene numbers"),
        ({"i": [0], "j": [10]}, "genes that are not among the 10"),
    ],
)
def test_genes_that_are_not_of_the_null_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    null = permutation_null(unrelated(10), **QUICK)
    with pytest.raises(ValueError, match=message):
        null.p_value([0.1], **arguments)


def test_impossible_settings_are_refused() -> None:
    values = unrelated(10)
    with pytest.raises(ValueError, match="permutations: found 10; expected"):
        permutation_null(values, permutations=10)
    with pytest.raises(ValueError, match="seed: found -1; expected"):
        permutation_null(values, seed=-1)
    with pytest.raises(ValueError, match="p: found 0; expected"):
        permutation_null(values, **QUICK).threshold_bits(0)
    values[:, 15:] = np.nan
    with pytest.raises(ValueError, match="found no two genes with 20 samples in common"):
        permutation_null(values, **QUICK)
