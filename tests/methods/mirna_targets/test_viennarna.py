"""The optional columns of hits: ViennaRNA's duplex energy and the site's accessibility."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import RNA
from pairtile.methods.mirna_targets.energy import site_accessibilities, viennarna_duplex_energy

LET7 = "UGAGGUAGUAGGUUGUAUAGUU"


def random_letters(seed: int, n: int, letters: str) -> str:
    return "".join(random.Random(seed).choices(letters, k=n))


@pytest.mark.parametrize(
    ("mirna", "site"), [("AAAA", "AAAA"), ("", "ACGU"), ("ACGU", ""), ("NN", "AC")]
)
def test_strands_that_cannot_pair_have_no_duplex_energy(mirna, site):
    assert viennarna_duplex_energy(mirna, site) == 0.0


def test_accessibility_is_the_share_of_structures_that_leave_the_site_free():
    """With one window over all, it is a ratio of two partition functions."""
    text = random_letters(1, 60, "ACGU")
    kilocalories = 1.98717e-3 * 310.15
    places = np.array([(1, 8), (20, 30), (53, 60), (33, 33)])
    found = site_accessibilities(text, *places.T, window=60, span=60)
    for (begin, end), accessibility in zip(places.tolist(), found, strict=True):
        whole = RNA.fold_compound(text).pf()[1]
        constrained = RNA.fold_compound(text)
        for place in range(begin, end + 1):
            constrained.hc_add_up(place)
        free = constrained.pf()[1]
        expected = math.exp((whole - free) / kilocalories)
        assert accessibility == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("window", "span"), [(80, 40), (50, 50), (30, 10)])
def test_accessibility_of_sites_is_that_of_the_whole_transcript(window, span):
    text = random_letters(8, 400, "ACGT")
    draw = random.Random(6)
    begins = [1, 393, 200, 203] + [draw.randint(1, 380) for _ in range(12)]
    ends = [begin + draw.randint(0, 7) for begin in begins]
    whole = RNA.pfl_fold_up(text.replace("T", "U"), 8, window, span)
    expected = [whole[end][end - begin + 1] for begin, end in zip(begins, ends, strict=True)]
    together = site_accessibilities(text, begins, ends, window, span)
    assert together == pytest.approx(expected, abs=1e-9)
    for place, wanted in zip(zip(begins, ends, strict=True), expected, strict=True):
        begin, end = np.array(place)[:, None]
        (alone,) = site_accessibilities(text.lower(), begin, end, window, span)
        assert alone == pytest.approx(wanted, abs=1e-9)


def test_accessibility_of_short_transcripts_and_long_sites():
    (short,) = site_accessibilities("A" * 12, np.array([2]), np.array([11]))
    (long,) = site_accessibilities("ACGU" * 30, np.array([1]), np.array([100]))
    assert short == pytest.approx(1.0)
    assert 0 < long < 1
