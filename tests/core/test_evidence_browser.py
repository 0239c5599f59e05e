"""What is chosen on the page, in a real browser: tables, drawing, panel and address agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser_page import IN_BROWSER, Page, canvas, drawn_samples, look_at
from pairtile.engine.state import write_state
from pairtile.report.page import write_report
from result_files import AWKWARD, write_results

pytestmark = [pytest.mark.complete, *IN_BROWSER]
OPEN = "document.getElementById('evidence').checkVisibility()"
HASH = "decodeURIComponent(location.hash)"
SAMPLES = 50


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a network whose items have values, batches and courses, and names like markup
    among them."""
    folder = write_results(tmp_path_factory.mktemp("evidence") / "demo")
    kept = pd.read_parquet(folder / "items.parquet").query("kept")
    random = np.random.default_rng(5)
    z = random.normal(size=(len(kept), SAMPLES))
    z[:, 7] = np.nan
    write_state(
        folder / "state",
        {
            "z": z,
            "by_rank": np.array(True),
            "sample_series": np.repeat([0, 1], SAMPLES // 2),
            "sample_batch": np.arange(SAMPLES, dtype=np.int32) % 2,
            "quality_samples": np.array([f"<i>s{k}</i>" for k in range(SAMPLES)]),
            "quality_counted": np.array(False),
            "component_shares": np.zeros(2),
            **{f"quality_{name}": np.zeros(SAMPLES) for name in ("size", "zeros", "missing")},
        },
    )
    write_report(folder, folder / "report.html", folder / "figures")
    return folder


def strongest(demo: Path) -> tuple[str, str]:
    best = pd.read_parquet(demo / "network.parquet").sort_values("mi_bits").iloc[-1]
    return best["source"], best["target"]


def test_a_pair_of_the_first_table_is_followed_everywhere(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())
    assert not page.ask(OPEN)
    pair = ",".join(strongest(demo))
    page.ask("document.querySelector('.first-rows tbody td:nth-child(3) a').click()")
    page.wait_for(OPEN)
    assert page.ask(HASH) == f"#pair={pair}"
    assert canvas(page)["chosen"] == pair
    assert len(drawn_samples(page)) == SAMPLES - 1  # one is missing
    # Its rows of the table, with their headings.
    text = page.ask("document.getElementById('evidence').innerText")
    for heading in ("MI (bits)", "p-value", "q-value"):
        assert heading in text
    assert page.ask("document.querySelectorAll('#evidence .course').length") == 2
    assert page.complaints == []


def test_the_drawing_and_the_search_choose(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())
    source, target = strongest(demo)
    cy = "document.getElementById('network-canvas')._cyreg.cy"
    node = f"{cy}.nodes().filter((n) => n.data('label') === {source!r})"
    page.ask(f"{node}.emit('tap') && 0")
    page.wait_for(f"{HASH} === '#gene={source}'")
    assert page.ask("document.getElementById('evidence-title').textContent") == source
    page.ask("document.getElementById('network-gene').focus()")
    page.type(target)
    page.press("Enter")
    page.wait_for(f"{HASH} === '#gene={target}'")
    assert canvas(page)["chosen"] == target
    page.ask(f"{cy}.emit('tap') && 0")  # on nothing
    page.wait_for(f"!{OPEN}")
    assert page.ask("location.hash") == ""


def test_an_address_opens_what_it_names(demo: Path, page: Page) -> None:
    source, target = strongest(demo)
    page.open((demo / "report.html").as_uri() + f"#pair={source},{target}")
    page.wait_for(OPEN, 10)
    assert page.ask("document.getElementById('evidence-title').textContent") == (
        f"{source} → {target}"
    )
    # An address that nothing has, or that no browser wrote, opens nothing and breaks nothing.
    for wrong in ("gene=nobody", "gene=%E0%A4%A", "pair=a"):
        page.ask(f"location.hash = {wrong!r}")
        page.ask("new Promise((done) => setTimeout(done, 50)) && 0")
    assert page.complaints == []


def test_partners_are_those_of_the_network_strongest_first(demo: Path, page: Page) -> None:
    network = pd.read_parquet(demo / "network.parquet")
    name = network["source"].value_counts().index[0]
    page.open((demo / "report.html").as_uri())
    look_at(page, name)
    own = network[(network["source"] == name) | (network["target"] == name)]
    own = own.sort_values("mi_bits", ascending=False, kind="stable")
    found = page.ask(
        "[...document.querySelectorAll('#evidence tbody tr')].map((r) => r.cells[0].textContent)"
    )
    other = np.where(own["source"] == name, own["target"], own["source"])
    assert sorted(found) == sorted(other)
    assert found[0] == other[0]
    page.ask("document.querySelector('#evidence tbody tr td:last-child a').click()")
    page.wait_for(f"{HASH}.startsWith('#pair=')")
    assert len(drawn_samples(page)) == SAMPLES - 1


def test_the_samples_of_a_pair_are_those_of_the_state(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())
    source, target = strongest(demo)
    look_at(page, source, target)
    names = pd.read_parquet(demo / "items.parquet").query("kept")["name"].tolist()
    z = np.load(demo / "state/z.npy")
    expected = z[[names.index(source), names.index(target)]].T
    expected = expected[~np.isnan(expected).any(axis=1)]
    np.testing.assert_allclose(drawn_samples(page), expected, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("width", [400, 1400])
def test_the_keyboard_goes_in_and_out_and_nothing_is_covered(
    demo: Path, page: Page, width: int
) -> None:
    page.open((demo / "report.html").as_uri())
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.ask("document.querySelector('.first-rows tbody a').focus()")
    page.press("Enter")
    page.wait_for(OPEN)
    assert page.ask("document.activeElement.id") == "evidence-title"
    page.press("Tab")
    assert page.ask("document.activeElement.id") == "evidence-close"
    page.press("Tab")
    assert page.ask("document.activeElement.closest('#evidence') !== null")
    box = "document.getElementById('evidence').getBoundingClientRect()"
    if width == 1400:
        right = page.ask("document.querySelector('main').getBoundingClientRect().right")
        assert right <= page.ask(f"{box}.left")
    else:
        assert page.ask(f"{box}.height") <= 450
        assert page.ask(f"{box}.width") <= 400
    assert page.ask("document.documentElement.scrollWidth") <= width
    page.press("Escape")
    page.wait_for(f"!{OPEN}")
    assert page.ask("document.activeElement.matches('.first-rows tbody a')")


def test_names_like_markup_stay_names(tmp_path: Path, page: Page) -> None:
    folder = write_results(tmp_path / "awkward", names=AWKWARD)
    write_report(folder, folder / "report.html", folder / "figures")
    page.open((folder / "report.html").as_uri())
    for name in pd.read_parquet(folder / "network.parquet")["source"].unique():
        assert look_at(page, name).startswith(name.split("\n")[0])
        assert page.ask(HASH) == f"#gene={name}"
    assert page.ask("document.querySelectorAll('#evidence :is(b, i, img)').length") == 0
    assert page.complaints == []
    assert page.ask("document.documentElement.dataset.errors ?? ''") == ""


def test_names_are_known_to_databases_by_what_they_look_like(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())

    def links(*names: str, symbols: str = "true", structure: str = "") -> dict[str, str]:
        found = page.ask(f"linksOut({list(names)}, {symbols}, {structure!r})")
        return {database: address.split("/", 3)[3] for database, address in found}

    assert links("TP53", "ENSG00000141510.18")["Ensembl"] == "id/ENSG00000141510"
    assert links("NM_000546.6")["NCBI"] == "nuccore/NM_000546.6"
    assert links("P04637")["UniProt"] == "uniprotkb?query=P04637"
    assert links("hsa-miR-21-5p") == {"miRBase": "results/?query=hsa-miR-21-5p"}
    assert links("MIMAT0000076") == {"miRBase": "results/?query=MIMAT0000076"}
    assert links("A:LYS13", symbols="false", structure="4AKE") == {"RCSB": "structure/4AKE"}
    assert set(links("TP53")) == {"NCBI", "UniProt", "STRING"}
    assert links("a/b&c")["STRING"] == "cgi/network?identifiers=a%2Fb%26c"
