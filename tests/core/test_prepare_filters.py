"""Filters and their account: what is dropped is listed, what is kept comes first."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pairtile.declare.messages import Message
from pairtile.errors import InputError
from pairtile.preprocess.statistics import row_statistics
from prepared_tables import prepare_expression, table

NAN = np.nan


MIXED = [
    [1, 2, 3, 4],  # g0 kept
    [5, NAN, NAN, 6],  # g1 observed twice
    [7, 7, NAN, 7],  # g2 constant
    [4, 3, 2, 1],  # g3 kept
    [NAN, NAN, NAN, NAN],  # g4 never observed
]


def test_dropped_genes_stand_after_the_kept_ones_with_their_reason() -> None:
    prepared = prepare_expression(
        table(MIXED), {"log2": False, "min_samples": 3, "drop_constant": True}
    )
    items = prepared.items
    assert items["name"].tolist() == ["g0", "g3", "g1", "g2", "g4"]
    assert items["kept"].tolist() == [True, True, False, False, False]
    few = "too few samples"
    assert items["reason"].tolist() == ["", "", few, "constant", few]
    assert items["item"].tolist() == [0, 1, 2, 3, 4]
    assert items["n_observed"].tolist() == [4, 4, 2, 3, 0]
    assert items["n_missing_input"].tolist() == [0, 0, 2, 1, 4]
    assert items["constant"].tolist() == [False, False, False, True, False]
    assert prepared.genes == ["g0", "g3"]
    np.testing.assert_array_equal(prepared.values, [MIXED[0], MIXED[3]])
    assert prepared.counts == {
        "genes_read": 5,
        "genes_kept": 2,
        "genes_dropped_too_few_samples": 2,
        "genes_dropped_constant": 1,
        "genes_constant": 0,
        "samples": 4,
        "values_missing_in_input": 7,
        "zeros_to_missing": 0,
        "values_missing": 0,
    }
    assert "2 of 5 genes were dropped: too few samples." in prepared.warnings
    assert "1 of 5 genes were dropped: constant." in prepared.warnings


def test_constant_genes_are_kept_and_counted_unless_dropping_is_asked_for() -> None:
    prepared = prepare_expression(table(MIXED), {"log2": False, "min_samples": 3})
    assert prepared.genes == ["g0", "g2", "g3"]
    assert prepared.counts["genes_constant"] == 1
    assert prepared.items["constant"].tolist() == [False, True, False, False, False]
    numbers = {m.code: m.numbers for m in prepared.messages if isinstance(m, Message)}
    assert numbers["genes_constant"] == {"n": 1}


def test_genes_emptied_by_zeros_under_log2_are_dropped() -> None:
    values = [[0, 0, 0, 900], [512, 2, 4, 8], [1, 512, 4, 8]]
    prepared = prepare_expression(table(values), {"min_samples": 2, "pseudocount": 0})
    assert prepared.genes == ["g1", "g2"]
    assert prepared.items["n_zeros_to_missing"].tolist() == [0, 0, 3]
    with_pseudocount = prepare_expression(table(values), {"min_samples": 2})
    assert with_pseudocount.genes == ["g0", "g1", "g2"]


@pytest.mark.parametrize("normalize", ["quantile", "zscore"])
def test_a_constant_gene_is_dropped_though_normalisation_would_vary_it(normalize: str) -> None:
    values = [[1, 2, 9], [5, 5, 5], [9, 3, 2], [4, 8, 3]]
    section = {"log2": False, "min_samples": 1, "normalize": normalize}
    prepared = prepare_expression(table(values), {**section, "drop_constant": True})
    assert prepared.genes == ["g0", "g2", "g3"]
    # It does not take part in the normalisation of the others either.
    alone = prepare_expression(table([values[k] for k in (0, 2, 3)]), section)
    np.testing.assert_array_equal(prepared.values, alone.values)


def test_a_gene_that_quantile_normalisation_makes_constant_is_dropped_too() -> None:
    values = [[1, 11, 21], [2, 13, 22], [3, 12, 23]]
    section = {"log2": False, "min_samples": 1, "normalize": "quantile"}
    assert prepare_expression(table(values), section).counts["genes_constant"] == 1
    prepared = prepare_expression(table(values), {**section, "drop_constant": True})
    assert prepared.genes == ["g1", "g2"]
    assert prepared.values.shape == (2, 3)


def test_fewer_samples_than_min_samples_names_the_key() -> None:
    with pytest.raises(
        InputError,
        match=re.escape("t.tsv: found 4 samples; expected at least preprocess.min_samples (20)"),
    ):
        prepare_expression(table(MIXED))


@pytest.mark.parametrize("n_left", [0, 1])
def test_nothing_left_to_pair_is_an_error_with_the_reasons(n_left: int) -> None:
    values = MIXED[1:3] + MIXED[:1] * n_left
    with pytest.raises(InputError, match=f"{n_left} of {len(values)} genes left") as error:
        prepare_expression(table(values), {"min_samples": 3, "drop_constant": True, "log2": False})
    assert "1 too few samples, 1 constant" in str(error.value)
    assert "preprocess.min_samples is 3" in str(error.value)


def test_samples_without_any_value_are_warned_of() -> None:
    prepared = prepare_expression(
        table([[1, NAN, 3, 2], [4, NAN, 6, 5]]), {"min_samples": 1, "log2": False}
    )
    assert "1 samples hold no value of any kept gene: 's1'." in prepared.warnings


CELLS = st.one_of(st.just(NAN), st.just(0.0), st.sampled_from([1.0, 2.0]), st.floats(0.1, 500))


@given(
    values=hnp.arrays(np.float64, (6, 5), elements=CELLS),
    section=st.fixed_dictionaries(
        {
            "log2": st.sampled_from(["auto", True, False]),
            "pseudocount": st.sampled_from([0, 1]),
            "normalize": st.sampled_from(["none", "quantile", "zscore"]),
            "min_samples": st.integers(1, 5),
            "drop_constant": st.booleans(),
        }
    ),
)
def test_the_account_is_complete_and_agrees_with_the_values(
    values: np.ndarray, section: dict
) -> None:
    message = ""
    try:
        prepared = prepare_expression(table(values), section)
    except InputError as error:
        message = str(error)
    if message:
        assert "genes left" in message
        return
    items, counts = prepared.items, prepared.counts
    kept = items["kept"].to_numpy()
    assert sorted(items["name"]) == [f"g{k}" for k in range(6)]
    assert items.loc[kept, "name"].tolist() == prepared.genes == sorted(prepared.genes)
    assert not (np.diff(kept.astype(int)) > 0).any()
    assert ((items["reason"] == "") == kept).all()
    n_dropped = counts["genes_dropped_too_few_samples"] + counts["genes_dropped_constant"]
    assert counts["genes_kept"] + n_dropped == counts["genes_read"] == 6
    observed = ~np.isnan(prepared.values)
    assert items.loc[kept, "n_observed"].tolist() == observed.sum(axis=1).tolist()
    assert (observed.sum(axis=1) >= section["min_samples"]).all()
    assert np.isfinite(prepared.values[observed]).all()
    assert counts["values_missing"] == int((~observed).sum())
    for row, mean, sd, constant in zip(
        prepared.values, items["mean"], items["sd"], items["constant"], strict=False
    ):
        seen = row[~np.isnan(row)]
        np.testing.assert_allclose([mean, sd], [seen.mean(), seen.std()], atol=1e-9)
        assert constant == (seen.min() == seen.max())
        assert not (constant and section["drop_constant"])


@given(hnp.arrays(np.float64, (4, 7), elements=st.one_of(st.just(NAN), st.floats(-1e6, 1e6))))
def test_row_statistics_agree_with_numpy(values: np.ndarray) -> None:
    found = row_statistics(values)
    for k, row in enumerate(values):
        seen = row[~np.isnan(row)]
        assert found.n_observed[k] == seen.size
        if seen.size:
            np.testing.assert_allclose(found.mean[k], seen.mean(), rtol=1e-12, atol=1e-9)
            np.testing.assert_allclose(found.sd[k], seen.std(), rtol=1e-9, atol=1e-9)
            assert found.constant[k] == (np.ptp(seen) == 0)
        else:
            assert np.isnan([found.mean[k], found.sd[k]]).all()
            assert not found.constant[k]


def test_genes_that_few_samples_have_are_dropped() -> None:
    values = np.tile(np.arange(10.0, 20.0), (4, 1))
    values[1, :6] = 0.0
    values[2, :5] = 0.0
    values[3, :7] = np.nan  # above zero wherever it was measured
    section = {"min_samples": 3, "log2": False, "min_expressed": 0.5}
    prepared = prepare_expression(table(values), section)
    assert prepared.items["name"].tolist() == ["g0", "g2", "g3", "g1"]
    assert prepared.items["reason"].tolist() == ["", "", "", "expressed in too few samples"]
    assert prepared.counts["genes_dropped_expressed_in_too_few_samples"] == 1
    assert not prepared.warnings
    assert "1 of 4 genes were dropped: expressed in too few samples." in prepared.notes


def test_a_share_of_samples_above_zero_is_not_asked_of_logarithms() -> None:
    with pytest.raises(InputError, match="found 1 negative values; expected counts or intens"):
        prepare_expression(table([[-1.0, 2, 3], [4, 5, 6]]), {"min_samples": 3, "min_expressed": 1})


@pytest.mark.parametrize("normalize", ["none", "zscore", "quantile"])
def test_the_most_variable_genes_stay(normalize: str) -> None:
    values = np.random.default_rng(1).normal(size=(6, 30)) * [[1], [5], [2], [9], [0], [3]]
    section = {"min_samples": 3, "log2": False, "normalize": normalize, "top_variable": 3}
    items = prepare_expression(table(values), section).items
    whole = prepare_expression(table(values), {**section, "top_variable": None}).items["name"]
    assert items["name"][items["kept"]].tolist() == whole[[1, 3, 5]].tolist()
    assert set(items["reason"][~items["kept"]]) == {"not among the most variable"}


def test_of_cells_the_variance_is_that_of_their_counts() -> None:
    random = np.random.default_rng(1)
    counts = random.poisson(0.3, size=(60, 400)).astype(float)
    counts[7] = random.poisson(np.where(random.random(400) < 0.5, 0.1, 40.0))
    counts[11] = random.poisson(np.where(random.random(400) < 0.2, 30.0, 0.0))
    prepared = prepare_expression(table(counts), {"top_variable": 2})
    assert prepared.parameters["normalize"] == "nb_residuals"
    items = prepared.items
    order = [int(name[1:]) for name in items["name"][items["kept"]]]
    assert order == [7, 11]
