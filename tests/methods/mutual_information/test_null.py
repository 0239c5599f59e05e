"""The permutation null: calibrated, reproducible, and honest about what it cannot resolve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mutual_information import naive_permuted_rows
from numpy.typing import NDArray
from pairtile import infer_network, prepare_expression
from pairtile.api.settings import analysis_config
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.kernels import permuted_rows_cuda
from pairtile.methods.mutual_information.kernels.exchange import Exchange
from pairtile.methods.mutual_information.kernels.permuted_rows import (
    Resampling,
    permuted_rows,
)
from pairtile.methods.mutual_information.kernels.philox import permute
from pairtile.methods.mutual_information.null import (
    RESOLVED,
    Null,
    class_pair_number,
    class_pairs,
    permutations_needed,
)
from pairtile.preprocess.null_design import CourseSteps, NullDesign
from pairtile.splines.scorer import SplineSettings
from pairtile.splines.values import marginal_entropies, scale_rows
from pairtile.statistics.ranks import average_ranks, row_orders
from scipy.stats import kstest


def opened(values, transform="rank", permutations=40_000, backend="cpu"):
    """The estimator on a table, as a chunk would open it."""
    config = analysis_config(
        MutualInformationConfig,
        expression="e.tsv",
        estimator={"transform": transform, "precision": "float64"},
        null={"permutations": permutations},
    )
    return open_analysis(values, np.empty(0), config, choose(backend))[0]


def independent_pairs(estimator):
    """Statistic and classes of all pairs of a table whose genes are independent."""
    bits, n_samples = estimator.scorer.scores(*[estimator.scorer.weights(estimator.state["z"])] * 2)
    samples = estimator.state["z"].shape[1] if n_samples is None else n_samples
    i, j = np.triu_indices(len(bits), 1)
    statistic = (bits * samples)[i, j]
    return statistic, estimator.classes[i], estimator.classes[j]


def simple_null(values):
    return Null([np.sort(np.asarray(values, dtype=np.float32))], np.zeros(1, dtype=np.int8))


def p_of(null, x):
    zeros = np.zeros(np.size(x), dtype=np.int8)
    return null.p_value(np.atleast_1d(np.asarray(x, dtype=float)), zeros, zeros)


def test_p_value_is_one_plus_exceedances_over_one_plus_draws():
    null = simple_null(np.arange(1, 101))
    p, extrapolated = p_of(null, [0.0, 1.0, 50.0, 91.0])
    np.testing.assert_allclose(p, [101 / 101, 101 / 101, 52 / 101, 11 / 101])
    assert not extrapolated.any()


def test_fewer_than_ten_exceedances_are_extrapolated_and_flagged():
    null = simple_null(np.arange(1, 101))
    p, extrapolated = p_of(null, [91.0, 91.5, 100.0, 200.0])
    assert extrapolated.tolist() == [False, True, True, True]
    assert (np.diff(p) < 0).all()


@pytest.mark.parametrize("resolved", [10, 100])
def test_extrapolation_follows_an_exponential_tail(resolved):
    draws = np.random.default_rng(0).exponential(size=400_000)
    null = replace(simple_null(draws), resolved=resolved)
    p, _ = p_of(null, [12.0, 16.0, 20.0])
    np.testing.assert_allclose(np.log(p), [-12, -16, -20], rtol=0.08)
    enough = null.statistic[0][[-resolved - 1, -resolved + 1]]
    assert p_of(null, enough)[1].tolist() == [False, True]
    assert null.thresholds(p_of(null, 12.0)[0][0])[0, 0] == pytest.approx(12.0, rel=1e-3)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-8, 0.9))
def test_threshold_is_the_least_statistic_with_that_p_value(seed, wanted):
    null = simple_null(np.random.default_rng(seed).gamma(3.0, size=5000))
    limit = null.thresholds(wanted)[0, 0]
    p, _ = p_of(null, [limit * (1 + 1e-6), limit * (1 - 1e-5)])
    assert p[0] <= wanted * (1 + 1e-4)
    assert p[1] >= wanted * (1 - 1e-3)


@pytest.mark.parametrize("allowed", [10, 20, 500, 999])
def test_threshold_lies_just_above_the_first_draw_that_is_one_too_many(allowed):
    null = simple_null(np.arange(1, 1001))
    limit = null.thresholds((1 + allowed) / 1001)[0, 0]
    assert 1000 - allowed < limit < 1000 - allowed + 1e-3


def test_draws_with_just_enough_samples_count():
    values = np.random.default_rng(7).normal(size=(6, 40))
    values[:, 20:] = np.nan  # 20 samples in both, which is min_samples
    assert opened(values, permutations=400).null(1)["lengths"].sum() == 400


def test_null_of_constant_genes_is_zero_and_gives_p_one():
    values = np.ones((5, 50))
    estimator = opened(values)
    null = Null.from_arrays(estimator.null(1))
    assert all((s == 0).all() for s in null.statistic)
    assert p_of(null, [0.0])[0] == 1.0


@both_backends
def test_p_values_of_independent_genes_are_uniform(backend):
    estimator = opened(np.random.default_rng(3).normal(size=(120, 80)), backend=backend)
    null = Null.from_arrays(estimator.null(1))
    statistic, a, b = independent_pairs(opened(np.random.default_rng(3).normal(size=(120, 80))))
    p, _ = null.p_value(statistic, a, b)
    assert kstest(p, "uniform").statistic < 0.03


def test_p_values_stay_uniform_with_missing_values():
    random = np.random.default_rng(4)
    values = random.normal(size=(100, 150))
    for gene in range(100):
        values[gene, random.random(150) < gene / 200] = np.nan
    estimator = opened(values)
    null = Null.from_arrays(estimator.null(1))
    p, _ = null.p_value(*independent_pairs(estimator))
    assert kstest(p, "uniform").statistic < 0.04
    assert abs((p < 0.01).mean() - 0.01) < 0.006


def test_raw_values_with_outliers_get_a_null_for_each_entropy_class():
    random = np.random.default_rng(5)
    values = random.normal(size=(120, 150))
    values[::2] = random.lognormal(sigma=2.0, size=(60, 150))
    estimator = opened(values, transform="none")
    null = Null.from_arrays(estimator.null(1))
    assert null.n_classes == 4
    statistic, a, b = independent_pairs(estimator)
    p, _ = null.p_value(statistic, a, b)
    by_class = kstest(p, "uniform").statistic
    pooled = Null([np.sort(np.concatenate(null.statistic))], null.class_of * 0)
    p_pooled, _ = pooled.p_value(statistic, a * 0, b * 0)
    # Within each class pair the classes' own null is near uniform, the pooled one is not.
    heavy = (a == 0) & (b == 0)
    assert kstest(p[heavy], "uniform").statistic < 0.12
    assert kstest(p[heavy], "uniform").statistic < kstest(p_pooled[heavy], "uniform").statistic / 2
    assert by_class < 0.06


def test_null_depends_on_the_seed_alone():
    values = np.random.default_rng(0).normal(size=(40, 60))
    first = opened(values, permutations=2000).null(7)
    again = opened(values, permutations=2000).null(7)
    other = opened(values, permutations=2000).null(8)
    assert np.array_equal(first["statistic"], again["statistic"])
    assert not np.array_equal(first["statistic"], other["statistic"])


def free(samples: int) -> Exchange:
    """Every sample with every other."""
    return Exchange.within(NullDesign.permutation(samples))


def test_draw_number_d_does_not_depend_on_how_many_there_are():
    values = np.random.default_rng(0).normal(size=(10, 30))
    genes = np.array([3, 1, 4, 1, 5, 9])
    many = permuted_rows(values, genes, 1, 0, 0, free(30))
    few = permuted_rows(values, genes[:2], 1, 0, 0, free(30))
    assert np.array_equal(many[:2], few)
    assert not np.array_equal(permuted_rows(values, genes, 1, 1, 0, free(30)), many)
    np.testing.assert_array_equal(np.sort(many, axis=1), np.sort(values[genes], axis=1))


@pytest.mark.gpu
def test_null_is_the_same_on_both_backends():
    values = np.random.default_rng(0).normal(size=(40, 60))
    on_cpu = opened(values, permutations=20_000).null(7)["statistic"]
    on_gpu = opened(values, permutations=20_000, backend="cuda").null(7)["statistic"]
    np.testing.assert_allclose(on_gpu, on_cpu, atol=1e-5)


def test_class_pairs_are_numbered_in_their_order():
    for n in range(1, 5):
        for number, (a, b) in enumerate(class_pairs(n)):
            for x, y in ((a, b), (b, a)):
                assert class_pair_number(np.array([x]), np.array([y]), n)[0] == number


def test_null_survives_storage():
    draws = [np.arange(k + 1, dtype=np.float32) for k in range(6)]
    null = Null(draws, np.array([0, 1, 2], "i1"), resolved=30)
    back = Null.from_arrays(null.arrays())
    assert (back.n_classes, back.resolved) == (3, 30)
    for a, b in zip(null.statistic, back.statistic, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("asked", "keep", "pairs", "expected"),
    [
        (12345, {"p_value": 1e-9}, 10, 12345),
        ("auto", {"p_value": 1e-5}, 10, RESOLVED * 100_000),
        ("auto", {"p_value": 0.5}, 10, 100_000),
        ("auto", {"p_value": 1e-12}, 10, 100_000_000),
        ("auto", {"fdr": 0.01}, 10**9, 10_000_000),
        ("auto", "all", 10, 100_000),
        ("auto", {"top_edges": 5}, 10, 100_000),  # p-values decide nothing
        ("auto", {"score": 0.1}, 10, 100_000),
    ],
)
def test_enough_permutations_for_the_p_value_asked_for(asked, keep, pairs, expected):
    rule = analysis_config(MutualInformationConfig, expression="e.tsv", keep=keep).keep
    assert permutations_needed(asked, rule, pairs) == expected


TOP = 8.0


def awkward(samples: int = 60) -> NDArray[np.float64]:
    """Rows with ties, constants, missing, tiny and huge values."""
    values = np.random.default_rng(0).normal(size=(12, samples))
    values[1] = 3.0
    values[2] = np.round(values[2])
    values[3, ::7] = np.nan
    values[4] = np.nan
    values[5, 1:] = np.nan
    values[6] *= 1e-300
    values[7] *= 1e300
    values[8, : samples // 2] = 0.0
    values[9, 0], values[9, 1] = np.inf, -np.inf
    return values


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 255, 256, 257, 5000])
def test_permutations_are_those_of_numpy(n: int):
    key = np.array([2**64 - 1, 12345678901234567890], dtype=np.uint64)
    # The counter's first word runs over into the next.
    counter = np.array([2**64 - 2, 2**64 - 1, 4, 5], dtype=np.uint64)
    expected = np.random.Generator(np.random.Philox(key=key, counter=counter))
    found = np.empty(n, dtype=np.int64)
    permute(key, counter.copy(), found)
    # An array of its own: permutation(n) of a number takes other draws.
    assert np.array_equal(found, expected.permutation(np.arange(n)))


@pytest.mark.parametrize(("seed", "side", "pair_class"), [(0, 0, 0), (7, 1, 3), (2**63, 1, 9)])
def test_rows_are_permuted_as_by_numpy(seed: int, side: int, pair_class: int):
    values = awkward()
    genes = np.random.default_rng(1).integers(0, len(values), 40)
    arguments = (values, genes, seed, side, pair_class, free(60))
    np.testing.assert_array_equal(permuted_rows(*arguments), naive_permuted_rows(*arguments))


SAMPLES = {
    "bootstrap": np.sort(np.random.default_rng(2).integers(0, 60, 60)),
    "subsample": np.sort(np.random.default_rng(3).choice(60, 37, replace=False)),
    "one sample": np.full(60, 11),
}


@pytest.mark.parametrize("by_rank", [True, False], ids=["rank", "none"])
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.filterwarnings("ignore:invalid value")
def test_resampled_rows_are_scaled_as_a_data_set_of_these_samples(
    samples: NDArray[np.int64], by_rank: bool
):
    values = awkward()
    order = row_orders(values if by_rank else np.empty((0, 0)))
    resampling = Resampling(samples, order, TOP)
    genes = np.random.default_rng(1).integers(0, len(values), 40)
    for rows, found in (
        (values, resampling.rows(values)),
        (
            naive_permuted_rows(values, genes, 7, 1, 3, free(60)),
            permuted_rows(values, genes, 7, 1, 3, free(60), resampling),
        ),
    ):
        picked = np.ascontiguousarray(rows[:, samples])
        if by_rank:
            average_ranks(picked, picked)
        expected = np.empty(picked.shape)
        scale_rows(picked, TOP, expected)
        assert np.array_equal(found, expected, equal_nan=True)


GROUPS = {
    "permuted": (np.zeros(60, dtype=np.int32), [False]),
    "shifted": (np.zeros(60, dtype=np.int32), [True]),
    "of each": ((np.arange(60) % 3).astype(np.int32), [True, False, True]),
    "courses": ((np.arange(60) % 3).astype(np.int32), [True, False, True], [5, 1, 10]),
}


@pytest.mark.gpu
@pytest.mark.parametrize("by_rank", [True, False], ids=["rank", "none"])
@pytest.mark.parametrize("exchanged", GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.filterwarnings("ignore:invalid value")
def test_rows_of_the_gpu_are_those_of_the_cpu(
    exchanged: tuple[NDArray[np.int32], list[bool]], by_rank: bool, monkeypatch: pytest.MonkeyPatch
):
    groups, shifted, *steps = exchanged
    monkeypatch.setattr(permuted_rows_cuda, "SCRATCH_BYTES", 7 * 1000)  # seven rows at a time
    values, device = awkward(), choose("cuda")
    order = row_orders(values if by_rank else np.empty((0, 0)))
    on_gpu = permuted_rows_cuda.RowsOnGpu(device, values, order, TOP)
    order_of_groups = np.argsort(groups, kind="stable")
    courses = CourseSteps(np.array(steps[0]), order_of_groups) if steps else None
    exchange = Exchange.within(NullDesign("", groups, np.array(shifted), courses=courses))
    genes = np.random.default_rng(1).integers(0, len(values), 200)
    spline = SplineSettings(10, 3, "clamped", "float64")
    for samples in SAMPLES.values():
        here, there = (Resampling(samples, order, TOP, place) for place in (None, on_gpu))
        rows = [(resampling.rows(values)) for resampling in (here, there)]
        for side in (0, 1):
            rows += [
                permuted_rows(values, genes, 2**63, side, 3, exchange, resampling)
                for resampling in (here, there)
            ]
        for of_cpu, of_gpu in zip(rows[::2], rows[1::2], strict=True):
            assert np.array_equal(of_cpu, device.to_host(of_gpu), equal_nan=True)
            finite = np.nan_to_num(of_cpu)
            expected = marginal_entropies(finite, spline)
            assert np.array_equal(marginal_entropies(device.xp.asarray(finite), spline), expected)


def test_row_orders_run_from_small_to_large_with_missing_ones_last():
    values = awkward()
    ordered = np.take_along_axis(values, row_orders(values).astype(np.int64), axis=1)
    assert np.array_equal(ordered, np.sort(values, axis=1), equal_nan=True)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("transform", ["rank", "none"])
def test_effects_are_taken_off_permuted_genes_too(
    transform: Literal["rank", "none"], missing: float
) -> None:
    """What is left of labels of four samples each has p-values as uniform as ever: neither too
    small, as if all degrees of freedom were there, nor too large."""
    draw = np.random.default_rng(8)
    label = np.arange(120) // 4
    values = draw.normal(size=(150, 120)) + 2.0 * draw.normal(size=(150, 30))[:, label]
    values[draw.random(values.shape) < missing] = np.nan
    left = prepare_expression(values, regress_out={"family": [f"F{k}" for k in label]})
    how: dict[str, Any] = {"score": "mi", "dpi": False, "keep": "all", "backend": "cpu"}
    p = infer_network(left, transform=transform, **how)["p_value"]
    for level in (0.5, 0.05, 0.01):
        # Within 15 %, or four standard deviations of so many pairs.
        error = 4.0 * np.sqrt(level * (1.0 - level) / p.size)
        assert abs((p <= level).mean() - level) < max(0.15 * level, error)
