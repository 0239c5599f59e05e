"""The report page: its parts, its safety, its size, and that it is the same each time."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.errors import StoreError
from pairtile.report.page import write_report
from pairtile.report.results import read_results
from pairtile.report.text import page_text, read_references
from pairtile.runtime.files import read_json, write_json
from report_pages import assert_made_again_alike, edge_rows, page_of, part, read_page
from result_files import AWKWARD, write_results

PAPERS = read_references("pairtile.methods.mutual_information")

ALL_PARTS = [
    "findings", "members", "edges", "figures", "evaluation", "trust", "cleaning", "files", "run",
    "methods",
]  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a network with regulators and a gold standard, its report written."""
    folder = write_results(tmp_path_factory.mktemp("results") / "demo")
    page_of(folder)
    return folder


def test_the_page_is_the_same_from_any_number_of_processes(tmp_path: Path) -> None:
    """Labels and drawing too, which a fork lays out beside the figures."""
    folder = write_results(tmp_path / "demo")
    items = pd.read_parquet(folder / "items.parquet")
    symbols = items["name"].where(items.index % 3 > 0, "S" + items["name"])
    items.assign(symbol=symbols).to_parquet(folder / "items.parquet")
    pages = []
    for processes in (1, 2):
        write_report(folder, tmp_path / "report.html", tmp_path / "figures", processes=processes)
        pages.append((tmp_path / "report.html").read_bytes())
    assert pages[0] == pages[1]
    network = pd.read_parquet(folder / "network.parquet")
    label = dict(zip(items["name"], symbols, strict=True))
    labelled = read_results(folder).network
    for end in ("source", "target"):
        assert labelled[end].tolist() == [label[name] for name in network[end]]


def test_page_holds_every_part_when_every_file_is_there(demo: Path) -> None:
    page = read_page(demo)
    assert [section.get("id") for section in page.xpath("//main/section")] == ALL_PARTS
    assert [a.get("href") for a in page.xpath("//body/nav//a")] == [
        f"#{name}" for name in ALL_PARTS
    ]
    assert [len(page.xpath(f"//*[@id='{name}']//img")) for name in ("figures", "trust")] == [1, 3]
    assert page.xpath("//*[@id='findings']//*[@id='network-canvas']")
    written = sorted(path.name for path in (demo / "figures").iterdir())
    names = ["cleaning", "degree_distribution", "precision_recall", "score_distribution"]
    assert written == [f"{name}{suffix}" for name in names for suffix in (".png", ".svg")]


def test_answers_come_first_and_agree_with_the_tables(demo: Path) -> None:
    page = read_page(demo)
    network = pd.read_parquet(demo / "network.parquet")
    headline = (
        f"312 edges between {network['source'].nunique()} regulators "
        f"and {network['target'].nunique()} genes"
    )
    assert page.xpath("//*[@class='headline']/a")[0].text_content() == headline
    assert headline in page.xpath("//title")[0].text
    text = part(page, "findings")
    hubs = network["source"].value_counts()
    assert f"{hubs.index[0]} ({hubs.iloc[0]} targets)" in text
    assert "14 of 214 genes left out: too few samples (9) and constant (5)." in text
    assert "AUPR 0.287, 14 times a random ranking" in text
    assert "936 of" in text
    assert "at least 0.213 bits (p ≤ 1e-5)" in text
    assert "removed 624 of 936 pairs (67%)" in text


def test_warnings_of_the_run_and_of_the_tables_are_shown(demo: Path) -> None:
    warnings = read_page(demo).xpath("//*[@class='warnings']")[0].text_content()
    assert "2 of 42 regulators are not in the expression table" in warnings


def test_what_was_run_can_be_repeated_from_the_page(demo: Path) -> None:
    text = part(read_page(demo), "run")
    for wanted in (
        "data/expression.tsv.gz", "5f" * 32, "1.2 MiB", "preprocess.normalize quantile",
        "keep.p_value 1.0e-05", "cpu, 2 cores of a test machine (auto: CuPy is not installed)",
        "pairs scored 4,133", "null 6.2 s 296 MiB", "snakemake 9.27.1",
    ):  # fmt: skip
        assert wanted in text


def test_left_out_genes_are_listed_with_their_reason(demo: Path) -> None:
    rows = read_page(demo).xpath("//*[@id='dropped-table']/tbody/tr")
    items = pd.read_parquet(demo / "items.parquet")
    dropped = items[~items["kept"]]
    shown = [(row[0].text_content(), row[1].text_content()) for row in rows]
    assert shown == list(zip(dropped["name"], dropped["reason"], strict=True))


def test_methods_paragraph_cites_what_was_used_and_nothing_else(tmp_path: Path, demo: Path) -> None:
    _, cited = page_text(read_results(demo)).cited("methods")
    assert cited == [
        PAPERS.BOLSTAD_2003, PAPERS.DAUB_2004, PAPERS.PHIPSON_SMYTH_2010,
        PAPERS.BENJAMINI_HOCHBERG_1995, PAPERS.MARGOLIN_2006, PAPERS.MARBACH_2012,
    ]  # fmt: skip
    plain = part(read_page(demo), "methods")
    for number in ("10 bins", "order 3", "10,000,000", "p ≤ 1e-5", "0.213 bits"):
        assert number in plain
    full = write_results(tmp_path / "full", score="clr", bootstraps=100, gold=False)
    text, cited = page_text(read_results(full)).cited("methods")
    assert {PAPERS.FAITH_2007, PAPERS.LACHMANN_2016} <= set(cited)
    assert PAPERS.MARBACH_2012 not in cited
    assert "100" in text


def test_every_reference_of_the_methods_paragraph_is_cited_in_it(tmp_path: Path) -> None:
    page = page_of(write_results(tmp_path / "demo", score="clr", bootstraps=10))
    paragraph = page.get_element_by_id("methods-text").text_content()
    references = page.xpath("//*[@id='methods-references']/li")
    assert len(references) >= 6
    for reference in references:
        first_author = reference.text_content().split()[0]
        year = re.search(r"\((\d{4})\)", reference.text_content())
        assert year is not None
        assert re.search(rf"{first_author}[^;)]* {year[1]}", paragraph)


@pytest.mark.parametrize(
    ("settings", "absent"),
    [
        ({"gold": False}, {"evaluation", "figures"}),
        ({"n_edges": 0, "gold": False}, {"evaluation", "figures", "members", "edges"}),
        ({"n_regulators": 0, "gold": False}, {"evaluation", "figures"}),
        ({"n_regulators": 0, "score": "target_z"}, set()),
        ({"score": "clr", "bootstraps": 100}, set()),
        ({"n_edges": 1}, set()),
    ],
)
def test_parts_show_only_when_there_is_something_to_show(
    tmp_path: Path, settings: dict[str, Any], absent: set[str]
) -> None:
    page = page_of(write_results(tmp_path / "demo", **settings))
    found = [section.get("id") for section in page.xpath("//main/section")]
    if "edges" in absent:
        found.remove("network")  # a sentence that there is none
    assert found == [name for name in ALL_PARTS if name not in absent]


def test_an_empty_network_is_said_in_words_and_takes_no_library_along(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo", n_edges=0)
    text = page_of(folder).text_content()
    assert "No edges: nothing passed the threshold" in text
    assert "There is no edge to draw." in text
    assert (folder / "report.html").stat().st_size < 300_000


def test_figures_of_an_earlier_run_do_not_stay(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    page_of(folder)
    (folder / "evaluation.json").unlink()
    page = page_of(folder)
    assert not (folder / "figures" / "precision_recall.svg").exists()
    assert not page.xpath("//*[@id='figure-precision_recall']")


def test_scores_and_unknown_counts_may_be_absent(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo", gold=False)
    (folder / "scores.npz").unlink()
    summary = {"analysis": "bare", "method": "mutual_information", "pairtile_version": "0.1.0"}
    write_json(folder / "summary.json", summary)
    page = page_of(folder)
    assert page.xpath("//h1")[0].text == "bare"
    assert not page.xpath("//*[@id='figure-score_distribution']")


def test_a_method_without_words_of_its_own_gets_a_whole_page(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo", gold=False)
    summary = json.loads((folder / "summary.json").read_text())
    summary["method"] = "another_correlation"
    write_json(folder / "summary.json", summary)
    network = pd.read_parquet(folder / "network.parquet")[["source", "target"]]
    network["cluster"] = 1
    network["correlation"] = np.linspace(0.9, 0.5, len(network))
    network.to_parquet(folder / "network.parquet")
    page = page_of(folder)
    found = [section.get("id") for section in page.xpath("//main/section")]
    assert found == ["findings", "edges", "trust", "cleaning", "run"]
    assert "another correlation" in page.xpath("//*[@class='kind']")[0].text
    assert "correlation" in [th.text_content() for th in page.xpath("//*[@id='edges-table']//th")]


def test_awkward_gene_names_stay_text_everywhere(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo", names=AWKWARD, n_edges=900, bootstraps=20)
    summary = json.loads((folder / "summary.json").read_text())
    summary["analysis"] = AWKWARD[0]
    summary["warnings"] = [f"no such gene: {AWKWARD[1]}"]
    summary["inputs"]["expression"]["path"] = "a<img src=x onerror=alert(1)>.tsv"
    write_json(folder / "summary.json", summary)
    page = page_of(folder)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    data = json.loads(page.get_element_by_id("network-data").text)
    drawn = {node[0] for node in data["nodes"]}
    assert set(AWKWARD) <= drawn
    cells = {cell for row in edge_rows(page) for cell in row}
    assert set(AWKWARD) <= cells
    assert page.xpath("//h1")[0].text == AWKWARD[0]
    assert AWKWARD[1] in page.xpath("//*[@class='warnings']")[0].text_content()


def test_page_loads_nothing_and_runs_only_its_own_scripts(demo: Path) -> None:
    page = read_page(demo)
    assert not page.xpath("//link | //iframe | //object | //embed | //script[@src] | //base")
    assert all(img.get("src").startswith("data:image/svg+xml") for img in page.xpath("//img"))
    [policy] = [meta.get("content") for meta in page.xpath("//meta[@http-equiv]")]
    assert policy.startswith("default-src 'none'")
    scripts = [s for s in page.xpath("//script") if s.get("type") != "application/json"]
    assert len(scripts) > 3
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_network_data_holds_every_edge_best_first_and_modules_that_open(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo", n_genes=800, n_edges=2000)
    page = page_of(folder)
    data = json.loads(page.get_element_by_id("network-data").text)
    assert not data["whole"]
    assert "All 2,000 edges" in part(page, "network")
    assert "drawn as modules first" in part(page, "network")
    assert "All 2,000 edges" in part(page, "edges")
    network = pd.read_parquet(folder / "network.parquet")
    best = network.sort_values("mi_bits", ascending=False)
    names = [node[0] for node in data["nodes"]]
    drawn = [(names[s], names[t], score) for s, t, score in data["edges"]]
    assert {edge[:2] for edge in drawn} == set(zip(best["source"], best["target"], strict=True))
    np.testing.assert_allclose([edge[2] for edge in drawn], best["mi_bits"], rtol=1e-3)
    members = pd.Series([node[5] for node in data["nodes"]]).value_counts()
    assert {number: genes for number, genes, *_ in data["modules"]} == members.to_dict()
    # In each module, and in the drawing of the strongest edges, every gene has a place of its own.
    assert pd.DataFrame([node[1:3] + node[5:] for node in data["nodes"]]).duplicated().sum() == 0
    assert len({tuple(place) for place in data["top"]}) == len(data["top"]) > 100


def test_a_small_network_is_drawn_as_a_whole(demo: Path) -> None:
    data = json.loads(read_page(demo).get_element_by_id("network-data").text)
    assert data["whole"]
    places = [tuple(node[1:3]) for node in data["nodes"]]
    assert len(set(places)) == len(places)


def test_more_edges_than_a_page_can_hold_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairtile.io.networks.drawing.MAX_EDGES", 1600)
    page = page_of(write_results(tmp_path / "demo", n_genes=800, n_edges=2000))
    assert len(json.loads(page.get_element_by_id("network-data").text)["edges"]) == 1600
    assert len(edge_rows(page)) == 1600
    for name in ("network", "edges"):
        assert "The 1,600 strongest of 2,000 edges" in part(page, name)
    assert "network.parquet" in part(page, "edges")


def test_edges_know_what_the_gold_standard_says_of_them(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    network = pd.read_parquet(folder / "network.parquet")
    evaluation = read_json(folder / "evaluation.json")
    verdicts = ["+-."[k % 3] for k in range(len(network))]
    evaluation["network"]["verdicts"] = "".join(verdicts)
    write_json(folder / "evaluation.json", evaluation)
    data = json.loads(page_of(folder).get_element_by_id("network-data").text)
    names = [node[0] for node in data["nodes"]]
    found = {(names[s], names[t]): ".-+"[v] for s, t, _, v in data["edges"]}
    expected = dict(
        zip(zip(network["source"], network["target"], strict=True), verdicts, strict=True)
    )
    assert found == expected
    # The table says it in a column, and where there is no gold standard it has none.
    page = read_page(folder)
    assert page.xpath("//*[@id='edges-table']//th")[-1].text == "in gold standard"
    words = {"+": "true", "-": "false", ".": ""}
    column = {(row[0], row[1]): row[-1] for row in edge_rows(page)}
    assert column == {ends: words[verdict] for ends, verdict in expected.items()}


@pytest.mark.complete
@pytest.mark.parametrize(
    ("n_genes", "n_edges", "limit"), [(1200, 5000, 5_000_000), (5000, 50_000, 5_000_000)]
)
def test_page_stays_small(tmp_path: Path, n_genes: int, n_edges: int, limit: int) -> None:
    folder = write_results(tmp_path / "demo", n_genes=n_genes, n_regulators=150, n_edges=n_edges)
    page_of(folder)
    assert len(pd.read_parquet(folder / "network.parquet")) == n_edges
    assert (folder / "report.html").stat().st_size < limit


def test_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    assert_made_again_alike(write_results(tmp_path / "demo", score="target_z"))


def test_nothing_is_left_behind_when_a_file_is_missing(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    (folder / "network.parquet").unlink()
    with pytest.raises(StoreError, match=r"network\.parquet"):
        write_report(folder, tmp_path / "out" / "report.html", tmp_path / "out" / "figures")
    assert not (tmp_path / "out").exists()
