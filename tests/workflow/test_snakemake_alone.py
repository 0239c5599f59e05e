"""With Snakemake and what it brings, and no other package, the rules can be read, checked and
planned: by registries, by who looks before they install, and for jobs in conda environments."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from programs import snakemake
from small_analyses import ANALYSES, write_all
from workflow_runs import HANGS_SECONDS, ROOT, Run, environment

pytestmark = pytest.mark.workflow

WITHOUT = """
import sys
import sysconfig
import venv
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

missing = set(sys.argv.pop(1).split(","))
sys.meta_path.insert(0, Missing())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in missing else find(name, *more)
from snakemake.cli import main
main()
"""

CONDA = """#!/bin/sh
here=$(dirname $(dirname "$0"))
case "$*" in
  "--version") echo conda 25.9.0;;
  "info --json")
    printf '{"conda_version": "25.9.0", "platform": "linux-64", "conda_prefix": "%s"}' "$here";;
  *channel_priority*) echo '{"get": {"channel_priority": "strict"}}';;
  *create*) for prefix; do true; done; cp -rs "$here/environment" "${prefix%/}";;
  clean*) ;;
  *) exit 3;;
esac
"""
"""Stands in for conda: what it makes is a copy of a folder that is there already."""

ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n'


def brought_by(package: str) -> set[str]:
    """The package and all that it requires, without extras."""
    found, left = set(), [package]
    while left:
        name = canonicalize_name(left.pop())
        if name in found:
            continue
        found.add(name)
        for text in metadata.requires(name) or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                left.append(wanted.name)
    return found


def missing_modules() -> set[str]:
    """Modules that are installed here and that Snakemake does not bring."""
    own = brought_by("snakemake")
    return {
        module
        for module, packages in metadata.packages_distributions().items()
        if not own & {canonicalize_name(name) for name in packages}
        and not module.startswith(("snakemake", "_", "pairtile"))
    }


def snakemake_alone(folder: Path, *arguments: str, **variables: str) -> Run:
    done = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, ",".join(missing_modules()), *arguments],
        cwd=folder,
        env=environment() | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS_SECONDS,
    )
    return Run(done.returncode, done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An analysis of every method."""
    write_all(tmp_path)
    return tmp_path


def path_with_conda(folder: Path) -> str:
    """A PATH on which conda's place is taken, with an environment that holds what is installed
    here, but for pairtile."""
    (folder / "conda/bin").mkdir(parents=True)
    (folder / "conda/bin/conda").write_text(CONDA)
    (folder / "conda/bin/conda").chmod(0o755)
    (folder / "conda/bin/activate").write_text(ACTIVATE)
    environment = folder / "conda/environment"
    venv.create(environment)
    packages = next(environment.glob("lib/python*/site-packages"))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "pairtile" not in path.name:
            (packages / path.name).symlink_to(path)
    return f"{folder / 'conda/bin'}{os.pathsep}{os.environ['PATH']}"


GIVEN = ("--snakefile", str(ROOT / "Snakefile"), "--configfile", "config.yaml", "--cores", "2")


def test_numpy_and_pandas_are_not_among_what_snakemake_brings() -> None:
    assert {"numpy", "pandas", "numba", "matplotlib", "pyarrow"} <= missing_modules()
    assert not {"yaml", "pydantic", "jinja2"} & missing_modules()


@pytest.mark.parametrize("asked", [["--lint"], ["-n"], ["-n", "--sdm", "conda"]])
def test_rules_are_read_checked_and_planned(folder: Path, asked: list[str]) -> None:
    done = snakemake_alone(folder, *GIVEN, *asked, PATH=path_with_conda(folder))
    assert done.code == 0, done.text
    if "-n" in asked:
        assert "This was a dry-run" in done.text
        assert all(name in done.text for name in ANALYSES)
    if "conda" in asked:
        assert "envs/pairtile.yaml will be created" in done.text


@pytest.mark.parametrize("more", [[], pytest.param(["--sdm", "conda"], marks=pytest.mark.complete)])
def test_a_run_is_refused_with_the_command_that_installs_the_checkout(
    folder: Path, more: list[str]
) -> None:
    done = snakemake_alone(folder, *GIVEN, *more, PATH=path_with_conda(folder))
    assert done.code == 1, done.text
    [line] = [line for line in done.text.splitlines() if line.startswith("pairtile: found no")]
    assert f"{sys.executable} -m pip install {ROOT}" in line
    assert "Traceback" not in done.text
    assert not (folder / "results").exists()


@pytest.mark.complete
def test_jobs_in_a_conda_environment_find_the_package_beside_the_rules(folder: Path) -> None:
    """It is not in the environment: Snakemake has scripts look where it looks itself, at last."""
    section = yaml.safe_load((folder / "config.yaml").read_text())["analyses"]["mutual_information"]
    (folder / "config.yaml").write_text(yaml.safe_dump({"analyses": {"net": section}}))
    path = path_with_conda(folder)
    inside = folder / "conda/environment/bin/python"
    looked = [inside, "-c", "import numpy, pairtile"]
    found = subprocess.run(looked, capture_output=True, text=True, env=environment())
    assert "No module named 'pairtile'" in found.stderr
    done = snakemake(folder, *GIVEN, "--sdm", "conda", PATH=path)
    assert done.code == 0, done.text
    assert "Activating conda environment" in done.text
    assert (folder / "results/net/report.html").is_file()
