"""All seed matches, whatever their alignment score, and the joint rank of pairs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hand_made_hits import texts
from mirna_sequences import plain, write_random
from pairtile import mirna_signal, mirna_targets
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.evidence import (
    Evidence,
    collect_evidence,
    correlation_p_values,
    joint_gains,
    joint_log_p,
    score_slope,
)
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.null import PairNull, prepare_null
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from pairtile.methods.mirna_targets.seed_sites import SeedIndex, class_counts
from pairtile.statistics.correction import benjamini_hochberg
from scipy.stats import rankdata
from workflow_runs import Analysis

OPPOSITE = str.maketrans("ACGU", "UGCA")


def naive_sites(mirna: str, transcript: str) -> list[tuple[str, int]]:
    """Class and place of the letter opposite position 2, from 1, read off the letters."""
    transcript = transcript.upper().replace("T", "U")
    word = mirna.upper().replace("T", "U")[1:8][::-1].translate(OPPOSITE)
    if len(mirna) < 8:
        word = f"-{word}"
    if len(mirna) < 7 or set(word[1:]) - set("ACGU"):
        return []
    found = []
    for begin in range(len(transcript) - 5):
        if transcript[begin : begin + 6] == word[1:]:
            eight = begin > 0 and transcript[begin - 1] == word[0] and word[0] in "ACGU"
            a = transcript[begin + 6 : begin + 7] == "A"
            kind = {(True, True): "8mer", (True, False): "7mer-m8", (False, True): "7mer-A1"}
            found.append((kind.get((eight, a), "6mer"), begin + 6))
    return found


def test_all_seed_matches_are_found_with_their_class() -> None:
    draw = random.Random(1)
    mirnas = ["".join(draw.choices("ACGUN", [9, 9, 9, 9, 1], k=n)) for n in (22, 8, 3, 21, 19)] + [
        "UGAGGUA"
    ]
    mirnas += ["UAAAAAAAA", "uGAGGUAGt"]
    transcripts = ["".join(draw.choices("ACGTN", k=draw.randint(1, 4000))) for _ in range(12)]
    transcripts += ["CTACCTCA", "CTACCTC", "TACCTC", "AAAAAA", "", "T" * 30]
    for mirna in mirnas[:2]:  # at both ends
        word = mirna[1:8][::-1].translate(OPPOSITE)
        transcripts += [word + "ACGU" * 9, "ACGU" * 9 + word, word[1:] + "A"]
    index = SeedIndex(SequenceBatch.of_strings(transcripts))
    found = index.sites(SequenceBatch.of_strings(mirnas))
    named = [SEED_CLASSES[k] for k in found.seed_class]
    got = list(zip(found.i.tolist(), found.j.tolist(), named, found.seed_end.tolist(), strict=True))
    wanted = [
        (i, j, *site)
        for i, mirna in enumerate(mirnas)
        for j, transcript in enumerate(transcripts)
        for site in naive_sites(mirna, transcript)
    ]
    assert got == wanted
    assert {site[2] for site in got} == {"8mer", "7mer-m8", "7mer-A1", "6mer"}
    best = found.best()
    pairs = sorted({site[:2] for site in got})
    assert list(zip(best.i.tolist(), best.j.tolist(), strict=True)) == pairs
    for i, j, seed_class, end in zip(*(values.tolist() for values in best), strict=True):
        own = [(-SEED_CLASSES.index(site[2]), site[3]) for site in got if site[:2] == (i, j)]
        assert (-seed_class, end) == min(own)
    counts = class_counts(found).set_index(["i", "j"])
    assert int(counts.to_numpy().sum()) == len(got)
    assert counts.loc[pairs[0], "sites_6mer"] == sum(
        site[:2] == pairs[0] and site[2] == "6mer" for site in got
    )


def written(folder: Path, name: str, **changes: Any) -> Path:
    return Analysis(folder, plain(**changes), name=name).all().out


@pytest.mark.parametrize("null", [False, {"shuffles": 20}])
def test_seed_sites_stand_beside_the_hits(tmp_path: Path, null: Any) -> None:
    write_random(tmp_path, 12, 9)
    without = written(tmp_path, "without", null=null)
    out = written(tmp_path, "all", null=null, estimator={"seed_sites": True})
    for name in ("miranda.txt", "hits.tsv", "hits.bed", "hits.gff3"):
        assert (out / name).read_bytes() == (without / name).read_bytes(), name
    assert not (without / "seed_sites.tsv").exists()
    sites = pd.read_csv(out / "seed_sites.tsv", sep="\t")
    hits = pd.read_parquet(out / "hits.parquet")
    matched = hits[hits["seed_class"].isin(["6mer", "7mer-A1", "7mer-m8", "8mer"])]
    place = ["mirna", "transcript", "seed_class", "seed_begin", "seed_end"]
    kept = sites[sites["hit_rank"].notna()]
    assert set(map(tuple, kept[place].values)) == set(map(tuple, matched[place].values))
    assert 0 < len(kept) < len(sites)
    # Each pair with a hit or a site has a row, and an edge in the same order.
    targets = pd.read_csv(out / "targets.tsv", sep="\t")
    pairs = list(zip(targets["mirna"], targets["transcript"], strict=True))
    of_hits = set(zip(hits["mirna"], hits["transcript"], strict=True))
    of_sites = set(zip(sites["mirna"], sites["transcript"], strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == of_hits | of_sites > of_hits
    assert (targets["n_hits"] > 0).tolist() == [pair in of_hits for pair in pairs]
    for name in ("8mer", "7mer-m8", "7mer-A1", "6mer"):
        own = sites[sites["seed_class"] == name].groupby(["mirna", "transcript"]).size()
        found = targets[f"sites_{name.replace('-', '_')}"].tolist()
        assert found == [own.get(pair, 0) for pair in pairs]
    network = pd.read_csv(out / "network.tsv", sep="\t")
    assert sorted(zip(network["source"], network["target"], strict=True)) == sorted(pairs)
    if null:
        assert list(zip(network["source"], network["target"], strict=True)) == pairs
        assert targets["joint_p_value"].is_monotonic_increasing


def test_the_library_has_seed_sites_too(tmp_path: Path) -> None:
    write_random(tmp_path)
    out = written(tmp_path, "run", null={"shuffles": 20}, estimator={"seed_sites": True})
    files = tmp_path / "mirnas.fa", tmp_path / "transcripts.fa"
    wanted = pd.read_csv(out / "targets.tsv", sep="\t")
    sites = pd.read_csv(out / "seed_sites.tsv", sep="\t")
    found = mirna_signal(*files, shuffles=20, seed=3, seed_sites=True, backend="cpu")
    some = wanted.columns.drop("positions")  # text or missing; pandas reads numbers
    pd.testing.assert_frame_equal(found.targets[some], wanted[some], check_dtype=False)
    assert found.seed_sites is not None
    pd.testing.assert_frame_equal(found.seed_sites, sites, check_dtype=False)
    hits = mirna_targets(*files, seed_sites=True, backend="cpu")
    pd.testing.assert_frame_equal(hits.attrs["seed_sites"], sites, check_dtype=False)


# --- the joint rank -------------------------------------------------------------------------------


def simulated(seed: int, planted: int, **more: Any) -> tuple[Evidence, np.ndarray, Any]:
    """Ten miRNAs on 150 transcripts; ``planted`` 8mers of each on transcripts that go down with it
    over 20 samples, correlated -.7 to -.95. Long transcripts share a course. Also which of the own
    pairs are planted."""
    draw = np.random.default_rng(seed)
    mirnas = ["".join(draw.choice(list("ACGU"), 22)) for _ in range(10)]
    lengths = np.sort(draw.integers(150, 1600, 150))
    transcripts = [list(draw.choice(list("ACGU"), n)) for n in lengths]
    courses, shared = draw.normal(size=(10, 20)), draw.normal(size=20)
    courses[:3] += shared
    values = draw.normal(size=(150, 20)) + np.outer((lengths - 800) / 800, shared)
    values /= values.std(axis=1, keepdims=True)
    truth = np.zeros((10, 150), bool)
    for i, mirna in enumerate(mirnas):
        for j in draw.choice(150, planted, replace=False):
            at = int(draw.integers(9, lengths[j] - 20))
            transcripts[j][at : at + 8] = mirna[1:8][::-1].translate(OPPOSITE) + "A"
            r = draw.uniform(0.7, 0.95)
            own = (courses[i] - courses[i].mean()) / courses[i].std()
            values[j] -= r / np.sqrt(1 - r * r) * own
            truth[i, j] = True
    batches = [
        SequenceBatch.of_strings(["".join(x) for x in some]) for some in (mirnas, transcripts)
    ]
    state: dict[str, Any] = {}
    for kind, batch in zip(("mirna", "transcript"), batches, strict=True):
        state |= {f"{kind}_text": batch.text, f"{kind}_offsets": batch.offsets}
    state |= prepare_null(state, AlignmentConfig(energies=False), 50, seed).state
    for kind, of in (("mirna", courses), ("transcript", values)):
        state[f"{kind}_ranks"] = (2 * rankdata(of, axis=1) - 21).astype(np.int32)
    evidence = collect_evidence(state, 50, None, True)
    return evidence, truth[evidence.own["i"], evidence.own["j"]], state


def joint_and_site_p(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """log10 of both, of the own pairs of ``simulated``."""
    i, score = evidence.own["i"].to_numpy(), evidence.own["seed_score"].to_numpy(np.float64)
    gain, share = joint_gains(evidence, score_slope(score, evidence.counts))
    null = PairNull.of_counts(evidence.counts, np.full(10, 50 * 150))
    return joint_log_p(share, null, i, score + gain), null.log_p(i, score)


def average_precision(log_p: np.ndarray, truth: np.ndarray) -> float:
    found = truth[np.argsort(log_p, kind="stable")]
    return float((found * np.cumsum(found) / np.arange(1, len(found) + 1)).sum() / found.sum())


def test_repressed_pairs_are_found_and_few_others() -> None:
    """The null holds no transcripts with own sites: else the planted ones themselves are its tail.
    Of those found at q <= .1, at most one in ten is false, of those planted most are found."""
    false, found, planted, of_joint, false_joint = 0, 0, 0, 0, 0
    small = []
    for seed in range(3):
        evidence, truth, _ = simulated(seed, 12)
        p = correlation_p_values(evidence)
        accepted = benjamini_hochberg(p) <= 0.1
        false += int((accepted & ~truth).sum())
        found += int((accepted & truth).sum())
        planted += int(truth.sum())
        small.append((p[~truth] <= 0.05).mean())
        log_p, of_sites = joint_and_site_p(evidence)
        accepted = benjamini_hochberg(10**log_p, 1500) <= 0.1
        of_joint += int((accepted & truth).sum())
        false_joint += int((accepted & ~truth).sum())
        assert average_precision(log_p, truth) > average_precision(of_sites, truth) + 0.1
    assert found >= 0.8 * planted
    assert false <= 0.12 * (found + false)
    assert np.mean(small) <= 0.08
    assert of_joint >= 0.8 * planted
    assert false_joint <= 0.12 * (of_joint + false_joint)


def test_without_repression_nothing_is_found() -> None:
    shares, any_found = [], 0
    for seed in range(4):
        evidence, _, _ = simulated(seed, 0)
        p = correlation_p_values(evidence)
        shares.append((p <= 0.05).mean())
        log_p, _ = joint_and_site_p(evidence)
        any_found += bool((benjamini_hochberg(10**log_p, 1500) <= 0.05).any())
        assert (10**log_p <= 0.05).sum() <= 0.07 * 1500
    assert np.mean(shares) <= 0.08
    assert any_found <= 1


def test_correlations_are_compared_with_transcripts_without_an_own_site() -> None:
    """p from its definition, site by site."""
    evidence, _, state = simulated(7, 8)
    mirnas, drawn, transcripts = (
        texts(SequenceBatch.of_state(state, kind)) for kind in ("mirna", "null", "transcript")
    )
    ranks = state["mirna_ranks"].astype(float), state["transcript_ranks"].astype(float)
    unit = [of / np.sqrt((of**2).sum(axis=1, keepdims=True)) for of in ranks]
    fisher = np.arctanh(unit[0] @ unit[1].T)
    of_null, weights, of_own = [], [], {}
    for i in range(10):
        words = [mirna[1:7][::-1].translate(OPPOSITE) for mirna in (mirnas[i], *drawn[50 * i :])]
        own = {j for j, text in enumerate(transcripts) if words[0] in text}
        assert len(own) < 100  # of 150: more than a third are without
        pairs = [j for w in words[1:51] for j, text in enumerate(transcripts) if w in text]
        number = np.bincount(pairs, minlength=150)
        free = np.array([j not in own for j in pairs])
        weight = free / (1 - number[pairs] / 51)
        mean = np.average(fisher[i, pairs], weights=weight)
        spread = np.sqrt(np.average((fisher[i, pairs] - mean) ** 2, weights=weight))
        z = (fisher[i] - mean) / spread
        of_null += z[pairs].tolist()
        weights += (weight / weight.sum() * len(set(pairs) - own)).tolist()
        of_own |= {(i, j): z[j] for j in own}
    null, weight = np.array(of_null), np.array(weights)
    keys = list(zip(evidence.own["i"], evidence.own["j"], strict=True))
    assert keys == sorted(of_own)
    wanted = [
        (1 + weight[null <= of_own[key] + 1e-12].sum()) / (1 + weight.sum())
        for key in sorted(of_own)
    ]
    np.testing.assert_allclose(correlation_p_values(evidence), wanted, rtol=1e-6)
