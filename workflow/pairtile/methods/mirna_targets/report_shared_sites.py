"""Hits whose alignments are the same letter by letter, as those of a gene's isoforms are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.report_files import ALIGNMENT_COLUMNS
from pairtile.methods.mirna_targets.report_tables import Hits

SAME = ("score", "energy_kcal_mol", "mirna", *ALIGNMENT_COLUMNS, "seed_class")
"""Columns in which hits of one site agree."""


@dataclass(frozen=True)
class SharedSite:
    """The hits of one miRNA with one alignment.

    ``hits``: their rows of ``Hits.strongest``, strongest first. ``complete``: whether no further
    hit has this alignment; unknown, and so False, where the strongest hits end among equals.
    """

    hits: pd.DataFrame
    complete: bool

    @property
    def transcripts(self) -> list[str]:
        """Names of the transcripts, each once, in the order of the hits."""
        return list(dict.fromkeys(self.hits["transcript"].astype(str)))


def shared_sites(hits: Hits, limit: int) -> list[SharedSite]:
    """The ``limit`` strongest alignments, each once, with all hits that have it.

    An alignment is passed over where stronger ones have shown all its pairs of miRNA and
    transcript already.
    """
    return list(islice(_sites(hits), limit))


def _sites(hits: Hits) -> Iterator[SharedSite]:
    table = hits.strongest
    site = table.groupby(list(SAME), sort=False, observed=True, dropna=False).ngroup().to_numpy()
    cut = hits.n > len(table)
    shown: set[tuple[str, str]] = set()
    for rows in _rows_of_each(site):
        found = table.iloc[rows]
        pairs = set(zip(found["mirna"], found["transcript"], strict=True))
        if pairs <= shown:
            continue
        shown |= pairs
        yield SharedSite(found, not (cut and _equal(table, rows[-1], len(table) - 1)))


def _rows_of_each(site: NDArray[np.integer[Any]]) -> list[NDArray[np.intp]]:
    """Rows with each number of ``site``, in the order of their first row."""
    order = np.argsort(site, kind="stable")
    ends = np.flatnonzero(np.diff(site[order])) + 1
    return sorted(np.split(order, ends), key=lambda rows: int(rows[0])) if site.size else []


def _equal(table: pd.DataFrame, one: int, other: int) -> bool:
    """Whether two rows are equally strong: further hits like the one may follow the other."""
    values = table[["score", "energy_kcal_mol"]].to_numpy(dtype=np.float64)
    return bool(np.array_equal(values[one], values[other], equal_nan=True))
