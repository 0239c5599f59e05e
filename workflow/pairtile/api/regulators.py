"""Who the regulators are, given as names, gene numbers or a mask."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_SHOWN = 5


def regulator_rows(
    regulators: Any, genes: pd.Index[Any], *, named: bool, name: str = "regulators"
) -> NDArray[np.int64]:
    """Gene numbers of the regulators, in the order given, each once.

    Parameters
    ----------
    regulators
        With ``named``, names as in ``genes``: those that are not there are left out with a
        warning, since lists of regulators name more genes than one experiment measures. Without,
        gene numbers. In both cases also a mask: bool, shape (genes,).
    genes
        Labels of all genes.
    name
        What messages call the regulators.

    Raises
    ------
    ValueError
        No regulator, none that is among the genes, a gene number out of range, a mask of the
        wrong length, or a single string.
    """
    if isinstance(regulators, str):
        raise ValueError(
            f"{name}: found the string {regulators!r}; expected a list of genes "
            "(read_regulators reads them from a file)"
        )
    given = pd.Index(list(regulators))
    if given.dtype == bool:
        if len(given) != len(genes):
            raise ValueError(
                f"{name}: found a mask of {len(given)}; expected one of {len(genes)} genes"
            )
        given = genes[np.asarray(given)]
    given = given.unique()
    if not len(given):
        raise ValueError(f"{name}: found none; expected at least one, or {name}=None")
    if not named and given.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: found {given[0]!r}; expected gene numbers, since the genes have no names"
        )
    rows = np.asarray(genes.get_indexer(given), dtype=np.int64)
    absent = given[rows < 0]
    if len(absent) and not named:
        raise ValueError(
            f"{name}: found gene {absent[0]}; expected numbers from 0 to {len(genes) - 1}"
        )
    if len(absent) == len(given):
        raise ValueError(
            f"{name}: found none of the {len(given)} names ({_some(given)}) among the "
            f"{len(genes)} genes ({_some(genes)}); expected names as in the table"
        )
    if len(absent):
        warnings.warn(
            f"{len(absent)} of {len(given)} {name} are not among the genes: {_some(absent)}.",
            stacklevel=3,
        )
    return rows[rows >= 0]


def _some(labels: pd.Index[Any]) -> str:
    return ", ".join(map(str, labels[:_SHOWN])) + (", ..." if len(labels) > _SHOWN else "")
