"""Tables of regulators and of modules on the page: their numbers, by hand, and their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile.downstream.page import table_section
from pairtile.report.page import render_sections, write_report
from pairtile.report.results import read_results
from pairtile.runtime.files import write_json
from report_pages import page_of, part, read_page
from result_files import write_results

EDGES = [
    # source, target, bits, rho, mode
    ("a", "c", 0.9, 0.8, "activation"),
    ("a", "d", 0.8, -0.7, "repression"),
    ("a", "e", 0.7, 0.6, "activation"),
    ("a", "f", 0.6, 0.1, "non-monotonic"),
    ("b", "g", 0.9, -0.9, "repression"),
    ("b", "h", 0.5, -0.9, "repression"),
    ("g", "h", 0.4, 0.9, "activation"),
]


def analysis(folder: Path, columns: tuple[str, ...] = ("spearman", "mode"), **summary: Any) -> Path:
    """Results with these edges, of which a and b are regulators."""
    write_results(folder, n_genes=8, n_regulators=2, n_dropped=0, n_edges=1, names=list("abcdefgh"))
    network = pd.DataFrame(EDGES, columns=["source", "target", "mi_bits", "spearman", "mode"])
    # Weakest first: best targets are found by strength, not by their place.
    network = network[["source", "target", "mi_bits", *columns]].iloc[::-1]
    network.to_parquet(folder / "network.parquet")
    content = json.loads((folder / "summary.json").read_text()) | summary
    write_json(folder / "summary.json", content)
    return folder


def table(folder: Path, name: str) -> list[list[str]]:
    rows = read_page(folder).xpath(f"//*[@id='{name}-table']/tbody/tr")
    return [[" ".join(cell.text_content().split()) for cell in row] for row in rows]


def test_regulators_have_their_targets_signs_and_module(tmp_path: Path) -> None:
    folder = analysis(tmp_path / "demo")
    page_of(folder)
    assert table(folder, "regulators") == [
        ["a", "4", "50%", "25%", "1", "c, d, e, f"],
        ["b", "2", "0%", "100%", "2", "g, h"],
        ["g", "1", "100%", "0%", "2", "h"],
    ]


def test_signs_come_from_the_correlation_where_no_mode_is_known(tmp_path: Path) -> None:
    folder = analysis(tmp_path / "demo", columns=("spearman",))
    page_of(folder)
    assert table(folder, "regulators")[0][:4] == ["a", "4", "75%", "25%"]
    folder = analysis(tmp_path / "unsigned", columns=())
    page_of(folder)
    assert table(folder, "regulators")[0] == ["a", "4", "1", "c, d, e, f"]


def test_modules_have_their_members_hubs_first(tmp_path: Path) -> None:
    folder = analysis(tmp_path / "demo")
    page_of(folder)
    assert table(folder, "modules") == [
        ["1", "5", "4", "40%", "0", "a, c, d, e, f"],
        ["2", "3", "3", "100%", "0", "b, g, h"],
    ]


def test_a_network_without_direction_has_modules_alone(tmp_path: Path) -> None:
    folder = analysis(tmp_path / "demo", directed=False)
    page = page_of(folder)
    assert not page.xpath("//*[@id='regulators-table']")
    assert len(table(folder, "modules")) == 2
    assert page.xpath("//*[@id='members-title']")[0].text == "Modules"


def test_all_members_are_on_the_page_and_the_modules_are_those_of_the_drawing(
    tmp_path: Path,
) -> None:
    folder = write_results(tmp_path / "demo", n_genes=800, n_edges=2000)
    page = page_of(folder)
    data = json.loads(page.get_element_by_id("network-data").text)
    drawn = {str(n): set() for n in range(1, data["n_modules"] + 1)}
    for name, _, _, _, _, module in data["nodes"]:
        drawn[str(module)].add(name)
    listed = {}
    for row in page.xpath("//*[@id='modules-table']/tbody/tr"):
        for summary in row.xpath(".//summary"):
            summary.text = ""
        members = {name.strip() for name in row[-1].text_content().split(",")}
        listed[row[0].text] = members
        assert int(row[1].text) == len(members)
    assert listed == drawn


def test_modules_that_the_page_cannot_draw_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("pairtile.io.networks.drawing", "pairtile.downstream.members"):
        monkeypatch.setattr(f"{place}.MAX_MODULES", 1)
    monkeypatch.setattr("pairtile.downstream.members.MAX_REGULATORS", 1)
    folder = analysis(tmp_path / "demo")
    page = page_of(folder)
    assert [row[0] for row in table(folder, "modules")] == ["1"]
    assert [row[0] for row in table(folder, "regulators")] == ["a"]
    text = part(page, "members")
    assert "The 1 largest of 2." in text
    assert "The 1 with most targets of 3 regulators" in text


def test_symbols_stand_for_identifiers_which_are_found_too(tmp_path: Path) -> None:
    folder = analysis(tmp_path / "demo")
    items = pd.read_parquet(folder / "items.parquet")
    items["symbol"] = items["name"].replace({"a": "LexA", "c": "RecA"})
    items.to_parquet(folder / "items.parquet")
    write_report(folder, folder / "report.html", folder / "figures")
    assert table(folder, "regulators")[0][-1] == "RecA, d, e, f"
    cell = read_page(folder).xpath("//*[@id='regulators-table']/tbody/tr/td")[0]
    assert (cell.text, cell.get("title"), cell.get("data-search")) == ("LexA", "a", "LexA a")


def test_modules_without_news_are_folded(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    summary = {"module": [1, 2, 3], "genes": [9, 8, 7], "variance_explained": 0.5}
    summary |= {"p_value": 0.01, "hub": ["a", "b", "c"], "hub_kme": 0.9}
    traits = {"module": [1, 2, 2], "trait": ["age", "age", "sex"], "labels": "", "units": 9}
    traits |= {
        "correlation": 0.5,
        "means": "",
        "p_value": [0.5, 1e-9, 1e-9],
        "q_value": [0.5, 1e-8, 1e-8],
    }
    made = table_section("module_summary.tsv", "Modules")
    found = read_results(folder)
    found.summary["counts"] |= {"module_genes": 24, "module_genes_unassigned": 0}
    for name, table in (("module_summary", summary), ("module_traits", traits)):
        pd.DataFrame(table).to_csv(folder / f"{name}.tsv", sep="\t", index=False)
        section = made(found, [])
        assert section is not None
        shown, folded = ([row[0][0] for row in section.values[key]] for key in ("rows", "folded"))
        # Nothing was tested at first: then all are shown.
        assert (shown, folded) == (
            (["1", "2", "3"], []) if table is summary else (["2"], ["1", "3"])
        )
    assert section.values["rows"][0][-1][0] == "age, sex"


def test_a_table_of_a_stage_is_whole_and_surest_rows_come_first(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    n = 2500
    columns = {"gene": [f"gene{k:05d}" for k in range(n)], "pairs": 1, "module": 1}
    columns |= dict.fromkeys(("gained", "lost", "reversed", "stronger", "weaker"), 0)
    q = np.linspace(1, 0, n)
    table = pd.DataFrame(columns | {"p_value": q, "q_value": q, "comparison": "b vs a"})
    made = table_section("differential_hubs.tsv", "Genes")
    for rows in (1999, n):
        table.head(rows).to_csv(folder / "differential_hubs.tsv", sep="\t", index=False)
        section = made(read_results(folder), [])
        shown = [row[0][0] for row in section.values["rows"]]
        assert shown == table["gene"].head(rows).tolist()[::-1][:2000]
        page = render_sections(
            name="", kind="", headline="", n_warnings=0, version="", sections=[section]
        )
        assert ("The first 2,000 of the 2,500 rows" in page) == (rows == n)
        assert page.count("<tr><td>gene") == len(shown)


def test_modules_of_the_stage_have_one_number_and_one_size_all_over_the_page(
    tmp_path: Path,
) -> None:
    folder = analysis(tmp_path / "demo")
    number = {**dict.fromkeys("acde", 2), **dict.fromkeys("bgh", 1), "alone": 2, "f": 0}
    genes = pd.DataFrame({"gene": [*number], "module": [*number.values()]})
    genes.assign(kme=0.9, p_value=0.01).to_csv(folder / "modules.tsv", sep="\t", index=False)
    (folder / "module_membership.tsv").write_text("")
    page_of(folder)
    shown = {row[0]: row[4] for row in table(folder, "regulators")}
    assert shown == {name: str(number[name]) for name in "abg"}
    modules = {row[0]: row for row in table(folder, "modules")}
    # One that has no edge counts.
    assert {name: row[1] for name, row in modules.items()} == {"1": "3", "2": "5"}
    assert "alone" in modules["2"][-1]
    drawing = json.loads(read_page(folder).xpath("//script[@id='network-data']")[0].text)
    groups = {name: group for name, _, _, _, _, group, *_ in drawing["nodes"]}
    assert groups == {name: number.get(name, 0) for name in groups}
