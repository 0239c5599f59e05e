"""The page of a network: what it shows, and that names in it stay names."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import igraph
import lxml.html
import numpy as np
import pytest
from browser_page import CHROMIUM, browser, canvas, choose
from export_networks import AWKWARD, chain, items_table, large, write


def parsed(path: Path) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(path.read_text(encoding="utf-8"))


def drawing_of(path: Path) -> dict[str, Any]:
    """What the page draws."""
    content: dict[str, Any] = json.loads(parsed(path).get_element_by_id("network-data").text)
    return content


def names_in(drawing: dict[str, Any]) -> list[str]:
    return [node[0] for node in drawing["nodes"]]


@pytest.mark.parametrize("directed", [False, True])
def test_the_page_holds_the_network_whatever_its_names(directed: bool, tmp_path: Path) -> None:
    network, items = chain(AWKWARD, directed), items_table(AWKWARD, 3)
    ranked_by = "target_z" if directed else "clr"
    path = write(tmp_path, "html", network, items, directed=directed, score=ranked_by)
    drawing = drawing_of(path)
    names = names_in(drawing)
    assert sorted(names) == sorted(AWKWARD)
    edges = {(names[s], names[t]): score for s, t, score in drawing["edges"]}
    ends = zip(network["source"], network["target"], strict=True)
    scores = network[ranked_by].map(lambda score: float(f"{score:.4g}"))
    assert edges == dict(zip(ends, scores, strict=True))
    for script in parsed(path).iter("script"):  # no name has become one
        assert dict(script.attrib) in ({}, {"type": "application/json", "id": "network-data"})


def test_the_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = parsed(write(tmp_path, "html", chain(AWKWARD), items_table(AWKWARD)))
    assert page.xpath("//@src | //@href | //@action") == []
    [policy] = page.xpath("//meta[@http-equiv]/@content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_edges_far_below_average_for_their_target_come_last(tmp_path: Path) -> None:
    network = chain(AWKWARD).drop(columns="clr")
    network["target_z"] = np.linspace(-9, 3, len(network))
    drawing = drawing_of(write(tmp_path, "html", network, items_table(AWKWARD), score="target_z"))
    shown = [score for _, _, score in drawing["edges"]]
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] == -9


def test_the_page_is_the_same_each_time_and_leaves_the_random_state_alone(tmp_path: Path) -> None:
    network, items = large(200, 400)
    igraph.set_random_number_generator(random.Random(3))
    expected = igraph.Graph.Erdos_Renyi(n=10, m=5).get_edgelist()
    random.seed(3)
    igraph.set_random_number_generator(random)
    pages = [write(tmp_path, "html", network, items).read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]
    assert igraph.Graph.Erdos_Renyi(n=10, m=5).get_edgelist() == expected


def test_nodes_know_all_their_edges_and_lie_apart(tmp_path: Path) -> None:
    network, items = large(100, 300)
    nodes = drawing_of(write(tmp_path, "html", network, items))["nodes"]
    degrees = network["source"].value_counts().add(network["target"].value_counts(), fill_value=0)
    assert {name: n for name, _, _, n, *_ in nodes} == degrees.to_dict()
    assert len({(x, y) for _, x, y, *_ in nodes}) == len(nodes)


def test_edges_without_a_score_come_last(tmp_path: Path) -> None:
    network = chain(AWKWARD)
    network.loc[2, "clr"] = np.nan
    path = write(tmp_path, "html", network, items_table(AWKWARD), score="clr")
    edges = drawing_of(path)["edges"]
    assert [k for k, edge in enumerate(edges) if edge[2] is None] == [len(network) - 1]


def test_edges_have_the_words_they_are_coloured_and_filtered_by(tmp_path: Path) -> None:
    names = [f"g{k:02d}" for k in range(31)]
    network, items = chain(names), items_table(names)
    network["clr"] = np.arange(30.0, 0.0, -1.0)
    network["mode"] = ["non-monotonic", "repression", "activation"] * 10
    network["of_one_kind"] = "the same"
    network["many"] = [f"v{min(k, 20):02d}" for k in range(30)]
    network["p_method"] = ["extrapolated", "empirical"] * 15
    network["correlation"] = [-0.5, 0.5] * 15
    domains = dict(zip(names, ["A"] * 10 + ["B"] * 20 + [""], strict=True))
    items["domain"] = items["name"].map(domains)
    drawing = drawing_of(write(tmp_path, "html", network, items))
    found = {each["heading"]: each for each in drawing["categories"]}
    assert list(found) == ["mode", "many", "sign", "domain"]
    said = {
        heading: [each["values"][code] for code in each["codes"]] for heading, each in found.items()
    }
    assert found["mode"]["values"] == ["activation", "repression", "non-monotonic"]
    assert sorted(said["mode"]) == sorted(network["mode"])
    assert len(found["many"]["values"]) == 12
    assert said["many"].count("v20") == 10
    assert said["many"].count("other") == 10
    assert said["sign"].count("negative") == 15
    assert [said["domain"].count(v) for v in ("A", "B", "none", "between two")] == [9, 19, 0, 2]
    of_nodes = [found["domain"]["values"][code] for code in found["domain"]["of_nodes"]]
    assert of_nodes == [domains[name] or "none" for name in names_in(drawing)]


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
    network["mode"] = np.where(np.arange(len(network)) % 3 == 0, "activation", "repression")
    path = write(tmp_path, "html", network, items, directed=case == "directed")
    with browser(tmp_path / "profile") as session, session.fresh(tmp_path) as page:
        page.open(path.as_uri())
        assert page.ask("document.title") == 'demo "1" <α>'
        if network.empty:
            return
        wanted = str(network["source"].iloc[0])
        page.ask(
            f"(box => {{ box.value = {json.dumps(wanted)}; "
            "box.dispatchEvent(new Event('input')); })(document.getElementById('network-gene'))"
        )
        assert canvas(page)["chosen"] == wanted
        page.ask("document.querySelector('[data-do=fit]').click()")
        choose(page, "colour", "0")
        whole = int(canvas(page)["edges"])
        if case != "large":
            choose(page, "only", "0 0")
            assert int(canvas(page)["edges"]) == (network["mode"] == "activation").sum() < whole
            choose(page, "only", "")
            choose(page, "least", "1000")
            assert canvas(page)["edges"] == "1"
        assert not page.ask("document.documentElement.dataset.errors || ''")
