"""Exports and tables that the configuration no longer asks for are removed, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairtile.config.load import load_config
from pairtile.runtime.files import read_json
from pairtile.steps.result_files import ResultFiles
from workflow_runs import Analysis, write_data

BEFORE = {"export": ["tsv", "graphml", "regulon"], "regulators": "regulators.txt"}


def messages(analysis: Analysis) -> list[dict]:
    found = read_json(analysis.out / "summary.json")["messages"]
    return [message for message in found if message["code"] == "old_results_removed"]


def test_old_exports_go_and_all_else_stays(tmp_path: Path) -> None:
    write_data(tmp_path, genes=30, samples=30)
    before = Analysis(tmp_path, BEFORE | {"gold_standard": "gold_standard.tsv"}).all()
    assert messages(before) == []
    for name in ("network.png", "my_network.graphml", "notes.txt"):
        (before.out / name).write_text("a user's own")
    files = {path.name for path in before.out.iterdir()}
    after = Analysis(tmp_path, BEFORE | {"export": ["tsv"]}).all()
    removed = {"network.graphml", "network.regulon.tsv", "evaluation.json"}
    assert files - {path.name for path in after.out.iterdir()} == removed
    [said] = messages(after)
    assert said["severity"] == "note"
    assert said["numbers"]["n"] == 3
    assert set(said["numbers"]["files"].split(", ")) == removed
    assert messages(after.results()) == []


@pytest.mark.parametrize(
    ("section", "n_edges", "old", "kept"),
    [
        ({"export": "auto"}, 10, "network.sif", "network.graphml"),
        ({"export": "auto"}, 10**6, "network.graphml", "network.tsv"),
        ({"export": ["adjacency"]}, 10, "network.tsv", "network.npz"),
        ({"export": []}, 10, "network.tsv", "network.parquet"),
    ],
)
def test_what_is_old(section: dict, n_edges: int, old: str, kept: str) -> None:
    section = {"method": "mutual_information", "expression": "e.tsv"} | section
    config = load_config({"analyses": {"net": section}}).analyses["net"]
    found = ResultFiles("results/net", config).no_longer_wanted(n_edges)
    assert f"results/net/{old}" in found
    assert f"results/net/{kept}" not in found


def test_tables_of_a_method_are_old_without_the_key_that_asks_for_them() -> None:
    section = {"method": "multimodal_correlation", "expression": "e.tsv"}
    for asked in (True, False):
        given = section | {"kinc_text": asked}
        config = load_config({"analyses": {"net": given}}).analyses["net"]
        old = ResultFiles("results/net", config).no_longer_wanted(1)
        tables = {path.removeprefix("results/net/") for path in old}
        assert any(table.endswith(".txt") for table in tables) != asked
        assert not tables & set(config.result_tables())
