"""Figures that can be looked into, in a real browser under the page's content policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from browser_page import IN_BROWSER, Page, browser
from matplotlib.figure import Figure
from pairtile.declare.maps import maps_of
from pairtile.declare.vega_lite import specification
from pairtile.report import charts
from pairtile.report.method_report import CaptionedFigure
from pairtile.report.page import render_sections
from pairtile.report.sections import figures_section_of
from pairtile.report.style import save_figures

pytestmark = IN_BROWSER

GENE, OTHER = "<b>$x_1$</b>", "naïve 'µ' \\ \"gène\""
POINTS, MAP = "#figure-points canvas", "#figure-map .cells"
CANVAS = f"document.querySelector('{POINTS}')"


def page_of(folder: Path, figures: Mapping[str, Figure]) -> Path:
    """A page of figures alone."""
    specs = {name: maps_of(figure) or specification(figure) for name, figure in figures.items()}
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
        opened.wait_for("document.querySelectorAll('figure.live').length === 1")
        opened.ask("document.addEventListener('pairtile:chosen', (e) => (window.got = e.detail))")
        yield opened
        assert opened.complaints == []
        assert {each for each in opened.requests if not each.startswith("data:")} == {path.as_uri()}
        assert opened.ask("document.documentElement.dataset.errors ?? null") is None


def point_at(page: Page, part: str, across: float, down: float, *kinds: str) -> None:
    """Move the pointer to a share of what is drawn; with ``kinds``, press and release."""
    drawn = f"document.querySelector({part!r})"
    page.ask(f"{drawn}.scrollIntoView({{block: 'center'}})")
    box = page.ask(f"{drawn}.getBoundingClientRect().toJSON()")
    place = {"x": box["x"] + across * box["width"], "y": box["y"] + down * box["height"]}
    for kind in ("mouseMoved", *kinds):
        pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        page.call("Input.dispatchMouseEvent", type=kind, **place, **pressed)


def hint(page: Page) -> str | None:
    return page.ask("((e) => e.hidden ? null : e.innerText)(document.querySelector('.hint'))")


def test_the_point_under_the_pointer_says_what_it_is(page: Page) -> None:
    point_at(page, POINTS, 0.52, 0.45)
    page.wait_for("!document.querySelector('.hint').hidden", 5)
    assert hint(page) == f"gene: {GENE}\nbits: 0\ny: 0"
    assert page.ask("document.querySelector('.hint').children.length") == 0
    point_at(page, POINTS, 0.99, 0.02)
    page.wait_for("document.querySelector('.hint').hidden", 5)


def test_a_cell_under_the_pointer_says_its_pair_and_one_without_a_value_nothing(page: Page) -> None:
    point_at(page, MAP, 0.75, 0.25)
    page.wait_for("!document.querySelector('.hint').hidden", 5)
    assert hint(page) == f"gene: {GENE}\nand: {OTHER}\nr: 0.5"
    point_at(page, MAP, 0.25, 0.75)
    page.wait_for("document.querySelector('.hint').innerText.endsWith('r: 0.75')", 5)
    assert hint(page) == f"gene: {OTHER}\nand: {GENE}\nr: 0.75"
    point_at(page, MAP, 0.75, 0.75)
    page.wait_for("document.querySelector('.hint').hidden", 5)


MARKED = """[...document.querySelectorAll('#figure-map .cells div')].map((e) =>
  ["left", "top", "width", "height"].map((side) => parseFloat(e.style[side])))"""


def test_a_click_chooses_and_what_is_chosen_is_marked(page: Page) -> None:
    page.ask("choose([])")
    picture = f"{CANVAS}.toDataURL()"
    plain = page.ask(picture)
    point_at(page, MAP, 0.75, 0.25, "mousePressed", "mouseReleased")
    page.wait_for("window.got?.items.length === 2", 5)
    assert page.ask("window.got.items") == [GENE, OTHER]
    assert page.ask(picture) == plain  # the point stands for one of the two alone
    assert page.ask(MARKED) == [[50, 0, 50, 50], [0, 50, 50, 50]]  # both cells of the pair
    point_at(page, POINTS, 0.52, 0.45, "mousePressed", "mouseReleased")
    page.wait_for("window.got.items.length === 1", 5)
    assert page.ask("window.got.items") == [GENE]
    assert page.ask(picture) != plain
    assert page.ask(MARKED) == [[0, 0, 100, 50], [0, 0, 50, 100]]  # all pairs of the gene
    page.ask("choose([])")
    page.ask("document.dispatchEvent(new MouseEvent('mousemove'))")
    assert page.ask(picture) == plain
    assert page.ask(MARKED) == []


def test_pictures_are_for_paper_and_what_is_drawn_follows_the_width_of_the_window(
    page: Page,
) -> None:
    shown = (
        "['points img', 'points .chart', 'map img', 'map .map > div'].map((what) => "
        "getComputedStyle(document.querySelector(`#figure-${what}`)).display)"
    )
    assert page.ask(shown) == ["none", "block", "block", "block"]
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.ask(shown) == ["block", "none", "block", "none"]
    page.call("Emulation.setEmulatedMedia", media="")
    for width in (400, 1000):
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
            mobile=False,
        )  # fmt: skip
        box = "document.querySelector('#figure-points .chart')"
        page.wait_for(f"Math.abs({CANVAS}.offsetWidth - {box}.clientWidth) < 24", 5)
        assert page.ask("document.documentElement.scrollWidth") <= width
        point_at(page, MAP, 0.75, 0.25)
        page.wait_for("document.querySelector('.hint').innerText.endsWith('r: 0.5')", 5)
    page.call("Emulation.clearDeviceMetricsOverride")


@pytest.mark.complete
def test_a_map_of_thousands_of_rows_says_its_cells_at_once(tmp_path: Path) -> None:
    n = 2000
    values = np.random.default_rng(4).uniform(size=(n, n))
    values = np.tril(values) + np.tril(values, -1).T
    names = [f"r{k}" for k in range(n)]
    hover = {"residue": names, "and": names}
    path = page_of(tmp_path, {"large": charts.heat_map(values, "r", hover=hover)})
    assert path.stat().st_size < 4_000_000
    with browser(tmp_path / "profile") as opened, opened.fresh(tmp_path) as page:
        page.open(path.as_uri())
        for row, column in ((3, 1500), (1999, 0), (700, 701)):
            point_at(page, "#figure-large .cells", (column + 0.5) / n, (row + 0.5) / n)
            page.wait_for("!document.querySelector('.hint').hidden", 1)
            # A cell has three rows and columns; a point of the screen may be several cells.
            first, second, value = (line.split(": ")[1] for line in str(hint(page)).split("\n"))
            (i, last), (j, _) = (map(names.index, name.split(" to ")) for name in (first, second))
            assert last == min(i + 2, n - 1)
            assert max(abs(i - row), abs(j - column)) <= 6
            assert abs(float(value) - values[i : i + 3, j : j + 3].mean()) < 0.01
            page.ask("document.querySelector('.hint').hidden = true")


def test_the_policy_allows_no_eval_and_a_page_of_pictures_has_no_library(tmp_path: Path) -> None:
    named = {"points": charts.scatter([1, 2], [3, 4], hover={"sample": ["a", "b"]})}
    with_chart = page_of(tmp_path, named).read_text()
    assert 'id="library"' in with_chart
    assert "unsafe-eval" not in with_chart.split("<title>")[0]
    (tmp_path / "plain").mkdir()
    plain = page_of(tmp_path / "plain", {"points": charts.scatter([1, 2], [3, 4])}).read_text()
    assert 'id="library"' not in plain
    assert len(plain) < 60_000
