"""Signs of edges: mutual information has none, rank correlation has.

An edge's ``spearman`` is Spearman's rho over the samples in which both genes are observed. Its
``mode`` says what mutual information sees: a rank correlation explains what two normal variables of
that correlation would share; where that is less than half of an edge's mutual information (above
what unrelated genes reach), the relation is ``non-monotonic``, else ``activation`` or
``repression`` by the sign.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.statistics.ranks import spearman


def modes(
    rho: NDArray[np.float64], mi_bits: NDArray[np.floating], null_bits: NDArray[np.float64]
) -> NDArray[np.object_]:
    """``activation``, ``repression`` or ``non-monotonic``; None where rho is not known.

    null_bits : what unrelated genes of the pair's classes share on average.
    """
    r = 2.0 * np.sin(np.pi * np.clip(np.nan_to_num(rho), -1.0, 1.0) / 6.0)  # Pearson 1907
    explained = -0.5 * np.log2(np.maximum(1.0 - r * r, 1e-12))
    # At least half of the mutual information is explained by rank correlation.
    monotonic = explained >= 0.5 * (mi_bits - null_bits)
    code = np.where(monotonic, (rho < 0.0).astype(np.int8), 2)
    code[np.isnan(rho)] = 3
    names = np.array(["activation", "repression", "non-monotonic", None], dtype=object)
    return np.asarray(names[code])


def with_signs(
    edges: pd.DataFrame,
    sources: NDArray[np.float64],
    z: NDArray[np.float64],
    null_bits: NDArray[np.float64],
) -> pd.DataFrame:
    """The edges (``source`` and ``target``: rows of ``sources`` and of ``z``) with ``spearman`` and
    ``mode`` after their scores."""
    i, j = edges["source"].to_numpy(), edges["target"].to_numpy()
    rho = spearman(sources, i, z, j)
    place = next(k for k, name in enumerate(edges) if name in ("support", "p_method"))
    signed = edges.copy(deep=False)
    signed.insert(place, "spearman", rho)
    signed.insert(place + 1, "mode", modes(rho, edges["mi_bits"].to_numpy(), null_bits))
    return signed
