"""The benchmark of validity: what it claims holds."""

from __future__ import annotations

import pytest

from benchmarks.validity.multimodal_correlation import run


@pytest.mark.complete
def test_the_statistics_hold_on_tables_whose_truth_is_known() -> None:
    rows = run(quick=True)
    assert {row["scenario"] for row in rows if not row["passed"]} == set()
    assert all(row["low"] <= row["measured"] <= row["high"] for row in rows)
