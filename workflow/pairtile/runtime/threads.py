"""Work on the parts of something by all threads of a job, or by forks of it."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import cache
from multiprocessing import get_context
from typing import TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from pairtile.runtime.end_together import end_with_parent

P = TypeVar("P")
R = TypeVar("R")

_THREAD = threading.local()
"""``works``: set in the threads of ``_pool``."""


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Kept: 16 threads take up to 8 ms to end (measured), longer than most work that they get."""
    return ThreadPoolExecutor(threads, initializer=lambda: setattr(_THREAD, "works", True))


os.register_at_fork(after_in_child=_pool.cache_clear)


class _Blas:
    lock = threading.Lock()
    holders = 0
    limits = ExitStack()


_controller = cache(ThreadpoolController)  # looking for the libraries takes up to 2 ms


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for each matrix product or decomposition, as a context or a decorator.

    Where several threads call BLAS, or matrices are small, threads that wait for each other take
    two to eight times as long as one (measured, OpenBLAS, 2 and 16 cores).
    """
    with _Blas.lock:
        _Blas.holders += 1
        if _Blas.holders == 1:
            _Blas.limits.enter_context(_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.holders -= 1
            if not _Blas.holders:
                _Blas.limits.close()


def in_threads(work: Callable[[P], R], parts: Iterable[P]) -> Iterator[R]:
    """``work`` of each part, in the order of ``parts``, by as many threads as the job has.

    No more parts are taken than threads are free, and one that waits, so that what parts and
    results take in memory is bounded. For work that lets go of Python's lock (NumPy, Arrow, numba
    with ``nogil``), not for numba's ``parallel`` functions, which one thread at a time may call.
    Each thread has its matrix products to itself (``one_blas_thread``). Where a part's work itself
    calls this, its own thread does all.
    """
    from numba import get_num_threads

    threads = get_num_threads()
    if threads == 1 or hasattr(_THREAD, "works"):
        yield from map(work, parts)
        return
    pool = _pool(threads)
    waiting: deque[Future[R]] = deque()
    with one_blas_thread():
        try:
            for part in parts:
                waiting.append(pool.submit(work, part))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            wait([future for future in waiting if not future.cancel()])


def in_background(work: Callable[[], R]) -> Callable[[], R]:
    """Begin ``work`` in another thread of the job; what is returned waits for its result. A job of
    one thread does the work when it is asked for.

    For work as of ``in_threads``. Where it makes matrix products, the caller has
    ``one_blas_thread`` until it has the result: threadpoolctl heeds one thread alone.
    """
    from numba import get_num_threads

    threads = get_num_threads()
    if threads == 1 or hasattr(_THREAD, "works"):
        return work
    return _pool(threads).submit(work).result


def in_forks(
    processes: int, work: Callable[..., R], *columns: Iterable[object], at_once: int = 1
) -> Iterator[R]:
    """``work`` of each row of the columns, in order, by forks of this process: for work that keeps
    Python's lock. Where ``processes`` are below two, this process does it. ``at_once``: rows that a
    fork takes at a time."""
    if processes < 2:
        yield from map(work, *columns)
        return
    with ProcessPoolExecutor(processes, get_context("fork"), end_with_parent) as pool:
        yield from pool.map(work, *columns, chunksize=at_once)


_END = object()


def one_ahead(parts: Iterable[P]) -> Iterator[P]:
    """The parts in order, each made by another thread while the one before it is worked on: where
    one side waits for a GPU. What makes them calls none of numba's ``parallel`` functions."""
    source = iter(parts)
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[P | object] = pool.submit(next, source, _END)
        while (part := waiting.result()) is not _END:
            waiting = pool.submit(next, source, _END)
            yield part  # type: ignore[misc]
