"""Preparation says what it does, in order, as it does it: in its log and its record."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pairtile.runtime.files import read_json
from pairtile.runtime.job import logged_to
from pairtile.steps.analysis_run import Step
from small_analyses import ANALYSES
from small_trajectories import write as write_molecule
from workflow_runs import Analysis

ALL_OF_IT = {"log2": True, "pseudocount": 1, "normalize": "cpm", "sample_scale": True}
ALL_OF_IT |= {"hidden_factors": 1, "regress_out": ["batch"]}
TABLE = ["table_read", "missing_values"]
CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "genes": (
        "mutual_information",
        {"preprocess": ALL_OF_IT, "samples": {"annotations": "samples.tsv"}},
        [
            *TABLE,
            *("values_normalised", "logarithm_taken", "genes_chosen", "samples_scaled"),
            *("effects_removed", "hidden_factors_removed", "values_binned"),
        ],
    ),
    "modes": (
        "multimodal_correlation",
        {"preprocess": {"log2": False, "normalize": "quantile", "sample_scale": False}},
        [*TABLE, "genes_chosen", "quantiles_equal"],
    ),
    "levels": ("predictor_pairs", {}, [*TABLE, "genes_chosen", "levels_as_they_are"]),
    "predictors": (
        "predictor_pairs",
        {"levels": None, "expression": "levels.tsv", "preprocess": {"log2": False}},
        [*TABLE, "genes_chosen", "levels_made"],
    ),
    "sequences": ("mirna_targets", {}, ["sequences_read", "sequences_sorted"]),
    "series": ("trajectory_correlation", {}, ["frames_read", "correlation_times"]),
    "molecule": (
        "trajectory_correlation",
        {"time_series": []},
        ["superposed", "frames_read", "correlation_times"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_preparation_says_in_order_what_it_does(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the annotations' path is taken from there
    method, changes, codes = CASES[case]
    write, section = ANALYSES[method]
    write(tmp_path)
    section = section | changes
    if case == "molecule":
        section |= write_molecule(tmp_path, 60)[0]
    lines = ["sample\tbatch", *(f"{name}\t{'ab'[k % 2]}" for k, name in enumerate(names(tmp_path)))]
    (tmp_path / "samples.tsv").write_text("\n".join(lines) + "\n")
    run = Analysis(tmp_path, section).run
    log = tmp_path / "prepare.log"
    with logged_to(log, tmp_path):
        run.run(Step("prepare"))
    record = read_json(run.record("prepare"))
    done = record["done"]
    assert [each["code"] for each in done] == codes
    after = [each["after_seconds"] for each in done]
    assert after == sorted(after)
    assert 0 < after[-1] <= record["seconds"] + 0.01
    logged = re.findall(r"^\S+ INFO (.*) \(after \d+\.\d s\)$", log.read_text(), re.M)
    assert logged == [each["text"] for each in done]
    numbers = {each["code"]: each["numbers"] for each in done}
    if case == "genes":
        assert (numbers["table_read"]["genes"], numbers["table_read"]["samples"]) == (40, 40)
        assert numbers["missing_values"] == {"n": 0, "values": 1600}
        assert numbers["values_binned"]["genes"] == record["counts"]["genes_kept"] == 40
    if case == "sequences":
        assert numbers["sequences_read"] == {"mirnas": 6, "transcripts": 8}
        lengths = {
            name: [len(part.partition("\n")[2].replace("\n", "")) for part in text.split(">")[1:]]
            for name in ("mirnas", "transcripts")
            for text in [(tmp_path / section[name]).read_text()]
        }
        assert numbers["sequences_sorted"] == {
            "n": 8,
            "longest": max(lengths["transcripts"]),
            "longest_mirna": max(lengths["mirnas"]),
        }
    if case == "series":
        assert numbers["frames_read"] == {"frames": 60, "runs": 1, "variables": 12}


def names(folder: Path) -> list[str]:
    """The samples of the table, where there is one."""
    table = folder / "expression.tsv"
    return table.read_text().partition("\n")[0].split("\t")[1:] if table.exists() else []
