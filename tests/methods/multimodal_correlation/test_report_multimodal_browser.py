"""The report of ``multimodal_correlation`` in a real browser: tables at work, nothing blank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser_page import CHROMIUM, Page, drawn_samples, look_at, opened
from method_pages import assert_columns_can_be_sorted
from planted_modes import analysis

pytestmark = [
    pytest.mark.complete,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the planted pairs' report."""
    return analysis(tmp_path_factory.mktemp("modes"))


def test_the_table_of_edges_can_be_sorted_and_searched(demo: Path, tmp_path: Path) -> None:
    page = opened((demo / "report.html").as_uri(), tmp_path / "profile")
    table = page.get_element_by_id("edges-table")
    assert table.get("data-enhanced") == "true"
    edges = len(pd.read_parquet(demo / "network.parquet"))
    assert len(table.xpath("tbody/tr")) == edges
    numeric = ("correlation", "samples", "modes of the pair", "p-value")
    assert_columns_can_be_sorted(table, numeric, text="goes with")
    assert page.xpath("//*[@id='conditions']//details[@open]")
    assert not page.xpath("//*[@id='conditions']//details[@open][3]")


def test_the_panel_shows_the_samples_of_each_mode(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())
    text = look_at(page, "g00", "g01")
    kept = pd.read_parquet(demo / "items.parquet").query("kept")["name"].tolist()
    rows = [kept.index("g00"), kept.index("g01")]
    expected = np.load(demo / "state/values.npy")[rows].T
    np.testing.assert_allclose(drawn_samples(page), expected, atol=1e-3, rtol=1e-3)
    edges = pd.read_parquet(demo / "network.parquet").query("source == 'g00' and target == 'g01'")
    fills = page.ask(
        "[...document.querySelectorAll('#evidence circle')].map((c) => c.attributes.fill.value)"
    )
    counts = pd.Series(fills).value_counts()
    assert sorted(counts)[-2:] == sorted(edges["n_samples"])
    assert counts.sum() == len(expected)
    for condition in ("mode", "Treatment", "Hours"):
        assert condition in text


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": {"method": "rmt"}},
        pytest.param(
            {"estimator": {"clustering": "none", "min_samples": 20}, "annotations": None},
            marks=pytest.mark.complete,
        ),
        pytest.param({"modules": {"method": "link_communities"}}, marks=pytest.mark.complete),
    ],
    ids=["no_edges", "plain", "link_communities"],
)
def test_no_kind_of_analysis_makes_the_page_complain(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    out = analysis(tmp_path, **changes)
    opened((out / "report.html").as_uri(), tmp_path / "profile")
