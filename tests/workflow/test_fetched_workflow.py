"""The workflow is used without a checkout: deployed from its repository, as the workflow catalogue
says, or imported from a web server. The package is the installed one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fetched_workflow import ADDRESS, TAG, make_repository
from pairtile import __version__
from programs import QuietFiles, snakemake, web_server
from workflow_runs import ROOT, Run, environment

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

IMPORTING = """
configfile: "config/config.yaml"


module pairtile:
    snakefile:
        "{address}"
    config:
        config


use rule * from pairtile
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tmp_path / "repository"


@pytest.fixture
def server(repository: Path) -> Iterator[str]:
    """The address of a web server of this machine, which has the repository's files."""
    make_repository(repository)
    with web_server(partial(QuietFiles, directory=str(repository))) as address:
        yield f"http://{address}"


def study(folder: Path, address: str, *arguments: str, **variables: str) -> Run:
    """Run the demo by a Snakefile that imports the workflow at an address."""
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "Snakefile").write_text(IMPORTING.format(address=address))
    return deployed(folder, *arguments, **variables)


def deployed(folder: Path, *arguments: str, **variables: str) -> Run:
    variables = {"XDG_CACHE_HOME": str(folder / "cache")} | variables
    return snakemake(folder, "--cores", "2", *arguments, safe_path=True, **variables)


@pytest.mark.complete
def test_the_demo_runs_as_the_workflow_catalogue_deploys_it(
    repository: Path, tmp_path: Path
) -> None:
    here = make_repository(repository)
    pytest.importorskip("snakedeploy", reason="is not made for this Python yet")
    deploy = [Path(sys.executable).with_name("snakedeploy"), "deploy-workflow", ADDRESS, "."]
    subprocess.run(
        [*deploy, "--tag", TAG],
        cwd=tmp_path,
        env=environment() | here,
        check=True,
        capture_output=True,
    )
    assert 'github("pairtile/pairtile"' in (tmp_path / "workflow/Snakefile").read_text()
    done = deployed(tmp_path, **here)
    assert done.code == 0, done.text
    assert (tmp_path / "results/demo/report.html").is_file()


@pytest.mark.complete
def test_the_demo_runs_as_a_module_from_a_web_server(server: str, tmp_path: Path) -> None:
    done = study(tmp_path, f"{server}/workflow/Snakefile")
    assert done.code == 0, done.text
    assert (tmp_path / "results/demo/report.html").is_file()


@pytest.mark.parametrize(
    ("package", "found"),
    [
        ("raise ModuleNotFoundError('no package')", "no package"),
        ('__version__ = "0.0.1"\n', "found 0.0.1"),
    ],
)
def test_a_missing_or_other_package_is_one_line_with_the_command_that_installs_it(
    server: str, tmp_path: Path, package: str, found: str
) -> None:
    (tmp_path / "path/pairtile").mkdir(parents=True)
    (tmp_path / "path/pairtile/__init__.py").write_text(package)
    (tmp_path / "path/pairtile/snakemake_internals.py").touch()
    address = f"{server}/workflow/Snakefile"
    done = study(tmp_path, address, "-n", PYTHONPATH=str(tmp_path / "path"))
    assert done.code != 0
    [line] = [line for line in done.text.splitlines() if found in line]
    assert line.endswith(f"{sys.executable} -m pip install pairtile=={__version__}")
    assert "Traceback" not in done.text
