"""Normalisations against naive references and published examples."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pairtile import infer_network
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.io.sparse_rows import SparseRows
from pairtile.preprocess.normalize import (
    DepthRanks,
    dispersion_trend,
    median_ratio_factors,
    quantile_normalize,
    stabilise_variance,
    tmm_factors,
    zscore,
)
from pairtile.preprocess.statistics import count_values
from prepared_tables import prepare_expression, table
from scipy.sparse import csr_array
from scipy.stats import norm


def _names(values: np.ndarray) -> tuple[list[str], list[str]]:
    return table(values).genes, table(values).samples


def naive_quantile(values: np.ndarray) -> np.ndarray:
    """Cell by cell: mean of the samples' quantile functions, read at the average rank."""

    def quantile(ordered: list[float], share: float) -> float:
        place = share * (len(ordered) - 1)
        low = min(int(place), max(len(ordered) - 2, 0))
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    n_genes, n_samples = values.shape
    columns = [sorted(x for x in values[:, k] if not np.isnan(x)) for k in range(n_samples)]
    shares = [k / (n_genes - 1) for k in range(n_genes)]
    target = [
        float(np.mean([quantile(c, share) for c in columns if c] or [0.0])) for share in shares
    ]
    result = np.full(values.shape, np.nan)
    for i, k in np.argwhere(~np.isnan(values)):
        column, x = columns[k], values[i, k]
        below, ties = sum(y < x for y in column), sum(y == x for y in column)
        rank = below + (ties - 1) / 2
        share = rank / (len(column) - 1) if len(column) > 1 else 0.5
        result[i, k] = quantile(target, share)
    return result


CELLS = st.one_of(st.floats(-50, 50), st.integers(-3, 3).map(float))
GAPPY = st.one_of(CELLS, st.just(np.nan))
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9)


def quantile(values: np.ndarray) -> np.ndarray:
    """``quantile_normalize`` of a copy."""
    normalized = values.copy()
    quantile_normalize(normalized)
    return normalized


@given(hnp.arrays(np.float64, SHAPES, elements=GAPPY))
def test_quantile_agrees_with_the_naive_reference(values: np.ndarray) -> None:
    np.testing.assert_allclose(quantile(values), naive_quantile(values), rtol=0, atol=1e-11)


def test_quantile_gives_the_published_example_with_ties() -> None:
    # The worked example of the encyclopaedia's page on quantile normalisation, ties averaged.
    values = np.array([[5, 4, 3], [2, 1, 4], [3, 4, 6], [4, 2, 8.0]])
    expected = [[5.67, 5.17, 2.0], [2.0, 2.0, 3.0], [3.0, 5.17, 4.67], [4.67, 3.0, 5.67]]
    np.testing.assert_allclose(quantile(values), expected, atol=0.005)


@given(hnp.arrays(np.float64, SHAPES, elements=CELLS, unique=True))
def test_quantile_gives_complete_samples_the_same_sorted_values(values: np.ndarray) -> None:
    ordered = np.sort(quantile(values), axis=0)
    np.testing.assert_array_equal(ordered, np.repeat(ordered[:, :1], values.shape[1], axis=1))
    np.testing.assert_allclose(ordered[:, 0], np.sort(values, axis=0).mean(axis=1), atol=1e-12)


@given(hnp.arrays(np.float64, SHAPES, elements=GAPPY))
def test_zscore_gives_mean_zero_and_unit_deviation_or_zero(values: np.ndarray) -> None:
    result = zscore(values)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(values))
    for row, source in zip(result, values, strict=True):
        seen, before = row[~np.isnan(row)], source[~np.isnan(source)]
        if not seen.size:
            continue
        if np.ptp(before) == 0:
            assert (seen == 0).all()
        elif np.ptp(before) > 1e-6:
            assert abs(seen.mean()) < 1e-6
            assert abs(seen.std() - 1) < 1e-6
            np.testing.assert_allclose(seen, (before - before.mean()) / before.std(), atol=1e-6)


def test_zscore_of_a_constant_gene_with_a_rounded_mean_is_exactly_zero() -> None:
    assert (zscore(np.full((1, 10), 0.1)) == 0).all()


@given(
    hnp.arrays(np.float64, 5, elements=st.floats(1, 1000)),
    hnp.arrays(np.float64, 4, elements=st.floats(0.2, 5)),
)
def test_median_ratio_finds_the_depths_that_scaled_the_samples(
    levels: np.ndarray, depths: np.ndarray
) -> None:
    expression = table(np.outer(levels, depths))
    factors, n_genes = median_ratio_factors(expression, count_values(expression.values))
    assert n_genes == 5
    np.testing.assert_allclose(factors, depths / np.exp(np.log(depths).mean()), rtol=1e-12)


def naive_median_ratio(counts: np.ndarray) -> np.ndarray:
    """Anders & Huber 2010, equation 5, word for word, over genes without zeros or gaps."""
    factors = []
    rows = [row for row in counts if all(x > 0 for x in row)]
    for j in range(counts.shape[1]):
        ratios = [row[j] / np.prod(row) ** (1 / len(row)) for row in rows]
        factors.append(np.median(ratios))
    return np.array(factors)


def test_median_ratio_agrees_with_equation_5_whatever_else_is_zero_or_missing() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 900, (31, 6)).astype(float)
    counts[3, 2] = 0
    counts[7, 5] = np.nan
    expression = table(counts)
    factors, n_genes = median_ratio_factors(expression, count_values(counts))
    assert n_genes == 29
    # With an odd number of genes the median of logs is the log of the median.
    np.testing.assert_allclose(factors, naive_median_ratio(counts), rtol=1e-12)
    prepared = prepare_expression(
        expression,
        {"normalize": "median_ratio", "log2": True, "pseudocount": 0, "min_samples": 1},
    )
    with np.errstate(divide="ignore"):
        expected = np.log2(counts / factors)
    np.testing.assert_allclose(prepared.values, np.where(counts == 0, np.nan, expected), atol=1e-12)
    assert any("29 genes" in note for note in prepared.notes)


def test_median_ratio_without_a_gene_that_is_positive_everywhere_is_refused() -> None:
    with pytest.raises(InputError, match="no gene that is positive in every sample"):
        prepare_expression(
            table([[0, 500, 700], [400, 0, 300]]), {"normalize": "median_ratio", "min_samples": 1}
        )


def test_tmm_gives_the_factors_of_another_program() -> None:
    gene, sample = np.arange(60)[:, None], np.arange(5)
    counts = gene**2 * (sample + 2) + gene * (37 * sample % 11) + gene * 7919 * (sample + 3) % 23
    counts = (counts // (1 + 3 * (gene % 7 == sample))).astype(float)
    factors = tmm_factors(table(counts), count_values(counts)) / counts.sum(axis=0)
    expected = [0.992502608962, 1.004051505749, 1.013581831256, 1.012235998171, 0.978074093976]
    scale = np.exp(np.log(factors).mean())
    np.testing.assert_allclose(factors / scale, expected, rtol=1e-9)  # rnanorm 2.2 (TMM)
    prepared = prepare_expression(table(counts), {"normalize": "tmm", "min_samples": 3})
    scaled = counts / (factors * counts.sum(axis=0))
    np.testing.assert_allclose(np.exp2(prepared.values) - 1, scaled, rtol=1e-9, atol=1e-9)
    sparse = Expression(SparseRows(csr_array(counts)), *_names(counts), "t")
    np.testing.assert_allclose(
        tmm_factors(sparse, count_values(counts)) / counts.sum(axis=0), factors, rtol=1e-12
    )


def test_tmm_is_not_moved_by_a_tenth_of_the_genes() -> None:
    rng = np.random.default_rng(4)
    depths = rng.uniform(0.3, 3, 8)
    counts = rng.lognormal(7, 1, (500, 1)) * depths * rng.lognormal(0, 0.1, (500, 8))
    counts[:50, 2] *= 30  # two thirds of the sample's total
    factors = tmm_factors(table(counts), count_values(counts))
    np.testing.assert_allclose(factors, depths / np.exp(np.log(depths).mean()), rtol=0.03)


@pytest.mark.parametrize(("a0", "a1"), [(0.1, 2.0), (0.02, 0.5), (0.4, 1.0)])
def test_vst_finds_the_trend_of_dispersions_and_makes_variances_alike(a0: float, a1: float) -> None:
    rng = np.random.default_rng(5)
    mean = np.exp(rng.uniform(2, 9, 2000))[:, None]
    sizes = rng.uniform(0.5, 2, 120)
    shape = 1 / (a0 + a1 / mean)
    counts = rng.poisson(sizes * rng.gamma(shape, mean / shape, (2000, 120))).astype(float)
    factors, _ = median_ratio_factors(table(counts), count_values(counts))
    found = dispersion_trend(table(counts), factors)
    np.testing.assert_allclose(found, (a0, a1), rtol=0.15)
    prepared = prepare_expression(table(counts), {"normalize": "vst"})
    assert prepared.parameters["log2"] is False
    np.testing.assert_array_equal(prepared.values, stabilise_variance(counts / factors, *found))
    kept = (counts > 0).all(axis=1)
    for low, high in ((20, 100), (100, 1000), (1000, 9000)):
        genes = kept & (mean[:, 0] > low) & (mean[:, 0] < high)
        np.testing.assert_allclose(
            prepared.values[genes].std(axis=1).mean(), np.sqrt(a0) / np.log(2), rtol=0.15
        )


def test_the_trend_of_dispersions_is_not_too_small_in_few_samples() -> None:
    rng = np.random.default_rng(5)
    mean = np.exp(rng.uniform(2, 9, 20_000))[:, None]
    shape = 1 / (0.1 + 2.0 / mean)
    counts = rng.poisson(rng.gamma(shape, mean / shape, (20_000, 5))).astype(float)
    found = dispersion_trend(table(counts), np.ones(5))
    np.testing.assert_allclose(found, (0.1, 2.0), rtol=0.12)  # divided by n: 0.08 and 1.5


def test_vst_of_counts_that_vary_no_more_than_poisson_is_finite() -> None:
    counts = np.random.default_rng(6).poisson(np.full((300, 40), 50.0)).astype(float)
    counts[:5] = 0
    prepared = prepare_expression(table(counts), {"normalize": "vst", "drop_constant": False})
    assert np.isfinite(prepared.values).all()


def test_cpm_scales_every_sample_to_one_million_before_the_logarithm() -> None:
    counts = np.array([[10, 20, 0], [30, np.nan, 5], [60, 20, 5.0]])
    section = {"normalize": "cpm", "pseudocount": 0, "min_samples": 1}
    prepared = prepare_expression(table(counts), section)
    assert prepared.parameters["log2"] is True  # whole numbers are counts, however small
    cpm = np.exp2(prepared.values)
    np.testing.assert_allclose(np.nansum(cpm, axis=0), 1e6)
    np.testing.assert_allclose(cpm[:, 0], [1e5, 3e5, 6e5])
    assert np.isnan(prepared.values[0, 2])
    linear = prepare_expression(
        table(counts), {"normalize": "cpm", "min_samples": 1, "log2": False}
    )
    np.testing.assert_allclose(np.nansum(linear.values, axis=0), 1e6)
    assert linear.values[0, 2] == 0


def test_cpm_of_a_sample_without_counts_names_it() -> None:
    with pytest.raises(InputError, match=r"1 sample\(s\): 's1': found a sum of zero"):
        prepare_expression(
            table([[1, 0, 3], [4, np.nan, 6]]), {"normalize": "cpm", "min_samples": 1}
        )


@pytest.mark.parametrize("normalize", ["cpm", "median_ratio", "tmm", "vst"])
def test_normalisations_of_raw_values_refuse_logarithms(normalize: str) -> None:
    logs = table([[8.5, 7.1, 6.2], [5.5, 4.1, 3.2]])
    section = {"normalize": normalize, "min_samples": 1}
    with pytest.raises(InputError, match="values that look like logarithms") as error:
        prepare_expression(logs, section)
    assert f"preprocess.normalize: {normalize}" in str(error.value)
    # Who sets log2 has said what the values are: then it is done, and warned of.
    for log2 in (True, False):
        prepared = prepare_expression(logs, {**section, "log2": log2})
        (warning,) = prepared.warnings
        assert f"{normalize} is meant for raw values" in warning


@pytest.mark.parametrize("normalize", ["cpm", "median_ratio", "tmm", "vst"])
@pytest.mark.parametrize("log2", ["auto", True, False])
def test_normalisations_of_raw_values_refuse_negative_ones(
    normalize: str, log2: bool | str
) -> None:
    with pytest.raises(InputError, match=re.escape("found 1 negative values; expected raw")):
        prepare_expression(
            table([[800, -1, 600], [500, 400, 300]]),
            {"normalize": normalize, "log2": log2, "min_samples": 1},
        )


def test_quantile_and_zscore_come_after_the_logarithm() -> None:
    rng = np.random.default_rng(3)
    raw = rng.lognormal(6, 2, (40, 25))
    for normalize, function in (("quantile", quantile), ("zscore", zscore)):
        prepared = prepare_expression(table(raw), {"normalize": normalize})
        np.testing.assert_array_equal(prepared.values, function(np.log2(raw)))
        np.testing.assert_allclose(prepared.items["mean"], prepared.values.mean(axis=1), atol=1e-9)
        np.testing.assert_allclose(prepared.items["sd"], prepared.values.std(axis=1), atol=1e-9)


# --- auto ---------------------------------------------------------------------------------------


def bulk_counts(sizes: np.ndarray, n_genes: int = 100) -> np.ndarray:
    """Counts of unrelated genes, in samples of these sizes."""
    rng = np.random.default_rng(7)
    level = rng.lognormal(5, 1, (n_genes, 1)) * rng.gamma(4, 0.25, (n_genes, sizes.size))
    return rng.poisson(level * sizes).astype(float)


def with_few_zeros(counts: np.ndarray) -> np.ndarray:
    """Each gene has one, in another sample than the gene before."""
    genes = np.arange(len(counts))
    counts[genes, genes % counts.shape[1]] = 0.0
    return counts


def cell_counts(cells: int, spread: float = 0.0) -> np.ndarray:
    """Mostly zeros and ones, of unrelated genes; totals of cells spread by this."""
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.3 * rng.lognormal(0, spread, cells), (100, cells)).astype(float)
    counts[0, 0] = 25
    return counts


def counts_with_a_bloom() -> np.ndarray:
    """Taxa at one depth, of which the first takes 2 to 96 % of each sample; half are often zero."""
    rng = np.random.default_rng(3)
    level = np.exp(rng.normal(0, 1.5, (60, 1)) + rng.normal(size=(60, 80)))
    level[0] = level[1:].sum(axis=0).mean() * rng.lognormal(0, 1.2, 80)
    return np.array([rng.multinomial(2000, one / one.sum()) for one in level.T], dtype=float).T


@pytest.mark.parametrize(
    ("counts", "taken", "words"),
    [
        (bulk_counts(np.linspace(1, 4, 40)) + 1, "median_ratio", "100 of 100 genes are above zero"),
        (with_few_zeros(bulk_counts(np.linspace(1, 4, 40)) + 1), "cp10k", " 0 of 100 genes are"),
        (cell_counts(40), "nb_residuals", "% zeros) of 40 samples"),
        (cell_counts(300), "nb_residuals", "% zeros) of 300 samples"),
        (counts_with_a_bloom(), "nb_residuals", "without the largest count of each, 0."),
        (bulk_counts(np.ones(40)) + 0.5, "none", ""),
        (np.random.default_rng(1).integers(0, 4, (50, 40)).astype(float), "none", ""),
    ],
    ids=["bulk", "few zeros", "few cells", "cells", "a bloom", "no counts", "levels"],
)
def test_auto_takes_what_counts_need(counts: np.ndarray, taken: str, words: str) -> None:
    prepared = prepare_expression(table(counts), {"min_samples": 3})
    assert prepared.parameters["normalize"] == taken
    assert prepared.counts["zeros_to_missing"] == 0
    notes = [note for note in prepared.notes if "normalize: auto took" in note]
    assert len(notes) == bool(words)
    assert all(words in note for note in notes)
    if taken == "cp10k":
        np.testing.assert_allclose((np.exp2(prepared.values) - 1).sum(axis=0), 1e4)


@pytest.mark.parametrize("log2", ["auto", True, False])
def test_explicit_settings_are_what_they_were(log2: str | bool) -> None:
    counts = bulk_counts(np.linspace(1, 4, 40))
    section = {"normalize": "none", "pseudocount": 0, "min_samples": 3, "log2": log2}
    prepared = prepare_expression(table(counts), section)
    with np.errstate(divide="ignore"):
        logs = np.where(counts == 0, np.nan, np.log2(counts))
    np.testing.assert_array_equal(prepared.values, counts if log2 is False else logs)


def test_counts_are_as_they_are_where_log2_is_false() -> None:
    counts = bulk_counts(np.linspace(1, 4, 40))
    prepared = prepare_expression(table(counts), {"log2": False, "min_samples": 3})
    np.testing.assert_array_equal(prepared.values, counts)
    assert any("preprocess.normalize" in text for text in prepared.warnings)


def test_counts_of_unrelated_genes_make_no_network_by_default() -> None:
    counts = bulk_counts(np.random.default_rng(8).lognormal(0, 0.6, 60))
    settings: dict[str, Any] = {
        "backend": "cpu",
        "score": "mi",
        "permutations": 100_000,
        "keep": {"fdr": 0.01},
    }
    assert len(infer_network(counts, **settings)) <= 2
    as_they_are = infer_network(counts, preprocess={"normalize": "none"}, **settings)
    assert len(as_they_are) > 100


def naive_depth_ranks(counts: np.ndarray, found: np.ndarray) -> None:
    """Check the scores group by group: their values, and that larger counts have larger ones."""
    order = np.argsort(np.nansum(counts, axis=0), kind="stable")
    for group in np.array_split(order, max(1, order.size // 50)):
        for row, scores in zip(counts[:, group], found[:, group], strict=True):
            seen = ~np.isnan(row)
            assert np.isnan(scores[~seen]).all()
            places = (np.arange(seen.sum()) + 0.5) / max(1, seen.sum())
            np.testing.assert_allclose(np.sort(scores[seen]), norm.ppf(places), atol=1e-12)
            for count in np.unique(row[seen]):
                above = scores[seen & (row > count)]
                assert not above.size or above.min() > scores[row == count].max()


def test_depth_ranks_are_ranks_among_samples_of_like_totals() -> None:
    counts = cell_counts(210, 0.5)
    counts[3, 5:9] = np.nan
    counts[4] = 0.0
    rows = np.arange(len(counts))
    rank = DepthRanks(np.nansum(counts, axis=0), len(counts))
    found = rank(counts, rows)
    naive_depth_ranks(np.delete(counts, 4, axis=0), np.delete(found, 4, axis=0))
    assert (found[4] == 0.0).all()
    for part in (rows[:2], rows[3:], rows[1::3]):  # of some genes as of all
        np.testing.assert_array_equal(found[part], rank(counts[part], part))


def test_sparse_counts_of_unrelated_genes_make_no_network_by_default() -> None:
    """Scaled, a count of 1 tells the total of its sample, of every gene the same."""
    counts = cell_counts(1000, 0.6)
    settings: dict[str, Any] = {"backend": "cpu", "score": "mi", "permutations": 100_000}
    settings |= {"keep": {"fdr": 0.01}, "dpi": False}
    assert len(infer_network(counts, **settings)) <= 2
    scaled = infer_network(counts, preprocess={"normalize": "cp10k"}, **settings)
    assert len(scaled) > 1000


def test_zeros_that_mean_not_measured_stay_missing() -> None:
    counts = cell_counts(300)
    prepared = prepare_expression(table(counts), {"min_samples": 3, "pseudocount": 0})
    assert prepared.parameters["normalize"] == "cp10k"
    assert prepared.counts["zeros_to_missing"] == int((counts == 0).sum())
