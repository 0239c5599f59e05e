"""Steps of an analysis in processes that are killed (kill -9) at a chosen file operation.

Started as a program it imports everything once and then forks a child for each line that it reads,
so that dozens of crashes cost little. ``Crasher`` is the other end; ``check_whole`` says whether
what a crash left is whole.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairtile.engine.chunk_file import ChunkFile
from pairtile.engine.state import MANIFEST, verified_state
from pairtile.steps.plan import read_plan
from paths import ROOT

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
"""Audit events of Python that change a folder; each comes just before the change."""

SAYS_WHEN = {"logs", "steps"}
"""Folders whose files hold times, not results."""


class Crasher:
    """Runs steps of ``small_analyses`` and crashes them."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT / "tests/support"), str(ROOT / "workflow")])
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, analysis: str, step: str, *given: Any, kill_at: int = 0) -> bool:
        """Run one step (a method of ``workflow_runs.Analysis``); ``kill_at``: at which of its file
        operations it is killed, counted from 1. Returns whether it came to its end.

        Raises RuntimeError where it failed otherwise.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        job = [str(folder), analysis, step, list(given), kill_at]
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        if status not in (0, signal.SIGKILL):
            raise RuntimeError((folder / "child.log").read_text()[-3000:])
        return status == 0

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()


def die_at(number: int, folder: str) -> None:
    """Kill this process at its ``number``-th file operation below ``folder``."""
    count = 0

    def operation() -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in CHANGES
        if event == "open" and isinstance(arguments[2], int):
            writes = bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if writes and str(arguments[0]).startswith(folder):
            operation()

    sys.addaudithook(hook)
    # What Arrow writes, Python does not see.
    import pyarrow.parquet as pq

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            operation()
            return method(*arguments, **options)

        return wrapped

    for name in ("write_table", "add_key_value_metadata", "close"):
        setattr(pq.ParquetWriter, name, counted(getattr(pq.ParquetWriter, name)))


def results(folder: Path) -> dict[str, bytes]:
    """Every file that must be the same bytes in every run, but chunks and temporary files."""
    out = folder / "results/net"
    paths = [path for path in out.rglob("*") if path.is_file() and ".part" not in str(path)]
    names = [path.relative_to(out) for path in paths]
    return {
        str(name): (out / name).read_bytes()
        for name in names
        if not SAYS_WHEN & set(name.parts) and name.parts[0] not in ("scan", "chunks")
    }


def chunks(folder: Path, stage: str) -> dict[str, int]:
    """Name -> when it was made, of the chunks of a stage that are there; all must be whole."""
    out = folder / "results/net"
    found = {}
    for path in sorted((out / stage).glob("tiles-*.parquet")):
        plan = read_plan(out / "plan.json")
        planned = plan.chunk(path.stem)
        tiles = list(range(planned.first, planned.last + 1))
        ChunkFile(path).verify(plan.stage_fingerprint(stage), tiles)
        found[path.stem] = path.stat().st_mtime_ns
    return found


def check_whole(folder: Path, expected: dict[str, bytes]) -> None:
    """What is there is what an undisturbed run makes. A state counts once it has its manifest."""
    state = folder / "results/net/state"
    whole_state = (state / MANIFEST).exists()
    for name, content in results(folder).items():
        if name.startswith("state/") and not whole_state:
            continue
        assert content == expected[name], f"{name} is there and is not what it should be"
    if whole_state:
        verified_state(state)


def main() -> None:
    """Fork a child for each job that is read; answer with its wait status."""
    from small_analyses import ANALYSES, cut_small
    from workflow_runs import Analysis

    cut_small()
    for line in sys.stdin:
        folder, name, step, given, kill_at = json.loads(line)
        child = os.fork()
        if child == 0:
            with open(Path(folder) / "child.log", "w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            try:
                analysis = Analysis(Path(folder), ANALYSES[name][1])
                if kill_at:
                    die_at(kill_at, str(analysis.out))
                getattr(analysis, step)(*given)
                status = 0
            except BaseException:
                import traceback

                traceback.print_exc()
                status = 1
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        print(status, flush=True)


if __name__ == "__main__":
    main()
