"""Work on the parts of something by forks of this process: where Python's lock is held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from pairtile.runtime.end_together import end_with_parent

R = TypeVar("R")


def in_forks(
    processes: int, work: Callable[..., R], *columns: Iterable[object], at_once: int = 1
) -> Iterator[R]:
    """``work`` of each row of the columns, in order; by this process where ``processes`` are below
    two. ``at_once``: rows that a fork takes at a time."""
    if processes < 2:
        yield from map(work, *columns)
        return
    with ProcessPoolExecutor(processes, get_context("fork"), end_with_parent) as pool:
        yield from pool.map(work, *columns, chunksize=at_once)
