"""Compiled loops over items, by all threads of a job.

numba's own ``parallel`` takes nearly twice as long to compile, and one thread at a time may call
what it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Concatenate, ParamSpec

import numpy as np

from pairtile.cpu.njit import njit
from pairtile.runtime.threads import in_threads

P = ParamSpec("P")

# For each thread: items may differ in what they cost, and a range costs about 10 µs.
RANGES = 8


def threaded(
    over: str = "", group: int = 1, entries: int = 1, **options: object
) -> Callable[[Callable[Concatenate[int, int, P], object]], Callable[P, None]]:
    """Compile ``kernel(first, last, ...)``, which does items first .. last - 1, to be called as
    ``kernel(...)``, which does all.

    Parameters
    ----------
    over
        The argument that has an entry for each item (of a tuple, its first field): the last one
        unless given.
    group
        Items that the kernel does together, where there are enough.
    entries
        Numbers in that argument that a range has at least: fewer are not worth a thread.
    options
        Of ``njit``.
    """

    def compiled(function: Callable[Concatenate[int, int, P], object]) -> Callable[P, None]:
        # As numba's own parallel loops: a division by 0 raises nothing.
        kernel = njit(nogil=True, error_model="numpy", **options)(function)
        place = [*signature(function).parameters].index(over) - 2 if over else -1

        @wraps(kernel, updated=())
        def call(*arguments: P.args, **named: P.kwargs) -> None:
            given = arguments[place]
            items = np.asarray(given[0] if isinstance(given, tuple) else given)
            in_ranges(
                lambda first, last: kernel(first, last, *arguments, **named),
                *(len(items), group, items.size // entries),
            )

        return call

    return compiled


def in_ranges(work: Callable[[int, int], object], number: int, group: int, most: int) -> None:
    """``work(first, last)`` of ranges of the items 0 .. number - 1, as ``in_threads`` does parts.

    There are at most ``most`` ranges, of multiples of ``group`` items (but the last) where each
    thread can have so many. A thread that is done with a range takes the next; a single range is
    done without other threads.
    """
    from numba import get_num_threads

    threads = get_num_threads()
    ranges = max(1, min(threads * RANGES, most)) if threads > 1 else 1
    together = group if number >= group * threads else 1
    size = max(1, -(-number // (ranges * together))) * together
    begins = range(0, number, size)
    waiting = iter(begins)

    def take(_: int) -> None:
        for first in waiting:
            work(first, min(first + size, number))

    if len(begins) > 1:
        list(in_threads(take, begins[:threads]))
    else:
        take(0)
