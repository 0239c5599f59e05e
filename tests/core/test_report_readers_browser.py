"""Every method's report for every reader: contrast, dark scheme, phone, paper, keyboard."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import motion_reports
import planted_modes
import predictor_levels
import pytest
from browser_page import CHROMIUM, Page
from mirna_results import write_mirna_results
from pairtile.report import write_report
from result_files import write_results

pytestmark = [
    pytest.mark.complete,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


def _written(folder: Path) -> Path:
    write_report(folder, folder / "report.html", folder / "figures")
    return folder


REPORTS: dict[str, Callable[[Path], Path]] = {
    "mutual_information": lambda folder: _written(write_results(folder / "demo", bootstraps=20)),
    "mirna_targets": lambda folder: _written(write_mirna_results(folder / "demo")),
    "multimodal_correlation": planted_modes.analysis,
    "predictor_pairs": lambda folder: predictor_levels.analysis(
        folder, predictor_levels.planted_levels(levels=3)
    ),
    "trajectory_correlation": motion_reports.analysis,
}
# Texts whose colour is too near to what lies under them, by the rule of WCAG 2 (AA).
TOO_FAINT = """(() => {
  const channel = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parsed = (text) => {
    const parts = text.match(/\\(([^)]+)\\)/)[1].split(/[ ,/]+/).map(Number);
    return parts.length < 4 ? [...parts, 1] : parts;
  };
  const over = (top, below, opacity) => [0, 1, 2].map((k) => top[k] * opacity + below[k] * (1 - opacity));
  const parents = (e) => (e ? [e, ...parents(e.parentElement)] : []);
  const paper = (e) => parents(e).reverse().reduce((below, layer) => {
    const colour = parsed(getComputedStyle(layer).backgroundColor);
    return over(colour, below, colour[3]);
  }, [255, 255, 255]);
  const found = [];
  let seen = 0;
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("script, style, noscript") || !e.checkVisibility()) continue;
    if (e.disabled || e.closest("[aria-disabled=true]")) continue;
    seen += 1;
    const style = getComputedStyle(e);
    const opacity = parents(e).reduce((o, layer) => o * Number(getComputedStyle(layer).opacity), 1);
    const [below, colour] = [paper(e), parsed(style.color)];
    const pair = [light(over(colour, below, colour[3] * opacity)), light(below)].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) found.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)}: ${e.textContent.slice(0, 30)}`);
  }
  return {seen, found};
})()"""  # noqa: E501
# What can be worked with, and has no name that a screen reader could say.
NAMELESS = """[...document.querySelectorAll(
  "a[href], button, input, select, summary, img, [role=button], [tabindex='0']")]
  .filter((e) => e.checkVisibility() && !(e.getAttribute("aria-label") || e.alt
    || e.textContent.trim() || [...(e.labels ?? [])].some((label) => label.textContent.trim())))
  .map((e) => e.outerHTML.slice(0, 100))"""


@pytest.fixture(scope="module", params=list(REPORTS))
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the report of one method."""
    folder = REPORTS[request.param](tmp_path_factory.mktemp(request.param))
    return (folder / "report.html").as_uri()


def scheme(page: Page, name: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": name}
    page.call("Emulation.setEmulatedMedia", features=[feature])


def test_texts_stand_out_in_both_schemes_and_controls_have_names(address: str, page: Page) -> None:
    page.open(address)
    page.ask("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    papers = []
    for name in ("light", "dark"):
        scheme(page, name)
        measured = page.ask(TOO_FAINT)
        assert measured["seen"] > 100
        assert measured["found"] == []
        papers.append(page.ask("getComputedStyle(document.body).backgroundColor"))
    assert papers[0] != papers[1]
    assert page.ask(NAMELESS) == []


def test_a_phone_shows_it_without_scrolling_sideways(address: str, page: Page) -> None:
    page.open(address)
    size = {"width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": True}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.wait_for("innerWidth === 360")
    assert page.ask("document.documentElement.scrollWidth") == 360
    # The headings that stay in view leave room for what is read.
    assert page.ask("document.querySelector('nav').offsetHeight") < 80
    # The drawing was made for a wide window, and is seen as a whole in the narrow one.
    inside = (
        "(() => { const cy = document.getElementById('network-canvas')._cyreg.cy;"
        " const b = cy.nodes().renderedBoundingBox({includeLabels: false});"
        " return b.x1 >= 0 && b.y1 >= 0 && b.x2 <= cy.width() && b.y2 <= cy.height(); })()"
    )
    page.wait_for(inside, 10)


def test_paper_gets_a_light_page_with_the_drawing_as_lines(address: str, page: Page) -> None:
    page.open(address)
    scheme(page, "dark")
    page.ask(
        "addEventListener('beforeprint', () => { window.printed ="
        " document.getElementById('network-print').innerHTML; })"
    )
    pdf = base64.b64decode(page.call("Page.printToPDF")["data"])
    assert pdf.startswith(b"%PDF")
    printed = page.ask("window.printed")
    drawn = int(page.ask("document.getElementById('network-canvas').dataset.nodes"))
    assert printed.count('class="node"') == drawn > 0
    assert 'fill="#ffffff"' in printed
    # Afterwards the page is as before.
    page.wait_for("document.getElementById('network-print').children.length === 0")
    assert page.ask("document.documentElement.className") == ""
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert page.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(address: str, page: Page) -> None:
    page.open(address)
    # Not by scrollIntoView: browsers may begin there with Tab.
    page.ask(
        "document.querySelectorAll('nav').forEach("
        "(e) => window.scrollTo(0, window.scrollY + e.getBoundingClientRect().top))"
    )
    wanted = page.ask(
        "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]"
        ".filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0)"
        ".map((e, k) => { e.dataset.wanted = k; return k; })"
    )
    page.ask("document.body.focus()")
    reached: dict[str, str] = {}
    for _ in range(len(wanted) + 20):
        page.press("Tab")
        number, outline = page.ask(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
            " return [e.dataset.wanted ?? null, s.outlineStyle + s.outlineWidth]; })()"
        )
        if number is None:
            continue
        if number in reached:
            break
        reached[number] = outline
    assert sorted(map(int, reached)) == wanted
    assert list(map(int, reached)) == sorted(wanted), "not in the order of the page"
    assert set(reached.values()) == {"solid3px"}
