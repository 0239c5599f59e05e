"""Who the regulators are, given as names, gene numbers or a mask."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.table import Names
from pairtile.declare.messages import Message
from pairtile.io.names import some
from pairtile.io.regulators import warning_of_absent


class ListedGenes(NamedTuple):
    """``rows``: their numbers among all genes, in the order given, each once. ``names``: all that
    were listed, also those that are no genes."""

    rows: NDArray[np.int64]
    names: list[str]

    def among(self, kept: NDArray[np.int64], name: str = "regulators") -> NDArray[np.int32]:
        """Their numbers among the genes ``kept``, ascending; ValueError where none is left."""
        found = np.flatnonzero(np.isin(kept, self.rows)).astype(np.int32)
        if not found.size:
            raise ValueError(
                f"{name}: found all {self.rows.size} dropped by preparation (too few samples, or "
                "constant); expected at least one that is kept"
            )
        return found

    def absent_warnings(self, genes: Iterable[object], name: str = "regulators") -> list[Message]:
        """A warning where some of them are not among these (kept) genes."""
        texts = list(map(str, genes))
        there = set(texts)
        absent = [text for text in self.names if text not in there]
        return [warning_of_absent(absent, len(self.names), texts, name)] if absent else []


def listed_genes(
    regulators: Iterable[Hashable], genes: Names, *, named: bool, name: str = "regulators"
) -> ListedGenes:
    """The regulators of a call.

    Parameters
    ----------
    regulators
        With ``named``, names as in ``genes``: those that are not there are left out, since lists
        of regulators name more genes than one experiment measures. Without, gene numbers. In both
        cases also a mask: bool, shape (genes,).
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
            f"{name}: found none of the {len(given)} names ({some([*map(str, given)])}) among the "
            f"{len(genes)} genes ({some([*map(str, genes)])}); expected names as in the table"
        )
    return ListedGenes(rows[rows >= 0], list(map(str, given)))
