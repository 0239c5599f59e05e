"""``pairtile.data_processing_inequality`` on tables and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile import data_processing_inequality
from pairtile.methods.mutual_information import dpi

TRIANGLE = pd.DataFrame(
    {"source": ["b", "c", "a"], "target": ["a", "b", "c"], "mi_bits": [0.9, 0.8, 0.3]}
)


@settings(deadline=None)  # the first example loads the kernel
@given(seed=st.integers(0, 10_000), tolerance=st.sampled_from([0.0, 0.1]), listed=st.booleans())
def test_table_gives_what_the_arrays_give(seed: int, tolerance: float, listed: bool) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 9))
    i, j = np.triu_indices(n, 1)
    chosen = random.random(i.size) < 0.7
    i, j = i[chosen], j[chosen]
    mi = random.random(i.size).round(1)
    is_regulator = np.zeros(n, dtype=bool)
    is_regulator[np.unique(i)[:2]] = True
    regulators = np.flatnonzero(is_regulator) if listed and i.size else None
    flags = None if regulators is None else is_regulator
    expected = dpi.data_processing_inequality(i, j, mi, n, tolerance=tolerance, is_regulator=flags)
    found = data_processing_inequality(
        i, j, mi, n_genes=n, tolerance=tolerance, regulators=regulators
    )
    np.testing.assert_array_equal(found, expected)

    names = np.array([f"g{k}" for k in random.permutation(n)], dtype=object)
    turned = random.random(i.size) < 0.5  # the direction of a row makes no difference
    edges = pd.DataFrame(
        {
            "source": names[np.where(turned, j, i)],
            "target": names[np.where(turned, i, j)],
            "mi_bits": mi,
        },
        index=random.permutation(i.size) + 100,
    )
    of_table = data_processing_inequality(
        edges, tolerance=tolerance, regulators=None if regulators is None else names[regulators]
    )
    assert of_table.index.equals(edges.index)
    np.testing.assert_array_equal(of_table, expected)


def test_both_directions_of_a_pair_are_judged_as_one() -> None:
    back = TRIANGLE.rename(columns={"source": "target", "target": "source"})
    both = pd.concat([TRIANGLE, back], ignore_index=True)
    assert data_processing_inequality(both).tolist() == [True, True, False] * 2


def test_edge_of_a_regulator_is_not_removed_through_a_target() -> None:
    assert data_processing_inequality(TRIANGLE, regulators=["a", "c"]).all()
    assert not data_processing_inequality(TRIANGLE, regulators=["a", "b", "c"]).all()


def test_empty_networks_stay_empty() -> None:
    assert len(data_processing_inequality(TRIANGLE.iloc[:0], regulators=["a"])) == 0
    assert data_processing_inequality([], [], []).size == 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((TRIANGLE.drop(columns="mi_bits"),), {}, "edges: found no column mi_bits"),
        ((pd.concat([TRIANGLE, TRIANGLE]),), {}, "found b - a more than once"),
        ((TRIANGLE.assign(source=["b", None, "a"]),), {}, "edges: found a missing name"),
        ((TRIANGLE.assign(target=["b", "b", "c"]),), {}, "joins gene"),
        ((TRIANGLE.assign(mi_bits=[0.1, np.nan, 0.2]),), {}, "expected a finite number"),
        (
            (TRIANGLE.assign(source=["b", "a", "a"], target=["a", "b", "c"]),),
            {},
            "with another mi_bits than the opposite direction",
        ),
        ((TRIANGLE,), {"regulators": ["x"]}, "regulators: found none that has an edge"),
        ((TRIANGLE,), {"tolerance": 2}, "tolerance is 2"),
        ((TRIANGLE,), {"rule": "other"}, "rule is 'other'"),
        ((TRIANGLE,), {"n_genes": 4}, "found beside a table of edges"),
        (([0, 1],), {}, "found no j and mi"),
        (([0, 1], [1], [0.1]), {}, "expected three vectors of one length"),
        (([0], [5], [0.1]), {"n_genes": 3}, "expected a gene from 0 to 2"),
        (([0], [1], [0.1]), {"regulators": [7]}, "found gene 7; expected numbers from 0 to 1"),
    ],
)
def test_what_is_no_network_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        data_processing_inequality(*arguments, **options)
