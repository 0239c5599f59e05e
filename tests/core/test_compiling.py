"""A first run says that it compiles; a later one has nothing to say."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from first_run import compiled_by
from pairtile.cpu.first_run import compile_beside, is_compiled, read_list
from pairtile.cpu.njit import kernel_of, njit, read_only, types_of
from pairtile.gpu import compiling
from pairtile.method import methods
from paths import ROOT

METHODS = {
    name: method for name, method in methods().items() if method.package.startswith("pairtile")
}

SCRIPT = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numba
import pairtile.cpu.compiling

@numba.njit(cache=True)
def double(x):
    return 2 * x

double(1), double(1.0)
"""


def test_compilation_is_said_once_and_only_where_it_happens(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (
        subprocess.run(
            [sys.executable, script], capture_output=True, text=True, env=environment, check=True
        ).stderr
        for _ in range(2)
    )
    assert first == "Compiling for this CPU, once: later runs find it done.\n"
    assert second == ""


ONE_OF_TWO = """
import json, sys
import pairtile.cpu.njit as compiling
place, _, arguments = sys.argv[1].partition(" ")
kernel = compiling.kernel_of(place)
print("ready", flush=True)
input()
kernel.compile(compiling.types_of(json.loads(arguments)))
print(sum(kernel.stats.cache_misses.values()))
"""

BESIDE = """
import json, os, sys, time
from pathlib import Path
from pairtile.cpu.compiling import expect
from pairtile.cpu.njit import kernel_of, types_of
from pairtile.runtime import job
{before}
listed = Path("first_run.txt").read_text().splitlines()
expect(listed)
place, _, arguments = listed[0].partition(" ")
kernel_of(place).compile(types_of(json.loads(arguments)))
until = time.monotonic() + {seconds}
while time.monotonic() < until and not list(Path("compiled").rglob("*{last}*.nbc")):
    time.sleep(0.1)
print(len(list(Path("compiled").rglob("*.nbc"))))
os._exit(0)
"""


def first_run(method: str) -> list[str]:
    return read_list(METHODS[method].folder)


def test_of_two_processes_that_need_a_kernel_one_compiles(tmp_path: Path) -> None:
    line = next(line for line in first_run("mutual_information") if ":_bspline_weights" in line)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_OF_TWO, line],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in both:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0] for process in both) == ["0\n", "1\n"]


@pytest.mark.parametrize(
    ("before", "compiled", "seconds"),
    [
        ("job.IS_JOB = True", 3, 60),
        ("", 1, 4),
        ("job.IS_JOB = True; sys.executable = '/none'", 1, 4),
    ],
    ids=["job", "person", "cannot start"],
)
def test_the_end_of_a_first_run_is_compiled_beside_its_start(
    tmp_path: Path, before: str, compiled: int, seconds: float
) -> None:
    """By a job of the workflow, where a process can start; a person's own starts none."""
    names = ("_count_in_genes", "_x_log_x", "distinct_q_values")
    lines = {
        name: [x for x in first_run("mutual_information") if f":{name} " in x] for name in names
    }
    (tmp_path / "first_run.txt").write_text("".join(f"{found[0]}\n" for found in lines.values()))
    script = BESIDE.format(before=before, last="x_log_x", seconds=seconds)
    told = {"NUMBA_CACHE_DIR": str(tmp_path / "compiled"), "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=os.environ | told,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) == compiled


@pytest.mark.parametrize("method", METHODS)
def test_what_a_first_run_compiles_can_be_read(method: str) -> None:
    for line in first_run(method):
        place, _, arguments = line.partition(" ")
        kernel = kernel_of(place)
        wanted = inspect.signature(kernel.py_func).parameters
        assert len(types_of(json.loads(arguments))) == len(wanted), line


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
def test_what_a_first_run_compiles_is_listed(method: str) -> None:
    # Looks at a table run side by side: what they compile has no order.
    assert sorted(compiled_by(method)) == sorted(first_run(method)), "tests/support/first_run.py"


def test_a_kernel_is_compiled_again_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    """numba alone looks at the kernel's own file only."""
    (tmp_path / "pairtile/cpu").mkdir(parents=True)
    (tmp_path / "pairtile/__init__.py").touch()
    (tmp_path / "pairtile/runtime").mkdir()
    for file in ("cpu/njit.py", "cpu/first_run.py", "runtime/user_cache.py"):
        shutil.copy(ROOT / "workflow/pairtile" / file, tmp_path / "pairtile" / file)
    head = "from pairtile.cpu.njit import njit\n"
    (tmp_path / "pairtile/caller.py").write_text(
        f"{head}from pairtile.callee import FACTOR, added\n\n"
        "@njit(nogil=True)\ndef kernel(x):\n    return FACTOR * added(x)\n\nprint(kernel(10))\n"
    )
    found = []
    for body in ("FACTOR = 2", "FACTOR = 3", "FACTOR = 3\nMORE = 5"):
        (tmp_path / "pairtile/callee.py").write_text(
            f"{head}MORE = 1\n{body}\n@njit(inline='always')\ndef added(x):\n    return x + MORE\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "pairtile.caller"],
            # Python takes a file of the same size and second for the one that it compiled.
            env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(int(done.stdout))
    assert found == [22, 33, 45]


def test_what_a_kernel_calls_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not anew for a constant, or for an array that was computed beside one that is mapped."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @njit()
    def added(x: Any, y: int) -> Any:
        return x[0] + y

    @njit()
    def kernel(x: Any, y: int) -> Any:
        return added(x, 1) + added(x, y)

    mapped = np.arange(3)
    mapped.flags.writeable = False
    assert [kernel(read_only(x), 2) for x in (np.arange(3), mapped)] == [3, 3]
    assert (len(kernel.signatures), len(added.signatures)) == (1, 1)


def test_compilation_for_a_gpu_is_said_once_for_each_kernel_and_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With a CuPy that does nothing; the test of real kernels is that they compile at all."""
    compiled = []

    class RawModule:
        def __init__(self, code: str, options: tuple[str, ...], backend: str) -> None:
            self.made_of = code, options

        def compile(self) -> None:
            compiled.append(self.made_of)

    device = SimpleNamespace(id=0, compute_capability="90")
    runtime = SimpleNamespace(runtimeGetVersion=lambda: 12080)
    cupy: Any = ModuleType("cupy")
    cupy.__version__, cupy.RawModule = "13", RawModule
    cupy.cuda = SimpleNamespace(Device=lambda *_: device, runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    kernel = tmp_path / "twice.cu"
    kernel.write_text("// nothing")
    caplog.set_level("INFO")
    for bins in (10, 10, 12):
        compiling._module.cache_clear()  # as in another process
        compiling.load(kernel, {"BINS": bins})
    compiling._module.cache_clear()
    assert len(compiled) == 3
    assert caplog.messages == 2 * ["Compiling twice for this GPU, once: later runs find it done."]


WAITING = """
import json, sys
from pairtile.cpu.njit import EXPECTED, kernel_of, types_of
EXPECTED.update(dict.fromkeys(json.loads(sys.argv[1])))
place, _, arguments = list(EXPECTED)[1].partition(" ")
kernel = kernel_of(place)
print(kernel._cache.lock, flush=True)
input()
kernel.compile(types_of(json.loads(arguments)))
"""


def compiled_in(folder: Path) -> set[str]:
    return {file.name.split(".")[1].rsplit("-", 1)[0] for file in folder.rglob("*.nbi")}


def test_who_waits_for_a_kernel_compiles_what_is_listed_before_it(tmp_path: Path) -> None:
    """And nothing after it: that could need what this process has begun."""
    names = ("_count_in_genes", "_x_log_x", "distinct_q_values")
    first, second, third = (
        next(x for x in first_run("mutual_information") if f":{name} " in x) for name in names
    )
    waits = subprocess.Popen(
        [sys.executable, "-c", WAITING, json.dumps([first, second, third])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert waits.stdin
    assert waits.stdout
    lock = Path(waits.stdout.readline().strip())
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waits.stdin.write("\n")
        waits.stdin.flush()
        until = time.monotonic() + 120
        while time.monotonic() < until and compiled_in(tmp_path) != {names[0]}:
            time.sleep(0.05)
        time.sleep(0.5)
        assert compiled_in(tmp_path) == {names[0]}
        assert waits.poll() is None
    waits.communicate()
    assert compiled_in(tmp_path) == set(names[:2])


def test_a_run_knows_whether_all_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    line = next(x for x in first_run("mutual_information") if ":_x_log_x " in x)
    assert is_compiled([])
    assert is_compiled(["another_package.kernels:score []"])
    assert not is_compiled([line])
    code = (
        "import sys; from pairtile.cpu.njit import compile_last_of; compile_last_of(sys.argv[1:])"
    )
    subprocess.run([sys.executable, "-c", code, line], check=True)
    assert is_compiled(["pairtile.none:before []", line])
    assert not is_compiled([line, next(iter(first_run("mirna_targets")))])


def test_one_process_compiles_beside_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setenv("PAIRTILE_COMPILES_BESIDE", "")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: started.append(1) or 1 / 0)
    for _ in range(2):
        with suppress(ZeroDivisionError):
            compile_beside([])
    assert len(started) == 1
