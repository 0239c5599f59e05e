"""Every method's report for every reader: contrast, dark scheme, any width, paper, keyboard;
and for one who means harm.

Screenshots are not compared with recorded ones, which other fonts would change, but with what the
page says of itself: at every width and on paper the same parts are there in the same order, each
has ink where it says that it is, and nothing is wider than the page.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import motion_reports
import planted_modes
import predictor_levels
import pytest
from browser_page import IN_BROWSER, SCALE, Page, axe_violations, resize, screenshot
from mirna_results import write_mirna_results
from pairtile.report.page import write_report
from result_files import write_results

pytestmark = [pytest.mark.complete, *IN_BROWSER]


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

# What a page shows, in its order: sections with their headings, drawings, figures, tables.
PARTS = """[...document.querySelectorAll("main h2, main canvas, main img, main table, main svg")]
  .filter((e) => e.checkVisibility({visibilityProperty: true})
    && e.getBoundingClientRect().height > 8
    && !e.parentElement.closest("svg, [aria-hidden=true]"))
  .map((e) => {
    const b = e.getBoundingClientRect();
    const name = e.id || e.getAttribute("alt")?.slice(0, 60) || e.closest("[id]")?.id || "";
    return [e.tagName, name, b.left + scrollX, b.top + scrollY, b.width, b.height];
  })"""
# What reaches beyond the page and cannot be scrolled to within it.
TOO_WIDE = """[...document.querySelectorAll("body *")].filter((e) => {
    if (!e.checkVisibility() || e.closest("script, style, noscript")) return false;
    for (let box = e.parentElement; box && box !== document.body; box = box.parentElement) {
      if (getComputedStyle(box).overflowX !== "visible") return false;
    }
    return e.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  }).map((e) => e.outerHTML.slice(0, 80))"""
PAPER_WIDTH = 794  # A4 at 96 dots an inch


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


def test_axe_finds_nothing_that_keeps_readers_out(address: str, page: Page) -> None:
    page.open(address)
    page.ask("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    for width in (1400, 400):
        resize(page, width)
        assert axe_violations(page) == []
    page.ask("document.querySelector('#network-canvas').insertAdjacentHTML('afterend', '<img>')")
    assert [rule for rule, _ in axe_violations(page)] == ["image-alt"]


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


# Of each sentence and key number of the first screen: its text, without the links to evidence of a
# sentence, and the ids that it links to.
FIRST_SCREEN = """[...document.querySelectorAll("#findings .tiles dd:not(.against), #findings .sentences li")]
  .map((e) => [
    [...e.childNodes].filter((n) => e.tagName === "DD" || n.nodeType === 3).map((n) => n.textContent).join(""),
    [...e.querySelectorAll("a")].map((a) => a.getAttribute("href").slice(1)), e.tagName === "DD"])"""  # noqa: E501
# What a reader sees of a place that a link has led to, the numbers in its pictures included.
SEEN = """((e) => e.checkVisibility() && e.getBoundingClientRect().top < innerHeight
  && [e.innerText, ...[...e.querySelectorAll("img")].map((i) => atob(i.src.split(",")[1]) + i.alt)].join(" ")
)(document.getElementById(%s))"""  # noqa: E501


def shows(evidence: str, value: str) -> bool:
    """Whether a number, or one that is rounded to it, is in a text."""
    places = len(value.partition(".")[2])
    found = re.findall(r"\d[\d,]*(?:\.\d+)?", evidence)
    return float(value) in {round(float(n.replace(",", "")), places) for n in found}


def test_every_number_of_the_first_screen_is_one_click_from_what_shows_it(
    address: str, page: Page
) -> None:
    page.open(address)
    found = page.ask(FIRST_SCREEN)
    assert len(found) > 6
    for text, places, is_key_number in found:
        assert places or not re.search(r"\d", text), text
        for place in places:
            page.ask(f"document.querySelector('#findings a[href=\"#{place}\"]').click()")
            seen = page.ask(SEEN % json.dumps(place))
            assert seen, place
            assert not is_key_number or shows(seen, text.replace(",", "")), (text, place)
    assert page.ask("document.querySelector('.headline a').hash.length") > 1
    # The numbers of a row are those of its pair, whose evidence is in the side panel.
    for cell in page.ask("[...document.querySelectorAll('.first-rows tbody tr')].map((e, k) => k)"):
        page.ask("choose([])")
        page.ask(
            f"document.querySelectorAll('.first-rows tbody tr')[{cell}].lastElementChild.click()"
        )
        assert page.ask("location.hash").startswith("#pair=")
        assert page.ask("document.getElementById('evidence').checkVisibility()")


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


# --- as seen ------------------------------------------------------------------------------------


def looked_at(page: Page) -> tuple[list[tuple[str, str]], list[str]]:
    """The parts of a page as (element, name), and what is wrong with them in a screenshot, or with
    its width."""
    width, image = page.ask("innerWidth"), screenshot(page)
    parts = page.ask(PARTS)
    faults = [f"wider than {width}: {found}" for found in page.ask(TOO_WIDE)]
    if page.ask("document.documentElement.scrollWidth") > width:
        faults.append("scrolls sideways")
    for tag, name, *box in parts:
        left, top, wide, high = (SCALE * number for number in box)
        seen = image[int(top) : int(top + high), max(0, int(left)) : int(left + wide)]
        if not seen.size or seen.std() < 0.01:
            faults.append(f"blank: {tag} {name}")
    # Nor is a screenful between them.
    faults += [
        f"blank below {start / SCALE:.0f}"
        for start in range(0, image.shape[0] - 450, 450)
        if image[start : start + 450].std() < 0.01
    ]
    return [(tag, name) for tag, name, *_ in parts], faults


def test_every_width_and_paper_show_the_same_parts_none_blank_or_too_wide(
    address: str, page: Page
) -> None:
    page.open(address)
    page.ask("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    seen = {}
    for width in (1400, 1000, 400):
        resize(page, width)
        page.wait_for("document.getElementById('network-canvas').clientWidth <= innerWidth")
        seen[width], faults = looked_at(page)
        assert not faults, f"{width}: {faults}"
    kinds = {tag for tag, _ in seen[1400]}
    assert kinds >= {"H2", "TABLE"}
    assert kinds & {"IMG", "SVG", "CANVAS"}
    assert seen[1000] == seen[1400]
    assert seen[400] == seen[1400]
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    resize(page, PAPER_WIDTH)
    page.ask("dispatchEvent(new Event('beforeprint'))")
    printed, faults = looked_at(page)
    assert faults == []
    headings = [part for part in seen[1400] if part[0] == "H2"]
    assert [part for part in printed if part[0] == "H2"] == headings
    assert len(printed) > len(headings)


FAULTY = """<!DOCTYPE html><html data-ready="true"><body><main><h2>Seen</h2>
<table id="blank" style="opacity: 0"><tr><td>1</td></tr></table>
<p style="width: 2000px">wide</p><div style="height: 3000px"></div><p>end</p></main></html>"""


def test_what_is_blank_or_too_wide_is_found(page: Page, tmp_path: Path) -> None:
    """The check of the test above can fail."""
    (tmp_path / "faulty.html").write_text(FAULTY)
    page.open((tmp_path / "faulty.html").as_uri())
    resize(page, 1000)
    parts, faults = looked_at(page)
    assert parts == [("H2", ""), ("TABLE", "blank")]
    kinds = [fault.split(":")[0] for fault in faults]
    assert kinds[:3] == ["wider than 1000", "scrolls sideways", "blank"]
    assert kinds[3].startswith("blank below")


def test_every_table_that_sorts_is_sorted_with_the_keyboard(address: str, page: Page) -> None:
    page.open(address)
    page.ask("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    tables = page.ask(
        "[...document.querySelectorAll('table[data-enhanced=true]')].map((e) => e.id)"
    )
    assert "edges-table" in tables
    for table in tables:
        heading = f"document.querySelector('#{table} thead th:has([tabindex])')"
        sort, orders = f"{heading}.getAttribute('aria-sort')", set()
        for _ in range(3):  # ascending, descending, perhaps as it was
            before = json.dumps(page.ask(sort))
            page.ask(f"{heading}.querySelector('[tabindex]').focus()")
            page.press("Enter")
            page.wait_for(f"{sort} !== {before}", 10)
            orders.add(page.ask(sort))
        assert orders >= {"ascending", "descending"}, table


# --- one who means harm -------------------------------------------------------------------------

DEED = "document.title='stolen'"
INJECTED = f"""
<script>{DEED}</script>
<script type="module">{DEED}</script>
<script src="data:text/javascript,{DEED}"></script>
<img src="x:" onerror="{DEED}"><svg onload="{DEED}"></svg>
<details open ontoggle="{DEED}"><summary>x</summary></details>
<iframe srcdoc="<script>parent.{DEED}</script>"></iframe>
<object data="data:text/html,x"></object>
<base href="https://example.invalid/"><link rel="stylesheet" href="https://example.invalid/x.css">
<img src="https://example.invalid/x.png"><a id="deed" href="javascript:{DEED}">x</a>
<form id="send" action="https://example.invalid/"></form>
"""


# Of everything that the policy stops, by the part of it that did.
NOTE_BLOCKED = """window.blocked = [];
  addEventListener("securitypolicyviolation", (e) => window.blocked.push(e.effectiveDirective));"""


def title_of_injected(page: Page, text: str, folder: Path) -> str:
    """The title of a page with harm put into its body, after what can be clicked was."""
    path = folder / "injected.html"
    assert text.count("</main>") == 1
    path.write_text(text.replace("</main>", INJECTED + "</main>"), encoding="utf-8")
    page.call("Page.navigate", url=path.as_uri())
    page.wait_for("document.readyState === 'complete' && document.getElementById('send') !== null")
    page.ask("document.getElementById('deed').click()")
    page.ask(f"document.body.setAttribute('onclick', {DEED!r}); document.body.click()")
    return str(page.ask("document.title"))


def test_an_injected_script_or_handler_is_blocked(
    address: str, chromium: Page, tmp_path: Path
) -> None:
    text = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    [policy] = re.findall('<meta http-equiv="Content-Security-Policy" content="(.*?)">', text)
    allowed = dict(part.split(maxsplit=1) for part in html.unescape(policy).split("; "))
    assert allowed["default-src"] == "'none'"
    assert all(re.fullmatch("'sha256-.{43}='", source) for source in allowed["script-src"].split())
    with chromium.fresh(tmp_path) as page:  # which may complain
        page.open(address)
        page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_BLOCKED)
        # Without the policy it is done: the check can fail.
        unguarded = text.replace('http-equiv="Content-Security-Policy"', "")
        assert title_of_injected(page, unguarded, tmp_path) == "stolen"
        assert title_of_injected(page, text, tmp_path) == page.ask("document.title") != "stolen"
        page.ask("document.getElementById('send').submit()")
        page.wait_for("window.blocked.includes('form-action')", 10)
        assert set(page.ask("window.blocked")) >= {
            "script-src-elem",
            "script-src-attr",
            "style-src-elem",
            "img-src",
            "object-src",
            "base-uri",
        }
