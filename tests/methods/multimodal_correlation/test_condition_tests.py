"""Tests of modes against conditions: against plain references, and in awkward cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up_modes import categorical, quantitative, random_modes
from naive_conditions import enrichment_p, hypergeometric_tail
from naive_conditions import regression as naive_regression
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.conditions import (
    condition_tests,
    enrichment,
    regression,
    unique_names,
    upper_tail,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples, packed_masks
from statsmodels.stats.multitest import multipletests


def labels_of(seed: int, n_samples: int = 37) -> list[str]:
    random = np.random.default_rng(seed)
    cells = random.choice(["a", "b", "c", ""], size=n_samples, p=[0.5, 0.3, 0.15, 0.05])
    cells[0] = "only one"
    return [str(cell) for cell in cells]


@pytest.mark.parametrize("seed", range(4))
def test_enrichment_agrees_with_exact_tails(seed: int) -> None:
    modes, condition = random_modes(seed), categorical("T", labels_of(seed))
    found, expected = enrichment(modes, condition), enrichment_p(modes, condition)
    assert (np.isnan(found["p_value"]) == np.isnan(expected)).all()
    np.testing.assert_allclose(found["p_value"], expected, rtol=1e-11)
    assert np.isfinite(expected).sum() > 60
    whole = (found["n_mode"] == found["n"]) | (found["n_mode"] == 0)
    assert whole.any()
    assert np.isnan(found["p_value"][~whole]).any()  # labels of all samples, or of none


@pytest.mark.parametrize("limits", [(None, None), (6.0, None), (None, 9.0), (6.5, 9.5)])
def test_samples_outside_the_limits_of_expression_are_not_counted(
    limits: tuple[float | None, float | None],
) -> None:
    modes = random_modes(3)
    low, high = limits
    inside = np.ones(modes.values.shape, bool)
    inside &= modes.values >= (-np.inf if low is None else low)
    inside &= modes.values <= (np.inf if high is None else high)
    bits = np.unpackbits(modes.members, axis=1, count=37).astype(bool)
    members = np.packbits(bits & inside[modes.i] & inside[modes.j], axis=1)
    modes = ModeSamples(modes.i, modes.j, members, modes.values, modes.outliers, low, high)
    condition = categorical("T", labels_of(3))
    np.testing.assert_allclose(
        enrichment(modes, condition)["p_value"], enrichment_p(modes, condition), rtol=1e-11
    )


def test_tails_are_exact_where_they_are_tiny() -> None:
    numbers = [(30, 60, 30, 30), (100, 1000, 100, 100), (99, 1000, 120, 100), (1, 900, 1, 2)]
    both, n, label, mode = np.array(numbers, dtype=np.int32).T
    expected = [hypergeometric_tail(*row) for row in numbers]
    assert expected[1] < 1e-139
    np.testing.assert_allclose(upper_tail(both, n, label, mode), expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["normal", "ties", "huge offset", "tiny"])
def test_regression_agrees_with_statsmodels(seed: int, kind: str) -> None:
    modes = random_modes(seed, outliers=0.0)
    random = np.random.default_rng(seed + 100)
    values = modes.values
    if kind == "ties":
        values = np.round(values / 2.0)
    elif kind == "huge offset":
        values = values + 1e5
    elif kind == "tiny":
        values = values * 1e-150
    modes = ModeSamples(modes.i, modes.j, modes.members, values)
    y = np.round(values[0] / np.nanstd(values[0]) + random.normal(size=37), 1)
    y[random.random(37) < 0.1] = np.nan
    found = regression(modes, y)
    p, r_squared = naive_regression(modes, y)
    assert (np.isnan(found["p_value"]) == np.isnan(p)).all()
    assert np.isfinite(p).sum() > 20
    np.testing.assert_allclose(found["r_squared"], r_squared, rtol=1e-10, atol=1e-13)
    perfect = r_squared > 1.0 - 1e-12  # then p is 0 but for rounding, in both
    np.testing.assert_allclose(found["p_value"][~perfect], p[~perfect], rtol=1e-10)
    assert (found["p_value"][perfect] < 1e-10).all()
    assert perfect.sum() < 5


def one_mode(g_i: list[float], g_j: list[float], members: list[bool] | None = None) -> ModeSamples:
    chosen = np.array([[True] * len(g_i) if members is None else members])
    values = np.array([g_i, g_j])
    return ModeSamples(np.zeros(1, int), np.ones(1, int), np.packbits(chosen, axis=1), values)


def test_regressions_that_are_undefined_are_nan() -> None:
    random = np.random.default_rng(1)
    a, b, y = random.normal(size=(3, 12)).tolist()
    flat = [0.1] * 12
    cases = {
        "too few samples": (one_mode(a, b, [True] * 4 + [False] * 8), y),
        "the condition is constant": (one_mode(a, b), flat),
        "both genes are constant": (one_mode(flat, flat), y),
        "no sample has a value": (one_mode(a, b), [np.nan] * 12),
    }
    for reason, (modes, numbers) in cases.items():
        found = regression(modes, np.array(numbers))
        assert np.isnan(found["p_value"][0]), reason
        assert np.isnan(found["r_squared"][0]), reason


def test_collinear_genes_count_with_their_rank() -> None:
    random = np.random.default_rng(2)
    a, y = random.normal(size=(2, 15)).tolist()
    twice = [2.0 * x + 1.0 for x in a]
    for modes in (one_mode(a, twice), one_mode(a, [0.3] * 15), one_mode([0.3] * 15, a)):
        found = regression(modes, np.array(y))
        p, r_squared = naive_regression(modes, np.array(y))
        assert found["p_value"][0] == pytest.approx(p[0], rel=1e-10)
        assert found["r_squared"][0] == pytest.approx(r_squared[0], rel=1e-10)


def test_a_perfect_fit_has_a_tiny_p_value() -> None:
    random = np.random.default_rng(3)
    a, b = random.normal(size=(2, 20))
    found = regression(one_mode(a.tolist(), b.tolist()), a - 2 * b + 0.5 * a * b + 7)
    assert found["r_squared"][0] == pytest.approx(1.0, abs=1e-14)
    assert 0.0 <= found["p_value"][0] < 1e-100


def test_results_do_not_depend_on_blocks() -> None:
    modes, condition = random_modes(5), categorical("T", labels_of(5))
    y = np.random.default_rng(5).normal(size=37)
    whole = condition_tests(modes, [condition, quantitative("y", y)]).columns()
    few = [slice(0, 7), slice(7, 8), slice(8, 60)]
    for rows in few:
        assert modes.outliers is not None
        part = ModeSamples(
            modes.i[rows],
            modes.j[rows],
            modes.members[rows],
            modes.values,
            modes.outliers[rows],
        )
        for name, column in (
            condition_tests(part, [condition, quantitative("y", y)]).columns().items()
        ):
            if not name.endswith("q_value"):
                np.testing.assert_array_equal(column, whole[name][rows])
    seen = [block.rows for block in modes.blocks(cells=37 * 7)]
    assert seen[0] == slice(0, 7)
    assert seen[-1] == slice(56, 60)


def test_q_values_are_those_of_statsmodels_over_a_condition() -> None:
    modes, condition = random_modes(6, n_modes=80), categorical("T", labels_of(6))
    tests = condition_tests(modes, [condition]).tests
    p = np.stack([test.results["p_value"] for test in tests])
    q = np.stack([test.results["q_value"] for test in tests])
    tested = np.isfinite(p)
    np.testing.assert_allclose(q[tested], multipletests(p[tested], method="fdr_bh")[1], rtol=1e-12)
    assert np.isnan(q[~tested]).all()


def test_an_ordinal_condition_is_regressed_on_its_ranks() -> None:
    modes = random_modes(7)
    codes = np.random.default_rng(7).integers(-1, 3, 37).astype(np.int32)
    ranks = np.where(codes >= 0, codes + 1.0, np.nan)
    ordinal = Condition("stage", "ordinal", ("early", "mid", "late"), codes, ranks)
    test = condition_tests(modes, [ordinal]).tests[0]
    assert (test.name, test.kind, test.label) == ("stage", "regression", "")
    p = test.results["p_value"]
    np.testing.assert_allclose(p, naive_regression(modes, ranks)[0], rtol=1e-10)


def test_columns_and_table_name_what_they_hold() -> None:
    modes = random_modes(8, n_modes=5)
    conditions = [categorical("Cell type", ["T cell", "B-cell"] * 18 + [""])]
    conditions.append(quantitative("Dose (mg)", np.arange(37.0)))
    tests = condition_tests(modes, conditions)
    assert list(tests.columns()) == [
        "Cell_type_B-cell_p_value",
        "Cell_type_B-cell_q_value",
        "Cell_type_B-cell_coexpression_p_value",
        "Cell_type_B-cell_coexpression_q_value",
        "Cell_type_T_cell_p_value",
        "Cell_type_T_cell_q_value",
        "Cell_type_T_cell_coexpression_p_value",
        "Cell_type_T_cell_coexpression_q_value",
        "Dose_mg_p_value",
        "Dose_mg_q_value",
        "Dose_mg_r_squared",
        "Dose_mg_coexpression_p_value",
        "Dose_mg_coexpression_q_value",
    ]
    edges = pd.DataFrame({"source": list("abcde"), "target": list("vwxyz"), "cluster": 1})
    table = tests.table(edges)
    assert list(table.columns[:6]) == ["source", "target", "cluster", "condition", "label", "test"]
    assert len(table) == 15
    assert table["source"].tolist() == [name for name in "abcde" for _ in range(3)]
    assert table["label"].tolist() == ["B-cell", "T cell", ""] * 5
    fits = table[table["test"] == "regression"]
    np.testing.assert_array_equal(fits["p_value"], tests.tests[2].results["p_value"])
    assert fits["n_label"].isna().all()
    enriched = table[table["label"] == "T cell"]
    n_both = tests.tests[1].results["n_both"]
    np.testing.assert_array_equal(enriched["n_both"].to_numpy(int), n_both)
    parts = [tests.table(edges, rows) for rows in (slice(0, 2), slice(2, 5))]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), table)
    assert list(condition_tests(modes, []).table(edges).columns) == list(table.columns)


def test_names_that_would_be_the_same_are_told_apart() -> None:
    words = [("a", "b c"), ("a b", "c"), ("a", "b_c"), ("?",), ("é",)]
    assert unique_names(words) == ["a_b_c", "a_b_c_2", "a_b_c_3", "_", "é"]
    ages = unique_names([("Age", label) for label in ("<10", "10", ">10", ">=10", "10+")])
    assert ages == [
        "Age_less_10",
        "Age_10",
        "Age_greater_10",
        "Age_greater_equal_10",
        "Age_10_plus",
    ]


def test_masks_of_a_binary_column_are_read_and_checked() -> None:
    bits = np.random.default_rng(0).random((4, 11)) < 0.5
    packed = np.packbits(bits, axis=1)
    assert np.array_equal(packed_masks([row.tobytes() for row in packed], 11), packed)
    assert packed_masks([], 11).shape == (0, 2)
    with pytest.raises(ValueError, match="not all 2 bytes, as 11 samples need"):
        packed_masks([b"ab", b"c"], 11)
    with pytest.raises(ValueError, match=r"members has shape \(1, 2\); expected \(1, 1\)"):
        ModeSamples(np.zeros(1, int), np.ones(1, int), packed[:1], np.zeros((2, 8)))
    with pytest.raises(ValueError, match="condition 'T' has 3 samples; expected 37"):
        condition_tests(random_modes(0), [categorical("T", ["a", "b", "a"])])
