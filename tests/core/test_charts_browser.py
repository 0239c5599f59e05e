"""Figures that can be looked into, in a real browser under the page's content policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from browser_page import CHROMIUM, Page, browser
from matplotlib.figure import Figure
from pairtile.declare.vega_lite import specification
from pairtile.report import charts
from pairtile.report.method_report import CaptionedFigure
from pairtile.report.page import render_sections
from pairtile.report.sections import figures_section_of
from pairtile.report.style import save_figures

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]

GENE, OTHER = "<b>$x_1$</b>", "naïve 'µ' \\ \"gène\""
CANVAS = "document.querySelector('#figure-{} canvas')"


def page_of(folder: Path, figures: Mapping[str, Figure]) -> Path:
    """A page of figures alone."""
    specs = {name: specification(figure) for name, figure in figures.items()}
    svgs = save_figures(figures, folder)
    section = figures_section_of(
        [
            CaptionedFigure(name, name, "Caption.", f"what {name} shows", svg, specs[name])
            for name, svg in zip(figures, svgs, strict=True)
        ]
    )
    assert section is not None
    path = folder / "page.html"
    path.write_text(
        render_sections(
            name="figures", kind="test", headline="", n_warnings=0, version="1", sections=[section]
        ),
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with one large point and a map of three pairs, both drawn."""
    folder = tmp_path_factory.mktemp("charts")
    figures = {
        "points": charts.scatter(
            [0.0], [0.0], hover={"gene": [GENE]}, items=[[GENE]], s=900.0, xlim=(-1, 1),
            ylim=(-1, 1), xlabel="bits",
        ),
        "map": charts.heat_map(
            np.array([[0.25, 0.5], [0.75, np.nan]]), "r", items=True,
            hover={"gene": [GENE, OTHER], "and": [GENE, OTHER]},
        ),
    }  # fmt: skip
    path = page_of(folder, figures)
    with browser(folder / "profile") as opened, opened.fresh(folder):
        opened.open(path.as_uri())
        opened.wait_for("document.querySelectorAll('figure.live').length === 2")
        opened.ask("document.addEventListener('pairtile:chosen', (e) => (window.got = e.detail))")
        yield opened
        assert opened.complaints == []
        assert {each for each in opened.requests if not each.startswith("data:")} == {path.as_uri()}
        assert opened.ask("document.documentElement.dataset.errors ?? null") is None


def point_at(page: Page, figure: str, across: float, down: float, *kinds: str) -> None:
    """Move the pointer to a share of the canvas of a figure; with ``kinds``, press and release."""
    canvas = CANVAS.format(figure)
    page.ask(f"{canvas}.scrollIntoView({{block: 'center'}})")
    box = page.ask(f"{canvas}.getBoundingClientRect().toJSON()")
    place = {"x": box["x"] + across * box["width"], "y": box["y"] + down * box["height"]}
    for kind in ("mouseMoved", *kinds):
        pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        page.call("Input.dispatchMouseEvent", type=kind, **place, **pressed)


def hint(page: Page) -> str | None:
    return page.ask("((e) => e.hidden ? null : e.innerText)(document.querySelector('.hint'))")


def test_the_point_under_the_pointer_says_what_it_is(page: Page) -> None:
    point_at(page, "points", 0.52, 0.45)
    page.wait_for("!document.querySelector('.hint').hidden", 5)
    assert hint(page) == f"gene: {GENE}\nbits: 0\ny: 0"
    assert page.ask("document.querySelector('.hint').children.length") == 0
    point_at(page, "points", 0.99, 0.02)
    page.wait_for("document.querySelector('.hint').hidden", 5)


def test_a_cell_under_the_pointer_says_its_pair_and_one_without_a_value_nothing(page: Page) -> None:
    point_at(page, "map", 0.8, 0.4)
    page.wait_for("!document.querySelector('.hint').hidden", 5)
    assert hint(page) == f"gene: {GENE}\nand: {OTHER}\nr: 0.5"
    point_at(page, "map", 0.3, 0.8)
    page.wait_for("document.querySelector('.hint').innerText.endsWith('r: 0.75')", 5)
    point_at(page, "map", 0.8, 0.8)
    page.wait_for("document.querySelector('.hint').hidden", 5)


def test_a_click_chooses_and_what_is_chosen_is_marked(page: Page) -> None:
    page.ask("choose([])")
    pictures = f"[{CANVAS.format('points')}.toDataURL(), {CANVAS.format('map')}.toDataURL()]"
    plain = page.ask(pictures)
    point_at(page, "map", 0.8, 0.4, "mousePressed", "mouseReleased")
    page.wait_for("window.got?.items.length === 2", 5)
    assert page.ask("window.got.items") == [GENE, OTHER]
    one, other = page.ask(pictures)
    assert one == plain[0]  # the point stands for one of the two alone
    assert other != plain[1]
    point_at(page, "points", 0.52, 0.45, "mousePressed", "mouseReleased")
    page.wait_for("window.got.items.length === 1", 5)
    assert page.ask("window.got.items") == [GENE]
    one, third = page.ask(pictures)
    assert one != plain[0]
    assert third not in (plain[1], other)  # all pairs of the gene
    page.ask("choose([])")
    page.ask("document.dispatchEvent(new MouseEvent('mousemove'))")
    assert page.ask(pictures) == plain


def test_pictures_are_for_paper_and_charts_follow_the_width_of_the_window(page: Page) -> None:
    shown = (
        "['img', '.chart'].map((what) => "
        "getComputedStyle(document.querySelector(`#figure-map ${what}`)).display)"
    )
    assert page.ask(shown) == ["none", "block"]
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.ask(shown) == ["block", "none"]
    page.call("Emulation.setEmulatedMedia", media="")
    for width in (400, 1000):
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
            mobile=False,
        )  # fmt: skip
        box = "document.querySelector('#figure-map .chart')"
        page.wait_for(f"Math.abs({CANVAS.format('map')}.offsetWidth - {box}.clientWidth) < 24", 5)
        assert page.ask("document.documentElement.scrollWidth") <= width
    page.call("Emulation.clearDeviceMetricsOverride")


def test_the_policy_allows_no_eval_and_a_page_of_pictures_has_no_library(tmp_path: Path) -> None:
    named = {"points": charts.scatter([1, 2], [3, 4], hover={"sample": ["a", "b"]})}
    with_chart = page_of(tmp_path, named).read_text()
    assert 'id="library"' in with_chart
    assert "unsafe-eval" not in with_chart.split("<title>")[0]
    (tmp_path / "plain").mkdir()
    plain = page_of(tmp_path / "plain", {"points": charts.scatter([1, 2], [3, 4])}).read_text()
    assert 'id="library"' not in plain
    assert len(plain) < 60_000
