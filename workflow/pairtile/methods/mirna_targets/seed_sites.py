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
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES, HitSites
from pairtile.methods.mirna_targets.kernels.site_context import (
    SiteContext,
    site_context,
)
from pairtile.methods.mirna_targets.scoring import (
    CODES,
    OTHER,
    SequenceBatch,
    Texts,
    pair_starts,
    ranges,
)

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
        self.letters = np.insert(transcripts.codes, transcripts.offsets[1:], OTHER).astype(np.int64)
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
        at = self.order[ranges(self.first[word], number)]
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
    """The context++ score of each site (``seed_sites``): below 0 is repression."""
    found = HitSites.empty(len(sites.i))._replace(
        seed_class=sites.seed_class, seed_end=sites.seed_end
    )
    texts = mirnas.texts, transcripts.texts
    return context_columns(*texts, sites.i, sites.j, found)["context_score"]


def class_counts(sites: SeedSites) -> pd.DataFrame:
    """Sites of each pair by class: ``i``, ``j``, ``sites_8mer``, ``sites_7mer_m8``, ..., sorted."""
    table = pd.DataFrame({"i": sites.i, "j": sites.j})
    for number in range(len(SEED_CLASSES) - 1, 1, -1):
        table[f"sites_{SEED_CLASSES[number].replace('-', '_')}"] = sites.seed_class == number
    return table.groupby(["i", "j"]).sum().reset_index()


# --- the context++ score of sites, as far as miRNA and transcript alone give it -------------------

# Agarwal V, Bell GW, Nam J-W, Bartel DP (2015), Predicting effective microRNA target sites in
# mammalian mRNAs, eLife 4:e05005: one linear model for each of the site types 8mer, 7mer-m8,
# 7mer-A1 and 6mer, fitted to the fold changes of mRNAs after transfection of small RNAs; below 0 is
# repression, log2. The coefficients and the ranges to which values are scaled are those of its
# figure 4, source data 1.
#
# Left out, for they are not in the sequences: conservation (PCT), length of the open reading frame
# and 8mers in it, and how many sites the miRNA has in all 3' UTRs of the species (TA; a column has
# those in the transcripts that are searched). Structural accessibility (SA) is left out as well: it
# takes far longer.


CLASSES = (2, 3, 4, 5)
"""6mer, 7mer-A1, 7mer-m8 and 8mer: numbers in ``SEED_CLASSES``; the order of the tables below."""

INTERCEPT = np.array([-0.079, -0.195, -0.224, -0.589])

SCALED = {
    "local_au": ([-0.040, -0.075, -0.177, -0.254], [0.295, 0.342, 0.277, 0.308],
                 [0.772, 0.801, 0.782, 0.814]),
    "pairing_3p": ([-0.024, -0.060, -0.055, -0.040], [1.0] * 4, [3.5] * 4),
    "log10_end_distance": ([0.036, 0.045, 0.056, 0.118], [1.477, 1.431, 1.491, 1.415],
                           [3.106, 3.117, 3.096, 3.113]),
    "log10_length": ([0.045, 0.129, 0.154, 0.310], [2.405, 2.413, 2.409, 2.392],
                     [3.620, 3.630, 3.615, 3.637]),
    "seed_pairing": ([0.035, 0.095, 0.135, 0.210], [-8.57, -8.41, -11.13, -11.13],
                     [-3.33, -3.33, -5.49, -5.52]),
}  # fmt: skip
"""Coefficient, and what counts as 0 and as 1, of values: each by ``CLASSES``."""

OFFSET_6MER = np.array([-0.010, -0.020, -0.011, -0.020])
"""For each match to positions 3 to 8 in the 3' UTR."""

MIRNA_1 = np.array(
    [[-0.002, -0.025, 0.010, -0.018], [0.004, -0.021, 0.014, -0.021], [0.018, 0.030, 0.062, 0.060]]
)
MIRNA_8 = np.array(
    [[-0.015, -0.049, 0.004, 0.022], [0.016, 0.033, -0.031, 0.012], [0.006, -0.017, -0.008, 0.015]]
)
SITE_8 = np.array([[-0.002, 0.0, 0.0, 0.0], [0.015, 0.036, 0.0, 0.0], [0.012, 0.015, 0.0, 0.0]])
"""For A, C or G (U: 0) at the miRNA's positions 1 and 8, and in the transcript opposite 8."""

STACKS = {
    "AA": -0.93, "UU": -0.93, "AU": -1.10, "UA": -1.33, "CU": -2.08, "AG": -2.08, "CA": -2.11,
    "UG": -2.11, "GU": -2.24, "AC": -2.24, "GA": -2.35, "UC": -2.35, "CG": -2.36, "GG": -3.26,
    "CC": -3.26, "GC": -3.42,
}  # fmt: skip
"""kcal/mol at 37 °C of two neighbouring Watson-Crick pairs, by the letters of one strand 5' to 3'
(Xia et al. 1998, Biochemistry 37:14719); a duplex adds 4.09, and 0.45 for each end in A-U."""
INITIATION, AU_END = 4.09, 0.45

STACKS_BY_CODE = np.full((OTHER + 1, OTHER + 1), np.nan)
STACKS_BY_CODE[:OTHER, :OTHER] = [[STACKS[a + b] for b in "ACGU"] for a in "ACGU"]


def context_columns(
    mirnas: Texts,
    transcripts: Texts,
    mirna: NDArray[np.integer],
    transcript: NDArray[np.integer],
    sites: HitSites,
) -> dict[str, NDArray[np.float64]]:
    """Context of sites (``kernels.hit_sites``) of rows of the sequences, by the columns of
    ``hits.parquet``; NaN where there is no 6mer or better."""
    context = SiteContext.empty(len(mirna))
    site_context(mirnas, transcripts, mirna, transcript, sites, context)
    whole = sites.seed_class >= CLASSES[0]
    kind = np.where(whole, sites.seed_class - CLASSES[0], 0)
    stability = seed_pairing(mirnas)[mirna, (kind >= 2).astype(np.int64)]
    distance = context.end_distance.astype(np.float64)
    values = {
        "local_au": context.local_au,
        "pairing_3p": context.pairing_3p,
        "log10_end_distance": np.log10(np.maximum(distance, 1.0)),
        "log10_length": np.log10(np.maximum(np.diff(transcripts.offsets)[transcript], 1)),
        "seed_pairing": stability,
    }
    score = INTERCEPT[kind] + OFFSET_6MER[kind] * context.offset_6mers
    for name, (coefficients, low, high) in SCALED.items():
        bottom, top = np.array(low)[kind], np.array(high)[kind]
        score += np.array(coefficients)[kind] * (values[name] - bottom) / (top - bottom)
    for table, code in (
        (MIRNA_1, codes_at(mirnas, 1)[mirna]),
        (MIRNA_8, codes_at(mirnas, 8)[mirna]),
        (SITE_8, context.site_8),
    ):
        known = (code >= 0) & (code < len(table))
        score += np.where(known, table[np.where(known, code, 0), kind], 0.0)
    columns: dict[str, NDArray[np.number]] = {
        "pairing_3p": context.pairing_3p,
        "end_distance": distance,
        "offset_6mers": context.offset_6mers,
        "seed_pairing_kcal_mol": stability,
        "context_score": score,
    }
    return {name: np.where(whole, values, np.nan) for name, values in columns.items()}


def seed_pairing(mirnas: Texts) -> NDArray[np.float64]:
    """Free energy of the pairs at miRNA positions 2 to 7, and 2 to 8: float64 (miRNAs, 2).

    kcal/mol; NaN where a letter is unknown (Garcia et al. 2011, Nat. Struct. Mol. Biol. 18:1139).
    """
    codes = np.stack([codes_at(mirnas, position) for position in range(2, 9)])
    pairs = STACKS_BY_CODE[codes[:-1], codes[1:]]
    ends = np.isin(codes, (0, 3)).astype(np.int64)
    columns = [
        INITIATION + pairs[: last - 2].sum(axis=0) + AU_END * (ends[0] + ends[last - 2])
        for last in (7, 8)
    ]
    return np.stack(columns, axis=1)


def codes_at(mirnas: Texts, position: int) -> NDArray[np.int64]:
    """Code of each miRNA's letter at a position from 1; ``OTHER`` where it has none."""
    place = mirnas.offsets[:-1] + position - 1
    there = place < mirnas.offsets[1:]
    codes = CODES[mirnas.letters[np.where(there, place, 0)]].astype(np.int64)
    return np.where(there, codes, OTHER)
