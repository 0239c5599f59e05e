"""A first run says that it compiles; a later one has nothing to say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
