"""What GitHub runs is what the Makefile offers."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml
from paths import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CI = ROOT / ".github/workflows/ci.yml"


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


def test_every_python_that_is_promised_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    tested = jobs(CI)["test"]["strategy"]["matrix"]["python"]
    assert tested == ["3.11", "3.12", "3.13", "3.14"]
    assert tested[0] == oldest


def test_only_the_job_that_publishes_may_ask_for_a_token():
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text())
        assert content["permissions"] == {"contents": "read"}
        asking = [name for name, job in content["jobs"].items() if "permissions" in job]
        assert asking == (["publish"] if path.name == "release.yml" else [])
