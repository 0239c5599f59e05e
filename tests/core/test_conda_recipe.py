"""The conda recipe states what the package states elsewhere."""

from __future__ import annotations

import tomllib

import yaml
from pairtile import __version__
from paths import ROOT

RECIPE = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_command_and_requirements_are_those_of_the_package():
    assert RECIPE["context"]["version"] == __version__
    environment = yaml.safe_load((ROOT / "envs/pairtile.yaml").read_text())
    assert RECIPE["requirements"]["run"] == environment["dependencies"]
    assert PROJECT["build-system"]["requires"] == ["setuptools>=77"]
    assert "setuptools >=77" in RECIPE["requirements"]["host"]
    [(name, function)] = PROJECT["project"]["scripts"].items()
    assert RECIPE["build"]["python"]["entry_points"] == [f"{name} = {function}"]
    assert RECIPE["about"]["summary"] == PROJECT["project"]["description"]
    assert RECIPE["about"]["license"] == PROJECT["project"]["license"]
