"""From expression values to a few levels: low, high; or low, middle, high; or four of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import ConfigError
from pairtile.methods.predictor_pairs.kmeans import kmeans_borders
from pairtile.methods.predictor_pairs.read_levels import MISSING_LEVEL
from pairtile.preprocess.statistics import row_blocks


def quantize(values: NDArray[np.float64], settings: Mapping[str, Any]) -> NDArray[np.int8]:
    """Turn the values of each gene into levels, over its observed samples.

    Every rule finds ``levels`` - 1 borders for a gene; a value's level is the number of borders
    below it, so a value on a border belongs to the lower level. z is the value's z-score, with the
    standard deviation of n - 1.

    | rule | levels | borders |
    |---|---|---|
    | mean_split | 2 | z = 0, the mean |
    | mean_split | 3 | (mean of all z < 0) / 3 and (mean of all z >= 0) / 3 |
    | extreme_split | 3 | (least z) / 3 and (greatest z) / 3 |
    | quantile | 2 to 4 | for k = 1, 2, ...: the least observed value with at least k / levels of \
the observed values at or below it; equal values share a level, so levels may be of unlike size, \
or empty |
    | kmeans | 2 to 4 | between the clusters of the optimal partition (``kmeans_borders``) |
    | thresholds | 2 to 4 | ``thresholds``, in units of the values, the same for all genes |

    Parameters
    ----------
    values : float64, shape (genes, samples), NaN where missing
    settings : the configuration's section ``quantize``
        ``levels`` (2 to 4), ``rule`` (default mean_split), ``thresholds`` (with that rule only:
        levels - 1 increasing numbers).

    Returns
    -------
    int8, shape (genes, samples)
        0 to levels - 1, -1 where missing. A gene that is constant over its observed samples has
        level 0 there, under ``thresholds`` too.

    Raises
    ------
    ConfigError
        For a rule that does not exist or does not make so many levels, and for thresholds that are
        no increasing numbers, or not levels - 1 of them.

    Notes
    -----
    Sources: mean_split and extreme_split, the normal transform of DimReduction (Lopes, Martins-Jr
    & Cesar 2008, BMC Bioinformatics 9:451).
    """
    levels, rule, thresholds = _checked(settings)
    values = np.asarray(values, dtype=np.float64)
    result = np.empty(values.shape, dtype=np.int8)
    for rows in row_blocks(values.shape):
        result[rows] = _block_levels(values[rows], levels, rule, thresholds)
    return result


def _block_levels(
    values: NDArray[np.float64], levels: int, rule: str, thresholds: NDArray[np.float64]
) -> NDArray[np.int8]:
    observed = ~np.isnan(values)
    low = np.where(observed, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(observed, values, -np.inf).max(axis=1, initial=-np.inf)
    if rule in _RULES_ON_Z:
        compared = _zscores(values, observed, np.maximum(np.abs(low), np.abs(high)))
        borders = _RULES_ON_Z[rule](compared, levels)
    else:
        compared = values
        if rule == "quantile":
            borders = _quantiles(values, levels)
        elif rule == "kmeans":
            borders = kmeans_borders(values, levels)
        else:
            borders = np.broadcast_to(thresholds, (len(values), levels - 1))
    result = np.zeros(values.shape, dtype=np.int8)
    for k in range(levels - 1):
        # A NaN is above nothing.
        result += compared > borders[:, k, None]
    result[low >= high] = 0
    result[~observed] = MISSING_LEVEL
    return result


def _zscores(
    values: NDArray[np.float64], observed: NDArray[np.bool_], greatest: NDArray[np.float64]
) -> NDArray[np.float64]:
    """z-scores of each row's observed values (ddof 1); NaN for a row without spread.

    ``greatest``: the greatest absolute value of each row.
    """
    n = observed.sum(axis=1)
    # Powers of two change no digit of z, and keep squares from over- and underflow.
    exponents = np.frexp(np.where(n > 0, greatest, 1.0))[1]
    values = np.ldexp(values, -exponents[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(observed, values, 0.0).sum(axis=1) / n
        centred = values - mean[:, None]
        squares = np.where(observed, centred, 0.0) ** 2
        z: NDArray[np.float64] = centred / np.sqrt(squares.sum(axis=1) / (n - 1))[:, None]
    z[~np.isfinite(z)] = np.nan
    return z


def _mean_split(z: NDArray[np.float64], levels: int) -> NDArray[np.float64]:
    if levels == 2:
        return np.zeros((len(z), 1))
    sides = (z < 0, z >= 0)
    with np.errstate(invalid="ignore"):
        means = [np.where(side, z, 0.0).sum(axis=1) / side.sum(axis=1) for side in sides]
    return np.stack(means, axis=1) / 3


def _extreme_split(z: NDArray[np.float64], levels: int) -> NDArray[np.float64]:
    seen = ~np.isnan(z)
    low = np.where(seen, z, np.inf).min(axis=1, initial=np.inf)
    high = np.where(seen, z, -np.inf).max(axis=1, initial=-np.inf)
    return np.stack([low, high], axis=1) / 3


_RULES_ON_Z: dict[str, Callable[[NDArray[np.float64], int], NDArray[np.float64]]] = {
    "mean_split": _mean_split,
    "extreme_split": _extreme_split,
}
_LEVELS_OF_RULE = {
    "mean_split": (2, 3),
    "extreme_split": (3,),
    "quantile": (2, 3, 4),
    "kmeans": (2, 3, 4),
    "thresholds": (2, 3, 4),
}


def _quantiles(values: NDArray[np.float64], levels: int) -> NDArray[np.float64]:
    ordered = np.sort(values, axis=1)  # NaN last
    n = (~np.isnan(values)).sum(axis=1)
    # In whole numbers, so that no rounding decides: ceil(n k / levels), counted from 1.
    ranks = [-(-n * k // levels) for k in range(1, levels)]
    at = np.maximum(np.stack(ranks, axis=1) - 1, 0)
    return np.take_along_axis(ordered, at, axis=1)


def _checked(settings: Mapping[str, Any]) -> tuple[int, str, NDArray[np.float64]]:
    rule = settings.get("rule", "mean_split")
    levels = settings["levels"]
    given = settings.get("thresholds")
    if rule not in _LEVELS_OF_RULE:
        raise _refused("rule", rule, ", ".join(_LEVELS_OF_RULE))
    if levels not in _LEVELS_OF_RULE[rule] or isinstance(levels, bool):
        able = " or ".join(str(n) for n in _LEVELS_OF_RULE[rule])
        raise _refused("levels", levels, f"{able} for rule: {rule}")
    if rule != "thresholds":
        if given is not None:
            raise _refused("thresholds", given, f"none for rule: {rule}")
        return int(levels), rule, np.empty(0)
    thresholds = np.asarray([] if given is None else given, dtype=np.float64)
    if (
        thresholds.shape != (levels - 1,)
        or not np.isfinite(thresholds).all()
        or (np.diff(thresholds) <= 0).any()
    ):
        raise _refused("thresholds", given, f"{levels - 1} increasing number(s)")
    return int(levels), rule, thresholds


def _refused(key: str, found: object, expected: str) -> ConfigError:
    return ConfigError.at("quantize", key, repr(found), expected)
