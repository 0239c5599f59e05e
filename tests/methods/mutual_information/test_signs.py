"""Spearman's rho and the mode of edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile import infer_network
from pairtile.methods.mutual_information.signs import modes
from pairtile.statistics import ranks
from pairtile.statistics.ranks import spearman
from scipy import stats

N = 120


def related(shape: str, random: np.random.Generator, pairs: int = 30) -> NDArray[np.float64]:
    """Genes, each followed by one that depends on it."""
    x, noise = random.normal(size=(2, pairs, N))
    y = {
        "up": x + 0.7 * noise,
        "down": -np.exp(x) + 0.7 * noise,
        "parabola": x**2 + 0.5 * noise,
        "wave": np.sin(3 * x) + 0.2 * noise,
    }[shape]
    return np.stack([x, y], axis=1).reshape(2 * pairs, N)


@pytest.mark.parametrize("block", [130, 1 << 18])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_rho_is_that_of_scipy(missing: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "_BLOCK_VALUES", block)
    random = np.random.default_rng(1)
    z = np.round(random.normal(size=(12, 60)), 1)  # ties
    z[0] = 7.0
    z[random.random(z.shape) < missing] = np.nan
    i, j = np.triu_indices(12, 1)
    found = spearman(z, i, z, j)
    for a, b, rho in zip(i, j, found, strict=True):
        shared = ~np.isnan(z[a] + z[b])
        if a == 0:
            assert np.isnan(rho)
        else:
            expected = stats.spearmanr(z[a][shared], z[b][shared]).statistic
            assert rho == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("shape", "mode"),
    [
        ("up", "activation"),
        ("down", "repression"),
        ("parabola", "non-monotonic"),
        ("wave", "non-monotonic"),
    ],
)
def test_modes_are_those_of_the_relation(shape: str, mode: str) -> None:
    values = related(shape, np.random.default_rng(2))
    how: dict[str, Any] = {"score": "mi", "keep": {"fdr": 0.05}, "dpi": False, "backend": "cpu"}
    network = infer_network(values, bins=6, **how)  # so fine a wave is blurred by fewer
    true = network[network["target"] - network["source"] == 1]
    true = true[true["source"] % 2 == 0]
    assert len(true) > 25
    assert (true["mode"] == mode).mean() > 0.9
    expected = [
        stats.spearmanr(values[a], values[b]).statistic
        for a, b in zip(true["source"], true["target"], strict=True)
    ]
    np.testing.assert_allclose(true["spearman"], expected, atol=1e-12)


def test_what_is_not_known_has_no_mode() -> None:
    rho = np.array([np.nan, 1.0, -1.0, 0.0])
    bits = np.array([0.1, 3.0, 3.0, 0.5])
    found = modes(rho, bits, np.zeros(4))
    assert found.tolist() == [None, "activation", "repression", "non-monotonic"]


def test_edges_of_a_directed_network_have_one_sign_in_both_directions() -> None:
    values = related("down", np.random.default_rng(3))
    frame = pd.DataFrame(values, index=[f"g{k}" for k in range(len(values))])
    network = infer_network(frame, list(frame.index), score="target_z", keep={"fdr": 0.05})
    sign = {(a, b): rho for a, b, rho in network[["source", "target", "spearman"]].to_numpy()}
    both = [pair for pair in sign if pair[::-1] in sign]
    assert both
    assert all(sign[pair] == pytest.approx(sign[pair[::-1]], abs=1e-12) for pair in both)
