"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray


class ContactArrays(TypedDict, total=False):
    """Two variables that touch in some frame (i < j, in order), and in what share of the frames: of
    all replicas, and of each (replicas, contacts); of network and tables alone. Under ``pairs:
    in_contact`` of all steps, and those in contact only."""

    contact_i: NDArray[np.int32]
    contact_j: NDArray[np.int32]
    contact_fraction: NDArray[np.float32]
    contact_fraction_replicas: NDArray[np.float32]


class MotionArrays(ContactArrays, total=False):
    """
    | array | shape | meaning |
    |---|---|---|
    | series | (variables, d, frames of all replicas) | Angstrom, or radians; float64 or float32 |
    | replica_offsets | (replicas + 1,) | first frame of each replica; the end |
    | mean_positions | (variables, 3) | where to draw each; NaN for tables |
    | frame_interval_ps | (replicas,) | picoseconds between frames; NaN for tables |
    | structure | (atoms,) of ``residues.STRUCTURE`` | all atoms of the residues, first frame |
    | correlation_time | (replicas, variables) | integrated, in frames |
    | kind | () | ``estimator.kind``, where it is ``auto`` as decided |
    | theiler | (replicas,) | window in frames; 0 but for ``kind: ksg`` |
    | lag | () | frames to the later target, as decided; 0 where no direction is asked for |
    | ensemble | () | whether frames are models without an order in time |
    | only_contacts | () | there where only the pairs in contact are scored |
    """

    series: NDArray[np.floating]
    replica_offsets: NDArray[np.int64]
    mean_positions: NDArray[np.float64]
    frame_interval_ps: NDArray[np.float64]
    structure: NDArray[np.void]
    correlation_time: NDArray[np.float64]
    kind: NDArray[np.str_]
    theiler: NDArray[np.int64]
    lag: NDArray[np.int64]
    ensemble: NDArray[np.bool_]
    only_contacts: NDArray[np.bool_]
