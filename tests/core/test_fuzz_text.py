"""Damaged text files are read right or refused with a message: no other error, and no hang."""

from __future__ import annotations

import gzip
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive_text
import numpy as np
import pytest
from fuzz import cases, check_message, damaged, time_limit
from hypothesis import given
from pairtile.config.conditions import ConditionConfig
from pairtile.errors import PairtileError
from pairtile.io.annotations import read_annotations
from pairtile.io.expression import read_expression
from pairtile.io.gold_standard import _SOURCE_HEADERS, _TARGET_HEADERS, read_gold_standard
from pairtile.io.regulators import read_regulators
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.prepare import (
    _FIRST_HEADERS,
    _SECOND_HEADERS,
    read_restrict,
    read_transcript_genes,
)
from pairtile.methods.mirna_targets.transcript_model import read_transcript_models
from pairtile.methods.predictor_pairs.read_input import count_levels, read_series
from pairtile.methods.trajectory_correlation.read_tables import open_series_table

SAMPLES = ["s1", "s2", "s3", "s4"]
TABLE = b"gene\ts1\ts2\ts3\ts4\nTP53\t1\t-2.5\tNA\t4e3\nMYC\t0\t0.1\t7\t\nabc-1.2\t5\t6\t7\t8\n"
LEVELS = b"gene\ts1\ts2\ts3\ts4\na\t0\t1\t2\tNA\nb\t1\t1\t0\t2\nc\t0\t0\t1\t1\n"
AGES = b"age\t1\t2\t3\t4\nTP53"
NOTES = b"sample\tTreatment\tHours\ns1\theat\t1\ns2\tcontrol\t2.5\ns3\theat\t\ns4\tcontrol\t9\n"
GTF = (
    b"#!genome x\n"
    b'1\tsrc\texon\t11\t20\t.\t+\t.\tgene_id "g"; transcript_id "T1"; transcript_version "2";\n'
    b'1\tsrc\texon\t31\t45\t.\t+\t.\tgene_id "g"; transcript_id "T1"; transcript_version "2";\n'
    b'2\tsrc\texon\t5\t9\t.\t-\t.\tgene_id "h"; transcript_id "T2";\n'
)
BED = (
    b"track name=x\n"
    b"chr1\t10\t45\tT1\t0\t+\t10\t45\t0\t2\t10,15\t0,20\n"
    b"chr2\t4\t9\tT2\t0\t-\t4\t9\t0\t1\t5,\t0,\n"
)
XVG = b'# made by\n@ s0 legend "a"\n@ s1 legend "b"\n0 1.5 2\n1 2.5 3\n2 3.5 -4e1\n'


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def read_table(path: Path) -> Any:
    found = read_expression(path)
    assert found.values.shape == (len(found.genes), len(found.samples))
    assert not np.isinf(found.values).any()
    return found.genes, found.samples, found.values.tolist()


def levels(path: Path) -> Any:
    found = read_expression(path)
    n_levels = count_levels(found)
    held = found.values[~np.isnan(found.values)]
    assert 0 <= held.min(initial=0) <= held.max(initial=0) < n_levels <= 4
    return found.genes, found.samples, found.values.tolist()


def fasta(path: Path) -> Any:
    found = read_fasta(path)
    return [(name, found.letters.sequence(k)) for k, name in enumerate(found.names)]


def gold(path: Path) -> Any:
    found = read_gold_standard(path)
    return list(zip(found["source"], found["target"], strict=True))


def series(path: Path) -> None:
    found = read_series(path, SAMPLES)
    assert found.numbers.shape == (4,)
    assert sorted(set(found.numbers)) == list(range(len(found.names)))


def annotations(path: Path) -> None:
    hours = ConditionConfig(name="Hours", kind="quantitative")
    for entries in ((), (hours, ConditionConfig(name="Treatment"))):
        for condition in read_annotations(path, SAMPLES, entries).conditions:
            assert condition.codes.shape == condition.numbers.shape == (4,)
            assert condition.codes.max() < max(len(condition.labels), 1)
            assert not np.isinf(condition.numbers).any()


def transcripts(path: Path) -> None:
    for model in read_transcript_models(path).models.values():
        ends = [place for exon in model.exons for place in exon]
        assert ends == sorted(ends)
        assert ends[0] >= 0
        assert model.length > 0


def genes_of(path: Path) -> None:
    assert list(read_transcript_genes(path, ["T1"])[0]) == ["T1"]


def frames(path: Path) -> None:
    table = open_series_table(str(path))
    blocks = list(table.blocks(2, missing=False))
    assert sum(map(len, blocks)) == len(table.used)
    assert all(block.shape[1:] == (len(table.names), 1) for block in blocks)
    assert all(np.isfinite(block).all() for block in blocks)


PAIRS = b"mirna\ttranscript\nlet-7\tNM_1\nmir-1 NM_2\nmir-1\tNM_1\n"
GOLD = b"source\ttarget\tlabel\na\tb\t1\nb\tc\t0\nc\ta\t0.5\n"
RESTRICT = (_FIRST_HEADERS, _SECOND_HEADERS)
EDGES = (_SOURCE_HEADERS, _TARGET_HEADERS)
FILES: dict[str, tuple[bytes, Callable[[Path], Any], Callable[[bytes], Any] | None]] = {
    "t.tsv": (TABLE, read_table, lambda data: naive_text.table(data, "\t")),
    "t.csv": (TABLE.replace(b"\t", b","), read_table, lambda data: naive_text.table(data, ",")),
    "t.txt": (TABLE[5:], read_table, None),
    "t.tsv.gz": (TABLE, read_table, None),
    "t12.gct": (b"#1.2\n3\t4\n" + re.sub(rb"(?m)^(\S+)", rb"\1\tx", TABLE), read_table, None),
    "t13.gct": (b"#1.3\n3\t4\t0\t1\n" + TABLE.replace(b"TP53", AGES), read_table, None),
    "levels.tsv": (LEVELS, levels, None),
    "regulators.txt": (b"# mine\nTP53\nMYC\n\nabc 1\n", read_regulators, naive_text.name_list),
    "restrict.tsv": (PAIRS, read_restrict, lambda data: naive_text.name_pairs(data, RESTRICT)),
    "gold.tsv": (GOLD, gold, lambda data: naive_text.edges(data, EDGES)),
    "gold.csv.gz": (GOLD.replace(b"\t", b","), gold, None),
    "series.tsv": (b"sample\tseries\ns1\tA\ns2\tA\ns3\tB\ns4\tB\ns5\tC\n", series, None),
    "samples.tsv": (NOTES, annotations, None),
    "samples.csv": (NOTES.replace(b"\t", b","), annotations, None),
    "genes.tsv": (b"tx\tgene\nT1\tg\nT2\th\n", genes_of, None),
    "a.gtf": (GTF, transcripts, None),
    "a.bed.gz": (BED, transcripts, None),
    "s.fa": (b">let-7 x\nUGAGGUA\nGUAGG\n\n>mir-1\nacgt NRY\n>c\nA\n", fasta, naive_text.sequences),
    "s.fa.gz": (b">let-7 x\nUGAGGUA\n>mir-1\nacgt\n", fasta, None),
    "f.tsv": (b"time\ta\tb\n0\t1\t2\n1\t2\t3\n2\t3\t4.5\n", frames, None),
    "f.csv": (b"a,b\n1,2\n2,3\n3,4.5\n", frames, None),
    "f.xvg": (XVG, frames, None),
    "f.dat": (b"#! FIELDS time phi psi\n0 1 2\n1 2 3\n2 3 4\n", frames, None),
}  # fmt: skip
"""File name: whole content, how it is read, and a naive reading."""


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_text_file_is_read_right_or_refused(name: str, folder: Path) -> None:
    whole, read, naive = FILES[name]
    path = folder / name

    @cases(ordinary=25, nightly=500)
    @given(damaged(whole, packed=name.endswith(".gz")))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        expected = naive(data) if naive else None
        try:
            with time_limit():
                found = read(path)
        except PairtileError as error:
            check_message(str(error), path)
            found = naive_text.REFUSED
        if expected is not None:
            np.testing.assert_equal(found, expected)

    path.write_bytes(gzip.compress(whole) if name.endswith(".gz") else whole)
    read(path)
    check()
