"""Tests of profiles against labels and numbers of samples, in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.downstream.label_tests import label_test
from pairtile.io.annotations import Condition
from scipy.stats import ttest_ind
from statsmodels.regression.linear_model import OLS


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def labelled(codes: list[int] | np.ndarray) -> Condition:
    codes = np.asarray(codes, dtype=np.int32)
    labels = tuple(map(str, np.unique(codes[codes >= 0])))
    return Condition("label", "categorical", labels, codes, np.full(codes.size, np.nan))


def measured(numbers: np.ndarray) -> Condition:
    return Condition("dose", "quantitative", (), np.full(numbers.size, -1, np.int32), numbers)


def test_two_labels_are_compared_nearly_as_by_welch(rng: np.random.Generator) -> None:
    codes = np.repeat([0, 1], [40, 60])
    profiles = rng.standard_normal((20, 100)) * np.where(codes, 2.0, 1.0)
    profiles[:5] += codes
    found = label_test(profiles, labelled(codes))
    peer = ttest_ind(profiles[:, codes == 1], profiles[:, codes == 0], axis=1, equal_var=False)
    np.testing.assert_allclose(found.p_value, peer.pvalue, rtol=0.1)
    means = profiles[:, codes == 1].mean(axis=1) - profiles[:, codes == 0].mean(axis=1)
    np.testing.assert_allclose(found.effect, means)
    assert (found.units, found.of_blocks) == (100, False)


def test_standard_errors_are_those_of_hc2_with_blocks(rng: np.random.Generator) -> None:
    n = 3000  # so many that degrees of freedom are those of the samples
    dose, block = rng.standard_normal(n), rng.integers(3, size=n).astype(np.int32)
    profiles = rng.standard_normal((2, n)) * (1 + block) + 0.05 * dose + 5 * block
    found = label_test(profiles, measured(dose), [block])
    design = np.column_stack([dose, np.eye(3)[block]])
    for k in range(2):
        fit = OLS(profiles[k], design).fit(cov_type="HC2", use_t=True)
        assert found.effect[k] == pytest.approx(fit.params[0])
        assert found.p_value[k] == pytest.approx(fit.pvalues[0], rel=1e-6)


def test_blocks_of_one_label_are_the_units(rng: np.random.Generator) -> None:
    donor = np.repeat(np.arange(8), 30).astype(np.int32)
    profiles = rng.standard_normal((4, 240)) + 3 * rng.standard_normal((4, 8))[:, donor]
    found = label_test(profiles, labelled(donor % 2), [donor])
    assert (found.units, found.of_blocks) == (8, True)
    means = np.stack([profiles[:, donor == k].mean(axis=1) for k in range(8)], axis=1)
    expected = label_test(means, labelled(np.arange(8) % 2))
    np.testing.assert_allclose(found.p_value, expected.p_value)
    # One donor of each label: nothing can be told.
    assert np.isnan(
        label_test(profiles[:, :60], labelled(donor[:60] % 2), [donor[:60]]).p_value
    ).all()


def test_subjects_are_compared_within_their_batches(rng: np.random.Generator) -> None:
    """Subjects of one label each, measured several times, in batches that differ."""
    subject = np.repeat(np.arange(24), 5).astype(np.int32)
    batch, label = subject // 8, subject % 2
    profiles = rng.standard_normal((3, 120)) + rng.standard_normal((3, 24))[:, subject] + 9 * batch
    found = label_test(profiles, labelled(label), [subject, batch])
    means = profiles.reshape(3, 24, 5).mean(axis=2)
    expected = label_test(means, labelled(label[::5]), [batch[::5]])
    np.testing.assert_allclose(found.p_value, expected.p_value)
    assert (found.units, found.of_blocks) == (24, True)


def test_what_cannot_be_tested_has_no_p_value(rng: np.random.Generator) -> None:
    profiles = rng.standard_normal((3, 12))
    profiles[1] = 2.0
    profiles[2, 3] = np.nan
    found = label_test(profiles, labelled(np.arange(12) % 2))
    assert np.isnan(found.p_value).tolist() == [False, True, True]
    codes = np.r_[np.full(6, -1), np.zeros(3), np.ones(3)].astype(int)
    assert label_test(profiles, labelled(codes)).units == 6


@pytest.mark.parametrize("labels", [2, 4])
def test_p_values_hold_under_the_null_with_batches(labels: int) -> None:
    """Labels that batches share unequally, batches that differ in mean and spread."""
    draw, small = np.random.default_rng(labels), []
    for _ in range(150):
        batch = draw.integers(3, size=48).astype(np.int32)
        chance = np.ones((3, labels)) + 2 * np.eye(3, labels)
        codes = np.array([draw.choice(labels, p=chance[b] / chance[b].sum()) for b in batch])
        profiles = draw.standard_normal((20, 48)) * (1 + batch) + 4 * batch
        small.append(np.mean(label_test(profiles, labelled(codes), [batch]).p_value <= 0.05))
    assert 0.02 < np.mean(small) < 0.065
