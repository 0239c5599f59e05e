"""What only later steps read is looked at before anything is scored, and scores nothing again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workflow_runs import STOP_AT_ONCE, run, write_config, write_data

GOLD = {"gold_standard": "gold_standard.tsv"}
MODES = {"method": "multimodal_correlation", "expression": "expression.tsv"}
MODES |= {"annotations": "samples.tsv", "estimator": {"min_samples": 10}}
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


@pytest.mark.complete  # runs of their own to the end
@pytest.mark.workflow
def test_nothing_is_scored_before_all_analyses_are_sound_and_all_faults_are_named(
    tmp_path: Path,
) -> None:
    write_inputs(tmp_path)
    (tmp_path / "strangers.txt").write_text("nobody\n")
    sections = {"sound": {}, "strangers": {"regulators": "strangers.txt"}, "net": GOLD}
    others = sections | {"others": {"regulators": "strangers.txt"}}
    write_config(tmp_path, others)
    assert run(tmp_path, *STOP_AT_ONCE).code != 0
    scored = [*tmp_path.glob("results/*/null.npz"), *tmp_path.glob("results/*/chunks/*")]
    assert scored == []
    first = run(tmp_path)  # the profile keeps going: sound analyses are scored
    assert first.code != 0
    end = first.text.split("pairtile: stopped")[1]
    for log in ("strangers/logs/prepare.log", "others/logs/prepare.log", "net/logs/plan.log"):
        assert log in end
    scored = {path.parent.name for path in tmp_path.glob("results/*/null.npz")}
    assert scored == {"sound"}
    assert run(tmp_path, "results/sound/network.tsv").code == 0  # asks for nothing of the others
    (tmp_path / "gold_standard.tsv").write_text("G01\tG02\n")
    (tmp_path / "strangers.txt").write_text("G01\nG02\n")
    write_config(tmp_path, sections)
    second = run(tmp_path)
    assert second.code == 0, second.text
    assert second.text.count("net: read and clean") == 0
    (tmp_path / "gold_standard.tsv").write_text("G01\tG03\n")
    third = run(tmp_path)
    assert third.code == 0, third.text
    # Analyses with other tables have a rule ``network`` of their own, by number.
    assert {rule.split("_")[0] for rule in third.rules} == {"network", "export", "report"}
    # A new analysis, and another setting of one, run nothing of the others again.
    changed = sections["strangers"] | {"estimator": {"bins": 5}}
    write_config(tmp_path, sections | {"strangers": changed, "new": {"estimator": {"bins": 6}}})
    fourth = run(tmp_path)
    assert fourth.code == 0, fourth.text
    done = re.findall(r"^Job \d+: (\w+): choose the pairs", fourth.text, re.M)
    assert sorted(done) == ["new", "strangers"]


ODD = ["a b.tsv", "it's.tsv", 'q"q.tsv', "st*r.tsv", "wh?t.tsv", "[a].tsv", "-lead.tsv"]
ODD += ["Größe 数.tsv", "$HOME.tsv", "a&b;c.tsv", "#h.tsv", "100%.tsv", "a:b.tsv", "~t.tsv"]


@pytest.mark.complete  # many jobs
@pytest.mark.workflow
def test_odd_paths_of_inputs_and_results_work(tmp_path: Path) -> None:
    write_data(tmp_path, genes=10, samples=30)
    for name in ODD:
        (tmp_path / name).write_bytes((tmp_path / "expression.tsv").read_bytes())
    sections = {f"x{k}": {"expression": name} for k, name in enumerate(ODD)}
    results = "res (1) [x]*+? ü'$"
    write_config(tmp_path, sections, results=results)
    done = run(tmp_path, "--until", "prepare")
    assert done.code == 0, done.text
    assert len(list((tmp_path / results).glob("*/items.parquet"))) == len(ODD)
