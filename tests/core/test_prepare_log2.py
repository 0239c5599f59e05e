"""The logarithm: when it is taken, what it changes, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.preprocess.value_kind import MAX_VALUES, measure_scale
from prepared_tables import prepare_expression, table


def naive_geo2r(values: np.ndarray) -> bool:
    """The rule of GEO2R's R script, on values without zeros."""
    q = np.nanquantile(values, [0, 0.25, 0.5, 0.75, 0.99, 1])
    return bool(q[4] > 100 or (q[5] - q[0] > 50 and q[1] > 0))


@given(
    hnp.arrays(
        np.float64,
        (5, 6),
        elements=st.one_of(
            st.floats(0.01, 20), st.floats(20, 300), st.floats(-20, -0.01), st.just(np.nan)
        ),
    )
)
@example(np.arange(2.0, 62.0).reshape(6, 10))
@example(np.arange(-30.0, 60.0, 4.0).reshape(1, -1))
def test_scale_follows_geo2r_where_no_value_is_zero(values: np.ndarray) -> None:
    if np.isnan(values).all():
        assert not measure_scale(values).looks_raw
        return
    assert measure_scale(values).looks_raw == naive_geo2r(values)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("microarray intensities", True),
        ("read counts", True),
        ("sparse counts of cells", True),
        ("log2 intensities", False),
        ("log ratios", False),
        ("fractions", False),
    ],
)
def test_auto_tells_raw_from_logarithmic_tables(kind: str, raw: bool) -> None:
    rng = np.random.default_rng(1)
    shape = (200, 30)
    values = {
        "microarray intensities": rng.lognormal(6, 1.5, shape),
        "read counts": rng.negative_binomial(1, 0.005, shape).astype(float),
        "sparse counts of cells": rng.poisson(rng.gamma(0.05, 40, (200, 1)), shape).astype(float),
        "log2 intensities": rng.normal(8, 2, shape),
        "log ratios": rng.normal(0, 1, shape),
        "fractions": rng.random(shape),
    }[kind]
    prepared = prepare_expression(table(values), {"min_samples": 1, "normalize": "none"})
    assert prepared.parameters["log2"] is raw
    assert prepared.parameters["log2_requested"] == "auto"
    (note,) = [n for n in prepared.notes if n.startswith("Log2")]
    assert note.startswith("Log2 applied (auto" if raw else "Log2 not applied (auto")
    assert re.search(r"the 99% quantile is [\d.]+", note)


@given(
    hnp.arrays(
        np.float64,
        (6, 8),
        elements=st.one_of(st.just(0.0), st.just(np.nan), st.floats(1e-300, 1e300)),
    ),
    st.sampled_from([0, 0.5, 1]),
)
def test_every_value_is_log2_or_missing_and_accounted_for(
    values: np.ndarray, pseudocount: float
) -> None:
    given_values = values.copy()
    settings = {
        "log2": True,
        "pseudocount": pseudocount,
        "normalize": "none",
        "min_samples": 1,
    }
    observed = ~np.isnan(values) & (values + pseudocount != 0)
    if observed.any(axis=1).sum() < 2:
        with pytest.raises(InputError, match="genes left"):
            prepare_expression(table(values), settings)
        return
    prepared = prepare_expression(table(values), settings)
    np.testing.assert_array_equal(values, given_values)
    items = prepared.items.set_index("name")
    for gene, row in zip(prepared.genes, prepared.values, strict=True):
        source = values[int(gene[1:])]
        for found, raw in zip(row, source, strict=True):
            if np.isnan(raw) or raw + pseudocount == 0:
                assert np.isnan(found)
            else:
                assert found == pytest.approx(np.log2(raw + pseudocount), rel=1e-14)
    account = items[["n_observed", "n_missing_input", "n_zeros_to_missing"]].sum(axis=1)
    assert (account == values.shape[1]).all()
    n_zeros = int((values == 0).sum()) if not pseudocount else 0
    assert prepared.counts["zeros_to_missing"] == n_zeros
    assert prepared.counts["values_missing_in_input"] == int(np.isnan(values).sum())
    assert items["n_zeros_to_missing"].sum() == n_zeros


@pytest.mark.parametrize("log2", [False, "auto"])
def test_zeros_stay_where_no_logarithm_is_taken(log2: bool | str) -> None:
    prepared = prepare_expression(table([[0, 1, 2], [3, 0, 1]]), {"log2": log2, "min_samples": 1})
    np.testing.assert_array_equal(prepared.values, [[0, 1, 2], [3, 0, 1]])
    assert prepared.counts["zeros_to_missing"] == 0


def test_negative_values_under_log2_name_gene_and_sample() -> None:
    values = [[100, 200, 300], [100, -2.5, 300]]
    with pytest.raises(
        InputError, match=re.escape("t.tsv: gene 'g1', sample 's1': found -2.5, which has no")
    ):
        prepare_expression(table(values), {"log2": True, "min_samples": 1})
    with pytest.raises(InputError, match=r"gene 'g1', sample 's1'"):
        prepare_expression(table(values), {"log2": True, "pseudocount": 2.5, "min_samples": 1})


def test_a_pseudocount_larger_than_the_depth_lets_negative_values_through() -> None:
    settings = {"log2": True, "pseudocount": 16, "min_samples": 1}
    prepared = prepare_expression(table([[112, 240, 0], [-8, -12, 48]]), settings)
    np.testing.assert_array_equal(prepared.values, [[7, 8, 4], [3, 2, 6]])


def test_auto_leaves_raw_looking_values_alone_if_some_are_negative_and_warns() -> None:
    values = [[100, 2000, 300], [100, -2.5, 300]]
    prepared = prepare_expression(table(values), {"min_samples": 1})
    assert prepared.parameters["log2"] is False
    np.testing.assert_array_equal(prepared.values, values)
    assert any("Log2 not applied: 1 values are negative" in w for w in prepared.warnings)


def test_log2_as_set_on_what_looks_logarithmic_is_done_and_warned_of() -> None:
    prepared = prepare_expression(
        table([[8.5, 7.1, 6.2], [5.5, 4.1, 3.2]]), {"log2": True, "min_samples": 1}
    )
    np.testing.assert_array_equal(prepared.values[0], np.log2([8.5, 7.1, 6.2]))
    assert any("the values look like logarithms" in w for w in prepared.warnings)


def test_a_pseudocount_without_logarithm_is_warned_of() -> None:
    prepared = prepare_expression(
        table([[1, 2, 3], [1, 3, 2]]), {"log2": False, "pseudocount": 1, "min_samples": 1}
    )
    assert any("pseudocount 1 is not used" in w for w in prepared.warnings)


def counts_table(totals: list[float], zeros: float = 0.0) -> Expression:
    random = np.random.default_rng(8)
    values = random.poisson(np.outer(random.gamma(2.0, 30.0, size=200), totals)).astype(float)
    values[random.random(values.shape) < zeros] = 0.0
    return Expression(values, [f"g{k}" for k in range(200)], [f"s{k}" for k in range(len(totals))])


@pytest.mark.parametrize(
    ("totals", "normalize", "warned"),
    [([1.0, 2.0], "none", True), ([1.0, 2.0], "cpm", False), ([1.0, 1.0], "none", False)],
)
def test_counts_of_unequal_samples_are_warned_of(
    totals: list[float], normalize: str, warned: bool
) -> None:
    table = counts_table(totals * 15)
    prepared = prepare_expression(table, {"normalize": normalize, "pseudocount": 1.0})
    found = [text for text in prepared.warnings if "preprocess.normalize" in text]
    assert bool(found) is warned
    if warned:
        assert "samples sum to between" in found[0]


@pytest.mark.parametrize(("zeros", "warned"), [(0.5, True), (0.05, False)])
def test_zeros_that_become_missing_are_warned_of(zeros: float, warned: bool) -> None:
    section = {"min_samples": 3, "pseudocount": 0}
    prepared = prepare_expression(counts_table([1.0] * 30, zeros), section)
    found = [text for text in prepared.warnings if "became missing under log2" in text]
    assert bool(found) is warned
    if warned:
        assert found[0].startswith(("49%", "50%", "51%"))
        assert "pseudocount: 1" in found[0]


def test_quantiles_of_a_large_table_are_those_of_a_sample_and_all_else_of_every_value() -> None:
    values = np.random.default_rng(3).lognormal(4.0, 1.5, (3000, 1700))
    values[values < 10] = 0.0
    values[17, 1] = np.nan
    values[2999, 1699] = -7.5
    assert values.size > MAX_VALUES
    found = measure_scale(values)
    seen = values[~np.isnan(values) & (values != 0)]
    assert (found.minimum, found.maximum) == (-7.5, seen.max())
    assert (found.n_negative, found.whole_numbers) == (1, False)
    expected = np.quantile(seen, [0.25, 0.99])
    np.testing.assert_allclose([found.lower_quartile, found.quantile_99], expected, rtol=0.02)
    assert measure_scale(values) == found
    assert measure_scale(np.rint(np.abs(values))).whole_numbers
