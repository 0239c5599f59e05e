"""The context++ score of sites, as far as miRNA and transcript alone give it.

Agarwal V, Bell GW, Nam J-W, Bartel DP (2015), Predicting effective microRNA target sites in
mammalian mRNAs, eLife 4:e05005: one linear model for each of the site types 8mer, 7mer-m8, 7mer-A1
and 6mer, fitted to the fold changes of mRNAs after transfection of small RNAs; below 0 is
repression, log2. The coefficients and the ranges to which values are scaled are those of its figure
4, source data 1.

Left out, for they are not in the sequences: conservation (PCT), length of the open reading frame
and 8mers in it, and how many sites the miRNA has in all 3' UTRs of the species (TA; a column has
those in the transcripts that are searched). Structural accessibility (SA) is left out as well: it
takes far longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.kernels.hit_sites import HitSites
from pairtile.methods.mirna_targets.kernels.site_context import (
    SiteContext,
    site_context,
)
from pairtile.methods.mirna_targets.scoring import CODES, OTHER, Texts

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
