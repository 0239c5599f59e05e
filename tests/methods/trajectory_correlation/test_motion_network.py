"""Rules that keep pairs of moving variables, against plain ones; contacts; what is said of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.io.networks.table import NetworkTable
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import KeepMotion
from pairtile.methods.trajectory_correlation.network import (
    EDGE_COLUMNS,
    candidate_q_values,
    dense_warnings,
    motion_network,
)
from pairtile.runtime.files import atomic_path, write_json
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.export import export
from pairtile.steps.network import write_network
from scipy.stats import false_discovery_control


def table(n: int = 12, signed: bool = False) -> pd.DataFrame:
    random = np.random.default_rng(3)
    i, j = np.triu_indices(n, 1)
    r = random.uniform(-1 if signed else 0, 1, i.size).round(2)
    return pd.DataFrame(
        {
            "i": i.astype(np.int32),
            "j": j.astype(np.int32),
            "mi_nats": np.full(i.size, np.nan) if signed else r,
            "correlation": r,
            "p_value": 0.5 * random.random(i.size) ** 3,
            "dcc": random.uniform(-1, 1, i.size),
        }
    )


def rule_of(keep: Any) -> Any:
    """``keep`` as the configuration reads it."""
    return KeepMotion.model_validate(keep)


def kept(pairs: pd.DataFrame, keep: Any, candidate: np.ndarray | None) -> pd.DataFrame:
    """The slow way: row by row, among the candidates."""
    few = pairs if candidate is None else pairs[candidate]
    few = few.assign(size=few["correlation"].abs())
    few = few.assign(q=false_discovery_control(few["p_value"]))
    few = few.sort_values(["size", "i", "j"], ascending=[False, True, True])
    rule, limit = (keep, None) if keep == "all" else next(iter(keep.items()))
    if rule == "p_value":
        few = few[few["p_value"] <= limit]
    elif rule == "fdr":
        few = few[few["q"] <= limit]
    elif rule == "correlation":
        few = few[few["size"] >= limit]
    elif rule == "top_edges":
        few = few.head(limit)
    return few


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("contacts", [False, True])
@pytest.mark.parametrize(
    "keep",
    ["all", {"p_value": 0.05}, {"fdr": 0.15}, {"correlation": 0.5}, {"top_edges": 7}],
    ids=str,
)
def test_edges_are_those_of_the_rule_strongest_first(
    keep: Any, contacts: bool, signed: bool
) -> None:
    pairs = table(signed=signed)
    candidate = np.random.default_rng(1).random(len(pairs)) < 0.4 if contacts else None
    found = motion_network(pairs, rule_of(keep), candidate)
    expected = kept(pairs, keep, candidate)
    assert len(expected)
    assert list(found.edges) == EDGE_COLUMNS
    for column, other in (("source", "i"), ("target", "j"), ("dcc", "dcc"), ("q_value", "q")):
        np.testing.assert_allclose(found.edges[column], expected[other])
    assert found.counts["edges"] == len(expected)
    assert found.counts["pairs_candidates"] == (candidate.sum() if contacts else len(pairs))
    assert found.threshold["least_correlation"] == expected["size"].min()
    assert not found.directed
    assert not found.warnings


@pytest.mark.parametrize("most", range(1, 17))
def test_the_strongest_are_cut_among_equals_and_before_missing_scores(most: int) -> None:
    scores = np.random.default_rng(6).permutation(np.repeat([0.5, -0.2, np.nan], 5))
    pairs = table(6).assign(correlation=scores, size=np.abs(scores))
    found = motion_network(pairs, rule_of({"top_edges": most})).edges
    expected = pairs.sort_values(["size", "i", "j"], ascending=[False, True, True]).head(most)
    assert found[["source", "target"]].values.tolist() == expected[["i", "j"]].values.tolist()


def test_without_p_values_strength_alone_keeps() -> None:
    pairs = table().assign(p_value=np.nan)
    found = motion_network(pairs, rule_of({"correlation": 0.5}))
    assert found.edges["q_value"].isna().all()
    assert len(found.edges) == (pairs["correlation"] >= 0.5).sum()
    assert len(motion_network(pairs, rule_of("all")).edges) == len(pairs)


def test_pairs_that_are_no_candidates_have_no_q_value() -> None:
    p = np.array([0.01, 0.02, np.nan, 0.5])
    q = candidate_q_values(p, np.array([True, False, True, True]))
    np.testing.assert_allclose(q, [0.02, np.nan, np.nan, 0.5])


@pytest.mark.parametrize("keep", [{"p_value": 1e-9}, {"fdr": 1e-9}, {"correlation": 1.0}], ids=str)
def test_an_empty_network_says_how_far_it_fell_short(keep: Any) -> None:
    pairs = table()
    pairs["correlation"] *= 0.9
    found = motion_network(pairs, rule_of(keep))
    assert found.edges.empty
    assert list(found.edges) == EDGE_COLUMNS
    [warning] = found.warnings
    assert f"{pairs['correlation'].max():.3g}" in warning


def test_no_contact_at_all_makes_an_empty_network() -> None:
    pairs = table()
    found = motion_network(pairs, rule_of({"p_value": 0.05}), np.zeros(len(pairs), dtype=bool))
    assert found.edges.empty
    assert found.counts["pairs_candidates"] == 0


def test_long_searches_for_communities_are_told_of_before() -> None:
    assert dense_warnings(1_999, ["girvan_newman"]) == []
    assert dense_warnings(10**6, ["leiden"]) == []
    [warning] = dense_warnings(10_000, ["leiden", "girvan_newman"])
    assert "10000 edges take of the order of 60 minutes" in warning
    [warning] = dense_warnings(30_000, ["girvan_newman"])
    assert "9 hours" in warning


def test_edges_without_mutual_information_are_worth_their_correlation() -> None:
    """Of ``kind: dcc``: formats that hold one number for an edge take the first that is known."""
    items = pd.DataFrame({"name": [f"A:ALA{k}" for k in range(12)], "kept": True})
    for signed, column in ((True, "correlation"), (False, "mi_nats")):
        edges = motion_network(table(signed=signed), rule_of("all")).edges
        for end in ("source", "target"):
            edges[end] = items["name"].to_numpy()[edges[end]]
        written = NetworkTable.build(edges, items, directed=False)
        assert (written.value_column, written.score_column) == (column, column)


@pytest.mark.parametrize("score", ["correlation", "correlation_centred"])
def test_exported_edges_weigh_what_the_network_was_made_by(
    tmp_path: Path, score: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrajectoryCorrelationConfig, "node_tables", {})
    pairs = table()
    pairs["correlation_centred"] = 1.0 - pairs["correlation"]  # the opposite order
    pairs["mi_nats"] = 3.0 * pairs["correlation"]
    made = motion_network(pairs, rule_of({"top_edges": 3}), score=score)
    items = pd.DataFrame({"name": [f"A:ALA{k}" for k in range(12)], "kept": True})
    network = tmp_path / "network.parquet"
    write_network(made, items, network, "pairtile.methods.trajectory_correlation")
    with atomic_path(tmp_path / "items.parquet") as temporary:
        items.to_parquet(temporary)
    details = {"directed": False, "ranked_by": {"score": made.score, "value": made.value}}
    write_json(tmp_path / "steps/network.json", {"details": details})
    config = TrajectoryCorrelationConfig(
        method="trajectory_correlation", time_series=("series.tsv",)
    )
    export(AnalysisRun("motions", config, tmp_path), "gexf")
    text = (tmp_path / "network.gexf").read_text(encoding="utf-8")
    weights = [float(w) for w in re.findall(r'weight="([^"]+)"', text)]
    np.testing.assert_allclose(sorted(weights), sorted(made.edges[score].abs()), rtol=1e-12)
    assert not np.allclose(sorted(weights), sorted(made.edges["mi_nats"]))
