"""The MI kernels against the definition, golden results, and each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mutual_information import naive_mi_matrix, naive_weights
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.dpi import data_processing_inequality
from pairtile.splines.bspline import bspline_weights, dense_weights
from pairtile.splines.scorer import BsplineScorer, SplineSettings
from pairtile.splines.values import marginal_entropies, scaled

SETTINGS = [(10, 3), (10, 1), (20, 5), (6, 2), (5, 3), (4, 4), (1, 1), (16, 3), (32, 2)]


def matrix(values, bins, order, knots="clamped", precision="float64", backend="cpu", split=None):
    """MI of all genes with all genes through the scorer, in one block or several."""
    device = choose(backend)
    scorer = BsplineScorer(SplineSettings(bins, order, knots, precision), device)
    z = scaled(values, scorer.settings, "none")
    step = split or len(z)
    blocks = [scorer.weights(z[k : k + step]) for k in range(0, len(z), step)]
    rows = []
    for a in blocks:
        rows.append(np.hstack([device.to_host(scorer.scores(a, b)[0]) for b in blocks]))
    mi = np.vstack(rows).astype(np.float64)
    np.fill_diagonal(mi, 0.0)
    return mi


def awkward(seed=0, genes=12, samples=60):
    """Random, tied, constant, outlying, missing, tiny and huge values in one table."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(genes, samples))
    values[1] = random.integers(0, 3, samples)
    values[2] = 7.25
    values[3, 5] = 1e9
    values[4] = values[0] * 2 + random.normal(size=samples) * 0.1
    values[5] *= 1e-290
    values[6] *= 1e290
    values[7, ::3] = np.nan
    values[8, : samples // 2] = np.nan
    values[9, samples // 2 :] = np.nan
    values[10] = values[0]
    return values


@pytest.mark.parametrize(("bins", "order"), SETTINGS)
@pytest.mark.parametrize("knots", ["clamped", "uniform"])
def test_weights_are_scipys_design_matrix(bins, order, knots):
    values = awkward()
    z = scaled(values, SplineSettings(bins, order, knots, "float64"), "none")
    dense = dense_weights(*bspline_weights(z, bins, order, knots), bins)
    for gene in range(len(values)):
        expected = naive_weights(values[gene], bins, order, knots == "uniform")
        np.testing.assert_allclose(dense[gene], expected, atol=1e-12)


def test_weights_sum_to_one_where_observed_and_to_zero_where_missing():
    values = awkward()
    z = scaled(values, SplineSettings(10, 3, "clamped", "float64"), "rank")
    _, weights = bspline_weights(z, 10, 3, "clamped")
    np.testing.assert_allclose(weights.sum(axis=2), ~np.isnan(values), atol=1e-12)


@both_backends
@pytest.mark.parametrize(("bins", "order"), SETTINGS)
@pytest.mark.parametrize("knots", ["clamped", "uniform"])
def test_float64_agrees_with_the_definition(backend, bins, order, knots):
    values = awkward()
    found = matrix(values, bins, order, knots, "float64", backend)
    np.testing.assert_allclose(
        found, naive_mi_matrix(values, bins, order, knots == "uniform"), atol=1e-10
    )


@both_backends
@pytest.mark.parametrize(("bins", "order"), SETTINGS)
def test_mixed_precision_stays_within_a_ten_thousandth_bit(backend, bins, order):
    values = np.random.default_rng(1).normal(size=(40, 100))
    found = matrix(values, bins, order, "clamped", "mixed", backend)
    exact = matrix(values, bins, order, "clamped", "float64", "cpu")
    np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-11), ("mixed", 2e-5)])
def test_cuda_agrees_with_the_cpu_on_awkward_input(precision, tolerance):
    for seed, samples in [(0, 60), (1, 7), (2, 1000), (3, 129)]:
        values = awkward(seed, genes=70, samples=samples)
        values[8, 0] = 0.5
        on_cpu = matrix(values, 10, 3, "clamped", precision, "cpu")
        on_gpu = matrix(values, 10, 3, "clamped", precision, "cuda")
        np.testing.assert_allclose(on_gpu, on_cpu, atol=tolerance)


@pytest.mark.gpu
def test_too_little_gpu_memory_halves_the_block_and_goes_on():
    import cupy

    values = np.random.default_rng(5).normal(size=(256, 50))
    whole = matrix(values, 10, 3, "clamped", "float64", "cuda")
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    # Room for the weights and about a tenth of the joint tables (52 MB).
    pool.set_limit(size=12 * 2**20)
    try:
        again = matrix(values, 10, 3, "clamped", "float64", "cuda")
    finally:
        pool.set_limit(size=0)
    np.testing.assert_allclose(again, whole, atol=1e-12)


@pytest.mark.parametrize(("bins", "order"), SETTINGS)
@pytest.mark.parametrize("knots", ["clamped", "uniform"])
def test_known_marginals_of_complete_genes_give_the_same_scores(bins, order, knots):
    values = awkward(genes=70, samples=90)
    values = values[~np.isnan(values).any(axis=1)]
    expected = naive_mi_matrix(values, bins, order, knots == "uniform")
    scorer = BsplineScorer(SplineSettings(bins, order, knots, "float64"), choose("cpu"), True)
    z = scaled(values, scorer.settings, "none")
    whole = None
    for split in (len(z), 5, 33):
        blocks = [scorer.weights(z[k : k + split]) for k in range(0, len(z), split)]
        found = np.vstack([np.hstack([scorer.scores(a, b)[0] for b in blocks]) for a in blocks])
        np.fill_diagonal(found, 0.0)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        whole = found if whole is None else whole
        assert np.array_equal(found, whole)


def test_complete_analysis_refuses_missing_values():
    scorer = BsplineScorer(SplineSettings(10, 3, "clamped", "float64"), choose("cpu"), True)
    with pytest.raises(ValueError, match="missing"):
        scorer.weights(np.array([[0.0, np.nan, 1.0]]))


def test_result_does_not_depend_on_how_genes_are_blocked():
    values = awkward(genes=67, samples=50)
    whole = matrix(values, 10, 3)
    for split in (1, 5, 32, 33):
        assert np.array_equal(matrix(values, 10, 3, split=split), whole)


@both_backends
def test_constant_gene_has_no_information_about_any_other(backend):
    for precision in ("float64", "mixed"):
        mi = matrix(awkward(), 10, 3, "clamped", precision, backend)
        np.testing.assert_allclose(mi[2], 0.0, atol=1e-6)


@both_backends
def test_column_major_input_gives_the_same_scores(backend):
    values = awkward()
    device = choose(backend)
    scorer = BsplineScorer(SplineSettings(10, 3, "clamped", "float64"), device)
    z = scaled(values, scorer.settings, "none")
    found = [scorer.weights(layout(z)) for layout in (np.ascontiguousarray, np.asfortranarray)]
    scores = [device.to_host(scorer.scores(w, w)[0]) for w in found]
    assert np.array_equal(scores[0], scores[1])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 40),
    st.integers(1, 12),
    st.integers(1, 5),
    st.sampled_from(["clamped", "uniform"]),
)
def test_mi_is_symmetric_and_bounded(seed, samples, bins, order, knots):
    order = min(order, bins)
    random = np.random.default_rng(seed)
    values = random.normal(size=(6, samples)) * 10.0 ** random.integers(-5, 5, size=(6, 1))
    values[random.random(values.shape) < 0.2] = np.nan
    values[:, :3] = random.normal(size=(6, 3))
    found = matrix(values, bins, order, knots)
    np.testing.assert_allclose(found, found.T, atol=1e-10)
    assert (found >= 0).all()
    assert (found <= np.log2(bins) + 1e-10).all()


@pytest.mark.parametrize("complete", [False, True])
def test_rounding_makes_no_score_of_independent_genes_negative(complete):
    scorer = BsplineScorer(SplineSettings(7, 3, "clamped", "float64"), choose("cpu"), complete)
    for size in range(2, 12):
        values = np.stack([np.repeat(np.arange(size), 10), np.tile(np.arange(10), size)])
        block = scorer.weights(scaled(values.astype(float), scorer.settings, "none"))
        assert 0.0 <= scorer.scores(block, block)[0][0, 1] < 1e-10


def test_samples_of_later_chunks_and_missing_ones_are_told_apart():
    values = awkward(samples=1100)[[0, 1, 4, 7, 8, 9]]
    np.testing.assert_allclose(
        matrix(values, 10, 3), naive_mi_matrix(values, 10, 3, False), atol=1e-10
    )


def read(path: Path) -> np.ndarray:
    return pd.read_csv(path, sep="\t", index_col=0).to_numpy(dtype=float)


@both_backends
@pytest.mark.parametrize(
    ("golden", "table", "bins", "order"),
    [
        ("dream4_net1", "data/dream4/net1/expression.tsv", 10, 3),
        ("dream4_net1_bins10_order1", "data/dream4/net1/expression.tsv", 10, 1),
        ("dream4_net1_bins20_order5", "data/dream4/net1/expression.tsv", 20, 5),
        ("dream4_net1_bins6_order2", "data/dream4/net1/expression.tsv", 6, 2),
        ("syntren300", "data/syntren300/expression.tsv.gz", 10, 3),
        ("dream4_net2_missing", "golden/mutual_information/dream4_net2_missing.tsv", 10, 3),
    ],
)
def test_golden_matrices(shared, backend, golden, table, bins, order):
    expected = np.load(shared / "golden/mutual_information" / f"{golden}.npz")["mi_bits"]
    values = read(shared / table)
    off_diagonal = ~np.eye(len(values), dtype=bool) & ~np.isnan(expected)
    exact = matrix(values, bins, order, backend=backend)
    np.testing.assert_allclose(exact[off_diagonal], expected[off_diagonal], atol=1e-10)
    mixed = matrix(values, bins, order, precision="mixed", backend=backend)
    np.testing.assert_allclose(mixed[off_diagonal], expected[off_diagonal], atol=1e-4)


@both_backends
def test_golden_regulators_by_genes(shared, backend):
    golden = np.load(shared / "golden/mutual_information/bsub_regulators_x_genes.npz")
    frame = pd.read_csv(shared / "data/bsub/expression.tsv.gz", sep="\t", index_col=0)
    rows = [frame.index.get_loc(name) for name in golden["regulators"]]
    expected = golden["mi_bits"].astype(np.float64)
    device = choose(backend)
    scorer = BsplineScorer(SplineSettings(10, 3, "clamped", "float64"), device)
    z = scaled(frame.to_numpy(dtype=float), scorer.settings, "none")
    found = device.to_host(scorer.scores(scorer.weights(z[rows]), scorer.weights(z))[0])
    found[np.arange(len(rows)), rows] = expected[np.arange(len(rows)), rows]
    np.testing.assert_allclose(found, expected, atol=1e-6)  # the golden file is float32


def test_golden_entropies(shared):
    golden = np.load(shared / "golden/mutual_information/syntren300.npz")
    spline = SplineSettings(10, 3, "clamped", "float64")
    z = scaled(read(shared / "data/syntren300/expression.tsv.gz"), spline, "none")
    np.testing.assert_allclose(marginal_entropies(z, spline), golden["entropy_bits"], atol=1e-10)


def test_ranks_give_every_tie_free_gene_the_same_entropy():
    values = np.random.default_rng(0).lognormal(sigma=3, size=(30, 200))
    spline = SplineSettings(10, 3, "clamped", "float64")
    entropies = marginal_entropies(scaled(values, spline, "rank"), spline)
    assert np.ptp(entropies) < 1e-12


@both_backends
@pytest.mark.parametrize("data", ["dream4/net1/expression.tsv", "syntren300/expression.tsv.gz"])
def test_mixed_precision_keeps_the_golden_edges(shared, backend, data):
    """Threshold and DPI (tolerance 0.01): the same decision on at least 99.99% of pairs."""
    name = {"dream4": "dream4_net1", "syntren300": "syntren300"}[data.split("/")[0]]
    golden = np.load(shared / "golden/mutual_information" / f"{name}.npz")
    mi = matrix(read(shared / "data" / data), 10, 3, precision="mixed", backend=backend)
    i, j = np.triu_indices(len(mi), 1)
    above = mi[i, j] >= golden["threshold_bits"]
    kept = np.zeros(i.size, dtype=bool)
    kept[above] = data_processing_inequality(
        i[above],
        j[above],
        mi[i, j][above],
        len(mi),
        tolerance=float(golden["dpi_tolerance"]),
        backend=backend,
    )
    expected = golden["kept_after_dpi"].astype(bool)[i, j]
    assert expected.any()
    assert (kept == expected).mean() >= 0.9999


@pytest.mark.parametrize("knots", ["clamped", "uniform"])
def test_constant_gene_has_no_entropy_whatever_the_knots(knots):
    spline = SplineSettings(10, 3, knots, "float64")
    entropies = marginal_entropies(scaled(awkward(), spline, "rank"), spline)
    assert entropies[2] == 0.0
    assert (np.delete(entropies, 2) > 0.5).all()
