"""A process with everything imported, from which the jobs of a run on this machine are forked.

Imports cost each job a second of a core, more than a small job computes. ``ForkServer`` starts the
process beside Snakemake; a script that finds it (``hand_over``) has itself run in a fork of it and
ends as the fork does. Jobs in other environments or on other machines find none and run by
themselves. The server imports alone: threads and CUDA start in the jobs.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import secrets
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from select import select
from typing import TYPE_CHECKING, Any, NoReturn

from pairtile.runtime.end_together import end_with_parent

if TYPE_CHECKING:
    from pairtile.config.root import Config

VARIABLE = "PAIRTILE_FORK_SERVER"
"""Name of the server's socket, in the environment of jobs."""

GRACE_SECONDS = 2.0
"""For a job whose script has ended before it."""

_END = b"\n"
_LONGEST_READ = 1 << 20


def listen() -> socket.socket:
    """The socket of a server that is started later, or not. Jobs find its name in the environment;
    while it is open, they wait for the server, and once it is closed, they do without."""
    name = f"pairtile-{secrets.token_hex(16)}"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"\0{name}")  # an abstract name: no file that could be left behind
    listening.listen(1024)
    os.environ[VARIABLE] = name
    return listening


def start_fork_server_for(
    config: Config, listening: socket.socket, threads: int, gpu: bool, group: int | None = None
) -> subprocess.Popen[bytes]:
    """Start the server with what the jobs of all analyses import; CuPy, too, for jobs on a GPU.

    Its import starts no CUDA, which forks could not share. ``group``: of ``start_fork_server``.
    """
    # No script needs these to hand itself over.
    from pairtile.method import get_method
    from pairtile.snakemake_internals import JOB_MODULES

    steps = [*JOB_MODULES, "pairtile.cpu.compiler"]
    steps += [f"pairtile.steps.{step}" for step in ("prepare", "plan", "null", "chunk")]
    steps += ["pairtile.steps.merge", "pairtile.steps.network"]
    used = {analysis.method for analysis in config.analyses.values()}
    modules = [get_method(name).modules for name in sorted(used)]
    computing = [module for parts in modules for module in parts[:2]]
    reports = [module for parts in modules for module in parts[2:]]
    own = "steps.tables steps.export steps.summary report downstream.page view.index"
    later = ["cupy"] * gpu + [f"pairtile.{name}" for name in own.split()]
    later += ["matplotlib.backends.backend_svg", "networkx", *reports]
    return start_fork_server(listening, [*steps, *computing], later, threads, group)


def start_fork_server(
    listening: socket.socket,
    first: Iterable[str],
    later: Iterable[str],
    threads: int,
    group: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start the server. It ends when this process ends or closes the server's standard input.

    Parameters
    ----------
    listening
        From ``listen``; the server takes it over.
    first
        Modules that the server imports before the first job starts, which waits for it.
    later
        Modules that it imports when no job asks to be started.
    threads
        The most that a job has.
    group
        The process group that server and jobs join; by default that of this process.
    """
    with listening:
        number = listening.fileno()
        # -P: a file in the user's folder must not take the place of a module.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(number), " ".join(first), *later],
            stdin=subprocess.PIPE,
            pass_fds=[number],
            env=os.environ | {"NUMBA_NUM_THREADS": str(threads)},
            process_group=group,
        )


def hand_over() -> None:
    """Run this script in a fork of the server and exit as it does; return where there is none."""
    name = os.environ.pop(VARIABLE, None)
    if name is None:
        return
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(f"\0{name}")
        except OSError:  # the server was killed; its jobs can do without
            return
        if _user_of(server) != os.getuid():  # the name is free, and another user has taken it
            return
        request = {"arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(server, [json.dumps(request).encode() + _END], [0, 1, 2])
        code = server.recv(1)
    if not code:
        print("the process of this job was killed", file=sys.stderr)
        sys.exit(1)
    sys.exit(code[0])


def serve(listening: socket.socket, first: Iterable[str], later: Iterable[str]) -> None:
    """Fork a process for each script that asks, until the process that started this one ends."""
    waiting = deque(later)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets forks that have ended
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Snakemake ends what it started
    for module in first:
        _import(module)
    while True:
        ready, _, _ = select([listening, sys.stdin], [], [], 0.0 if waiting else None)
        if not ready:
            _import(waiting.popleft())
            continue
        if listening not in ready:
            return
        asking, _ = listening.accept()
        with asking:
            if _user_of(asking) != os.getuid():  # each end asks who the other is
                continue
            content = b""
            files: list[int] = []
            while not content.endswith(_END):
                part, descriptors, _, _ = socket.recv_fds(asking, _LONGEST_READ, 3)
                content, files = content + part, files + descriptors
                if not part:
                    break
            gc.freeze()  # or collections in the fork would copy every page of what was imported
            if content and os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, interrupted)
                _run(asking, json.loads(content), files)
            for descriptor in files:
                os.close(descriptor)


def _user_of(other: socket.socket) -> int:
    """Of the other end, as the kernel knows it: who connected, or who listens."""
    credentials = other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 3 * 4)
    _process, user, _group = struct.unpack("3i", credentials)
    return int(user)


def _import(module: str) -> None:
    with suppress(Exception):  # the job that needs it says what is wrong
        import_module(module)


def _run(asking: socket.socket, request: dict[str, Any], files: list[int]) -> NoReturn:
    """In the fork: run the script as Python would, and say how it ended."""
    code = 1
    try:
        for number, descriptor in enumerate(files):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv = request["arguments"]
        threading.Thread(target=_end_with, args=[asking], daemon=True).start()
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        asking.send(bytes([code & 255]))
        os._exit(code)


def _end_with(asking: socket.socket) -> None:
    """End when the script's own process does: Snakemake ends a job by ending that.

    An interrupt (Ctrl-C) comes to both, and the job may need a moment longer to clean up.
    """
    asking.recv(1)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def main(number: str, first: str, *later: str) -> None:
    """Import the first modules and serve; ``number`` is the file descriptor of the socket."""
    end_with_parent()  # while it imports, it does not look
    # From Python 3.12 on. The threads are those of BLAS and of Arrow's allocator (jemalloc), which
    # have handlers of their own for forks.
    warnings.filterwarnings("ignore", ".* is multi-threaded", DeprecationWarning)
    serve(socket.socket(fileno=int(number)), first.split(), later)


if __name__ == "__main__":
    main(*sys.argv[1:])
