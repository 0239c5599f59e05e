"""Values made ready for B-splines: ranked, scaled, and the entropy of their bins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import CupyArray, DeviceArray
from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.runtime.threads import in_threads
from pairtile.splines.bspline import bin_sums, knot_vector
from pairtile.splines.scorer import SplineSettings
from pairtile.statistics.ranks import average_ranks


def scaled(
    values: NDArray[np.float64],
    settings: SplineSettings,
    transform: str,
    overwrite: bool = False,
) -> NDArray[np.float64]:
    """Each gene's values, or their average ranks, scaled to [0, bins - order + 1].

    values : float64 (genes, samples), NaN where missing. A constant gene becomes all 0, so that
    all its weight lies on the same bins and its mutual information with everything is 0. Where the
    caller needs them no more, ``overwrite`` puts the result in their place (if C-contiguous).
    """
    if transform not in ("rank", "none"):
        raise ValueError(f"transform: found {transform!r}; expected 'rank' or 'none'")
    given = np.ascontiguousarray(values, dtype=np.float64)
    z = given if overwrite else np.empty(given.shape)
    if transform == "rank":
        average_ranks(given, z)
    scale_rows(z if transform == "rank" else given, float(settings.intervals), z)
    return z


def scaled_halves(
    values: NDArray[np.float16], settings: SplineSettings, transform: str
) -> NDArray[np.float64]:
    """``scaled``, in place, and ``marginal_entropies``, of float16: there are so few of these that
    each is worked out once for all samples that have it."""
    given = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    in_order = np.argsort(given, kind="stable")[: np.count_nonzero(~np.isnan(given))]

    def scale(row: NDArray[np.float16]) -> NDArray[np.float64]:
        codes = row.view(np.uint16)
        z, held, places = _scale_codes(codes, given, in_order, transform == "rank")
        z *= settings.intervals
        halves = np.append(z, np.nan).astype(np.float16)
        table = halves.take(places, mode="clip")  # any other mode makes a copy first
        table.take(codes, out=row, mode="clip")
        return marginal_entropies(z[None], settings, held)

    return np.concatenate(list(in_threads(scale, values)))


@njit(nogil=True, error_model="numpy")
def _scale_codes(codes, given, in_order, by_rank):  # type: ignore[no-untyped-def]
    """The distinct values of a gene, or their ranks, scaled to [0, 1]; how many samples have each;
    and where each code is among them, behind them if its value is missing. NumPy's selections would
    keep other threads waiting.

    codes     uint16 (samples,), of float16
    given     float64 (65536,), the value of each code
    in_order  the codes of all numbers, from the lowest on
    """
    times, places = np.zeros(given.size), np.full(given.size, given.size)
    for code in codes:
        times[code] += 1.0
    z, held, n = np.empty(in_order.size), np.zeros(in_order.size), 0
    for code in in_order:
        if times[code] > 0.0:
            if n == 0 or given[code] > z[n - 1]:  # 0 and -0 are one
                z[n] = given[code]
                n += 1
            held[n - 1] += times[code]
            places[code] = n - 1
    z, held = z[:n], held[:n]
    if by_rank:
        z = np.cumsum(held) - 0.5 * (held - 1.0)
    width = z[-1] - z[0]
    return np.minimum((z - z[0]) / (width or 1.0), 1.0), held, places


def marginal_entropies(
    z: DeviceArray, settings: SplineSettings, times: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Entropy in bits of each gene's own bins: float64 (genes,); 0 for a constant gene. ``z`` is an
    array of NumPy, of whose samples each counts so many ``times``, or, on a GPU, of CuPy; the
    result is the same."""
    if isinstance(z, np.ndarray):
        p = bin_sums(z, settings.bins, settings.order, settings.knots, times)
        largest = np.fmax.reduce(z, axis=1)
    else:
        p, largest = _bin_sums_cuda(z, settings)
    p /= np.maximum(p.sum(axis=1, keepdims=True), 1.0)
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0.0)
    entropies = np.maximum(0.0, -(p * logs).sum(axis=1))
    # A constant gene lies on one point, which uniform knots spread over bins; its entropy is 0.
    with np.errstate(invalid="ignore"):
        entropies[~(largest > 0.0)] = 0.0
    return np.asarray(entropies)


def _bin_sums_cuda(
    z: CupyArray, settings: SplineSettings
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``bin_sums``, and the largest value of each row."""
    import cupy

    from pairtile.gpu.compiling import load

    defines: dict[str, str | int] = {"BINS": settings.bins, "ORDER": settings.order}
    module = load(Path(__file__).with_name("bin_sums.cu"), defines, fused=False)
    rows, samples = z.shape
    knots = cupy.asarray(knot_vector(settings.bins, settings.order, settings.knots))
    sums, largest = cupy.empty((rows, settings.bins)), cupy.empty(rows)
    arguments = (z, np.int32(rows), np.int32(samples), knots, sums, largest)
    module.get_function("bin_sums")((-(-rows // 64),), (64,), arguments)
    return cupy.asnumpy(sums), cupy.asnumpy(largest)


@threaded(entries=1 << 13)
def scale_rows(first, last, values, top, out):  # type: ignore[no-untyped-def]
    """Scale every row of ``values`` to [0, top] into ``out``, which may be the same array; a
    constant row becomes 0, a missing value stays missing."""
    for row in range(first, last):
        low = np.inf
        high = -np.inf
        for column in range(values.shape[1]):
            value = values[row, column]
            if not np.isnan(value):
                low = min(low, value)
                high = max(high, value)
        width = high - low if high > low else 1.0
        for column in range(values.shape[1]):
            z = (values[row, column] - low) / width
            # Rounding may leave a maximum just above one; the comparison keeps what is missing.
            out[row, column] = (1.0 if z > 1.0 else z) * top
