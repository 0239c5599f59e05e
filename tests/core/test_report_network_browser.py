"""The drawn network in a real browser, used as a person would: keyboard, search and filters."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from browser_page import IN_BROWSER, Page, canvas, choose
from pairtile.report.page import write_report
from result_files import LARGE, MODULES, write_large, write_results

pytestmark = [pytest.mark.complete, *IN_BROWSER]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_large(tmp_path_factory.mktemp("large") / "demo")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a network of 312 edges."""
    folder = write_results(tmp_path_factory.mktemp("small") / "demo")
    write_report(folder, folder / "report.html", folder / "figures")
    return folder


def status(page: Page) -> str:
    return str(page.ask("document.getElementById('network-status').textContent"))


def test_fifty_thousand_edges_open_as_modules_and_each_opens_to_its_genes(
    large: Path, page: Page
) -> None:
    seconds = page.open((large / "report.html").as_uri())
    assert (large / "report.html").stat().st_size < 5_000_000
    assert seconds < 30
    shown = canvas(page)
    assert (shown["view"], shown["first"]) == ("modules", str(LARGE))
    assert int(shown["nodes"]) == MODULES
    assert f"{MODULES} modules" in status(page)
    choose(page, "view", "m1")
    opened = canvas(page)
    assert opened["view"] == "m1"
    assert 50 < int(opened["nodes"]) < 500
    assert 500 < int(opened["edges"]) <= 2000
    assert status(page).startswith("Module 1: ")


def test_any_gene_of_a_large_network_is_found_with_all_its_neighbours(
    large: Path, page: Page
) -> None:
    page.open((large / "report.html").as_uri())
    network = pd.read_parquet(large / "network.parquet")
    name = network["target"].iloc[-1]  # of the weakest edge
    partners = set(network.loc[network["source"] == name, "target"])
    partners |= set(network.loc[network["target"] == name, "source"])
    page.ask("document.getElementById('network-gene').focus()")
    page.type(name)
    shown = canvas(page)
    assert (shown["view"], shown["chosen"]) == ("near", name)
    assert int(shown["nodes"]) == len(partners) + 1
    assert f"here with {len(partners)} neighbours" in status(page)


def test_all_edges_move_as_a_picture_and_are_drawn_where_they_rest(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    cy = "document.getElementById('network-canvas')._cyreg.cy"
    moved = "document.querySelector('#network-canvas canvas').parentElement.style.transform"
    choose(page, "view", "all")
    assert canvas(page)["edges"] == str(LARGE)
    page.wait_for(f"{cy}.batching()")  # drawn, and held
    page.ask(f"window.drawn = 0; {cy}.on('render', () => window.drawn++); 0")
    # The drawing hears of it a frame later, and takes the mouse for elsewhere until then.
    page.ask("addEventListener('scroll', () => setTimeout(() => window.scrolled = true, 100))")
    page.ask("document.getElementById('network').scrollIntoView()")
    page.wait_for("window.scrolled")
    middle = "document.getElementById('network-canvas').getBoundingClientRect()"
    x, y = (page.ask(f"{middle}.{side}") + 200 for side in ("x", "y"))
    mouse = {"button": "left", "buttons": 1, "clickCount": 1}
    before = page.ask(f"{cy}.pan('x')")
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
    for step in range(0, 51, 5):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y, **mouse)
    page.wait_for(f"Math.abs({cy}.pan('x') - {before} - 50) < 2")
    assert page.ask(moved).startswith("translate(")
    assert page.ask("window.drawn") == 0
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **mouse)
    page.wait_for(f"window.drawn === 1 && {moved} === '' && {cy}.batching()")
    # The click has given the drawing the focus: the wheel zooms.
    zoom = page.ask(f"{cy}.zoom()")
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-120)
    page.wait_for(f"{cy}.zoom() > {zoom}")
    page.wait_for(f"window.drawn === 2 && {moved} === ''")


def test_fewer_edges_are_drawn_as_the_slider_goes_up(small: Path, page: Page) -> None:
    page.open((small / "report.html").as_uri())
    scores = pd.read_parquet(small / "network.parquet")["mi_bits"].sort_values(ascending=False)
    page.ask("document.getElementById('network-least').focus()")
    page.press("End")
    assert canvas(page)["edges"] == "1"
    choose(page, "least", "500")
    assert canvas(page)["edges"] == "156"
    text = page.ask("document.getElementById('network-least-text').textContent")
    assert text == f"best 156 edges ({float(f'{scores.iloc[155]:.4g}')} and better)"


def test_colours_tell_modules_and_what_the_gold_standard_knows(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    legend = "[...document.querySelectorAll('#network-colours li')].map((e) => e.textContent)"
    assert page.ask(legend) == []
    choose(page, "colour", "module")
    assert page.ask(legend)[:2] == ["Module 1", "Module 2"]
    choose(page, "colour", "gold")
    assert "edge of the gold standard" in page.ask(legend)
    choose(page, "view", "top")
    assert canvas(page)["edges"] == "600"


def test_a_drawing_without_gold_standard_offers_no_colour_of_it(small: Path, page: Page) -> None:
    page.open((small / "report.html").as_uri())
    options = "[...document.getElementById('network-colour').options].map((o) => o.value)"
    assert page.ask(options) == ["role", "module"]


def test_the_drawing_is_worked_with_the_keyboard_alone(small: Path, page: Page) -> None:
    page.open((small / "report.html").as_uri())
    page.ask("document.getElementById('network-canvas').focus()")
    zoom = "document.getElementById('network-canvas')._cyreg.cy.zoom()"
    before = page.ask(zoom)
    page.press("+")
    assert page.ask(zoom) == pytest.approx(1.4 * before)
    name = pd.read_parquet(small / "network.parquet")["source"].iloc[0]
    page.ask("document.getElementById('network-gene').focus()")
    page.type(name)
    assert canvas(page)["chosen"] == name
    page.ask("document.querySelector('[data-do=near]').focus()")
    page.press("Enter")
    assert canvas(page)["view"] == "near"
    page.ask("document.getElementById('network-canvas').focus()")
    page.press("Escape")
    assert canvas(page)["view"] == "all"


def test_the_drawing_follows_the_dark_scheme(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    colour = (
        "document.getElementById('network-canvas')._cyreg.cy.nodes()[0].style('background-color')"
    )
    light = page.ask(colour)
    page.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    page.wait_for(f"{colour} !== {light!r}", 10)


def test_a_module_named_in_the_address_is_open(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri() + "#module=3")
    page.wait_for("document.getElementById('network-canvas').dataset.view === 'm3'", 10)
