"""Host memory that B-spline weights and their null take: what jobs ask a scheduler for."""

from __future__ import annotations

import math

STATISTIC_BYTES = 12
"""Of each draw of a null: the statistic itself, joined with the others, and sorted."""


def weights_bytes(bins: int, order: int) -> tuple[int, int]:
    """Memory that each value (of a variable, in a sample) takes as weights on the CPU.

    Returns the bytes of what ``BsplineScorer.weights`` gives, and of what it holds beside while it
    makes them: values, dense weights and two layouts of them.
    """
    kept = 8 * (bins + order) + 4
    return kept, 8 * (2 * bins + order) + 24


def drawn_bytes(draws: int, samples: int, nulls: int, of_value: int) -> int:
    """Memory for a permutation null: permuted rows and columns, ``of_value`` bytes for each value
    of the columns' weights, and the statistics of ``nulls`` pairs of entropy classes."""
    side = math.isqrt(draws) + 1
    return (16 + of_value) * samples * side + (STATISTIC_BYTES + 4 * (nulls - 1)) * draws
