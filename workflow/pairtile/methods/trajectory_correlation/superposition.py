"""Superpose frames on a reference, by the rotation of least squared distance (Kabsch)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rotations(mobile: Floats, reference: Floats) -> Floats:
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
    result: Floats = left @ right
    return result


def superpose(positions: Floats, fit: NDArray[np.integer], reference: Floats) -> Floats:
    """Frames moved and turned so that the atoms ``fit`` lie nearest to the reference.

    ``positions``: (frames, atoms, 3). ``fit``: numbers of the atoms to lay over one another.
    ``reference``: (fitted atoms, 3), centroid at the origin. Returns (frames, atoms, 3), in which
    the fitted atoms' centroid is the origin.
    """
    mobile = positions[:, fit]
    centroids = mobile.mean(axis=1, keepdims=True)
    return (positions - centroids) @ rotations(mobile - centroids, reference)


def centred(positions: Floats) -> Floats:
    """Positions (..., atoms, 3) with their centroid at the origin."""
    return positions - positions.mean(axis=-2, keepdims=True)


def spans_a_plane(reference: Floats) -> bool:
    """Whether centred positions (atoms, 3) fix a rotation: they do unless they lie on a line."""
    if len(reference) < 3:
        return False
    widths = np.linalg.svd(reference, compute_uv=False)
    return bool(widths[1] > 1e-6 * widths[0])
