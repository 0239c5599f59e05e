"""Two tables and groups of samples through Snakemake: files, pages and reruns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile import infer_network
from workflow_runs import Run, run, write_config

pytestmark = [pytest.mark.workflow, pytest.mark.complete]


def write_inputs(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Counts of 30 genes, levels of 8 miRNAs of which the first follows a gene, and samples of two
    tissues, one of them without a drug, and one tissue that is too small."""
    random = np.random.default_rng(1)
    columns = [f"s{k}" for k in range(70)]
    genes = pd.DataFrame(random.poisson(200, (30, 70)), columns=columns).add_prefix("g", axis=0)
    others = pd.DataFrame(random.normal(size=(8, 70)), columns=columns).add_prefix("m", axis=0)
    others.loc["m0"] = -np.log(genes.loc["g0"]) * 30 + 0.2 * others.loc["m0"]
    genes.to_csv(folder / "genes.tsv", sep="\t")
    others[columns[::-1]].T.to_csv(folder / "others.tsv", sep="\t")
    tissue = ["liver (left)"] * 32 + ["brain"] * 33 + ["skin"] * 5
    drug = ["none"] * 32 + ["a", "b"] * 19
    pd.DataFrame({"sample": columns, "tissue": tissue, "drug": drug}).to_csv(
        folder / "s.tsv", sep="\t", index=False
    )
    return genes, others


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Run, tuple[pd.DataFrame, ...]]:
    folder = tmp_path_factory.mktemp("groups")
    tables = write_inputs(folder)
    section: dict[str, Any] = {"method": "mutual_information", "expression": "genes.tsv"}
    section |= {"other_expression": "others.tsv", "keep": {"fdr": 0.05}, "export": ["tsv"]}
    section |= {"chunks": "auto"}  # a job for each analysis
    split = {**section, "split_by": "tissue", "samples": {"annotations": "s.tsv"}}
    drug = {"modules": {"method": "leiden"}, "traits": ["drug"], "differential": {"label": "drug"}}
    one = {key: value for key, value in split.items() if key != "other_expression"}
    write_config(folder, {"both": section, "by": split, "drug": one | drug})
    return folder, run(folder), tables


def test_the_network_across_tables_is_that_of_the_library(finished: Any) -> None:
    folder, ended, (genes, others) = finished
    assert ended.code == 0, ended.text
    found = pd.read_parquet(folder / "results/both/network.parquet")
    expected = infer_network(genes, other_expression=others, keep={"fdr": 0.05}, seed=3)
    assert found["source"].tolist() == expected["source"].tolist()
    np.testing.assert_allclose(found["q_value"], expected["q_value"], rtol=1e-9)
    assert (found["source"][0], found["target"][0]) == ("m0", "g0")
    assert found["spearman"][0] < 0


def test_each_group_has_a_network_and_the_page_links_to_it(finished: Any) -> None:
    folder, _, _ = finished
    results = folder / "results"
    groups = pd.read_csv(results / "by/groups.tsv", sep="\t")
    assert groups["analysis"].tolist() == ["by.brain", "by.liver_left"]
    assert groups["samples"].tolist() == [33, 32]
    page = (results / "by/report.html").read_text()
    for name in groups["analysis"]:
        assert (results / name / "report.html").is_file()
        assert f'href="../{name}/report.html"' in page
    summary = json.loads((results / "by/summary.json").read_text())
    assert summary["left_out"] == {"skin": 5}
    edges = pd.read_csv(results / "by/shared_edges.tsv", sep="\t")
    assert edges.iloc[0][["source", "target", "n_groups"]].tolist() == ["m0", "g0", 2]
    assert "by" in (results / "index.html").read_text()


def test_what_cannot_be_compared_in_one_group_is_compared_in_the_others(finished: Any) -> None:
    folder = finished[0] / "results"
    without, brain = (
        json.loads((folder / f"drug.{name}/summary.json").read_text())
        for name in ("liver_left", "brain")
    )
    codes = {message["code"] for message in without["messages"]}
    assert {"one_value_in_group", "group_not_compared"} <= codes
    assert without["counts"]["differential_tested"] == 0
    assert brain["counts"]["differential_tested"] > 100
    assert pd.read_parquet(folder / "drug.liver_left/differential.parquet").empty


def test_a_second_run_does_nothing(finished: Any) -> None:
    folder, _, _ = finished
    again = run(folder)
    assert again.code == 0
    assert "Nothing to be done" in again.text
