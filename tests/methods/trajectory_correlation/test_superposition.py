"""Kabsch: the nearest proper rotation, on random, mirrored, flat and golden frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pairtile.methods.trajectory_correlation.superposition import (
    centred,
    changed_pairs,
    least_moving,
    rotations,
    spans_a_plane,
    superpose,
)
from scipy.spatial.transform import Rotation

RNG = np.random.default_rng(7)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(((a - b) ** 2).sum(axis=-1).mean()))


def test_a_turned_and_moved_molecule_comes_back() -> None:
    molecule = centred(RNG.normal(size=(40, 3)) * 10)
    turns = Rotation.random(25, rng=RNG).as_matrix()
    frames = molecule @ turns + RNG.normal(size=(25, 1, 3)) * 50
    back = superpose(frames, np.arange(40), molecule)
    assert np.abs(back - molecule).max() < 1e-12


def test_the_rotation_is_that_of_scipy_on_noisy_frames() -> None:
    reference = centred(RNG.normal(size=(12, 3)))
    frames = centred(RNG.normal(size=(30, 12, 3)))  # nothing in common: the hardest case
    for frame, found in zip(frames, rotations(frames, reference), strict=True):
        expected, _ = Rotation.align_vectors(reference, frame)
        assert np.abs(frame @ found - expected.apply(frame)).max() < 1e-9


@pytest.mark.parametrize("flat", [False, True])
def test_a_mirror_image_is_never_made(flat: bool) -> None:
    molecule = RNG.normal(size=(15, 3)) * ([1, 1, 0] if flat else 1)
    reference = centred(molecule)
    mirrored = reference * [1, 1, -1] + RNG.normal(size=(5, 15, 3)) * 1e-3
    found = rotations(centred(mirrored), reference)
    assert np.allclose(np.linalg.det(found), 1.0, atol=1e-12)
    assert np.allclose(found @ np.swapaxes(found, 1, 2), np.eye(3), atol=1e-12)
    nearest = distance(superpose(mirrored, np.arange(15), reference)[0], reference)
    assert (nearest < 0.01) == flat  # a flat molecule is its own mirror image


def test_only_the_fitted_atoms_decide() -> None:
    molecule = centred(RNG.normal(size=(20, 3)))
    frame = molecule @ Rotation.random(rng=RNG).as_matrix() + 4.0
    frame[10:] += RNG.normal(size=(10, 3)) * 9
    fit = np.arange(10)
    found = superpose(frame[None], fit, centred(molecule[fit]))[0]
    assert np.abs(found[fit] - centred(molecule[fit])).max() < 1e-12


def test_atoms_on_a_line_leave_the_rotation_open() -> None:
    line = centred(np.outer(np.arange(6.0), [1, 2, 3]))
    assert not spans_a_plane(line)
    assert not spans_a_plane(centred(RNG.normal(size=(2, 3))))
    assert spans_a_plane(centred(RNG.normal(size=(3, 3))))


@pytest.mark.parametrize("name", ["adk_dims98", "gpcr250"])
def test_superposing_golden_frames_again_changes_nothing(name: str, shared: Path) -> None:
    aligned = np.load(shared / "golden" / "trajectory" / f"{name}.npz")["aligned"]
    again = superpose(aligned, np.arange(aligned.shape[1]), aligned[0])
    assert np.abs(again - aligned).max() < 1e-10
    turned = aligned @ Rotation.random(len(aligned), rng=RNG).as_matrix()
    turned[0] = aligned[0]
    back = superpose(turned + 11.0, np.arange(aligned.shape[1]), aligned[0])
    assert np.abs(back - aligned).max() < 1e-10


# --- the least moving atoms -----------------------------------------------------------------------


def hinge(swing: float, share: float = 0.4, n: int = 60, frames: int = 80) -> np.ndarray:
    """Two rigid parts, (frames, n, 3): the second, of ``share``, turns about its first atom by
    ``swing`` radians in the mean; the whole tumbles."""
    still = np.cumsum(RNG.normal(size=(n, 3)), axis=0) * 2.5
    places = still + RNG.normal(scale=0.3, size=(frames, n, 3))
    first = round((1 - share) * n)
    turns = Rotation.from_rotvec(RNG.normal(scale=max(swing, 1e-9), size=(frames, 3)))
    arm = still[first:] - still[first]
    places[:, first:] += np.stack([turn.apply(arm) - arm for turn in turns])
    tumbling = Rotation.random(frames, rng=RNG).as_matrix()
    return places @ tumbling + RNG.normal(size=(frames, 1, 3)) * 30


@pytest.mark.parametrize("share", [0.2, 0.4, 0.7])
def test_the_part_that_moves_least_is_found_whatever_its_size(share: float) -> None:
    frames = hinge(0.5, share)
    core = least_moving(frames)
    larger = np.arange(60) < round((1 - share) * 60)
    larger = larger if share < 0.5 else ~larger
    assert (core & larger).sum() >= 0.9 * larger.sum()
    assert (core & ~larger).sum() <= 4  # next to the hinge
    assert changed_pairs(frames, np.ones(60, bool), core) > 0.3


@pytest.mark.parametrize("frames", [hinge(0.0), hinge(0.5)[:2], hinge(0.5)[:, 30:45]])
def test_all_atoms_are_taken_where_none_are_still_beside_others(frames: np.ndarray) -> None:
    core = least_moving(frames)
    assert core.mean() > 0.9
    assert changed_pairs(frames, np.ones(len(core), bool), core) < 0.1


def test_atoms_that_never_move_are_no_fault() -> None:
    frames = np.repeat(hinge(0.0)[:1], 20, axis=0)
    assert changed_pairs(frames, np.ones(60, bool), least_moving(frames)) == 0.0
