"""Simulated pairs have the modes that they were given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.simulate.modes import simulate_modes


def test_modes_have_the_samples_means_and_covariances_that_are_told() -> None:
    simulation = simulate_modes(5, 4000, 3, separation=4.0, least_share=0.2, seed=3)
    assert simulation.values.shape == (10, 4000)
    assert len(simulation.genes) == 10
    for pair in range(5):
        for mode in range(3):
            here = simulation.labels[pair] == mode
            weight = simulation.parameters["weights"][pair, mode]
            assert weight >= 0.2
            assert here.mean() == pytest.approx(weight, abs=1e-3)
            points = simulation.values[2 * pair : 2 * pair + 2, here]
            mean = simulation.parameters["means"][pair, mode]
            covariance = simulation.parameters["covariances"][pair, mode]
            np.testing.assert_allclose(points.mean(axis=1), mean, atol=0.2)
            np.testing.assert_allclose(np.cov(points), covariance, atol=0.3)


@pytest.mark.parametrize("n_modes", [2, 3, 5])
def test_modes_are_as_far_apart_as_asked(n_modes: int) -> None:
    simulation = simulate_modes(20, 50, n_modes, separation=5.0, least_share=0.1)
    means = simulation.parameters["means"]
    covariances = simulation.parameters["covariances"]
    for pair in range(20):
        for a in range(n_modes):
            for b in range(a):
                apart = means[pair, a] - means[pair, b]
                pooled = (covariances[pair, a] + covariances[pair, b]) / 2.0
                assert apart @ np.linalg.inv(pooled) @ apart >= 25.0 - 1e-9


def test_the_same_seed_gives_the_same_values_and_another_does_not() -> None:
    first, again = simulate_modes(2, 30, 2, seed=4), simulate_modes(2, 30, 2, seed=4)
    np.testing.assert_array_equal(first.values, again.values)
    assert (first.values != simulate_modes(2, 30, 2, seed=5).values).all()


def test_missing_values_are_as_many_as_asked() -> None:
    simulation = simulate_modes(20, 500, 2, missing=0.2)
    assert np.isnan(simulation.values).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_modes": 0}, "n_modes is 0"),
        ({"n_modes": 6}, "n_modes is 6"),
        ({"n_modes": 3, "least_share": 0.4}, "least_share is 0.4"),
        ({"max_correlation": 1.0}, "max_correlation is 1.0"),
        ({"missing": 1.0}, "missing is 1.0"),
        ({"n_samples": 3}, "n_samples is 3"),
    ],
)
def test_arguments_out_of_range_are_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate_modes(**change)


def test_written_files_hold_the_simulation(tmp_path):
    from pairtile.simulate.command import main

    main(["modes", "--pairs", "3", "--samples", "40", "--missing", "0.1", "--out", str(tmp_path)])
    made = simulate_modes(3, 40, missing=0.1)
    values = pd.read_csv(tmp_path / "expression.tsv.gz", sep="\t", index_col="gene")
    assert values.index.tolist() == made.genes
    np.testing.assert_allclose(values.to_numpy(), made.values, rtol=1e-4)
    truth = pd.read_csv(tmp_path / "truth.tsv", sep="\t")
    assert (truth["mode"].to_numpy().reshape(3, 40) == made.labels + 1).all()
    assert "modes --pairs 3" in (tmp_path / "README.md").read_text()
