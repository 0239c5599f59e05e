"""Spearman's rho of the predictors of a set with its target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile import predictor_edges, predictor_pairs
from scipy import stats
from workflow_runs import Analysis

FEW: dict[str, Any] = {"permutations": 0, "preprocess": {"log2": False, "min_samples": 5}}


def table(missing: float, ties: bool) -> pd.DataFrame:
    """Twelve genes over 40 samples; the first is constant."""
    random = np.random.default_rng(4)
    values = random.normal(size=(12, 40)).cumsum(axis=1)
    if ties:
        values = np.round(values)
        values[0] = 2.0
    values[random.random(values.shape) < missing] = np.nan
    return pd.DataFrame(values, index=[f"g{k:02d}" for k in range(12)])


def rho_of(values: pd.DataFrame, lag: int, predictor: str, target: str) -> float:
    """By scipy, of predictor values and target values ``lag`` samples later."""
    a = values.loc[predictor].to_numpy()[: values.shape[1] - lag]
    b = values.loc[target].to_numpy()[lag:]
    both = ~np.isnan(a + b)
    a, b = a[both], b[both]
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(stats.spearmanr(a, b).statistic)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cardinality", [1, 2, 3, 4])
@pytest.mark.parametrize("lag", [0, 1, 3])
@pytest.mark.parametrize(("missing", "ties"), [(0.0, False), (0.1, True)])
def test_rho_of_each_predictor_is_that_of_scipy(
    cardinality: int, lag: int, missing: float, ties: bool
) -> None:
    values = table(missing, ties)
    sets = predictor_pairs(values, lag=lag, cardinality=cardinality, top=3, **FEW)
    assert len(sets) == 36
    for row in sets.to_dict("records"):
        for k in range(1, cardinality + 1):
            wanted = rho_of(values, lag, row[f"predictor_{k}"], row["target"])
            assert row[f"spearman_{k}"] == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    assert f"spearman_{cardinality + 1}" not in sets
    edges = predictor_edges(sets)
    wanted = [
        rho_of(values, lag, s, t) for s, t in zip(edges["source"], edges["target"], strict=True)
    ]
    np.testing.assert_allclose(edges["spearman"], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("given", ["expression", "levels"])
def test_hyperedges_edges_and_regulons_have_the_sign(tmp_path: Path, given: str) -> None:
    values = table(0.0, False)
    values.loc["g05"] = -values.loc["g02"] + 0.01 * values.loc["g07"]
    if given == "levels":
        values = (values.gt(values.median(axis=1), axis=0)).astype(int)
    values.columns = [f"s{k}" for k in range(40)]
    values.to_csv(tmp_path / "table.tsv", sep="\t")
    section = {
        "method": "predictor_pairs",
        given: "table.tsv",
        "lag": 0,
        "null": {"permutations": 0},
        "export": ["tsv", "regulon"],
    }
    out = Analysis(tmp_path, section).all().out
    sets = pd.read_csv(out / "hyperedges.tsv", sep="\t")
    assert len(sets)
    for row in sets.to_dict("records"):
        for k in (1, 2):
            wanted = rho_of(values, 0, row[f"predictor_{k}"], row["target"])
            assert row[f"spearman_{k}"] == pytest.approx(wanted, abs=1e-12, nan_ok=True)
    regulon = pd.read_csv(out / "network.regulon.tsv", sep="\t").set_index(["source", "target"])
    assert regulon.loc[("g02", "g05"), "weight"] < -0.9
    network = pd.read_csv(out / "network.tsv", sep="\t").set_index(["source", "target"])
    assert (regulon["weight"] == network["spearman"].loc[regulon.index]).all()
