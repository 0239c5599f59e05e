"""The three ways in of the README, word for word, in clean environments and empty folders.

``make test-install`` builds the packages before. For what only the outside has, stand in: the wheel
in ``dist/`` for the package index, a repository of this machine for the address of pairtile's, and
the image that ``make container`` built for that of the registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml
from documents import blocks
from fetched_workflow import make_repository
from pairtile import __version__
from paths import ROOT

pytestmark = [pytest.mark.install, pytest.mark.timeout(3000)]

PYTHON, CONTAINER, SNAKEMAKE = blocks(ROOT / "README.md", "console")[1:4]


def follow(commands: str, folder: Path, path: Path, **variables: str) -> None:
    """Run the commands of a block of the README in a folder; its page must be there at the end."""
    lines = [line.removeprefix("$ ") for line in commands.splitlines()]
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    # A shell such as a user's, in which the environment is active.
    variables |= {"PATH": f"{path}:{os.environ['PATH']}", "PIP_FIND_LINKS": str(ROOT / "dist")}
    subprocess.run(
        ["bash", "-euxc", "\n".join(lines)], cwd=folder, env=known | variables, check=True
    )
    page = (folder / "results/demo/report.html").read_text(encoding="utf-8")
    assert "demo" in page


def clean_environment(folder: Path, *packages: str) -> Path:
    """A new environment with some packages; the folder of its commands."""
    venv.create(folder, with_pip=True)
    if packages:
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "-q", *packages], check=True)
    return folder / "bin"


def test_nothing_but_python(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    follow(PYTHON, tmp_path / "empty", clean_environment(tmp_path / "environment"))


def test_the_conda_recipe_renders_and_the_script_of_its_tests_runs(tmp_path: Path) -> None:
    rattler = pytest.importorskip("rattler_build", reason="needs py-rattler-build")
    recipe = rattler.Stage0Recipe.from_file(str(ROOT / "conda/recipe.yaml"))
    [variant] = recipe.render(rattler.VariantConfig(), rattler.RenderConfig())
    package = variant.recipe.package
    assert (package.name, package.version) == ("pairtile", __version__)
    known = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
    [script] = [test["script"] for test in known["tests"] if "script" in test]
    wheel = str(next((ROOT / "dist").glob("*.whl")))
    follow("\n".join(script), tmp_path, clean_environment(tmp_path / "environment", wheel))


def test_snakemake_alone(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    here = make_repository(tmp_path / "repository")
    path = clean_environment(tmp_path / "environment", "snakemake>=9.19,<10")
    follow(SNAKEMAKE, tmp_path / "empty", path, XDG_CACHE_HOME=str(tmp_path / "cache"), **here)


@pytest.mark.skipif(not shutil.which("podman"), reason="needs podman")
def test_nothing_but_a_container_runtime(tmp_path: Path) -> None:
    image = CONTAINER.split()[-2]
    known = subprocess.run(["podman", "image", "exists", image], check=False)
    if known.returncode:
        pytest.skip(f"needs the image {image} (make container)")
    follow(CONTAINER, tmp_path, Path(sys.executable).parent)
