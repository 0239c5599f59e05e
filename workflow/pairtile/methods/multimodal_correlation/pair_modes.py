"""The samples of one pair of genes and the modes that they fall into, as a person looks at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.multimodal_correlation.mode_samples import packed_masks


@dataclass(frozen=True)
class PairModes:
    """Two genes over S samples and the M modes of theirs that were kept.

    names : of the two genes.
    x, y : float64 (S,), their values, NaN where missing.
    members : bool (M, S), the samples of each mode.
    outliers : bool (S,), samples taken away as outliers.
    correlation, n_samples : (M,), of each mode.
    cluster : int (M,), number of the mode among those of the pair, from 1.
    means, covariances : float64 (M, 2) and (M, 2, 2), of the components of the mixture, in units of
        the values; NaN where no mixture was fitted.
    """

    names: tuple[str, str]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    members: NDArray[np.bool_]
    outliers: NDArray[np.bool_]
    correlation: NDArray[np.float64]
    n_samples: NDArray[np.int64]
    cluster: NDArray[np.int64]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]

    @classmethod
    def of(
        cls, rows: pd.DataFrame, x: ArrayLike, y: ArrayLike, names: tuple[str, str]
    ) -> PairModes:
        """From the rows of ``pairs.parquet`` of one pair, with its packed masks.

        Raises ValueError without rows, or where masks do not fit the samples.
        """
        if rows.empty:
            raise ValueError(f"found no mode of {names[0]} and {names[1]}; expected one or more")
        first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        masks = {
            name: np.unpackbits(
                packed_masks(rows[name].tolist(), first.size), axis=1, count=first.size
            ).astype(bool)
            for name in ("samples", "outliers")
        }
        spread = rows[["variance_i", "covariance", "covariance", "variance_j"]]
        return cls(
            names,
            first,
            second,
            masks["samples"],
            np.asarray(masks["outliers"].any(axis=0)),
            rows["correlation"].to_numpy(dtype=np.float64),
            rows["n_samples"].to_numpy(dtype=np.int64),
            rows["cluster"].to_numpy(dtype=np.int64),
            rows[["mean_i", "mean_j"]].to_numpy(dtype=np.float64),
            spread.to_numpy(dtype=np.float64).reshape(-1, 2, 2),
        )

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Samples with a value of both genes, bool (S,)."""
        return np.isfinite(self.x) & np.isfinite(self.y)

    @property
    def others(self) -> NDArray[np.bool_]:
        """Observed samples that are in no mode shown and no outliers, bool (S,)."""
        return self.observed & ~self.members.any(axis=0) & ~self.outliers
