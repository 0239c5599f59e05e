"""Which samples a null exchanges: error rates on dependent samples, and the choice of ``auto``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from naive_mutual_information import naive_permuted_rows
from numpy.typing import NDArray
from pairtile import infer_network, mutual_information, permutation_null
from pairtile.api.settings import analysis_config
from pairtile.engine.network import Network
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.kernels.exchange import Exchange
from pairtile.methods.mutual_information.kernels.permuted_rows import permuted_rows
from pairtile.methods.mutual_information.null import Null
from pairtile.methods.mutual_information.null_design import (
    entropy_classes,
    null_classes,
    order_warnings,
)
from pairtile.methods.mutual_information.series_joins import loss_by_joins
from pairtile.preprocess.null_design import CourseSteps, NullDesign, course_arrays, null_design
from pairtile.splines.bspline import bspline_weights, dense_weights
from pairtile.splines.scorer import SplineSettings


def autoregressive(genes: int, samples: int, phi: Any, seed: int = 0) -> NDArray[np.float64]:
    """Independent AR(1) series of variance 1."""
    values = np.random.default_rng(seed).normal(size=(genes, samples))
    kept = np.broadcast_to(phi, (genes,))
    for t in range(1, samples):
        values[:, t] = kept * values[:, t - 1] + np.sqrt(1 - kept**2) * values[:, t]
    return values


def share_below(values: NDArray[np.float64], p: float = 0.05, **settings: Any) -> float:
    """Share of pairs with a p-value of at most ``p``."""
    null = permutation_null(values, permutations=40_000, **settings)
    found = null.p_value(mutual_information(values))[np.triu_indices(len(values), 1)]
    return float(np.mean(found <= p))


BATCH = np.repeat([0.0, 1.0], 50)
GENES = 120


def batches(seed: int = 5) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    return random.normal(size=(GENES, 100)) + 2 * BATCH * random.choice([-1, 1], size=(GENES, 1))


def test_permutation_is_exact_on_independent_samples_and_not_on_slow_ones() -> None:
    independent = np.random.default_rng(1).normal(size=(GENES, 100))
    assert 0.04 < share_below(independent) < 0.06
    assert share_below(autoregressive(GENES, 100, 0.8), null="permutation") > 0.4


@pytest.mark.parametrize("phi", [0.8, 0.9])
def test_auto_holds_its_level_on_slow_samples(phi: float) -> None:
    assert share_below(autoregressive(GENES, 100, phi)) < 0.07


def test_genes_of_unlike_autocorrelation_get_nulls_of_their_own() -> None:
    phi = np.where(np.arange(GENES) % 2, 0.95, 0.0)
    values = autoregressive(GENES, 100, phi)
    null = permutation_null(values, permutations=40_000)
    p = null.p_value(mutual_information(values))
    for rows, columns in ((0, 0), (0, 1), (1, 1)):
        part = p[rows::2, columns::2]
        assert np.nanmean(part <= 0.05) < 0.08, (rows, columns)


def test_blocks_hold_their_level_where_batches_are_stated() -> None:
    assert share_below(batches(), null="permutation") > 0.5
    shares = [share_below(batches(seed), batch=BATCH) for seed in range(4)]
    assert 0.04 < np.mean(shares) < 0.06


def test_a_gene_does_not_meet_itself_within_batches() -> None:
    batch = np.repeat(np.arange(8), 12)
    tails = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        values = random.normal(size=(GENES, 96)) + 1.5 * random.normal(size=(GENES, 8))[:, batch]
        tails.append(share_below(values, 0.001, batch=batch))
    assert 0.0005 < np.mean(tails) < 0.002


@pytest.mark.parametrize("phi", [0.0, 0.8, 0.9])
def test_joins_of_short_series_are_counted(phi: float) -> None:
    lengths = np.linspace(4, 40, 10).astype(int)
    series = np.repeat(np.arange(10), lengths)
    values = autoregressive(40, series.size, phi)
    starts = np.flatnonzero(np.diff(series, prepend=-1))
    for begin, n in zip(starts, lengths, strict=True):
        values[:, begin : begin + n] = autoregressive(40, n + 30, phi, int(begin))[:, 30:]
    z = 8.0 * values.argsort(axis=1).argsort(axis=1) / (series.size - 1)
    settings = SplineSettings(10, 3, "clamped", "float64")
    varied, one = np.ones(40, dtype=bool), np.zeros(40, dtype=np.int8)
    design = NullDesign("circular_shift", series.astype(np.int32), np.ones(10, dtype=bool))
    [[found]] = loss_by_joins(z, varied, one, design, settings)
    # The chi-square statistic of unrelated genes, and of genes that are shifted apart.
    dense = dense_weights(*bspline_weights(z, 10, 3, "clamped"), 10)
    p = dense.mean(axis=1)
    rows = (dense - p[:, None]) / np.sqrt(p)[:, None]
    turned = rows.copy()
    for begin, n in zip(starts, lengths, strict=True):
        turned[:, begin : begin + n] = np.roll(rows[:, begin : begin + n], n // 2, axis=1)

    def mean(other: NDArray[np.float64]) -> float:
        joint = np.einsum("gta,htb->ghab", rows, other)
        return float((joint**2).sum(axis=(2, 3))[~np.eye(40, dtype=bool)].mean())

    assert found == pytest.approx(mean(rows) / mean(turned), abs=0.025)
    assert bool(found > 1.005) is (phi > 0.0)


def test_short_series_are_shifted_within_themselves() -> None:
    parts = [autoregressive(GENES, 5, 0.9, seed) for seed in range(20)]
    values = np.concatenate(parts, axis=1)
    series = np.repeat(np.arange(20), 5)
    assert share_below(values, null="permutation") > 0.4
    assert share_below(values, series=series) < 0.07


@pytest.mark.parametrize("pattern", ["at random", "the same samples"])
def test_pairs_of_unlike_numbers_of_shared_samples_have_the_same_level(pattern: str) -> None:
    random = np.random.default_rng(2)
    values = random.normal(size=(200, 100))
    half = np.arange(200) % 2 == 1
    missing = random.random((100, 100)) < 0.5 if pattern == "at random" else np.arange(100) < 40
    values[half] = np.where(missing, np.nan, values[half])
    null = permutation_null(values, permutations=100_000)
    p = null.p_value(mutual_information(values))
    for rows, columns in ((0, 0), (0, 1), (1, 1)):
        part = p[rows::2, columns::2]
        part = part[~np.isnan(part)]
        assert 0.8 < np.mean(part <= 0.05) / 0.05 < 1.25, (rows, columns)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", ["blocks", "circular_shift", "courses"])
def test_rows_are_exchanged_within_their_groups(kind: str, side: int) -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=(6, 41))
    values[1, ::3] = np.nan
    values[2] = np.nan
    values[3] = 7.0
    group = random.integers(0, 4, 41).astype(np.int32)
    group[:4] = range(4)
    courses = None
    if kind == "courses":
        group = np.repeat(np.arange(4, dtype=np.int32), [10, 15, 6, 10])
        order = np.lexsort((random.random(41), group))
        courses = CourseSteps(np.array([2, 5, 1, 10]), order)
    shifted = np.array([True, True, False, True]) & (kind != "blocks")
    exchange = Exchange.within(NullDesign(kind, group, shifted, courses=courses))
    genes = random.integers(0, 6, 50)
    np.testing.assert_array_equal(
        permuted_rows(values, genes, 9, side, 2, exchange),
        naive_permuted_rows(values, genes, 9, side, 2, exchange),
    )


def test_two_sides_are_never_closer_than_a_quarter_of_the_series() -> None:
    for n in (2, 3, 4, 5, 8, 21, 100):
        row = np.arange(float(n))[None]
        one = np.zeros(n, dtype=np.int32)
        exchange = Exchange.within(NullDesign("circular_shift", one, np.ones(1, dtype=bool)))
        genes = np.zeros(200, dtype=np.int64)
        first = permuted_rows(row, genes, 1, 0, 0, exchange)[:, 0]
        second = permuted_rows(row, genes, 1, 1, 0, exchange)[:, 0]
        apart = (second[None] - first[:, None]) % n
        assert min(apart.min(), (n - apart).min()) >= max(1, n // 4), n


def test_a_shifted_gene_does_not_meet_itself() -> None:
    values = np.random.default_rng(3).normal(size=(2, 60))
    found = permutation_null(values, series=np.zeros(60, int), permutations=10_000)
    assert 4_000 < sum(draws.size for draws in found.null.statistic) < 6_000  # of 10,000


@pytest.mark.parametrize(
    ("stated", "permutations", "resolved"),
    [(True, 10_000, 100), (True, 3_000, 30), (False, 10_000, 10)],
)
def test_shifted_genes_need_more_draws_behind_a_p_value(
    stated: bool, permutations: int, resolved: int
) -> None:
    values = np.random.default_rng(4).normal(size=(8, 60))
    series = np.zeros(60, int) if stated else None
    found = permutation_null(values, series=series, permutations=permutations)
    assert found.null.resolved == resolved


def replicates(number: int, steps: int, seed: int = 0) -> NDArray[np.float64]:
    """Unrelated genes that respond to one stimulus, 70 % of their variance, in each series."""
    random = np.random.default_rng(seed)
    response = np.tile(autoregressive(GENES, steps, 0.8, seed), number)
    return np.sqrt(0.7) * response + np.sqrt(0.3) * random.normal(size=response.shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("number", "steps"), [(5, 8), (3, 12)])
def test_unrelated_genes_that_respond_alike_are_not_called(number: int, steps: int) -> None:
    series = np.repeat(np.arange(number), steps)
    tables = [replicates(number, steps, seed) for seed in range(3)]
    assert np.mean([share_below(table, series=series) for table in tables]) < 0.07
    shifted = [share_below(table, series=series, null="circular_shift") for table in tables]
    assert np.mean(shifted) > 0.09


def test_courses_keep_together_in_any_order_of_the_columns() -> None:
    values, series = replicates(5, 8), np.repeat(np.arange(5), 8)
    mixed = np.argsort(np.tile(np.arange(8), 5), kind="stable")  # moment by moment
    for order in (np.arange(40), mixed):
        held = {"sample_series": series[order].astype(np.int32)}
        found = course_arrays(values[:, order], held)
        assert found["course_steps"].tolist() == [8]
        courses = found["course_order"].reshape(5, 8)
        assert (series[order][courses] == np.arange(5)[:, None]).all()
        assert (np.arange(40)[order][courses] % 8 == np.arange(8)).all()


def test_only_common_moments_move_with_their_course() -> None:
    values, series = replicates(5, 8), np.repeat(np.arange(5), 8).astype(np.int32)
    kept = np.arange(40) != 3  # the first series lacks its fourth sample
    held = {"sample_series": series[kept], "sample_time": np.tile(np.arange(8.0), 5)[kept]}
    found = course_arrays(values[:, kept], held)
    assert found["course_steps"].tolist() == [7, 0]
    assert np.bincount(found["course_groups"]).tolist() == [35, 4]


def test_series_without_a_course_in_common_are_shifted() -> None:
    values, series = autoregressive(GENES, 60, 0.8), np.repeat(np.arange(5), 12)
    assert "course_groups" not in course_arrays(values, {"sample_series": series.astype("i4")})
    with pytest.raises(InputError, match=r"null\.kind: courses"):
        permutation_null(values, series=np.arange(60) // 30 + np.arange(60) % 2, null="courses")


def state(values: NDArray[np.float64], **arrays: Any) -> dict[str, NDArray[Any]]:
    return {"z": values, **arrays}


def test_auto_goes_by_what_is_stated_then_by_what_is_measured() -> None:
    values = np.zeros((3, 6))
    series, batch = np.array([0, 0, 0, 1, 1, 2], "i4"), np.array([0, 1, 0, 1, 0, 1], "i4")
    slow, free = np.array([0.5, 0.1]), np.array([0.05, 0.1])
    both = null_design("auto", state(values, sample_series=series, sample_batch=batch), 6)
    assert both.kind == "circular_shift"
    assert both.groups.tolist() == [0, 0, 0, 1, 1, 2]
    assert both.shifted.tolist() == [True, True, False]  # one sample alone cannot be shifted
    known = state(values, sample_batch=batch, order_autocorrelation=slow)
    blocks = null_design("auto", known, 6)
    assert (blocks.kind, blocks.shifted.tolist()) == ("blocks", [False, False])
    measured = [state(values, order_autocorrelation=each) for each in (slow, free)]
    chosen = [null_design("auto", each, 6).kind for each in measured]
    assert chosen == ["circular_shift", "permutation"]
    assert null_design("permutation", measured[0], 6).kind == "permutation"


def test_a_permutation_of_slow_samples_is_warned_of() -> None:
    slow = state(np.zeros((3, 6)), order_autocorrelation=np.array([0.52, 0.1]))

    def warnings(kind: str, **known: NDArray[Any]) -> list[str]:
        config = analysis_config(MutualInformationConfig, expression="e.tsv", null={"kind": kind})
        return order_warnings(config, slow | known, 0.31)

    (asked,) = warnings("permutation")
    assert "0.52" in asked
    assert "31% of pairs of unrelated genes" in asked
    assert "null.kind" in asked
    (measured,) = warnings("auto")
    assert "31% of pairs" in measured
    assert "state under samples" in measured
    assert warnings("circular_shift") == []
    assert warnings("auto", sample_series=np.zeros(6, np.int32)) == []


@pytest.mark.parametrize(("phi", "low", "high"), [(0.8, 0.4, 0.65), (0.3, 0.04, 0.12)])
def test_the_warning_states_what_a_permutation_would_call_significant(
    phi: float, low: float, high: float
) -> None:
    values = autoregressive(200, 100, phi, seed=2)
    with pytest.warns(UserWarning, match="Neighbouring samples are alike") as caught:
        infer_network(values, keep={"top_edges": 10}, null="permutation", permutations=10_000)
    (text,) = [str(each.message) for each in caught if "alike" in str(each.message)]
    stated = int(re.search(r"(\d+)% of pairs", text)[1]) / 100
    how = {"bins": 6, "order": 4}  # as infer_network takes for 100 samples
    mi = mutual_information(values, **how)
    permutation = permutation_null(values, null="permutation", permutations=10_000, **how)
    true = (permutation.p_value(mi)[np.triu_indices(200, 1)] <= 0.05).mean()
    assert low < true < high
    assert stated == pytest.approx(true, rel=0.15, abs=0.01)


def test_entropy_classes_are_few_and_ordered() -> None:
    random = np.random.default_rng(0)
    entropy = np.concatenate([[0.0], random.uniform(1, 3, 400)])
    classes = entropy_classes(entropy)
    assert set(classes) == {0, 1, 2, 3}
    assert (np.diff(classes[np.argsort(entropy)]) >= 0).all()
    assert (entropy_classes(np.full(50, 3.2)) == 0).all()
    assert (entropy_classes(np.zeros(3)) == 0).all()


def test_several_criteria_make_two_classes_each() -> None:
    entropy, observed = np.tile([1.0, 3.0], 20), np.repeat([0.4, 1.0], 20)
    arrays = {"entropy_bits": entropy, "observed": observed}
    found = null_classes(state(np.zeros((40, 5)), **arrays), NullDesign.permutation(5))
    assert sorted(np.bincount(found).tolist()) == [10, 10, 10, 10]


def test_labels_that_do_not_fit_are_refused() -> None:
    values = np.random.default_rng(0).normal(size=(5, 30))
    with pytest.raises(ValueError, match=r"series: found shape \(7,\); expected a label for each"):
        permutation_null(values, series=np.arange(7))
    with pytest.raises(ValueError, match="batch: found 1 samples without a label"):
        infer_network(values, batch=[None, *range(29)])
    with pytest.raises(ValueError, match="blocks"):
        infer_network(values, null="blocks")


def network_of(values: NDArray[np.float64], keep: dict[str, Any]) -> Network:
    config = analysis_config(MutualInformationConfig, expression="e.tsv", keep=keep, backend="cpu")
    opened = open_analysis(values, np.empty(0), config, choose("cpu"))[0]
    return opened.network(opened.merged(opened.space(opened.state).tiles(), 1))


def test_a_network_of_most_pairs_is_warned_of() -> None:
    random = np.random.default_rng(4)
    values = random.normal(size=(30, 80))
    common = values + 2 * random.normal(size=80)
    for table, keep, warned in (
        (common, {"fdr": 0.05}, True),
        (common, {"top_edges": 300}, False),
        (values, {"fdr": 0.05}, False),
    ):
        found = network_of(table, keep).warnings
        assert any("of all scored pairs pass" in text for text in found) is warned


def test_classes_without_a_common_sample_have_no_significant_pair() -> None:
    values = np.random.default_rng(5).normal(size=(40, 60))
    values[:20, :30] = np.nan
    values[20:, 30:] = np.nan
    null = Null([np.empty(0, dtype=np.float32)], np.zeros(2, dtype=np.int8))
    classes = np.zeros(1, dtype=np.int8)
    p, extrapolated = null.p_value(np.array([99.0]), classes, classes)
    assert (p[0], bool(extrapolated[0])) == (1.0, True)
    assert null.thresholds(0.01)[0, 0] == np.inf
    assert len(infer_network(values, keep={"fdr": 0.05})) <= 40
