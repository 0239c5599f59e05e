"""The report of ``trajectory_correlation`` in a real browser: tables at work, maps to be seen."""

from __future__ import annotations

import base64
import io
import json
from itertools import pairwise
from pathlib import Path

import lxml.html
import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from browser_page import (
    CHROMIUM,
    DARK,
    SCALE,
    Page,
    browser,
    drawn_samples,
    look_at,
    opened,
    resize,
    screenshot,
)
from method_pages import assert_columns_can_be_sorted
from motion_reports import analysis, analysis_of
from small_trajectories import mda, store

pytestmark = [
    pytest.mark.complete,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


def test_tables_and_network_work_in_the_browser(demo: Path, tmp_path: Path) -> None:
    page = opened((demo / "report.html").as_uri(), tmp_path / "profile")
    table = page.get_element_by_id("residues-table")
    assert table.get("data-enhanced") == "true"
    assert len(table.xpath("tbody/tr")) == 12
    numeric = ("edges", "betweenness", "fluctuation", "correlation time", "effective frames")
    assert_columns_can_be_sorted(table, numeric, text="residue")
    assert int(page.get_element_by_id("network-canvas").get("data-edges")) > 5
    assert len(page.xpath("//*[@id='network-names']/option")) > 5


def test_the_panel_shows_how_two_residues_move(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())
    first, second = pd.read_parquet(demo / "network.parquet")[["source", "target"]].iloc[0]
    look_at(page, first, second)
    kept = pd.read_parquet(demo / "items.parquet").query("kept")["name"].tolist()
    expected = []
    for name in (first, second):
        series = np.load(demo / "state/series.npy")[kept.index(name)].astype(np.float64)
        moved = series - series.mean(axis=1, keepdims=True)
        main = np.linalg.svd(moved, full_matrices=False)[0][:, 0]
        expected.append(np.sign(main[np.abs(main).argmax()]) * main @ moved)
    np.testing.assert_allclose(drawn_samples(page), np.transpose(expected), atol=2e-3, rtol=1e-3)
    assert page.ask("document.querySelectorAll('#evidence .course').length") == 2


def test_the_structure_turns_in_the_colours_of_what_is_chosen(demo: Path, tmp_path: Path) -> None:
    view = "document.getElementById('structure-canvas')"

    def colours() -> set[tuple[int, ...]]:
        address = page.ask(f"{view}.querySelector('canvas').toDataURL()")
        png = base64.b64decode(address.partition(",")[2])
        pixels = matplotlib.image.imread(io.BytesIO(png)).reshape(-1, 4)[:, :3]
        return set(map(tuple, np.round(7 * pixels).astype(int).tolist()))

    flags = (tmp_path / "profile", "--enable-unsafe-swiftshader")
    with browser(*flags) as page, page.fresh(tmp_path):
        page.open((demo / "report.html").as_uri())
        assert page.ask(f"{view}.dataset.drawn") is None  # not before it is in sight
        page.ask(f"{view}.scrollIntoView()")
        page.wait_for(f"{view}.dataset.drawn > 0")
        seen = []
        for title in ("domain", "betweenness"):
            page.ask(
                "(() => { const e = document.getElementById('structure-by');"
                f" e.value = [...e.options].findIndex((o) => o.text === '{title}');"
                " e.dispatchEvent(new Event('change')); })()"
            )
            assert page.ask(f"{view}.dataset.colouring") == title
            seen.append(colours())
            assert len(seen[-1]) > 5
            legend = page.ask("document.getElementById('structure-legend').textContent")
            assert ("HEAD" in legend) == (title == "domain")
        assert seen[0] != seen[1]
        assert page.ask("document.documentElement.dataset.errors ?? ''") == ""
        assert {request.partition(":")[0] for request in page.requests} <= {"file", "data"}
        # On a phone: maps keep letters that can be read, and nothing else is pushed aside.
        narrow = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **narrow)
        page.wait_for("innerWidth === 400")
        assert page.ask("document.querySelector('#figure-residues img').clientWidth") > 700
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        # On A4 paper, no column of a table is cut off.
        page.call("Emulation.setEmulatedMedia", media="print")
        page.call("Emulation.setDeviceMetricsOverride", **narrow | {"width": 718})
        page.wait_for("innerWidth === 718")
        cut = "e.scrollWidth > e.clientWidth"
        tables = "[...document.querySelectorAll('.table-scroll, .dt-layout-table')]"
        assert page.ask(f"{tables}.some((e) => e.checkVisibility())")
        assert page.ask(f"{tables}.filter((e) => {cut}).map((e) => e.innerText)") == []
        # Headings of the widest stand apart.
        titles = "[...document.querySelectorAll('#residues-table .dt-column-title')]"
        edges = page.ask(
            f"{titles}.map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right])"
        )
        assert len(edges) == 15
        assert all(left - right > 6 for (_, right), (left, _) in pairwise(edges))


def test_lone_c_alphas_without_a_chain_are_drawn(tmp_path: Path) -> None:
    still = np.arange(10)[:, None] * [3.0, 2.0, 0.0]
    frames = still + np.random.default_rng(1).normal(scale=0.3, size=(60, 10, 3))
    universe = mda.Universe.empty(10, 10, atom_resindex=range(10), trajectory=True)
    for key, values in (("name", ["CA"] * 10), ("resname", ["ALA"] * 10), ("resid", range(1, 11))):
        universe.add_TopologyAttr(key, list(values))
    universe.atoms.positions = still
    universe.atoms.write(str(tmp_path / "top.gro"))
    run = store(tmp_path, universe, frames, "run.xtc")
    keys = {"topology": str(tmp_path / "top.gro"), "trajectories": [run], "ensemble": False}
    estimator = {"kind": "gaussian", "surrogates": 3}
    out = analysis_of(tmp_path, keys | {"estimator": estimator, "export": ["tsv"]})
    view = "document.getElementById('structure-canvas')"
    with browser(tmp_path / "profile", "--enable-unsafe-swiftshader") as page, page.fresh(tmp_path):
        page.open((out / "report.html").as_uri())
        page.ask(f"{view}.scrollIntoView()")
        page.wait_for(f"{view}.dataset.drawn > 0")
        assert page.ask(f"{view}.dataset.drawn") == "10"
        address = page.ask(f"{view}.querySelector('canvas').toDataURL()")
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    assert (pixels[..., :3].max(axis=2) < 0.85).sum() > 500  # grey, on white


def test_the_view_holds_values_of_the_residues_that_it_draws(demo: Path) -> None:
    page = lxml.html.parse(demo / "report.html")
    data = json.loads(page.xpath("//*[@id='structure-data']/text()")[0])
    residues = pd.read_csv(demo / "residues.tsv", sep="\t", keep_default_na=False)
    keys = residues["name"].tolist()
    assert sorted(data["residues"]) == sorted(keys)
    by = {colouring["title"]: colouring for colouring in data["colourings"]}
    for title, column in (("fluctuation (Å)", "sd"), ("betweenness", "betweenness")):
        found = dict(zip(data["residues"], by[title]["values"], strict=True))
        assert [found[key] for key in keys] == pytest.approx(residues[column], rel=1e-3)
    names = [by["domain"]["names"][group] if group >= 0 else "" for group in by["domain"]["groups"]]
    found = dict(zip(data["residues"], names, strict=True))
    assert [found[key] for key in keys] == residues["domain"].tolist()


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
    with browser(tmp_path / "profile", *flags) as page, page.fresh(tmp_path):
        page.open((demo / "report.html").as_uri())
        resize(page, width)
        image = screenshot(page)
    assert image.shape[1] == SCALE * width
    for band in np.array_split(image, 8):
        assert band.std() > 0.02
    margin = image[500:, 1].mean()
    assert margin < 0.2 if flags else margin > 0.9
    # The maps are there: strong red and blue of the signed ones, yellow of the other.
    pixels = image.reshape(-1, 3)
    dimmed = 0.85 if flags else 1.0  # figures on a dark page
    for colour in ((0.70, 0.09, 0.17), (0.13, 0.40, 0.67), (0.99, 0.91, 0.28)):
        near = np.abs(pixels - dimmed * np.array(colour)).max(axis=1) < 0.12
        assert near.sum() > 100 * SCALE**2, colour
