"""Products of listed pairs of rows."""

from __future__ import annotations

from pairtile.cpu.njit import njit


@njit(nogil=True, fastmath={"reassoc", "contract"})
def row_products(a, i, b, j, out):  # type: ignore[no-untyped-def]
    """``out[k] = a[i[k]] @ b[j[k]]``: to the last bit the same whatever else is in the list, unlike
    a matrix product.

    a, b: float64 (rows, samples), C-contiguous; i, j: int64 (pairs,); out: float64 (pairs,).
    """
    for k in range(out.size):
        row, column = a[i[k]], b[j[k]]
        total = 0.0
        for s in range(row.size):
            total += row[s] * column[s]
        out[k] = total
