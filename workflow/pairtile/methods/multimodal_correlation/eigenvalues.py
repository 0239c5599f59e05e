"""All eigenvalues of a thresholded correlation matrix, part by part, and their spacings.

A network that falls into parts (connected components) has a matrix of blocks, whose eigenvalues
together are those of the whole: exact, and the cost goes with the cube of the largest part alone.
Double precision throughout: neighbouring eigenvalues of thousands of genes lie closer together
than single precision can separate. LAPACK and cuSOLVER solve the blocks; no library finds the
parts.

Luo et al. 2007, BMC Bioinformatics 8:299: eigenvalues of a network of separate modules lie
independently, with spacings s of density exp(-s) (Poisson); those of a network that noise ties
together repel each other, with density (pi s / 2) exp(-pi s^2 / 4) (Wigner).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from pairtile.errors import DeviceError
from pairtile.gpu.device import Device, threads

_MIN_FREE = 1 << 26  # parts that take less are not worth asking for the free memory


class PartTooLargeError(Exception):
    """The matrix of a part does not fit in memory. ``genes``, ``needed``, ``free`` (bytes)."""

    def __init__(self, genes: int, needed: int, free: int, where: str) -> None:
        super().__init__(
            f"{genes:,} genes are connected, whose eigenvalues take {needed / 1e9:,.0f} GB of "
            f"memory ({where}); {free / 1e9:,.0f} GB are free"
        )
        self.genes, self.needed, self.free = genes, needed, free


class NetworkEigenvalues:
    """Eigenvalues of networks that grow: parts that did not change are not computed again.

    Parameters
    ----------
    n_genes : int
        Genes are numbered 0 .. n_genes - 1.
    device : Device
        On CUDA, parts of 500 genes and more are solved there.
    """

    def __init__(self, n_genes: int, device: Device) -> None:
        self._n_genes = n_genes
        self._device = device
        self._blas = ThreadpoolController()
        self._known: dict[int, tuple[int, int, NDArray[np.float64]]] = {}

    def of_matrix(
        self,
        genes: NDArray[np.int64],
        i: NDArray[np.int64],
        j: NDArray[np.int64],
        r: NDArray[np.floating],
    ) -> NDArray[np.float64]:
        """Eigenvalues of the matrix with ``r`` at (i, j) and (j, i), 1 on the diagonal, else 0.

        Parameters
        ----------
        genes : int64 array, shape (m,)
            Rows of the matrix, rising.
        i, j, r : arrays, shape (edges,)
            Pairs of these genes, each once. From call to call pairs may be added, not taken away
            or changed.

        Returns
        -------
        float64 array, shape (m,), rising.

        Raises
        ------
        PartTooLargeError
            Where a matrix does not fit in memory.
        DeviceError
            Where the GPU's result is wrong (it is checked by trace and Frobenius norm).
        """
        place = np.full(self._n_genes, -1, dtype=np.int64)
        place[genes] = np.arange(genes.size)
        a, b = place[i], place[j]
        graph = scipy.sparse.coo_array(
            (np.ones(a.size, np.int8), (a, b)), shape=(genes.size, genes.size)
        )
        n_parts, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
        sizes = np.bincount(part, minlength=n_parts)
        edges = np.bincount(part[a], minlength=n_parts)
        _, first = np.unique(part, return_index=True)
        names = genes[first]  # a part is known by its first gene: parts only grow

        lone = np.abs(r[sizes[part[a]] == 2].astype(np.float64))
        found = [np.ones(int((sizes == 1).sum())), 1 - lone, 1 + lone]
        new = []
        for k in np.flatnonzero(sizes > 2).tolist():
            known = self._known.get(int(names[k]))
            if known is not None and known[:2] == (sizes[k], edges[k]):
                found.append(known[2])
            else:
                new.append(k)
        for k, values in self._solve(np.array(new, np.int64), part, sizes, a, b, r):
            self._known[int(names[k])] = (int(sizes[k]), int(edges[k]), values)
            found.append(values)
        return np.sort(np.concatenate(found))

    def _solve(
        self,
        parts: NDArray[np.int64],
        part: NDArray[np.int32],
        sizes: NDArray[np.int64],
        a: NDArray[np.int64],
        b: NDArray[np.int64],
        r: NDArray[np.floating],
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Number and eigenvalues of each of ``parts``; those of equal size are solved together."""
        by_part = np.argsort(part, kind="stable")
        begin = np.concatenate([[0], np.cumsum(sizes)])
        within = np.empty(part.size, dtype=np.int64)
        within[by_part] = np.arange(part.size) - np.repeat(begin[:-1], sizes)
        edge_order = np.argsort(part[a], kind="stable")
        edge_begin = np.searchsorted(part[a], np.arange(sizes.size + 1), sorter=edge_order)
        for size in np.unique(sizes[parts]).tolist():
            alike = parts[sizes[parts] == size]
            # In smaller parts, threads wait for each other more than they work.
            cores = threads() if size >= 1500 else 1
            # Smaller parts of equal size are solved together.
            batch = (1 << 28) // (8 * size * size) if size < 200 else 1
            for at in range(0, alike.size, batch):
                these = alike[at : at + batch]
                rows = [edge_order[edge_begin[k] : edge_begin[k + 1]] for k in these]
                slot = np.repeat(np.arange(these.size), [each.size for each in rows])
                edge = np.concatenate(rows)
                low = np.minimum(within[a[edge]], within[b[edge]])
                high = np.maximum(within[a[edge]], within[b[edge]])
                value = r[edge].astype(np.float64)
                if these.size == 1:
                    with self._blas.limit(limits=cores, user_api="blas"):
                        solved = _one_part(size, low, high, value, self._device)
                    yield int(these[0]), solved
                    continue
                matrices = np.zeros((these.size, size, size))
                matrices[:, np.arange(size), np.arange(size)] = 1.0
                matrices[slot, high, low] = value  # the lower triangle is what is read
                with self._blas.limit(limits=1, user_api="blas"):
                    solved = np.linalg.eigvalsh(matrices, "L")
                yield from zip(these.tolist(), solved, strict=True)


def _one_part(
    size: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    value: NDArray[np.float64],
    device: Device,
) -> NDArray[np.float64]:
    """Eigenvalues of one matrix, on the device where it is large enough."""
    # Smaller parts are as quick on the CPU.
    on_gpu = device.backend == "cuda" and size >= 500
    # cuSOLVER in CuPy: the matrix, its copy, work space of four more; LAPACK works in place.
    needed = int(8 * size * size * (6.05 if on_gpu else 1.1))
    if needed > _MIN_FREE:
        free = device.free_bytes() if on_gpu else Device("cpu", "", "").free_bytes()
        if needed > free:
            raise PartTooLargeError(size, needed, free, "GPU" if on_gpu else "CPU")
    if on_gpu:
        return _gpu_eigenvalues(size, low, high, value)
    matrix = np.zeros((size, size), order="F")
    np.fill_diagonal(matrix, 1.0)
    matrix[high, low] = value
    return np.asarray(
        scipy.linalg.eigvalsh(
            matrix, lower=True, overwrite_a=True, check_finite=False, driver="ev"
        ),
        dtype=np.float64,
    )


def _gpu_eigenvalues(
    size: int, low: NDArray[np.int64], high: NDArray[np.int64], value: NDArray[np.float64]
) -> NDArray[np.float64]:
    """By cuSOLVER's 64-bit ``cusolverDnXsyevd``, which is what CuPy calls for one matrix."""
    import cupy

    # A pool's blocks are of the sizes of earlier, smaller matrices.
    cupy.get_default_memory_pool().free_all_blocks()
    matrix = cupy.zeros((size, size), dtype=np.float64, order="F")
    flat = matrix.ravel(order="F")  # a view; column by column
    flat[:: size + 1] = 1.0
    flat[cupy.asarray(low * size + high)] = cupy.asarray(value)
    result: NDArray[np.float64] = cupy.asnumpy(cupy.linalg.eigvalsh(matrix, UPLO="L"))
    squares = size + 2 * float(value @ value)
    right = np.isclose(result.sum(), size, rtol=1e-8) and np.isclose(
        result @ result, squares, rtol=1e-8
    )
    if not right:  # NaN is not close to anything
        raise DeviceError(
            f"the GPU's eigenvalues of a matrix of {size:,} genes are wrong: they sum to "
            f"{result.sum():.6g}, expected {size}; their squares to {result @ result:.6g}, "
            f"expected {squares:.6g}. Take backend: cpu"
        )
    return result


# --- spacings ---

BINS = 60
MAX_SPACING = 3.0
"""Spacings are counted in ``BINS`` bins from 0 to ``MAX_SPACING`` mean spacings."""


def distinct(eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Eigenvalues that lie more than 1e-6 above the one before; ``eigenvalues`` rising."""
    return eigenvalues[np.diff(eigenvalues, prepend=-np.inf) > 1e-6]


def unfolded_spacings(eigenvalues: NDArray[np.float64], pace: int) -> NDArray[np.float64]:
    """Spacings of eigenvalues on a scale on which they have the mean spacing 1.

    The scale is the share of eigenvalues below, smoothed: an Akima spline (Akima 1970) through
    every ``pace``-th eigenvalue and the last.

    Parameters
    ----------
    eigenvalues : float64 array, shape (n,)
        Distinct, rising; n at least 5 times ``pace``.
    pace : int
        The knots are (eigenvalue[k pace], (k pace + 1) / n), the last of them (largest, 1).

    Returns
    -------
    float64 array, shape (n - 1,). Overshoots of the spline can make some negative.
    """
    n = eigenvalues.size
    at = np.arange(n // pace) * pace
    knots, share = eigenvalues[at], (at + 1) / n
    knots[-1], share[-1] = eigenvalues[-1], 1.0
    unfolded = scipy.interpolate.Akima1DInterpolator(knots, share)(eigenvalues)
    unfolded[0], unfolded[-1] = 0.0, 1.0
    return np.asarray(np.diff(unfolded) * n)


def chi_square(eigenvalues: NDArray[np.float64]) -> float:
    """Chi-square of the spacings against exp(-s), mean over the paces 10 to 40.

    Paces that leave fewer than 5 knots are left out. ``eigenvalues``: distinct, rising, at least
    50. The expected count of bin k (width w) is n (exp(-k w) - exp(-(k + 1) w)).
    """
    edges = np.linspace(0.0, MAX_SPACING, BINS + 1)
    expected = eigenvalues.size * (np.exp(-edges[:-1]) - np.exp(-edges[1:]))
    tests = [((seen - expected) ** 2 / expected).sum() for seen in _counts(eigenvalues)]
    return float(np.mean(tests))


def spacing_density(eigenvalues: NDArray[np.float64]) -> pd.DataFrame:
    """The distribution of spacings, for a figure: a row for each of the 60 bins.

    Columns: ``spacing`` (middle of the bin, in mean spacings), ``density`` (mean over the paces),
    ``poisson`` and ``wigner`` (mean density of the two laws in the bin).
    """
    edges = np.linspace(0.0, MAX_SPACING, BINS + 1)
    width = MAX_SPACING / BINS
    counts = np.mean(list(_counts(eigenvalues)), axis=0)
    return pd.DataFrame(
        {
            "spacing": (edges[:-1] + edges[1:]) / 2,
            "density": counts / ((eigenvalues.size - 1) * width),
            "poisson": -np.diff(np.exp(-edges)) / width,
            "wigner": -np.diff(np.exp(-np.pi * edges**2 / 4)) / width,
        }
    )


def _counts(eigenvalues: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
    for pace in range(10, 41):
        if eigenvalues.size // pace < 5:  # knots
            return
        spacings = unfolded_spacings(eigenvalues, pace)
        inside = spacings[(spacings >= 0) & (spacings < MAX_SPACING)]
        places = np.minimum((inside / (MAX_SPACING / BINS)).astype(np.int64), BINS - 1)
        yield np.bincount(places, minlength=BINS)
