"""numba's ``njit``, with a cache that knows what a kernel calls.

numba compiles into a kernel what it calls and the numbers it takes from other modules, but throws
the compiled code away only when the kernel's own file changes: after an update a kernel could go on
with old parts. So what is compiled of a module is kept in a folder named by the content of the
module and of all modules of this package that it imports.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.types import unliteral
from numpy.typing import NDArray

from pairtile.runtime.user_cache import code_folder, user_cache

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from pairtile([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)

F = TypeVar("F", bound=Callable[..., object])


def njit(**options: Any) -> Callable[[F], F]:
    """``numba.njit(cache=True, **options)``."""

    def compiled(function: F) -> F:
        module = Path(inspect.getfile(function)).resolve()
        settings: Any = numba.config
        before = settings.CACHE_DIR  # NUMBA_CACHE_DIR, or ""
        settings.CACHE_DIR = str(_folder(before, content_of(module)))
        try:
            kernel: Any = numba.njit(**{"no_cfunc_wrapper": True, **options})(function)
            kernel._cache = _CompiledOnce(function)
            # A constant argument would compile what is called, and all that this calls, once more.
            template = kernel.get_call_template
            kernel.get_call_template = lambda args, kws: template(
                [unliteral(argument) for argument in args],
                {name: unliteral(argument) for name, argument in kws.items()},
            )
            return kernel
        finally:
            settings.CACHE_DIR = before

    return compiled


def subroutine(**options: Any) -> Callable[[F], F]:
    """``njit`` of what kernels alone call, which makes and returns no array: without Python's way
    in, and without counting who has an array, tuples of arrays compile in half the time."""
    return njit(error_model="numpy", no_cpython_wrapper=True, _nrt=False, **options)


_HELD: dict[str, int] = {}
"""Lock file -> its descriptor, of what this process compiles now."""

os.register_at_fork(after_in_child=_HELD.clear)


class _CompiledOnce(FunctionCache):
    """What is compiled of a function. Of several processes that need it at once, such as the chunks
    of a first run, one compiles and the others wait for it."""

    @property
    def lock(self) -> str:
        return f"{self.cache_path}/{self._impl.filename_base}.lock"

    def load_overload(self, sig: object, target_context: object) -> object:
        found = super().load_overload(sig, target_context)
        if found is None and self.lock not in _HELD:
            with suppress(OSError):  # a file system without locks: each compiles
                _HELD[self.lock] = os.open(self.lock, os.O_CREAT | os.O_WRONLY)
                fcntl.flock(_HELD[self.lock], fcntl.LOCK_EX)
            found = super().load_overload(sig, target_context)
            if found is not None:
                self._let_go()
        return found

    def save_overload(self, sig: object, data: object) -> None:
        super().save_overload(sig, data)
        self._let_go()

    def _let_go(self) -> None:
        with suppress(KeyError, OSError):
            lock = _HELD.pop(self.lock)
            fcntl.flock(lock, fcntl.LOCK_UN)  # a process forked meanwhile has the file open, too
            os.close(lock)

    def is_busy(self) -> bool:
        """Whether a process compiles the function now."""
        try:
            with open(self.lock, "wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array as one that cannot be written: numba compiles a kernel, and all that it calls, once
    for arrays that can be (computed ones) and once for those that cannot (mapped from a file)."""
    return np.broadcast_to(array, array.shape)


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
def _folder(given: str, content: str) -> Path:
    """Below the folder that is given, else beside the package or, where nothing can be written
    there or others can write, too, the user's: numba runs what it finds."""
    beside = _PACKAGE if os.access(_PACKAGE, os.W_OK) else user_cache()
    top = given or beside / ("__pycache__" if beside == _PACKAGE else "pairtile")
    return code_folder(Path(top, content), f"pairtile/{content}")
