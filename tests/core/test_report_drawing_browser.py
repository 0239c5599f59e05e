"""The drawing in a real browser: names that do not lie on one another, and what is saved of it."""

from __future__ import annotations

import base64
import io
import time
from pathlib import Path
from typing import Any

import lxml.etree
import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from browser_page import IN_BROWSER, Page, canvas, choose
from pairtile.report.page import write_report
from result_files import AWKWARD, write_large, write_results

pytestmark = [pytest.mark.complete, *IN_BROWSER]
SVG = {"svg": "http://www.w3.org/2000/svg"}
CY = "document.getElementById('network-canvas')._cyreg.cy"
# Cytoscape's own measure of the names that it draws, on the screen; without outline and margin.
LABELS = (
    f"{CY}.nodes('.named').map((n) => {{"
    "const b = n.renderedBoundingBox({includeNodes: false, includeEdges: false,"
    " includeOverlays: false, includeLabels: true}); return [b.x1, b.y1, b.x2, b.y2]; })"
)
IN_VIEW = (
    f"{CY}.nodes().filter((n) => {{ const {{x, y}} = n.renderedPosition(); const cy = {CY};"
    " return x > 0 && y > 0 && x < cy.width() && y < cy.height(); }).map((n) => n.id())"
)
OUTLINE = 4.0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_large(tmp_path_factory.mktemp("large") / "demo")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 600 edges with names that look like markup."""
    names = [*AWKWARD, "a\N{COMBINING ACUTE ACCENT}\x07b", "x" * 60]
    folder = write_results(tmp_path_factory.mktemp("small") / "demo", names=names, n_edges=600)
    write_report(folder, folder / "report.html", folder / "figures")
    return folder


def saved(page: Page, button: str, file: Path) -> bytes:
    """What a button saves."""
    page.ask(f"document.querySelector({button!r}).click()")
    end = time.monotonic() + 60
    while not (file.exists() and file.stat().st_size):  # it is made before it is filled
        assert time.monotonic() < end, "nothing was saved"
        time.sleep(0.05)
    return file.read_bytes()


def overlaps(boxes: list[list[float]]) -> int:
    """How many pairs of boxes overlap, each less the room that cytoscape adds around letters."""
    x1, y1, x2, y2 = np.array(boxes).T[:, :, None]
    shared_x = np.minimum(x2, x2.T) - np.maximum(x1, x1.T) > OUTLINE
    shared_y = np.minimum(y2, y2.T) - np.maximum(y1, y1.T) > OUTLINE
    return int(np.triu(shared_x & shared_y, k=1).sum())


def settled(page: Page) -> list[list[float]]:
    """The names' boxes, once they stay as they are: they are placed a moment after a move."""
    last: list[list[float]] = []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.5)
        boxes = page.ask(LABELS)
        if boxes and boxes == last and len(boxes) == int(canvas(page)["named"]):
            return boxes
        last = boxes
    raise AssertionError("the names do not settle")


@pytest.mark.parametrize("view", ["modules", "m1", "top"])
def test_names_do_not_lie_on_one_another_at_any_zoom(large: Path, page: Page, view: str) -> None:
    page.open((large / "report.html").as_uri())
    choose(page, "view", view)
    named = []
    for fewest in (10, 3, 3):  # nearer by, fewer nodes are in view
        boxes = settled(page)
        assert len(boxes) >= fewest
        assert overlaps(boxes) == 0
        heights = np.array([box[3] - box[1] for box in boxes])
        assert np.ptp(heights) < 4
        named.append(set(page.ask(f"{CY}.nodes('.named').map((n) => n.id())")))
        for _ in range(2):
            page.ask("document.querySelector('[data-do=in]').click()")
    # Nearer by, genes are named that were not before, until all in view are.
    assert named[2] - named[0] or not set(page.ask(IN_VIEW)) - named[2]


def test_the_hub_and_the_chosen_gene_are_always_named(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    choose(page, "view", "m1")
    most = f"{CY}.nodes().sort((a, b) => b.data('size') - a.data('size'))[0]"
    assert page.ask(f"{most}.hasClass('named')")
    name = page.ask(f"{CY}.nodes().not('.named')[0].data('label')")
    page.ask("document.getElementById('network-gene').focus()")
    page.type(name)
    assert canvas(page)["chosen"] == name
    assert page.ask(f"{CY}.nodes('.chosen.named').length") == 1


def test_the_drawing_is_saved_as_lines_shapes_and_names(
    small: Path, page: Page, tmp_path: Path
) -> None:
    page.open((small / "report.html").as_uri())
    svg = lxml.etree.fromstring(saved(page, "[data-do=svg]", tmp_path / "network.svg"))
    network = pd.read_parquet(small / "network.parquet")
    seen = canvas(page)
    edges = svg.xpath("//svg:g[@class='edge']", namespaces=SVG)
    nodes = svg.xpath("//svg:g[@class='node']", namespaces=SVG)
    assert (len(edges), len(nodes)) == (int(seen["edges"]), int(seen["nodes"]))
    assert len(svg.xpath("//svg:text[@class='name']", namespaces=SVG)) == int(seen["named"])
    wanted = {
        f"{row.source} → {row.target}: {float(f'{row.mi_bits:.4g}')}".replace("\x07", "\ufffd")
        for row in network.itertuples()
    }
    assert {edge[0].text for edge in edges} == wanted
    titles = [node[0].text.rsplit(":", 1)[0] for node in nodes]
    drawn = set(network["source"]) | set(network["target"])
    assert set(titles) == {name.replace("\x07", "\ufffd") for name in drawn} >= set(AWKWARD)
    # Only what a drawing is made of, and every shape has a size.
    kinds = {lxml.etree.QName(element).localname for element in svg.iter()}
    assert kinds <= {"svg", "title", "rect", "g", "path", "polygon", "ellipse", "text"}
    assert all(float(e.get("rx")) > 0 for e in svg.iter("{*}ellipse"))
    # Each line ends in its target: at its edge, so nearer to its middle than it is large.
    places = {n[0].text.rsplit(":", 1)[0]: centre(n[1]) for n in nodes}
    for edge in edges:
        target = edge[0].text.split(" → ")[1].rsplit(":", 1)[0]
        end = [float(part) for part in edge[1].get("d").split()[-2:]]
        assert np.hypot(*np.subtract(end, places[target])) < 30


def centre(shape: Any) -> tuple[float, float]:
    if shape.get("cx"):
        return float(shape.get("cx")), float(shape.get("cy"))
    corners = np.array([[float(x) for x in c.split(",")] for c in shape.get("points").split()])
    return tuple(corners.mean(axis=0).tolist())


def test_the_saved_drawing_is_what_was_seen(small: Path, page: Page, tmp_path: Path) -> None:
    page.open((small / "report.html").as_uri())
    for _ in range(2):
        page.ask("document.querySelector('[data-do=in]').click()")
    time.sleep(0.4)
    seen = saved(page, "[data-do=png]", tmp_path / "network.png")
    saved(page, "[data-do=svg]", tmp_path / "network.svg")
    inside = "document.getElementById('network-canvas')"
    width, height = page.ask(f"[{inside}.clientWidth, {inside}.clientHeight]")
    page.call("Page.navigate", url=(tmp_path / "network.svg").as_uri())
    page.wait_for("document.documentElement.localName === 'svg'")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 2}
    shot = page.call("Page.captureScreenshot", clip=clip)["data"]
    pixels = [
        matplotlib.image.imread(io.BytesIO(content))[..., :3].mean(axis=2)
        for content in (seen, base64.b64decode(shot))
    ]
    high, wide = (min(p.shape[axis] for p in pixels) for axis in (0, 1))
    first, second = (p[: high // 16 * 16, : wide // 16 * 16] for p in pixels)
    # Blocks of 16 pixels: the same ink in the same places, whatever the letters' edges.
    blocks = [
        p.reshape(p.shape[0] // 16, 16, -1, 16).mean(axis=(1, 3)).ravel() for p in (first, second)
    ]
    assert np.corrcoef(*blocks)[0, 1] > 0.95


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_figures_are_saved_from_the_page_alone(
    small: Path, page: Page, tmp_path: Path, kind: str
) -> None:
    page.open((small / "report.html").as_uri())
    button = f"#figure-degree_distribution button[aria-label^='Save {kind.upper()}']"
    content = saved(page, button, tmp_path / f"degree_distribution.{kind}")
    if kind == "svg":
        assert content == (small / "figures" / "degree_distribution.svg").read_bytes()
    else:
        picture = matplotlib.image.imread(io.BytesIO(content))
        assert picture.shape[1] > 1000  # 89 mm
        assert picture[..., :3].std() > 0.02


IN_SIGHT = (
    f"(() => {{ const box = {CY}.extent(); return {CY}.nodes().filter((n) => {{"
    " const {x, y} = n.position();"
    " return box.x1 <= x && x <= box.x2 && box.y1 <= y && y <= box.y2; }).length; })()"
)


@pytest.mark.parametrize("width", [400, 1000])
def test_a_filter_never_leaves_an_empty_box_without_a_word(
    tmp_path: Path, page: Page, width: int
) -> None:
    folder = write_results(tmp_path / "demo", n_edges=900)
    network = pd.read_parquet(folder / "network.parquet")
    rare = network.index == network["mi_bits"].idxmin()
    network["mode"] = np.where(rare, "repression", "activation")
    network.to_parquet(folder / "network.parquet")
    write_report(folder, folder / "report.html", folder / "figures")
    page.open((folder / "report.html").as_uri())
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    far = network.loc[~network[["source", "target"]].isin(network[rare].values.ravel()).any(axis=1)]
    page.ask(f"document.getElementById('network-gene').value = {far['target'].iloc[0]!r}")
    page.ask("document.getElementById('network-search').requestSubmit()")
    choose(page, "colour", "0")
    page.wait_for(f"!{CY}.animated()")
    for _ in range(8):  # until the one edge lies out of sight
        page.ask("document.querySelector('[data-do=in]').click()")
    repression = page.ask(
        "[...document.querySelectorAll('#network-only option')]"
        ".find((o) => o.textContent === 'repression').value"
    )
    choose(page, "only", repression)
    assert canvas(page)["edges"] == "1"
    assert page.ask(IN_SIGHT) == 2
    choose(page, "least", "500")  # the rare edge is the weakest
    assert canvas(page)["nodes"] == "0"
    status = "document.getElementById('network-status').textContent"
    assert page.ask(status).startswith("Nothing is left in this view")
    choose(page, "only", "")
    assert page.ask(IN_SIGHT) > 0
