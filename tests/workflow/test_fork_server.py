"""Jobs forked from a process with everything imported: they run and end as scripts of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairtile.runtime.fork_server import VARIABLE, hand_over, listen, start_fork_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="used on Linux alone")

HAND_OVER = "from pairtile.runtime.fork_server import hand_over\nhand_over()\n"


@pytest.fixture
def server(monkeypatch) -> Iterator[subprocess.Popen[bytes]]:
    monkeypatch.setenv(VARIABLE, "")  # put back as it was
    started = start_fork_server(listen(), ["decimal", "no_such_module"], ["fractions"], threads=2)
    yield started
    started.kill()
    started.wait()


def start(folder: Path, body: str, *arguments: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(HAND_OVER + body)
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        cwd=folder,
        env=os.environ | {"MINE": "yes"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_script_runs_in_a_fork_as_by_itself(server, tmp_path):
    body = (
        "import os, sys\n"
        "print(os.getppid(), 'decimal' in sys.modules, os.getcwd(), end=' ')\n"
        "print(sys.argv[1:], os.environ['MINE'])\n"
        "print(__name__, 'to standard error', file=sys.stderr)\n"
    )
    job = start(tmp_path, body, "a", "b c")
    out, error = job.communicate(timeout=60)
    assert job.returncode == 0
    assert out == f"{server.pid} True {tmp_path} ['a', 'b c'] yes\n"
    assert error == "__main__ to standard error\n"


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("raise ValueError('a fault')", 1, "ValueError: a fault"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 1, "was killed"),
    ],
)
def test_a_script_ends_as_its_fork_does(server, tmp_path, body, code, said):
    job = start(tmp_path, body)
    _, error = job.communicate(timeout=60)
    assert job.returncode == code
    assert said in error


def test_programs_that_a_fork_starts_are_waited_for(server, tmp_path):
    body = "import subprocess, sys; sys.exit(subprocess.run(['sh', '-c', 'exit 5']).returncode)"
    job = start(tmp_path, body)
    job.communicate(timeout=60)
    assert job.returncode == 5


def test_a_fork_ends_with_its_script(server, tmp_path):
    body = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    job = start(tmp_path, body)
    assert job.stdout is not None
    fork = Path("/proc", job.stdout.readline().strip())
    assert fork.exists()
    job.send_signal(signal.SIGTERM)
    job.wait()
    assert wait_for(lambda: not fork.exists())


def test_the_server_ends_with_its_starter(server):
    server.stdin.close()
    assert server.wait(timeout=60) == 0


def test_a_script_runs_by_itself_where_the_server_was_killed(server, tmp_path):
    server.kill()
    server.wait()
    job = start(tmp_path, "import os; print(os.getppid())")
    assert job.communicate(timeout=60)[0] == f"{os.getpid()}\n"


def test_a_script_that_is_there_first_waits_for_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    listening = listen()
    job = start(tmp_path, "import os; print('started', os.getppid())")
    server = start_fork_server(listening, [], [], threads=1)
    assert job.communicate(timeout=60)[0] == f"started {server.pid}\n"
    server.kill()
    server.wait()


def test_a_script_runs_by_itself_where_no_server_will_be_started(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    listen().close()
    job = start(tmp_path, "import os; print(os.getppid())")
    assert job.communicate(timeout=60)[0] == f"{os.getpid()}\n"


def test_modules_in_the_users_folder_replace_none(tmp_path, monkeypatch):
    (tmp_path / "decimal.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    server = start_fork_server(listen(), ["decimal"], [], threads=1)
    job = start(tmp_path, "import sys; print(sys.modules['decimal'].__file__)")
    assert str(tmp_path) not in job.communicate(timeout=60)[0]
    server.kill()
    server.wait()


def test_only_the_user_who_started_the_server_is_served(server, tmp_path, monkeypatch):
    if os.getuid() != 0:
        pytest.skip("only root can ask as another user")
    tmp_path.chmod(0o777)
    script = tmp_path / "script.py"
    script.write_text("import os; os.setuid(65534)\n" + HAND_OVER + "print('ran')")
    job = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert job.returncode == 1
    assert "ran" not in job.stdout


def test_a_script_hands_nothing_to_another_user_who_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name of a server that was killed is free to anybody, and can be read off the system."""
    monkeypatch.setenv(VARIABLE, "")
    with listen() as listening:
        user = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: user + 1)
        hand_over()  # comes back: this script runs by itself
        asked, _ = listening.accept()
        with asked:
            assert asked.recv(1) == b""
