"""Scores over replicas against their surrogates: plain means and spreads, calibration."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from motion_blocks import estimator
from pairtile.engine.tiles import plan_chunks
from pairtile.errors import DeviceError
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.estimators import (
    MotionPairs,
    generalized_correlation,
)
from pairtile.methods.trajectory_correlation.kernels.surrogates import count_correlations
from pairtile.methods.trajectory_correlation.pair_blocks import numbers_of
from pairtile.methods.trajectory_correlation.pair_scores import (
    HISTOGRAM_BINS,
    MotionScores,
    p_value,
)
from pairtile.methods.trajectory_correlation.score import TrajectoryCorrelation
from trajectory_analyses import slow_series

KINDS = ("ksg", "gaussian", "dcc", "bspline", "dihedral")
CPU = choose("cpu")
SHIFTS = np.array([[20, 31, 47, 60], [15, 22, 33, 40]])


def series(kind: str, frames: int = 90, variables: int = 9, seed: int = 1) -> np.ndarray:
    d = 1 if kind in ("bspline", "dihedral") else 3
    values = slow_series(variables, d, frames, 3.0, seed)
    values[1] = -values[0] + 0.3 * values[1]
    return (values + np.pi) % (2 * np.pi) - np.pi if kind == "dihedral" else values


def scores(kind: str, replicas: int = 2, shifts: np.ndarray = SHIFTS, **keys: Any) -> MotionScores:
    parts = [series(kind, 90 - 10 * k, seed=k) for k in range(replicas)]
    settings = [estimator(kind=kind, **keys)] * replicas
    return MotionScores(parts, settings, shifts[:replicas], CPU)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_means_over_replicas_with_their_spread(kind: str) -> None:
    opened = scores(kind, shifts=SHIFTS[:, :0])
    found = opened.block(slice(0, 4), slice(4, 9))
    each = [
        MotionPairs(part, how, CPU).block(slice(0, 4), slice(4, 9))
        for part, how in zip(opened.replicas, opened.settings, strict=True)
    ]
    mean, d = (each[0] + each[1]) / 2, opened.d
    if kind == "dcc":
        assert np.isnan(found.blocks["mi_nats"]).all()
        np.testing.assert_array_equal(found.blocks["correlation"], mean)
        np.testing.assert_array_equal(found.blocks["dcc"], mean)
    else:
        np.testing.assert_array_equal(found.blocks["mi_nats"], mean)
        np.testing.assert_array_equal(found.blocks["correlation"], generalized_correlation(mean, d))
        spread = np.abs(each[0] - each[1]) / np.sqrt(2)
        np.testing.assert_allclose(found.blocks["mi_sd"], spread, atol=1e-12)
        r = [generalized_correlation(part, d) for part in each]
        spread = np.abs(r[0] - r[1]) / np.sqrt(2)
        np.testing.assert_allclose(found.blocks["correlation_sd"], spread, atol=1e-12)
    assert np.isnan(found.blocks["dcc"]).all() == (kind == "dihedral")
    assert "null_mean" not in found.blocks


@pytest.mark.parametrize("kind", KINDS)
def test_surrogates_are_means_over_replicas_under_shifts_of_their_own(kind: str) -> None:
    opened = scores(kind)
    found = opened.block(slice(0, 4), slice(4, 9))
    pairs = [
        MotionPairs(part, how, CPU)
        for part, how in zip(opened.replicas, opened.settings, strict=True)
    ]
    drawn = np.array(
        [
            sum(p.block(slice(0, 4), slice(4, 9), int(SHIFTS[k, s])) for k, p in enumerate(pairs))
            / 2
            for s in range(4)
        ]
    )
    np.testing.assert_allclose(found.blocks["null_mean"], drawn.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.blocks["null_sd"], drawn.std(axis=0, ddof=1), atol=1e-12)
    value = found.blocks["correlation"] if kind == "dcc" else found.blocks["mi_nats"]
    normal = {
        "gaussian": lambda nats: np.cbrt(np.maximum(nats, 0.0)),
        "bspline": lambda nats: np.log(np.maximum(nats, 1e-12)),
        "dihedral": lambda nats: np.log(np.maximum(nats, 1e-12)),
    }.get(kind, lambda values: values)
    null = normal(drawn)
    one = p_value(normal(value), null.mean(axis=0), null.std(axis=0, ddof=1), 4)
    expected = 2 * np.minimum(one, 1 - one) if kind == "dcc" else one
    np.testing.assert_allclose(found.blocks["p_value"], expected, atol=1e-9)
    counts = sum(opened.histogram(values) for values in drawn)
    np.testing.assert_array_equal(found.null_counts, counts)
    assert found.null_counts.sum() == 4 * 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_diagonal_block_holds_the_same_values_as_one_beside_it(kind: str) -> None:
    opened = scores(kind)
    wanted = np.triu(np.ones((9, 9), dtype=bool), 1)
    whole = opened.block(slice(0, 9), slice(0, 9), wanted)
    beside = opened.block(slice(0, 4), slice(4, 9))
    for name, block in beside.blocks.items():
        matrix = np.full(wanted.shape, np.nan)
        matrix[wanted] = whole.blocks[name]
        np.testing.assert_allclose(matrix[:4, 4:], block, atol=1e-12, err_msg=name)
    assert whole.null_counts.sum() == 4 * 36


@pytest.mark.parametrize("kind", KINDS)
def test_prepared_blocks_go_with_their_last_use(kind: str) -> None:
    opened = scores(kind)
    opened.block(slice(0, 4), slice(4, 9))
    blocks = [weakref.ref(each._blocks) for each in opened._pairs]
    gc.disable()
    try:
        opened._let_go()
        assert [block() for block in blocks] == [None, None]
    finally:
        gc.enable()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_and_cpu_give_the_same_scores(kind: str) -> None:
    cpu = scores(kind)
    gpu = MotionScores(cpu.replicas, cpu.settings, cpu.shifts, choose("cuda"))
    wanted = np.triu(np.ones((9, 9), dtype=bool), 1)
    for rows, columns, cells in (
        (slice(0, 9), slice(0, 9), wanted),
        (slice(0, 4), slice(4, 9), np.ones((4, 5), dtype=bool)),
    ):
        expected, found = (one.block(rows, columns, cells) for one in (cpu, gpu))
        for name, block in expected.blocks.items():
            np.testing.assert_allclose(found.blocks[name], block, atol=1e-9, err_msg=name)
        np.testing.assert_array_equal(found.null_counts, expected.null_counts)


def test_a_driven_pair_of_opposite_motion_is_significant_whatever_its_sign() -> None:
    shifts = np.stack([np.arange(15, 55, 2)] * 2)
    found = scores("dcc", shifts=shifts).block(slice(0, 2), slice(1, 3))
    assert found.blocks["correlation"][0, 0] < -0.9
    assert found.blocks["p_value"][0, 0] < 0.001
    assert found.blocks["p_value"][1, 1] > 0.01


@pytest.mark.parametrize("fails", [20, 3], ids=["halves", "parts"])
def test_a_block_without_room_is_scored_in_parts(monkeypatch: Any, fails: int) -> None:
    whole = scores("ksg").block(slice(0, 5), slice(4, 9))
    original = MotionPairs.block

    def short_of_memory(self: Any, rows: Any, columns: Any, *rest: Any, **keys: Any) -> Any:
        if len(numbers_of(rows)) * len(numbers_of(columns)) > fails:
            raise MemoryError
        return original(self, rows, columns, *rest, **keys)

    monkeypatch.setattr(MotionPairs, "block", short_of_memory)
    parts = scores("ksg").block(slice(0, 5), slice(4, 9))
    wanted = np.random.default_rng(3).random((5, 5)) < 0.6
    some = scores("ksg").block(slice(0, 5), slice(4, 9), wanted)
    for name, block in whole.blocks.items():
        np.testing.assert_allclose(parts.blocks[name], block, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(some.blocks[name], block[wanted], atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(parts.null_counts, whole.null_counts)
    assert some.null_counts.sum() == whole.null_counts.sum() / 25 * wanted.sum()


def test_no_room_for_one_pair_is_told(monkeypatch: Any) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(MotionPairs, "block", never)
    with pytest.raises(DeviceError, match="found no room for one pair of 90 frames"):
        scores("ksg").block(slice(0, 3), slice(3, 9))


def test_the_histogram_counts_from_end_to_end() -> None:
    signed, plain = scores("dcc"), scores("ksg")
    values = np.array([[-1.0, 1.0], [0.0, 0.499]])
    counts = signed.histogram(values)
    assert counts[[0, HISTOGRAM_BINS - 1, 100, 149]].tolist() == [1, 1, 1, 1]
    counts = plain.histogram(-0.5 * plain.d * np.log1p(-np.minimum(values**2, 1.0 - 1e-9)))
    assert counts[[0, 99, HISTOGRAM_BINS - 1]].tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("kind", "corrected"), [*((kind, False) for kind in KINDS), ("gaussian", True)]
)
def test_p_values_of_unrelated_slow_motions_are_uniform(kind: str, corrected: bool) -> None:
    """Also where the tail of the null is not that of normal numbers."""
    n, v = 400, 40
    values = slow_series(v, 1 if kind in ("bspline", "dihedral") else 3, n, 3.0, seed=5)
    if kind == "dihedral":
        values = (values + np.pi) % (2 * np.pi) - np.pi
    shifts = np.linspace(20, n - 20, 20).astype(int)[None]
    settings = estimator(kind=kind, corrected=corrected, bins=12 if kind == "dihedral" else 10)
    wanted = np.triu(np.ones((v, v), dtype=bool), 1)
    found = MotionScores([values], [settings], shifts, CPU).block(slice(0, v), slice(0, v), wanted)
    p = found.blocks["p_value"]
    # 780 pairs; pairs of one variable hang together, hence room of about 3 standard errors.
    assert abs(p.mean() - 0.5) < 0.06
    assert (p <= 0.05).mean() < 0.08
    assert (p <= 0.001).sum() <= 6


def test_a_protein_on_two_cores_is_cut_into_chunks_of_a_minute() -> None:
    """214 residues, 800 frames, nearest neighbours with 20 surrogates."""
    section = TrajectoryCorrelationConfig.model_validate(
        {"method": "trajectory_correlation", "time_series": ["a.npy"], "table": {"dimensions": 3}}
        | {"estimator": {"kind": "ksg"}}
    )
    state = {
        "series": np.broadcast_to(np.float64(0.0), (214, 3, 800)),
        "replica_offsets": np.array([0, 800]),
        "correlation_time": np.ones((1, 214)),
    }
    cost = TrajectoryCorrelation.cost(section, state, "cpu", 2)
    tiles = TrajectoryCorrelation.space(state).tiles(*cost.tile_edges)
    seconds = [cost.tile(tile) / cost.per_second for tile in tiles]
    assert sum(seconds) > 60
    chunks = plan_chunks(seconds)
    assert len(chunks) >= 2
    assert max(chunk.seconds for chunk in chunks) < 60
    assert max(seconds) < 30


@pytest.mark.parametrize("d", [0, 1, 3])
def test_correlations_are_counted_as_the_histogram_does(d: int) -> None:
    values = np.random.default_rng(2).normal(size=1000)
    values = np.clip(values, -1.0, 1.0) if d == 0 else values
    values[:3] = np.nan, 0.0, 1.0
    counts = np.zeros((7, HISTOGRAM_BINS), dtype=np.int64)
    count_correlations(values, d, counts)
    known = values[1:] if d == 0 else generalized_correlation(values[1:], d)
    ends = (-1.0, 1.0) if d == 0 else (0.0, 1.0)
    expected = np.histogram(known, HISTOGRAM_BINS, ends)[0]
    expected[0] += 1  # NaN
    np.testing.assert_array_equal(counts.sum(axis=0), expected)
