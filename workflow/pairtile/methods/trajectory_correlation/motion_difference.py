"""Differences between two analyses of motion: the same molecule in two states."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.errors import InputError

_PLACE = ("chain", "resid", "icode", "atom")
VALUES = ("correlation", "mi_nats", "dcc")
"""What is compared."""


def matched_items(items: pd.DataFrame, other: pd.DataFrame, names: tuple[str, str]) -> pd.Series:
    """Which item of another analysis each item is: by name, else by place.

    Residues of the same chain and number are one place, whatever their names, so that a mutant
    can be held against the wild type.

    Parameters
    ----------
    items, other : DataFrame
        The items tables.
    names : tuple
        Names of the two analyses, for the message.

    Returns
    -------
    Series
        Item numbers of ``other`` by those of ``items``; only what both have and keep.

    Raises
    ------
    InputError
        If the two share fewer than two items.
    """
    mine, theirs = _kept(items), _kept(other)
    shared = _by(["name"], mine, theirs)
    if len(shared) < len(mine) and {*_PLACE} <= {*mine} & {*theirs}:
        own = mine[~mine.index.isin(shared.index)]
        rest = theirs[~theirs.index.isin(shared)]
        shared = pd.concat([shared, _by(list(_PLACE), own, rest)]).sort_index()
    if len(shared) < 2:
        raise InputError.at(
            f"compare: {names[1]}",
            "",
            f"{len(shared)} of the {len(mine)} variables of {names[0]}",
            "the same residues, atoms or angles in both, by name or by chain and number",
        )
    return shared


def difference(
    pairs: pd.DataFrame, other: pd.DataFrame, matched: pd.Series, n_items: int
) -> pd.DataFrame:
    """Values of pairs that two analyses share, and how they differ.

    Parameters
    ----------
    pairs, other : DataFrame
        Pairs tables: ``i``, ``j`` and some of ``correlation``, ``mi_nats``, ``dcc``.
    matched : Series
        From ``matched_items``.
    n_items : int
        Items of ``other``.

    Returns
    -------
    DataFrame
        ``i``, ``j`` (items of the first), and for each value that both have ``VALUE``,
        ``VALUE_other`` and ``VALUE_difference``, the first minus the other; in the order of
        ``pairs``.
    """
    mine = np.full(n_items, -1, dtype=np.int64)
    mine[matched.to_numpy()] = matched.index.to_numpy()
    i, j = mine[other["i"].to_numpy()], mine[other["j"].to_numpy()]
    known = (i >= 0) & (j >= 0)
    values = [v for v in VALUES if v in pairs and v in other]
    theirs = pd.DataFrame({"i": np.minimum(i, j), "j": np.maximum(i, j)})
    theirs[[f"{value}_other" for value in values]] = other[values].to_numpy()
    joined = pairs[["i", "j", *values]].merge(theirs[known], on=["i", "j"], how="inner")
    for value in values:
        joined[f"{value}_difference"] = joined[value] - joined[f"{value}_other"]
    ordered = ["i", "j", *(v + end for v in values for end in ("", "_other", "_difference"))]
    return joined[ordered]


def _kept(items: pd.DataFrame) -> pd.DataFrame:
    numbered = items.reset_index(drop=True)
    return numbered[numbered["kept"].to_numpy(dtype=bool)]


def _by(columns: list[str], mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.Series:
    """Rows of both that agree in ``columns``, where these tell one from another in each."""
    left = mine[columns].assign(mine=mine.index).drop_duplicates(columns, keep=False)
    right = theirs[columns].assign(theirs=theirs.index).drop_duplicates(columns, keep=False)
    both = left.merge(right, on=columns, how="inner")
    number: NDArray[np.int64] = both["theirs"].to_numpy(dtype=np.int64)
    return pd.Series(number, index=both["mine"].to_numpy(dtype=np.int64)).sort_index()
