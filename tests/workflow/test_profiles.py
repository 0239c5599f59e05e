"""Profiles: every setting is known to Snakemake or the plugin, and all agree on the faults."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_runs import ROOT

PROFILES = sorted(path.parent for path in (ROOT / "profiles").glob("*/config.yaml"))
CLUSTERS = [profile for profile in PROFILES if profile.name != "default"]


def settings(profile: Path) -> dict[str, Any]:
    return yaml.safe_load((profile / "config.yaml").read_text())


def test_there_is_a_profile_for_each_place() -> None:
    names = {"slurm", "kubernetes", "aws-batch", "googlebatch", "cluster-generic", "default"}
    assert {profile.name for profile in PROFILES} == names
    assert {path.name for path in (ROOT / "profiles").iterdir()} == names


@pytest.mark.parametrize("profile", CLUSTERS, ids=lambda profile: profile.name)
def test_a_cluster_s_profile_tries_again_and_keeps_what_the_default_keeps(profile: Path) -> None:
    found = settings(profile)
    assert found["executor"] == profile.name
    assert found["retries"] == 2
    # Within a job, all cores of the node would be taken for its own: hence both.
    assert found["cores"] == found["max-threads"]
    assert found["latency-wait"] >= 60
    local = settings(ROOT / "profiles/default")
    kept = ("rerun-incomplete", "rerun-triggers", "keep-going")
    assert {key: found[key] for key in kept} == {key: local[key] for key in kept}


@pytest.mark.parametrize("profile", CLUSTERS, ids=lambda profile: profile.name)
def test_a_cluster_s_profile_says_what_to_fill_in_and_is_told_of_in_the_docs(profile: Path) -> None:
    text = (profile / "config.yaml").read_text()
    assert "# --- fill in" in text
    assert f"--profile profiles/{profile.name}" in text
    assert f"(../profiles/{profile.name}/config.yaml)" in (ROOT / "docs/clusters.md").read_text()


KNOWN = """
from snakemake.cli import get_argument_parser
actions = get_argument_parser()._actions
print(*(option for action in actions for option in action.option_strings))
"""


@cache
def known_options() -> set[str]:
    return set(subprocess.check_output([sys.executable, "-c", KNOWN], text=True).split())


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_every_setting_is_known_to_snakemake_or_the_plugin(profile: Path) -> None:
    found = settings(profile)
    plugin = f"snakemake_executor_plugin_{profile.name.replace('-', '_')}"
    if profile.name == "default" or importlib.util.find_spec(plugin):
        without = ""
    else:  # then all settings but the plugin's
        without = f"{profile.name}-"
    asked = {f"--{key}" for key in found if not (without and key.startswith(without))}
    assert asked - known_options() == set()
