"""Tables of hits against a plain reference: positions, seed classes, local AU content."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import hand_made_hits as hand
import pandas as pd
import pytest
from hand_made_hits import BODY, LET7, SEED
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile.engine.estimator import PreparedInput
from pairtile.methods.mirna_targets.tables import hits_table

PAIRS = {"AU", "UA", "GC", "CG"}


def table(sequences: PreparedInput, hits: list[dict[str, Any]], **more: Any) -> pd.DataFrame:
    return hand.table(sequences, hits, **more).to_pandas()


def one(folder: Path, transcript: str, begin: int = 1, mirna: str = LET7) -> pd.Series:
    sequences = hand.prepared(folder, {"m": mirna}, {"t": transcript})
    return table(sequences, [hand.ungapped_hit(sequences, "m", "t", begin)]).iloc[0]


def base(letter: str) -> str:
    return letter.upper().replace("T", "U")


def naive_opposite(hit: dict[str, Any], mirna: str) -> dict[int, tuple[int, bool]]:
    """miRNA position -> (transcript position, whether in a gap): from the alignment's first column
    on, one transcript letter a column that is none of ``-``, or is a tail off the end."""
    left, right = len(mirna) - (hit["query_end"] - 1), hit["query_begin"] - 1
    query, reference = hit["query_alignment"], hit["reference_alignment"]
    tail = [c < left or c >= len(query) - right for c in range(len(query))]
    # A pad before the transcript's begin is a place, too: there positions are 0, -1, ...
    pads = sum(1 for c in range(left) if reference[c] == "-")
    position = hit["reference_begin"] - pads - 1
    opposite, at = {}, len(mirna) + 1
    for c in range(len(query)):
        in_gap = reference[c] == "-" and not tail[c]
        position += not in_gap
        if query[c] != "-":
            at -= 1
            opposite[at] = (position + in_gap, in_gap)  # in a gap: as the base after it
    return opposite


def naive_class(hit: dict[str, Any], mirna: str, transcript: str) -> tuple[str, int, int, int]:
    """Seed class; transcript positions of the match's ends; letters skipped behind it."""
    opposite = naive_opposite(hit, mirna)

    def letter(position: int) -> str:
        return base(transcript[position - 1]) if 1 <= position <= len(transcript) else "-"

    def match(low: int, high: int) -> bool:
        if high > len(mirna):
            return False
        start = opposite[low][0]
        return all(
            opposite[p] == (start - (p - low), False)
            and base(mirna[p - 1]) + letter(start - (p - low)) in PAIRS
            for p in range(low, high + 1)
        )

    last = min(8, len(mirna))
    first = opposite[min(2, last)][0]
    adenosine = letter(first + 1) == "A"
    if match(2, 8):
        return ("8mer" if adenosine else "7mer-m8", opposite[8][0], first, int(adenosine))
    if match(2, 7):
        return ("7mer-A1" if adenosine else "6mer", opposite[7][0], first, int(adenosine))
    if match(3, 8):
        return ("offset 6mer", opposite[8][0], opposite[3][0], 0)
    return ("none", opposite[last][0], first, 0)


def naive_au(transcript: str, first: int, last: int, skipped: int) -> float:
    places = [(first - d, d) for d in range(1, 31)]
    places += [(last + skipped + d, skipped + d) for d in range(1, 31)]
    letters = [(base(transcript[p - 1]), d) for p, d in places if 1 <= p <= len(transcript)]
    letters = [(letter, d) for letter, d in letters if letter in "ACGU"]
    total = sum(1 / d for _, d in letters)
    return sum(1 / d for letter, d in letters if letter in "AU") / total if total else math.nan


@pytest.mark.parametrize(
    ("site", "seed_class"),
    [
        (BODY + SEED + "A", "8mer"),
        (BODY + SEED + "a", "8mer"),
        ((BODY + SEED + "A").replace("U", "T").lower(), "8mer"),
        (BODY + SEED + "G", "7mer-m8"),
        (BODY + SEED + "U", "7mer-m8"),  # a match of position 1 is none of TargetScan's classes
        (BODY + "G" + SEED[1:] + "A", "7mer-A1"),
        (BODY + "G" + SEED[1:] + "C", "6mer"),
        (BODY + SEED[:-1] + "AA", "offset 6mer"),
        (BODY + SEED[:-1] + "UG", "offset 6mer"),  # G-U is no match
        (BODY + SEED[:3] + "N" + SEED[4:] + "A", "none"),
        (BODY + SEED[:3] + "G" + SEED[4:] + "A", "none"),
        (BODY + SEED[:-1] + "N" + "A", "offset 6mer"),
        (BODY + SEED + "R", "7mer-m8"),  # A or G: not known to be A
    ],
)
def test_seed_classes_are_those_of_targetscan(tmp_path: Path, site: str, seed_class: str) -> None:
    for before, after in (("", ""), ("GGCG", "CCGGC"), ("ACGU" * 20, "UUUU" * 20)):
        found = one(tmp_path, before + site + after, len(before) + 1)
        assert found["seed_class"] == seed_class


def test_a_site_that_hangs_over_the_begin_is_placed_right(tmp_path: Path) -> None:
    found = one(tmp_path, (BODY + SEED + "A")[1:] + "CC", 0)
    assert found["reference_alignment"][0] == "-"
    assert (found["reference_begin"], found["site_begin"], found["site_end"]) == (1, 1, 20)
    assert found["seed_class"] == "8mer"


def test_positions_are_corrected_and_cover_what_is_aligned(tmp_path: Path) -> None:
    found = one(tmp_path, "GGGGG" + BODY + SEED + "A" + "CC", 6)
    assert (found["query_begin"], found["query_end"]) == (2, 21)
    assert found["alignment_length"] == 20
    assert (found["reference_begin"], found["reference_end"]) == (6, 27)
    assert (found["site_begin"], found["site_end"]) == (7, 26)
    assert found["transcript_length"] == 29
    assert found["relative_position"] == pytest.approx(((6 + 26) / 2) / 29, abs=1e-4)


def test_local_au_by_hand(tmp_path: Path) -> None:
    # 8mer: weights 1, 1/2 upstream of position 8 and 1/2, 1/3 downstream of position 1.
    found = one(tmp_path, "UC" + SEED + "A" + "GU", -11)
    assert found["seed_class"] == "8mer"
    assert found["local_au"] == pytest.approx(
        (1 / 2 + 1 / 3) / (1 + 1 / 2 + 1 / 2 + 1 / 3), abs=1e-4
    )
    # 7mer-m8: what is opposite position 1 counts, at distance 1.
    found = one(tmp_path, "AG" + SEED + "GT", -11)
    assert found["seed_class"] == "7mer-m8"
    assert found["local_au"] == pytest.approx((1 / 2 + 1 / 2) / (1 + 1 / 2 + 1 + 1 / 2), abs=1e-4)
    # SequenceBatch that may be anything are left out; nothing around: no value.
    assert one(tmp_path, "ANN" + SEED + "NC", -10)["local_au"] == pytest.approx(2 / 5, abs=1e-4)
    assert math.isnan(one(tmp_path, SEED, -13)["local_au"])


@pytest.mark.parametrize(
    ("opposite_5", "between_3_and_2", "seed_class"),
    [("", "", "8mer"), ("gap", "", "none"), ("", "G", "offset 6mer")],
    ids=["none", "in_the_transcript", "in_the_mirna"],
)
def test_a_gap_in_the_seed_breaks_its_match(
    tmp_path: Path, opposite_5: str, between_3_and_2: str, seed_class: str
) -> None:
    site, query = BODY + SEED + "A", LET7[::-1]
    at_5, after_3 = len(LET7) - 5, len(LET7) - 2
    reference = site
    if opposite_5:
        reference = site[:at_5] + "-" + site[at_5 + 1 :]
    if between_3_and_2:
        reference = site[:after_3] + between_3_and_2 + site[after_3:]
        query = query[:after_3] + "-" + query[after_3:]
    text = reference.replace("-", "")
    sequences = hand.prepared(tmp_path, {"m": LET7}, {"t": "GG" + text})
    hit = hand.ungapped_hit(sequences, "m", "t", 3) | {
        "query_alignment": query,
        "match_line": " " * len(query),
        "reference_alignment": reference,
        "reference_end": 2 + len(text),
        "alignment_length": len(query) - 2,
    }
    (found,) = table(sequences, [hit]).to_dict("records")
    assert (found["site_begin"], found["site_end"]) == (4, 1 + len(text))
    assert found["seed_class"] == seed_class
    assert naive_class(hit, LET7, "GG" + text)[0] == seed_class


@pytest.mark.parametrize("run", hand.RUNS)
def test_hits_of_miranda_agree_with_the_plain_reference(shared: Path, run: str) -> None:
    sequences, rows = hand.golden(shared, run)
    n_mirnas = sequences.counts["mirnas_kept"]
    assert len(rows) > 0
    found = hits_table(rows, sequences.items, sequences.state)
    for hit, row in zip(rows.to_pylist(), found.to_pylist(), strict=True):
        mirna = hand.text_of(sequences, "mirna", hit["i"])
        transcript = hand.text_of(sequences, "transcript", hit["j"] - n_mirnas)
        query = hit["query_alignment"].replace("-", "")
        assert base(query[::-1]) == base(mirna)
        left, right = len(mirna) - row["query_end"], row["query_begin"] - 1
        columns = len(hit["query_alignment"])
        aligned = hit["reference_alignment"][left : columns - right]
        assert len(aligned) == row["alignment_length"]
        site = transcript[row["site_begin"] - 1 : row["site_end"]]
        assert base(site) == base(aligned.replace("-", ""))
        name, first, last, skipped = naive_class(hit, mirna, transcript)
        assert row["seed_class"] == name
        match = (None, None) if name == "none" else (first, last + skipped)
        assert (row["seed_begin"], row["seed_end"]) == match
        expected = naive_au(transcript, first, last, skipped)
        assert row["local_au"] == pytest.approx(expected, abs=6e-5, nan_ok=True)
        middle = (row["site_begin"] + row["site_end"] - 1) / 2
        assert row["relative_position"] == pytest.approx(
            middle / row["transcript_length"], abs=1e-4
        )


LETTERS = st.text("ACGUTacgutNRY", min_size=1, max_size=90)


@settings(deadline=None)
@given(st.text("ACGUacgtN", min_size=3, max_size=26), LETTERS, st.integers(-40, 90))
def test_ungapped_hits_agree_with_the_plain_reference(
    tmp_path_factory: pytest.TempPathFactory, mirna: str, transcript: str, begin: int
) -> None:
    # At least one letter of the aligned part lies on the transcript.
    begin = max(min(begin, len(transcript) - 1), 3 - len(mirna))
    sequences = hand.prepared(tmp_path_factory.mktemp("x"), {"m": mirna}, {"t": transcript})
    hit = hand.ungapped_hit(sequences, "m", "t", begin)
    (row,) = table(sequences, [hit]).to_dict("records")
    name, first, last, skipped = naive_class(hit, mirna, transcript)
    assert row["seed_class"] == name
    expected = naive_au(transcript, first, last, skipped)
    assert row["local_au"] == pytest.approx(expected, abs=6e-5, nan_ok=True)
