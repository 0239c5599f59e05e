"""Iterate in a fork of this process, whose death is an error like another.

Readers of trajectories are C code that trusts its input: a damaged file makes them write beyond
their arrays, or ask for all memory. In a fork that ends the fork alone, and the file has a name.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, Pipe
from typing import TypeVar

import psutil

T = TypeVar("T")


class ReaderError(Exception):
    """What ended the reading. ``kind``: type of an exception, or ``""`` where the process died.
    ``text``: its message, or how the process died."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}" if kind else text)
        self.kind, self.text = kind, text


def in_fork(make: Callable[[], Iterator[T]], memory_bytes: int) -> Iterator[T]:
    """The items of ``make()``, which runs in a fork and is some items ahead.

    Parameters
    ----------
    make
        Called in the fork. Items are pickled.
    memory_bytes
        Of address space that the fork may have beyond what this process has now.

    Raises
    ------
    ReaderError
        If ``make`` raises, or its process dies.
    """
    receiving, sending = Pipe(duplex=False)
    process = get_context("fork").Process(
        target=_run, args=(make, receiving, sending, memory_bytes), daemon=True
    )
    # Python warns of forks beside threads: this one needs no lock.
    with warnings.catch_warnings(action="ignore"):
        process.start()
    sending.close()
    try:
        while True:
            try:
                what, value = receiving.recv()
            except EOFError:
                process.join()
                code = process.exitcode or 0
                how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                raise ReaderError("", how) from None
            if what == "item":
                yield value
            elif what == "error":
                raise ReaderError(*value)
            else:
                return
    finally:
        receiving.close()
        process.kill()
        process.join()


def _run(
    make: Callable[[], Iterator[object]],
    receiving: Connection,
    sending: Connection,
    memory_bytes: int,
) -> None:
    receiving.close()
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the C library's last words
    most = psutil.Process().memory_info().vms + memory_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        for item in make():
            sending.send(("item", item))
        sending.send(("end", None))
    except Exception as error:  # readers of some forty formats raise what they like
        sending.send(("error", (type(error).__name__, str(error))))
