"""Random permutations inside compiled code: the draws of NumPy's ``Generator`` on ``Philox``.

A permutation is keyed on a counter, never on order or thread, and is the same on every machine. In
compiled code one takes a few microseconds; a ``Generator`` of its own for each takes 30.
"""

from __future__ import annotations

import numpy as np

from pairtile.cpu.njit import njit

_ROUNDS = 10
_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@njit(inline="always")
def _high(a, b):  # type: ignore[no-untyped-def]
    """The upper 64 bits of the product of two uint64."""
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    carried = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (carried >> _HALF)


@njit()
def _philox(counter, key, out):  # type: ignore[no-untyped-def]
    """Philox4x64-10: four random words of a counter of four and a key of two, all uint64.

    J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011.
    """
    x0, x1, x2, x3 = counter[0], counter[1], counter[2], counter[3]
    k0, k1 = key[0], key[1]
    for _ in range(_ROUNDS):
        high0, low0 = _high(_M0, x0), _M0 * x0
        high1, low1 = _high(_M1, x2), _M1 * x2
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0 += _W0
        k1 += _W1
    out[0], out[1], out[2], out[3] = x0, x1, x2, x3


@njit()
def permute(key, counter, out):  # type: ignore[no-untyped-def]
    """Write ``Generator(Philox(key, counter)).permutation(arange(n))`` into ``out``, int (n,).

    key : uint64 (2,). counter : uint64 (4,), changed. n < 2^32.

    Fisher and Yates' shuffle; a whole number up to a bound is the first half word that is no
    larger, after the bits above the bound's are cleared.
    """
    for k in range(out.size):
        out[k] = k
    words = np.empty(4, dtype=np.uint64)
    place = 8  # of the next half word; eight of them come of one counter
    mask = np.uint64(1)
    while mask < np.uint64(out.size):
        mask <<= _ONE
    mask -= _ONE
    for k in range(out.size - 1, 0, -1):
        bound = np.uint64(k)
        if mask >> _ONE >= bound:
            mask >>= _ONE
        other = mask + _ONE
        while other > bound:
            if place == 8:
                # The counter is raised before it is used, as NumPy does.
                for digit in range(4):
                    counter[digit] += _ONE
                    if counter[digit] != 0:
                        break
                _philox(counter, key, words)
                place = 0
            word = words[place >> 1]
            other = (word >> _HALF if place & 1 else word) & _LOW & mask
            place += 1
        chosen = np.int64(other)
        out[k], out[chosen] = out[chosen], out[k]
