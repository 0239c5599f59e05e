"""Centred mutual information, drifts, communities that are found again: against slow references."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import trajectory_analyses
from message_codes import numbers_by_code
from pairtile import trajectory_correlation
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.correlation_times import (
    correlation_time,
    drifting,
    half_shifts,
    least_p_values,
)
from pairtile.methods.trajectory_correlation.estimators import MotionPairs
from pairtile.methods.trajectory_correlation.network import (
    ResidueNetwork,
    adjusted_rand,
    agreement_warnings,
    community_agreement,
    half_networks,
)
from pairtile.methods.trajectory_correlation.pair_scores import MotionScores, p_value
from pairtile.methods.trajectory_correlation.score import HALF_SURROGATES
from pairtile.methods.trajectory_correlation.state import halves_of, replica_weights, shifts_of
from scipy.stats import f as fisher
from scipy.stats import ttest_ind


def slow(frames: int, variables: int, time: float, seed: int) -> np.ndarray:
    """Independent Ornstein-Uhlenbeck motions, (frames, variables, 3)."""
    return trajectory_analyses.slow(frames, variables, 3, time, seed, start=int(20 * time))


def as_correlation(nats: np.ndarray, d: int = 3) -> np.ndarray:
    return np.sqrt(np.maximum(0.0, 1.0 - np.exp(-2.0 * np.maximum(nats, 0.0) / d)))


# --- centred mutual information -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ksg", "gaussian"])
def test_centred_is_the_value_less_the_mean_of_the_pairs_own_surrogates(kind: str) -> None:
    runs = [np.moveaxis(slow(frames, 4, 3.0, frames), 0, 2) for frames in (80, 100, 90)]
    how = MotionEstimatorConfig(kind=kind, theiler=2)
    shifts = np.array([[20, 33, 41], [25, 50, 71], [22, 37, 60]])
    found = MotionScores(runs, [how] * 3, shifts, choose("cpu")).block(slice(0, 4), slice(0, 4))
    centred = []
    for run, own in zip(runs, shifts, strict=True):
        pairs = MotionPairs(run, how, choose("cpu"))
        here = slice(0, 4)
        null = sum(pairs.block(here, here, int(shift)) for shift in own) / 3
        centred.append(pairs.block(here, here) - null)
    above = np.triu_indices(4, 1)
    mean = np.mean(centred, axis=0)[above]
    np.testing.assert_allclose(found.blocks["mi_centred"][above], mean, atol=1e-12)
    wanted = {
        "correlation_centred": mean,
        "correlation_half_1": (centred[0] + centred[2])[above] / 2,
        "correlation_half_2": centred[1][above],
    }
    for name, nats in wanted.items():
        # The root is steep at 0: 1e-12 nats are 1e-6 there.
        np.testing.assert_allclose(found.blocks[name][above], as_correlation(nats), atol=2e-6)
    assert (mean < 0).any()
    assert (found.blocks["correlation_centred"][above][mean < 0] == 0).all()


def lengths_of(*lengths: int, tau: float = 20.0, **arrays: Any) -> dict[str, Any]:
    times = np.full((len(lengths), 5), tau)
    return {"replica_offsets": np.cumsum([0, *lengths]), "correlation_time": times, **arrays}


def test_replicas_weigh_as_their_length_and_short_ones_not_at_all() -> None:
    assert replica_weights(lengths_of(700, 700, 700)) is None
    assert replica_weights(lengths_of(2100)) is None
    assert list(replica_weights(lengths_of(200, 600, 1500))) == [0, 600, 1500]
    assert list(replica_weights(lengths_of(100, 120))) == [100, 120]
    assert list(replica_weights(lengths_of(24, 20, ensemble=np.array(True)))) == [24, 20]
    # Every second frame was written of the second.
    half = lengths_of(800, 400, frame_interval_ps=np.array([10.0, 20.0]))
    assert replica_weights(half) is None


def test_means_over_replicas_go_by_weight() -> None:
    runs = [np.moveaxis(slow(frames, 4, 3.0, frames), 0, 2) for frames in (80, 100, 90)]
    how, here = MotionEstimatorConfig(kind="gaussian"), slice(0, 4)
    shifts = np.array([[20, 33, 41], [25, 50, 71], [22, 37, 60]])
    given = (runs, [how] * 3, shifts, choose("cpu"))
    above = np.triu_indices(4, 1)
    plain = MotionScores(*given).block(here, here).blocks
    found = MotionScores(*given, np.array([1.0, 3.0, 0.0])).block(here, here).blocks
    for name in ("mi", "dcc"):
        first, second = (found[f"{name}_replica_{k}"][above] for k in (1, 2))
        mean = found["mi_centred" if name == "mi" else "dcc"][above]
        np.testing.assert_allclose(mean, (first + 3 * second) / 4, atol=1e-12)
    # Of the first half only the first replica counts, of the second half the one there is.
    np.testing.assert_array_equal(
        found["correlation_half_2"][above], plain["correlation_half_2"][above]
    )
    nats = found["mi_replica_1"][above]
    np.testing.assert_allclose(found["correlation_half_1"][above], as_correlation(nats), atol=2e-6)
    only_last = MotionScores(*given, np.array([0.0, 2.0, 0.0])).block(here, here).blocks
    alone = MotionScores(runs[1:2], [how], shifts[1:2], choose("cpu")).block(here, here).blocks
    for name in ("mi_nats", "null_sd", "p_value"):
        np.testing.assert_allclose(only_last[name][above], alone[name][above], rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_short_replicas_are_named() -> None:
    runs = [slow(frames, 5, 20.0, frames) for frames in (100, 1200)]
    found = trajectory_correlation(runs, kind="gaussian", backend="cpu")
    said = numbers_by_code(found.warnings)["replicas_too_short"]
    assert (said["n"], said["replicas"]) == (1, 2)
    even = trajectory_correlation([runs[1], slow(1200, 5, 20.0, 7)], kind="gaussian", backend="cpu")
    assert "replicas_too_short" not in numbers_by_code(even.warnings)


def test_dcc_is_not_centred() -> None:
    runs = [np.moveaxis(slow(100, 4, 3.0, seed), 0, 2) for seed in (1, 2)]
    how, shifts = MotionEstimatorConfig(kind="dcc"), np.array([[20, 33], [25, 50]])
    found = MotionScores(runs, [how] * 2, shifts, choose("cpu")).block(slice(0, 2), slice(2, 4))
    assert "mi_centred" not in found.blocks
    one = MotionPairs(runs[1], how, choose("cpu")).dcc_block(slice(0, 2), slice(2, 4))
    np.testing.assert_array_equal(found.blocks["correlation_half_2"], one)


@pytest.mark.parametrize(("frames", "raw"), [(500, 0.28), (2000, 0.14)])
@pytest.mark.filterwarnings("ignore")
def test_slow_motions_read_what_they_share(frames: int, raw: float) -> None:
    own, common = slow(frames, 40, 20.0, 5), slow(frames, 20, 20.0, 6)
    found = trajectory_correlation(own, kind="gaussian", backend="cpu")
    assert found.pairs["correlation"].mean() > raw
    assert found.pairs["correlation_centred"].mean() <= 0.12
    # The two of a pair share one of the twenty common motions.
    both = np.sqrt(0.6) * np.repeat(common, 2, axis=1) + np.sqrt(0.4) * own
    pairs = trajectory_correlation(both, kind="gaussian", backend="cpu").pairs
    partners = pairs[(pairs["j"] == pairs["i"] + 1) & (pairs["i"] % 2 == 0)]
    assert len(partners) == 20
    assert abs(partners["correlation_centred"].mean() - 0.6) <= 0.08


@pytest.mark.parametrize("number", [2, 5, 20])
def test_p_values_of_a_normal_value_among_normal_surrogates_are_uniform(number: int) -> None:
    drawn = np.random.default_rng(number).normal(3.0, 2.0, (number + 1, 100_000))
    mean, spread = drawn[1:].mean(axis=0), drawn[1:].std(axis=0, ddof=1)
    p = p_value(drawn[0], mean, spread, number)
    for level in (0.01, 0.05, 0.5):  # within four standard deviations
        assert abs((p <= level).mean() - level) < 4 * np.sqrt(level * (1 - level) / p.size)


def test_surrogates_are_drawn_by_the_seed_and_the_replica() -> None:
    offsets, tau = np.array([0, 400, 800]), np.full((2, 5), 2.0)
    for ensemble in (False, True):
        state = {"replica_offsets": offsets, "correlation_time": tau, "ensemble": ensemble}
        first, again, other = (shifts_of(state, 20, seed) for seed in (1, 1, 2))
        assert [len(part) for part in first] == [20, 20]
        assert [len(part) for part in shifts_of(state, 0, 1)] == [0, 0]
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first[0], other[0])
        assert not np.array_equal(first[0], first[1])


def test_halves_of_one_trajectory_are_scored_like_replicas() -> None:
    series = slow(301, 4, 2.0, 3)
    found = trajectory_correlation(series, kind="gaussian", backend="cpu", seed=4)
    whole = np.moveaxis(series, 0, 2)
    state = {
        "series": whole,
        "replica_offsets": np.array([0, 301]),
        "correlation_time": correlation_time(whole)[None],
    }
    halves = halves_of(state)
    assert halves is not None
    shifts = shifts_of(halves, HALF_SURROGATES, 4)
    pairs = found.pairs
    for half, name in enumerate(("correlation_half_1", "correlation_half_2")):
        part = whole[:, :, 150 * half : 150 * (half + 1)]
        opened = MotionPairs(part, MotionEstimatorConfig(kind="gaussian"), choose("cpu"))
        here = slice(0, 4)
        null = sum(opened.block(here, here, int(shift)) for shift in shifts[half])
        nats = (opened.block(here, here) - null / HALF_SURROGATES)[pairs["i"], pairs["j"]]
        np.testing.assert_allclose(pairs[name], as_correlation(nats), atol=2e-6)


def test_short_runs_and_replicas_have_no_halves_of_their_own() -> None:
    for offsets in ([0, 199], [0, 300, 600]):
        state = {"replica_offsets": np.array(offsets), "series": np.zeros((1, 1, offsets[-1]))}
        assert halves_of(state) is None


def test_score_ranks_the_network() -> None:
    series = np.concatenate([slow(400, 3, 30.0, 1), slow(400, 3, 1.0, 2)], axis=1)
    series[:, 4] += series[:, 3]
    settings = {"kind": "gaussian", "keep": "all", "backend": "cpu"}
    with pytest.warns(UserWarning, match="effective frames"):
        found = {s: trajectory_correlation(series, score=s, **settings)
                 for s in ("auto", "correlation", "correlation_centred")}  # fmt: skip
    for score, result in found.items():
        column = "correlation_centred" if score == "auto" else score
        assert result.settings["score"] == column
        assert result.network[column].is_monotonic_decreasing
        sizes = result.residue_network().correlation
        np.testing.assert_array_equal(sizes, result.network[column][result.network[column] > 0])
        pd.testing.assert_frame_equal(result.pairs, found["auto"].pairs)


@pytest.mark.parametrize("settings", [{"surrogates": 0}, {"kind": "dcc"}])
def test_score_needs_surrogates_of_mutual_information(settings: dict[str, Any]) -> None:
    series = slow(100, 3, 1.0, 1)
    with pytest.raises(ValueError, match="score"):
        trajectory_correlation(series, score="correlation_centred", backend="cpu", **settings)
    found = trajectory_correlation(series, backend="cpu", **settings)
    assert found.settings["score"] == "correlation"
    assert "correlation_centred" not in found.network


# --- drifts ---------------------------------------------------------------------------------------


def reference_shift(values: np.ndarray) -> tuple[float, float]:
    """Length of the shift, and T-squared by the inverse of the pooled covariance; (frames, d)."""
    half = len(values) // 2
    first, second = values[:half], values[half : 2 * half]
    moved = second.mean(axis=0) - first.mean(axis=0)
    inside = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    tau = float(correlation_time(inside.T[None])[0])
    tau /= 1.0 - 20.0 * tau / len(inside)
    each = half / (2.0 * tau)
    covariance = inside.T @ inside / len(inside) * each / (each - 1.0)
    t_squared = 0.5 * each * moved @ np.linalg.inv(covariance) @ moved
    return float(np.sqrt((moved**2).sum() / (inside**2).mean(axis=0).sum())), t_squared


def test_shifts_are_those_of_hotelling() -> None:
    series = slow(400, 5, 4.0, 9)
    series[200:, 1] += 1.0
    shift, p = half_shifts(np.moveaxis(series, 0, 2))
    for k in range(5):
        length, t_squared = reference_shift(series[:, k])
        inside = np.concatenate([part - part.mean(axis=0) for part in np.split(series[:, k], 2)])
        tau = float(correlation_time(inside.T[None])[0])
        freedom = 400 / (2.0 * tau / (1.0 - 20.0 * tau / 400)) - 2.0
        expected = fisher.sf(t_squared * (freedom - 2) / (freedom * 3), 3, freedom - 2)
        np.testing.assert_allclose([shift[k], p[k]], [length, expected], rtol=1e-9)
    assert p.argmin() == 1


def test_of_white_scalars_the_test_is_students() -> None:
    values = np.random.default_rng(2).standard_normal((300, 1, 1000))
    _, p = half_shifts(values)
    student = ttest_ind(values[:, 0, :500], values[:, 0, 500:], axis=1).pvalue
    assert np.corrcoef(p, student)[0, 1] > 0.99
    assert (p <= 0.05).mean() < 0.09


@pytest.mark.parametrize("time", [5.0, 20.0])
def test_stationary_motions_do_not_drift_and_drifting_ones_do(time: float) -> None:
    series = np.moveaxis(slow(1500, 200, time, 4), 0, 2)
    _, p = half_shifts(series)
    assert 0.01 <= (p <= 0.05).mean() <= 0.09
    series[:20, :, 750:] += 1.5
    moved = drifting(half_shifts(series)[1])
    assert moved[:20].mean() > 0.8
    assert moved[20:].mean() < 0.05


def test_awkward_series_are_not_tested_or_do_not_drift() -> None:
    draw = np.random.default_rng(1)
    still = np.ones((1, 2, 50))
    shift, p = half_shifts(still)
    assert np.isnan([shift[0], p[0]]).all()
    ramp = np.linspace(0.0, 1.0, 60)[None, None]  # nothing but drift: no independent frames
    assert np.isnan(half_shifts(ramp)[1]).all()
    flat = draw.standard_normal((1, 2, 401))
    flat[:, 1] = flat[:, 0]  # a plane of one dimension, and an odd number of frames
    one = half_shifts(flat[:, :1])
    np.testing.assert_allclose(half_shifts(flat)[1], one[1])
    angles = np.pi + 0.1 * draw.standard_normal((1, 1, 400))
    angles = (angles + np.pi) % (2 * np.pi) - np.pi  # about the place where the count begins anew
    assert half_shifts(angles, cyclic=True)[1][0] > 0.001
    assert not drifting(np.full(3, np.nan)).any()


def test_of_replicas_the_least_p_value_counts_times_their_number() -> None:
    nan = np.nan
    p_values = np.array([[0.2, 0.03, nan, 0.9], [0.01, nan, nan, 0.8]])
    shifts = np.arange(8.0).reshape(2, 4)
    p, shift = least_p_values(shifts, p_values)
    np.testing.assert_allclose(p, [0.02, 0.03, nan, 1.0])
    assert shift.tolist() == [4.0, 1.0, 2.0, 7.0]


def test_a_drift_is_warned_of_with_its_number_and_its_key() -> None:
    series = slow(600, 6, 2.0, 8)
    series[300:, 2] += 3.0
    with pytest.warns(UserWarning, match="1 of 6 variables lie elsewhere") as caught:
        found = trajectory_correlation(series, kind="gaussian", surrogates=0, backend="cpu")
    text = next(str(w.message) for w in caught if "elsewhere" in str(w.message))
    assert "frames: {start" in text
    assert found.counts["variables_drifting"] == 1
    assert found.items["drift"].idxmax() == found.items["drift_p_value"].idxmin() == 2


# --- communities ----------------------------------------------------------------------------------


def rand_by_pairs(first: np.ndarray, second: np.ndarray) -> float:
    """Adjusted Rand index, by counting the pairs that are together (Hubert and Arabie 1985)."""
    one, other = (
        np.array([part[a] == part[b] for a, b in combinations(range(len(part)), 2)])
        for part in (first, second)
    )
    chance = one.sum() * other.sum() / one.size
    return float(((one & other).sum() - chance) / ((one.sum() + other.sum()) / 2 - chance))


def test_adjusted_rand_is_that_of_its_pairs() -> None:
    draw = np.random.default_rng(3)
    for _ in range(20):
        first, second = draw.integers(0, 4, (2, 15))
        assert adjusted_rand(first, second) == pytest.approx(rand_by_pairs(first, second))
    assert adjusted_rand([5, 5, 9], [0, 0, 1]) == 1.0
    assert adjusted_rand([1, 1, 1], [2, 2, 2]) == 1.0
    assert adjusted_rand([1, 2, 3], [3, 2, 1]) == 1.0
    assert adjusted_rand([1, 2, 3], [1, 1, 1]) == 0.0


def test_networks_of_the_halves_are_of_their_strongest_candidates() -> None:
    i, j = np.triu_indices(6, 1)
    draw = np.random.default_rng(4)
    pairs = pd.DataFrame({"i": i, "j": j})
    pairs["correlation_half_1"], pairs["correlation_half_2"] = draw.uniform(-1, 1, (2, i.size))
    candidate = draw.random(i.size) < 0.7
    for half, network in enumerate(half_networks(pairs, candidate, 4, 6), start=1):
        few = pairs[candidate].copy()
        few["size"] = few[f"correlation_half_{half}"].abs()
        best = few.sort_values("size", ascending=False).head(4)
        assert set(map(tuple, network.ends.tolist())) == set(zip(best["i"], best["j"], strict=True))
        assert network.n_nodes == 6


def test_agreement_of_few_or_no_nodes_is_not_known() -> None:
    empty = [ResidueNetwork.of_edges(4, [], [], [])] * 2
    assert np.isnan(community_agreement(empty, np.arange(2), "leiden", 1))
    assert community_agreement(empty, np.arange(4), "leiden", 1) == 1.0


@pytest.mark.filterwarnings("ignore")
def test_communities_of_noise_are_not_claimed_and_those_of_blocks_are() -> None:
    noise = slow(800, 24, 10.0, 11)
    common = np.repeat(slow(800, 3, 10.0, 12), 8, axis=1)
    keys = {"kind": "gaussian", "backend": "cpu", "keep": {"p_value": 0.05}}
    found = trajectory_correlation(noise, **keys)
    agreement = found.community_agreement["leiden"]
    assert agreement < 0.3
    assert any(f"{agreement:.2f}" in text and "No communities" in text for text in found.warnings)
    found = trajectory_correlation(noise + common, **keys)
    assert found.community_agreement["leiden"] > 0.8
    assert adjusted_rand(found.communities(), np.repeat([0, 1, 2], 8)) > 0.8
    assert not any("No communities" in text for text in found.warnings)


def test_only_a_low_agreement_is_warned_of() -> None:
    assert agreement_warnings("leiden", 0.3) == agreement_warnings("leiden", float("nan")) == []
    (warning,) = agreement_warnings("leiden", -0.04)
    assert warning.numbers["agreement"] == -0.04
