"""A finished run as an RO-Crate that others read, and the run done again from it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pairtile.command import main
from pairtile.command.crate import RUN
from pairtile.runtime.files import file_digest
from paths import ROOT
from workflow_runs import finished_run

pytest.importorskip("rocrate", reason="needs rocrate (the extra `crate`)")
pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate of a run of two analyses."""
    folder, done = finished_run(tmp_path_factory)
    assert done.code == 0, done.text
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["crate", "config.yaml", "--out", "crate"]) == 0
    return folder / "crate"


def entities(crate: Path) -> dict[str, Any]:
    graph = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    return {entity["@id"]: entity for entity in graph}


@pytest.mark.complete
def test_a_summary_says_when_how_and_from_which_code(packed: Path) -> None:
    run = json.loads((packed / "results/net/summary.json").read_text())["run"]
    assert run["command"].startswith("snakemake --cores 2 --configfile ")
    assert run["date"].endswith("+00:00")
    revision = run["git_revision"]
    assert (ROOT / ".git").exists() is (revision is not None)
    assert revision is None or len(revision.removesuffix("-dirty")) == 40


def test_a_crate_says_what_is_what_by_the_profile(packed: Path) -> None:
    found = entities(packed)
    root, action = found["./"], found[RUN]
    assert {"@id": RUN} in root["mentions"]
    assert {one["@id"].removeprefix("https://w3id.org/") for one in root["conformsTo"]} == {
        "ro/wfrun/process/0.5",
        "ro/wfrun/workflow/0.5",
        "workflowhub/workflow-ro-crate/1.0",
    }
    workflow = found[root["mainEntity"]["@id"]]
    assert action["instrument"] == root["mainEntity"]
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    inputs = {part["@id"] for part in action["object"]}
    results = {part["@id"] for part in action["result"]}
    assert inputs > {"config.yaml", "inputs/net/expression/expression.tsv"}
    assert results > {"results/net/network.tsv", "results/boot/pairs.parquet"}
    for name in (inputs | results) - {"config.yaml"}:
        assert found[name]["sha256"] == file_digest(packed / name)


def test_paths_of_the_configuration_are_those_in_the_crate(packed: Path) -> None:
    config = yaml.safe_load((packed / "config.yaml").read_text())
    assert config["backend"] == "cpu"
    for analysis in config["analyses"].values():
        assert (packed / analysis["expression"]).is_file()


@pytest.mark.parametrize("change", [lambda f: f.write_text("gene\ts1\n"), lambda f: f.unlink()])
def test_a_changed_crate_is_not_run(
    packed: Path, tmp_path: Path, change: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    crate = shutil.copytree(packed, tmp_path / "crate")
    change(crate / "inputs/net/expression/expression.tsv")
    assert main(["reproduce", str(crate), "--out", str(tmp_path / "again")]) == 1
    assert "expression.tsv: found another content or none" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def test_inputs_that_changed_since_the_run_are_not_packed(
    packed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = packed.parent
    before = (folder / "regulators.txt").read_text()
    (folder / "regulators.txt").write_text(before + "\n")
    monkeypatch.chdir(folder)
    assert main(["crate", "config.yaml", "--out", "other"]) == 1
    (folder / "regulators.txt").write_text(before)
    assert "found another content; expected what the run has read" in capsys.readouterr().err
    assert not (folder / "other").exists()


@pytest.mark.complete
def test_a_run_is_repeated_from_its_crate_to_the_byte(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / "again"
    assert main(["reproduce", str(packed), "--out", str(again)]) == 0, capsys.readouterr().err
    assert "all results are the same to the byte" in capsys.readouterr().out
    results = [path for path in (packed / "results").rglob("*") if path.is_file()]
    same = [p for p in results if p.name not in ("summary.json", "report.html")]
    assert len(same) > 8
    for path in same:
        assert path.read_bytes() == (again / path.relative_to(packed)).read_bytes(), path


def test_results_that_differ_are_named(
    packed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def other_run(config: Path, arguments: Any) -> int:
        shutil.copytree(packed / "results", "results")
        Path("results/net/network.tsv").write_text("something else")
        Path("results/boot/items.parquet").unlink()
        Path("results/net/summary.json").write_text("took longer")
        return 0

    monkeypatch.setattr("pairtile.command.crate.run", other_run)
    again = tmp_path / "again"
    assert main(["reproduce", str(packed), "--out", str(again)]) == 1
    said = capsys.readouterr().err.splitlines()
    names = ("net/network.tsv", "boot/items.parquet")
    assert sorted(said) == sorted(f"{again}/results/{name}: differs" for name in names)
