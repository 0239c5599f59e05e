"""The report of ``trajectory_correlation``: answers, communities, paths, cautions, names, size."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from method_pages import drawn_in, parts_of, table_of, tiles_of
from motion_reports import analysis, of_tables, two_states
from pairtile.errors import StoreError
from pairtile.methods.trajectory_correlation.charts import FIGURES
from pairtile.methods.trajectory_correlation.report_results import (
    MotionResults,
    motion_results,
    ranges,
)
from pairtile.report.formats import number
from pairtile.report.results import read_results
from pairtile.report.text import page_text
from pairtile.runtime.files import read_json
from report_pages import codes_of, page_of, part, read_page
from result_files import AWKWARD, write_results

PARTS = [
    "findings", "structure", "motion", "states", "network", "edges", "figures", "trust", "cleaning",
    "files", "run", "methods",
]  # fmt: skip


OF_PAGE = {
    "no_surrogates", "preset_without_window", "dcc_is_blind", "displacements_without_direction",
    "coordinates_added_up", "one_trajectory", "short_trajectory", "not_superposed",
}  # fmt: skip


def motion_of(folder: Path) -> MotionResults:
    found = read_results(folder).cached(motion_results)
    assert found is not None
    return found


def test_page_has_the_parts_of_this_method_and_others_have_not(demo: Path, tmp_path: Path) -> None:
    page = read_page(demo)
    assert parts_of(page) == PARTS
    expected = set(FIGURES) - {"residue_sums"}  # of dihedrals alone
    assert drawn_in(demo) == expected
    assert len(page.xpath("//figure//img")) == len(expected)
    other = write_results(tmp_path / "other")
    (other / "residues.tsv").write_bytes((demo / "residues.tsv").read_bytes())
    assert "motion" not in parts_of(page_of(other))


def test_findings_agree_with_the_tables(demo: Path) -> None:
    network = pd.read_parquet(demo / "network.parquet")
    residues, communities = table_of(demo, "residues.tsv"), table_of(demo, "communities.tsv")
    matrices = np.load(demo / "matrices.npz")
    leiden = communities[communities["method"] == "leiden"]
    candidates = int(np.triu(matrices["contact"], 1).sum())
    assert 0 < len(network) <= candidates < 66
    tiles = tiles_of(read_page(demo))
    assert tiles["residues"] == ["12", "from a system of 73 atoms"]
    assert tiles["frames"] == ["300", "in 2 replicas"]
    assert tiles["pairs in the network"][0] == str(len(network))
    assert tiles["pairs in the network"][1].startswith(f"of {candidates} in contact")
    assert tiles["communities"][0] == str(len(leiden))
    assert tiles["effective frames"][0] == str(round(residues["n_effective"].median()))
    headline = read_page(demo).xpath("//*[@class='headline']/a")[0].text_content()
    numbers = [len(network), candidates, 12, 0.05, len(leiden)]
    assert [float(text) for text in re.findall(r"[\d.]+", headline)] == numbers
    text = part(read_page(demo), "findings")
    best = network.iloc[0]
    assert f"{best['source']} and {best['target']} (" in text
    p = matrices["p_value"][np.triu_indices(12, 1)]
    assert f"{(p <= 0.05).sum()} of 66 " in text
    assert f" {number(float(np.nanmedian(matrices['correlation_sd'])), 2)} " in text


def test_strong_pairs_next_to_each_other_are_told_from_those_apart(demo: Path) -> None:
    found = motion_of(demo)
    residues = found.residues
    i, j = np.triu_indices(12, 1)
    far = found.far_apart(i, j)
    apart = (residues["chain"].to_numpy()[i] != residues["chain"].to_numpy()[j]) | (
        np.abs(residues["resid"].to_numpy()[i] - residues["resid"].to_numpy()[j]) >= 5
    )
    np.testing.assert_array_equal(far, apart)
    assert 0 < far.sum() < far.size


def test_communities_on_the_page_hold_the_members_of_the_table(demo: Path) -> None:
    page, communities = read_page(demo), table_of(demo, "communities.tsv")
    residues = table_of(demo, "residues.tsv").set_index("name")
    rows = page.xpath("//*[contains(@class,'communities')]/tbody/tr")
    assert len(rows) == len(communities)
    for row, expected in zip(rows, communities.to_dict("records"), strict=True):
        cells = [cell.text_content() for cell in row]
        assert cells[0] == str(expected["community"])
        assert cells[2] == str(expected["n_members"])
        members = set()
        for chain_part in cells[1].split("; "):
            chain, _, stretches = chain_part.partition(" ")
            for stretch in stretches.split(", "):
                first, _, last = stretch.partition("–")
                numbers = range(int(first), int(last or first) + 1)
                members |= {(chain, number) for number in numbers}
        named = residues.loc[expected["members"].split(" ")]
        assert members == set(zip(named["chain"], named["resid"], strict=True))


def test_paths_are_shown_and_missing_ones_said(demo: Path) -> None:
    page, paths = read_page(demo), table_of(demo, "paths.tsv")
    rows = page.xpath("//*[contains(@class,'paths')]/tbody/tr")
    assert len(rows) == len(paths) > 1
    shown = [row.xpath("td[last()]")[0].text_content() for row in rows]
    expected = [
        " → ".join(path.split(" ")) if isinstance(path, str) else "nothing joins the two"
        for path in paths["path"]
    ]
    assert shown == expected
    first = paths.iloc[0]
    text = part(page, "findings")
    assert f"Shortest path from {first['source']} to {first['target']}: {shown[0]}" in text


def test_every_residue_is_in_the_table_most_between_first(demo: Path) -> None:
    page, residues = read_page(demo), table_of(demo, "residues.tsv")
    rows = page.xpath("//*[@id='residues-table']/tbody/tr")
    names = [row.xpath("td[1]")[0].text_content() for row in rows]
    assert sorted(names) == sorted(residues["name"])
    through = residues.set_index("name")["betweenness"][names]
    assert through.is_monotonic_decreasing


@pytest.mark.parametrize("replicas", [3, 1])
def test_differences_are_told_with_z_and_q_or_as_untested(tmp_path: Path, replicas: int) -> None:
    out = two_states(tmp_path, replicas)
    text = " ".join(page_text(read_results(out)).lines("findings"))
    edges = table_of(out, "difference_network.tsv")
    table = pd.read_parquet(out / "difference.parquet")
    assert ("mi_q_value" in table) == (replicas > 1)
    if replicas == 1:
        assert edges.empty
        most = table.loc[table["correlation_centred_difference"].idxmax()]
        assert f"{most['source']} and {most['target']} (+" in text
        return
    assert len(edges) == 6
    first = edges.iloc[0]
    z, q = (f"{first['mi_z']:+.1f}", number(first["mi_q_value"]))
    assert f"{first['source']} and {first['target']} (" in text
    assert f"z = {z}, q = {q})" in text


def test_stretches_of_numbers() -> None:
    assert ranges([3, 1, 2, 7, 9, 10, 10]) == "1–3, 7, 9–10"
    assert ranges([]) == ""


# --- cautions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"fit": "name CA"}, set()),
        (
            {"estimator": {"surrogates": 0}, "keep": {"correlation": 0.3}},
            {"no_surrogates", "not_superposed"},
        ),
        ({"estimator": {"kind": "dcc", "surrogates": 4}}, {"dcc_is_blind", "not_superposed"}),
        (
            {"estimator": {"kind": "bspline", "surrogates": 4}},
            {"displacements_without_direction", "not_superposed"},
        ),
    ],
    ids=["superposed", "no_null", "dcc", "displacements"],
)
def test_warnings_come_where_there_is_reason(
    tmp_path: Path, changes: dict[str, Any], codes: set[str]
) -> None:
    assert codes_of(analysis(tmp_path, page=False, **changes)) & OF_PAGE == codes


def test_a_run_that_drifts_and_a_preset_on_slow_motion_are_warned_of(tmp_path: Path) -> None:
    walk = np.cumsum(np.random.default_rng(1).normal(size=(150, 3)), axis=0)
    estimator = {"preset": "mdigest", "surrogates": 4}
    names = ["a", "b", "c"]
    out = of_tables(tmp_path, walk, names=names, page=False, estimator=estimator, keep="all")
    slow = {"short_trajectory", "one_trajectory", "preset_without_window"}
    assert codes_of(out) & OF_PAGE == slow
    fast = np.random.default_rng(1).normal(size=(150, 3))
    out = of_tables(tmp_path, fast, names=names, page=False, estimator=estimator)
    assert not codes_of(out) & slow


# --- robustness ---------------------------------------------------------------------------------


def test_awkward_names_stay_names(tmp_path: Path) -> None:
    names = [*AWKWARD, "NA", "null"]
    names = [name.replace(" ", "_").replace('"', "") for name in names]
    values = np.random.default_rng(1).normal(size=(60, len(names)))
    values[:, 1:] += values[:, :1]
    changes = {"paths": [[names[0], names[2]]], "estimator": {"kind": "gaussian"}}
    out = of_tables(tmp_path, values, names=names, **changes)
    page = read_page(out)
    assert "<script>alert" not in (out / "report.html").read_text(encoding="utf-8")
    cells = {td.text_content() for td in page.xpath("//*[@id='residues-table']/tbody/tr/td[1]")}
    assert cells == set(names)
    assert motion_of(out).residues["name"].tolist() == names


def test_a_missing_table_is_named_and_a_missing_state_costs_one_figure(tmp_path: Path) -> None:
    estimator = {"kind": "gaussian", "surrogates": 4}
    out = analysis(tmp_path, page=False, communities=[], estimator=estimator)
    (out / "state" / "state.json").unlink()
    page = page_of(out)
    assert "communities" not in tiles_of(page)
    assert not page.xpath("//*[contains(@class,'communities')]")
    assert not (out / "figures" / "distance.svg").exists()
    assert (out / "figures" / "correlation.svg").exists()
    table_of(out, "residues.tsv").drop(columns="degree").to_csv(
        out / "residues.tsv", sep="\t", index=False
    )
    with pytest.raises(StoreError, match=r"residues\.tsv.*expected degree"):
        page_of(out)
    (out / "residues.tsv").unlink()
    with pytest.raises(StoreError, match=r"residues\.tsv: found no such file"):
        page_of(out)


@pytest.mark.complete
def test_a_thousand_variables_make_a_page_under_five_megabytes(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(40, 1000))
    out = of_tables(
        tmp_path, values, names=[f"c{k}" for k in range(1000)],
        estimator={"kind": "gaussian", "surrogates": 2}, keep={"top_edges": 5000},
    )  # fmt: skip
    assert (out / "report.html").stat().st_size < 5_000_000
    assert "Each point is the mean of 2 × 2 pairs" in part(read_page(out), "figures")
    assert len(read_page(out).xpath("//*[@id='residues-table']/tbody/tr")) == 1000


def test_an_empty_network_has_a_page(tmp_path: Path) -> None:
    out = analysis(tmp_path, keep={"p_value": 1e-200})
    assert "no_pairs_kept" in codes_of(out)
    assert len(read_page(out).xpath("//*[@id='residues-table']/tbody/tr")) == 12
    assert read_json(out / "summary.json")["counts"]["edges"] == 0


def test_domains_and_communities_are_summed_up(demo: Path) -> None:
    """Each row against a plain count over pairs and edges."""
    residues = table_of(demo, "residues.tsv")
    pairs = pd.read_parquet(demo / "pairs.parquet")
    edges = {
        frozenset(e)
        for e in pd.read_parquet(demo / "network.parquet")[["source", "target"]].to_numpy()
    }
    found = table_of(demo, "domains.tsv")
    assert set(found["kind"]) == {"domain", "community_leiden", "community_girvan_newman"}
    for row in found.to_dict("records"):
        group = residues[row["kind"]].astype(str)
        sizes, joined = [], 0
        for i, j, value in pairs[["i", "j", "correlation_centred"]].itertuples(index=False):
            if sorted([group[i], group[j]]) == sorted([row["first"], row["second"]]):
                sizes.append(abs(value))
                joined += frozenset(residues["name"][[i, j]]) in edges
        assert row["n_pairs"] == len(sizes)
        assert row["edges"] == joined
        assert row["mean_score"] == pytest.approx(np.mean(sizes))


def test_centralities_lie_on_the_structure_and_the_nodes(demo: Path) -> None:
    residues = table_of(demo, "residues.tsv").set_index("name")
    lines = (demo / "structure.defattr").read_text().splitlines()
    start = lines.index("attribute: betweenness") + 2
    values = dict(line.strip().split("\t") for line in lines[start : start + 12])
    for _, row in residues.iterrows():
        label = f"/{row['chain']}:{row['resid']}"
        assert float(values[label]) == pytest.approx(row["betweenness"], rel=1e-5)
    script = (demo / "structure.pml").read_text()
    assert "cmd.extend('colour_by', colour_by)" in script
    assert "cmd.load_cgo(path_1, 'path_1')" in script
    compile(script[script.index("from pymol") : script.index("python end")], "pml", "exec")
