"""What GitHub runs is what the Makefile offers."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from typing import Any

import pytest
import yaml
from paths import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CI = ROOT / ".github/workflows/ci.yml"
RELEASE = ROOT / ".github/workflows/release.yml"


def jobs(path: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_commands_are_targets_of_the_makefile(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [
        step["run"] for job in jobs(path).values() for step in job["steps"] if "run" in step
    ]
    made = [word for run in commands if run.startswith("make ") for word in run.split()[1:]]
    assert made
    assert {word for word in made if "=" not in word} <= targets


def test_the_steps_of_a_release_name_commands_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = text.partition("\n## Release\n")[2].partition("\n## ")[0]
    assert [*map(int, re.findall(r"^(\d+)\. ", steps, re.MULTILINE))] == [*range(1, 12)]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = [word for found in re.findall(r"`make ([\w -]+)`", steps) for word in found.split()]
    assert len(named) >= 8
    assert set(named) <= targets
    files = re.findall(r"`((?:registries|paper|docs|workflow)/[\w./-]+)`", steps)
    assert [name for name in files if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit(path):
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert [line for line in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", line)] == []


def test_every_python_that_is_promised_is_tested_and_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    for job in ("test", "install"):
        tested = jobs(CI)[job]["strategy"]["matrix"]["python"]
        assert tested == ["3.11", "3.12", "3.13", "3.14"]
        assert tested[0] == oldest


def test_only_jobs_that_publish_may_write_and_each_in_one_place():
    asked = {"publish": {"id-token": "write"}, "image": {"packages": "write"}}
    asked |= {"notes": {"contents": "write"}}
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text())
        assert content["permissions"] == {"contents": "read"}
        asking = {
            name: job["permissions"] for name, job in jobs(path).items() if "permissions" in job
        }
        assert asking == (asked if path.name == "release.yml" else {})


def test_notes_of_a_release_are_its_part_of_the_changelog(tmp_path):
    [step] = [s for s in jobs(RELEASE)["notes"]["steps"] if "CHANGELOG.md" in s.get("run", "")]
    (tmp_path / "CHANGELOG.md").write_text("# C\n\n## [2.0.0]\n\n- new\n\n## [1.0.0]\n\n- old\n")
    for tag, notes in (("v2.0.0", "- new"), ("v1.0.0", "- old"), ("v3.0.0", None)):
        call = ["bash", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(call, cwd=tmp_path, env=os.environ | {"GITHUB_REF_NAME": tag})
        assert done.returncode == (notes is None)
        assert (tmp_path / "notes.md").read_text().strip() == (notes or "")
