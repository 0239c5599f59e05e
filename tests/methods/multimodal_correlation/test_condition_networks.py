"""Condition-specific networks: which modes belong to them, and how they are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pairtile.methods.multimodal_correlation.conditions import (
    ConditionTest,
    ConditionTests,
    condition_networks,
)

NAN = float("nan")


def made_up(
    label: str, q: list[float], r_squared: list[float] | None = None, condition: str = "T"
) -> ConditionTest:
    kind = "enrichment" if r_squared is None else "regression"
    # Expression says nothing here; co-expression does. Correlations go with the modes' signs.
    r = 0.9 * np.sign(MODES["correlation"].to_numpy())
    results = pd.DataFrame(
        {
            "p_value": 1.0,
            "q_value": 1.0,
            "r_squared": np.nan if r_squared is None else r_squared,
            "r_label": r,
            "r_others": 0.1 * r,
            "coexpression_p_value": np.array(q) / 10.0,
            "coexpression_q_value": q,
        }
    )
    return ConditionTest(f"{condition}_{label}", condition, label, kind, results)


MODES = pd.DataFrame(
    {
        "source": ["a", "a", "a", "b", "c"],
        "target": ["b", "b", "c", "c", "d"],
        "cluster": [1, 2, 1, 1, 1],
        "correlation": [0.9, -0.8, 0.7, -0.6, 0.5],
        "other": 1.0,
    }
)
HEAT = made_up("heat", [0.001, 0.5, 0.0, NAN, 0.0011])
COLD = made_up("cold", [0.9, 0.0005, 1.0, 0.0001, NAN])
NONE = made_up("none", [1.0, 1.0, NAN, NAN, 1.0])
DOSE = made_up("", [1e-9, 1e-9, 1e-9, 0.2, NAN], [0.3, 0.29, 0.9, 0.9, NAN], "Dose")


def networks(**limits: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    return condition_networks(MODES, ConditionTests([HEAT, COLD, NONE, DOSE]), **limits)


def test_modes_within_the_limits_make_the_network_of_a_label() -> None:
    edges, _ = networks()
    assert list(edges.columns) == [
        "condition", "label", "source", "target", "cluster", "correlation", "p_value", "q_value",
        "r_squared", "direction", "unique", "mode",
    ]  # fmt: skip
    of = {key: part["mode"].tolist() for key, part in edges.groupby(["condition", "label"])}
    # A mode at the limit belongs to it; NaN never does.
    assert of == {("T", "heat"): [0, 2], ("T", "cold"): [1, 3], ("Dose", ""): [0, 1, 2]}
    assert edges["direction"].tolist()[:4] == ["positive", "positive", "negative", "negative"]
    assert edges["q_value"].tolist()[:2] == [0.001, 0.0]
    assert edges["r_squared"].isna().tolist() == [True] * 4 + [False] * 3


def test_a_pair_of_genes_in_two_networks_of_a_condition_is_unique_to_none() -> None:
    edges, counts = networks()
    # Genes a and b: one mode is enriched for heat, the other for cold. Dose is another condition.
    assert edges["unique"].tolist() == [False, True, False, True, True, True, True]
    table = counts.set_index(["condition", "label"])
    assert table.loc[("T", "heat")].to_dict() == {
        "modes": 2, "positive": 2, "negative": 0, "gene_pairs": 2, "unique_gene_pairs": 1,
        "genes": 3,
    }  # fmt: skip
    assert table.loc[("T", "none")].tolist() == [0, 0, 0, 0, 0, 0]
    assert table.loc[("Dose", ""), "unique_gene_pairs"] == 2  # two modes of one


def test_two_modes_of_a_pair_in_one_network_are_one_pair_of_genes() -> None:
    both = ConditionTests([made_up("heat", [0.0, 0.0, 1.0, 1.0, 1.0])])
    edges, counts = condition_networks(MODES, both)
    assert edges["unique"].tolist() == [True, True]
    assert counts.iloc[0][["modes", "gene_pairs", "unique_gene_pairs"]].tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("limits", "n_edges"),
    [
        ({"q_value": 0.0}, 1),
        ({"q_value": 1.0}, 15),
        ({"q_value": -1.0}, 0),
    ],
)
def test_limits_choose(limits: dict[str, float], n_edges: int) -> None:
    edges, counts = networks(**limits)
    assert len(edges) == n_edges == counts["modes"].sum()


def test_a_mode_belongs_to_the_label_that_takes_its_correlation_further() -> None:
    heat = made_up("heat", [0.0] * 5)
    cold = made_up("cold", [0.0] * 5)
    names = ["r_label", "r_others"]
    cold.results[names] = cold.results[names[::-1]].to_numpy()  # weaker, in the modes' directions
    edges, _ = condition_networks(MODES, ConditionTests([heat, cold]))
    assert edges["label"].tolist() == ["heat"] * 5
    assert edges["unique"].all()


def test_without_tests_the_network_is_empty_and_has_its_columns() -> None:
    edges, counts = condition_networks(
        MODES.rename(columns={"source": "i", "target": "j"}), ConditionTests([])
    )
    assert len(edges) == len(counts) == 0
    assert list(edges.columns[:4]) == ["condition", "label", "i", "j"]
    assert list(counts.columns[:3]) == ["condition", "label", "modes"]
