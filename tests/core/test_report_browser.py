"""The page in a real browser: no error, table and network at work, nothing blank."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from browser_page import DARK, IN_BROWSER, browse, opened
from report_pages import report
from result_files import AWKWARD, write_results

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the report of a network with regulators and a gold standard."""
    return report(write_results(tmp_path_factory.mktemp("results") / "demo"))


def test_table_and_network_work_in_the_browser(demo: str, tmp_path: Path) -> None:
    page = opened(demo, tmp_path / "profile")
    canvas = page.get_element_by_id("network-canvas")
    assert int(canvas.get("data-edges")) == 312
    assert len(canvas.xpath(".//canvas")) == 3
    assert page.get_element_by_id("edges-table").get("data-enhanced") == "true"
    assert len(page.xpath("//*[@id='edges-table']/tbody/tr")) == 50
    assert page.xpath("//*[@class='dt-search']/input[@type='search']")
    assert "rows 1 to 50 of 312" in page.text_content()
    assert len(page.xpath("//*[@id='network-names']/option")) == int(canvas.get("data-nodes"))


def test_a_gene_named_in_the_address_is_shown_with_its_neighbours(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo", names=AWKWARD, n_edges=500)
    name = AWKWARD[2]
    page = opened(report(folder) + "#gene=%22QUOTED%22", tmp_path / "profile")
    assert page.get_element_by_id("network-canvas").get("data-chosen") == name
    status = page.get_element_by_id("network-status").text_content()
    assert status.startswith(f"{name}: ")
    assert "neighbours: " in status


@pytest.mark.parametrize(
    "settings",
    [
        {"names": AWKWARD, "n_edges": 900, "bootstraps": 50, "score": "clr"},
        {"n_edges": 0, "gold": False},
        {"n_regulators": 0, "score": "target_z", "gold": False},
        {"n_edges": 1, "gold": False},
    ],
)
def test_no_kind_of_results_makes_the_page_complain(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    folder = write_results(tmp_path / "demo", **settings)  # type: ignore[arg-type]
    page = opened(report(folder), tmp_path / "profile")
    assert not page.xpath("//main//b")


@pytest.mark.parametrize(("width", "flags"), [(1280, []), (1280, [DARK]), (500, [])])
def test_the_page_as_seen_is_not_blank(
    demo: str, tmp_path: Path, width: int, flags: list[str]
) -> None:
    shot = tmp_path / "page.png"
    browse(
        demo, tmp_path / "profile", f"--window-size={width},4000", f"--screenshot={shot}", *flags
    )
    image = matplotlib.image.imread(shot)[..., :3]
    assert image.shape[1] == width
    # Every band of the page holds something, and the background follows the chosen scheme.
    for band in np.array_split(image, 8):
        assert band.std() > 0.02
    margin = image[1000:, 2].mean()
    assert margin < 0.2 if flags else margin > 0.9
