"""Every seed match of miRNAs in transcripts, whatever the score of an alignment there.

8mer, 7mer-m8, 7mer-A1 and 6mer, by the rules of ``kernels.hit_sites``: an exact search of the
letters opposite miRNA positions 2 to 7, which all four share. The letters on either side of a match
tell the classes apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.conservation import CANONICAL
from pairtile.methods.mirna_targets.context import codes_at, context_columns
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES, HitSites
from pairtile.methods.mirna_targets.scoring import OTHER, SequenceBatch, pair_starts

CORE = 6
"""Letters opposite miRNA positions 2 to 7."""


class SeedSites(NamedTuple):
    """Seed matches, sorted by (i, j, place): (sites,) each.

    i, j         int64: rows of the miRNA and the transcript
    seed_class   int8: number in ``SEED_CLASSES``
    seed_end     int32: transcript position opposite miRNA position 2, from 1
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    seed_class: NDArray[np.int8]
    seed_end: NDArray[np.int32]

    def taken(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> SeedSites:
        """Some of the sites."""
        return SeedSites(self.i[rows], self.j[rows], self.seed_class[rows], self.seed_end[rows])

    def best(self) -> SeedSites:
        """One site of each pair, sorted: of those of the best class, the first."""
        order = np.lexsort((self.seed_end, -self.seed_class, self.j, self.i))
        return self.taken(order[pair_starts(self.i, self.j)[:-1]])

    def spans(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """First and last letter of each match, from 1, with the A of 8mer and 7mer-A1."""
        return self.seed_end - 5 - (self.seed_class >= 4), self.seed_end + self.seed_class % 2


class SeedIndex:
    """Places of all words of ``CORE`` letters in transcripts; opened once."""

    def __init__(self, transcripts: SequenceBatch) -> None:
        # A letter that pairs with nothing stands behind each transcript: no word goes across.
        ends = transcripts.offsets[1:]
        self.letters = np.insert(transcripts.codes, ends, OTHER).astype(np.int64)
        self.row = np.repeat(np.arange(len(transcripts)), transcripts.lengths + 1)
        self.begins = transcripts.offsets[:-1] + np.arange(len(transcripts))
        words = np.zeros(max(len(self.letters) - CORE + 1, 0), dtype=np.int64)
        for k in range(CORE):
            words = words * (OTHER + 1) + self.letters[k : k + len(words)]
        self.order = np.argsort(words, kind="stable")
        self.first = np.searchsorted(words[self.order], np.arange((OTHER + 1) ** CORE + 1))

    def sites(self, mirnas: SequenceBatch, among: NDArray[np.bool_] | None = None) -> SeedSites:
        """All matches of miRNAs; ``among``: bool (transcripts,), those to look at."""
        seed = np.stack([codes_at(mirnas.texts, place) for place in range(8, 1, -1)], axis=1)
        rows = np.flatnonzero((seed[:, 1:] < OTHER).all(axis=1))
        opposite = 3 - seed[rows]
        word = opposite[:, 1:] @ (OTHER + 1) ** np.arange(CORE)[::-1]
        number = self.first[word + 1] - self.first[word]
        which = np.repeat(np.arange(len(rows)), number)
        within = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number)
        at = self.order[self.first[word][which] + within]
        # Before the first letter of all is the last one, which pairs with nothing.
        eight = self.letters[at - 1] == opposite[which, 0]
        adenosine = self.letters[at + CORE] == 0
        j = self.row[at]
        seed_class = (2 + adenosine + 2 * eight).astype(np.int8)
        found = SeedSites(rows[which], j, seed_class, (at - self.begins[j] + CORE).astype(np.int32))
        return found if among is None else found.taken(among[j])


def site_abundance(mirnas: SequenceBatch, transcripts: SequenceBatch) -> NDArray[np.int64]:
    """How many canonical sites (8mer, 7mer-m8, 7mer-A1) each miRNA has in all transcripts together:
    int64 (miRNAs,)."""
    sites = SeedIndex(transcripts).sites(mirnas)
    return np.bincount(sites.i[sites.seed_class >= CANONICAL.start], minlength=len(mirnas))


def context_scores(
    sites: SeedSites, mirnas: SequenceBatch, transcripts: SequenceBatch
) -> NDArray[np.float64]:
    """The context++ score of each site (``context``): below 0 is repression."""
    found = HitSites.empty(len(sites.i))._replace(
        seed_class=sites.seed_class, seed_end=sites.seed_end
    )
    columns = context_columns(mirnas.texts, transcripts.texts, sites.i, sites.j, found)
    return columns["context_score"]


def class_counts(sites: SeedSites) -> pd.DataFrame:
    """Sites of each pair by class: ``i``, ``j``, ``sites_8mer``, ``sites_7mer_m8``, ..., sorted."""
    table = pd.DataFrame({"i": sites.i, "j": sites.j})
    for number in range(len(SEED_CLASSES) - 1, 1, -1):
        table[f"sites_{SEED_CLASSES[number].replace('-', '_')}"] = sites.seed_class == number
    return table.groupby(["i", "j"]).sum().reset_index()
