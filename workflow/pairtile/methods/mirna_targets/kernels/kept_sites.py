"""Which species keep a site: whether their orthologs have the letters of its seed class.

Transcript by transcript, four tables say which species have a word: seven letters, seven with an A
behind, six, and six with an A behind. They are filled in one pass over the orthologs; each site is
then one look-up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.cpu.bit_planes import popcount
from pairtile.cpu.njit import njit
from pairtile.cpu.threaded import threaded
from pairtile.methods.mirna_targets.scoring import OTHER

SPECIES_OF_A_WORD = 64
"""Species are bits of uint64."""

_NONE, _OFFSET_6MER, _6MER, _7MER_A1, _7MER_M8, _8MER = range(6)
_A = 0


class OrthologRecords(NamedTuple):
    """Orthologs, group by group: the records of a group are of one transcript (or one gene).

    codes     uint8 (letters,): codes of letters
    offsets   int64 (records + 1,): where each record begins and ends
    species   int32 (records,)
    first     int64 (groups + 1,): records first[g] .. first[g + 1] - 1 are those of group g
    """

    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    species: NDArray[np.int32]
    first: NDArray[np.int64]


class SpeciesTree(NamedTuple):
    """Branches of a tree of species; the reference is a bit like the others.

    below    uint64 (branches, words): the species on one side of each
    length   float64 (branches,)
    """

    below: NDArray[np.uint64]
    length: NDArray[np.float64]


@threaded(over="groups")
def kept_sites(first, last, orthologs, mirnas, sites, groups, kept):  # type: ignore[no-untyped-def]
    """Fill ``kept``, uint64 (sites, words): bit s % 64 of word s // 64 for species s.

    A species keeps a site where one of its records has, anywhere, the letters opposite the
    miRNA's positions 2 to 8 with an A behind (8mer), 2 to 8 (7mer-m8), 2 to 7 with an A behind
    (7mer-A1), 2 to 7 (6mer) or 3 to 8 (offset 6mer).

    mirnas   codes uint8 and offsets int64 of the miRNAs, 5' to 3'
    sites    rows of the miRNAs, int32 (sites,), and seed classes, int8, sorted by group
    groups   where the sites on transcripts of each group begin and end, int64 (groups,) each
    """
    for group in range(first, last):
        begin, end = groups[0][group], groups[1][group]
        if begin == end:
            continue
        for word in range(kept.shape[1]):
            _kept_of_group(group, word, orthologs, mirnas, sites, begin, end, kept)


@njit(nogil=True)
def _kept_of_group(group, word, orthologs, mirnas, sites, first, last, kept):  # type: ignore[no-untyped-def]
    seven, seven_a = np.zeros(1 << 14, np.uint64), np.zeros(1 << 14, np.uint64)
    six, six_a = np.zeros(1 << 12, np.uint64), np.zeros(1 << 12, np.uint64)
    for record in range(orthologs.first[group], orthologs.first[group + 1]):
        species = orthologs.species[record]
        if species // SPECIES_OF_A_WORD != word:
            continue
        bit = np.uint64(1) << np.uint64(species % SPECIES_OF_A_WORD)
        code, known = 0, 0
        for at in range(orthologs.offsets[record], orthologs.offsets[record + 1]):
            letter = orthologs.codes[at]
            if letter == _A:
                if known >= 6:
                    six_a[code & 0xFFF] |= bit
                if known >= 7:
                    seven_a[code] |= bit
            known = known + 1 if letter < OTHER else 0
            code = ((code << 2) | (letter & 3)) & 0x3FFF
            if known >= 6:
                six[code & 0xFFF] |= bit
            if known >= 7:
                seven[code] |= bit
    codes, offsets = mirnas
    rows, seed_class = sites
    for site in range(first, last):
        kind = seed_class[site]
        begin = offsets[rows[site]]
        if kind in (_8MER, _7MER_M8):
            table, low, high = (seven_a if kind == _8MER else seven), 2, 8
        elif kind in (_7MER_A1, _6MER):
            table, low, high = (six_a if kind == _7MER_A1 else six), 2, 7
        elif kind == _OFFSET_6MER:
            table, low, high = six, 3, 8
        else:
            kept[site, word] = np.uint64(0)
            continue
        code = 0
        for position in range(high, low - 1, -1):
            code = (code << 2) | (3 - codes[begin + position - 1])
        kept[site, word] = table[code]


@threaded(entries=1 << 8)
def measure_kept(first, last, kept, reference, tree, number, branch_length):  # type: ignore[no-untyped-def]
    """Fill ``number``, int32 (sites,): species that keep each site; and ``branch_length``, float64
    (sites,): of the smallest part of the tree that joins them and the reference.

    reference   uint64 (words,): the bit of the reference, in no record
    """
    words = kept.shape[1]
    for site in range(first, last):
        count = 0
        for word in range(words):
            count += np.int64(popcount(kept[site, word]))
        number[site] = count
        total = 0.0
        for branch in range(len(tree.length)):
            inside, outside = False, False
            for word in range(words):
                there = kept[site, word] | reference[word]
                inside |= (there & tree.below[branch, word]) != np.uint64(0)
                outside |= (there & ~tree.below[branch, word]) != np.uint64(0)
            if inside and outside:
                total += tree.length[branch]
        branch_length[site] = total
