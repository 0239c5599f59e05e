"""The exhaustive search for pairs against golden results and a known Boolean network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backends import both_backends
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs.search import PredictorSearch, SearchSettings


def read_levels(path: Path) -> Any:
    lines = path.read_text().splitlines()
    return np.array([line.split("\t")[1:] for line in lines], dtype=np.int8)


GOLDEN = [
    ("bool60__lag_q2_no_obs_a1", "bool60", "no_obs"),
    ("bool60__lag_q2_none", "bool60", "none"),
    ("bool60__lag_q2_none_self", "bool60", "none"),
    ("bool60__static_q2_none", "bool60", "none"),
    ("bool60noisy__lag_q2_no_obs_a1", "bool60noisy", "no_obs"),
    ("bool60noisy__lag_q2_none", "bool60noisy", "none"),
    ("pf3d7_200__lag_q2_no_obs_a1", "pf3d7_200.q2", "no_obs"),
    ("pf3d7_200__lag_q3_no_obs_a1", "pf3d7_200.q3", "no_obs"),
    ("pf3d7_200__lag_q3_none", "pf3d7_200.q3", "none"),
    ("pf3d7_200ext__lag_q3_no_obs_a1", "pf3d7_200.q3ext", "no_obs"),
]


@both_backends
@pytest.mark.parametrize(("name", "data", "penalty"), GOLDEN)
def test_best_agrees_with_golden_results(
    backend: str, name: str, data: str, penalty: str, shared: Path
) -> None:
    folder = shared / "golden" / "predictor_pairs"
    levels = read_levels(folder / f"{data}.data.tsv")
    predictors, targets = (levels, levels) if "static" in name else (levels[:, :-1], levels[:, 1:])
    n = len(levels)
    exclude = np.arange(n, dtype=np.int32)
    if name.endswith("self"):
        exclude[:] = -1
    settings = SearchSettings(levels=int(name.split("_q")[1][0]), penalty=penalty)
    best = PredictorSearch(predictors, settings, choose(backend)).best(targets, exclude, 0, n)
    golden = np.genfromtxt(folder / f"{name}.tsv", names=True)
    first = np.searchsorted(best.target, np.arange(n))
    np.testing.assert_array_equal(best.predictors[first].T, [golden["x1"], golden["x2"]])
    np.testing.assert_array_equal(best.n_ties[first], golden["n_ties"])
    np.testing.assert_allclose(best.mce_bits[first], golden["mce_bits"], rtol=0, atol=1e-9)
    if (folder / f"{name}.npz").exists():
        all_ten = np.load(folder / f"{name}.npz")
        np.testing.assert_array_equal(best.predictors.reshape(n, 10, 2), all_ten["top_pairs"])
        np.testing.assert_allclose(
            best.mce_bits.reshape(n, 10), all_ten["top_mce"], rtol=0, atol=1e-9
        )


@both_backends
def test_the_true_pairs_of_a_boolean_network_come_out(backend: str, shared: Path) -> None:
    """At least 58 of 60 exact best pairs, 60 in the top 10, all XOR targets."""
    folder = shared / "golden" / "predictor_pairs"
    levels = read_levels(folder / "bool60.data.tsv")
    truth = np.genfromtxt(folder / "bool60.truth.tsv", names=True, dtype=None, encoding="utf-8")
    search = PredictorSearch(levels[:, :-1], SearchSettings(levels=2), choose(backend))
    best = search.best(levels[:, 1:], np.arange(60, dtype=np.int32), 0, 60)
    pairs = best.predictors.reshape(60, 10, 2)
    hits = (pairs == np.stack([truth["x1"], truth["x2"]], axis=1)[:, None]).all(axis=2)
    assert hits[:, 0].sum() >= 58
    assert hits.any(axis=1).all()
    assert hits[np.char.find(truth["function"], "XN") >= 0, 0].all()
    assert hits[truth["function"] == "XOR", 0].all()
