"""The lower bounds of the entropy by which the GPU search screens sets are lower bounds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pairtile.gpu import compiling as cuda
from pairtile.methods.predictor_pairs.search_cuda import KERNELS


def distributions(n_levels, n_samples):
    """All distributions of ``n_samples`` over the levels, float64 (n, n_levels)."""
    first = np.stack(np.meshgrid(*[np.arange(n_samples + 1)] * (n_levels - 1)), axis=-1)
    first = first.reshape(-1, n_levels - 1)
    first = first[first.sum(axis=1) <= n_samples]
    return np.column_stack([first, n_samples - first.sum(axis=1)]) / n_samples


def entropy(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(axis=1)


def elementary_sums(p):
    """Sums of products of 2, 3 and 4 different columns, summed up as the kernel does."""
    e1, e2, e3, e4 = p[:, 0], 0.0, 0.0, 0.0
    for column in p.T[1:]:
        e4 = e4 + column * e3
        e3 = e3 + column * e2
        e2 = e2 + column * e1
        e1 = e1 + column
    return e2, e3, e4


def constant(name):
    """A constant of the kernel."""
    found = re.search(
        rf"float {name} = ([0-9.]+)f;", cuda.source(KERNELS / "mean_conditional_entropy.cu")
    )
    assert found is not None
    return float(found.group(1))


@pytest.mark.parametrize(
    ("n_levels", "n_samples"), [(2, 2000), (3, 300), (3, 301), (4, 60), (4, 97)]
)
def test_bounds_are_never_above_the_entropy(n_levels, n_samples):
    third, fourth = constant("THIRD"), constant("FOURTH")
    p = distributions(n_levels, n_samples)
    e2, e3, e4 = elementary_sums(p)
    tight = 4 * (e2 + third * (e3 + fourth * third * e4))
    assert (entropy(p) - 4 * e2).min() > -1e-12
    assert (entropy(p) - tight).min() > -1e-12


@pytest.mark.parametrize("n_levels", [2, 3, 4])
def test_tight_bound_is_the_entropy_of_equally_frequent_levels(n_levels):
    third, fourth = constant("THIRD"), constant("FOURTH")
    e2, e3, e4 = elementary_sums(np.full((1, n_levels), 1 / n_levels))
    tight = 4 * (e2 + third * (e3 + fourth * third * e4))
    np.testing.assert_allclose(tight, np.log2(n_levels), rtol=1e-5)
