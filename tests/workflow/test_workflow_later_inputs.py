"""What only later steps read is looked at before anything is scored, and scores nothing again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.config import load_config
from workflow_runs import BASE, STOP_AT_ONCE, run, write_config, write_data

GOLD = {"gold_standard": "gold_standard.tsv"}
MODES = {"method": "multimodal_correlation", "expression": "expression.tsv"}
MODES |= {"annotations": "samples.tsv", "estimator": {"min_samples": 10}}
MOTION = {"method": "trajectory_correlation", "time_series": ["series.tsv"], "variables": "columns"}
FAULTS = {
    "gold standard of other genes": (GOLD, "gold_standard.tsv: none of the 1 gold standard edges"),
    "condition without a column": (
        MODES | {"conditions": ["treatmnet"]},
        "samples.tsv: header: found no column 'treatmnet'; expected one of 'treatment'",
    ),
}


def write_inputs(folder: Path, gold: str = "ABC\tDEF\n") -> None:
    """Data for all methods; a gold standard that does not fit them unless given."""
    write_data(folder)
    (folder / "gold_standard.tsv").write_text(gold)
    samples = (folder / "expression.tsv").read_text().splitlines()[0].split("\t")[1:]
    rows = [f"{name}\t{k % 2}" for k, name in enumerate(samples)]
    (folder / "samples.tsv").write_text("\n".join(["sample\ttreatment", *rows]) + "\n")
    series = np.random.default_rng(5).normal(size=(200, 3)).round(6)
    np.savetxt(folder / "series.tsv", series, delimiter="\t", header="a\tb\tc", comments="")


@pytest.mark.workflow
@pytest.mark.parametrize(
    "fault",
    [next(iter(FAULTS)), *(pytest.param(k, marks=pytest.mark.complete) for k in [*FAULTS][1:])],
)
def test_a_fault_of_a_later_step_ends_the_run_before_the_plan(tmp_path: Path, fault: str) -> None:
    section, message = FAULTS[fault]
    write_inputs(tmp_path)
    write_config(tmp_path, {"net": section})
    done = run(tmp_path, *STOP_AT_ONCE)
    assert done.code != 0
    assert message in done.text
    assert "plan" in done.text.split("pairtile: stopped")[1]
    out = tmp_path / "results/net"
    assert (out / "items.parquet").exists()
    assert not (out / "plan.json").exists()


@pytest.mark.complete  # runs of its own
@pytest.mark.workflow
def test_a_path_to_nobody_ends_preparation_and_another_path_prepares_nothing_again(
    tmp_path: Path,
) -> None:
    write_inputs(tmp_path)
    write_config(tmp_path, {"net": MOTION | {"paths": [["a", "nobody"]]}})
    first = run(tmp_path, *STOP_AT_ONCE)
    assert first.code != 0
    assert "paths: found 'nobody'; expected a name of items.parquet" in first.text
    assert not (tmp_path / "results/net/items.parquet").exists()
    write_config(tmp_path, {"net": MOTION | {"paths": [["a", "b"]]}})
    second = run(tmp_path, "--until", "prepare")
    assert second.code == 0, second.text
    write_config(tmp_path, {"net": MOTION | {"paths": [["a", "c"]]}})
    third = run(tmp_path, "-n")
    assert "plan" in third.rules
    assert "prepare" not in third.rules


@pytest.mark.complete  # a run of its own to the end
@pytest.mark.workflow
def test_with_the_profile_a_fault_holds_back_its_analysis_alone(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    write_config(tmp_path, {"net": GOLD, "other": {}})
    first = run(tmp_path)
    assert first.code != 0
    assert FAULTS["gold standard of other genes"][1] in first.text
    assert (tmp_path / "results/other/report.html").exists()
    assert not (tmp_path / "results/net/plan.json").exists()
    (tmp_path / "gold_standard.tsv").write_text("G01\tG02\n")
    second = run(tmp_path)
    assert second.code == 0, second.text
    assert "prepare" not in second.rules
    (tmp_path / "gold_standard.tsv").write_text("G01\tG03\n")
    third = run(tmp_path)
    assert third.code == 0, third.text
    assert third.rules == {"evaluate", "report"}


@pytest.mark.complete  # a run of its own to the end
@pytest.mark.workflow
def test_a_gold_standard_that_comes_later_scores_nothing_again(tmp_path: Path) -> None:
    write_inputs(tmp_path, gold="G01\tG02\n")
    section = {"method": "predictor_pairs", "expression": "expression.tsv", "lag": 0}
    section |= {"null": {"permutations": 0}}
    write_config(tmp_path, {"net": section})
    first = run(tmp_path)
    assert first.code == 0, first.text
    write_config(tmp_path, {"net": section | GOLD})
    second = run(tmp_path, "-n")
    assert second.rules == {"evaluate", "report"}


@pytest.mark.complete  # runs of their own to the end
@pytest.mark.workflow
def test_lists_in_other_capitals_give_the_same_results_with_ignore_case(tmp_path: Path) -> None:
    write_data(tmp_path)
    for name in ("regulators.txt", "gold_standard.tsv"):
        (tmp_path / f"small_{name}").write_text((tmp_path / name).read_text().lower())
    names = {"regulators": "regulators.txt", **GOLD}
    small = {key: f"small_{name}" for key, name in names.items()} | {"ignore_case": True}
    write_config(tmp_path, {"net": names, "small": small})
    done = run(tmp_path)
    assert done.code == 0, done.text
    for name in ("network.tsv", "evaluation.json"):
        files = [tmp_path / "results" / analysis / name for analysis in ("net", "small")]
        assert files[0].read_bytes() == files[1].read_bytes()
    (tmp_path / "gold_standard.tsv").write_text("g01\tg02\n")
    assert run(tmp_path, *STOP_AT_ONCE).code != 0


@pytest.mark.parametrize(
    ("section", "anything"),
    [
        (BASE, False),
        (BASE | GOLD, True),
        (MODES, True),
        (MOTION, False),
        (MOTION | {"paths": [["a", "b"]]}, True),
    ],
    ids=["nothing", "gold standard", "annotations", "no paths", "paths"],
)
def test_only_what_later_steps_look_for_is_checked(section: Any, anything: bool) -> None:
    analysis = load_config({"analyses": {"net": dict(section)}}).analyses["net"]
    part = analysis.inputs_to_check()
    assert (part is not None) == anything
    keys = set() if part is None else set(vars(part))
    assert not {"chunks", "export"} & keys
    assert not anything or {"method", "estimator"} <= keys
