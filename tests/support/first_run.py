"""What a first run of each method compiles, found by its trial with nothing compiled.

``python tests/support/first_run.py METHOD ...`` (by default all) writes ``kernels/first_run.txt``
of the method's folder anew; a test compares.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from pairtile.config.root import Config
from pairtile.method import get_method, methods
from pairtile.steps.analysis_run import runs_of


def told(kind: Any) -> Any:
    """A type of numba, as ``pairtile.cpu.njit.types_of`` reads it."""
    from numba import types

    if isinstance(kind, types.BaseTuple):
        made = getattr(kind, "instance_class", None)
        place = made and f"{made.__module__}:{made.__qualname__}"
        return {"tuple": place, "of": [told(part) for part in kind]}
    if isinstance(kind, types.Array):
        return [told(kind.dtype), kind.ndim, kind.layout, not kind.mutable]
    return "bool_" if kind == types.boolean else str(kind)


def compiled_by(method: str) -> list[str]:
    """Lines of the list, found by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = {"NUMBA_CACHE_DIR": f"{folder}/compiled", "NUMBA_NUM_THREADS": "2"}
        wanted["PANDAS_COPY_ON_WRITE"] = "0"  # which the tests set: arrays are then read-only
        command = [sys.executable, __file__, "--in", folder, method]
        done = subprocess.run(
            command, env=os.environ | wanted, stdout=subprocess.PIPE, text=True, check=True
        )
    return done.stdout.splitlines()


def print_compiled(folder: Path, method: str) -> None:
    """Run the method's trial here; a line for each function of pairtile, once compiled."""
    from numba.core.event import Event, Listener, register

    class Watch(Listener):
        def on_start(self, event: Event) -> None:
            pass

        def on_end(self, event: Event) -> None:
            function = event.data["dispatcher"].py_func
            listed = "<locals>" not in function.__qualname__
            if listed and function.__module__.startswith("pairtile."):
                place = f"{function.__module__}:{function.__qualname__}"
                print(place, json.dumps([told(kind) for kind in event.data["args"]]), flush=True)

    register("numba:compile", Watch())
    os.chdir(folder)
    section = get_method(method).write_trial(folder) or {}
    section |= {"method": method, "chunks": 1, "export": ["tsv"]}
    config = Config.model_validate(
        {"results": "results", "backend": "cpu", "analyses": {"trial": section}}
    )
    for run in runs_of(config):
        replace(run, backend="cpu", in_one_job=True).run_steps()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in"]:
        print_compiled(Path(sys.argv[2]), sys.argv[3])
    else:
        for name in sys.argv[1:] or methods():
            listed = get_method(name).folder / "kernels/first_run.txt"
            listed.write_text("".join(f"{line}\n" for line in compiled_by(name)))
            print(listed)
