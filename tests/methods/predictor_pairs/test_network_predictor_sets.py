"""From tested predictor sets to edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pairtile.methods.predictor_pairs.config import (
    KeepSets,
    PredictorEstimatorConfig,
)
from pairtile.methods.predictor_pairs.network import (
    edges_of_sets,
    kept_sets,
    lacking_warnings,
    set_counts,
    set_q_values,
    set_warnings,
    threshold_warnings,
)
from scipy.stats import false_discovery_control


def sets(**changes) -> pd.DataFrame:
    """Two targets with two pairs each, and a constant target."""
    columns = {
        "target": [5, 5, 6, 6, 7],
        "rank": [1, 2, 1, 2, 1],
        "predictor_1": [0, 0, 1, 2, 0],
        "predictor_2": [1, 3, 2, 3, 1],
        "mce_bits": [0.1, 0.4, 0.2, 0.2, 0.0],
        "target_entropy_bits": [1.0, 1.0, 0.9, 0.9, 0.0],
        "mi_bits": [0.95, 0.7, 0.8, 0.8, 0.0],
        "imp_bits": [0.9, 0.1, 0.3, 0.3, 0.0],
        "gain_1": [0.9, 0.6, 0.4, 0.3, 0.0],
        "gain_2": [0.95, 0.1, 0.3, 0.5, 0.0],
        "spearman_1": [0.8, -0.3, 0.5, 0.0, np.nan],
        "spearman_2": [-0.7, 0.1, 0.2, 0.9, np.nan],
        "n_ties": [1, 3, 40, 40, 6],
        "p_value": [0.001, 0.3, 0.02, 0.02, 1.0],
        "q_value": [0.002, 0.6, 0.02, 0.02, 1.0],
    }
    return pd.DataFrame(columns | changes)


@pytest.mark.parametrize(
    ("keep", "rows"),
    [
        (KeepSets.model_validate("best"), [0, 2]),
        (KeepSets(p_value=0.02), [0, 2, 3]),
        (KeepSets(fdr=0.01), [0]),
        (KeepSets(p_value=1.0), [0, 1, 2, 3]),
        (KeepSets(best_fdr=0.02), [0, 2]),
        (KeepSets(best_fdr=0.01), [0]),
    ],
)
def test_kept_sets_follow_the_rule_and_tell_something_of_their_target(keep, rows) -> None:
    assert kept_sets(sets(), keep).index.tolist() == rows


def test_edges_point_from_each_predictor_and_take_the_best_set_that_holds_them() -> None:
    edges = edges_of_sets(kept_sets(sets(), KeepSets(p_value=1.0))).set_index(["source", "target"])
    assert set(edges.index) == {(0, 5), (1, 5), (3, 5), (1, 6), (2, 6), (3, 6)}
    assert edges.loc[(0, 5), "mce_bits"] == 0.1
    assert edges.loc[(0, 5), "n_sets"] == 2
    assert edges.loc[(2, 6), "rank"] == 1
    assert edges.loc[(2, 6), "gain_bits"] == 0.3
    assert edges.loc[(2, 6), "spearman"] == 0.2
    assert edges.loc[(3, 6), "gain_bits"] == 0.5


def test_edges_of_best_sets_come_first_then_what_adds_most() -> None:
    edges = edges_of_sets(kept_sets(sets(), KeepSets(p_value=1.0)))
    order = list(zip(edges["rank"], -edges["gain_bits"], strict=True))
    assert order == sorted(order)
    assert edges["rank"].tolist() == [1, 1, 1, 1, 2, 2]
    assert edges["score"].is_monotonic_decreasing


def test_single_predictors_have_no_second_edge() -> None:
    single = sets(predictor_2=[-1] * 5, gain_2=[np.nan] * 5)
    edges = edges_of_sets(kept_sets(single, KeepSets.model_validate("best")))
    assert edges[["source", "target"]].values.tolist() == [[0, 5], [1, 6]]


def test_an_empty_table_gives_an_empty_network() -> None:
    assert edges_of_sets(sets().iloc[:0]).empty


def test_q_values_of_best_sets_are_those_of_benjamini_and_hochberg() -> None:
    p = np.random.default_rng(1).uniform(size=40) ** 3
    q = set_q_values(p, np.ones(40, dtype=int))
    np.testing.assert_allclose(q, false_discovery_control(p), rtol=1e-12)


def test_lesser_sets_are_judged_at_the_threshold_that_lets_them_in() -> None:
    p = np.array([0.001, 0.002, 0.01, 0.03, 0.5, np.nan])
    rank = np.array([1, 2, 1, 2, 1, 1])
    q = set_q_values(p, rank)
    np.testing.assert_allclose(q[:5], [0.003, 0.006, 0.015, 0.045, 0.5])
    assert np.isnan(q[5])


def test_ties_are_counted_and_said() -> None:
    table = sets()
    kept = kept_sets(table, KeepSets.model_validate("best"))
    counts = set_counts(table, kept, edges_of_sets(kept))
    assert counts["targets_constant"] == 1
    assert counts["targets_with_tied_best"] == 1
    assert (counts["sets_kept"], counts["edges"]) == (2, 4)
    (warning,) = set_warnings(table, PredictorEstimatorConfig(penalty="none"))
    assert "For 1 of 2 targets the best pair is one of several" in warning
    assert "at most 40" in warning
    assert "no_obs" in warning
    assert set_warnings(sets(n_ties=[1] * 5), PredictorEstimatorConfig(penalty="none")) == []


def test_thresholds_that_no_p_value_can_meet_are_told() -> None:
    assert threshold_warnings(KeepSets.model_validate("best"), 0) == []
    assert threshold_warnings(KeepSets(fdr=0.05), 19) == []
    (warning,) = threshold_warnings(KeepSets(fdr=0.01), 20)
    assert warning.startswith("The setting keep: {fdr: 0.01} cannot be met: with 20 ")
    assert "no p-value is below 0.048" in warning


def test_targets_without_any_set_are_told() -> None:
    assert lacking_warnings(sets(), 3, 2, 20) == []
    (warning,) = lacking_warnings(sets(), 5, 2, 20)
    assert warning.startswith("2 of 5 targets have no result")
    assert "any pair to be observed together in preprocess.min_samples (20)" in warning


def test_no_predictor_of_a_second_best_set_scores_above_one_of_a_best() -> None:
    edges = edges_of_sets(sets(gain_2=[0.95, 1.6, 0.3, 1.9, 0.0]))
    assert edges["rank"].is_monotonic_increasing
    assert edges["score"].is_monotonic_decreasing
