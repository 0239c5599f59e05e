"""Benjamini-Hochberg q-values of very many p-values, in the memory of these."""

from __future__ import annotations

from pairtile.cpu.njit import njit


@njit(nogil=True)
def distinct_q_values(p, n_tests, q):  # type: ignore[no-untyped-def]
    """Move the different p-values to the end of ``p``, their q-values to that of ``q``; returns
    where they begin.

    p: float64 (P,), rising, a part of ``n_tests``; q: float64 (P,). Of equal p-values the last rank
    decides.
    """
    place, least = p.size, 1.0
    for k in range(p.size - 1, -1, -1):
        if place < p.size and p[k] == p[place]:
            continue
        place -= 1
        least = min(least, p[k] * n_tests / (k + 1))
        p[place], q[place] = p[k], least
    return place
