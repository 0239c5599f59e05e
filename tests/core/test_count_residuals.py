"""Randomised quantile residuals of counts against the negative binomial of SciPy, and what they
must not depend on."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from pairtile.config.preprocess import Preprocess
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.preprocess.count_residuals import MAX_SUMMED, CountResiduals
from pairtile.preprocess.expression import prepare_expression
from scipy.stats import kstest, nbinom, norm

GENES, SAMPLES = 30, 120


def simulated(level: float = 5.0) -> np.ndarray:
    """Counts from rare to thousands, with missing values, in samples of unlike depths."""
    draw = np.random.default_rng(3)
    rates = draw.lognormal(0, 1, (GENES, 1)) * draw.gamma(2, 0.5, (GENES, SAMPLES))
    counts = draw.poisson(level * rates * draw.lognormal(0, 0.7, SAMPLES)).astype(float)
    counts[2] = draw.poisson(3000 * rates[2])  # most of every total, and not by depth
    counts[3, 5:40] = np.nan
    return counts


def table(counts: np.ndarray, genes: list[str] | None = None) -> Expression:
    names = [f"g{k}" for k in range(len(counts))] if genes is None else genes
    return Expression(counts, names, [f"s{k}" for k in range(counts.shape[1])], "t")


def residuals(counts: np.ndarray) -> np.ndarray:
    return CountResiduals(table(counts))(counts, np.arange(len(counts)))


def naive_fit(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts (genes, samples) and dispersions (genes,)."""
    seen, n = ~np.isnan(counts), (~np.isnan(counts)).sum(axis=1)
    filled = np.where(seen, counts, 0.0)
    mean = filled.sum(axis=1) / n
    weight = 1.0 / (1.0 + mean)
    depth = None
    while True:
        totals = weight[:, None] * filled
        expected = weight[:, None] * mean[:, None] * seen
        new = totals.sum(axis=0) / expected.sum(axis=0)
        others = (totals.sum(axis=0) - totals) / (expected.sum(axis=0) - expected)
        mean = filled.sum(axis=1) / (seen * new).sum(axis=1)
        own_mean = filled.sum(axis=1) / (seen * others).sum(axis=1)
        of_gene = own_mean[:, None] * others
        squares = np.where(seen, (counts - of_gene) ** 2, 0.0).sum(axis=1) * n / (n - 1)
        above = squares - (seen * of_gene).sum(axis=1)
        dispersion = np.maximum(above / (seen * of_gene**2).sum(axis=1), 1e-4)
        if depth is not None and np.abs(new / depth - 1).max() <= 0.01:
            return mean[:, None] * new, dispersion
        weight, depth = 1.0 / (1.0 + dispersion * mean), new


def places(genes: list[str], samples: list[str]) -> np.ndarray:
    """Of each pair of names, a number between 0 and 1."""

    def key(name: str) -> int:
        return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")

    def mixed(z: int) -> float:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (((z ^ (z >> 31)) >> 11) + 0.5) / 2**53

    return np.array([[mixed(key(gene) ^ key(sample)) for sample in samples] for gene in genes])


def test_residuals_are_those_of_the_negative_binomial() -> None:
    counts = simulated()
    expected, dispersion = naive_fit(counts)
    model = nbinom(1.0 / dispersion[:, None], 1.0 / (1.0 + dispersion[:, None] * expected))
    below, up_to = model.cdf(counts - 1), model.cdf(counts)
    given = table(counts)
    place = places(given.genes, given.samples)
    reference = norm.ppf(below + place * (up_to - below))
    found = residuals(counts)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(counts))
    summed = (counts <= MAX_SUMMED) & (up_to < 1 - 1e-8)
    assert summed.sum() > 2000
    np.testing.assert_allclose(found[summed], reference[summed], atol=1e-6)
    # Of larger counts the place between two is not linear in probability.
    large = (counts > MAX_SUMMED) & (up_to < 1 - 1e-8)
    assert large.sum() > 100
    assert (found[large] >= norm.ppf(below[large]) - 1e-9).all()
    assert (found[large] <= norm.ppf(up_to[large]) + 1e-9).all()
    np.testing.assert_allclose(found[large], reference[large], atol=0.01)


def test_places_are_uniform_and_those_of_two_genes_or_samples_unrelated() -> None:
    place = places([f"g{k}" for k in range(200)], [f"s{k}" for k in range(100)])
    assert kstest(place.ravel(), "uniform").pvalue > 0.001
    for rows in (place, place.T):
        r = np.corrcoef(rows)[np.triu_indices(len(rows), 1)]
        assert abs(r.std() * np.sqrt(rows.shape[1]) - 1.0) < 0.05


def test_residuals_do_not_depend_on_the_order_of_genes_and_samples() -> None:
    counts = simulated()
    whole = residuals(counts)
    draw = np.random.default_rng(1)
    rows, columns = draw.permutation(GENES), draw.permutation(SAMPLES)
    turned = Expression(
        counts[rows][:, columns], [f"g{k}" for k in rows], [f"s{k}" for k in columns], "t"
    )
    found = CountResiduals(turned)(turned.values, np.arange(GENES))
    np.testing.assert_allclose(found, whole[rows][:, columns], atol=1e-7)
    some = np.array([1, 7, 8])
    fitted = CountResiduals(table(counts))
    np.testing.assert_array_equal(fitted(counts[some], some), whole[some])


def test_a_gene_that_makes_up_most_of_the_totals_does_not_make_the_depths() -> None:
    """Its own changes would otherwise be in every other gene, with the opposite sign."""
    counts = simulated(level=20.0)
    others = np.delete(counts, [2, 3], axis=0)
    depths = CountResiduals(table(counts)).depths
    assert np.corrcoef(np.log(depths), np.log(others.sum(axis=0)))[0, 1] > 0.9
    assert np.corrcoef(np.log(depths), np.log(np.nansum(counts, axis=0)))[0, 1] < 0.5


def test_residuals_are_standard_normal_at_any_depth() -> None:
    draw = np.random.default_rng(5)
    depths = draw.lognormal(0, 1.0, 400)
    rates = draw.lognormal(0.5, 1, (200, 1)) * draw.gamma(3, 1 / 3, (200, 400))
    found = residuals(draw.poisson(rates * depths).astype(float))
    for group in np.array_split(np.argsort(depths), 4):
        assert abs(found[:, group].mean()) < 0.03
        assert abs(found[:, group].std() - 1.0) < 0.05


@pytest.mark.parametrize("level", [0.0, 1.0, 1e9])
def test_constant_genes_become_zero(level: float) -> None:
    counts = simulated()
    counts[4] = level
    counts[4, 9] = np.nan
    found = residuals(counts)[4]
    assert np.isnan(found[9])
    assert (np.delete(found, 9) == 0.0).all()


def test_awkward_counts_get_finite_residuals_in_their_order() -> None:
    counts = simulated()
    counts[5] = 0.0
    counts[5, 0] = 1e6  # in one sample alone
    counts[6] = np.geomspace(1e8, 1e9, SAMPLES).round()
    counts[7] += 0.4  # a fraction: rounded
    counts[8] = np.nan
    counts[9, 1:] = np.nan
    found = residuals(counts)
    assert np.isnan(found[8]).all()
    assert np.isfinite(np.delete(found, [3, 8, 9], axis=0)).all()
    assert found[5].argmax() == 0
    np.testing.assert_allclose(found[7], residuals(np.round(counts))[7], atol=1e-9)


def test_a_table_of_one_expressed_gene_has_finite_residuals() -> None:
    counts = np.zeros((4, SAMPLES))
    counts[1] = np.random.default_rng(2).poisson(20, SAMPLES) + 1
    found = residuals(counts)
    assert np.isfinite(found).all()


def test_samples_without_a_count_are_refused() -> None:
    counts = np.nan_to_num(simulated())
    counts[:, 7] = 0.0
    settings = Preprocess.model_validate({"normalize": "nb_residuals"})
    with pytest.raises(InputError, match="sum of zero"):
        prepare_expression(table(counts), settings)
