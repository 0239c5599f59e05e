"""Programs in processes of their own: Python with some code, Snakemake in a user's folder, a web
server of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from paths import ROOT, TESTS
from workflow_runs import HANGS_SECONDS, Run, environment

PYTHONPATH = os.pathsep.join(map(str, (ROOT / "workflow", TESTS / "support", TESTS / "core")))
"""Where a new Python finds the package, what supports tests, and test modules."""


def python(code: str, *arguments: object, **variables: str) -> str:
    """What a new Python prints that runs this code; it must end well."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    known = os.environ | {"PYTHONPATH": PYTHONPATH} | variables
    done = subprocess.run(command, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def snakemake(folder: Path, *arguments: str, safe_path: bool = False, **variables: str) -> Run:
    """Run Snakemake as a user would, in a folder; ``safe_path``: without modules from there."""
    program = [sys.executable, *(["-P"] if safe_path else []), "-m", "snakemake", *arguments]
    done = subprocess.run(
        program,
        cwd=folder,
        env=environment() | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS_SECONDS,
    )
    return Run(done.returncode, done.stdout)


@contextmanager
def web_server(handler: Any, wrap: Any = None) -> Iterator[str]:
    """Host and port of a web server with this handler; ``wrap`` changes its socket."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        if wrap:
            serving.socket = wrap(serving.socket)
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()


class QuietFiles(SimpleHTTPRequestHandler):
    """Serves the files of a folder and logs nothing."""

    def log_message(self, *arguments: object) -> None:
        pass
