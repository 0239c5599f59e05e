"""Motion of the whole: distance from the first frame, and principal components."""

from __future__ import annotations

import numpy as np
import pytest
from pairtile.methods.trajectory_correlation import tables
from pairtile.methods.trajectory_correlation.tables import frames_table
from trajectory_analyses import slow


def state(frames: int = 300, n: int = 7) -> dict[str, np.ndarray]:
    series = np.moveaxis(slow(frames, n, 3), 0, 2).copy()
    series[2:4, 0] += 5.0 * np.sin(np.arange(frames) / 40.0)
    series += np.arange(n)[:, None, None]
    offsets = np.array([0, 120, frames])
    return {"series": series, "replica_offsets": offsets, "frame_interval_ps": np.array([10.0, 5])}


@pytest.mark.parametrize("block", [1 << 23, 100])
def test_frames_agree_with_plain_formulas(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BLOCK_VALUES", block)
    given = state()
    table, shares = frames_table(given)
    flat = given["series"].reshape(21, -1).T
    left, size, right = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(shares, size[:2] ** 2 / (size**2).sum(), rtol=1e-10)
    for k in range(2):
        sign = np.sign(right[k][np.abs(right[k]).argmax()])
        np.testing.assert_allclose(table[f"pc{k + 1}"], left[:, k] * size[k] * sign, atol=1e-9)
    moved = given["series"] - given["series"][:, :, :1]
    np.testing.assert_allclose(table["rmsd"], np.sqrt((moved**2).sum(axis=1).mean(axis=0)))
    assert table["replica"].tolist() == [1] * 120 + [2] * 180
    assert table["time_ps"].iloc[[119, 120, 121]].tolist() == [1190.0, 0.0, 5.0]
    assert shares[0] > 0.3


def test_too_many_coordinates_have_no_components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_COORDINATES", 20)
    table, shares = frames_table(state())
    assert np.isnan(shares).all()
    assert table["pc1"].isna().all()
    assert (table["rmsd"].iloc[1:] > 0).all()
