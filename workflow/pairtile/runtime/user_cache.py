"""Where compiled code is kept for a user, who may have no home folder: a container often runs as
a bare user number."""

from __future__ import annotations

import getpass
import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def user_cache() -> Path:
    """The user's cache folder; where none can be written, a private one among temporary files."""
    with suppress(RuntimeError, OSError):  # no home folder, or one that may not be written
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    return _private_folder()


def _private_folder() -> Path:
    """A folder of this user alone: code is loaded from it, so that nobody else may write there."""
    folder = Path(tempfile.gettempdir(), f"pairtile-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if own else Path(tempfile.mkdtemp(prefix="pairtile-"))


def do_without_a_home() -> None:
    """Tell libraries, in this process and those that it starts, of ``user_cache`` where their own
    places, below the home folder, cannot be written; and Snakemake of a user without a name."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = str(os.getuid())
    with suppress(RuntimeError):
        if os.access(Path.home(), os.W_OK | os.X_OK):
            return
    folder = user_cache()
    os.environ["XDG_CACHE_HOME"] = str(folder)
    os.environ.setdefault("CUPY_CACHE_DIR", str(folder / "cupy"))
    os.environ.setdefault("MPLCONFIGDIR", str(folder / "matplotlib"))
