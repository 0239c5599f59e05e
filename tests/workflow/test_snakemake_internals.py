"""What pairtile takes of Snakemake beyond its manual is still there, and does what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pairtile import snakemake_internals as internals
from programs import python
from snakemake.io import _IOFile
from snakemake.settings.types import DeploymentSettings, StorageSettings
from snakemake_interface_executor_plugins.settings import DeploymentMethod
from snakemake_interface_storage_plugins.storage_object import StorageObjectRead
from workflow_runs import ROOT, environment

pytestmark = pytest.mark.workflow

SNAKEFILE = """
import atexit, dataclasses, json, os
from pairtile import snakemake_internals as internals

FACTS = {
    "imported": internals.is_imported(workflow),
    "main": internals.is_main_process(workflow),
    "files": internals.configuration_files(workflow),
    "storage": internals.has_default_storage(workflow),
    "software": internals.deploys_software(workflow),
    "cores": internals.cores_given(workflow),
    "gpu": internals.resource_given(workflow, "gpu"),
    "tapes": internals.resource_given(workflow, "tapes"),
}
EVENTS = []


def start():
    with open("starts.txt", "a") as file:
        file.write(".")
    FACTS["executor"] = internals.executor_name(workflow)
    FACTS["starts"] = internals.starts_jobs(workflow)
    FACTS["targets"] = internals.targets_given(workflow)
    FACTS["keeps_going"] = internals.keeps_going(workflow)
    FACTS["notes"] = internals.notes_folder(workflow)
    if internals.starts_jobs(workflow):
        os.remove("out/removed.txt")
        FACTS["limit"] = str(workflow.scheduling_settings.max_jobs_per_timespan)
        internals.start_jobs_without_limit(workflow)
        internals.release_locks(workflow)
    elif internals.executor_name(workflow):
        internals.take_for_missing(workflow, "out/removed.txt")


if internals.is_main_process(workflow):
    internals.hear_events(logger, EVENTS.append)
    internals.before_graph(workflow, "own", start)

    @atexit.register
    def write():
        if "executor" not in FACTS:
            return  # read again
        events = [(type(e).__name__, *dataclasses.astuple(e)) for e in EVENTS]
        with open("facts.json", "w") as file:
            json.dump(FACTS | {"events": events}, file)


def nothing(wildcards):
    internals.make_again(workflow, ["forced.txt"])
    return []


rule all:
    input: "out/removed.txt", "forced.txt", "kept.txt", "process.txt", "never.txt"

rule removed:
    output: "out/removed.txt"
    message: "net: make it"
    shell: "touch {output}"

rule forced:
    input: nothing
    output: internals.kept("forced.txt")
    shell: "echo again >> {output}"

rule kept:
    output: "kept.txt"
    shell: "touch {output}"

rule process:
    output: "process.txt"
    run:
        open(output[0], "w").write(str(internals.is_main_process(workflow)))

rule never:
    output: internals.kept("never.txt")
    log: "logs/never.log"
    shell: "touch {output}; false"

onerror:
    logger.warning("100 % over")
"""

SILENT = """
import logging

from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase):
    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __init__(self, common_settings, settings=None):
        super().__init__(common_settings, settings)
        logging.Handler.__init__(self)  # before version 2 of the interface, nothing does

    def emit(self, record):
        pass
"""

IMPORTING = """
module inner:
    snakefile: "Snakefile"

use rule * from inner

use rule kept from inner as kept with:
    message: "read again"
"""


def snakemake(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, facts and output of a run in a folder with files of an earlier one."""
    plugin = folder / "plugins/snakemake_logger_plugin_silent"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(SILENT)
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "importing.smk").write_text(IMPORTING)
    (folder / "more.yaml").write_text("key: 1\n")
    (folder / "out").mkdir()
    for name in ("out/removed.txt", "forced.txt", "kept.txt"):
        (folder / name).write_text("before\n")
    locks = folder / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("out/removed.txt\n")  # of a killed run
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=environment() | {"PYTHONPATH": f"{ROOT / 'workflow'}:{folder / 'plugins'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    facts = json.loads((folder / "facts.json").read_text())
    facts["starts_made"] = len((folder / "starts.txt").read_text())
    return done.returncode, facts, done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def of_run(folder: Path) -> dict[str, Any]:
    """A run in which one job fails, with a logger that says nothing."""
    arguments = ["--cores", "2", "--resources", "gpu=3", "--configfile", "more.yaml"]
    arguments += ["--keep-going", "--rerun-triggers", "mtime", "--logger", "silent"]
    code, facts, text = snakemake(folder, *arguments, "--", "all", "kept.txt")
    assert code == 1, text
    return facts


@pytest.fixture(scope="module")
def of_dry_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A dry run of a workflow that imports the other, without anything given."""
    folder = tmp_path_factory.mktemp("dry")
    arguments = ["--dry-run", "--snakefile", "importing.smk", "--rerun-triggers", "mtime"]
    code, facts, text = snakemake(folder, *arguments, "--nolock")
    assert code == 0, text
    assert (folder / "out/removed.txt").exists()
    return facts


@pytest.fixture(scope="module")
def of_summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    code, facts, text = snakemake(tmp_path_factory.mktemp("summary"), "--summary")
    assert code == 0, text
    return facts


def test_is_imported(of_run: dict[str, Any], of_dry_run: dict[str, Any]) -> None:
    assert not of_run["imported"]
    assert of_dry_run["imported"]


def test_is_main_process(of_run: dict[str, Any], folder: Path) -> None:
    assert of_run["main"]
    assert (folder / "process.txt").read_text() == "False"  # of a job in a process of its own


def test_configuration_files(of_run: dict[str, Any], of_dry_run: dict[str, Any]) -> None:
    assert [Path(path).name for path in of_run["files"]] == ["more.yaml"]
    assert of_dry_run["files"] == []


def test_has_default_storage(of_run: dict[str, Any]) -> None:
    assert not of_run["storage"]
    settings = StorageSettings(default_storage_provider="s3")
    assert internals.has_default_storage(SimpleNamespace(storage_settings=settings))


def test_deploys_software(of_run: dict[str, Any]) -> None:
    assert not of_run["software"]
    settings = DeploymentSettings(deployment_method={DeploymentMethod.CONDA})
    assert internals.deploys_software(SimpleNamespace(deployment_settings=settings))


def test_cores_given(of_run: dict[str, Any]) -> None:
    assert of_run["cores"] == 2


def test_resource_given(of_run: dict[str, Any]) -> None:
    assert of_run["gpu"] == 3
    assert of_run["tapes"] is None


def test_targets_given(of_run: dict[str, Any], of_dry_run: dict[str, Any]) -> None:
    assert of_run["targets"] == ["all", "kept.txt"]
    assert of_dry_run["targets"] == []


def test_keeps_going(of_run: dict[str, Any], of_dry_run: dict[str, Any]) -> None:
    assert of_run["keeps_going"]
    assert not of_dry_run["keeps_going"]


def test_executor_name_and_starts_jobs(
    of_run: dict[str, Any], of_dry_run: dict[str, Any], of_summary: dict[str, Any]
) -> None:
    found = [(facts["executor"], facts["starts"]) for facts in (of_run, of_dry_run, of_summary)]
    assert found == [("local", True), ("dryrun", False), (None, False)]


def test_before_graph_comes_once_and_before_snakemake_looks_for_files(
    of_run: dict[str, Any], of_dry_run: dict[str, Any], folder: Path
) -> None:
    assert of_run["starts_made"] == of_dry_run["starts_made"] == 1
    assert (folder / "out/removed.txt").exists()  # made again


def test_take_for_missing(of_dry_run: dict[str, Any]) -> None:
    jobs = {event[2] for event in of_dry_run["events"] if event[0] == "JobStarted"}
    assert "removed" in jobs
    assert "kept" not in jobs


def test_make_again(of_run: dict[str, Any]) -> None:
    jobs = {event[2] for event in of_run["events"] if event[0] == "JobStarted"}
    assert "forced" in jobs
    assert "kept" not in jobs


def test_notes_folder(of_run: dict[str, Any], folder: Path) -> None:
    assert (folder / of_run["notes"]).samefile(folder / ".snakemake")


def test_release_locks(of_run: dict[str, Any], folder: Path) -> None:
    assert "removed" in {event[2] for event in of_run["events"] if event[0] == "JobStarted"}
    assert not (folder / ".snakemake/locks/0.output.lock").exists()


def test_start_jobs_without_limit(of_run: dict[str, Any]) -> None:
    assert of_run["limit"] != "None"


def test_drop_outdated_copy(tmp_path: Path) -> None:
    assert hasattr(_IOFile, "is_storage")
    assert hasattr(_IOFile, "storage_object")
    assert hasattr(StorageObjectRead, "mtime")

    class Copy(str):
        is_storage = True
        storage_object = SimpleNamespace(mtime=lambda: 100.0)

    for name, time, stays in (("old", 50, False), ("new", 200, True)):
        path = tmp_path / name
        path.touch()
        os.utime(path, (time, time))
        internals.drop_outdated_copy(Copy(path))
        assert path.exists() == stays


def test_kept(of_run: dict[str, Any], folder: Path) -> None:
    """An output is there as it was when its job starts, and stays where it fails."""
    assert (folder / "forced.txt").read_text() == "before\nagain\n"
    assert (folder / "never.txt").exists()


def test_events_of_a_run_whose_logger_says_nothing(of_run: dict[str, Any]) -> None:
    events = of_run["events"]
    started = {event[2]: event for event in events if event[0] == "JobStarted"}
    number = started["removed"][1]
    assert started["removed"] == ["JobStarted", number, "removed", "net: make it"]
    assert started["forced"][3] == ""
    assert ["JobFinished", number] in events
    assert ["JobFailed", started["never"][1], "never", ["logs/never.log"]] in events
    assert ["StepsDone", 3, 5] in events
    assert ["Message", "100 % over", 30] in events
    # Snakemake's own word on how it ended.
    after = events[events.index(["Message", "100 % over", 30]) :]
    assert any(event[0] == "Message" and event[2] == 40 for event in after)


def test_after_sigterm_what_is_just_started_gets_the_signal_too() -> None:
    code = """
from threading import Semaphore
import snakemake.api
from pairtile import snakemake_internals as internals
from snakemake import workflow
import sys
shell = sys.modules["snakemake.shell"]

def ends(command):
    return shell.sp.Popen(command, shell=True, stdout=shell.sp.PIPE).wait()

internals.end_when_told()
print(ends("true"))
scheduler = workflow.JobScheduler.__new__(workflow.JobScheduler)
scheduler._open_jobs = Semaphore(0)
scheduler.exit_gracefully(15)
assert scheduler._open_jobs.acquire(timeout=10)
print(ends("exec sleep 60"))
"""
    assert python(code).split() == ["0", "-15"]
