"""``clr`` and ``target_z`` of a whole matrix of mutual information."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.mutual_information.clr_scores import RoleMoments

ArrayOrFrame = TypeVar("ArrayOrFrame", NDArray[np.float64], pd.DataFrame)


def clr(mi: ArrayOrFrame) -> ArrayOrFrame:
    """Context likelihood of relatedness: how far a pair's MI stands out for both its genes.

    clr[s, t] = sqrt(max(0, z_s)^2 + max(0, z_t)^2), where z_s is the z-score of mi[s, t] in its
    row (all targets of the source s), z_t in its column (all candidate sources of the target t);
    population standard deviation, 0 where there is no spread. Symmetric for a symmetric matrix.

    Parameters
    ----------
    mi : float array or DataFrame [shape: (genes, genes) or (regulators, genes)]
        As ``mutual_information`` returns it. NaN cells have no score and count nowhere; so do a
        square matrix' diagonal and cells of a DataFrame with the same name on both sides.

    Returns
    -------
    float64, the same kind and shape
        NaN where there is no score.

    Raises
    ------
    ValueError
        Not a two-dimensional table of numbers, or infinite values.

    Notes
    -----
    Source: Faith et al. 2007, PLoS Biology 5:e8. For lists of pairs, which need no room for a
    matrix, there is ``pairtile.methods.mutual_information.clr_scores``.

    Examples
    --------
    >>> mi = np.array([[np.nan, 3.0, 1.0], [3.0, np.nan, 2.0], [1.0, 2.0, np.nan]])
    >>> clr(mi).round(3)
    array([[  nan, 1.414, 0.   ],
           [1.414,   nan, 1.   ],
           [0.   , 1.   ,   nan]])
    """
    values = _scored(mi)
    by_source, by_target = _z(values, axis=1), _z(values, axis=0)
    # maximum and hypot keep NaN.
    return _as_given(mi, np.hypot(np.maximum(0.0, by_source), np.maximum(0.0, by_target)))


def target_z(mi: ArrayOrFrame) -> ArrayOrFrame:
    """z-score of mi[source, target] among all candidate sources of that target: its column.

    Directed: cell [s, t] is the score of s -> t, and [t, s] that of t -> s. Population standard
    deviation, the target itself left out; 0 where a column has no spread. Of the scores here, the
    one that ranks true edges best (docs of the project have the table).

    Parameters, returned values and errors are those of :func:`clr`.

    Examples
    --------
    >>> mi = np.array([[np.nan, 3.0, 1.0], [3.0, np.nan, 2.0], [1.0, 2.0, np.nan]])
    >>> target_z(mi)
    array([[nan,  1., -1.],
           [ 1., nan,  1.],
           [-1., -1., nan]])
    """
    return _as_given(mi, _z(_scored(mi), axis=0))


def _scored(mi: NDArray[np.float64] | pd.DataFrame) -> NDArray[np.float64]:
    """A copy with NaN where a gene meets itself."""
    try:
        values = np.array(mi, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"mi: found no table of numbers ({error}); expected numbers") from error
    if values.ndim != 2:
        raise ValueError(f"mi: found shape {values.shape}; expected (genes, genes)")
    if np.isinf(values).any():
        raise ValueError("mi: found infinite values; expected finite ones, or NaN for no score")
    if isinstance(mi, pd.DataFrame):
        column = mi.columns.get_indexer(mi.index)
        row = np.flatnonzero(column >= 0)
        values[row, column[row]] = np.nan
    elif values.shape[0] == values.shape[1]:
        np.fill_diagonal(values, np.nan)
    return values


def _z(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    moments = RoleMoments(
        count=(~np.isnan(values)).sum(axis=axis),
        sum=np.nansum(values, axis=axis),
        sum_squares=np.nansum(values**2, axis=axis),
    )
    mean, sd = (np.expand_dims(a, axis) for a in moments.mean_sd())
    return (values - mean) / np.where(sd > 0.0, sd, np.inf)


def _as_given(mi: ArrayOrFrame, values: NDArray[np.float64]) -> ArrayOrFrame:
    if isinstance(mi, pd.DataFrame):
        return pd.DataFrame(values, index=mi.index, columns=mi.columns, copy=False)
    return values
