"""numba's ``njit``, with a cache that knows what a kernel calls.

numba compiles into a kernel what it calls and the numbers it takes from other modules, but throws
the compiled code away only when the kernel's own file changes: after an update a kernel could go on
with old parts. So what is compiled of a module is kept in a folder named by the content of the
module and of all modules of this package that it imports.
"""

from __future__ import annotations

import fcntl
import inspect
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.types import unliteral
from numpy.typing import NDArray

from pairtile.cpu.first_run import content_of, folder_of

F = TypeVar("F", bound=Callable[..., object])


def njit(**options: Any) -> Callable[[F], F]:
    """``numba.njit(cache=True, **options)``."""

    def compiled(function: F) -> F:
        module = Path(inspect.getfile(function)).resolve()
        settings: Any = numba.config
        before = settings.CACHE_DIR  # NUMBA_CACHE_DIR, or ""
        settings.CACHE_DIR = str(folder_of(before, content_of(module)))
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
    """``njit`` of what kernels alone call, which makes and returns no array. Without a wrapper for
    Python, and without reference counts, tuples of arrays compile in half the time; but a call from
    Python ends the process, without a message."""
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
                if self.is_busy():
                    compile_before(f"{self._py_func.__module__}:{self._py_func.__name__}")
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


EXPECTED: dict[str, None] = {}
"""What this process will compile (``first_run.read_list``)."""


def compile_before(place: str) -> None:
    """Compile what is expected before a function that another process compiles: what that calls is
    among it. Nothing else: of two processes each could wait for what the other has begun."""
    begun = next((k for k, line in enumerate(EXPECTED) if line.startswith(f"{place} ")), 0)
    compile_last_of(list(EXPECTED)[:begun])


def compile_last_of(listed: list[str]) -> None:
    """Compile what is listed, from its end, but for what another process compiles."""
    for line in reversed(listed):
        place, _, arguments = line.partition(" ")
        with suppress(Exception):  # the job itself says what cannot be compiled
            kernel = kernel_of(place)
            if not vars(kernel)["_cache"].is_busy():
                kernel.compile(types_of(json.loads(arguments)))


def kernel_of(place: str) -> Dispatcher:
    """What numba made of the function at a place, ``MODULE:FUNCTION``, which may be called by all
    threads (``threaded``)."""
    return inspect.unwrap(resolve_name(place), stop=lambda found: isinstance(found, Dispatcher))


def types_of(told: Sequence[Any]) -> tuple[types.Type, ...]:
    """Types of numba: a number by its name, an array by those of its numbers, its dimensions, its
    layout and whether it is read-only, a tuple by the place of its class (null: a plain one) and
    ``of`` what it is."""
    found = []
    for one in told:
        if isinstance(one, str):
            found.append(getattr(types, one))
        elif isinstance(one, dict):
            place = one["tuple"]
            made = place and resolve_name(place)
            found.append(types.BaseTuple.from_types(types_of(one["of"]), made))
        else:
            name, dimensions, layout, read_only = one
            found.append(types.Array(getattr(types, name), dimensions, layout, read_only))
    return tuple(found)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array as one that cannot be written: numba compiles a kernel, and all that it calls, once
    for arrays that can be (computed ones) and once for those that cannot (mapped from a file)."""
    return np.broadcast_to(array, array.shape)
