"""What a regulator explains of a target beside all other regulators, for ``score: combined``.

Linear part: the partial correlation of regulator r and target t given the other regulators, from
the correlation matrix of the regulators shrunken towards no correlation (Schäfer & Strimmer 2005,
Stat. Appl. Genet. Mol. Biol. 4:32). It is blind to a target that goes with the square of its
regulator. So the same is done once more with what the linear fit leaves of the target and the
squares of the regulators (what is linear in them taken off). The two are joined as
sqrt(linear^2 + square^2).

With X the standardised regulators (p, n), lambda the shrinkage, a = (1 - lambda) / n and
M = lambda I + a X'X, the inverse of the shrunken correlations of the regulators, Omega, need not be
made: a Omega X = a X M^-1 =: F. The weight of r in the fit of t is b = F_r x_t, its residual goes
with M^-1 x_t, and Omega_rr = (1 - F_r x_r) / lambda. The precision matrix of the regulators and t
gives the partial correlation b / sqrt(s_t Omega_rr + b^2), with s_t = lambda (1 + a x_t M^-1 x_t),
the variance that is left. Where t is a regulator, it is -Omega_rt / sqrt(Omega_rr Omega_tt), and
Omega_rt = -b / lambda. So both parts are one matrix product for each tile of pairs, whatever the
numbers of regulators and samples; what is inverted is the smaller of p x p and n x n.

Where samples share components that genes do not make (``HiddenFactors.made_by``), these are given
in place of all other regulators, too: from genes at ``MAX_GENES`` places, scores of the components
by least squares on their loadings; x is what these leave of a gene (standardised), and of its
square what is not linear in x. R^2 = (x_r x_t / n)^2 + (square_r x_t / n)^2 is the share of t that
a parabola in r explains, -log2(1 - R^2) / 2 the mutual information of normal variables that go
together as closely.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.njit import njit
from pairtile.engine.state import release
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.arrays import SplineArrays
from pairtile.runtime.threads import in_threads
from pairtile.statistics.dependence import MAX_GENES, evenly_spaced
from pairtile.statistics.shrinkage import DeviceArray, correlation_sums, standardised

_BLOCK = 1024
"""Genes that are fitted together."""

ENOUGH_SAMPLES = 2000
"""Where every gene is a regulator: the fit of 20,000 genes takes 2 GB, then."""

_PAIRS_A_TASK = 1 << 14
"""Listed pairs that a thread scores together."""


class _Part(NamedTuple):
    """Of the linear or of the squared regulators: a pair's squared partial correlation is g^2 /
    (base_t + slope_t g^2), g the product of the regulator's filter and the target's values.

    filters : (regulators, samples). base, slope : (genes,). All float64, on the device.
    """

    filters: DeviceArray
    base: DeviceArray
    slope: DeviceArray


class PartialCorrelation:
    """Partial correlations of genes with regulators, from the state of an analysis.

    weight : max(0, 1 - 2 shrinkage), without a list 1 / 2 - 1 / sqrt(genes) of it, what the score
    trusts them; where it is 0 nothing is made, and all are 0. place : int64 (genes,), of a
    regulator its filter; -1 of others.
    is_listed : whether there is a list of regulators; else every gene is one. components : float64
    (samples, factors), orthonormal, or None: what is given in place of the other regulators.
    """

    def __init__(
        self,
        state: SplineArrays,
        top: float,
        device: Device,
        beside: Literal["regulators", "components"] = "regulators",
    ) -> None:
        """top : upper end of the scaled values. beside : what is given."""
        self.beside = beside
        self._z, self._top, self._device = state.get("z_some", state["z"]), top, device
        self._by_rank = bool(state["by_rank"])
        genes, samples = self._z.shape
        regulators = np.asarray(state["regulators"], dtype=np.int64)
        self.is_listed = regulators.size > 0
        self._every = 1 if self.is_listed else -(-samples // ENOUGH_SAMPLES)
        if not self.is_listed:
            regulators = np.arange(genes)
        self.place = np.full(genes, -1)
        self.place[regulators] = np.arange(regulators.size)
        self.components: DeviceArray | None = None
        if beside == "components":
            fit = device.xp.linalg.pinv(device.xp.asarray(state["shared_loadings"]))
            scores = fit @ self._values(evenly_spaced(genes, MAX_GENES))
            self.components = device.xp.linalg.qr(scores.T)[0]
        values = self._values(regulators)
        self.shrinkage = 0.0 if self.components is not None else shrinkage(values)
        listed = self.is_listed or self.components is not None
        most = 1.0 if listed else max(0.0, 0.5 - genes**-0.5)
        self.weight = most * max(0.0, 1.0 - 2.0 * self.shrinkage)
        self._parts: tuple[_Part, ...] = ()
        if self.weight > 0.0:
            self._parts = self._fitted(values, regulators)

    @classmethod
    def all_of(cls, state: SplineArrays, top: float, device: Device) -> list[PartialCorrelation]:
        """What is ranked: beside other regulators; and first beside components, where samples share
        some, which are alone where all genes are regulators."""
        if "shared_loadings" not in state:
            return [cls(state, top, device)]
        found = [cls(state, top, device, "components")]
        return [*found, cls(state, top, device)] if state["regulators"].size else found

    def between(self, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> DeviceArray:
        """Of each regulator with each target, 0 to 1: float64 (sources, targets) on the device.

        Of a gene with itself it means nothing.
        """
        xp = self._device.xp
        filters, genes = xp.asarray(self.place[sources]), xp.asarray(targets)
        values = self._values(targets).T
        found = xp.zeros((sources.size, targets.size))
        for part in self._parts:
            squared = (part.filters[filters] @ values) ** 2
            found += squared / (part.base[genes] + part.slope[genes] * squared)
        return xp.sqrt(found) if self.components is None else _bits(found, xp)

    def of_pairs(
        self, sources: NDArray[np.integer], targets: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """The same of a list of pairs: float64 (pairs,), on the host. Of each pair the same
        whatever else is in the list: what is chosen by it may be asked for again."""
        found = np.empty(sources.size)
        values, parts = self._on_host

        def fill(some: slice) -> None:
            place, genes = self.place[sources[some]], targets[some].astype(np.int64)
            total, squared = np.zeros(genes.size), np.empty(genes.size)
            for part in parts:
                _row_products(part.filters, place, values, genes, squared)
                squared *= squared
                total += squared / (part.base[genes] + part.slope[genes] * squared)
            found[some] = np.sqrt(total) if self.components is None else _bits(total, np)

        list(
            in_threads(
                fill, [slice(k, k + _PAIRS_A_TASK) for k in range(0, found.size, _PAIRS_A_TASK)]
            )
        )
        return found

    @cached_property
    def _on_host(self) -> tuple[NDArray[np.float64], list[_Part]]:
        """Values of all genes, and the parts."""
        to_host = self._device.to_host
        values = np.empty((len(self._z), -(-self._z.shape[1] // self._every)))
        for begin in range(0, len(values), _BLOCK):
            rows = np.arange(begin, min(begin + _BLOCK, len(values)))
            values[rows] = to_host(self._values(rows))
        return values, [_Part(*map(to_host, part)) for part in self._parts]

    def _fitted(self, values: DeviceArray, regulators: NDArray[np.int64]) -> tuple[_Part, _Part]:
        """Both parts, from the standardised values of the regulators."""
        xp = self._device.xp
        samples, genes = values.shape[1], len(self._z)
        squares = standardised(values * values, xp)
        squares = standardised(squares - (squares * values).mean(axis=1)[:, None] * values, xp)
        if self.components is not None:
            whole = xp.ones(genes), xp.zeros(genes)
            return _Part(values / samples, *whole), _Part(squares / samples, *whole)
        lam, lam_squares = self.shrinkage, shrinkage(squares)
        fit, fit_squares = _inverse(values, lam, xp), _inverse(squares, lam_squares, xp)
        a, a_squares = (1.0 - lam) / samples, (1.0 - lam_squares) / samples
        filters, omega = _filters(values, lam, fit)
        of_squares = fit(_filters(squares, lam_squares, fit_squares)[0])
        base, base_squares = xp.empty(genes), xp.empty(genes)
        for begin in range(0, genes, _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            x = self._values(np.arange(genes)[rows])
            residual = fit(x)
            base[rows] = lam * (1.0 + a * (x * residual).sum(axis=1))
            spread = (residual * residual).mean(axis=1)
            explained = (residual * fit_squares(residual)).sum(axis=1)
            left = lam_squares * (spread + a_squares * explained)
            base_squares[rows] = xp.where(spread > 0.0, left, 1.0)
        slope = xp.ones(genes)
        listed = xp.asarray(regulators)
        base[listed], slope[listed] = lam * lam * omega, 0.0
        return _Part(filters, base, slope), _Part(of_squares, base_squares, xp.ones(genes))

    def _values(self, genes: NDArray[np.integer]) -> DeviceArray:
        """What was scored of some genes, standardised; of ranks their normal scores."""
        xp = self._device.xp
        which = genes if isinstance(self._z, np.ndarray) else xp.asarray(genes)
        values = xp.asarray(self._z[which])[:, :: self._every]
        release(self._z)
        if self._by_rank:
            observed = (values == values).sum(axis=1)[:, None]
            rank = values * ((observed - 1) / self._top) + 0.5
            special = import_module("scipy.special" if xp is np else "cupyx.scipy.special")
            values = special.ndtri(rank / xp.maximum(observed, 1))
        rows = standardised(values, xp)
        if self.components is None:
            return rows
        rest = rows - (rows @ self.components) @ self.components.T
        # Of a gene that the components explain, rounding is left.
        varies = (rest * rest).mean(axis=1)[:, None] > 1e-9
        return standardised(xp.where((values == values) & varies, rest, np.nan), xp)


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _row_products(a, i, b, j, out):  # type: ignore[no-untyped-def]
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


def fit_bytes(regulators: int, samples: int, genes: int) -> int:
    """Memory that the fit takes: values, squares and filters of the regulators (0: all genes) and
    some copies (measured: 5.2 in all; 10 where regulators are inverted), inverses, and blocks of
    targets."""
    if not regulators:
        regulators, samples = genes, min(samples, ENOUGH_SAMPLES)
    smaller = min(regulators, samples)
    copies = 6 if samples <= regulators else 10
    return 8 * (copies * regulators * samples + 4 * smaller**2 + 8 * _BLOCK * samples)


def shrinkage(values: DeviceArray) -> float:
    """Intensity with which to shrink the correlations of standardised rows, to mean square error
    least (Schäfer & Strimmer 2005, section 2.3): at least 0.001, 1 where there is
    nothing to estimate."""
    n = values.shape[1]
    correlation, products, alone = correlation_sums(values)
    if correlation <= 1e-12 * alone:
        return 1.0
    variance = n / (n - 1) ** 3 * (products - n * correlation)
    # Regulators that are copies of each other leave nothing to invert without some.
    return min(1.0, max(1e-3, variance / correlation))


def _bits(squared: DeviceArray, xp: ModuleType) -> DeviceArray:
    """Mutual information of normal variables with this squared correlation, at most 15 bits."""
    return -0.5 * xp.log2(1.0 - xp.minimum(squared, 1.0 - 1e-9))


def _inverse(
    values: DeviceArray, lam: float, xp: ModuleType
) -> Callable[[DeviceArray], DeviceArray]:
    """Rows times M^-1, M = lam I + (1 - lam) / n X'X of X (rows, n)."""
    rows, n = values.shape
    a = (1.0 - lam) / n
    if n <= rows:
        inverse = xp.linalg.inv(lam * xp.eye(n) + a * (values.T @ values))
        return lambda y: y @ inverse
    # By the identity of Woodbury.
    of_rows = a * xp.linalg.inv(lam * xp.eye(rows) + a * (values @ values.T)) @ values
    return lambda y: (y - (y @ values.T) @ of_rows) / lam


def _filters(
    values: DeviceArray, lam: float, fit: Callable[[DeviceArray], DeviceArray]
) -> tuple[DeviceArray, DeviceArray]:
    """F_r / sqrt(Omega_rr) of each row, and Omega_rr."""
    filters = (1.0 - lam) / values.shape[1] * fit(values)
    omega = (1.0 - (filters * values).sum(axis=1)) / lam
    return filters / (omega**0.5)[:, None], omega
