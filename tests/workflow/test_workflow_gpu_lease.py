"""Jobs on one host share its GPUs by file locks. Needs no GPU: only locks and a variable."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pairtile.command.run import _TOLD
from pairtile.errors import DeviceError
from pairtile.gpu.device import ALLOCATIONS, leased_gpu
from workflow_runs import ROOT, command, write_config, write_data

JOB = """
import os, sys, time
from pairtile.gpu.device import leased_gpu
with leased_gpu("cuda", poll_seconds=0.05) as gpu:
    print(gpu, os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    time.sleep(600)
"""


class Job:
    """A process that holds a lease until it is killed."""

    def __init__(self, folder: Path, visible: str, **more: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in ALLOCATIONS}
        environment |= {
            "CUDA_VISIBLE_DEVICES": visible,
            "TMPDIR": str(folder),
            "PYTHONPATH": str(ROOT / "workflow"),
        } | more
        self.process = subprocess.Popen(
            [sys.executable, "-c", JOB], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def gpu(self, seconds: float) -> str | None:
        """The GPU it got; None if it got none in that time."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if line := self.process.stdout.readline():
                given, shown = line.split()
                assert given == shown  # the lease and what CUDA will see
                return given
            time.sleep(0.02)
        return None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[list[Job]]:
    started: list[Job] = []
    yield started
    for job in started:
        job.kill()


def test_two_jobs_get_different_gpus_and_a_third_waits_for_a_killed_one(
    tmp_path: Path, jobs: list[Job]
) -> None:
    jobs += [Job(tmp_path, "0,1"), Job(tmp_path, "0,1")]
    first, second = (job.gpu(60) for job in jobs)
    assert {first, second} == {"0", "1"}
    jobs.append(Job(tmp_path, "0,1"))
    assert jobs[2].gpu(1.5) is None
    jobs[0].kill()
    assert jobs[2].gpu(60) == first


def test_the_scheduler_s_choice_is_obeyed(tmp_path: Path, jobs: list[Job]) -> None:
    jobs += [Job(tmp_path, "3, 5"), Job(tmp_path, "3, 5")]
    assert {job.gpu(60) for job in jobs} == {"3", "5"}


def test_gpus_named_by_uuid_are_leased_as_they_are_named(tmp_path: Path, jobs: list[Job]) -> None:
    names = {"GPU-8932f937-d72c", "MIG-GPU-8932f937-d72c/1/0"}  # the second as older drivers say it
    jobs += [Job(tmp_path, ",".join(names)) for _ in range(2)]
    assert {job.gpu(60) for job in jobs} == names


def test_two_allocations_of_a_scheduler_do_not_wait_for_each_other(
    tmp_path: Path, jobs: list[Job]
) -> None:
    """A scheduler that shuts others' GPUs out lets each job call its own number 0."""
    jobs += [Job(tmp_path, "0", SLURM_JOB_ID=number) for number in ("71", "72")]
    assert [job.gpu(60) for job in jobs] == ["0", "0"]
    jobs.append(Job(tmp_path, "0", SLURM_JOB_ID="71"))
    assert jobs[2].gpu(1.5) is None


SHORT_JOB = """
import sys, time
from pairtile.gpu.device import leased_gpu
with leased_gpu("cuda", poll_seconds=0.02) as gpu:
    begun = time.monotonic()
    time.sleep(0.2)
    ended = time.monotonic()
print(gpu, begun, ended)
"""


def test_twelve_jobs_on_three_gpus_never_share_one_and_use_all(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ALLOCATIONS}
    environment |= {
        "CUDA_VISIBLE_DEVICES": "0,1,2",
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(ROOT / "workflow"),
    }
    program = [sys.executable, "-c", SHORT_JOB]
    started = [
        subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(12)
    ]
    held: dict[str, list[tuple[float, float]]] = {}
    for process in started:
        gpu, begun, ended = process.communicate(timeout=60)[0].split()
        held.setdefault(gpu, []).append((float(begun), float(ended)))
    assert set(held) == {"0", "1", "2"}
    for times in held.values():
        for (_, ended), (begun, _) in itertools.pairwise(sorted(times)):
            assert ended <= begun


@pytest.mark.complete  # the tests above lease without Snakemake
@pytest.mark.workflow
def test_jobs_of_a_run_take_turns_on_its_gpus(tmp_path: Path) -> None:
    """Three chunks, two GPUs to see: the run's own jobs lease them. (They compute on the CPU, for
    want of GPUs; the request is made by hand.)"""
    write_data(tmp_path, genes=1100, samples=24)
    changes = {"chunks": 3, "keep": {"p_value": 1e-4}}
    write_config(tmp_path, {"net": changes})
    environment = {key: value for key, value in os.environ.items() if key not in ALLOCATIONS}
    wanted = ["--set-resources", "chunk:gpu=1", "--set-threads", "chunk=1", "--resources", "gpu=2"]
    done = subprocess.run(
        command(tmp_path, "results/net/pairs.parquet", *wanted),
        cwd=ROOT,
        env=environment | {"CUDA_VISIBLE_DEVICES": "4,7", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    logs = sorted((tmp_path / "results/net/logs/chunks").glob("*.log"))
    gpus = [re.search(r"INFO GPU (\d)$", log.read_text(), re.M)[1] for log in logs]  # type: ignore[index]
    assert len(gpus) == 3
    # One GPU serves all where a chunk ends before the next begins.
    assert "4" in gpus
    assert set(gpus) <= {"4", "7"}
    others = list((tmp_path / "results/net/logs").glob("*.log"))
    assert len(others) >= 4
    assert not any("INFO GPU" in path.read_text() for path in others)


def test_the_lease_ends_with_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with leased_gpu("cuda") as first:
        assert os.environ["CUDA_VISIBLE_DEVICES"] == first == "0"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    with leased_gpu("cuda") as again:
        assert again == "0"


@pytest.mark.parametrize(
    ("backend", "visible"), [("cpu", "0,1"), ("cuda", ""), ("cuda", "-1"), ("cuda", "NoDevFiles")]
)
def test_no_gpu_is_leased_on_the_cpu_or_where_all_are_hidden(
    monkeypatch: pytest.MonkeyPatch, backend: str, visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with leased_gpu(backend) as gpu:
        assert gpu is None
        assert os.environ["CUDA_VISIBLE_DEVICES"] == visible


# --- a folder that others made first ------------------------------------------------------------


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where leases lie: among temporary files, or in the folder of a session."""
    for name in ("tmp", "session"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "session"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    for name in ALLOCATIONS:
        monkeypatch.delenv(name, raising=False)
    name = f"pairtile-gpu-leases-{os.getuid()}"
    return tmp_path / "tmp" / name, tmp_path / "session" / name


def open_to_all(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def link_elsewhere(folder: Path) -> None:
    (folder.parent / "victim").mkdir(mode=0o700)
    folder.symlink_to("victim")


def of_another_user(folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, -1)


@pytest.mark.parametrize("take", [open_to_all, link_elsewhere, of_another_user])
def test_leases_lie_in_no_folder_that_another_user_has_made(
    folders: tuple[Path, Path], take: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = folders
    take(first)
    with leased_gpu("cuda"):
        assert [path.name for path in second.iterdir()] == ["gpu-0.lock"]
        assert second.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(second)
    take(second)
    with pytest.raises(DeviceError, match="others can write to"), leased_gpu("cuda"):
        pass
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with pytest.raises(DeviceError, match="others can write to"), leased_gpu("cuda"):
        pass
    assert not list(folders[0].parent.rglob("*.lock"))


def test_a_linked_lock_is_not_followed(folders: tuple[Path, Path]) -> None:
    with leased_gpu("cuda"):
        pass
    lock = folders[0] / "gpu-0.lock"
    lock.unlink()
    lock.symlink_to(folders[0].parent / "victim")
    with pytest.raises(OSError, match="symbolic links"), leased_gpu("cuda"):
        pass
    assert not (folders[0].parent / "victim").exists()


def test_a_long_wait_says_who_holds_the_gpus(
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("pairtile.gpu.device.SILENT_SECONDS", 0.1)
    caplog.set_level("INFO", "pairtile")
    first = leased_gpu("cuda")
    with contextlib.ExitStack() as held:
        held.enter_context(first)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
        waiting = threading.Thread(target=lambda: leased_gpu("cuda", 0.01).__enter__(), daemon=True)
        waiting.start()
        end = time.monotonic() + 30
        while not caplog.records and time.monotonic() < end:
            time.sleep(0.01)
    waiting.join(30)
    assert not waiting.is_alive()
    said = caplog.records[0].getMessage()
    assert f"0 (process {os.getpid()})" in said
    assert str(folders[0]) in said
    assert _TOLD.match(f"00:00:00 INFO {said}"), "pairtile run does not show it"
