"""Levels of predictors against levels of their target: counts, memory, rules; and the charts."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_results import drawn, made_up_results
from pairtile.methods.predictor_pairs import charts
from pairtile.methods.predictor_pairs.report_results import (
    Levels,
    PredictorResults,
    predictor_results,
    rule_of_two,
)
from pairtile.methods.predictor_pairs.rules import level_counts
from pairtile.report.results import Results
from pairtile.report.style import save_figure


@given(
    q=st.integers(2, 4),
    c=st.integers(1, 3),
    samples=st.integers(0, 30),
    seed=st.integers(0, 10_000),
)
def test_level_counts_are_those_of_a_plain_loop(q: int, c: int, samples: int, seed: int) -> None:
    levels = np.random.default_rng(seed).integers(-1, q, (c + 1, samples)).astype(np.int8)
    expected = np.zeros((q,) * (c + 1), dtype=np.int64)
    for sample in levels.T:
        if (sample >= 0).all():
            expected[tuple(sample)] += 1
    found = level_counts(levels[:-1], levels[-1], q)
    np.testing.assert_array_equal(found, expected)


def test_named_genes_are_counted_over_the_transitions() -> None:
    values = np.array([[0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=np.int8)
    samples = {"source_samples": np.array([0, 1]), "target_samples": np.array([1, 3])}
    state = {"levels": values, "n_levels": np.array([2])} | samples
    levels = Levels(state, {"a": 0, "b": 1, "c": 2})
    # Transitions 0 -> 1 and 1 -> 3: a 0, 1; b 1, 1; target c 0, 1.
    expected = np.zeros((2, 2, 2), dtype=np.int64)
    expected[0, 1, 0] = expected[1, 1, 1] = 1
    np.testing.assert_array_equal(levels.table(["a", "b"], "c"), expected)


@pytest.mark.parametrize("table", ["".join(bits) for bits in product("01", repeat=4)])
def test_a_rule_is_the_most_frequent_levels(table: str) -> None:
    counts = np.zeros((2, 2, 2), dtype=np.int64)
    for place, (a, b) in enumerate(product((0, 1), repeat=2)):
        counts[a, b, int(table[place])] = 3
        counts[a, b, 1 - int(table[place])] = 1
    assert rule_of_two(counts) == table


def test_no_rule_without_a_majority_everywhere_or_for_other_levels() -> None:
    counts = np.array([[[3, 0], [0, 3]], [[0, 3], [2, 2]]])
    assert rule_of_two(counts) == ""
    counts[1, 1] = 0
    assert rule_of_two(counts) == ""
    assert rule_of_two(np.ones((3, 3, 3), dtype=np.int64)) == ""
    assert rule_of_two(np.ones((2, 2), dtype=np.int64)) == ""


# --- figures --------------------------------------------------------------------------------------


def of_best(**columns: object) -> Results:
    """Results with these columns of the best sets."""
    best = {"rank": 1, "target_entropy_bits": 1.0, "mce_bits": 0.5, "predictor_1": "x", **columns}
    sets = pd.DataFrame({"n_ties": 1, "p_value": np.nan, "predictor_2": "y", **best})
    sets["information_bits"] = sets["target_entropy_bits"] - sets["mce_bits"]
    return made_up_results("predictor_pairs", read={predictor_results: PredictorResults(sets)})


def test_best_sets_and_the_null_are_shares_of_their_own() -> None:
    counts, null = np.zeros(200), np.zeros(200)
    counts[[0, 3, 7]] = 10, 20, 30
    null[[100, 150]] = 1000, 3000
    scores = {"edges": np.linspace(0, 1, 201), "counts": counts}
    given = made_up_results("predictor_pairs", scores={**scores, "null_counts": null})
    figure = drawn("score_distribution", given)
    filled, _, line = (patch.get_data().values for patch in figure.axes[0].patches)
    assert filled.sum() == pytest.approx(1.0)
    assert filled[[0, 1, 3]].tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert line.sum() == pytest.approx(1.0)
    alone = drawn("score_distribution", made_up_results("predictor_pairs", scores=scores))
    assert len(alone.axes[0].patches) == 2  # no line


def test_p_values_on_a_border_count_with_those_below() -> None:
    p = [0.05, 0.15, 0.15, 1.0, 1 / 1001, float("nan")]
    figure = drawn("p_values", of_best(p_value=p))
    heights = figure.axes[0].patches[0].get_data().values
    assert heights.sum() == 5
    assert heights[[0, 2, 19]].tolist() == [2, 2, 1]
    chance = figure.axes[0].patches[-1].get_data().values
    np.testing.assert_allclose(chance, 5 / 20)
    [level] = figure.axes[0].get_lines()
    assert level.get_xdata()[0] == 0.05


def test_ties_are_counted_in_doubling_bins() -> None:
    axes = drawn("ties", of_best(n_ties=[1, 1, 1, 2, 3, 4, 7, 8, 192_016])).axes[0]
    names = [label.get_text() for label in axes.get_xticklabels()]
    heights = [bar.get_height() for bar in axes.patches]
    assert dict(zip(names, heights, strict=True)) | {"1": 3, "2–3": 2, "4–7": 2, "8–15": 1} == dict(
        zip(names, heights, strict=True)
    )
    assert names[-1] == "131,072–262,143"
    assert (sum(heights), heights[-1]) == (9, 1)


def test_joint_prediction_names_only_sets_without_ties_that_have_room() -> None:
    mi = np.array([1.0, 1.0, 1.0, 0.8, 0.5])
    imp = np.array([0.9, 0.89, 0.6, 0.7, 0.0])
    ties, names = [1, 1, 2, 1, 1], ["$a$", "b", "c", "d", "e"]
    given = of_best(mi_bits=mi, imp_bits=imp, n_ties=ties, target=names)
    figure = drawn("joint_prediction", given)
    assert [text.get_text() for text in figure.axes[0].texts] == ["$a$", "d"]
    alone, several = (part.get_offsets() for part in figure.axes[0].collections)
    assert (len(alone), len(several)) == (4, 1)
    assert several.tolist() == [[1.0, 0.6]]


@pytest.mark.parametrize(
    ("cell", "level", "strength"),
    [((8, 0), 0, 0.55), ((0, 8), 1, 0.55), ((5, 3), 0, 0.2275), ((4, 4), None, 0.0),
     ((0, 0), None, 0.0), ((0, 1, 1), None, 0.0), ((1, 2, 1), 1, 0.2275)],
)  # fmt: skip
def test_colour_is_the_leading_level_and_paler_where_it_leads_less(
    cell: tuple[int, ...], level: int | None, strength: float
) -> None:
    colour, found = charts.cell_colour(cell)
    assert found == pytest.approx(strength)
    if level is not None:
        assert colour == charts.LEVEL_COLOURS[len(cell)][level]


def test_thousands_of_points_stay_a_small_file(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    mi, n = random.random(20_000), 20_000
    ties = 1 + (random.random(n) < 0.5)
    names = [f"g{k}" for k in range(n)]
    given = of_best(mi_bits=mi, imp_bits=mi * random.random(n), n_ties=ties, target=names)
    figure = drawn("joint_prediction", given)
    assert len(save_figure(figure, tmp_path, "many")) < 400_000
