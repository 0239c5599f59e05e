"""Bicor, Kendall's tau, partial and lagged correlation agree with scipy, WGCNA and corpcor."""

from __future__ import annotations

import numpy as np
import pytest
from backends import both_backends
from mixture_modes import mixture_config
from pairtile import multimodal_correlation
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation import kendall, plain_correlation
from pairtile.methods.multimodal_correlation.bicor import bicor_of_pairs
from pairtile.methods.multimodal_correlation.kendall import (
    Codes,
    concordance_by_bits,
    concordance_by_products,
)
from pairtile.methods.multimodal_correlation.partial_correlation import PartialCorrelations
from pairtile.methods.multimodal_correlation.plain_correlation import pair_scorer
from pairtile.preprocess.transitions import Lagged, lagged_samples
from scipy import stats

# WGCNA 1.72-1, bicor(maxPOutliers = 1, use = "pairwise.complete.obs", pearsonFallback =
# "individual"), of bicor_table: rows of the upper triangle, one after another.
WGCNA = {
    False: [0.570145888332, 0.260083779102, 0.286171915832, -0.102046531549, 0.208877516602,
            0.193155028140, 0.598973488020, 0.050705535699, 0.098141441540, 0.025264898451,
            -0.227962442876, -0.272316230368, -0.025886022829, -0.052616085587, 0.585028239004],
    True: [0.610537654143, 0.269985817908, 0.419199863518, -0.007760172250, 0.165077125539,
           0.185430558976, 0.131566545568, 0.188833378592, 0.126992012600, -0.045942164965,
           -0.168682124497, -0.196880124944, -0.095940895253, 0.057629977855, 0.620306904518],
}  # fmt: skip

# corpcor 1.6.10, pcor.shrink of partial_tables: intensity, and the first row without its first.
CORPCOR = {
    "wide": (0.669496635857, [0.167676726758, -0.013173577481, 0.016316896921, 0.102834486295,
                              0.098418471847, -0.170849398471, 0.162214281651, 0.092524470358]),
    "tall": (0.195659462808, [0.301023505184, 0.106421026429, -0.023648679643, -0.047965161325]),
}  # fmt: skip


def bicor_table(holes):
    """An outlying value, a skewed gene, one whose median deviation is 0, ties."""
    random = np.random.default_rng(12)
    values = random.normal(size=(6, 31))
    values[1] += values[0]
    values[2] = np.exp(2 * values[2] + values[0])
    values[3] = np.where(random.random(31) < 0.6, 0.0, values[3] + values[1])
    values[4, :3] = 50.0
    values[5] = np.round(values[5] + values[4].clip(-2, 2))
    if holes:
        values[random.random(values.shape) < 0.15] = np.nan
    return values


def partial_tables():
    """More genes than samples, and fewer."""
    random = np.random.default_rng(21)
    for name, shape in (("wide", (9, 6)), ("tall", (5, 40))):
        values = random.normal(size=shape)
        values[1] += values[0]
        values[2] += values[1]
        values[4] = 2 * values[4] - values[3]
        yield name, values


def tied_table(samples, missing, seed=0):
    """Genes with and without ties, one constant, one with two values."""
    random = np.random.default_rng([samples, seed])
    values = random.normal(size=(9, samples))
    values[1] += values[0]
    values[3:7] = np.round(2 * values[3:7])
    values[7] = 3.0
    values[8] = values[8] > 0.5
    values[random.random(values.shape) < missing] = np.nan
    return values


def correlations(values, kind, backend="cpu", lagged=None, **changes):
    """The object, the matrix of correlations (NaN where there is none), p-values, modes."""
    given = {"min_samples": 3, "min_correlation": 0.0, "outliers_before": True, **changes}
    config = mixture_config(clustering="none", correlation=kind, **given)
    genes = np.arange(len(values))
    search = pair_scorer(config, values, genes.astype(np.uint64), choose(backend), 0, lagged)
    modes = search.tile(genes, genes, lagged is None)
    r, p = (np.full((len(values),) * 2, np.nan) for _ in range(2))
    r[modes.row, modes.column] = modes.correlation
    if kind in ("bicor", "kendall"):
        p[modes.row, modes.column] = search.p_values(modes, genes, genes)
    return r, p, modes


@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["", "missing"])
@pytest.mark.parametrize("samples", [3, 4, 31, 64, 65])
@both_backends
def test_kendall_is_that_of_scipy(backend, samples, missing, monkeypatch):
    monkeypatch.setattr(kendall, "SLAB_BITS", 150)  # more than one slab
    monkeypatch.setattr(kendall, "SLAB_SIGNS", 2000)
    values = tied_table(samples, missing)
    r, p, modes = correlations(values, "kendall", backend)
    for i in range(9):
        for j in range(i + 1, 9):
            there = ~np.isnan(values[i] + values[j])
            if there.sum() < 3:
                assert np.isnan(r[i, j])
                continue
            test = stats.kendalltau(values[i, there], values[j, there], method="asymptotic")
            np.testing.assert_allclose(r[i, j], test.statistic, atol=6e-8)
            np.testing.assert_allclose(p[i, j], test.pvalue, rtol=1e-5, atol=1e-12)
    members = np.unpackbits(modes.samples, axis=1, count=samples).astype(bool)
    expected = ~np.isnan(values[modes.row] + values[modes.column])
    np.testing.assert_array_equal(members, expected)
    np.testing.assert_array_equal(modes.n_samples, expected.sum(axis=1))


@pytest.mark.parametrize("samples", [2, 3, 8, 33, 66, 200])
def test_signs_as_bits_and_as_matrices_count_the_same(samples, monkeypatch):
    random = np.random.default_rng(samples)
    monkeypatch.setattr(kendall, "SLAB_BITS", 1000)
    monkeypatch.setattr(kendall, "SLAB_SIGNS", 5000)
    x, y = (random.integers(-1, samples, (n, samples)).astype(np.int32) for n in (70, 5))
    every = Codes(x, False, False), Codes(y, False, False)
    for one, other in zip(
        concordance_by_bits(*every, -70), concordance_by_products(*every, np), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    x, y = (random.permuted(np.tile(np.arange(samples), (n, 1)), axis=1) for n in (70, 5))
    plain = [Codes(codes.astype(np.int32), True, True) for codes in (x, y)]
    for one, other in zip(
        concordance_by_bits(*plain, -70), concordance_by_products(*plain, np), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("holes", [False, True], ids=["", "missing"])
@both_backends
def test_bicor_is_that_of_wgcna(backend, holes):
    values = bicor_table(holes)
    r, _, modes = correlations(values, "bicor", backend, min_samples=5)
    np.testing.assert_allclose(r[np.triu_indices(6, 1)], WGCNA[holes], atol=6e-8)
    there = ~np.isnan(values[modes.row] + values[modes.column])
    np.testing.assert_array_equal(modes.n_samples, there.sum(axis=1))
    at = np.triu_indices(6, 1)
    exact = bicor_of_pairs(values[at[0]], values[at[1]], np)
    np.testing.assert_allclose(exact, WGCNA[holes], atol=1e-12)


def test_bicor_of_skewed_genes_has_the_p_value_of_exchanged_samples():
    """Their rows have means, so that r of unrelated genes is not about 0."""
    values = np.exp(np.random.default_rng(3).normal(size=(2, 40)))
    r, p, _ = correlations(values, "bicor")
    random = np.random.default_rng(4)
    exchanged = np.array([random.permutation(values[1]) for _ in range(20_000)])
    drawn = bicor_of_pairs(np.broadcast_to(values[0], exchanged.shape), exchanged, np)
    share = (np.abs(drawn - drawn.mean()) >= abs(r[0, 1] - drawn.mean())).mean()
    assert drawn.mean() > 0.01
    assert p[0, 1] == pytest.approx(share, abs=0.02)


@both_backends
def test_bicor_with_missing_values_has_the_p_value_of_the_samples_that_both_genes_have(
    backend, monkeypatch
):
    """Not of means over samples that one of them lacks, as of these genes in two states."""
    monkeypatch.setattr(plain_correlation, "BLOCK_VALUES", 200)  # some pairs at a time
    random = np.random.default_rng(5)
    values = random.normal(size=(6, 50)) + 6 * (random.random((6, 50)) < 0.25)
    values[3:] = 0.3 * values[3:] - values[:3]
    values[:, 10:][random.random((6, 40)) < 0.2] = np.nan
    _, p, _ = correlations(values, "bicor", backend)
    for i, j in zip(*np.triu_indices(6, 1), strict=True):
        both = values[[i, j]][:, ~np.isnan(values[i] + values[j])]
        expected = correlations(both, "bicor")[1][0, 1]
        np.testing.assert_allclose(p[i, j], expected, rtol=1e-4, atol=1e-300)


def test_constant_genes_have_no_correlation():
    values = tied_table(40, 0.0)
    for kind in ("bicor", "kendall", "partial"):
        r, _, modes = correlations(values, kind)
        assert np.isnan(r[:7, 7]).all(), kind
        assert np.isnan(r[7]).all(), kind
        assert modes.counts["constant"] == 8
        assert modes.counts["modes_kept"] == 28


@both_backends
def test_partial_correlation_is_that_of_corpcor(backend):
    for name, values in partial_tables():
        found = PartialCorrelations(values, choose(backend))
        intensity, first = CORPCOR[name]
        assert found.shrinkage == pytest.approx(intensity, abs=1e-11)
        r, _, _ = correlations(values, "partial", backend)
        np.testing.assert_allclose(r[0, 1:], first, atol=6e-8)


@both_backends
def test_unrelated_halves_are_scored_as_any_table_with_the_same_intensity(backend):
    """By the inverse of the whole matrix, and the spread by its definition."""
    for _, values in partial_tables():
        found = PartialCorrelations(values, choose(backend))
        order = np.random.default_rng(5).permutation(values.shape[1])
        half = np.arange(len(values)) % 2 == 1
        moved = np.where(half[:, None], values[:, order], values)
        matrix = (1 - found.shrinkage) * np.corrcoef(moved)
        np.fill_diagonal(matrix, 1.0)
        inverse = np.linalg.inv(matrix)
        scores = -inverse / np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
        r, standard = found.unrelated(order, np.flatnonzero(half), 1000)
        expected = scores[np.ix_(half, ~half)].ravel()
        np.testing.assert_allclose(r, expected, atol=1e-12)
        # Residuals given all genes, R^-1 x: their length over the root of their share of R^-1.
        x = (moved - moved.mean(axis=1, keepdims=True)) / moved.std(axis=1, keepdims=True)
        lengths = np.linalg.norm(inverse @ x, axis=1) / np.sqrt(np.diag(inverse))
        between = np.outer(lengths[half], lengths[~half]).ravel()
        ratio = between * standard / np.where(r == 0, 1, r)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "bicor", "kendall"])
@both_backends
def test_lagged_correlation_pairs_samples_within_series(backend, kind):
    """Each gene with every other two samples later, never over the border of a series."""
    series = np.repeat([0, 1, 2], [20, 1, 24]).astype(np.int32)
    values = tied_table(45, 0.05)
    lagged = lagged_samples(series, 2, "table")
    assert lagged.source.size == 18 + 22
    assert (series[lagged.source] == series[lagged.target]).all()
    r, _, modes = correlations(values, kind, backend, lagged, outliers_before=False)
    side_by_side = np.concatenate([values[:, lagged.source], values[:, lagged.target]])
    expected, _, _ = correlations(side_by_side, kind, "cpu", outliers_before=False)
    expected = expected[:9, 9:]
    assert np.isnan(np.diag(r)).all()  # no gene is its own target
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(r, expected, atol=6e-8)
    assert modes.counts["pairs"] == 72
    members = np.unpackbits(modes.samples, axis=1, count=45).astype(bool)
    there = np.zeros_like(members)
    source, target = values[modes.row][:, lagged.source], values[modes.column][:, lagged.target]
    there[:, lagged.target] = ~np.isnan(source + target)
    np.testing.assert_array_equal(members, there)


def test_series_shorter_than_the_lag_are_an_error():
    with pytest.raises(InputError, match=r"table.*3 series.*lag: 4"):
        lagged_samples(np.array([0, 0, 1, 1, 2]), 4, "table")


def test_a_delayed_copy_is_found_with_its_direction():
    random = np.random.default_rng(6)
    values = random.normal(size=(12, 80))
    values[1, 2:] = values[0, :-2] + 0.3 * random.normal(size=78)
    raw = {"preprocess": {"log2": False}, "backend": "cpu", "clustering": "none"}
    found = multimodal_correlation(values, lag=2, min_correlation=0.0, **raw)
    assert found.counts["pairs"] == 12 * 11
    edges = found.network(modules=False).edges
    assert edges[["source", "target"]].values.tolist() == [[0, 1]]
    pair = found.pair(0, 1)
    np.testing.assert_array_equal(pair.x[2:], found.state["values"][0, :-2])
    assert np.isnan(pair.x[:2]).all()
    # What happened to unrelated samples is no edge of the same sample.
    none = multimodal_correlation(values, min_correlation=0.0, **raw).network(modules=False)
    assert none.edges.empty


def test_a_lag_has_no_threshold_of_undirected_networks_and_no_conditions():
    found = multimodal_correlation(
        np.random.default_rng(7).normal(size=(4, 40)), clustering="none", lag=1, backend="cpu",
        preprocess={"log2": False},
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"threshold.*beside lag"):
        found.network("rmt")
    with pytest.raises(ValueError, match=r"annotations.*beside lag"):
        found.network(annotations="samples.tsv")


@pytest.mark.parametrize("kind", ["bicor", "kendall", "partial"])
@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["", "missing"])
@pytest.mark.gpu
def test_gpu_agrees_with_cpu(kind, missing):
    random = np.random.default_rng(8)
    values = random.normal(size=(300, 90)) + random.normal(size=90)
    values[::3] = np.round(values[::3])
    values[random.random(values.shape) < missing] = np.nan
    expected, p, modes = correlations(values, kind, "cpu")
    found, p_on_gpu, modes_on_gpu = correlations(values, kind, "cuda")
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(p_on_gpu, p, rtol=1e-4, atol=1e-12)
    assert modes_on_gpu.counts == modes.counts


def test_lagged_is_source_before_target():
    found = lagged_samples(np.array([0, 1, 0, 1, 0]), 1, "table")
    assert isinstance(found, Lagged)
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [
        (0, 2), (2, 4), (1, 3),
    ]  # fmt: skip
