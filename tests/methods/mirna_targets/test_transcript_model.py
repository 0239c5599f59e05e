"""Exons from GTF and BED12, and spans of transcripts carried over to the genome."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.errors import InputError
from pairtile.methods.mirna_targets.transcript_model import (
    Annotation,
    TranscriptModel,
    TranscriptToGenome,
    read_transcript_models,
)

GTF = """\
#!genome-build GRCh38
chr1\tHAVANA\tgene\t101\t400\t.\t+\t.\tgene_id "G1";
chr1\tHAVANA\ttranscript\t101\t400\t.\t+\t.\tgene_id "G1"; transcript_id "T1";
chr1\tHAVANA\texon\t301\t400\t.\t+\t.\tgene_id "G1"; transcript_id "T1"; exon_number 2;
chr1\tHAVANA\texon\t101\t150\t.\t+\t.\tgene_id "G1"; transcript_id "T1"; exon_number 1;
chr1\tHAVANA\tCDS\t120\t150\t.\t+\t0\tgene_id "G1"; transcript_id "T1";
chr2\tensembl\texon\t1001\t1010\t.\t-\t.\tgene_id "G2"; transcript_id "T2"; transcript_version "7";
chr2\tensembl\texon\t2001\t2005\t.\t-\t.\tgene_id "G2"; transcript_id "T2"; transcript_version "7";
"""
BED = """\
track name=x
browser position chr1:1-100
# comment
chr1\t100\t400\tT1\t0\t+\t120\t330\t0\t2\t50,100,\t0,200,
chr2\t1000\t2005\tT2\t0\t-\t1000\t1000\t0\t2\t10,5\t0,1000
"""
T1 = TranscriptModel("chr1", "+", ((100, 150), (300, 400)))
T2 = TranscriptModel("chr2", "-", ((1000, 1010), (2000, 2005)))


def read(folder: Path, text: str, name: str = "a.gtf") -> Annotation:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return read_transcript_models(path)


@pytest.mark.parametrize("name", ["a.gtf", "a.gtf.gz", "any"])
def test_gtf_exons_become_transcripts(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, GTF, name)
    assert found.models == {"T1": T1, "T2": T2, "T2.7": T2}
    assert not found.ambiguous
    assert (T1.length, T2.length) == (150, 15)


@pytest.mark.parametrize("text", [BED, BED.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_bed_blocks_become_transcripts(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text, "a.bed").models == {"T1": T1, "T2": T2}


def test_transcripts_at_several_places_are_ambiguous(tmp_path: Path) -> None:
    other = GTF.replace("chr2\tensembl\texon\t2001", "chrX\tensembl\texon\t2001")
    found = read(tmp_path, other)
    assert found.models == {"T1": T1}
    assert found.ambiguous == {"T2", "T2.7"}
    twice = BED + BED.splitlines()[3] + "\n"
    assert read(tmp_path, twice).ambiguous == {"T1"}
    overlapping = GTF.replace("exon\t301", "exon\t150")
    assert read(tmp_path, overlapping).ambiguous == {"T1"}


def test_transcripts_without_a_strand_are_left_out(tmp_path: Path) -> None:
    assert set(read(tmp_path, GTF.replace("\t-\t", "\t.\t")).models) == {"T1"}
    assert set(read(tmp_path, BED.replace("\t-\t", "\t.\t")).models) == {"T1"}


ID = 'transcript_id "T"'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", ""),
        ("# nothing\n", "no transcript"),
        ("chr1\t1\t5\n", "line 1: found 3"),
        ("\n\nword\n", "line 3: found 1"),
        (GTF + "chr1\t1\n", "line 9: found 2"),
        (f"c\ts\texon\tone\t5\t.\t+\t.\t{ID}\n", "line 1: found 'one 5'"),
        (f"c\ts\texon\t9\t5\t.\t+\t.\t{ID}\n", "line 1: found 9 to 5"),
        (f"c\ts\texon\t0\t5\t.\t+\t.\t{ID}\n", "line 1: found 0 to 5"),
        ("c\ts\texon\t1\t5\t.\t+\t.\tID=e;Parent=t\n", "line 1: "),
        ("c\t0\t9\tn\t0\t+\t0\t0\t0\t2\t4,4\t0,4\n", "line 1: "),
        ("c\t0\t9\tn\t0\t+\t0\t0\t0\t1\t4,4\t0,5\n", "line 1: "),
        ("c\t0\t9\tn\t0\t+\t0\t0\t0\t2\t4,4\t0,x\n", "line 1: found '0 x'"),
    ],
    ids=range(12),
)
def test_bad_annotations_are_refused(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(InputError, match=where):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("T1", True),
        ("gi|1|ref|T1|", True),
        ("T1|G1|HAVANA|", True),
        ("T1.4", True),
        ("T2.7", True),
        ("x|T1.9|y", True),
        ("T", False),
        ("T11", False),
        ("t1", False),
        ("", False),
    ],
)
def test_names_are_found_as_people_write_them(tmp_path: Path, name: str, found: bool) -> None:
    annotation = read(tmp_path, GTF)
    length = 15 if "T2" in name else 150
    to_genome = TranscriptToGenome.match([name], [length], annotation)
    assert (to_genome.models[0] is not None) == found
    assert to_genome.n_missing == (not found)


def test_a_name_with_several_versions_is_none_of_them_without_its_own(tmp_path: Path) -> None:
    line = 'chr1\ts\texon\t{}\t{}\t.\t+\t.\ttranscript_id "{}";\n'
    annotation = read(tmp_path, line.format(1, 9, "T.1") + line.format(21, 29, "T.2"))
    to_genome = TranscriptToGenome.match(["T", "T.3", "T.2"], [9, 9, 9], annotation)
    assert [model is not None for model in to_genome.models] == [False, False, True]
    assert to_genome.n_missing == 2


def test_sequences_of_another_length_and_ambiguous_ones_are_counted(tmp_path: Path) -> None:
    annotation = read(tmp_path, GTF)
    twice = Annotation(annotation.models, frozenset({"D"}))
    to_genome = TranscriptToGenome.match(["T1", "T1", "D", "none"], [150, 149, 9, 9], twice)
    assert to_genome.models == [T1, None, None, None]
    assert (to_genome.n_missing, to_genome.n_ambiguous, to_genome.n_utrs) == (1, 1, 0)
    assert to_genome.other_lengths == [("T1", 149, 150)]


def lifted(
    models: list[TranscriptModel | None], spans: list[tuple[int, int, int]]
) -> list[list[tuple[int, int]]]:
    which, begin, end = (np.array(part, dtype=np.int64) for part in zip(*spans, strict=True))
    blocks = TranscriptToGenome(models).blocks(which, begin, end)
    found: list[list[tuple[int, int]]] = [[] for _ in spans]
    for span, a, b in zip(*blocks, strict=True):
        found[span].append((int(a), int(b)))
    return found


def test_no_spans_have_no_blocks() -> None:
    none = np.empty(0, dtype=np.int64)
    blocks = TranscriptToGenome([None]).blocks(none, none, none)
    assert [part.size for part in blocks] == [0, 0, 0]


GAPS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=1, max_size=6)


@st.composite
def transcripts(draw: st.DrawFn) -> TranscriptModel:
    exons, at = [], draw(st.integers(0, 50))
    for gap, size in draw(GAPS):
        exons.append((at + gap, at + gap + size))
        at += gap + size
    return TranscriptModel("c", draw(st.sampled_from("+-")), tuple(exons))


@given(st.data(), st.lists(transcripts(), min_size=1, max_size=5))
def test_lifted_bases_are_those_of_the_exons(
    data: st.DataObject, models: list[TranscriptModel]
) -> None:
    """Against a walk from base to base."""
    spans = []
    for which, model in enumerate(models):
        for _ in range(3):
            begin = data.draw(st.integers(1, model.length))
            spans.append((which, begin, data.draw(st.integers(begin, model.length))))
    spans = data.draw(st.permutations(spans))
    for (which, begin, end), blocks in zip(spans, lifted(list(models), spans), strict=True):
        bases = [base for a, b in models[which].exons for base in range(a, b)]
        if models[which].strand == "-":
            bases.reverse()
        expected = sorted(bases[begin - 1 : end])
        assert [base for a, b in blocks for base in range(a, b)] == expected
        assert len(blocks) == sum(
            any(a <= base < b for base in expected) for a, b in models[which].exons
        )


# --- 3' UTRs --------------------------------------------------------------------------------------


def gtf(name: str, strand: str, features: dict[str, list[tuple[int, int]]]) -> str:
    """Lines of a transcript, places 0-based, end excluded."""
    return "".join(
        f'c\ts\t{kind}\t{begin + 1}\t{end}\t.\t{strand}\t.\ttranscript_id "{name}";\n'
        for kind, places in features.items()
        for begin, end in places
    )


EXONS = [(100, 120), (200, 230), (300, 350)]  # 100 letters
# The CDS ends within the second exon, its stop codon behind it; the 3' UTR spans two exons.
PLUS = {
    "ensembl": {"exon": EXONS, "CDS": [(105, 120), (200, 210)],
                "stop_codon": [(210, 213)], "three_prime_utr": [(213, 230), (300, 350)]},
    "gencode": {"exon": EXONS, "CDS": [(105, 120), (200, 210)], "stop_codon": [(210, 213)],
                "UTR": [(100, 105), (210, 230), (300, 350)]},
    "stop_in_cds": {"exon": EXONS, "CDS": [(105, 120), (200, 213)]},
    "ucsc": {"exon": EXONS, "CDS": [(105, 120), (200, 210)], "3UTR": [(213, 230), (300, 350)]},
    "utr_alone": {"three_prime_utr": [(213, 230), (300, 350)]},
}  # fmt: skip
UTR_PLUS = [*range(213, 230), *range(300, 350)]


def mirrored(
    features: dict[str, list[tuple[int, int]]], about: int = 450
) -> dict[str, list[tuple[int, int]]]:
    return {kind: [(about - b, about - a) for a, b in places] for kind, places in features.items()}


@pytest.mark.parametrize("form", PLUS)
@pytest.mark.parametrize("strand", ["+", "-"])
def test_a_sequence_as_long_as_the_3_utr_lies_there(tmp_path: Path, form: str, strand: str) -> None:
    features = PLUS[form] if strand == "+" else mirrored(PLUS[form])
    bases = UTR_PLUS if strand == "+" else [449 - base for base in UTR_PLUS]
    annotation = read(tmp_path, gtf("T.1", strand, features))
    found = TranscriptToGenome.match(["g|T.2|s"], [len(bases)], annotation)
    assert (found.n_utrs, found.n_missing, found.other_lengths) == (1, 0, [])
    spans = [(0, k, k + 3) for k in range(1, len(bases) - 2)]
    for (_, begin, end), blocks in zip(spans, lifted(list(found.models), spans), strict=True):
        assert sorted(bases[begin - 1 : end]) == [b for x, y in blocks for b in range(x, y)]


@pytest.mark.parametrize("strand", ["+", "-"])
def test_a_stop_codon_across_exons_is_left_out_or_not_by_the_length(
    tmp_path: Path, strand: str
) -> None:
    features = {"exon": EXONS, "CDS": [(105, 120), (200, 229)]}
    features = features if strand == "+" else mirrored(features)
    annotation = read(tmp_path, gtf("T", strand, features))
    found = TranscriptToGenome.match(["T", "T", "T"], [51, 48, 100], annotation)
    assert found.n_utrs == 2
    with_stop, without, whole = found.models
    if strand == "+":
        assert with_stop == TranscriptModel("c", "+", ((229, 230), (300, 350)))
        assert without == TranscriptModel("c", "+", ((302, 350),))
    else:
        assert with_stop == TranscriptModel("c", "-", ((100, 150), (220, 221)))
        assert without == TranscriptModel("c", "-", ((100, 148),))
    assert whole is not None
    assert whole.length == 100


def test_thick_parts_of_bed_lines_are_the_cds(tmp_path: Path) -> None:
    line = "c\t100\t350\tT\t0\t{}\t105\t213\t0\t3\t20,30,50\t0,100,200\n"
    for strand, bases in (("+", UTR_PLUS), ("-", list(range(100, 105)))):
        annotation = read(tmp_path, line.format(strand), "a.bed")
        (model,) = TranscriptToGenome.match(["T"], [len(bases)], annotation).models
        assert model is not None
        assert [base for a, b in model.exons for base in range(a, b)] == bases


def test_whole_transcripts_and_utrs_may_be_mixed_and_the_rest_is_named(tmp_path: Path) -> None:
    text = "".join(gtf(name, "+", PLUS["ensembl"]) for name in "ABCD")
    found = TranscriptToGenome.match(list("ABCDE"), [100, 67, 66, 70, 9], read(tmp_path, text))
    assert [model.length if model else None for model in found.models] == [100, 67, None, 70, None]
    assert (found.n_utrs, found.n_missing) == (2, 1)
    assert found.other_lengths == [("C", 66, 100)]


def test_a_transcript_without_a_cds_is_no_utr(tmp_path: Path) -> None:
    found = TranscriptToGenome.match(["T"], [67], read(tmp_path, gtf("T", "+", {"exon": EXONS})))
    assert found.models == [None]
