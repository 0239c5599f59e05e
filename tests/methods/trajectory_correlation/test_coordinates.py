"""B-spline mutual information of coordinates, with missing frames, and its sums over positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from backends import both_backends
from motion_blocks import all_pairs, normal
from motion_reports import of_tables, write_motion
from naive_motion import naive_dcc, naive_spline_mi
from pairtile import trajectory_correlation
from pairtile.methods.trajectory_correlation.matrices import COORDINATE_SUMS, coordinate_sum
from workflow_runs import Analysis

MISSING = 0.15


def coordinates(variables: int = 4, frames: int = 90, d: int = 3) -> np.ndarray:
    """Positions of which some share a motion; some values are missing."""
    series = normal(variables, d, frames)
    series[1] += 2.0 * series[0]
    series[2, -1] -= series[3, 0]
    return series


def with_gaps(series: np.ndarray) -> np.ndarray:
    gaps = np.random.default_rng(5).random(series.shape) < MISSING
    return np.where(gaps, np.nan, series)


@both_backends
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("bins", "order", "transform"), [(10, 3, "rank"), (20, 5, "none"), (13, 4, "none")]
)
def test_mi_of_coordinates_agrees_with_its_definition(
    backend: str, bins: int, order: int, transform: str, missing: bool
) -> None:
    series = with_gaps(coordinates()) if missing else coordinates()
    how = {"kind": "bspline", "bins": bins, "order": order, "transform": transform}
    scalars = series.reshape(12, 1, 90)
    found = all_pairs(scalars, backend, **how)
    expected = np.full((12, 12), np.nan)
    for i in range(12):
        for j in range(12):
            if i != j:
                expected[i, j] = naive_spline_mi(
                    scalars[i, 0], scalars[j, 0], bins, order, transform == "rank"
                )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    i, j = np.triu_indices(12, 1)
    pairs = pd.DataFrame({"i": i, "j": j, "mi_nats": found[i, j]})
    items = pd.DataFrame({"kept": [True] * 12})
    sums = {name: coordinate_sum(pairs, items, name) for name in COORDINATE_SUMS}
    blocks = all_pairs(series, backend, **how)
    np.testing.assert_allclose(sums["mi_block_sum"], blocks, rtol=0, atol=1e-10)
    for a, b in [(0, 1), (2, 3)]:
        by_hand = sum(expected[3 * a + k, 3 * b + k] for k in range(3))
        assert sums["mi_axis_sum"][a, b] == pytest.approx(by_hand, abs=1e-10)


def test_missing_frames_are_left_out_of_every_value_of_a_pair(tmp_path: Path) -> None:
    series = with_gaps(coordinates(5, 120, 1))[:, 0].T
    estimator = {"kind": "bspline", "surrogates": 3}
    out = of_tables(tmp_path, series, names=list("abcde"), page=False, estimator=estimator)
    written = np.vectorize(lambda x: float(f"{x:.9g}"))(series)
    for row in pd.read_parquet(out / "pairs.parquet").to_dict("records"):
        x, y = written[:, row["i"]], written[:, row["j"]]
        both = ~np.isnan(x) & ~np.isnan(y)
        assert row["n_frames"] == both.sum()
        assert row["mi_nats"] == pytest.approx(naive_spline_mi(x, y, 10, 3, True), abs=1e-10)
        assert row["dcc"] == pytest.approx(naive_dcc(x[None, both], y[None, both]), abs=1e-10)
        assert 0.0 <= row["p_value"] <= 1.0
    items = pd.read_parquet(out / "items.parquet")
    np.testing.assert_array_equal(items["n_observed"], (~np.isnan(series)).sum(axis=0))
    np.testing.assert_allclose(items["sd"], np.nanstd(written, axis=0), rtol=1e-12)


def test_missing_frames_slow_nothing_down() -> None:
    """Correlation times are those of the series without gaps, within their error."""
    random = np.random.default_rng(2)
    series = np.cumsum(random.normal(size=(3000, 8)), axis=0)
    for _ in range(2):  # a slow motion that comes back
        series = series - pd.DataFrame(series).rolling(60, 1, center=True).mean().to_numpy()
    settings = {"kind": "bspline", "surrogates": 0}
    whole = trajectory_correlation(series, **settings).items["correlation_time"]
    gaps = trajectory_correlation(with_gaps(series), **settings).items["correlation_time"]
    np.testing.assert_allclose(gaps, whole, rtol=0.15)
    assert whole.min() > 2.0


def test_every_coordinate_of_a_molecule_is_a_variable(tmp_path: Path) -> None:
    keys = write_motion(tmp_path, 60, replicas=1)
    keys |= {"method": "trajectory_correlation", "variables": "coordinates", "fit": "name CA"}
    keys |= {"estimator": {"kind": "bspline", "surrogates": 0}, "select": "name CB"}
    made = Analysis(tmp_path, keys)
    made.pairs().network().tables()
    with np.load(made.out / "matrices.npz") as found:
        labels, mi = found["labels"].tolist(), found["mi_nats"]
        assert labels[:3] == ["A:MET1:x", "A:MET1:y", "A:MET1:z"]
        assert found["block_labels"].tolist() == [label[:-2] for label in labels[::3]]
        block = mi[3:6, 9:12]
        assert found["mi_block_sum"][1, 3] == pytest.approx(block.sum())
        assert found["mi_axis_sum"][1, 3] == pytest.approx(np.trace(block))
    positions = trajectory_correlation(
        keys["topology"],
        keys["trajectories"],
        select="name CB",
        fit="name CA",
        variables="positions",
        kind="bspline",
        surrogates=0,
    )
    np.testing.assert_allclose(
        positions.mi_nats, np.load(made.out / "matrices.npz")["mi_block_sum"]
    )
