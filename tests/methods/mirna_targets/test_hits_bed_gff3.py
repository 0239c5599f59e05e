"""BED12 and GFF3 of hits, on transcripts and in the genome."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import hand_made_hits as hand
import numpy as np
import pandas as pd
import pyarrow as pa
from pairtile.engine.estimator import PreparedInput
from pairtile.methods.mirna_targets.hits_bed_gff3 import (
    COLOURS,
    NUMBER,
    bed_lines,
    gff3_lines,
    hit_places,
    items_to_genome,
)
from pairtile.methods.mirna_targets.transcript_model import (
    TranscriptToGenome,
    read_transcript_models,
)

LET7 = "UGAGGUAGUAGGUUGUAUAGUU"
SITE = "AACUAUACAACCUACUACCUCA"
TRANSCRIPTS = {"plus": "GG" + SITE + "C" * 26, "minus": "C" * 10 + SITE + "GGG", "free": SITE}
# plus: 50 letters, its site over the border after letter 14; minus: 35, its site over two borders.
BED = """\
chr1\t100\t164\tplus\t0\t+\t0\t0\t0\t2\t14,36,\t0,28,
chr1\t1000\t1135\tminus\t0\t-\t0\t0\t0\t3\t10,5,20,\t0,50,115,
"""


def several(folder: Path) -> tuple[PreparedInput, pa.Table]:
    sequences = hand.prepared(folder, {"m1": LET7, "m2": LET7}, TRANSCRIPTS)
    hits = [
        hand.ungapped_hit(sequences, "m1", "plus", 3),
        hand.ungapped_hit(sequences, "m2", "plus", 3, energy_kcal_mol=-7.25, score=1234.5),
        hand.ungapped_hit(sequences, "m1", "minus", 11),
        hand.ungapped_hit(sequences, "m1", "free", 1),
    ]
    return sequences, hand.table(sequences, hits)


def places(folder: Path, sequences: PreparedInput, hits: pa.Table) -> pa.Table:
    (folder / "a.bed").write_text(BED)
    to_genome = items_to_genome(sequences.items, read_transcript_models(folder / "a.bed"))
    return hit_places(hits, to_genome)


def on_transcripts(hits: pa.Table) -> pa.Table:
    n_items = len(hits["transcript"].chunk(0).dictionary)
    return hit_places(hits, TranscriptToGenome([None] * n_items))


def write_bed(folder: Path, hits: pa.Table, places: pa.Table) -> None:
    (folder / "hits.bed").write_bytes(b"".join(bed_lines(hits, places)))


def write_gff3(folder: Path, hits: pa.Table, places: pa.Table) -> None:
    numbered = hits.append_column(NUMBER, pa.array(np.arange(len(hits))))
    (folder / "hits.gff3").write_bytes(b"".join(gff3_lines(numbered, places)))


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def test_bed_on_transcripts_by_hand(tmp_path: Path) -> None:
    _, hits = several(tmp_path)
    write_bed(tmp_path, hits, on_transcripts(hits))
    red = COLOURS["8mer"]
    assert lines(tmp_path / "hits.bed") == [
        ["free", "0", "22", "m1", "150", "+", "14", "22", red, "1", "22,", "0,"],
        ["minus", "10", "32", "m1", "150", "+", "24", "32", red, "1", "22,", "0,"],
        ["plus", "2", "24", "m1", "150", "+", "16", "24", red, "1", "22,", "0,"],
        ["plus", "2", "24", "m2", "1000", "+", "16", "24", red, "1", "22,", "0,"],
    ]


def test_bed_in_the_genome_by_hand(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    write_bed(tmp_path, hits, places(tmp_path, sequences, hits))
    red, three = COLOURS["8mer"], ["3", "7,5,10,", "0,47,112,"]
    # The seed match are the last 8 letters.
    # plus: letters 3 to 24; 1 to 14 lie at 101 to 114, 15 to 50 at 129 to 164.
    # minus: letters 11 to 32; 1 to 20 lie at 1135 to 1116, 21 to 25 at 1055 to 1051, then 1010 ...
    assert lines(tmp_path / "hits.bed") == [
        ["chr1", "102", "138", "m1:plus", "150", "+", "130", "138", red, "2", "12,10,", "0,26,"],
        ["chr1", "102", "138", "m2:plus", "1000", "+", "130", "138", red, "2", "12,10,", "0,26,"],
        ["chr1", "1003", "1125", "m1:minus", "150", "-", "1003", "1051", red, *three],
        ["free", "0", "22", "m1", "150", "+", "14", "22", red, "1", "22,", "0,"],
    ]


def test_gff3_in_the_genome_by_hand(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    write_gff3(tmp_path, hits, places(tmp_path, sequences, hits))
    found = lines(tmp_path / "hits.gff3")
    fixed = ["pairtile", "miRNA_target_site"]
    plus = "Name=m1;mirna=m1;transcript=plus;transcript_begin=3;transcript_end=24;seed_class=8mer"
    attributes = f"ID=hit1;{plus};energy_kcal_mol=-20.5"
    assert found[0] == ["chr1", *fixed, "103", "114", "150", "+", ".", attributes]
    assert found[1][3:5] == ["129", "138"]
    assert found[1][8] == found[0][8]
    second = next(line for line in found if "mirna=m2" in line[-1])
    assert second[5] == "1234.5"
    assert second[8].endswith(";energy_kcal_mol=-7.25")
    minus = [line for line in found if "transcript=minus" in line[-1]]
    assert [(line[3], line[4], line[6]) for line in minus] == [
        ("1004", "1010", "-"),
        ("1051", "1055", "-"),
        ("1116", "1125", "-"),
    ]
    assert found[-1][:5] == ["free", *fixed, "1", "22"]


def test_gff3_without_energies_tells_none(tmp_path: Path) -> None:
    sequences, _ = several(tmp_path)
    hits = hand.table(sequences, [hand.ungapped_hit(sequences, "m1", "free", 1)], energies=False)
    write_gff3(tmp_path, hits, on_transcripts(hits))
    assert "energy" not in (tmp_path / "hits.gff3").read_text()


def test_transcripts_of_another_length_stay_in_their_own_coordinates(tmp_path: Path) -> None:
    sequences = hand.prepared(tmp_path, {"m1": LET7}, {**TRANSCRIPTS, "plus": "GG" + SITE})
    (tmp_path / "a.bed").write_text(BED)
    to_genome = items_to_genome(sequences.items, read_transcript_models(tmp_path / "a.bed"))
    assert [model is not None for model in to_genome.models] == [False, False, True, False]
    assert (to_genome.n_missing, len(to_genome.other_lengths), to_genome.n_ambiguous) == (1, 1, 0)
    hits = hand.table(sequences, [hand.ungapped_hit(sequences, "m1", "plus", 3)])
    write_bed(tmp_path, hits, hit_places(hits, to_genome))
    assert lines(tmp_path / "hits.bed")[0][:4] == ["plus", "2", "24", "m1"]


STRANGE = ["#x", "track", "tracker", "browser1", "a;b=c,d&e%f", ">g", "gi|1|ref|N.1|", "\u00b5/(x)"]


def test_strange_names_do_not_break_the_files(tmp_path: Path) -> None:
    section: dict[str, Any] = {"method": "mirna_targets"}
    for key, letters in (("mirnas", LET7), ("transcripts", SITE)):
        names = STRANGE if key == "transcripts" else [name[::-1] for name in STRANGE]
        text = "".join(f">{name} tab\there\n{letters}\n" for name in names)
        (tmp_path / key).write_text(text, encoding="utf-8")
        section[key] = str(tmp_path / key)
    sequences = hand.prepare(section)
    mirnas, transcripts = (sequences.items["name"].tolist()[a : a + 8] for a in (0, 8))
    hits = hand.table(
        sequences,
        [hand.ungapped_hit(sequences, m, t, 1) for m, t in zip(mirnas, transcripts, strict=True)],
    )
    write_bed(tmp_path, hits, on_transcripts(hits))
    found = lines(tmp_path / "hits.bed")
    assert {len(line) for line in found} == {12}
    assert sorted(unquote(line[0]) for line in found) == sorted(unquote(t) for t in transcripts)
    assert not any(line[0].startswith(("#", "track", "browser")) for line in found)
    assert {line[3] for line in found} == set(mirnas)
    write_gff3(tmp_path, hits, on_transcripts(hits))
    features = [line for line in lines(tmp_path / "hits.gff3") if len(line) > 1]
    assert {len(line) for line in features} == {9}
    assert {unquote(line[0]) for line in features} == set(transcripts)
    assert all(re.fullmatch(r"[a-zA-Z0-9.:^*$@!+_?|%-]+", line[0]) for line in features)
    assert not any(line[0].startswith((">", "#")) for line in features)
    for line in features:
        attributes = dict(part.split("=") for part in line[8].split(";"))
        assert unquote(attributes["transcript"]) == unquote(line[0])
        assert unquote(attributes["mirna"]) in mirnas


def test_letters_at_the_places_are_those_of_the_site(tmp_path: Path) -> None:
    """A genome with two genes: what lies at a hit's blocks is what the hit was found on."""
    rng = np.random.default_rng(1)
    genome = "".join(rng.choice(list("ACGT"), 5000))
    swap = str.maketrans("ACGT", "TGCA")
    exons = {"a": ("+", [(40, 90), (100, 104), (300, 420)]), "b": ("-", [(900, 960), (1500, 1600)])}
    texts, bed = {}, ""
    for name, (strand, parts) in exons.items():
        text = "".join(genome[x:y] for x, y in parts)
        texts[name] = text if strand == "+" else text[::-1].translate(swap)
        sizes = ",".join(str(y - x) for x, y in parts)
        starts = ",".join(str(x - parts[0][0]) for x, _ in parts)
        span = f"{parts[0][0]}\t{parts[-1][1]}"
        bed += f"chr\t{span}\t{name}\t0\t{strand}\t0\t0\t0\t{len(parts)}\t{sizes}\t{starts}\n"
    (tmp_path / "a.bed").write_text(bed)
    sequences = hand.prepared(tmp_path, {"m": LET7}, texts)
    hits = hand.table(
        sequences,
        [
            hand.ungapped_hit(sequences, "m", name, begin, rank=begin)
            for name in texts
            for begin in range(0, len(texts[name]) - 18)
        ],
    )
    to_genome = items_to_genome(sequences.items, read_transcript_models(tmp_path / "a.bed"))
    write_bed(tmp_path, hits, hit_places(hits, to_genome))
    found = lines(tmp_path / "hits.bed")
    assert len(found) == hits.num_rows > 200
    assert [int(line[1]) for line in found] == sorted(int(line[1]) for line in found)
    seen = []
    for line in found:
        begin, end = int(line[1]), int(line[2])
        sizes, starts = ([int(x) for x in line[k].split(",")[:-1]] for k in (10, 11))
        assert len(sizes) == len(starts) == int(line[9])
        assert starts[0] == 0
        assert begin + starts[-1] + sizes[-1] == end
        assert begin <= int(line[6]) <= int(line[7]) <= end
        text = "".join(
            genome[begin + a : begin + a + b] for a, b in zip(starts, sizes, strict=True)
        )
        text = text if line[5] == "+" else text[::-1].translate(swap)
        seen.append((line[3].split(":")[1], text))
    table = hits.to_pandas()
    expected = [
        (row.transcript, texts[row.transcript][row.reference_begin - 1 : row.reference_end])
        for row in table.itertuples()
    ]
    assert sorted(seen) == sorted(expected)
    write_gff3(tmp_path, hits, hit_places(hits, to_genome))
    features = pd.DataFrame([line for line in lines(tmp_path / "hits.gff3") if len(line) == 9])
    covered = features[4].astype(int) - features[3].astype(int) + 1
    of_hit = covered.groupby(features[8].str.extract(r"ID=hit(\d+);")[0].astype(int)).sum()
    spans = table["reference_end"] - table["reference_begin"] + 1
    assert of_hit.tolist() == spans.tolist()
