"""The null of miRNA targets: shuffles, what is counted of them, scores and p of pairs."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hand_made_hits import texts
from mirna_sequences import plain, random_sequences, write_random
from pairtile.engine.selection import Selection
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets import score as mirna_targets
from pairtile.methods.mirna_targets.charts import FIGURES
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.kernels.pair_scores import (
    CLASSES,
    PAIR_BINS,
    PAIR_STEP,
    SCORE_BINS,
    PairSites,
    at_least,
    score_pairs,
)
from pairtile.methods.mirna_targets.kernels.shuffled_mirnas import (
    MarkovChain,
    Shuffles,
    SiteWords,
    log_canonical_probability,
    shuffle_mirnas,
)
from pairtile.methods.mirna_targets.null import (
    MIN_ABOVE,
    NullCounts,
    PairNull,
    class_table,
    matched_shuffles,
    prepare_null,
    transcript_model,
)
from pairtile.methods.mirna_targets.scoring import CODES
from pairtile.methods.mirna_targets.search import SequenceBatch, TargetSearch
from pairtile.report.results import read_results
from pairtile.report.text import page_text
from pairtile.runtime.files import read_json
from pairtile.statistics.correction import benjamini_hochberg
from scipy.stats import chisquare, poisson
from workflow_runs import Analysis

UNIFORM = MarkovChain(np.log(np.full(16, 1 / 16)), np.log(np.full(64, 1 / 4)))


def letters(draw: random.Random, n: int, of: str = "ACGU", weights: Any = None) -> str:
    return "".join(draw.choices(of, weights, k=n))


def pairs_of(text: str) -> Counter[str]:
    return Counter(a + b for a, b in pairwise(text))


def state_of(mirnas: SequenceBatch, transcripts: SequenceBatch) -> dict[str, Any]:
    return {
        "mirna_text": mirnas.text,
        "mirna_offsets": mirnas.offsets,
        "transcript_text": transcripts.text,
        "transcript_offsets": transcripts.offsets,
    }


def codes_of(text: str) -> np.ndarray:
    return CODES[np.frombuffer(text.encode(), np.uint8)]


def biased(draw: random.Random, count: int = 12, of: str = "ACGT") -> SequenceBatch:
    """Transcripts rich in A and U, poor in CG."""
    found = [letters(draw, draw.randint(200, 900), of, [4, 2, 2, 4]) for _ in range(count)]
    return SequenceBatch.of_strings([text.replace("CG", "CA") for text in found])


# --- shuffles -------------------------------------------------------------------------------------


def test_shuffles_keep_dinucleotides_and_differ_from_each_other_and_in_the_seed() -> None:
    draw = random.Random(1)
    mirnas = [letters(draw, draw.randint(18, 25)) for _ in range(9)] + [letters(draw, 30, "ACGUN")]
    chain = transcript_model(biased(draw))[0]
    found, distinct, _ = matched_shuffles(SequenceBatch.of_strings(mirnas), chain, 50, seed=1)
    for row, mirna in enumerate(mirnas):
        mine = texts(found)[50 * row : 50 * row + 50]
        assert all(pairs_of(text) == pairs_of(mirna) for text in mine)
        assert len(set(mine)) == distinct[row] == 50
        assert all(text[1:8] != mirna[1:8] for text in mine)


def test_every_shuffle_is_drawn_as_often() -> None:
    mirna = codes_of("ACAGACUA")
    draws = 6000
    drawn = Shuffles(
        np.empty(draws * len(mirna), np.uint8),
        np.empty((1, draws), np.uint64),
        np.empty((1, draws)),
        np.empty((1, draws), np.bool_),
    )
    offsets = np.array([0, len(mirna)], np.int64)
    shuffle_mirnas(mirna, offsets, np.array([7], np.uint64), UNIFORM, drawn)
    seen = Counter(drawn.key[0].tolist())
    # Paths A?A?A??A: orders of the loops ACA, AGA and ACUA, told apart by what follows the Cs.
    assert len(seen) == 6
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_shuffles_are_expected_as_often_as_their_mirna() -> None:
    draw = random.Random(2)
    transcripts = biased(draw, 30)
    chain, _ = transcript_model(transcripts)
    mirnas = SequenceBatch.of_strings([letters(draw, 22) for _ in range(20)])
    found, _, mismatch = matched_shuffles(mirnas, chain, 100, seed=1)
    unmatched = [log_canonical_probability(codes_of(text), chain) for text in texts(found)]
    own = [log_canonical_probability(codes_of(text), chain) for text in texts(mirnas)]
    mean = np.log(np.exp(np.reshape(unmatched, (20, 100))).mean(axis=1)) - own
    np.testing.assert_allclose(np.abs(mean), mismatch, atol=1e-9)
    assert np.median(mismatch) < 0.05


def test_shuffles_depend_on_the_seed_and_the_mirna_and_on_no_other_mirna() -> None:
    draw = random.Random(3)
    chain = transcript_model(biased(draw))[0]
    mirnas = [letters(draw, 22) for _ in range(300)]

    def drawn(rows: list[int], seed: int) -> list[str]:
        some = SequenceBatch.of_strings([mirnas[row] for row in rows])
        return texts(matched_shuffles(some, chain, 20, seed)[0])

    whole = drawn(list(range(300)), 1)
    assert drawn([299, 4], 1) == whole[-20:] + whole[80:100]
    assert drawn([4], 2) != whole[80:100]


def test_a_mirna_without_enough_shuffles_is_named_in_a_warning() -> None:
    mirnas = SequenceBatch.of_strings(["A" * 22, "UGAGGUAGUAGGUUGUAUAGUU"])
    transcripts = biased(random.Random(4), 3)
    state = state_of(mirnas, transcripts)
    found = prepare_null(state, AlignmentConfig(energies=False), 25, 1)
    assert (
        texts(SequenceBatch(found.state["null_text"], found.state["null_offsets"]))[:25]
        == ["A" * 22] * 25
    )
    assert found.messages[-1].startswith("1 of 2 miRNAs have fewer than 20 different shuffles")


# --- words and pair scores ------------------------------------------------------------------------


def naive_log(word: str, chain: MarkovChain) -> float:
    code = {letter: k for k, letter in enumerate("ACGU")}
    total = chain.start[4 * code[word[0]] + code[word[1]]]
    for a, b, c in zip(word, word[1:], word[2:], strict=False):
        total += chain.step[16 * code[a] + 4 * code[b] + code[c]]
    return float(total)


def test_words_have_the_probabilities_of_the_chain() -> None:
    draw = random.Random(5)
    chain, _ = transcript_model(biased(draw))
    mirna = letters(draw, 22)
    opposite = mirna[::-1].translate(str.maketrans("ACGU", "UGCA"))
    eight, seven, late = opposite[-8:-1], opposite[-7:-1], opposite[-8:-2]
    words = SiteWords.of_mirnas(SequenceBatch.of_strings([mirna]), chain)
    wanted = [eight + "A", eight, seven + "A", seven, late]
    logs = [naive_log(word, chain) for word in wanted]
    np.testing.assert_allclose(words.log_probability[0], logs)
    counts = [[word.count(letter) for letter in "ACGU"] for word in wanted]
    np.testing.assert_array_equal(words.letters[0], counts)
    p = np.exp(logs)
    canonical = log_canonical_probability(codes_of(mirna), chain)
    assert math.exp(canonical) == pytest.approx(p[1] + p[2] - p[0])


def naive_score(expected: np.ndarray, rates: np.ndarray, sites: list[tuple[int, int]]) -> float:
    """From the definition: of the k strongest sites, k = 1, 2, ..., the least Poisson tail."""
    tails = [1.0]
    for k, (seed_class, step) in enumerate(sorted(sites, reverse=True), 1):
        mean = sum(expected[c] * rates[c, 0] for c in range(seed_class + 1, CLASSES))
        mean += expected[seed_class] * rates[seed_class, step]
        tails.append(float(poisson.sf(k - 1, mean)))
    return -math.log10(min(tails))


def test_pair_scores_are_those_of_their_definition() -> None:
    draw = np.random.default_rng(6)
    lines = random.Random(6)
    transcripts = biased(lines, 7)
    chain, background = transcript_model(transcripts)
    mirnas = SequenceBatch.of_strings([letters(lines, 22) for _ in range(5)])
    words = SiteWords.of_mirnas(mirnas, chain)
    rates = np.sort(draw.random((CLASSES, SCORE_BINS)), axis=1)[:, ::-1].copy()
    count = draw.integers(1, 6, 40)
    sites = PairSites(
        np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        draw.integers(0, 5, 40),
        draw.integers(0, 7, 40),
        draw.integers(0, CLASSES, count.sum()).astype(np.int8),
        draw.integers(0, SCORE_BINS, count.sum()).astype(np.int8),
    )
    scores = np.empty(40, np.float32)
    score_pairs(sites, words, background, rates, scores)
    for pair in range(40):
        i, j = sites.mirna[pair], sites.transcript[pair]
        log = words.log_probability[i] + words.letters[i] @ background.log_ratio[j]
        a8, m8, a7, m7, late = background.places[j] * np.exp(log)
        expected = np.maximum(
            [background.places[j], late - m8, m7 - a7 - (m8 - a8), a7 - a8, m8 - a8, a8], 0
        )
        some = slice(sites.first[pair], sites.first[pair + 1])
        found = list(
            zip(sites.seed_class[some].tolist(), sites.score_bin[some].tolist(), strict=True)
        )
        assert scores[pair] == pytest.approx(naive_score(expected, rates, found), rel=1e-5)


@pytest.mark.parametrize("mean", [1e-9, 0.03, 1.0, 40.0, 700.0])
def test_poisson_tails_are_those_of_scipy(mean: float) -> None:
    for count in (1, 2, 7, 60):
        assert at_least(count, mean) == pytest.approx(poisson.sf(count - 1, mean), rel=1e-9)


def test_p_is_the_share_of_shuffled_pairs_that_score_as_high_and_goes_on_from_their_tail() -> None:
    draw = np.random.default_rng(7)
    drawn = [draw.exponential(x, 3000).astype(np.float32) for x in (1.0, 2.0)]
    counts = np.stack(
        [np.histogram(x, np.r_[np.arange(PAIR_BINS) * PAIR_STEP, np.inf])[0] for x in drawn]
    )
    null = PairNull.of_counts(counts, np.array([5000, 4000]))
    score = np.array([0.0, 0.43, 2.02, 2.02], np.float32)
    mirna = np.array([0, 0, 0, 1])
    p = 10 ** null.log_p(mirna, score)
    steps = [np.floor(x / PAIR_STEP) for x in drawn]
    at = np.floor(score / PAIR_STEP)
    wanted = [
        (1 + (steps[i] >= s).sum()) / (1 + (5000, 4000)[i]) for i, s in zip(mirna, at, strict=True)
    ]
    np.testing.assert_allclose(p, [1.0, *wanted[1:]])
    # Beyond: never tied, ever falling, no faster than the score is a -log10 of a probability.
    far = np.arange(0.0, 40.0, 0.013)
    for row in range(2):
        log_p = null.log_p(np.full(len(far), row), far)
        falls = -np.diff(log_p[far > drawn[row].max() + 4.0]) / 0.013
        assert (np.diff(log_p) <= 0).all()
        assert (falls > 0.15).all()
        assert (falls <= 1.0 + 1e-9).all()
        assert (
            (steps[row] >= null.last[row]).sum() >= MIN_ABOVE > (steps[row] > null.last[row]).sum()
        )
        # As many above far values as an exponential of that mean has.
        assert log_p[far >= 15][0] <= np.log10(100 * np.exp(-15 / (1.0, 2.0)[row]))


def test_ratios_and_p_of_seed_classes_come_from_the_shuffles() -> None:
    draw = np.random.default_rng(8)
    observed, shuffled = draw.integers(5, 40, CLASSES), draw.integers(5, 40, (99, CLASSES))
    table = class_table(observed, shuffled)
    eight = shuffled[:, 5]
    assert table["expected"][5] == eight.mean()
    assert table["ratio"][5] == observed[5] / eight.mean()
    assert table["ratio_low"][5] == observed[5] / np.quantile(eight, 0.975)
    assert table["p_value"][5] == (1 + (eight >= observed[5]).sum()) / 100
    assert table["sites"][-2] == observed[3:].sum()
    assert table["sites"][-1] == observed.sum()


# --- counts of tiles ------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"strict": True}, {"score": 110.0, "gap_open": -2.0}])
def test_sites_are_the_hits_and_their_seed_classes(more: dict[str, Any], tmp_path: Path) -> None:
    """Sites without letters against the hits' table, which reads classes from the letters."""
    write_random(tmp_path, 12, 12)
    estimator = {"energies": False} | more
    analysis = Analysis(tmp_path, plain(estimator=estimator)).all()
    hits = pd.read_parquet(analysis.out / "hits.parquet")
    pairs = pd.read_parquet(analysis.out / "pairs.parquet")
    opened = analysis.plan.open_estimator(analysis.model, analysis.out / "state", "cpu")
    order = np.asarray(opened.state["transcript_order"])
    sites = opened.search.sites(0, 12, np.arange(12))
    table = pd.DataFrame({"i": sites.i, "j": order[sites.j] + 12})
    table = table.assign(score=sites.score, seed=[SEED_CLASSES[k] for k in sites.seed_class])
    table = table.sort_values(["i", "j"], kind="stable", ignore_index=True)
    wanted = pairs[["i", "j", "score"]].assign(seed=hits["seed_class"].to_numpy())
    pd.testing.assert_frame_equal(table, wanted, check_dtype=False)
    assert len(table) >= 12


@pytest.mark.parametrize("energy", [1.0, -12.0])
def test_counts_are_those_of_a_search_of_every_shuffle(energy: float) -> None:
    mirnas_of, transcripts_of = random_sequences()
    mirnas = SequenceBatch.of_strings(list(mirnas_of.values())[:4])
    transcripts = SequenceBatch.of_strings(sorted(transcripts_of.values(), key=len))
    settings = AlignmentConfig(energy=energy, score=120.0)
    state = state_of(mirnas, transcripts)
    made = prepare_null(state, settings, 20, 1).state
    counts = NullCounts(state | made, settings, transcripts, 20, choose("cpu"))
    allowed = np.random.default_rng(9).random((4, len(transcripts))) < 0.8
    allowed[2] = False
    columns = np.arange(len(transcripts))
    found = counts.of_shuffles(range(4), columns, allowed, at_once=7)
    assert found["null_site_counts"].sum() == found["null_mirna_sites"].sum() > 0
    shuffles = SequenceBatch(made["null_text"], made["null_offsets"])
    search = TargetSearch(shuffles, transcripts, settings, choose("cpu"))
    hits = search.hits(0, 80, columns, np.repeat(allowed, 20, axis=0))
    i = hits["i"].to_numpy()
    by_mirna = found["null_mirna_sites"].sum(axis=1)
    assert by_mirna.tolist() == np.bincount(i // 20, minlength=4).tolist()
    by_shuffle = found["null_site_counts"].sum(axis=(1, 2))
    assert by_shuffle.tolist() == np.bincount(i % 20, minlength=20).tolist()
    pairs = set(zip(i.tolist(), hits["j"].to_pylist(), strict=True))
    assert found["null_pair_score_counts"].sum() == len(pairs)


@pytest.mark.gpu
@pytest.mark.parametrize("more", [{}, {"strict": True}, {"energy": -15.0, "score": 120.0}])
def test_counts_are_the_same_on_the_gpu(more: dict[str, Any]) -> None:
    draw = random.Random(10)
    mirnas = SequenceBatch.of_strings([letters(draw, draw.randint(17, 26)) for _ in range(9)])
    transcripts = SequenceBatch.of_strings(sorted(texts(biased(draw, 40)), key=len))
    settings = AlignmentConfig(**more)
    state = state_of(mirnas, transcripts)
    state |= prepare_null(state, settings, 50, 1).state
    found = []
    for backend in ("cpu", "cuda"):
        counts = NullCounts(state, settings, transcripts, 50, choose(backend))
        scores, real = counts.of_mirnas(range(9), np.arange(40), None)
        found.append((scores, real | counts.of_shuffles(range(9), np.arange(40), None, 200)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for name, values in found[0][1].items():
        np.testing.assert_array_equal(values, found[1][1][name], err_msg=name)
    assert found[0][1]["null_site_counts"].sum() > 0


@pytest.mark.gpu
def test_tiles_are_the_same_on_the_gpu(tmp_path: Path) -> None:
    write_random(tmp_path, 12, 12)
    analysis = Analysis(tmp_path, plain(null={"shuffles": 20}, estimator={"energies": True})).all()
    made = []
    for backend in ("cpu", "cuda"):
        opened = analysis.plan.open_estimator(analysis.model, analysis.out / "state", backend)
        (tile,) = analysis.plan.tiles
        made.append(opened.score_tile(tile, Selection(everything=True)))
    for part in (0, 1):
        for name, values in made[0][part].items():
            other = made[1][part][name]
            assert np.array_equal(np.asarray(values), np.asarray(other)), name


def test_the_null_does_not_depend_on_tiles_and_chunks_and_changes_no_hit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_random(tmp_path)
    files = ("targets.tsv", "signal.tsv", "signal_curve.tsv", "network.tsv", "pairs.parquet")
    asked = {"null": {"shuffles": 20}}
    whole = Analysis(tmp_path, plain(**asked), name="whole").all().out
    monkeypatch.setattr(mirna_targets, "MIRNAS_OF_A_TILE", 2)
    monkeypatch.setattr(mirna_targets, "TRANSCRIPTS_OF_A_TILE", 4)
    monkeypatch.setattr(mirna_targets, "SHUFFLED_HITS_AT_ONCE", 1)
    parts = Analysis(tmp_path, plain(chunks=4, **asked), name="parts").all().out
    for name in files:
        assert (whole / name).read_bytes() == (parts / name).read_bytes(), name
    without = Analysis(tmp_path, plain(), name="without").all().out
    for name in ("miranda.txt", "hits.tsv", "hits.bed", "hits.gff3"):
        assert (whole / name).read_bytes() == (without / name).read_bytes(), name
    assert not (without / "signal.tsv").exists()
    ranked = pd.read_csv(whole / "targets.tsv", sep="\t")
    assert list(ranked.columns[:5]) == ["mirna", "transcript", "pair_score", "p_value", "q_value"]
    assert ranked["joint_p_value"].is_monotonic_increasing
    found = ranked["joint_q_value"] <= 0.05
    assert read_json(whole / "summary.json")["counts"]["edges_q_below_0.05"] == found.sum()
    network = pd.read_csv(whole / "network.tsv", sep="\t")
    assert list(ranked["mirna"] + ranked["transcript"]) == list(
        network["source"] + network["target"]
    )
    np.testing.assert_allclose(network["p_value"], ranked["p_value"], rtol=1e-3)
    # The planted sites, whole miRNAs of 17 letters, lead.
    planted = {(f"mir-{k % 6}", f"tr-{k}") for k in range(9)}
    assert set(zip(ranked["mirna"][:9], ranked["transcript"][:9], strict=True)) == planted
    assert (ranked["q_value"][:9] <= 0.05).all()
    signal = pd.read_csv(whole / "signal.tsv", sep="\t", keep_default_na=True)
    of_all = signal[(signal["mirna"] == "all") & (signal["min_score"] == 140)]
    of_all = of_all.set_index("seed_class")
    hits = pd.read_csv(whole / "hits.tsv", sep="\t")
    assert of_all.loc["all", "sites"] == len(hits)
    assert of_all.loc["8mer", "sites"] == (hits["seed_class"] == "8mer").sum()
    assert of_all.loc["8mer", "p_value"] == pytest.approx(1 / 21, rel=1e-3)


@pytest.mark.parametrize("restrict", [False, True])
def test_genes_have_the_p_of_their_best_transcript_times_their_transcripts(
    tmp_path: Path, restrict: bool
) -> None:
    write_random(tmp_path)
    (tmp_path / "genes.tsv").write_text("tr-0\tG\ntr-1\tG\ntr-2\tG\n")
    changes = plain(null={"shuffles": 20}, genes="genes.tsv")
    pairs = {(f"mir-{i}", f"tr-{j}") for i in range(6) for j in range(9)}
    if restrict:
        pairs = {(a, b) for a, b in pairs if (int(a[-1]) + int(b[-1])) % 3 < 2}
        lines = "".join(f"{a}\t{b}\n" for a, b in sorted(pairs))
        (tmp_path / "pairs.tsv").write_text(lines)
        changes |= {"restrict": "pairs.tsv"}
    out = Analysis(tmp_path, changes).all().out
    targets = pd.read_csv(out / "targets.tsv", sep="\t")
    assert set(zip(targets["mirna"], targets["transcript"], strict=True)) <= pairs
    q = benjamini_hochberg(targets["p_value"], len(pairs))
    np.testing.assert_allclose(targets["q_value"], q, rtol=2e-3)
    edges = pd.read_csv(out / "network.tsv", sep="\t").set_index(["source", "target"])
    of_gene = targets[targets["transcript"].isin(["tr-0", "tr-1", "tr-2"])]
    for mirna, rows in of_gene.groupby("mirna"):
        scanned = sum(a == mirna and b in ("tr-0", "tr-1", "tr-2") for a, b in pairs)
        wanted = min(1.0, scanned * rows["p_value"].min())
        assert edges.loc[(mirna, "G"), "p_value"] == pytest.approx(wanted, rel=1e-3)
    genes = {(a, "G" if b in ("tr-0", "tr-1", "tr-2") else b) for a, b in pairs}
    q = benjamini_hochberg(edges["p_value"], len(genes))
    np.testing.assert_allclose(edges["q_value"], q, rtol=2e-3)
    assert edges["joint_p_value"].is_monotonic_increasing
    counts = read_json(out / "summary.json")["counts"]
    found = (edges["joint_q_value"] <= 0.05).sum()
    assert counts["edges_q_below_0.05"] == found
    assert restrict or found > 0


def test_a_gold_standard_is_compared_with_the_order_of_p(tmp_path: Path) -> None:
    write_random(tmp_path)
    known = "".join(f"mir-{k % 6}\ttr-{k}\n" for k in range(9))
    (tmp_path / "gold.tsv").write_text("source\ttarget\n" + known)
    changes = plain(null={"shuffles": 20}, gold_standard="gold.tsv")
    out = Analysis(tmp_path, changes).all().out
    assert read_json(out / "evaluation.json")["aupr"] == pytest.approx(1.0)


@pytest.mark.parametrize("empty", ["mirnas.fa", "transcripts.fa"])
def test_without_sequences_there_are_no_sites_and_no_signal(tmp_path: Path, empty: str) -> None:
    write_random(tmp_path)
    (tmp_path / empty).write_text("")
    out = Analysis(tmp_path, plain(null={"shuffles": 20})).all().out
    signal = pd.read_csv(out / "signal.tsv", sep="\t")
    assert (signal["sites"] == 0).all()
    assert pd.read_csv(out / "targets.tsv", sep="\t").empty
    assert "p_value" in pd.read_csv(out / "network.tsv", sep="\t")


def test_composition_and_chain_are_those_of_all_letters() -> None:
    transcripts = biased(random.Random(11), 6)
    whole = transcript_model(transcripts)
    letters_of = [Counter(text) for text in texts(transcripts)]
    share = [sum(of[letter] for of in letters_of) + 1 for letter in "ACGT"]
    share = np.array(share) / sum(share)
    own = np.array([[of[letter] for letter in "ACGT"] for of in letters_of]) + 200.0 * share
    ratio = np.log(own / own.sum(axis=1, keepdims=True) / share)
    np.testing.assert_allclose(whole[1].log_ratio, ratio)
    counted = Counter(text[k : k + 3] for text in texts(transcripts) for k in range(len(text) - 2))
    step = np.exp(whole[0].step).reshape(4, 4, 4)
    total = sum(counted["AC" + letter] + 1 for letter in "ACGT")
    assert step[0, 1, 2] == pytest.approx((counted["ACG"] + 1) / total)


def test_the_page_begins_with_signal_and_chance(tmp_path: Path) -> None:
    write_random(tmp_path)
    out = Analysis(tmp_path, plain(null={"shuffles": 20}, estimator={"energies": False})).all().out
    results = read_results(out)
    with np.load(out / "scores.npz") as scores:
        expected = scores["null_expected"][-1]
    assert page_text(results).rows("key_numbers")[1][0] == f"{expected:.0f}"
    assert next(iter(FIGURES)) == "signal"
    drawn = FIGURES["signal"](results)
    assert drawn is not None
    assert len(drawn.figure.axes) == 2
