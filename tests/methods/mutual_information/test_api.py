"""``pairtile.mutual_information`` and its null: one answer for arrays, DataFrames and AnnData."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mutual_information import naive_mi_matrix
from pairtile import (
    mutual_information,
    permutation_null,
    prepare_expression,
    simulate_kinetic,
)
from pairtile.methods.mutual_information.prepare import floor_share


@pytest.fixture(autouse=True)
def _on_the_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """``backend: auto`` is the CPU here: scores of the GPU in mixed precision are rounded."""
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setattr("pairtile.gpu.device._cuda_problem", lambda: "not in this test")


GENES = [f"gene{k}" for k in range(7)]
SAMPLES = [f"sample{k}" for k in range(40)]


@pytest.fixture
def values() -> np.ndarray:
    random = np.random.default_rng(3)
    values = random.normal(size=(7, 40))
    values[1] += 2 * values[0]
    values[5] = 4.0  # constant
    return values


@pytest.fixture
def holed(values: np.ndarray) -> np.ndarray:
    """With missing values: gene 2 shares 15 samples with gene 3, gene 6 has none."""
    values[2, :15] = np.nan
    values[3, 30:] = np.nan
    values[6] = np.nan
    return values


@pytest.mark.parametrize(("bins", "order", "knots"), [(10, 3, "clamped"), (6, 2, "uniform")])
def test_matrix_is_the_definition_of_mutual_information(
    values: np.ndarray, bins: int, order: int, knots: str
) -> None:
    found = mutual_information(
        values, bins=bins, order=order, knots=knots, transform="none", backend="cpu"
    )
    expected = naive_mi_matrix(values, bins, order, knots == "uniform")
    off_diagonal = ~np.eye(7, dtype=bool)
    np.testing.assert_allclose(found[off_diagonal], expected[off_diagonal], atol=1e-10)
    assert np.isnan(np.diag(found)).all()


def test_every_kind_of_input_gives_the_same_scores(holed: np.ndarray) -> None:
    frame = pd.DataFrame(holed, index=GENES, columns=SAMPLES)
    adata = anndata.AnnData(frame.T, layers={"twice": 2 * frame.T})
    plain = mutual_information(holed)
    assert isinstance(plain, np.ndarray)
    for named in (
        mutual_information(frame),
        mutual_information(frame.T, orientation="samples_in_rows"),
        mutual_information(frame.astype("Float64")),
        mutual_information(adata),
        mutual_information(adata, layer="twice"),
    ):
        assert list(named.index) == list(named.columns) == GENES
        np.testing.assert_array_equal(named, plain)
    lists = holed.T.tolist()
    np.testing.assert_array_equal(mutual_information(lists, orientation="samples_in_rows"), plain)
    masked = np.ma.masked_invalid(holed)
    np.testing.assert_array_equal(mutual_information(masked), plain)
    np.testing.assert_array_equal(mutual_information(holed.tolist()), plain)
    np.testing.assert_array_equal(mutual_information(np.asfortranarray(holed)), plain)


@pytest.mark.parametrize("matrix", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
def test_an_anndata_on_disk_is_as_in_memory(
    values: np.ndarray, tmp_path: Path, matrix: Any
) -> None:
    adata = anndata.AnnData(matrix(np.where(values > 0.5, values, 0.0).T))
    adata.raw = adata
    adata.write_h5ad(tmp_path / "cells.h5ad")
    on_disk = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for layer in ("X", "raw"):
        found = mutual_information(on_disk, layer=layer)
        np.testing.assert_array_equal(found, mutual_information(adata, layer=layer))
    half = mutual_information(on_disk[:30])
    np.testing.assert_array_equal(half, mutual_information(adata[:30].copy()))


def test_labels_are_taken_from_any_array_of_pandas(values: np.ndarray) -> None:
    numbers = np.arange(40) % 2
    expected = permutation_null(values, permutations=100, batch=numbers)
    for labels in (pd.Categorical(numbers), pd.array(numbers, dtype="Int64")):
        found = permutation_null(values, permutations=100, batch=labels)
        assert found.threshold_bits(0.05) == expected.threshold_bits(0.05)
    with pytest.raises(ValueError, match="expected a label for each"):
        permutation_null(values, batch=pd.DataFrame(numbers))


def test_sparse_zeros_are_values_not_gaps(values: np.ndarray) -> None:
    counts = np.where(values > 0.5, values, 0.0)
    expected = mutual_information(counts)
    np.testing.assert_array_equal(mutual_information(scipy.sparse.csr_array(counts)), expected)
    adata = anndata.AnnData(scipy.sparse.csr_matrix(counts.T))
    np.testing.assert_array_equal(mutual_information(adata), expected)


def test_results_of_readers_and_simulation_are_taken_as_they_are() -> None:
    simulated = simulate_kinetic(n_genes=12, n_samples=60)
    found = mutual_information(simulated)
    assert list(found.index) == simulated.genes
    prepared = prepare_expression(simulated, log2=True)
    # A logarithm changes no rank.
    pd.testing.assert_frame_equal(mutual_information(prepared), found)


def test_result_is_stored_in_varp_of_an_anndata(values: np.ndarray) -> None:
    adata = anndata.AnnData(values.T)
    assert mutual_information(adata, bins=6, key_added="mi") is None
    np.testing.assert_array_equal(adata.varp["mi"], mutual_information(values, bins=6))
    assert adata.uns["mi"]["params"]["bins"] == 6


def test_regulators_give_their_rows_in_the_order_given(holed: np.ndarray) -> None:
    every = mutual_information(holed)
    np.testing.assert_allclose(mutual_information(holed, regulators=[4, 0]), every[[4, 0]])
    mask = np.isin(np.arange(7), [0, 4])
    np.testing.assert_allclose(mutual_information(holed, regulators=mask), every[[0, 4]])
    frame = pd.DataFrame(holed, index=GENES)
    named = mutual_information(frame, regulators=["gene4", "gene0"])
    assert list(named.index) == ["gene4", "gene0"]
    np.testing.assert_allclose(named, every[[4, 0]])


def test_regulators_that_are_not_there_are_left_out_with_a_warning(values: np.ndarray) -> None:
    frame = pd.DataFrame(values, index=GENES)
    with pytest.warns(UserWarning, match="1 of 2 regulators .*nobody"):
        found = mutual_information(frame, regulators=["gene1", "nobody"])
    assert list(found.index) == ["gene1"]


def test_two_tables_of_the_same_samples_are_scored_against_each_other(values: np.ndarray) -> None:
    every = mutual_information(values)
    np.testing.assert_allclose(mutual_information(values[:3], other=values[3:]), every[:3, 3:])
    frame = pd.DataFrame(values, index=GENES, columns=SAMPLES)
    named = mutual_information(frame.iloc[:3], other=frame.iloc[3:])
    assert (list(named.index), list(named.columns)) == (GENES[:3], GENES[3:])


def test_pairs_of_too_few_common_samples_have_no_score(holed: np.ndarray) -> None:
    found = mutual_information(holed, min_samples=16)
    assert np.isnan(found[2, 3])  # 15 samples in common
    assert np.isnan(found[6]).all()
    assert not np.isnan(found[2, [0, 1, 4, 5]]).any()
    assert not np.isnan(mutual_information(holed, min_samples=15)[2, 3])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), bins=st.integers(1, 8), order=st.integers(1, 4))
def test_scores_are_symmetric_bounded_and_blind_to_monotone_changes(
    seed: int, bins: int, order: int
) -> None:
    order = min(order, bins)
    values = np.random.default_rng(seed).normal(size=(4, 25))
    found = mutual_information(values, bins=bins, order=order, backend="cpu")
    scores = found[~np.isnan(found)]
    np.testing.assert_array_equal(found, found.T)
    assert (scores >= 0).all()
    assert (scores <= np.log2(bins) + 1e-9).all()
    changed = mutual_information(np.exp(values), bins=bins, order=order, backend="cpu")
    np.testing.assert_array_equal(changed, found)


def test_input_is_not_changed(holed: np.ndarray) -> None:
    before = holed.copy()
    mutual_information(holed, transform="none")
    np.testing.assert_array_equal(holed, before)


TABLE = np.random.default_rng(0).normal(size=(4, 30))
FRAME = pd.DataFrame(TABLE, index=list("abcd"))


@pytest.mark.parametrize(
    ("expression", "arguments", "message"),
    [
        (TABLE[0], {}, r"expression: found shape \(30,\); expected \(genes, samples\)"),
        (TABLE[None], {}, "expression: found shape"),
        ([["a", "b"], ["c", "d"]], {}, "expression: found no table of numbers"),
        ("expression.tsv", {}, r"expression: found a path; .* \(read_expression reads files\)"),
        (FRAME, {"obs": np.ones(30, bool)}, "obs: found array.*expected a mapping from columns"),
        (TABLE + 1j, {}, "values of type complex128"),
        (pd.DataFrame(TABLE + 1j), {}, "values of type complex128"),
        (TABLE.astype("M8[D]"), {}, "values of type datetime64"),
        (pd.DataFrame(TABLE.astype("m8[s]")), {}, "values of type timedelta64"),
        (FRAME.set_axis(["a", np.nan, "c", "d"]), {}, "found 1 gene without a name"),
        (FRAME.T.set_axis(["", *range(29)]).T, {}, "found 1 sample without a name"),
        (TABLE[:1], {}, "found 1 genes and 30 samples; expected at least 2 genes and 3 samples"),
        (TABLE[:, :2], {}, "is it the other way round"),
        (TABLE[:, :10], {}, r"found 10 samples; expected at least min_samples \(20\)"),
        (np.where(TABLE[1, 2] == TABLE, np.inf, TABLE), {}, "gene '1', sample '2': found inf"),
        (FRAME.iloc[[0, 1, 1]], {}, "'b' 2 times"),
        (FRAME, {"regulators": ["x", "y"]}, r"found none of its 2 names \(x, y\) among the 4 gen"),
        (FRAME, {"regulators": "a"}, "found the string 'a'; expected a list"),
        (FRAME, {"regulators": []}, "regulators: found none; expected at least one"),
        (TABLE, {"regulators": [4]}, "found gene 4; expected numbers from 0 to 3"),
        (TABLE, {"regulators": [-1]}, "found gene -1"),
        (TABLE, {"regulators": ["a"]}, "expected gene numbers, since the genes have no names"),
        (TABLE, {"regulators": [True, False]}, "found a mask of 2; expected one of 4 genes"),
        (TABLE, {"other": TABLE[:, :25]}, "other: found 25 samples; expected the 30"),
        (FRAME, {"other": FRAME.iloc[:, ::-1]}, "other: sample 0: found 29; expected 0"),
        (TABLE, {"other": TABLE, "regulators": [0]}, "regulators: found them beside other"),
        (TABLE, {"bins": 4, "order": 5}, r"order: found 5; expected an integer between 1 and bins"),
        (TABLE, {"backend": "gpu"}, "backend: found 'gpu'; expected auto, cpu or cuda"),
        (TABLE, {"backend": "both"}, "backend: found 'both'; expected auto, cpu or cuda"),
        (TABLE, {"layer": "raw"}, "layer: found 'raw'; expected None, since expression is no AnnD"),
        (
            anndata.AnnData(TABLE.T),
            {"layer": "raw"},
            r"found no layer 'raw'; expected one of its la",
        ),
        (TABLE, {"key_added": "mi"}, "key_added: found 'mi'; expected it only with an AnnData"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_clear_words(
    expression: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        mutual_information(expression, **arguments)


def test_a_matrix_of_float32_is_the_other_one_rounded(holed: np.ndarray) -> None:
    frame = pd.DataFrame(holed, index=GENES)
    found = mutual_information(frame, dtype="float32")
    assert (found.dtypes == np.float32).all()
    np.testing.assert_array_equal(found, mutual_information(frame).astype(np.float32))
    with pytest.raises(ValueError, match="dtype: found 'int8'"):
        mutual_information(frame, dtype="int8")


@both_backends
def test_both_triangles_of_several_tiles_hold_the_same(backend: str) -> None:
    """Written by several threads, from the GPU's memory by copies that it makes itself."""
    random = np.random.default_rng(5)
    values = random.normal(size=(1300, 24))
    values[random.random(values.shape) < 0.1] = np.nan
    how = {"bins": 4, "order": 2, "transform": "none", "backend": backend, "min_samples": 18}
    found = mutual_information(values, **how)
    np.testing.assert_array_equal(found, found.T)
    assert np.isnan(np.diag(found)).all()
    some = random.choice(1300, 12, replace=False)
    few = mutual_information(values[some], **how)
    np.testing.assert_allclose(found[np.ix_(some, some)], few, atol=1e-6)
    assert 0 < np.isnan(few).sum() - 12 < few.size - 12
    between = mutual_information(values[:1030], other=values[1030:], **how)
    np.testing.assert_allclose(between, found[:1030, 1030:], atol=1e-6)


def test_the_share_of_the_most_common_value_is_that_of_the_median_gene() -> None:
    random = np.random.default_rng(6)
    values = random.poisson(1.0, size=(2500, 9)).astype(float)
    values[random.random(values.shape) < 0.4] = np.nan
    values[4] = np.nan
    known = [row[~np.isnan(row)] for row in values[::2]]
    shares = [np.unique(row, return_counts=True)[1].max() / row.size for row in known if row.size]
    assert floor_share(values) == np.median(shares)
    assert floor_share(values[4:5]) == 0.0


@pytest.mark.gpu
def test_gpu_agrees_with_cpu(holed: np.ndarray) -> None:
    on_cpu = mutual_information(holed, backend="cpu")
    exact = mutual_information(holed, backend="cuda", precision="float64")
    np.testing.assert_allclose(exact, on_cpu, atol=1e-10)
    mixed = mutual_information(holed, backend="cuda", precision="mixed")
    np.testing.assert_allclose(mixed, on_cpu, atol=1e-4)


QUICK = {"permutations": 10_000}


def unrelated(genes: int = 60, samples: int = 50, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(genes, samples))


def test_labels_tell_which_genes_are_meant() -> None:
    values = unrelated(8)
    values[3, :20] = np.nan
    frame = pd.DataFrame(values, index=list("abcdefgh"))
    null = permutation_null(frame, **QUICK)
    mi = mutual_information(frame)
    every = null.p_value(mi)
    some = null.p_value(mi.loc[["d", "b"], ["c", "h", "d"]])
    pd.testing.assert_frame_equal(some, every.loc[["d", "b"], ["c", "h", "d"]])
    assert np.isnan(some.loc["d", "d"])
    i, j = np.triu_indices(8, 1)
    of_pairs = null.p_value(mi.to_numpy()[i, j], i=i, j=j)
    np.testing.assert_array_equal(of_pairs, every.to_numpy()[i, j])
    np.testing.assert_array_equal(
        null.p_value(
            mi.to_numpy()[i, j], i=i, j=j, n_samples=np.where((i == 3) | (j == 3), 30, 50)
        ),
        of_pairs,
    )


def test_whole_matrix_is_tested_in_blocks_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = unrelated(30)
    values[:5, :10] = np.nan
    null = permutation_null(values, **QUICK)
    mi = mutual_information(values)
    whole = null.p_value(mi)
    monkeypatch.setattr("pairtile.methods.mutual_information.api.BLOCK", 64)
    np.testing.assert_array_equal(null.p_value(mi), whole)
    i, j = np.triu_indices(30, 1)
    np.testing.assert_array_equal(null.p_value(mi[i, j], i=i, j=j), whole[i, j])


def test_raw_values_with_outliers_get_classes_of_their_own() -> None:
    values = unrelated(40)
    values[20:, 0] = 1000.0
    null = permutation_null(values, transform="none", **QUICK)
    assert len(set(null.classes)) > 1
    mi = mutual_information(values, transform="none")
    assert null.p_value(mi).shape == (40, 40)
    with pytest.raises(ValueError, match=r"expected \(40, 40\), or i and j"):
        null.p_value(mi[0])


def test_threshold_separates_the_p_values() -> None:
    values = unrelated()
    null = permutation_null(values, **QUICK)
    for p in (0.5, 0.01, 1e-6):
        limit = null.threshold_bits(p)
        assert limit.shape == (1, 1)
        assert null.p_value(limit * (1 + 1e-6))[0, 0] <= p < null.p_value(limit * 0.999)[0, 0]
    assert null.extrapolated(null.threshold_bits(1e-6)).all()
    assert not null.extrapolated(null.threshold_bits(0.01) * 0.99).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"i": [0]}, "found only one of i and j"),
        ({"i": [0.5], "j": [1]}, "i, j: found type float64; expected gene numbers"),
        ({"i": [0], "j": [10]}, "genes that are not among the 10"),
    ],
)
def test_genes_that_are_not_of_the_null_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    null = permutation_null(unrelated(10), **QUICK)
    with pytest.raises(ValueError, match=message):
        null.p_value([0.1], **arguments)


def test_impossible_settings_are_refused() -> None:
    values = unrelated(10)
    with pytest.raises(ValueError, match="permutations: found 10; expected"):
        permutation_null(values, permutations=10)
    with pytest.raises(ValueError, match="seed: found -1; expected"):
        permutation_null(values, seed=-1)
    with pytest.raises(ValueError, match="p: found 0; expected"):
        permutation_null(values, **QUICK).threshold_bits(0)
    values[:, 15:] = np.nan
    with pytest.raises(ValueError, match="found no two genes with 20 samples in common"):
        permutation_null(values, **QUICK)
