"""Whether the null of ``mirna_targets`` holds, for miRNAs without targets and for planted sites.

    PYTHONPATH=workflow python -m benchmarks.validity mirna_targets [--quick]

Transcripts are random, with a composition of their own each and few CG. The tables are those that
the workflow makes, of all miRNAs with all transcripts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile.api.settings import analysis_config
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.null import (
    CLASS_ROWS,
    class_table,
    matched_shuffles,
    transcript_model,
)
from pairtile.methods.mirna_targets.score import MirnaTargets
from pairtile.methods.mirna_targets.search import SequenceBatch
from pairtile.statistics.evaluation import ranking_curve

from benchmarks.validity.claims import claim, mean_at_most, of_mean, of_share

COMMAND = "python -m benchmarks.validity mirna_targets"
MIRNAS, TRANSCRIPTS, SHUFFLES = 40, 60, 100
LEVEL, BAR = 0.05, 0.07
PLANTED_PAIRS = 40
KINDS = ("8mer", "7mer-m8", "7mer-A1")
LEAST_FOUND = 0.5
"""Share of the planted pairs to be found."""

HUMAN = Path(__file__).resolve().parents[3] / "shared/data/mirna"
OPPOSITE = str.maketrans("ACGU", "UGCA")


class Tested(NamedTuple):
    """Of an analysis: the tests of pairs with a hit, how many pairs there are, the classes, and the
    edges of the network."""

    tests: pd.DataFrame
    pairs: int
    classes: dict[str, NDArray[np.float64]]
    edges: pd.DataFrame


def tested(mirnas: list[str], transcripts: list[str], seed: int, **more: Any) -> Tested:
    """The analysis by the parts that the workflow's steps call."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, sequences in (("mirnas", mirnas), ("transcripts", transcripts)):
            paths[name] = str(Path(folder) / f"{name}.fa")
            text = "".join(f">{name}{k}\n{letters}\n" for k, letters in enumerate(sequences))
            Path(paths[name]).write_text(text)
        config = analysis_config(
            MirnaTargetsConfig,
            backend="cpu",
            estimator={"energies": False} | more,
            null={"shuffles": SHUFFLES},
            **paths,
        )
        state = MirnaTargets.prepare(config, seed).state
    opened = MirnaTargets(config, state, choose("cpu"), "integer")
    merged = merged_in_memory(opened, opened.space(state).tiles(512, 256), seed)
    tests = opened.pair_tests(merged)
    assert tests is not None
    shuffled = merged.sums["null_site_counts"].sum(axis=2)
    classes = class_table(merged.sums["site_counts"].sum(axis=1), shuffled)
    edges = opened.network(merged).edges
    return Tested(tests, len(mirnas) * len(transcripts), classes, edges)


def random_mirnas(draw: np.random.Generator) -> list[str]:
    return ["".join(draw.choice(list("ACGU"), draw.integers(20, 24))) for _ in range(MIRNAS)]


def random_transcripts(draw: np.random.Generator, longest: int = 1500) -> list[str]:
    """Of 200 letters and more; from a third to two thirds of them are A and U."""
    found = []
    for _ in range(TRANSCRIPTS):
        au = draw.uniform(0.33, 0.67) / 2
        share = [au, 0.5 - au, 0.5 - au, au]
        letters = draw.choice(list("ACGU"), draw.integers(200, longest), p=share)
        again = draw.choice(list("AU"), len(letters))
        cg = (letters[:-1] == "C") & (letters[1:] == "G") & (draw.random(len(letters) - 1) < 0.8)
        letters[1:][cg] = again[1:][cg]
        found.append("".join(letters))
    return found


def site(mirna: str, kind: str, draw: np.random.Generator) -> str:
    """A site of one class. Letters opposite positions 9 to 18 pair, too, for a 7mer-A1: its seed
    alone does not reach the score of a hit."""
    seed = mirna[1:8][::-1].translate(OPPOSITE)
    if kind == "8mer":
        return seed + "A"
    if kind == "7mer-m8":
        return seed + str(draw.choice(list("CGU")))
    wrong = str(draw.choice([letter for letter in "ACGU" if letter != seed[0]]))
    return mirna[8:18][::-1].translate(OPPOSITE) + wrong + seed[1:] + "A"


def planted(
    mirnas: list[str], transcripts: list[str], kind: str, each: int, draw: np.random.Generator
) -> tuple[list[str], set[tuple[int, int]]]:
    """Transcripts with ``each`` sites of a class for every chosen pair, and the pairs."""
    chosen = draw.choice(MIRNAS * TRANSCRIPTS, PLANTED_PAIRS, replace=False)
    pairs = {(int(k) // TRANSCRIPTS, int(k) % TRANSCRIPTS) for k in chosen}
    changed = list(transcripts)
    for mirna, transcript in sorted(pairs):
        for _ in range(each):
            text, added = changed[transcript], site(mirnas[mirna], kind, draw)
            at = int(draw.integers(30, len(text) - 30))
            changed[transcript] = text[:at] + added + text[at:]
    return changed, pairs


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims; ``quick`` from fewer tables."""
    tables = 3 if quick else 12
    shuffled = shuffled_human_mirnas(1 if quick else 4) if HUMAN.is_dir() else []
    return [
        *without_targets(tables),
        *shuffled,
        *planted_sites(2 if quick else 8),
        *orders(3 if quick else 10),
    ]


def without_targets(tables: int) -> list[dict[str, Any]]:
    """Random miRNAs: p over all pairs, and pairs with q <= 0.05."""
    rows = []
    settings: dict[str, dict[str, Any]] = {
        "score 140": {},
        "score 120": {"score": 120.0},
        "strict": {"strict": True},
    }
    for words, more in settings.items():
        small: dict[float, list[float]] = {LEVEL: [], 0.01: []}
        any_found = 0
        for table in range(tables):
            draw = np.random.default_rng([table, 1])
            found = tested(random_mirnas(draw), random_transcripts(draw), table, **more)
            for level, shares in small.items():
                shares.append(float((found.tests["p_value"] <= level).sum() / found.pairs))
            any_found += bool((found.tests["q_value"] <= LEVEL).any())
        what = f"random miRNAs and transcripts, {words}"
        rows.append(mean_at_most(what, "of pairs, p <= 0.05", small[LEVEL], LEVEL, BAR, COMMAND))
        rows.append(mean_at_most(what, "of pairs, p <= 0.01", small[0.01], 0.01, 0.014, COMMAND))
        low_high = of_share(any_found, tables)
        rows.append(
            claim(
                what,
                "of tables, any pair with q <= 0.05",
                any_found / tables,
                low_high,
                nominal=LEVEL,
                bar="interval holds 0.05 or less",
                passed=low_high[0] <= LEVEL,
                command=COMMAND,
            )
        )
    return rows


def shuffled_human_mirnas(tables: int) -> list[dict[str, Any]]:
    """Human miRNAs, each shuffled once, on human transcripts: whatever these are like."""
    small, any_found = [], 0
    mirnas = read_fasta(HUMAN / "human_mature_mirna.fa", "mirnas")
    transcripts = read_fasta(HUMAN / "human_chr22_transcripts.fa.gz", "transcripts")
    texts = [
        [
            fasta.text[begin:end].tobytes().decode()
            for begin, end in zip(fasta.offsets[:-1], fasta.offsets[1:], strict=True)
        ]
        for fasta in (mirnas, transcripts)
    ]
    for table in range(tables):
        draw = np.random.default_rng([table, 3])
        some = [texts[0][k] for k in draw.choice(len(texts[0]), MIRNAS, replace=False)]
        on = [texts[1][k] for k in draw.choice(len(texts[1]), 2 * TRANSCRIPTS, replace=False)]
        # One shuffle of each, of many that differ from it in how often they are to be expected.
        codes = SequenceBatch.of(some)
        chain = transcript_model(SequenceBatch.of(on))[0]
        drawn = matched_shuffles(codes, chain, 500, 1000 + table)[0]
        rows = np.arange(MIRNAS) * 500 + draw.integers(500, size=MIRNAS)
        shuffled = drawn.block(rows)
        ends = zip(shuffled.offsets[:-1], shuffled.offsets[1:], strict=True)
        found = tested([shuffled.text[a:b].tobytes().decode() for a, b in ends], on, table)
        small.append(float((found.tests["p_value"] <= LEVEL).sum() / found.pairs))
        any_found += bool((found.tests["q_value"] <= LEVEL).any())
    what = "human miRNAs, each shuffled once, on human transcripts"
    low_high = of_share(any_found, tables)
    return [
        mean_at_most(what, "of pairs, p <= 0.05", small, LEVEL, BAR, COMMAND),
        claim(
            what,
            "of tables, any pair with q <= 0.05",
            any_found / tables,
            low_high,
            nominal=LEVEL,
            bar="interval holds 0.05 or less",
            passed=low_high[0] <= LEVEL,
            command=COMMAND,
        ),
    ]


def planted_sites(tables: int) -> list[dict[str, Any]]:
    """Planted sites: how many the class counts show, which pairs are found, which are false."""
    rows = []
    for kind in KINDS:
        shown, recall, false = [], [], []
        for table in range(tables):
            draw = np.random.default_rng([table, 2])
            mirnas, transcripts = random_mirnas(draw), random_transcripts(draw)
            changed, pairs = planted(mirnas, transcripts, kind, 3, draw)
            found = tested(mirnas, changed, table)
            row = CLASS_ROWS.index(kind)
            excess = found.classes["sites"][row] - found.classes["expected"][row]
            shown.append(float(excess / (3 * PLANTED_PAIRS)))
            kept = found.tests[found.tests["q_value"] <= LEVEL]
            called = set(zip(kept["i"], kept["j"] - MIRNAS, strict=True))
            recall.append(len(called & pairs) / len(pairs))
            false.append(len(called - pairs) / max(len(called), 1))
        what = f"three planted sites of class {kind} in {PLANTED_PAIRS} pairs"
        mean = float(np.mean(shown))
        rows.append(
            claim(
                what,
                "sites beyond the shuffles', of those planted",
                mean,
                of_mean(shown),
                nominal=1.0,
                bar="0.8 to 1.2",
                passed=0.8 <= mean <= 1.2,
                command=COMMAND,
            )
        )
        mean = float(np.mean(recall))
        rows.append(
            claim(
                what,
                "of these pairs, q <= 0.05",
                mean,
                of_mean(recall),
                nominal=1.0,
                bar=f"at least {LEAST_FOUND:g}",
                passed=mean >= LEAST_FOUND,
                command=COMMAND,
            )
        )
        rows.append(
            mean_at_most(what, "of pairs with q <= 0.05, false", false, LEVEL, 0.08, COMMAND)
        )
    return rows


def orders(tables: int) -> list[dict[str, Any]]:
    """Pairs with one to three planted sites in the order of p, and in those that miRanda gives.
    Transcripts have up to 6,000 letters, as human ones."""
    found: dict[str, list[float]] = {}
    for table in range(tables):
        draw = np.random.default_rng([table, 4])
        mirnas, changed = random_mirnas(draw), random_transcripts(draw, 6000)
        truth: set[tuple[int, int]] = set()
        for kind in KINDS:
            for each in (1, 2, 3):
                changed, pairs = planted(mirnas, changed, kind, each, draw)
                truth |= pairs
        edges = tested(mirnas, changed, table, energies=True).edges
        ends = zip(edges["source"], edges["target"] - MIRNAS, strict=True)
        known = np.array([pair in truth for pair in ends])
        by = {
            "p": edges["neg_log10_p"] + 1e-6 * edges["pair_score"],
            "total score": edges["total_score"],
            "greatest score": edges["score"],
            "lowest energy": -edges["energy_kcal_mol"],
        }
        for name, values in by.items():
            curve, _ = ranking_curve(
                values.to_numpy(np.float64),
                np.ones(len(known), dtype=bool),
                known,
                top=len(known),
                n_candidates=MIRNAS * TRANSCRIPTS,
                n_positives=len(truth),
            )
            found.setdefault(name, []).append(curve.aupr())
    return [
        claim(
            f"pairs with 1 to 3 planted sites, AUPR by p {np.mean(found['p']):.2f}, by {name} "
            f"{np.mean(values):.2f}",
            "difference",
            float(np.mean(gain)),
            of_mean(gain),
            nominal=0.0,
            bar="above 0",
            passed=of_mean(gain)[0] > 0,
            command=COMMAND,
        )
        for name, values in found.items()
        if name != "p"
        for gain in [list(np.subtract(found["p"], values))]
    ]
