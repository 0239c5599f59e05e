"""Frames laid over one another, and the atoms to do it by: those that move least."""

from __future__ import annotations

import numpy as np
import scipy

from pairtile.arrays import BoolArray, Float64Array, Int64Array, IntegerArray
from pairtile.statistics.dependence import evenly_spaced

AVERAGE_PASSES = 2
"""Rounds in which an average structure is found."""


def rotations(mobile: Float64Array, reference: Float64Array) -> Float64Array:
    """The rotations that bring each frame nearest to the reference (Kabsch 1976, 1978).

    Parameters
    ----------
    mobile
        Positions, shape (frames, atoms, 3), each frame's centroid at the origin.
    reference
        Positions, shape (atoms, 3), centroid at the origin.

    Returns
    -------
    Shape (frames, 3, 3): ``mobile[f] @ result[f]`` is nearest to ``reference``. Proper rotations
    all, determinant +1: a molecule is never turned into its mirror image.
    """
    covariance = np.swapaxes(mobile, 1, 2) @ reference
    left, _, right = np.linalg.svd(covariance)
    mirrored = np.linalg.det(left) * np.linalg.det(right) < 0
    left[mirrored, :, 2] *= -1.0
    return left @ right


def superpose(positions: Float64Array, fit: IntegerArray, reference: Float64Array) -> Float64Array:
    """Frames moved and turned so that the atoms ``fit`` lie nearest to the reference.

    ``positions``: (frames, atoms, 3). ``fit``: numbers of the atoms to lay over one another.
    ``reference``: (fitted atoms, 3), centroid at the origin. Returns (frames, atoms, 3), in which
    the fitted atoms' centroid is the origin.
    """
    mobile = positions[:, fit]
    centroids = mobile.mean(axis=1, keepdims=True)
    return (positions - centroids) @ rotations(mobile - centroids, reference)


def centred(positions: Float64Array) -> Float64Array:
    """Positions (..., atoms, 3) with their centroid at the origin."""
    return positions - positions.mean(axis=-2, keepdims=True)


def spans_a_plane(reference: Float64Array) -> bool:
    """Whether centred positions (atoms, 3) fix a rotation: they do unless they lie on a line."""
    return int(np.linalg.matrix_rank(reference, rtol=1e-6)) > 1


# --- the least moving atoms -----------------------------------------------------------------------


MAX_SEED_ATOMS = 500
"""Atoms, evenly spaced, whose distances are looked at to find where the core begins."""

MIN_CORE_ATOMS, MIN_CORE_SHARE = 20, 0.2
"""A smaller core does not say where the whole is."""


def least_moving(frames: Float64Array) -> BoolArray:
    """The atoms that form a core which is rigid beside the rest; all where there is none.

    The core begins with the atom whose distances to the nearest part of the others vary least, and
    that part. Then frames are superposed by the core, and it becomes all atoms that move little
    about their means, until nothing changes. Superposition by all atoms, which would spread the
    motion of one part over all, is never used.

    Parameters
    ----------
    frames
        Positions in some frames, (frames, atoms, 3).

    Returns
    -------
    bool (atoms,)
    """
    n = frames.shape[1]
    whole = np.ones(n, dtype=bool)
    if n < MIN_CORE_ATOMS or len(frames) < 3:
        return whole
    some = evenly_spaced(n, MAX_SEED_ATOMS)
    total = np.zeros(some.size * (some.size - 1) // 2)
    squares = total.copy()
    for frame in frames:
        distance = scipy.spatial.distance.pdist(frame[some])
        total += distance
        squares += distance**2
    variance = squares / len(frames) - (total / len(frames)) ** 2
    spread = scipy.spatial.distance.squareform(np.sqrt(np.maximum(variance, 0.0)))
    # The core begins with three tenths of them.
    size = round(0.3 * some.size)
    middle = np.sort(spread, axis=1)[:, :size].mean(axis=1).argmin()
    core = np.sort(some[np.argsort(spread[middle], kind="stable")[:size]])
    for _ in range(50):
        moved = np.sqrt((moves(frames, core) ** 2).sum(axis=2).mean(axis=0))
        # An atom is of the core if it moves by at most so many times the median of the
        # core.
        found = np.flatnonzero(moved <= 1.5 * np.median(moved[core]))
        if np.array_equal(found, core):
            break
        core = found
    if core.size < max(MIN_CORE_ATOMS, MIN_CORE_SHARE * n) or not spans_a_plane(
        centred(frames[0, core])
    ):
        return whole
    return np.isin(np.arange(n), core)


def changed_pairs(frames: Float64Array, first: BoolArray, second: BoolArray) -> float:
    """Share of the pairs whose DCC changes by more than 0.1 between two superpositions.

    ``frames``: (frames, atoms, 3). ``first``, ``second``: the atoms to superpose by.
    """
    some = evenly_spaced(frames.shape[1], MAX_SEED_ATOMS)
    found = []
    for fit in (first, second):
        places = moves(frames, np.flatnonzero(fit))[:, some]
        # Of the largest coordinate: a displacement of less is none.
        places[np.abs(places) < 1e-9 * np.abs(frames).max()] = 0.0
        products = np.einsum("fix,fjx->ij", places, places, optimize=True)
        sizes = np.sqrt(np.outer(products.diagonal(), products.diagonal()))
        found.append(np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0.0))
    changes = np.abs(found[0] - found[1])[np.triu_indices(some.size, 1)]
    return float((changes > 0.1).mean())


def moves(frames: Float64Array, fit: Int64Array) -> Float64Array:
    """Displacements of all atoms from their means, superposed on the average of the atoms
    ``fit``: (frames, atoms, 3)."""
    reference = centred(frames[0, fit])
    for _ in range(AVERAGE_PASSES):
        reference = centred(superpose(frames, fit, reference)[:, fit].mean(axis=0))
    turned = superpose(frames, fit, reference)
    return turned - turned.mean(axis=0)
