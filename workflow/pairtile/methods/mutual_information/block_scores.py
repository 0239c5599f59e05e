"""``clr`` and ``target_z`` of a whole tile at once, on the CPU or the GPU.

The same formulae as ``clr_scores``, for a rectangle of pairs instead of a list; a chunk
needs them only to tell which pairs can be among the best.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pairtile.methods.mutual_information.clr_scores import GeneMoments


def better_direction(
    score: str,
    xp: Any,
    mi: Any,
    rows: NDArray[Any],
    columns: NDArray[Any],
    moments: GeneMoments,
    is_regulator: NDArray[Any] | None,
) -> Any:
    """The larger of a pair's two directed scores: float64, shape (rows, columns).

    Parameters
    ----------
    score
        ``clr`` or ``target_z``.
    xp
        ``numpy`` or ``cupy``, where ``mi`` lives; the other arrays are on the host.
    mi : real, shape (rows, columns)
        Mutual information in bits.
    rows, columns : integers
        Gene numbers; with ``is_regulator``, rows are regulators, and a column gene that is none
        has no direction of its own.
    """
    bits = mi.astype(xp.float64)

    def z(role: str, genes: NDArray[Any], axis: int) -> Any:
        mean, sd = moments.mean_sd(role)
        at = xp.asarray(mean[genes]), xp.asarray(sd[genes])
        mean_here, sd_here = (a[:, None] if axis == 0 else a[None, :] for a in at)
        return (bits - mean_here) / xp.where(sd_here > 0, sd_here, xp.inf)

    def joint(source_z: Any, target_z: Any) -> Any:
        return xp.hypot(xp.maximum(0.0, source_z), xp.maximum(0.0, target_z))

    if score == "target_z":
        forward, backward = z("target", columns, 1), z("target", rows, 0)
    elif score == "clr":
        forward = joint(z("source", rows, 0), z("target", columns, 1))
        backward = joint(z("source", columns, 1), z("target", rows, 0))
    else:
        raise ValueError(f"score: found {score!r}; expected 'clr' or 'target_z'")
    if is_regulator is not None:
        backward = xp.where(xp.asarray(is_regulator[columns])[None, :], backward, -xp.inf)
    return xp.maximum(forward, backward)
