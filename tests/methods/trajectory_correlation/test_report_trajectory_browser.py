"""The report of ``trajectory_correlation`` in a real browser: tables at work, maps to be seen."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from browser_page import CHROMIUM, DARK, browse, opened
from motion_reports import analysis, of_tables

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


def test_tables_and_network_work_in_the_browser(demo: Path, tmp_path: Path) -> None:
    page = opened((demo / "report.html").as_uri(), tmp_path / "profile")
    table = page.get_element_by_id("residues-table")
    assert table.get("data-enhanced") == "true"
    assert len(table.xpath("tbody/tr")) == 12
    headings = {
        "".join(th.xpath(".//*[@class='dt-column-title']/text()")): th.get("class")
        for th in table.xpath("thead//th")
    }
    for numeric in ("edges", "betweenness", "fluctuation", "correlation time", "effective frames"):
        assert "dt-type-numeric" in headings[numeric]
    assert "dt-type-numeric" not in headings["residue"]
    assert len(table.xpath("thead//*[@role='button'][@tabindex='0']")) == len(headings)
    assert int(page.get_element_by_id("network-canvas").get("data-edges")) > 5
    assert len(page.xpath("//*[@id='network-names']/option")) > 5


@pytest.mark.parametrize(
    "changes",
    [
        {"estimator": {"kind": "dcc", "surrogates": 3}, "communities": []},
        pytest.param(
            {"estimator": {"kind": "dihedral", "surrogates": 0}, "keep": "all", "paths": []},
            marks=pytest.mark.complete,
        ),
        pytest.param({"keep": {"p_value": 1e-200}}, marks=pytest.mark.complete),
    ],
    ids=["dcc", "angles", "no_edges"],
)
def test_no_kind_of_analysis_makes_the_page_complain(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    out = analysis(tmp_path, **changes)
    opened((out / "report.html").as_uri(), tmp_path / "profile")


def test_names_that_look_like_markup_do_no_harm(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(60, 3))
    names = ["<script>alert(1)</script>", "</script><b>x", "-->"]
    out = of_tables(tmp_path, values, names=names, keep="all")
    page = opened((out / "report.html").as_uri(), tmp_path / "profile")
    assert not page.xpath("//main//b")


@pytest.mark.parametrize(
    ("width", "flags"),
    [
        (1280, []),
        pytest.param(1280, [DARK], marks=pytest.mark.complete),
        pytest.param(500, [], marks=pytest.mark.complete),
    ],
)
def test_the_page_as_seen_is_not_blank(
    demo: Path, tmp_path: Path, width: int, flags: list[str]
) -> None:
    shot, address = tmp_path / "page.png", (demo / "report.html").as_uri()
    size = f"--window-size={width},6000"
    browse(address, tmp_path / "profile", size, f"--screenshot={shot}", *flags)
    image = matplotlib.image.imread(shot)[..., :3]
    assert image.shape[1] == width
    for band in np.array_split(image, 8):
        assert band.std() > 0.02
    margin = image[1000:, 2].mean()
    assert margin < 0.2 if flags else margin > 0.9
    # The maps are there: strong red and blue of the signed ones, yellow of the other.
    pixels = image.reshape(-1, 3)
    dimmed = 0.85 if flags else 1.0  # figures on a dark page
    for colour in ((0.70, 0.09, 0.17), (0.13, 0.40, 0.67), (0.99, 0.91, 0.28)):
        near = np.abs(pixels - dimmed * np.array(colour)).max(axis=1) < 0.12
        assert near.sum() > 100, colour
