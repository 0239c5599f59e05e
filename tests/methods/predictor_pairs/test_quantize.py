"""Levels: the golden ones, the rules against slow references, and what must always hold."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairtile.methods.predictor_pairs.config import LEVELS_OF_RULE, QuantizeConfig
from pairtile.methods.predictor_pairs.quantize import kmeans_borders, quantize

NAN = np.nan
RULES: list[dict[str, Any]] = [
    {"levels": levels, "rule": rule}
    for rule, able in LEVELS_OF_RULE.items()
    for levels in able
    if rule != "thresholds"
] + [{"levels": 3, "rule": "thresholds", "thresholds": [-1.0, 1.5]}]


def rule_name(given_settings: dict[str, Any]) -> str:
    return f"{given_settings['rule']}-{given_settings['levels']}"


def levels_of(row: list[float], **chosen: Any) -> list[int]:
    result: list[int] = quantize(np.array([row]), QuantizeConfig(**chosen))[0].tolist()
    return result


def naive_levels(row: list[float], levels: int, rule: str, thresholds: Any = None) -> list[int]:
    """One gene, one value at a time."""
    seen = [x for x in row if not np.isnan(x)]
    if not seen or min(seen) == max(seen):
        return [-1 if np.isnan(x) else 0 for x in row]
    mean, sd = float(np.mean(seen)), float(np.std(seen, ddof=1))
    compared = [(x - mean) / sd for x in row]
    z = [x for x in compared if not np.isnan(x)]
    if rule == "mean_split":
        low, high = [x for x in z if x < 0], [x for x in z if x >= 0]
        borders = [0.0] if levels == 2 else [np.mean(low) / 3, np.mean(high) / 3]
    elif rule == "extreme_split":
        borders = [min(z) / 3, max(z) / 3]
    else:
        compared = row
        borders = naive_borders(seen, levels) if rule == "quantile" else thresholds
    return [-1 if np.isnan(x) else sum(b < x for b in borders) for x in compared]


def naive_borders(seen: list[float], levels: int) -> list[float]:
    """The least value with at least k / levels of the values at or below it."""
    return [
        min(v for v in seen if sum(x <= v for x in seen) * levels >= k * len(seen))
        for k in range(1, levels)
    ]


def least_squares(values: list[float], n_clusters: int) -> float:
    """Of all partitions of the sorted values."""
    ordered, n = sorted(values), len(values)
    cost = {
        (a, b): float(np.var(ordered[a:b])) * (b - a) if b > a else 0.0
        for a, b in itertools.combinations_with_replacement(range(n + 1), 2)
    }
    return min(
        sum(cost[part] for part in itertools.pairwise((0, *cuts, n)))
        for cuts in itertools.combinations_with_replacement(range(n + 1), n_clusters - 1)
    )


@pytest.mark.parametrize(
    ("golden", "chosen"),
    [
        ("q2", {"levels": 2, "rule": "mean_split"}),
        ("q3", {"levels": 3, "rule": "mean_split"}),
        ("q3ext", {"levels": 3, "rule": "extreme_split"}),
    ],
    ids=["q2", "q3", "q3ext"],
)
def test_levels_of_pf3d7_are_the_golden_ones(
    shared: Path, golden: str, chosen: dict[str, Any]
) -> None:
    folder = shared / "golden/predictor_pairs"
    values = pd.read_csv(folder / "pf3d7_200.expr_log2fpkm1.tsv", sep="\t", header=None)
    expected = pd.read_csv(
        folder / f"pf3d7_200.{golden}.data.tsv", sep="\t", header=None, index_col=0
    )
    levels = quantize(values.to_numpy(dtype=np.float64), QuantizeConfig(**chosen))
    np.testing.assert_array_equal(levels, expected.to_numpy())


@pytest.mark.parametrize("chosen", RULES, ids=rule_name)
def test_levels_agree_with_the_naive_reference(chosen: dict[str, Any]) -> None:
    random = np.random.default_rng(5)
    values = random.normal(size=(40, 23))
    values[::3] = np.round(values[::3], 1)  # ties
    values[random.random(values.shape) < 0.1] = NAN
    values[7] = NAN
    values[8] = 3.0
    values[9, 1:] = NAN
    levels = quantize(values, QuantizeConfig(**chosen))
    assert levels.dtype == np.int8
    for row, got in zip(values.tolist(), levels.tolist(), strict=True):
        if chosen["rule"] == "kmeans":
            assert spread_within(row, got) == pytest.approx(
                least_squares([x for x in row if not np.isnan(x)], chosen["levels"])
                if not np.isnan(row).all()
                else 0.0,
                abs=1e-12,
            )
        else:
            assert got == naive_levels(row, **chosen)


def spread_within(row: list[float], levels: list[int]) -> float:
    values, at = np.array(row), np.array(levels)
    groups = [values[at == level] for level in range(4)]
    return sum(float(np.var(g)) * g.size for g in groups if g.size)


def test_a_constant_gene_has_level_0_under_every_rule() -> None:
    for chosen in RULES:
        assert levels_of([7.0, 7.0, NAN, 7.0], **chosen) == [0, 0, -1, 0]
        assert levels_of([7.0, NAN, NAN], **chosen) == [0, -1, -1]
        assert levels_of([NAN, NAN], **chosen) == [-1, -1]


def test_a_value_on_a_border_belongs_to_the_lower_level() -> None:
    chosen = {"levels": 3, "rule": "thresholds", "thresholds": [1.0, 2.0]}
    assert levels_of([0.0, 1.0, 1.5, 2.0, 2.5], **chosen) == [0, 0, 1, 1, 2]
    assert levels_of([-1.0, 0.0, 1.0], levels=2, rule="mean_split") == [0, 0, 1]


def test_a_value_at_the_mean_is_one_of_the_upper_side() -> None:
    # Borders at -1.775 / 3 and at (0 + 0.55 + 3) / 9.
    values = [-3.0, -0.55, 0.0, 0.55, 3.0]
    assert levels_of(values, levels=3, rule="mean_split") == [0, 1, 1, 2, 2]


def test_kmeans_with_fewer_values_than_clusters_gives_each_its_own() -> None:
    assert levels_of([2.0, 1.0, 2.0, 1.0], levels=4, rule="kmeans") == [1, 0, 1, 0]
    assert kmeans_borders(np.array([[1.0, 2.0, 2.0]]), 4).tolist() == [[1.0, np.inf, np.inf]]
    assert kmeans_borders(np.empty((0, 3)), 3).shape == (0, 2)


VALUES = st.lists(
    st.integers(-20, 20).map(float) | st.floats(-1e3, 1e3) | st.just(NAN), min_size=1, max_size=12
)


@given(row=VALUES, n_clusters=st.integers(2, 4))
@settings(deadline=None, max_examples=150)
def test_kmeans_is_optimal(row: list[float], n_clusters: int) -> None:
    borders = kmeans_borders(np.array([row]), n_clusters)[0]
    levels = [-1 if np.isnan(x) else int((borders < x).sum()) for x in row]
    seen = [x for x in row if not np.isnan(x)]
    best = least_squares(seen, n_clusters) if seen else 0.0
    scale = max((abs(x) for x in seen), default=0.0) ** 2
    assert spread_within(row, levels) <= best + 1e-12 * scale * len(row)


@given(row=VALUES, chosen=st.sampled_from(RULES))
@settings(deadline=None, max_examples=300)
def test_levels_rise_with_values(row: list[float], chosen: dict[str, Any]) -> None:
    levels = levels_of(row, **chosen)
    for (a, level_a), (b, level_b) in itertools.product(zip(row, levels, strict=True), repeat=2):
        assert (level_a == -1) == bool(np.isnan(a))
        assert level_a < chosen["levels"]
        if a <= b:
            assert level_a <= level_b


def test_long_rows_in_many_blocks_are_as_short_ones() -> None:
    random = np.random.default_rng(1)
    values: NDArray[np.float64] = random.normal(size=(600, 3000))
    rules: tuple[Literal["mean_split", "quantile", "kmeans"], ...] = (
        "mean_split",
        "quantile",
        "kmeans",
    )
    for rule in rules:
        chosen = QuantizeConfig(levels=3, rule=rule)
        whole = quantize(values, chosen)
        for k in (0, 349, 350, 599):
            assert (quantize(values[k : k + 1], chosen) == whole[k]).all()


def test_configuration_allows_what_the_rules_can_do() -> None:
    for rule, levels in itertools.product(LEVELS_OF_RULE, range(1, 6)):
        chosen = {"levels": levels, "rule": rule}
        if rule == "thresholds":
            chosen["thresholds"] = list(range(levels - 1))
        if levels in LEVELS_OF_RULE[rule]:
            quantize(np.zeros((1, 4)), QuantizeConfig(**chosen))
        else:
            with pytest.raises(ValueError):
                quantize(np.zeros((1, 4)), QuantizeConfig(**chosen))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("rule", ["mean_split", "extreme_split", "quantile", "kmeans"])
@pytest.mark.filterwarnings("error")
def test_units_do_not_matter(rule: str, scale: float) -> None:
    row = np.array([0.1, 0.9, -0.4, 0.3, 0.35, NAN])
    chosen = {"levels": 3, "rule": rule}
    assert levels_of((row * scale).tolist(), **chosen) == levels_of(row.tolist(), **chosen)
