"""Who the regulators are, given as names, gene numbers or a mask."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.table import ExpressionTable
from pairtile.declare.messages import Message
from pairtile.io.names import GeneNames
from pairtile.io.regulators import none_found, warning_of_absent


class ListedGenes(NamedTuple):
    """``rows``: their numbers among all genes, in the order given, each once. ``names``: all that
    were listed, also those that are no genes. ``messages``: how they were found, and a warning of
    those."""

    rows: NDArray[np.int64]
    names: list[str]
    messages: list[Message]


def listed_genes(
    regulators: Iterable[Hashable],
    table: ExpressionTable,
    name: str = "regulators",
) -> ListedGenes:
    """The regulators of a call.

    Parameters
    ----------
    regulators
        Names, where genes have such: those that are not there are left out, since lists of
        regulators name more genes than one experiment measures. Else gene numbers. In both cases
        also a mask: bool, shape (genes,).
    table
        All genes.
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
    genes, given = table.labels, pd.Index(list(regulators))
    if given.dtype == bool:
        if len(given) != len(genes):
            raise ValueError(
                f"{name}: found a mask of {len(given)}; expected one of {len(genes)} genes"
            )
        given = genes[np.asarray(given)]
    given = given.unique()
    if not len(given):
        raise ValueError(f"{name}: found none; expected at least one, or {name}=None")
    if table.genes is None and given.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: found {given[0]!r}; expected gene numbers, since the genes have no names"
        )
    labels, texts = list(map(str, genes)), list(map(str, given))
    found = GeneNames(labels, [table.symbols.get(label, "") for label in labels]).find(texts)
    absent = [text for text in texts if text not in found.rows]
    if absent and table.genes is None:
        raise ValueError(
            f"{name}: found gene {absent[0]}; expected numbers from 0 to {len(genes) - 1}"
        )
    if not found.rows:
        raise ValueError(str(none_found(texts, labels, name, name)))
    listed = dict.fromkeys(row for text in texts for row in found.rows.get(text, ()))
    said = found.messages(len(texts), name)
    said += [warning_of_absent(absent, len(texts), labels, name)] if absent else []
    return ListedGenes(np.array([*listed], dtype=np.int64), texts, said)
