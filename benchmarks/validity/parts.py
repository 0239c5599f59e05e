"""The claims of methods, simulated in parts: one after the other, or several at a time.

Apart from ``__main__``, whose functions a new process cannot be sent.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from benchmarks.validity.claims import Part


def parts_of(method: str, quick: bool) -> list[Part]:
    """What simulates the claims of a method, each part by itself, in the order of its rows."""
    module = import_module(f"benchmarks.validity.{method}")
    return list(module.parts(quick)) if hasattr(module, "parts") else [partial(module.run, quick)]


def rows_of(method: str, number: int, quick: bool) -> list[dict[str, Any]]:
    """The rows of one part. It is named by its number, since a process cannot be sent a lambda."""
    begin = time.process_time()
    with warnings.catch_warnings():  # what is said of the tables is counted where it is the claim
        warnings.simplefilter("ignore")
        rows = list(parts_of(method, quick)[number]())
    seconds = time.process_time() - begin
    print(
        f"{seconds:6.0f} s of CPU  {method} {number}: {rows[0]['scenario'] if rows else ''}",
        flush=True,
    )
    return rows


def simulated(
    methods: Sequence[str], quick: bool, processes: int
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each method with its rows, once all its parts are there; ``processes`` parts at a time, of
    one thread each where there are several."""
    numbers = {method: range(len(parts_of(method, quick))) for method in methods}
    if processes == 1:
        for method in methods:
            yield method, [row for k in numbers[method] for row in rows_of(method, k, quick)]
        return
    os.environ |= dict.fromkeys(
        ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
    )
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = {
            method: [pool.submit(rows_of, method, k, quick) for k in numbers[method]]
            for method in methods
        }
        for method, parts in waiting.items():
            yield method, [row for part in parts for row in part.result()]
