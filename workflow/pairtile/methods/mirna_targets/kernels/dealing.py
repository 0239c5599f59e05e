"""Even shares of work for numba's ``prange``."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray


def dealt(count: int) -> NDArray[np.int64]:
    """0 .. count - 1, int64 (count,), in an order that deals them out to the threads in turn.

    ``prange`` gives each thread one run of neighbours. Where neighbours cost about the same, and
    far ones do not (things sorted by length), runs of this order cost about the same.
    """
    threads = get_num_threads()
    hands = [np.arange(thread, count, threads, dtype=np.int64) for thread in range(threads)]
    return np.concatenate(hands)
