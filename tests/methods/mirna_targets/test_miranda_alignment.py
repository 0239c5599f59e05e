"""The search for targets against miRanda's rules written out, on random and awkward sequences."""

from __future__ import annotations

import random
from typing import Any

import naive_miranda as naive
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from backends import both_backends
from hand_made_hits import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_miranda import NaiveHit, NaiveSettings, batch_of, scoring_of
from pairtile.cpu.vectors import LANES
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets import search as target_search
from pairtile.methods.mirna_targets import search_cpu
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.scoring import AlignmentScoring
from pairtile.methods.mirna_targets.search import (
    ROWS,
    SequenceBatch,
    TargetSearch,
    fold_strings,
)
from pairtile.methods.mirna_targets.search_cpu import group_mirnas

LET7 = "UGAGGUAGUAGGUUGUAUAGUU"
SITE = "AACUAUACAACCUACUACCUCA"
PLAIN = AlignmentConfig(energies=False)
COMPLEMENT = str.maketrans("ACGUTacgut", "UGCAAugcaa")
IUPAC = "ACGU" * 6 + "acgut" * 3 + "TNRYKMSWBDHVXn"


def search(
    mirnas: list[str],
    references: list[str],
    settings: AlignmentConfig = PLAIN,
    backend: str = "cpu",
    allowed: Any = None,
) -> pa.Table:
    opened = TargetSearch(batch_of(mirnas), batch_of(references), settings, choose(backend))
    return opened.hits(0, len(mirnas), np.arange(len(references)), allowed)


COLUMNS = [name for name in ROWS.names if name != "energy_kcal_mol"]


def entries(hits: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(hits[name].to_pylist() for name in COLUMNS), strict=True))


def naive_hits(
    mirnas: list[str], references: list[str], settings: AlignmentConfig, allowed: Any = None
) -> list[tuple[int, int, int, NaiveHit]]:
    """i, j, rank and hit."""
    of_naive = NaiveSettings(**settings.model_dump())
    return [
        (i, j, rank, hit)
        for i, mirna in enumerate(mirnas)
        for j, reference in enumerate(references)
        if allowed is None or allowed[i, j]
        for rank, hit in enumerate(naive.hits_before_energy(mirna, reference, of_naive))
    ]


def as_entries(hits: list[tuple[int, int, int, NaiveHit]]) -> list[tuple[Any, ...]]:
    return [(*place, *(getattr(hit, name) for name in COLUMNS[3:])) for *place, hit in hits]


def naive_entries(*problem: Any) -> list[tuple[Any, ...]]:
    return as_entries(naive_hits(*problem))


def changed(settings: AlignmentConfig, **values: Any) -> AlignmentConfig:
    return settings.model_copy(update=values)


def with_sites(source: random.Random, reference: str, mirnas: list[str]) -> str:
    """Put mutated sites of the miRNAs into a reference."""
    for _ in range(source.randint(1, 4)):
        site = source.choice(mirnas)[::-1].translate(COMPLEMENT)
        site = "".join(
            letter if source.random() > 0.1 else source.choice(["", letter + "A", "GG", "ACGUACGU"])
            for letter in site
        )
        place = source.randint(0, len(reference))
        reference = reference[:place] + site + reference[place:]
    return reference


@st.composite
def problems(draw: Any) -> Any:
    """miRNAs of 1 to 40 letters, references of 1 to 300 with planted sites, and settings."""
    source = random.Random(draw(st.integers(0, 2**32 - 1)))
    letters = draw(st.sampled_from(["ACGU", IUPAC, "AU", "GU", "A", "ACGUN"]))
    mirnas = [
        "".join(source.choices(letters, k=source.randint(1, 40)))
        for _ in range(draw(st.sampled_from([1, 3, LANES + 5])))
    ]
    references = []
    for _ in range(draw(st.integers(1, 3))):
        length = source.randint(1, source.choice([20, 100, 200]))
        reference = "".join(source.choices(letters, k=length))
        references.append(with_sites(source, reference, mirnas)[:300] or "A")
    scale = draw(st.sampled_from([4.0, 4.0, 1.0, 0.0, 2.5, 0.3, 10.0, 400.0, 2000.0]))
    score = draw(st.sampled_from([140.0, 100.0, 60.0, 30.0, 10.0, 1.0, 0.5, 55.5]))
    asked = changed(
        PLAIN,
        score=score * (scale if scale >= 10 else 1),
        scale=scale,
        gap_open=draw(st.sampled_from([-9.0, -4.0, 0.0, -1.0, -20.0, -3.7])),
        gap_extend=draw(st.sampled_from([-4.0, -2.0, 0.0, -1.0, -9.0, -0.5])),
        strict=draw(st.booleans()),
        energies=False,
        trim=draw(st.sampled_from([None, None, 10, 50])),
    )
    allowed = None
    if draw(st.booleans()):
        allowed = np.array([[source.random() < 0.6 for _ in references] for _ in mirnas])
    return mirnas, references, asked, allowed


@both_backends
@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_hits_and_their_fold_strings_are_those_of_the_rules(backend: str, problem: Any) -> None:
    mirnas, references, asked, allowed = problem
    batches = batch_of(mirnas), batch_of(references)
    opened = TargetSearch(*batches, asked, choose(backend))
    of_all = 0, len(mirnas), np.arange(len(references)), allowed
    wanted = naive_hits(mirnas, references, asked, allowed)
    assert entries(opened.hits(*of_all)) == as_entries(wanted)
    if asked.strict:
        return
    block, strings = opened.traced_block(*of_all), []
    for traced in block.parts:
        text, offsets = fold_strings(block.mirnas, block.transcripts, traced)
        strings += texts(SequenceBatch(text, offsets))
    assert strings == [hit.fold_string for *_, hit in wanted]


@given(problem=problems())
@settings(max_examples=15, deadline=None)
def test_candidates_are_the_best_of_each_diagonal(problem: Any) -> None:
    mirnas, references, asked, allowed = problem
    asked = changed(asked, trim=None)
    found = search_cpu.candidates(
        batch_of(mirnas), batch_of(references), scoring_of(asked), allowed
    )
    of_naive = NaiveSettings(**asked.model_dump())
    expected = []
    for i, mirna in enumerate(mirnas):
        for j, reference in enumerate(references):
            if allowed is None or allowed[i, j]:
                cells = naive.candidates(naive.fill(mirna[::-1], reference, of_naive), asked.score)
                expected += [(i, j, row, column, s) for s, row, column in
                             naive.best_of_diagonals(cells)]  # fmt: skip
    columns = (found.i, found.j, found.row, found.column, found.score)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


@both_backends
def test_hits_do_not_depend_on_blocks(backend: str) -> None:
    source = random.Random(3)
    mirnas = ["".join(source.choices("ACGU", k=source.randint(18, 25))) for _ in range(70)]
    references = [
        with_sites(source, "".join(source.choices("ACGU", k=source.randint(1, 600))), mirnas)
        for _ in range(20)
    ]
    asked = changed(PLAIN, score=110.0)
    opened = TargetSearch(batch_of(mirnas), batch_of(references), asked, choose(backend))
    whole = opened.hits(0, 70, np.arange(20))
    assert len(whole) > 100
    blocks = [[5, 19, 0], [7, 3], [1], [2], [4, 6, 8, 9, 10, 11, 12], [18, 17, 16, 15, 14, 13]]
    parts = [
        opened.hits(begin, begin + 7, np.array(rows))
        for begin in range(0, 70, 7)
        for rows in blocks
    ]
    assert sorted(entries(pa.concat_tables(parts))) == entries(whole)


def test_hits_do_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(4)
    mirnas = ["".join(source.choices("ACGU", k=22)) for _ in range(40)]
    references = [with_sites(source, "ACGU" * 50, mirnas) for _ in range(10)]
    asked = changed(PLAIN, score=80.0)
    whole = entries(search(mirnas, references, asked))
    monkeypatch.setattr(search_cpu, "COLUMNS_AT_ONCE", 300)
    monkeypatch.setattr(search_cpu, "WINDOW", 9)
    monkeypatch.setattr(search_cpu, "CANDIDATES_AT_ONCE", 40)
    monkeypatch.setattr(target_search, "STATES_AT_ONCE", 300)
    assert len(whole) > 50
    assert entries(search(mirnas, references, asked)) == whole


@pytest.mark.parametrize("window", [1, 7, 31, 64, 1000])
def test_hits_do_not_depend_on_where_references_are_cut(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_cpu, "WINDOW", window)
    reference = "".join(
        f"{'ACGUUGCA' * (k % 5)}{SITE[:k]}{'G' * (k % 3)}{SITE[k:]}" for k in range(22)
    )
    asked = changed(PLAIN, score=100.0)
    found = entries(search([LET7, LET7[:18]], [reference, SITE], asked))
    assert found == naive_entries([LET7, LET7[:18]], [reference, SITE], asked)
    assert len(found) > 20


@both_backends
@pytest.mark.parametrize("gap_extend", [-4.0, 0.0])
def test_a_long_reference_has_the_hits_of_the_rules(backend: str, gap_extend: float) -> None:
    source = random.Random(5)
    reference = "".join(source.choices("ACGU", k=5_000))
    for place in range(0, 5_000, 199):
        reference = reference[:place] + SITE[:10] + "ACGUUGCA" * (place % 5) + SITE[10:] + \
            reference[place:]  # fmt: skip
    reference = reference[:2000] + "N" * 300 + reference[2000:]
    asked = changed(PLAIN, gap_extend=gap_extend)
    found = entries(search([LET7], [reference], asked, backend))
    assert found == naive_entries([LET7], [reference], asked)
    assert len(found) > 20


@both_backends
@pytest.mark.parametrize("gap", [1, 2, 7, 30])
@pytest.mark.parametrize("before", [0, 1, 5, 60])
def test_the_longest_alignment_that_reaches_the_threshold_is_found(
    backend: str, gap: int, before: int
) -> None:
    """As many letters of the transcript unpaired, in one gap, as the score allows."""
    scoring = AlignmentScoring.of_parameters(140, 4.0, -2.0, -1.0)
    best = scoring.highest_score(len(LET7))
    score = best - 2 - (gap - 1)
    assert score > 0
    reference = "C" * before + SITE[:5] + "C" * gap + SITE[5:] + "C" * 40
    how = AlignmentConfig(score=score, gap_open=-2, gap_extend=-1, energies=False)
    found = entries(search([LET7], [reference], how, backend))
    assert len(found) == 1
    assert found == naive_entries([LET7], [reference], how)


@both_backends
@pytest.mark.parametrize("scale", [100.0, 900.0, 5000.0])
def test_scores_beyond_16_bits_are_exact(backend: str, scale: float) -> None:
    asked = changed(PLAIN, score=5 * scale, scale=scale)
    references = [SITE, "GG" + SITE.replace("CUAC", "CUC") + "AAAA" + SITE]
    found = search([LET7, LET7[:12]], references, asked, backend)
    assert entries(found) == naive_entries([LET7, LET7[:12]], references, asked)
    assert pc.max(found["score"]).as_py() == 7 * 5 * scale + 60


def test_16_bits_are_left_where_they_do_not_suffice() -> None:
    def type_for(**changes: Any) -> Any:
        scoring, mirnas = scoring_of(changed(PLAIN, **changes)), batch_of([LET7])
        scores = scoring.all_row_pair_scores(mirnas)
        return group_mirnas(mirnas, scoring, scores)[0].profile.dtype

    assert type_for() == np.int16
    assert type_for(scale=1000.0, score=1000.0) == np.int32
    assert type_for(gap_open=-8000.0) == np.int16
    assert type_for(gap_open=-10000.0) == np.int32
    assert type_for(gap_extend=-9000.0) == np.int32


@both_backends
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 9, 10, 11, 21, 22, 23, 24, 37, 49, 50, 52, 53, 130])
def test_every_length_of_mirna(backend: str, n: int) -> None:
    mirna = (LET7 * 6)[:n]
    references = [mirna[::-1].translate(COMPLEMENT), "ACG" + mirna[::-1].translate(COMPLEMENT)[1:]]
    asked = changed(PLAIN, score=20.0)
    found = entries(search([mirna], references, asked, backend))
    assert found == naive_entries([mirna], references, asked)
    assert (len(found) > 0) == (n > 3)


@both_backends
def test_nothing_to_search_gives_no_hits(backend: str) -> None:
    for mirnas, references in (
        ([LET7], []),
        ([], [SITE]),
        (["ACG"], [SITE]),
        ([LET7], ["A" * 500]),
        ([LET7], ["N" * 100]),
        ([LET7], ["A"]),
    ):
        found = search(mirnas, references, backend=backend)
        assert len(found) == 0
        assert entries(found) == []
        assert found["score"].type == pa.float64()
    assert len(search([LET7], [SITE], backend=backend, allowed=np.array([[False]]))) == 0
    assert len(search([LET7], [SITE], changed(PLAIN, score=1000.0), backend)) == 0


def test_a_perfect_site_is_found_where_it_stands() -> None:
    hits = search([LET7], ["GGG" + SITE.lower() + "GGG"])
    assert entries(hits) == [
        (0, 0, 0, 200.0, 2, 21, 4, 25, 19, 100.0, 100.0,
         "uuGAUAUGUUGGAUGAUGGAGu", "  " + "|" * 19 + " ", "aaCUAUACAACCUACUACCUCa")
    ]  # fmt: skip


def test_energies_decide_and_are_reported() -> None:
    pytest.importorskip("RNA", reason="needs the package ViennaRNA")
    reference = SITE + "CCCC" + SITE.replace("CAACC", "CACCC")
    all_hits = search([LET7], [reference], AlignmentConfig())
    assert all_hits["energy_kcal_mol"][0].as_py() == np.float32(-39.3)
    assert len(all_hits) == 2
    assert len(search([LET7], [reference], AlignmentConfig(energy=-39.0))) == 1
    # As in miRanda, -39.3 in 32 bits is compared with -39.3 in 64 bits: it is a little larger.
    assert len(search([LET7], [reference], AlignmentConfig(energy=-39.299999))) == 1
    assert len(search([LET7], [reference], AlignmentConfig(energy=-39.3))) == 0
