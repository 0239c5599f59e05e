"""Two states with replicas as the unit: moderated differences, their nulls, matched communities."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from motion_reports import analysis
from pairtile.methods.trajectory_correlation.two_states import (
    compare_states,
    matched_communities,
    moderated,
    relabellings,
    variance_prior,
)

pytestmark = pytest.mark.complete


def test_values_without_a_common_scatter_are_those_of_students_t() -> None:
    """With a prior that knows nothing, z is that of the two-sample test with pooled variance."""
    from scipy.stats import ttest_ind

    draw = np.random.default_rng(1)
    values = draw.normal(size=(7, 2))
    z, freedom = moderated(values, 3)  # two values: too few for a prior
    np.testing.assert_allclose(z, ttest_ind(values[:3], values[3:]).statistic, atol=1e-12)
    assert freedom == 5


@pytest.mark.parametrize("prior_freedom", [4.0, 30.0])
def test_the_prior_of_variances_is_found_again(prior_freedom: float) -> None:
    draw = np.random.default_rng(2)
    true = 0.3 * prior_freedom / draw.chisquare(prior_freedom, size=20_000)
    seen = true * draw.chisquare(3, size=20_000) / 3
    scale, freedom = variance_prior(seen, 3)
    assert scale == pytest.approx(0.3, rel=0.05)
    assert freedom == pytest.approx(prior_freedom, rel=0.15)


@pytest.mark.parametrize(("first", "second"), [(2, 2), (3, 3), (2, 4)])
def test_p_values_hold_where_states_are_one(first: int, second: int) -> None:
    draw = np.random.default_rng(3)
    shares = np.zeros((40, 2))
    for row in shares:
        scale = np.sqrt(6.0 / draw.chisquare(6, size=400))
        one, other = (draw.normal(size=(n, 400)) * scale for n in (first, second))
        found = compare_states(one, other, seed=1)
        row[:] = [(p <= 0.05).mean() for p in (found.p_value, found.p_permutation)]
        assert (found.q_value <= 0.05).sum() <= 2
    assert (np.abs(shares.mean(axis=0) - 0.05) < 0.015).all()


def test_values_that_differ_are_found() -> None:
    draw = np.random.default_rng(4)
    one, other = draw.normal(size=(2, 4, 1000))
    one[:, :50] += 6.0
    found = compare_states(one, other, seed=1)
    chosen = found.q_value <= 0.05
    assert chosen[:50].mean() > 0.9
    assert chosen[50:].sum() <= 6
    assert (found.z[:50] > 0).all()


def test_single_replicas_and_missing_values_are_not_tested() -> None:
    values = np.random.default_rng(5).normal(size=(3, 20))
    found = compare_states(values[:1], values, seed=1)
    assert np.isnan(found.q_value).all()
    values[0, 3] = np.nan
    found = compare_states(values, values + 1.0, seed=1)
    assert np.isnan(found.z[3])
    assert np.isfinite(np.delete(found.q_value, 3)).all()
    still = compare_states(np.ones((2, 5)), np.ones((2, 5)), seed=1)
    assert (still.z == 0).all()
    assert (still.p_value == 1).all()


def test_relabellings_are_all_others_or_a_sample() -> None:
    assert [g.tolist() for g in relabellings(2, 2, 1)] == [[0, 2], [0, 3]]
    found = {tuple(g) for g in relabellings(2, 3, 1)}
    assert found == set(combinations(range(5), 2)) - {(0, 1)}
    many = [tuple(g) for g in relabellings(8, 8, 1)]
    assert len(set(many)) == len(many) == 50
    assert all(0 in group and group != tuple(range(8)) for group in many)


def test_communities_of_two_states_get_the_numbers_of_those_they_share_most_with() -> None:
    first = np.array([1, 1, 1, 2, 2, 3, 0])
    second = np.array([2, 2, 2, 1, 3, 3, 0])
    assert matched_communities(first, second).tolist() == [1, 1, 1, 2, 3, 3, 0]
    split = np.array([1, 1, 2, 3, 3, 4, 0])
    assert matched_communities(first, split).tolist() == [1, 1, 4, 2, 2, 3, 0]
    assert matched_communities(first, np.zeros(7, dtype=int)).tolist() == [0] * 7


def test_two_states_of_a_molecule_through_the_workflow(tmp_path: Path) -> None:
    """The head of one chain moves with the other chain in one state, and by itself in the other."""
    from motion_reports import write_motion

    keys = {"estimator": {"kind": "gaussian", "surrogates": 4}, "paths": [], "page": False}
    keys |= {"g_correlation_text": False, "communities": ["leiden"]}
    keys["domains"] = {"HEAD": "chainID A and resid 1-3", "REST": "chainID A and resid 4-6"}
    for folder in ("open", "closed"):
        (tmp_path / folder).mkdir()
    closed = write_motion(tmp_path / "closed", 150, replicas=3)
    analysis(tmp_path, "other", **keys, **closed)
    opened = write_motion(tmp_path / "open", 150, replicas=3, loose=True)
    out = analysis(tmp_path, compare="other", **keys, **opened)
    table = pd.read_parquet(out / "difference.parquet").set_index(["source", "target"])
    assert not [c for c in table if "_replica_" in c]
    loose = table.loc[[("A:MET1", "A:LYS5"), ("A:ALA2", "A:TRP6")]]
    assert (loose["mi_z"] < -3).all()
    assert (loose["mi_q_value"] < 0.05).all()
    tight = table.loc[[("B:MET1", "B:LYS5"), ("A:LYS5", "A:TRP6")]]
    assert (tight["mi_q_value"] > 0.05).all()
    edges = pd.read_csv(out / "difference_network.tsv", sep="\t")
    assert (edges["mi_q_value"] <= 0.05).all()
    assert len(edges) == (table["mi_q_value"] <= 0.05).sum() > 0
    with np.load(out / "difference.npz") as found:
        np.testing.assert_array_equal(found["mi_z"], found["mi_z"].T)
    residues = pd.read_csv(out / "difference_residues.tsv", sep="\t").set_index("name")
    assert residues["q_value"].between(0, 1).all()
    contacts = pd.read_csv(out / "difference_contacts.tsv", sep="\t")
    assert contacts["contact"].between(0, 1).all()
    np.testing.assert_allclose(
        contacts["contact"] - contacts["contact_other"], contacts["contact_difference"], atol=1e-6
    )
    agreement = pd.read_csv(out / "difference_agreement.tsv", sep="\t").set_index("between")
    assert agreement.loc["replicas of both", "n_pairs"] == 9
    assert (agreement["agreement"] <= 1).all()
    communities = pd.read_csv(out / "difference_communities.tsv", sep="\t")
    assert {"name", "community", "community_other"} == set(communities)
    assert "load difference.pdb" in (out / "difference.pml").read_text()
    assert "open difference.pdb" in (out / "difference.cxc").read_text()
    domains = pd.read_csv(out / "difference_domains.tsv", sep="\t").set_index(["first", "second"])
    # Replica by replica, from the pairs themselves.
    head = [f"A:{name}" for name in ("MET1", "ALA2", "GLY3")]
    rest = [f"A:{name}" for name in ("SER4", "LYS5", "TRP6")]
    sizes = []
    for name in ("net", "other"):
        pairs = pd.read_parquet(out.parent / name / "pairs.parquet")
        named = pd.read_parquet(out.parent / name / "items.parquet")["name"]
        ends = named[pairs["i"]].isin(head).to_numpy(), named[pairs["j"]].isin(rest).to_numpy()
        mi = pairs.loc[ends[0] & ends[1], [f"mi_replica_{k}" for k in (1, 2, 3)]]
        sizes.append(np.sqrt(1 - np.exp(-2 * mi.clip(lower=0) / 3)).mean().to_numpy())
    found = domains.loc[("HEAD", "REST")]
    assert found["n_pairs"] == 9
    assert found["correlation_difference"] == pytest.approx(np.subtract(*sizes).mean(), rel=1e-5)
    middle = (found["low"] + found["high"]) / 2
    assert middle == pytest.approx(found["correlation_difference"], rel=1e-5)
    assert found["high"] < 0  # looser here
    same = domains.drop(index=("HEAD", "REST"))
    assert ((same["low"] < 0.1) & (same["high"] > -0.1)).all()
