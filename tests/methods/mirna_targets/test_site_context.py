"""Context of sites against plain references, and what a table of hits has of it."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mirna_sequences import plain, write_fasta
from pairtile import mirna_targets
from pairtile.methods.mirna_targets import seed_sites as context
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES, HitSites, HitSpans
from pairtile.methods.mirna_targets.scoring import SequenceBatch, Texts
from pairtile.methods.mirna_targets.seed_sites import context_columns, seed_pairing, site_abundance
from workflow_runs import Analysis

LET7 = "UGAGGUAGUAGGUUGUAUAGUU"
MIR21 = "UAGCUUAUCAGACUGAUGUUGA"
PAIRS = {"AU", "UA", "GC", "CG"}
ORDER = ("6mer", "7mer-A1", "7mer-m8", "8mer")


def texts(*lines: str) -> Texts:
    letters = np.frombuffer("".join(lines).encode(), np.uint8)
    return Texts(letters, np.cumsum([0, *map(len, lines)]).astype(np.int64))


def columns(mirna: str, transcript: str, kind: str, seed_end: int) -> dict[str, float]:
    """Of one site whose letter opposite position 2 is number ``seed_end`` of the transcript."""
    zero = np.zeros(1, np.int32)
    sites = HitSites(
        zero,
        zero,
        np.array([SEED_CLASSES.index(kind)], np.int8),
        np.array([seed_end], np.int32),
        np.zeros(1),
        zero,
        zero,
    )
    spans = HitSpans(zero, zero, zero, zero, zero, zero)
    found = context_columns(texts(mirna), texts(transcript), spans.mirna, spans.transcript, sites)
    return {name: float(values[0]) for name, values in found.items()}


def naive_3p(mirna: str, transcript: str, begin: int, last: int) -> float:
    """Every shift of one strand, every run, from the definition."""
    upstream = transcript[max(begin - 1 - (23 - last), 0) : begin - 1][::-1]
    behind = mirna[last:]
    best = 0.0
    for skip_mirna in range(len(behind)):
        for skip_transcript in range(len(upstream)):
            if skip_mirna and skip_transcript:
                continue
            off = max(0.0, (skip_mirna + skip_transcript - 2) / 2)
            below = list(zip(behind[skip_mirna:], upstream[skip_transcript:], strict=False))
            paired = [a + b in PAIRS for a, b in below]
            for first in range(len(paired)):
                for end in range(first + 2, len(paired) + 1):
                    if all(paired[first:end]):
                        places = [last + 1 + skip_mirna + k for k in range(first, end)]
                        score = sum(1.0 if 13 <= place <= 16 else 0.5 for place in places)
                        best = max(best, score - off)
    return best


def naive_score(mirna: str, transcript: str, kind: str, seed_end: int) -> float:
    """The model's sum, term by term."""
    k = ORDER.index(kind)
    with_8, with_a = kind in ("7mer-m8", "8mer"), kind in ("7mer-A1", "8mer")
    begin, end = seed_end - (6 if with_8 else 5), seed_end + with_a
    up = [(1 / (d + (0 if with_8 else 1)), begin - d) for d in range(1, 31)]
    down = [(1 / (d + (1 if with_a else 0)), end + d) for d in range(1, 31)]
    near = [(w, transcript[at - 1]) for w, at in up + down if 1 <= at <= len(transcript)]
    site = mirna[2:8][::-1].translate(str.maketrans("ACGU", "UGCA"))
    values = {
        "local_au": sum(w for w, letter in near if letter in "AU") / sum(w for w, _ in near),
        "pairing_3p": naive_3p(mirna, transcript, begin, 8 if with_8 else 7),
        "log10_end_distance": math.log10(max(min(begin - 1, len(transcript) - end), 1)),
        "log10_length": math.log10(len(transcript)),
        "seed_pairing": float(seed_pairing(texts(mirna))[0, int(with_8)]),
    }
    total = float(context.INTERCEPT[k])
    for name, (coefficient, low, high) in context.SCALED.items():
        total += coefficient[k] * (values[name] - low[k]) / (high[k] - low[k])
    matches = sum(transcript[at:].startswith(site) for at in range(len(transcript)))
    total += float(context.OFFSET_6MER[k]) * matches
    for table, letter in (
        (context.MIRNA_1, mirna[0]),
        (context.MIRNA_8, mirna[7]),
        (context.SITE_8, transcript[seed_end - 7] if seed_end > 6 else "-"),
    ):
        if letter in "ACG":
            total += float(table["ACG".index(letter)][k])
    return total


def test_the_stability_of_seeds_is_that_of_the_published_tables() -> None:
    # Garcia et al. 2011: let-7, positions 2 to 8 and 2 to 7.
    assert seed_pairing(texts(LET7))[0] == pytest.approx([-6.72, -9.25], abs=1e-9)
    assert np.isnan(seed_pairing(texts("UGAGGNAG", "UGA"))).all()


@pytest.mark.parametrize("kind", ORDER)
def test_context_scores_are_the_sums_of_their_terms(kind: str) -> None:
    draw = random.Random(kind)
    for _ in range(30):
        mirna = "".join(draw.choices("ACGU", k=draw.randint(18, 24)))
        site = mirna[1:8][::-1].translate(str.maketrans("ACGU", "UGCA"))
        before = "".join(draw.choices("ACGU", k=draw.randint(0, 60)))
        after = "".join(draw.choices("ACGU", k=draw.randint(1, 60)))
        transcript = before + site + after
        seed_end = len(before) + 7
        found = columns(mirna, transcript, kind, seed_end)
        assert found["context_score"] == pytest.approx(
            naive_score(mirna, transcript, kind, seed_end), abs=1e-9
        )


def canonical_sites(mirna: str, transcripts: list[str]) -> int:
    """Places where positions 2 to 7 pair, and 8 pairs or an A faces 1."""
    opposite = mirna[:8][::-1].translate(str.maketrans("ACGU", "UGCA"))
    at_8, six = opposite[: len(mirna[7:8])], opposite[-7:-1]
    count = 0
    for text in transcripts:
        for at in range(len(text)):
            if text.startswith(six, at):
                before, behind = text[:at][-1:], text[at + 6 : at + 7]
                count += behind == "A" or (bool(at_8) and before == at_8)
    return count


def test_abundance_counts_canonical_sites_everywhere() -> None:
    draw = random.Random(8)
    mirnas = ["".join(draw.choices("ACGU", k=draw.choice([6, 7, 8, 22]))) for _ in range(40)]
    lines = ["".join(draw.choices("ACGUN", [5, 5, 5, 5, 1], k=draw.randint(0, 900)))
             for _ in range(60)]  # fmt: skip
    for k, mirna in enumerate(mirnas):  # at both ends, alone, and with an unknown letter beside
        site = mirna[1:8][::-1].translate(str.maketrans("ACGU", "UGCA"))
        lines += [site, site + "A" + lines[k], lines[k] + site, "N" + site[-6:] + "A"]
    wanted = [canonical_sites(mirna, lines) if len(mirna) > 6 else 0 for mirna in mirnas]
    transcripts = SequenceBatch.of_strings(lines)
    assert site_abundance(SequenceBatch.of_strings(mirnas), transcripts).tolist() == wanted
    assert min(w for w, mirna in zip(wanted, mirnas, strict=True) if len(mirna) > 6) > 0
    assert site_abundance(SequenceBatch.of_strings(["UGANGUAGUAGG"]), transcripts).tolist() == [0]


def test_hits_and_pairs_have_context_where_there_is_a_seed_match(tmp_path: Path) -> None:
    draw = random.Random(4)
    transcripts = {}
    for k in range(6):
        letters = "".join(draw.choices("ACGT", k=300))
        transcripts[f"t{k}"] = letters[:120] + "CTACCTCA" + letters[120:]
    write_fasta(tmp_path / "mirnas.fa", {"let-7": LET7, "mir-21": MIR21})
    write_fasta(tmp_path / "transcripts.fa", transcripts)
    settings = plain(extras={"context": True}, estimator={"energies": False, "score": 110})
    out = Analysis(tmp_path, settings).all().out
    hits = pd.read_parquet(out / "hits.parquet")
    matched = hits["seed_class"].isin(ORDER)
    assert matched.any()
    assert not matched.all()
    names = ["pairing_3p", "end_distance", "offset_6mers", "seed_pairing_kcal_mol", "context_score"]
    names.append("target_site_abundance")
    assert (hits[names].notna().all(axis=1) == matched).all()
    texts_of = [text.replace("T", "U") for text in transcripts.values()]
    for name, letters in {"let-7": LET7, "mir-21": MIR21}.items():
        found = hits.loc[matched & (hits["mirna"] == name), "target_site_abundance"]
        assert (found == canonical_sites(letters, texts_of)).all()
    again = mirna_targets(
        {"let-7": LET7, "mir-21": MIR21}, transcripts, score=110.0, energies=False,
        extras={"context": True}, backend="cpu",
    )  # fmt: skip
    assert again["target_site_abundance"].fillna(0).tolist() == (
        hits["target_site_abundance"].fillna(0).tolist()
    )
    eight = hits[(hits["mirna"] == "let-7") & (hits["seed_class"] == "8mer")].iloc[0]
    text = transcripts[eight["transcript"]].replace("T", "U")
    at = text.index("CUACCUCA") + 7
    assert eight["context_score"] == pytest.approx(naive_score(LET7, text, "8mer", at), abs=1e-4)
    targets = pd.read_csv(out / "targets.tsv", sep="\t")
    sums = hits[matched].groupby(["mirna", "transcript"])["context_score"].sum()
    found = targets.set_index(["mirna", "transcript"])["total_context_score"]
    for pair, value in found.items():
        assert (
            math.isnan(value)
            if pair not in sums.index
            else value == pytest.approx(sums[pair], abs=1e-3)
        )
