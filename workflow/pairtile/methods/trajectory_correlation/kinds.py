"""The kinds of estimate: all that pairtile knows of each but how it is computed.

To add one, add a ``Kind`` to ``KINDS``, its name to ``kind`` of the configuration and of the
library, and the class that ``estimator`` names. Snakemake reads this module at every start: it
imports no numerics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

POSITIONS_OR_DISTANCES = ("positions", "coordinates", "displacements", "distances")

SORTED_FROM = {"cpu": 2000, "cuda": 1000}
"""Frames from which on sorted scalars are quicker than all distances (docs/speed.md)."""


@dataclass(frozen=True)
class Kind:
    """A kind of estimate.

    Parameters
    ----------
    name
        What ``estimator.kind`` calls it.
    description
        What the reference says of it, behind its name. "": no configuration can ask for it.
    estimator
        The ``PairBlocks`` that computes it, as ``MODULE:NAME`` in this package.
    value
        What columns call the value that it gives of a pair: mutual information, from which the
        generalized correlation follows, or the DCC, which is the correlation itself.
    correlation
        What the page calls the correlation.
    signed
        Whether correlations have a sign. They are not centred on their surrogates, which have
        either.
    nearly_normal
        The function that makes values nearly normal among unrelated motions, of NumPy, the values
        and their known bias (``MotionScores.normal``). None: they are as they are.
    known_bias
        Whether ``corrected`` takes a known bias away (``finite_sample_bias``).
    searches_neighbours
        Whether it measures distances of frames: it has a Theiler window, can take no repeated
        frames, and is slow.
    splines
        Whether it keeps weights of splines.
    cyclic
        Whether its variables are angles, and close at 360 degrees.
    allows_missing
        Whether values may be missing (NaN): joint tables count the frames that both have.
    bins
        What ``bins: auto`` is.
    variables
        Those of a molecule that it takes; the first is what ``variables: auto`` is.
    warnings
        Code of the message on what it does not see, by ``variables``.
    least_frames
        Frames that it needs at the least, of ``dimensions`` of a variable and ``neighbours``.
    seconds
        Of one estimate on one core or the GPU, without surrogates, of ``dimensions``, ``frames``,
        ``bins`` and ``backend``. Measured: docs/speed.md. Else those of a product of matrices.
    largest_tile
        Variables along the side of a tile at most; ``score.LARGEST_TILE`` holds for all kinds.
    tile_bytes
        Of the series along the side of a tile: enough work for a GPU, few enough to keep.
    contact_rows
        Row variables of a tile of pairs in contact, on average: many, so that starting it takes no
        time to speak of; few for splines, which score all cells of its block, wanted or not.
    contact_factor
        Times longer that an estimate takes where only pairs in contact are scored: variables are
        made ready for few pairs each, and a matrix product of a whole block would be mostly in
        vain.
    """

    name: str
    description: str
    estimator: str
    value: Literal["mi", "dcc"] = "mi"
    correlation: str = "generalized correlation"
    signed: bool = False
    nearly_normal: Callable[..., Any] | None = None
    known_bias: bool = False
    searches_neighbours: bool = False
    splines: bool = False
    cyclic: bool = False
    allows_missing: bool = False
    bins: int = 10
    variables: tuple[str, ...] = POSITIONS_OR_DISTANCES
    warnings: Mapping[str, str] = field(default_factory=dict)
    least_frames: Callable[[int, int], int] = lambda dimensions, neighbours: 3
    seconds: Callable[[int, int, int, str], float] = lambda d, frames, bins, backend: (
        2.0 * d * d * frames / {"cpu": 2e10, "cuda": 2e13}[backend]
    )
    largest_tile: int = 1024
    tile_bytes: int = 1 << 25
    contact_rows: int = 16
    contact_factor: float = 10.0


_BSPLINE = Kind(
    "bspline",
    "B-spline mutual information, of scalars; of positions the sum over the nine pairs of "
    "coordinates; frames may be missing.",
    "estimators:SplinePairs",
    # 1e-12 is what rounding leaves of no mutual information.
    nearly_normal=lambda xp, values, bias: xp.log(xp.maximum(values, 1e-12)),
    splines=True,
    allows_missing=True,
    variables=("displacements", "coordinates", "positions", "distances"),
    warnings={
        "displacements": "displacements_without_direction",
        "positions": "coordinates_added_up",
    },
    seconds=lambda d, frames, bins, backend: (
        frames * float(bins) ** 2 * d * d / {"cpu": 5e9, "cuda": 4e13}[backend]
    ),
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "ksg",
            "nearest neighbours (Kraskov et al. 2004); any dependence; wants 50 effective frames "
            "or more.",
            "neighbour_pairs:KsgPairs",
            searches_neighbours=True,
            least_frames=lambda dimensions, neighbours: neighbours + 2,
            # Scalars are sorted; else every frame is held against every other, and each frame's
            # neighbours are looked through.
            seconds=lambda d, frames, bins, backend: (
                {"cpu": 9e-9, "cuda": 3.1e-11}[backend] * frames**1.5
                if d == 1 and frames >= SORTED_FROM[backend]
                else {"cpu": 3.9e-10, "cuda": 2.1e-12}[backend] * frames**2
                + {"cpu": 5e-8, "cuda": 0.0}[backend] * frames
            ),
            # A tile of 801 frames with 20 surrogates takes a core a minute or two; one of four
            # times the side would save a tenth of that, and show no progress meanwhile.
            largest_tile=64,
            contact_rows=64,
            contact_factor=2.5,
        ),
        Kind(
            "gaussian",
            "linear mutual information; fast, blind to curved dependence.",
            "estimators:GaussianPairs",
            nearly_normal=lambda xp, values, bias: xp.cbrt(xp.maximum(values + bias, 0.0)),
            known_bias=True,
            # A covariance of full rank.
            least_frames=lambda dimensions, neighbours: 2 * dimensions + 2,
            tile_bytes=1 << 28,
            contact_rows=256,
            contact_factor=6.0,
        ),
        # One of the two above, once the frames are known: what holds of either.
        Kind(
            "auto",
            "`gaussian` where the median variable has fewer than 50 effective frames in a "
            "trajectory, else `ksg`; `ksg` wherever a key of it is not at its default.",
            "",
            searches_neighbours=True,
            least_frames=lambda dimensions, neighbours: 2 * dimensions + 2,
        ),
        Kind(
            "dcc",
            "cosine (Pearson) correlation of displacements; blind to motions at right angles.",
            "estimators:DccPairs",
            value="dcc",
            correlation="dynamical cross-correlation",
            signed=True,
            warnings=dict.fromkeys((*POSITIONS_OR_DISTANCES, "columns"), "dcc_is_blind"),
            tile_bytes=1 << 28,
            contact_rows=256,
            contact_factor=6.0,
        ),
        _BSPLINE,
        replace(
            _BSPLINE,
            name="dihedral",
            description="the same of angles, with splines that close at 360 degrees.",
            cyclic=True,
            allows_missing=False,
            bins=12,
            variables=("dihedrals",),
            warnings={},
        ),
        # What `direction` asks for beside ksg.
        Kind("transfer_entropy", "", "neighbour_pairs:TransferPairs", searches_neighbours=True),
    )
}
