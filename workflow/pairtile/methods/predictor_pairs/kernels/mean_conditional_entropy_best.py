"""The best sets of one target so far: an ordered list with exact counts of ties.

A list is four arrays of ``top`` rows in ascending (key, predictors), and how many rows are filled:

keys  int64 (top,); sets  int32 (top, c); scores  float64 (top,), the MCE in bits; ties  int64
(top,): on the last row of each key how many sets with this key were offered, 0 on its other rows
(``finish`` moves the counts to the first rows).

Sets may be offered in any order. Once the list is full, a key above its last one can never come
back, so that counting ties of the keys in the list is enough to count them exactly.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True, inline="always")
def is_before(a, b, i, j):  # type: ignore[no-untyped-def]
    """Whether set a comes before the set in row (i, j) of b, lexicographically."""
    for k in range(a.shape[0]):
        if a[k] != b[i, j, k]:
            return a[k] < b[i, j, k]
    return False


@njit(cache=True, nogil=True)
def offer(t, keys, sets, scores, ties, filled, key, candidate, score):  # type: ignore[no-untyped-def]
    """Count the set ``candidate`` int32 (c,) and keep it if it is among the best of list ``t``.

    The arrays are those of all lists, list first. Indices rather than slices, since a slice costs
    more than the rest of the usual call.
    """
    end = keys.shape[1] - 1
    full = filled[t] > end
    if full:
        if key > keys[t, end]:
            return
        if key == keys[t, end] and not is_before(candidate, sets, t, end):
            ties[t, end] += 1  # by far the most frequent case where ties are many
            return
    place = 0  # of the candidate: the first row that comes after it
    after = filled[t]
    while place < after:
        middle = (place + after) >> 1
        if keys[t, middle] < key or (
            keys[t, middle] == key and not is_before(candidate, sets, t, middle)
        ):
            place = middle + 1
        else:
            after = middle
    last = place  # of the rows with the candidate's key, once it is in
    while last < filled[t] and keys[t, last] == key:
        last += 1
    count = 1
    if last > 0 and keys[t, last - 1] == key:
        count += ties[t, last - 1]
        ties[t, last - 1] = 0
    if full:
        if last > end:
            last = end
        elif end > 0 and keys[t, end - 1] == keys[t, end]:
            ties[t, end - 1] = ties[t, end]  # the last row goes, its key stays
    else:
        filled[t] += 1
    for row in range(filled[t] - 1, place, -1):
        keys[t, row] = keys[t, row - 1]
        scores[t, row] = scores[t, row - 1]
        ties[t, row] = ties[t, row - 1]
        for k in range(candidate.shape[0]):
            sets[t, row, k] = sets[t, row - 1, k]
    keys[t, place] = key
    scores[t, place] = score
    ties[t, place] = 0
    for k in range(candidate.shape[0]):
        sets[t, place, k] = candidate[k]
    ties[t, last] = count


@njit(cache=True, nogil=True)
def finish(t, keys, ties, filled):  # type: ignore[no-untyped-def]
    """Move the counts of ties of list ``t`` from the last row of each key to the first."""
    first = 0
    for row in range(filled[t]):
        if row > 0 and keys[t, row] != keys[t, row - 1]:
            first = row
        count = ties[t, row]
        ties[t, row] = 0
        ties[t, first] += count
