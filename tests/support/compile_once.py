"""Compiled kernels shared by workers: what one compiles, the others read from numba's cache."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any


def compile_once(locks: Path) -> None:
    """From here on, no other process that has called this compiles a function at the same time.

    ``locks``: a folder for the files that they lock, one for each function. A function is locked
    before those that it calls, and calls of kernels make no circles, so nobody waits for ever.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    locks.mkdir(parents=True, exist_ok=True)
    compile_now = Dispatcher.compile
    held = set()

    def compile_alone(self: Any, signature: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if name in held:  # it calls itself
            return compile_now(self, signature)
        # numba's own lock first, else two threads could wait for each other.
        with global_compiler_lock, (locks / name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held.add(name)
            try:
                return compile_now(self, signature)
            finally:
                held.remove(name)

    Dispatcher.compile = compile_alone
