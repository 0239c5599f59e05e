"""The ways in of docs/install.md, word for word, in clean environments and empty folders.

``make test-install`` builds the packages before. For what only the outside has, stand in: the wheel
in ``dist/`` for the package index, a repository of this machine for the address of pairtile's, and
the image that ``make container`` built for that of the registry.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from documents import blocks
from fetched_workflow import make_repository
from pairtile import __version__
from paths import ROOT
from small_analyses import ANALYSES, write_all

pytestmark = [pytest.mark.install, pytest.mark.timeout(3000)]

PYTHON, CONTAINER, SNAKEMAKE = blocks(ROOT / "docs/install.md", "console")[2:5]


def follow(commands: str, folder: Path, path: Path, **variables: str) -> None:
    """Run the commands of a block of the page in a folder; its page must be there at the end."""
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


def test_the_commands_that_the_conda_recipe_tests_with_run(tmp_path: Path) -> None:
    text = (ROOT / "registries/bioconda/meta.yaml").read_text()
    commands = text.partition("  commands:\n")[2].partition("\n\n")[0]
    wheel = str(next((ROOT / "dist").glob("*.whl")))
    lines = (line.strip().removeprefix("- ") for line in commands.splitlines())
    follow("\n".join(lines), tmp_path, clean_environment(tmp_path / "environment", wheel))


RENDER = """
import sys
from conda_build import api
[(recipe, *_)] = api.render(sys.argv[1], finalize=False, bypass_env_check=True)
print("---", api.output_yaml(recipe), sep="\\n")
"""
"""Without channels: versions stay as bounds."""


@pytest.mark.skipif(not shutil.which("conda-render"), reason="needs conda-build")
def test_conda_build_renders_the_recipe(tmp_path: Path) -> None:
    """tests/core/test_registries.py renders it by Jinja alone."""
    python = Path(str(shutil.which("conda-render"))).with_name("python")
    done = subprocess.run(
        [python, "-c", RENDER, ROOT / "registries/bioconda"],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(tmp_path), "CONDA_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    made = yaml.safe_load(done.stdout.partition("---\n")[2])
    assert made["package"] == {"name": "pairtile", "version": __version__}
    environment = yaml.safe_load((ROOT / "envs/pairtile.yaml").read_text())
    assert made["requirements"]["run"] == environment["dependencies"]
    assert (made["build"]["noarch"], made["build"]["run_exports"]) == ("python", ["pairtile"])


def test_the_tools_for_galaxy_pass_the_linter_of_planemo(tmp_path: Path) -> None:
    path = clean_environment(tmp_path / "environment", "planemo")
    tools = sorted((ROOT / "registries/galaxy").glob("*.xml"))
    done = subprocess.run(
        [path / "planemo", "lint", "--fail_level", "warn", *tools],
        capture_output=True,
        text=True,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Linting tool") == len(tools) == 5


NEXTFLOW = """#!/bin/sh
echo "manifest.name = 'nf-core/modules'"
"""
"""Stands in for Nextflow, which the linter asks for the settings of the folder."""


def test_the_modules_for_nf_core_pass_its_linter_as_far_as_it_goes_offline(tmp_path: Path) -> None:
    """The linter fetches nf-core/modules: here it is a repository with these modules alone, and
    with schemas that ask nothing. Only what needs Nextflow itself or a release is left."""
    path = clean_environment(tmp_path / "environment", "nf-core")
    (path / "nextflow").write_text(NEXTFLOW)
    (path / "nextflow").chmod(0o755)
    here = shutil.copytree(ROOT / "registries/nf-core", tmp_path / "here")
    for name in ("environment", "meta"):
        (here / f"modules/{name}-schema.json").write_text("{}")
    there = tmp_path / "remote/nf-core/modules.git"
    known = os.environ | {"HOME": str(tmp_path), "PATH": f"{path}:{os.environ['PATH']}"}
    known |= dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "x")
    known |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "x@example.org")
    git = (
        f"git init -qb master . && git add -A && git commit -qm x && git clone -q --bare . {there}"
    )
    subprocess.run(["bash", "-ec", git], cwd=here, env=known, check=True)
    remote = ["--git-remote", str(there), "--branch", "master"]
    for module in ("network", "demo"):
        command = ["nf-core", "modules", *remote, "lint", f"pairtile/{module}", "--dir", "."]
        done = subprocess.run(command, cwd=here, env=known, capture_output=True, text=True)
        said = " ".join((done.stdout + done.stderr).replace("│", " ").split())
        failed = set(re.findall(r"(\w+): (?=[A-Z])", said.partition("Failed")[2]))
        assert failed <= {"docker_tag", "singularity_tag"}, said
        assert int(re.findall(r"(\d+) Tests Passed", said)[-1]) > 40


def test_packages_carry_no_tests() -> None:
    """Nor notes, benchmarks or what is generated for registries."""
    wheel, sdist = (next((ROOT / "dist").glob(f"*{end}")) for end in (".whl", ".tar.gz"))
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert not [
        name for name in names if re.search(r"(^|/)(tests?|benchmarks)/|test_\w+\.py$", name)
    ]
    tops = {name.partition("/")[0] for name in names}
    assert {top.partition("-")[0] for top in tops} == {"pairtile"}
    with tarfile.open(sdist) as packed:
        names = [name.partition("/")[2] for name in packed.getnames()]
    assert "workflow/pairtile/__init__.py" in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "registries"))]


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_wheel_runs_with_the_oldest_and_the_newest_that_it_allows(
    tmp_path: Path, resolution: str
) -> None:
    """For every Python that is found here (in CI each has a job); the oldest packages have wheels
    for the oldest Python alone."""
    tools = clean_environment(tmp_path / "tools", "uv")
    find = [tools / "uv", "python", "find", "--no-python-downloads"]
    found = [
        subprocess.run([*find, f"3.{minor}"], capture_output=True, text=True)
        for minor in range(11, 15)
    ]
    pythons = [done.stdout.strip() for done in found if done.returncode == 0]
    assert pythons
    pythons = pythons[:1] if resolution == "lowest-direct" else pythons
    print(*pythons, sep="\n")
    for number, python in enumerate(pythons):
        folder = tmp_path / str(number)
        folder.mkdir()
        compile_it = [tools / "uv", "pip", "compile", "--quiet", "--resolution", resolution]
        compile_it += [ROOT / "pyproject.toml", "--python", python]
        subprocess.run([*compile_it, "--output-file", folder / "pins.txt"], check=True)
        subprocess.run([python, "-m", "venv", folder / "environment"], check=True)
        path = folder / "environment/bin"
        wheel = str(next((ROOT / "dist").glob("*.whl")))
        install = [path / "python", "-m", "pip", "install", "-q", wheel]
        subprocess.run([*install, "--constraint", folder / "pins.txt"], check=True)
        (folder / "empty").mkdir()
        follow("$ pairtile demo", folder / "empty", path)
        write_all(folder / "empty")
        follow("$ pairtile run config.yaml", folder / "empty", path)
        pages = {page.parent.name for page in (folder / "empty").glob("results/*/report.html")}
        assert pages == {"demo", *ANALYSES}


def test_the_bill_of_materials_lists_what_is_locked(tmp_path: Path) -> None:
    subprocess.run(["make", "sbom", f"VENV={tmp_path / 'venv'}"], cwd=ROOT, check=True)
    listed = json.loads((ROOT / "dist/sbom.cdx.json").read_text())
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "pairtile",
    )
    locked = set(
        re.findall(r"^([\w.-]+)==", (ROOT / "envs/requirements.lock.txt").read_text(), re.M)
    )
    assert {part["name"] for part in listed["components"]} == locked


def test_the_locks_are_those_of_pyproject(tmp_path: Path) -> None:
    """Resolved again, with what is locked preferred, nothing changes: none is missing, none is left
    over."""
    path = clean_environment(tmp_path / "environment", "uv")
    [command] = re.findall(r"^LOCK := (.*?)\n\n", (ROOT / "Makefile").read_text(), re.M | re.S)
    command = command.replace("\\\n", " ").replace("--upgrade ", "")
    for name, more in (("requirements", ""), ("requirements-cuda12", "--extra cuda12")):
        lock = shutil.copyfile(ROOT / f"envs/{name}.lock.txt", tmp_path / f"{name}.txt")
        call = f"{path}/{command} {more} --output-file {lock}"
        subprocess.run(["bash", "-ec", call], cwd=ROOT, check=True)
        assert lock.read_text() == (ROOT / f"envs/{name}.lock.txt").read_text()


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
