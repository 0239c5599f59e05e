"""The data processing inequality against a naive reference, golden networks and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mutual_information import naive_dpi
from pairtile.methods.mutual_information.dpi import data_processing_inequality
from paths import SHARED

GOLDEN = SHARED / "golden" / "mutual_information"


@st.composite
def graphs(draw: Any) -> Any:
    """Small graphs: random, tied, constant, complete and empty ones, rows in any order."""
    n_genes = draw(st.integers(2, 14))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    i, j = np.triu_indices(n_genes, 1)
    present = random.random(len(i)) < draw(st.sampled_from([0.0, 0.2, 0.6, 1.0]))
    i, j = i[present], j[present]
    kind = draw(st.sampled_from(["continuous", "tied", "constant", "signed"]))
    mi = {
        "continuous": random.gamma(2, 0.2, len(i)),
        "tied": random.integers(0, 4, len(i)) / 4,
        "constant": np.full(len(i), 0.3),
        "signed": random.normal(0, 1, len(i)),
    }[kind]
    swap = random.random(len(i)) < 0.5
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    order = random.permutation(len(i))
    mi = mi.astype(draw(st.sampled_from([np.float32, np.float64])))
    regulators = draw(st.sampled_from([None, 0.0, 0.3, 1.0]))
    is_regulator = None if regulators is None else random.random(n_genes) < regulators
    return i[order], j[order], mi[order], n_genes, is_regulator


@both_backends
@given(
    graph=graphs(),
    tolerance=st.sampled_from([0.0, 0.01, 0.1, 0.25, 0.9, 1.0]),
    rule=st.sampled_from(["relative", "additive"]),
)
@settings(max_examples=200, deadline=None)
def test_dpi_agrees_with_the_definition(
    backend: str, graph: Any, tolerance: float, rule: str
) -> None:
    i, j, mi, n_genes, is_regulator = graph
    keep = data_processing_inequality(
        i,
        j,
        mi,
        n_genes,
        tolerance=tolerance,
        rule=rule,
        is_regulator=is_regulator,
        backend=backend,
    )
    expected = naive_dpi(i, j, mi, n_genes, tolerance, rule, is_regulator)
    assert keep.dtype == bool
    np.testing.assert_array_equal(keep, expected)


def dense_dpi(
    i: Any, j: Any, mi: Any, n_genes: int, tolerance: float, is_regulator: Any = None
) -> np.ndarray:
    """The relative rule on a dense matrix, for graphs too large for :func:`naive_dpi`."""
    dense = np.full((n_genes, n_genes), -np.inf, dtype=mi.dtype)
    dense[i, j] = dense[j, i] = mi
    factor = mi.dtype.type(1 - tolerance)
    keep = []
    for a, b, value in zip(i, j, mi, strict=True):
        through = np.minimum(dense[a], dense[b])
        if is_regulator is not None and (is_regulator[a] or is_regulator[b]):
            through = through[is_regulator]
        keep.append(not (value < factor * through).any())
    return np.array(keep)


@both_backends
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("with_regulators", [False, True])
def test_dpi_agrees_with_a_dense_matrix_where_lists_are_long(
    backend: str, real: Any, with_regulators: bool
) -> None:
    """Hubs, lists longer than a block of threads, and many ties."""
    random = np.random.default_rng(7)
    n_genes = 1200
    is_regulator = random.random(n_genes) < 0.1 if with_regulators else None
    i, j = np.triu_indices(n_genes, 1)
    chance = np.where((i < 8) | (j < 8), 0.9, 0.03)
    present = random.random(len(i)) < chance
    i, j = i[present], j[present]
    mi = np.round(random.gamma(2, 0.2, len(i)), 2).astype(real)
    keep = data_processing_inequality(
        i, j, mi, n_genes, tolerance=0.2, is_regulator=is_regulator, backend=backend
    )
    np.testing.assert_array_equal(keep, dense_dpi(i, j, mi, n_genes, 0.2, is_regulator))
    assert 0 < keep.sum() < len(keep)


@both_backends
@pytest.mark.parametrize(("name", "n_before"), [("dream4_net1", 33), ("syntren300", 11178)])
def test_dpi_agrees_with_golden_edges(backend: str, name: str, n_before: int) -> None:
    path = GOLDEN / f"{name}.npz"
    if not path.exists():
        pytest.skip("the golden results (../shared/golden) are not on this machine")
    golden = np.load(path)
    mi, kept = golden["mi_bits"], golden["kept_after_dpi"]
    i, j = np.triu_indices(len(mi), 1)
    above = mi[i, j] >= golden["threshold_bits"]
    i, j = i[above], j[above]
    assert len(i) == n_before
    keep = data_processing_inequality(
        i, j, mi[i, j], len(mi), tolerance=float(golden["dpi_tolerance"]), backend=backend
    )
    network = np.zeros_like(kept)
    network[i[keep], j[keep]] = network[j[keep], i[keep]] = True
    np.testing.assert_array_equal(network, kept)


@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_dpi_does_not_depend_on_order_or_numbering(graph: Any, seed: int) -> None:
    i, j, mi, n_genes, is_regulator = graph
    keep = data_processing_inequality(i, j, mi, n_genes, is_regulator=is_regulator)
    random = np.random.default_rng(seed)
    order, number = random.permutation(len(i)), random.permutation(n_genes)
    renumbered = None
    if is_regulator is not None:
        renumbered = np.empty(n_genes, dtype=bool)
        renumbered[number] = is_regulator
    again = data_processing_inequality(
        number[j[order]], number[i[order]], mi[order], n_genes, is_regulator=renumbered
    )
    np.testing.assert_array_equal(again, keep[order])


def test_decisions_are_made_on_the_unpruned_graph() -> None:
    """0-2 explains 0-3 away although 0-2 is itself removed."""
    i, j = [0, 1, 0, 2, 0], [1, 2, 2, 3, 3]
    mi = [0.9, 0.8, 0.5, 0.7, 0.3]
    keep = data_processing_inequality(i, j, mi, 4)
    np.testing.assert_array_equal(keep, [True, True, False, True, False])


VALID: dict[str, Any] = {"i": [0, 1], "j": [1, 2], "mi": [0.5, 0.4], "n_genes": 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"j": [1, 1]}, "edge 1 joins gene 1 to itself"),
        ({"j": [1, 0]}, "between genes 0 and 1 occurs twice"),
        ({"i": [1, 0], "j": [0, 1]}, "between genes 0 and 1 occurs twice"),
        ({"j": [1, 3]}, r"j\[1\] is 3; expected a gene from 0 to 2"),
        ({"i": [-1, 1]}, r"i\[0\] is -1; expected a gene from 0 to 2"),
        ({"i": [0.0, 1.0]}, "i has type float64; expected integers"),
        ({"mi": [0.5, np.nan]}, r"mi\[1\] is nan; expected a finite number"),
        ({"mi": [np.inf, 0.5]}, r"mi\[0\] is inf; expected a finite number"),
        ({"mi": [0.5]}, "expected three vectors of one length"),
        ({"tolerance": -0.1}, "tolerance is -0.1; expected 0 to 1"),
        ({"tolerance": 1.5}, "tolerance is 1.5; expected 0 to 1"),
        ({"tolerance": np.nan}, "tolerance is nan"),
        ({"tolerance": -0.1, "rule": "additive"}, "expected 0 or more"),
        ({"rule": "multiplicative"}, "expected one of relative, additive"),
    ],
)
def test_bad_input_is_refused_with_a_reason(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        data_processing_inequality(**(VALID | change))
