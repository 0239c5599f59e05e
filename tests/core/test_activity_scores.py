"""Activity of regulators: equal to decoupler's, whatever the form and the blocks of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pairtile.downstream import activity_scores
from pairtile.downstream.activity import weighted_edges
from pairtile.downstream.activity_scores import (
    Regulons,
    gene_scale,
    univariate_linear_model,
    viper,
)
from scipy import sparse

GENES, SAMPLES, REGULATORS = 300, 25, 9


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def regulons(rng: np.random.Generator) -> Regulons:
    there = rng.random((REGULATORS, GENES)) < 0.1
    weights = np.where(there, rng.uniform(-1, 1, there.shape), 0.0)
    names = [f"r{k}" for k in range(REGULATORS)]
    return Regulons(names, sparse.csr_array(weights), sparse.csr_array(there.astype(float)))


def by_decoupler(method: str, values: np.ndarray, of: Regulons, **options: object) -> np.ndarray:
    genes, samples = (
        [f"{kind}{k:03d}" for k in range(n)] for kind, n in zip("gs", values.shape, strict=True)
    )
    import decoupler  # for this file alone, seconds of every worker

    edges = of.weights.tocoo()
    source, target = edges.coords
    net = pd.DataFrame(
        {
            "source": [of.names[k] for k in source],
            "target": [genes[k] for k in target],
            "weight": edges.data,
        }
    )
    table = pd.DataFrame(values.T, index=samples, columns=genes)
    found, _ = getattr(decoupler.mt, method)(table, net, tmin=0, **options)
    return found.loc[samples, of.names].to_numpy().T


@pytest.mark.parametrize("kind", ["normal", "counts"])
def test_ulm_and_viper_are_those_of_decoupler(
    rng: np.random.Generator, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity_scores, "_BLOCK_VALUES", 7 * GENES)  # several blocks
    of = regulons(rng)
    shape = (GENES, SAMPLES)
    values = 8 + 3 * rng.standard_normal(shape) if kind == "normal" else rng.poisson(0.7, shape)
    values = values.astype(float)
    assert (values.sum(axis=1) > 0).all()  # decoupler leaves out genes of zeros
    scaled = (values - values.mean(axis=1, keepdims=True)) / values.std(1, ddof=1, keepdims=True)
    for table in (values, sparse.csr_array(values)):
        scale = gene_scale(table)
        for ours, peer, options in (
            (univariate_linear_model, "ulm", {}),
            (viper, "viper", {"pleiotropy": False}),
        ):
            plain = by_decoupler(peer, values, of, **options)
            np.testing.assert_allclose(ours(table, of), plain, rtol=0, atol=1e-9)
            if peer == "ulm":
                expected = by_decoupler(peer, scaled, of)
                np.testing.assert_allclose(ours(table, of, scale), expected, rtol=0, atol=1e-9)


def test_viper_takes_likelihoods_as_its_authors_do(rng: np.random.Generator) -> None:
    from decoupler.mt._viper import _aREA

    of = regulons(rng)
    likelihood = of.likelihood.toarray() * rng.uniform(0.05, 1, of.likelihood.shape)
    values = rng.standard_normal((GENES, SAMPLES))
    expected = _aREA(values.T, of.weights.toarray().T, likelihood.T).T
    found = viper(values, of._replace(likelihood=sparse.csr_array(likelihood)))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_missing_values_are_left_out_of_their_sample(rng: np.random.Generator) -> None:
    of = regulons(rng)
    values = rng.standard_normal((GENES, 3))
    missing = rng.random(GENES) < 0.2
    values[missing, 1] = np.nan
    found = univariate_linear_model(values, of)
    kept = Regulons(of.names, of.weights[:, ~missing], of.likelihood[:, ~missing])
    np.testing.assert_allclose(found[:, 1], univariate_linear_model(values[~missing], kept)[:, 1])
    whole = univariate_linear_model(np.delete(values, 1, axis=1), of)
    np.testing.assert_allclose(found[:, [0, 2]], whole)
    assert np.isfinite(viper(values, of)).all()


def test_activity_is_found_where_targets_move(rng: np.random.Generator) -> None:
    of = regulons(rng)
    truth = rng.standard_normal((REGULATORS, 60))
    values = of.weights.toarray().T @ truth + 0.5 * rng.standard_normal((GENES, 60))
    for method in (univariate_linear_model, viper):
        found = method(values, of, gene_scale(values))
        assert min(np.corrcoef(a, b)[0, 1] for a, b in zip(found, truth, strict=True)) > 0.9


def test_a_weight_without_signs_does_not_hide_them() -> None:
    """Modes have a weight, too: their share of the samples."""
    edges = pd.DataFrame({"source": "tf", "target": ["a", "b"], "correlation": [0.9, -0.8]})
    assert weighted_edges(edges.assign(weight=[0.4, 0.6]))["weight"].tolist() == [0.9, -0.8]
    assert weighted_edges(edges.assign(weight=[0.4, -0.6]))["weight"].tolist() == [0.4, -0.6]
    positive = edges.assign(correlation=edges["correlation"].abs(), weight=[0.4, 0.6])
    assert weighted_edges(positive)["weight"].tolist() == [0.4, 0.6]
