"""``pairtile run`` killed alone, whichever way: nothing lives on, and the same command goes on."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from programs import snakemake
from workflow_runs import ROOT, environment, write_config, write_data

pytestmark = [pytest.mark.complete, pytest.mark.workflow]

PAIRTILE = Path(sys.executable).with_name("pairtile")
SEED = 20261125
SECTION = {"chunks": 6, "gold_standard": "gold_standard.tsv"}
RESULTS = ("pairs.parquet", "network.parquet", "network.tsv", "evaluation.json")
MODULES = (
    *("calendar", "json", "logging", "numba", "numpy", "pairtile", "pandas", "pulp", "pyarrow"),
    *("random", "scipy", "snakemake", "statistics", "string", "types", "yaml"),
    *("bottleneck", "cupy", "numexpr", "sitecustomize"),  # looked for, and not always there
)
KINDS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGKILL")


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """``pairtile run`` in a session of its own; what it says goes to ``said.txt``."""
    with (folder / "said.txt").open("w") as said:
        return subprocess.Popen(
            [PAIRTILE, "run", "config.yaml", *arguments],
            cwd=folder,
            env=environment(),
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # What runs the tests in the background has all that they start pass over Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def left_alive(folder: Path) -> list[list[str]]:
    """The processes that work in a folder, when they have had a moment to end."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == folder:
                found.append(process)
        except psutil.Error:
            continue
    _, alive = psutil.wait_procs(found, timeout=10)
    return [process.cmdline() for process in alive]


def results(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "results/net" / name).read_bytes() for name in RESULTS}


def write_inputs(folder: Path) -> Path:
    """Data and configuration, with files beside them that are named like modules."""
    folder.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(
            f"open({str(folder)!r} + '/imported', 'a').write('{name} ')"
        )
    write_data(folder)
    write_config(folder, {"net": SECTION})
    return folder


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A folder with a run that nothing disturbed, and its seconds."""
    folder = write_inputs(tmp_path_factory.mktemp("straight") / "run")
    begun = time.monotonic()
    assert start(folder).wait(timeout=600) == 0, (folder / "said.txt").read_text()
    return folder, time.monotonic() - begun


@pytest.fixture
def draw() -> random.Random:
    print("seed", SEED)
    return random.Random(SEED)


@pytest.mark.complete
def test_no_file_of_the_working_folder_is_imported(straight: tuple[Path, float]) -> None:
    assert not (straight[0] / "imported").exists()


@pytest.mark.nightly
def test_nor_is_one_by_snakemake_itself(tmp_path: Path) -> None:
    folder = write_inputs(tmp_path / "run")
    asked = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", "config.yaml", "--cores", "2"]
    done = snakemake(folder, *asked, safe_path=True)
    assert done.code == 0, done.text
    assert not (folder / "imported").exists()


@pytest.mark.workflow
@pytest.mark.parametrize("seconds", [1.0, 3.0, 6.0])
def test_an_interrupt_is_one_line_whenever_it_comes(tmp_path: Path, seconds: float) -> None:
    folder = write_inputs(tmp_path / "run")
    process = start(folder)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) in (0, 128 + signal.SIGINT)
    said = (folder / "said.txt").read_text()
    assert "Traceback" not in said
    assert "ended without a message" not in said


def kill_and_go_on(
    folder: Path, kind: str, kills: int, seconds: float, draw: random.Random, *arguments: str
) -> None:
    """Kill so many runs at random moments, each of which goes on from the one before; then let one
    come to its end."""
    number = signal.Signals[kind]
    killed = 0
    while killed < kills:
        process = start(folder, *arguments)
        time.sleep(draw.uniform(0.02, 0.9) * seconds)
        code = process.poll()
        if code is None:
            process.send_signal(number)
            code = process.wait(timeout=120)
            killed += 1
            assert code in (0, 1, -number, 128 + number), (folder / "said.txt").read_text()
        else:
            assert code == 0, (folder / "said.txt").read_text()
        assert left_alive(folder) == []
        if code == 0:  # all done: from the start again
            shutil.rmtree(folder / "results")
    assert start(folder, *arguments).wait(timeout=600) == 0, (folder / "said.txt").read_text()


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        pytest.param("SIGKILL", 1, id="SIGKILL"),
        pytest.param("SIGTERM", 1, id="SIGTERM", marks=pytest.mark.nightly),
        pytest.param("SIGINT", 1, id="SIGINT", marks=pytest.mark.nightly),
        *[pytest.param(kind, 10, id=f"{kind}-often", marks=pytest.mark.faults) for kind in KINDS],
    ],
)
@pytest.mark.timeout(3000)
def test_a_killed_run_leaves_nothing_alive_and_the_same_command_goes_on(
    straight: tuple[Path, float], draw: random.Random, tmp_path: Path, kind: str, kills: int
) -> None:
    folder = write_inputs(tmp_path / "run")
    kill_and_go_on(folder, kind, kills, straight[1], draw)
    assert results(folder) == results(straight[0])


@pytest.mark.nightly
@pytest.mark.timeout(3000)
def test_a_killed_run_goes_on_where_snakemake_keeps_its_notes_in_a_database(
    straight: tuple[Path, float], draw: random.Random, tmp_path: Path
) -> None:
    folder = write_inputs(tmp_path / "run")
    kill_and_go_on(folder, "SIGKILL", 1, straight[1], draw, "--", "--persistence-backend", "db")
    assert results(folder) == results(straight[0])


@pytest.mark.complete
def test_a_reader_that_leaves_does_no_harm(straight: tuple[Path, float], tmp_path: Path) -> None:
    """``pairtile run ... | head -1``."""
    folder = write_inputs(tmp_path / "run")
    process = subprocess.Popen(
        [PAIRTILE, "run", "config.yaml"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=600) == 0
    assert results(folder) == results(straight[0])


@pytest.mark.nightly
@pytest.mark.parametrize(("signals", "most"), [(1, 25), (2, 8)])
def test_a_run_whose_snakemake_does_not_end_is_killed(
    tmp_path: Path, signals: int, most: float
) -> None:
    folder = write_inputs(tmp_path / "run")
    process = start(folder)
    time.sleep(6)
    for child in psutil.Process(process.pid).children():
        os.kill(child.pid, signal.SIGSTOP)  # takes no signal any more
    begun = time.monotonic()
    for _ in range(signals):
        process.send_signal(signal.SIGTERM)
        time.sleep(1)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert time.monotonic() - begun < most
    assert left_alive(folder) == []


@pytest.mark.complete
@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_a_run_of_forty_analyses_ends_soon_after_sigterm(tmp_path: Path, snakefile: str) -> None:
    """To the whole group, as systemd and schedulers send it; with Snakemake's own defaults."""
    write_data(tmp_path, genes=30, samples=30)
    write_config(tmp_path, {f"net{k}": {} for k in range(40)})
    command = ["-m", "snakemake", "--snakefile", str(ROOT / snakefile), "--cores", "2"]
    with (tmp_path / "said.txt").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, *command, "--configfile", "config.yaml"],
            cwd=tmp_path,
            env=environment(),
            stdout=said,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    time.sleep(random.uniform(8, 14))
    os.killpg(process.pid, signal.SIGTERM)
    # The slowest of 18 runs took 3.6 s; where other tests run, it takes longer.
    assert process.wait(timeout=20) not in (0, None)
    assert "Traceback" not in (tmp_path / "said.txt").read_text()


@pytest.mark.complete
def test_a_stopped_run_stops_its_jobs_and_goes_on(
    straight: tuple[Path, float], tmp_path: Path
) -> None:
    """Ctrl-Z, then ``fg``."""
    folder = write_inputs(tmp_path / "run")
    process = start(folder)
    top = psutil.Process(process.pid)
    time.sleep(straight[1] / 3)
    os.kill(process.pid, signal.SIGTSTP)
    time.sleep(1)
    states = {child.status() for child in [top, *top.children(recursive=True)]}
    assert states <= {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE}
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(timeout=600) == 0
    assert results(folder) == results(straight[0])
