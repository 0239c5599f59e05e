"""The report of ``multimodal_correlation``: answers, pairs, conditions, modules, cautions, size."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from method_pages import drawn_in, parts_of, table_of, tiles_of
from pairtile.declare.messages import Message
from pairtile.errors import StoreError
from pairtile.methods.multimodal_correlation import charts, report, report_results
from pairtile.methods.multimodal_correlation.report_results import (
    condition_pairs,
    mode_results,
    split_pairs,
    spread,
    strongest_pairs,
)
from pairtile.report.results import Results, read_results, warnings_of_results
from pairtile.report.text import page_text, read_references
from pairtile.runtime.files import read_json, write_json
from planted_modes import SAMPLES, analysis
from report_pages import assert_made_again_alike, codes_of, edge_rows, page_of, read_page
from result_files import write_results

PAPERS = read_references("pairtile.methods.multimodal_correlation")
PARTS = [
    "findings", "conditions", "members", "network", "edges", "figures", "trust", "cleaning",
    "files", "run", "methods",
]  # fmt: skip
FIGURES = {
    "strongest_pairs", "condition_pairs_1", "condition_edges", "modules", "modes",
    "score_distribution", "degree_distribution", "samples", "components",
}  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the planted pairs' report."""
    return analysis(tmp_path_factory.mktemp("modes"))


@pytest.fixture
def copy(demo: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    shutil.copytree(demo, tmp_path / "copy")
    return tmp_path / "copy"


def changed(folder: Path, **changes: Any) -> dict[str, Message]:
    """What is warned of after parts of the summary were replaced (``counts__fits=1``)."""
    summary = read_json(folder / "summary.json")
    for key, value in changes.items():
        *path, last = key.split("__")
        place = summary
        for name in path:
            place = place[name]
        place[last] = value
    write_json(folder / "summary.json", summary)
    return told(folder)


def told(folder: Path) -> dict[str, Message]:
    """What the results give rise to, by code."""
    found = warnings_of_results(read_results(folder))
    return {text.code: text for text in found if isinstance(text, Message)}


def test_page_has_the_parts_of_this_method_and_others_have_not(demo: Path, tmp_path: Path) -> None:
    page = read_page(demo)
    assert parts_of(page) == PARTS
    assert drawn_in(demo) >= FIGURES
    assert {path.stem for path in (demo / "figures").glob("*.png")} >= FIGURES
    other = write_results(tmp_path / "other")
    for name in ("condition_networks.tsv", "modules.tsv"):
        (other / name).write_bytes((demo / name).read_bytes())
    ids = parts_of(page_of(other))
    assert not {"conditions", "modules"} & set(ids)
    assert "members" in ids


def test_findings_agree_with_the_tables(demo: Path) -> None:
    network = pd.read_parquet(demo / "network.parquet")
    genes = np.union1d(network["source"], network["target"])
    networks, modules = table_of(demo, "condition_networks.tsv"), table_of(demo, "modules.tsv")
    specific = len(networks[["source", "target", "cluster"]].drop_duplicates())
    modes = np.load(demo / "scores.npz")["pairs_by_modes"]
    first = [value for value, _ in tiles_of(read_page(demo)).values()]
    numbers = [len(network), len(genes), 0.6, modules["module"].nunique(), specific]
    assert [float(text) for text in first] == [*numbers[:3], modes[2:].sum(), *numbers[3:]]
    headline = read_page(demo).xpath("//*[@class='headline']/a")[0].text
    assert [float(text) for text in re.findall(r"[\d.]+", headline)] == numbers


def test_the_planted_pairs_are_drawn_with_their_modes(demo: Path) -> None:
    results = read_results(demo)
    found = results.cached(mode_results)
    assert found is not None
    strongest = strongest_pairs(found)
    assert set(strongest) == set(zip(found.pairs["source"], found.pairs["target"], strict=True))
    assert strongest[0] == ("g02", "g03")
    heat = np.arange(SAMPLES) < SAMPLES // 2
    drawn = found.pair_modes([("g00", "g01"), ("g02", "g03")])
    both = drawn["g00", "g01"]
    assert len(both.members) == 2
    for member, r in zip(both.members, both.correlation, strict=True):
        assert heat[member].all() if r > 0 else not heat[member].any()
    assert len(drawn["g02", "g03"].members) == 1
    assert found.pair_modes([("g00", "nobody")]) == {}
    by_name = {each.name: each for each in found.conditions}
    assert set(condition_pairs(found, by_name["Treatment"])) >= {("g00", "g01"), ("g04", "g05")}
    # Nothing goes with the batch: then the strongest pairs are shown.
    assert condition_pairs(found, by_name["Batch"])[0] == strongest[0]


def test_each_gene_is_drawn_once_while_there_are_others() -> None:
    pairs = [("a", "b"), ("a", "c"), ("d", "e"), ("a", "b"), ("b", "f"), ("g", "h")]
    assert spread(pairs, 3) == [("a", "b"), ("d", "e"), ("g", "h")]
    assert spread(pairs, 5) == [("a", "b"), ("d", "e"), ("g", "h"), ("a", "c"), ("b", "f")]
    assert spread([], 3) == []


def test_split_pairs_are_those_that_are_not_drawn_yet(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = read_results(demo)
    found = results.cached(mode_results)
    assert found is not None
    assert split_pairs(found) == []
    monkeypatch.setattr(report_results, "MAX_PAIRS", 2)
    assert set(split_pairs(found)) == {("g00", "g01"), ("g04", "g05")} - set(strongest_pairs(found))
    made = charts.FIGURES["split_pairs"](results)
    assert made is not None


def test_condition_counts_are_those_of_the_table(demo: Path) -> None:
    networks = table_of(demo, "condition_networks.tsv").fillna({"label": ""})
    rows = read_page(demo).xpath("//*[@class='data condition-counts']/tbody/tr")
    shown = [[cell.text_content() for cell in row] for row in rows]
    assert [row[:2] for row in shown] == [
        ["Treatment", "control"], ["Treatment", "heat"], ["Batch", "one"], ["Batch", "three"],
        ["Batch", "two"], ["Hours", "(quantitative)"],
    ]  # fmt: skip
    for condition, label, _, edges, positive, negative, pairs, _, genes in shown:
        label = "" if label.startswith("(") else label
        chosen = networks[(networks["condition"] == condition) & (networks["label"] == label)]
        assert int(edges) == len(chosen)
        assert int(positive) == (chosen["direction"] == "positive").sum()
        assert int(negative) == (chosen["direction"] == "negative").sum()
        assert int(pairs) == len(chosen[["source", "target"]].drop_duplicates())
        assert int(genes) == len(np.union1d(chosen["source"], chosen["target"]))
    assert int(shown[1][3]) == 2
    assert int(shown[5][3]) == 0
    clear = read_page(demo).xpath("//*[@id='conditions']//details")
    assert [each.xpath("summary")[0].text_content().split(":")[0] for each in clear] == (
        ["Treatment", "Treatment"]
    )


def test_of_many_edges_of_a_condition_the_clearest_are_shown(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_EDGES", 1)
    networks = table_of(copy, "condition_networks.tsv").query("condition == 'Treatment'")
    shown = page_of(copy).xpath("//*[@id='conditions']//details")
    for each, (label, edges) in zip(shown, networks.groupby("label", sort=True), strict=True):
        words = each.xpath("summary")[0].text_content()
        assert label in words
        assert re.findall(r"\d+", words) == ["1", str(len(edges))]
        clearest = edges.loc[edges["q_value"].idxmin(), "source"]
        assert [row.text_content() for row in each.xpath(".//tbody/tr/td[1]")] == [clearest]


def test_q_of_a_condition_is_not_that_of_the_network(copy: Path) -> None:
    """Which has one, too, where its threshold is a false discovery rate."""
    network = pd.read_parquet(copy / "network.parquet")
    before = page_of(copy).xpath("//*[@id='conditions']//details//td/text()")
    network.assign(p_value=0.5, q_value=0.5).to_parquet(copy / "network.parquet")
    assert page_of(copy).xpath("//*[@id='conditions']//details//td/text()") == before


def test_modules_have_their_genes_and_conditions(demo: Path) -> None:
    modules = table_of(demo, "modules.tsv")
    rows = read_page(demo).xpath("//*[@class='data modules']/tbody/tr")
    assert len(rows) == modules["module"].nunique()
    for row in rows:
        cells = [cell.text_content() for cell in row]
        genes = modules.loc[modules["module"] == int(cells[0]), "gene"].tolist()
        assert cells[-1] == ", ".join(genes)  # none has so many that some are folded away
        assert int(cells[1]) == len(genes)
        if set(genes) == {"g00", "g01"}:
            assert cells[6] == "Treatment: control (50%), Treatment: heat (50%)"
            assert cells[2:6] == ["1", "100%", "0", cells[5]]


def test_genes_of_the_network_may_be_in_no_module(copy: Path) -> None:
    """As of ``wgcna``, and of modules that were tested against noise."""
    modules = table_of(copy, "modules.tsv")
    modules.loc[modules["module"] == modules["module"].max(), "module"] = 0
    modules.to_csv(copy / "modules.tsv", sep="\t", index=False)
    rows = page_of(copy).xpath("//*[@class='data modules']/tbody/tr")
    assert len(rows) == modules["module"].nunique() - 1


def test_edges_name_the_conditions_that_they_go_with(demo: Path) -> None:
    network = pd.read_parquet(demo / "network.parquet")
    page = read_page(demo)
    rows = edge_rows(page)
    assert len(rows) == len(network)
    sizes = [abs(row[2]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    heat = {row[8] for row in rows if row[:2] == ["g00", "g01"]}
    assert heat == {"Treatment heat", "Treatment control"}
    assert {row[7] for row in rows if row[:2] == ["g00", "g01"]} == {"both"}
    # These two follow the hours, which is no difference in co-expression.
    assert not any("Hours" in row[8] for row in rows if row[:2] == ["g02", "g03"])


def test_the_methods_paragraph_cites_what_was_done(demo: Path) -> None:
    _, cited = page_text(read_results(demo)).cited("methods")
    assert cited == [
        PAPERS.SHEALY_2019, PAPERS.BIERNACKI_2000, PAPERS.COHEN_1988, PAPERS.VIRTANEN_2020,
        PAPERS.BENJAMINI_HOCHBERG_1995, PAPERS.TRAAG_2019,
    ]  # fmt: skip


@pytest.mark.complete
@pytest.mark.parametrize(
    ("changes", "paper"),
    [
        ({"threshold": {"method": "power_law", "min_genes": 10}}, "ZHANG_HORVATH_2005"),
        ({"threshold": {"method": "rmt"}}, "LUO_2007"),
        (
            {"threshold": {"method": "none"}, "modules": {"method": "link_communities"}},
            "EVANS_LAMBIOTTE_2010",
        ),
        ({"estimator": {"clustering": "none", "correlation": "pearson", "min_samples": 20}}, ""),
        ({"compatibility": "kinc"}, "SHEALY_2019"),
        ({"power": False, "modules": False, "annotations": None}, ""),
    ],
)
def test_every_kind_of_analysis_has_a_page(
    tmp_path: Path, changes: dict[str, Any], paper: str
) -> None:
    out = analysis(tmp_path, **changes)
    page = read_page(out)
    _, cited = page_text(read_results(out)).cited("methods")
    assert not paper or getattr(PAPERS, paper) in cited
    ids = parts_of(page)
    asked = read_json(out / "summary.json")["parameters"]
    network = pd.read_parquet(out / "network.parquet")
    assert ("conditions" in ids) == (asked["annotations"] is not None)
    assert ("members" in ids) == (len(network) > 0)
    # Modules that share genes have a part of their own.
    shared = bool(asked["modules"]) and table_of(out, "modules.tsv")["gene"].duplicated().any()
    assert ("modules" in ids) == shared
    drawn = drawn_in(out)
    assert ("modes" in drawn) == (asked["estimator"]["clustering"] == "gmm")
    assert ("threshold" in drawn) == (asked["threshold"]["method"] in ("rmt", "power_law"))
    if asked["threshold"]["method"] == "rmt":
        assert page.xpath("//*[@class='headline']/a")[0].text.startswith("No edges")
        assert any(
            "no threshold found" in text for text in read_json(out / "summary.json")["warnings"]
        )
        assert len(table_of(out, "threshold.tsv"))
        assert "no_modes_pass" in codes_of(out)


def test_nothing_is_warned_of_without_a_cause(demo: Path) -> None:
    assert len(read_page(demo).xpath("//*[@class='warnings']//li")) == 3  # two of their order
    assert not told(demo)


@pytest.mark.parametrize(
    ("changes", "code", "numbers"),
    [
        ({"counts__too_few_samples": 30}, "few_common_samples", {"share": 30 / 78, "least": 20}),
        ({"parameters__threshold": {"method": "none"}}, "no_threshold_set", {}),
        (
            {"parameters__estimator__min_samples": 45},
            "too_few_samples_for_two_modes",
            {"samples": 80, "least": 45},
        ),
        ({"parameters__estimator__min_samples": 36}, "labels_too_small", {"least": 36}),
        (
            {"counts__fits": 100, "counts__fits_unfinished": 20},
            "fits_not_settled",
            {"share": 0.2, "fits": 100},
        ),
        ({"counts__failed": 2}, "fits_failed_in_pairs", {"failed": 2}),
        (
            {"parameters__compatibility": "kinc", "counts__samples": 188},
            "starts_coincide",
            {"samples": 188},
        ),
        ({"parameters__estimator__min_clusters": 2}, "modes_forced", {"least": 2}),
        (
            {
                "parameters__estimator__outliers_before": True,
                "parameters__estimator__min_samples": 10,
                "counts__samples": 200,
            },
            "groups_taken_for_outliers",
            {"quarter": 50},
        ),
    ],
)
def test_warnings_come_with_their_cause(
    copy: Path, changes: dict[str, Any], code: str, numbers: dict[str, Any]
) -> None:
    assert code not in told(copy)
    assert numbers.items() <= changed(copy, **changes)[code].numbers.items()


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("source_welch_p_value", "modes_differ_in_one_gene"),
        ("missing_by_Treatment_p_value", "missing_under_a_label"),
    ],
)
def test_signs_of_bias_are_told(copy: Path, column: str, code: str) -> None:
    assert code not in told(copy)
    network = pd.read_parquet(copy / "network.parquet")
    split = network["n_modes"] == 2
    network.loc[split, column] = 0.5 if column.endswith("welch_p_value") else 1e-9
    network.to_parquet(copy / "network.parquet")
    assert told(copy)[code].numbers["n"] == 4


def test_a_missing_table_is_named_and_a_missing_state_costs_the_scatter_plots(copy: Path) -> None:
    shutil.rmtree(copy / "state")
    page = page_of(copy)
    assert parts_of(page) == [
        name for name in PARTS if name != "network"
    ]  # it is on the first screen
    drawn = drawn_in(copy)
    of_state = {"strongest_pairs", "condition_pairs_1", "samples", "components"}
    assert FIGURES - drawn == of_state
    networks = table_of(copy, "condition_networks.tsv")
    networks.drop(columns="label").to_csv(copy / "condition_networks.tsv", sep="\t", index=False)
    with pytest.raises(StoreError, match=r"condition_networks\.tsv.*expected label"):
        page_of(copy)
    (copy / "condition_networks.tsv").unlink()
    with pytest.raises(StoreError, match=r"condition_networks\.tsv: found no such file"):
        page_of(copy)


def test_tables_of_an_earlier_run_are_not_shown(copy: Path) -> None:
    changed(copy, parameters__annotations=None, parameters__modules=False)
    found = read_results(copy).cached(mode_results)
    assert found is not None
    assert found.networks.empty
    assert found.modules.empty


def test_negative_edges_are_as_strong_as_positive_ones(demo: Path) -> None:
    results = read_results(demo)
    assert isinstance(results, Results)
    strongest = results.strongest(len(results.network))
    size = strongest["correlation"].abs()
    assert (strongest["correlation"] < 0).any()
    assert size.is_monotonic_decreasing


@pytest.mark.complete
def test_same_results_give_the_same_bytes(demo: Path) -> None:
    assert_made_again_alike(demo)
