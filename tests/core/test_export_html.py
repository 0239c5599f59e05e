"""The page of a network: what it shows, and that names in it stay names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import pandas as pd
import pytest
from export_networks import AWKWARD, chain, items_table, large, write
from pairtile.io.networks import network_elements

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)


class Page(HTMLParser):
    """Tags of a page, text of its scripts by id."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            identifier = self.tags[-1][1].get("id") or ""
            self.scripts[identifier] = self.scripts.get(identifier, "") + data

    @property
    def elements(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.scripts["elements"])
        return content


@pytest.mark.parametrize("directed", [False, True])
def test_the_page_holds_the_network_whatever_its_names(directed: bool, tmp_path: Path) -> None:
    network, items = chain(AWKWARD, directed), items_table(AWKWARD, 3)
    page = Page(write(tmp_path, "html", network, items, directed=directed))
    names = {node["data"]["id"]: node["data"]["name"] for node in page.elements["nodes"]}
    assert sorted(names.values()) == sorted(AWKWARD)
    edges = {
        (names[e["data"]["source"]], names[e["data"]["target"]]): e["data"]["mi_bits"]
        for e in page.elements["edges"]
    }
    ends = zip(network["source"], network["target"], strict=True)
    assert edges == dict(zip(ends, network["mi_bits"], strict=True))
    scripts = [attrs for tag, attrs in page.tags if tag == "script"]
    assert len(scripts) == 3  # data, library, page: no name has become a script


def test_the_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = Page(write(tmp_path, "html", chain(AWKWARD), items_table(AWKWARD)))
    assert not any({"src", "href", "action"} & set(attrs) for _, attrs in page.tags)
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_a_large_network_shows_its_strongest_edges_and_says_so(tmp_path: Path) -> None:
    network, items = large(300, 3000)
    path = write(tmp_path, "html", network, items)
    text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
    assert "The 1,000 strongest of 3,000 edges (by clr)" in text
    shown = [edge["data"]["clr"] for edge in Page(path).elements["edges"]]
    assert shown == np.sort(network["clr"])[::-1][:1000].tolist()


def test_elements_are_the_same_each_time_and_leave_the_random_state_alone() -> None:
    network, items = large(200, 400)
    first = network_elements(network, items, limit=100)
    again = network_elements(network, items, limit=100)
    assert first == again
    other = network_elements(network, items, limit=100, seed=2)
    assert [n["position"] for n in other["nodes"]] != [n["position"] for n in first["nodes"]]
    assert first["shown_edges"] == len(first["edges"]) == 100
    assert first["total_edges"] == 400
    assert igraph.Graph.Erdos_Renyi(n=10, m=5).ecount() == 5


def test_nodes_know_all_their_edges_and_lie_apart() -> None:
    network, items = large(100, 300)
    elements = network_elements(network, items, limit=50)
    degrees = network["source"].value_counts().add(network["target"].value_counts(), fill_value=0)
    for node in elements["nodes"]:
        assert node["data"]["degree"] == degrees[node["data"]["name"]]
    positions = {tuple(node["position"].values()) for node in elements["nodes"]}
    assert len(positions) == len(elements["nodes"])


def test_elements_have_no_missing_numbers_and_no_edge_without_a_score() -> None:
    network = chain(AWKWARD)
    network.loc[2, "clr"] = np.nan
    elements = network_elements(network, items_table(AWKWARD))
    json.dumps(elements, allow_nan=False)
    assert elements["shown_edges"] == len(network) - 1
    with pytest.raises(ValueError, match="limit is 0"):
        network_elements(network, items_table(AWKWARD), limit=0)


def test_an_empty_network_says_so(tmp_path: Path) -> None:
    network, items = chain(["a", "b"]).iloc[:0], items_table(["a", "b"])
    elements = network_elements(network, items)
    assert (elements["nodes"], elements["edges"], elements["score_min"]) == ([], [], None)
    path = write(tmp_path, "html", network, items)
    assert "This network has no edges." in path.read_text(encoding="utf-8")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found")
@pytest.mark.parametrize("case", ["awkward", "directed", "large", "empty"])
def test_chromium_draws_the_page_and_runs_no_name(case: str, tmp_path: Path) -> None:
    names = [*AWKWARD, "<img src=x onerror=\"document.title='stolen'\">"]
    network, items = chain(names, directed=case == "directed"), items_table(names, 3)
    if case == "large":
        network, items = large(2000, 50_000)
    if case == "empty":
        network = network.iloc[:0]
    path = write(tmp_path, "html", network, items, directed=case == "directed")
    # Search for a gene and move the slider as a person would, then report what the page shows.
    script = """<script>
      const box = document.getElementById("search"), slider = document.getElementById("slider");
      const cy = window.pairtileNetwork, seen = {drawn: cy.edges().length};
      if (cy.nodes().length) {
        box.value = cy.nodes()[0].data("name");
        box.dispatchEvent(new Event("change"));
        seen.chosen = document.getElementById("chosen").textContent === box.value;
        slider.value = 1000;
        slider.dispatchEvent(new Event("input"));
        seen.left = cy.edges().not(".weak").length;
      }
      seen.title = document.title;
      document.body.dataset.seen = JSON.stringify(seen);
    </script></body>"""
    page = path.read_text(encoding="utf-8").replace("</body>", script)
    page = re.sub(r"<meta http-equiv[^>]*>", "", page)  # it lets no other script run than its own
    path.write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=5000",
            "--dump-dom",
            f"--user-data-dir={tmp_path / 'profile'}",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    seen = json.loads(
        found.group(1).replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")
    )
    assert seen["drawn"] == min(len(network), 1000)
    assert seen["title"] == 'demo "1" <α>'
    if len(network):
        assert seen["chosen"] is True
        assert seen["left"] == 1


def test_leaves_of_large_networks_do_not_lie_on_their_hubs() -> None:
    hubs = np.repeat([f"hub{k}" for k in range(25)], 40)
    leaves = [f"leaf{k}" for k in range(1000)]
    network = pd.DataFrame({"source": hubs, "target": leaves, "mi_bits": 1.0})
    items = pd.DataFrame({"name": [*dict.fromkeys(hubs), *leaves]})
    elements = network_elements(network, items)
    place = {
        node["data"]["id"]: np.array([node["position"]["x"], node["position"]["y"]])
        for node in elements["nodes"]
    }
    lengths = [
        np.linalg.norm(place[edge["data"]["source"]] - place[edge["data"]["target"]])
        for edge in elements["edges"]
    ]
    assert np.quantile(lengths, 0.05) > 0.2 * np.median(lengths)
