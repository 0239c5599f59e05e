"""Eigenvalues on the GPU against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from naive_random_matrix import modules_and_noise
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.eigenvalues import NetworkEigenvalues
from pairtile.methods.multimodal_correlation.thresholds import RankedPairs, random_matrix_threshold

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("genes", "partners"), [(1000, 2), (1500, 60), (2300, 900)])
def test_eigenvalues_of_a_large_part_are_those_of_the_cpu(genes, partners):
    random = np.random.default_rng(genes)
    chain = np.column_stack([np.arange(genes - 1), np.arange(1, genes)])
    drawn = np.concatenate([chain, random.integers(0, genes, (genes * partners // 2, 2))])
    i, j = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0).T
    r = random.uniform(-1, 1, i.size).astype(np.float32)
    found, expected = (
        NetworkEigenvalues(genes, choose(backend)).of_matrix(np.arange(genes), i, j, r)
        for backend in ("cuda", "cpu")
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * genes)


def test_threshold_and_curve_are_those_of_the_cpu():
    genes = 1600
    i, j, r = modules_and_noise(genes, 30, seed=4)
    found, expected = (
        random_matrix_threshold(RankedPairs.of_modes(i, j, r, genes), device=choose(backend))
        for backend in ("cuda", "cpu")
    )
    assert expected.threshold is not None
    assert expected.curve["genes"].max() > 1000  # or the GPU has nothing to do
    assert found.threshold == expected.threshold
    assert found.message == expected.message
    np.testing.assert_array_equal(found.curve["eigenvalues"], expected.curve["eigenvalues"])
    np.testing.assert_allclose(found.curve["chi_square"], expected.curve["chi_square"], rtol=1e-6)
