"""Folders that are this user's alone: where compiled code is kept, which is run again, and locks.

A user may have no home folder: a container often runs as a bare user number.
"""

from __future__ import annotations

import getpass
import grp
import logging
import os
import pwd
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

log = logging.getLogger(__name__)


@cache
def user_cache() -> Path:
    """The user's cache folder; where none can be written, or others can write to it, a private one
    among temporary files."""
    with suppress(RuntimeError, OSError):  # no home folder, or one that may not be written
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK) and is_trusted(folder):
            return folder
    folder = Path(tempfile.gettempdir(), f"pairtile-{os.getuid()}")
    if make_private(folder):
        return folder
    log.warning("%s is not this user's alone: compiled code is not kept for later runs", folder)
    return Path(tempfile.mkdtemp(prefix="pairtile-"))


def make_private(folder: Path) -> bool:
    """Make a folder where it is missing; whether it is one that only this user can write to. A link
    is none."""
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & 0o022  # nobody else can write to it
    )


def code_folder(wanted: Path, name: str) -> Path:
    """A folder to keep compiled code in and load it from: ``wanted``, made where it is missing; the
    folder ``name`` of ``user_cache`` where it cannot be made or others can write to it."""
    with suppress(OSError):
        wanted.mkdir(parents=True, exist_ok=True)
        if is_trusted(wanted, with_content=True):
            return wanted
    return user_cache() / name


def is_trusted(folder: Path, *, with_content: bool = False) -> bool:
    """Whether code may be loaded from a folder that is there; where not, a warning says why.

    That is where nobody can write to it, or put another in its place, but this user, root, and
    whoever owns this package, whose code runs anyway. ``with_content``: what lies in it is theirs,
    too, as the folder may have been open before.
    """
    why = _who_else_writes(folder)
    if with_content and not why:
        known = {0, os.getuid(), os.stat(__file__).st_uid}
        for part in (folder, *folder.rglob("*")):
            with suppress(FileNotFoundError):  # another process has just renamed it
                if part.lstat().st_uid not in known:
                    why = f"{part} belongs to user {part.lstat().st_uid}"
    if why:
        _warn(why)
    return not why


@cache
def _warn(why: str) -> None:
    log.warning("%s: compiled code is kept elsewhere", why)


def _who_else_writes(folder: Path) -> str:
    own, real = os.getuid(), folder.resolve()
    for part in (*reversed(real.parents), real):
        found = part.stat()
        if found.st_uid == own and not found.st_mode & 0o033:
            return ""  # nobody else gets to what is below
        others = found.st_mode & 0o002 or (found.st_mode & 0o020 and not _own_group(found.st_gid))
        if others and (part == real or not found.st_mode & stat.S_ISVTX):
            return f"others can write to {part}"
    return ""


def _own_group(group: int) -> bool:
    """Whether nobody else is in a group: many systems give each user one, and let it write."""
    try:
        user, named = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return group == 0 or (named.gr_name == user and set(named.gr_mem) <= {user})


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
