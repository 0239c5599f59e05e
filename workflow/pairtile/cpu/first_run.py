"""Where compiled code is kept, and a process that compiles beside a first run.

Loads neither numba nor NumPy, for which a run would have to wait before its first job.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from pairtile.runtime.user_cache import code_folder, user_cache

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from pairtile([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)

_BEGUN = "PAIRTILE_COMPILES_BESIDE"
"""Set in the environment of jobs once a process compiles beside them."""


def read_list(folder: Path) -> list[str]:
    """What a first run by the method of a folder compiles, where that is listed: a line for each
    function, after those that it calls: ``MODULE:FUNCTION``, a space, and the types of its
    arguments (``njit.types_of``) as JSON."""
    listed = folder / "kernels/first_run.txt"
    return listed.read_text().splitlines() if listed.exists() else []


def is_compiled(listed: list[str]) -> bool:
    """Whether the last function of a list is, so that a run has compiled all of it; also of no
    list, or one of another package."""
    module, _, function = (listed or [""])[-1].partition(" ")[0].partition(":")
    path = _PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        return True
    folder = folder_of(os.environ.get("NUMBA_CACHE_DIR", ""), content_of(path))
    return any(folder.glob(f"*/{path.stem}.{function}-*.nbi"))


def compile_beside(listed: Iterable[str]) -> None:
    """Start the process that compiles what is listed, from its end, if none of this run has been
    started. It is no fork: that could wait for ever for a module which another thread imports, with
    what the job needs."""
    if os.environ.get(_BEGUN):
        return
    os.environ[_BEGUN] = "1"
    code = "from pairtile.cpu.compiling import compile_backwards; compile_backwards()"
    with suppress(OSError):  # it cannot start, or has ended: the job compiles all
        beside = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        assert beside.stdin
        with beside.stdin:
            beside.stdin.write("\n".join(listed).encode())


@cache
def content_of(module: Path) -> str:
    """A digest of a module and of all that it imports of this package."""
    texts: dict[Path, bytes] = {}
    new = {module}
    while new:
        texts |= {path: path.read_bytes() for path in new}
        new = {file for path in new for file in _imported(texts[path].decode())} - set(texts)
    return hashlib.sha256(b"\0".join(texts[path] for path in sorted(texts))).hexdigest()[:16]


def _imported(text: str) -> set[Path]:
    found = set()
    for place, names in _IMPORT.findall(text):
        folder = _PACKAGE.joinpath(*place.split("."))
        found |= {folder / f"{name}.py" for name in re.findall(r"\w+", names)}
        found.add(folder.with_suffix(".py"))
    return {path for path in found if path.is_file()}


@cache
def folder_of(given: str, content: str) -> Path:
    """Below the folder that is given, else beside the package or, where nothing can be written
    there or others can write, too, the user's: numba runs what it finds."""
    beside = _PACKAGE if os.access(_PACKAGE, os.W_OK) else user_cache()
    top = given or beside / ("__pycache__" if beside == _PACKAGE else "pairtile")
    return code_folder(Path(top, content), f"pairtile/{content}")
