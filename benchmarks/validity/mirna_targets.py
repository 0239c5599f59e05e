"""Whether the null of ``mirna_targets`` holds, for miRNAs without targets and for planted sites.

    PYTHONPATH=workflow python -m benchmarks.validity mirna_targets [--quick]

Transcripts are random, with a composition of their own each and few CG. The tables are those that
the workflow makes, of all miRNAs with all transcripts.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile.api.settings import analysis_config
from pairtile.methods.mirna_targets.api_signal import MirnaSignal, mirna_signal
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import CANONICAL, conserved_sites
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.null import (
    CLASS_ROWS,
    class_table,
    matched_shuffles,
    transcript_model,
)
from pairtile.methods.mirna_targets.score import MirnaTargets
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from pairtile.statistics.evaluation import ranking_curve
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.network import read_merged
from pairtile.steps.plan import read_plan

from benchmarks.validity.claims import claim, claim_of_mean, mean_at_most, of_mean, of_share

COMMAND = "python -m benchmarks.validity mirna_targets"
MIRNAS, TRANSCRIPTS, SHUFFLES = 40, 60, 100
LEVEL, BAR = 0.05, 0.07
PLANTED_PAIRS = 40
KINDS = ("8mer", "7mer-m8", "7mer-A1")
MIN_FOUND = 0.5
"""Share of the planted pairs to be found."""

HUMAN = Path(__file__).resolve().parents[3] / "shared/data/mirna"
OPPOSITE = str.maketrans("ACGU", "UGCA")


class Analysed(NamedTuple):
    """Of an analysis: the tests of pairs with a hit, how many pairs there are, the classes, the
    edges of the network, and what the null counted."""

    tests: pd.DataFrame
    pairs: int
    classes: dict[str, NDArray[np.float64]]
    edges: pd.DataFrame
    counts: dict[str, NDArray[np.int64]]


def analysed(
    mirnas: list[str],
    transcripts: list[str],
    seed: int,
    orthologs: dict[str, str] | None = None,
    **more: Any,
) -> Analysed:
    """The analysis by the parts that the workflow's steps call."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, sequences in (("mirnas", mirnas), ("transcripts", transcripts)):
            paths[name] = str(Path(folder) / f"{name}.fa")
            text = "".join(f">{name}{k}\n{letters}\n" for k, letters in enumerate(sequences))
            Path(paths[name]).write_text(text)
        if orthologs is not None:
            paths["orthologs"] = str(Path(folder) / "orthologs.fa")
            text = "".join(f">{name}\n{letters}\n" for name, letters in orthologs.items())
            Path(paths["orthologs"]).write_text(text)
        config = analysis_config(
            MirnaTargetsConfig,
            backend="cpu",
            estimator={"energies": False} | more,
            null={"shuffles": SHUFFLES},
            **paths,
        )
        run = AnalysisRun("library", config, Path(folder) / "results", seed, "cpu")
        merged = read_merged(run.run_steps(last="merge"))
        merged = replace(merged, table=merged.pairs)
        opened = read_plan(run.plan).open_estimator(config, run.state)
    assert isinstance(opened, MirnaTargets)
    tests = opened.ranked_pairs(merged).rename(columns={"source": "i", "target": "j"})
    shuffled = merged.sums["null_site_counts"].sum(axis=2)
    classes = class_table(merged.sums["site_counts"].sum(axis=1), shuffled)
    edges = opened.network(merged).edges
    counts = opened.all_null_counts(merged)
    return Analysed(tests, len(mirnas) * len(transcripts), classes, edges, counts)


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
        *kept_by_chance(tables),
        *kept_sites(2 if quick else 8),
        *expression_without_repression(tables),
        *repression(2 if quick else 8),
    ]


ANY_FOUND = "of tables, any pair with q <= 0.05"


def of_tables(what: str, figure: str, found: int, tables: int) -> dict[str, Any]:
    """The claim that a share of tables is at most ``LEVEL``."""
    low_high = of_share(found, tables)
    return claim(
        what,
        figure,
        found / tables,
        low_high,
        nominal=LEVEL,
        bar="interval holds 0.05 or less",
        passed=low_high[0] <= LEVEL,
        command=COMMAND,
    )


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
            found = analysed(random_mirnas(draw), random_transcripts(draw), table, **more)
            for level, shares in small.items():
                shares.append(float((found.tests["p_value"] <= level).sum() / found.pairs))
            any_found += bool((found.tests["q_value"] <= LEVEL).any())
        what = f"random miRNAs and transcripts, {words}"
        rows.append(mean_at_most(what, "of pairs, p <= 0.05", small[LEVEL], LEVEL, BAR, COMMAND))
        rows.append(mean_at_most(what, "of pairs, p <= 0.01", small[0.01], 0.01, 0.014, COMMAND))
        rows.append(of_tables(what, ANY_FOUND, any_found, tables))
    return rows


def shuffled_human_mirnas(tables: int) -> list[dict[str, Any]]:
    """Human miRNAs, each shuffled once, on human transcripts: whatever these are like."""
    small, any_found = [], 0
    mirnas = read_fasta(HUMAN / "human_mature_mirna.fa", "mirnas")
    transcripts = read_fasta(HUMAN / "human_chr22_transcripts.fa.gz", "transcripts")
    texts = [
        [fasta.letters.sequence(k) for k in range(len(fasta))] for fasta in (mirnas, transcripts)
    ]
    for table in range(tables):
        draw = np.random.default_rng([table, 3])
        some = [texts[0][k] for k in draw.choice(len(texts[0]), MIRNAS, replace=False)]
        on = [texts[1][k] for k in draw.choice(len(texts[1]), 2 * TRANSCRIPTS, replace=False)]
        # One shuffle of each, of many that differ from it in how often they are to be expected.
        codes = SequenceBatch.of_strings(some)
        chain = transcript_model(SequenceBatch.of_strings(on))[0]
        drawn = matched_shuffles(codes, chain, 500, 1000 + table)[0]
        rows = np.arange(MIRNAS) * 500 + draw.integers(500, size=MIRNAS)
        shuffled = drawn.block(rows)
        ends = zip(shuffled.offsets[:-1], shuffled.offsets[1:], strict=True)
        found = analysed([shuffled.text[a:b].tobytes().decode() for a, b in ends], on, table)
        small.append(float((found.tests["p_value"] <= LEVEL).sum() / found.pairs))
        any_found += bool((found.tests["q_value"] <= LEVEL).any())
    what = "human miRNAs, each shuffled once, on human transcripts"
    return [
        mean_at_most(what, "of pairs, p <= 0.05", small, LEVEL, BAR, COMMAND),
        of_tables(what, ANY_FOUND, any_found, tables),
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
            found = analysed(mirnas, changed, table)
            row = CLASS_ROWS.index(kind)
            excess = found.classes["sites"][row] - found.classes["expected"][row]
            shown.append(float(excess / (3 * PLANTED_PAIRS)))
            kept = found.tests[found.tests["q_value"] <= LEVEL]
            called = set(zip(kept["i"], kept["j"] - MIRNAS, strict=True))
            recall.append(len(called & pairs) / len(pairs))
            false.append(len(called - pairs) / max(len(called), 1))
        what = f"three planted sites of class {kind} in {PLANTED_PAIRS} pairs"
        rows.append(
            claim_of_mean(
                what,
                "sites beyond the shuffles', of those planted",
                shown,
                1.0,
                COMMAND,
                low=0.8,
                high=1.2,
            )
        )
        rows.append(
            claim_of_mean(what, "of these pairs, q <= 0.05", recall, 1.0, COMMAND, low=MIN_FOUND)
        )
        rows.append(
            mean_at_most(what, "of pairs with q <= 0.05, false", false, LEVEL, 0.08, COMMAND)
        )
    return rows


SPECIES = 6
"""Of the simulated orthologs."""


def orthologs_of(
    transcripts: list[str], draw: np.random.Generator, changed: float
) -> dict[str, str]:
    """Orthologs of which each letter was drawn anew with probability ``changed``; some are gone."""
    found = {}
    for k, text in enumerate(transcripts):
        for species in range(SPECIES):
            letters = np.array(list(text))
            new = draw.random(len(letters)) < changed
            letters[new] = draw.choice(list("ACGU"), int(new.sum()))
            if draw.random() < 0.9:
                found[f"transcripts{k}|species{species}"] = "".join(letters)
    return found


def kept_beyond(found: Analysed, least: int) -> tuple[float, float, float]:
    """Canonical sites that ``least`` species or more keep: S, S - B, and p."""
    kept, shuffled = (found.counts[name] for name in ("kept_counts", "null_kept_counts"))
    of_all = conserved_sites(kept[CANONICAL], shuffled[:, CANONICAL].sum(axis=0))
    each = conserved_sites(kept[None, CANONICAL], shuffled[:, CANONICAL]).expected.sum(axis=1)
    real = float(of_all.kept.sum(axis=0)[least])
    p = (1.0 + (each[:, least] >= real).sum()) / (1.0 + len(each))
    return real, real - float(of_all.expected.sum(axis=0)[least]), float(p)


def kept_by_chance(tables: int) -> list[dict[str, Any]]:
    """Orthologs that have drifted, sites as much as other letters; and unrelated ones."""
    rows = []
    for changed, least, what in (
        (0.05, 3, "5 % of letters changed"),
        (1.0, 1, "all letters drawn anew"),
    ):
        found = []
        for table in range(3 * tables):
            draw = np.random.default_rng([table, 5])
            transcripts = random_transcripts(draw)
            drifted = orthologs_of(transcripts, draw, changed)
            run = analysed(random_mirnas(draw), transcripts, table, drifted)
            found.append(kept_beyond(run, least))
        kept, beyond, p = np.array(found).T
        # Of all tables together: a rate of few sites would be below 0 on average.
        rates = list(beyond / kept.mean())
        low, high = of_mean(rates)
        what = f"orthologs in {SPECIES} species, {what}"
        rows.append(
            claim(
                what,
                f"(S - B) / S of canonical sites in {least} or more",
                float(np.mean(rates)),
                (low, high),
                nominal=0.0,
                bar="interval holds 0",
                passed=low <= 0.0 <= high,
                command=COMMAND,
            )
        )
        rows.append(of_tables(what, "of tables, p <= 0.05", int((p <= LEVEL).sum()), len(p)))
    return rows


def kept_sites(tables: int) -> list[dict[str, Any]]:
    """Orthologs that have drifted, but for planted 8mers: (S - B) / S against the share of the kept
    sites that is planted. Planted sites are in B, too, as if they could be kept by chance."""
    found = []
    for table in range(tables):
        draw = np.random.default_rng([table, 6])
        mirnas, transcripts = random_mirnas(draw), random_transcripts(draw)
        before = analysed(mirnas, transcripts, table, orthologs_of(transcripts, draw, 0.3))
        changed, pairs = planted(mirnas, transcripts, "8mer", 3, draw)
        drifted = orthologs_of(changed, draw, 0.3)
        for mirna, transcript in sorted(pairs):
            for species in range(SPECIES):
                name = f"transcripts{transcript}|species{species}"
                if name in drifted:
                    drifted[name] += site(mirnas[mirna], "8mer", draw)
        kept, beyond, _ = kept_beyond(analysed(mirnas, changed, table, drifted), 3)
        # Without the planted ones, as many are kept as in the tables before.
        found.append((kept, beyond, kept - kept_beyond(before, 3)[0]))
    kept, beyond, real = np.array(found).T
    off = list((beyond - real) / kept.mean())
    share = f"{real.sum() / kept.sum():.2f}"
    return [
        claim_of_mean(
            f"orthologs in {SPECIES} species, 30 % of letters changed, planted 8mers kept",
            f"(S - B) / S of canonical sites in 3 or more, less the share planted ({share})",
            off,
            0.0,
            COMMAND,
            low=-0.1,
            high=0.1,
        )
    ]


SAMPLES = 30


def confounded_expression(
    transcripts: list[str], draw: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of miRNAs and of transcripts, without any repression: all follow two factors, transcripts the
    more the longer they are (first) and the more A and U they have (second)."""
    factors = draw.normal(size=(2, SAMPLES))
    own = draw.normal(size=(MIRNAS, 2))
    length = np.array([len(text) for text in transcripts], dtype=np.float64)
    au = np.array([text.count("A") + text.count("U") for text in transcripts]) / length
    loadings = np.stack([(x - x.mean()) / x.std() for x in (length, au)], axis=1)
    return (
        own @ factors + draw.normal(size=(MIRNAS, SAMPLES)),
        loadings @ factors + draw.normal(size=(TRANSCRIPTS, SAMPLES)),
    )


def with_expression(
    mirnas: list[str],
    transcripts: list[str],
    seed: int,
    expression: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> MirnaSignal:
    """The library's analysis, names ``mirna_0``, ``transcript_0`` and so on."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for kind, values in zip(("mirna", "transcript"), expression, strict=True):
            names = [f"{kind}_{k}" for k in range(len(values))]
            table = pd.DataFrame(values, names, [f"sample{k}" for k in range(SAMPLES)])
            paths[f"{kind}_expression"] = Path(folder) / f"{kind}.tsv"
            table.to_csv(paths[f"{kind}_expression"], sep="\t")
        return mirna_signal(
            mirnas,
            transcripts,
            shuffles=SHUFFLES,
            seed=seed,
            energies=False,
            backend="cpu",
            **paths,
        )


def expression_without_repression(tables: int) -> list[dict[str, Any]]:
    """p of pairs with a canonical site, and of miRNAs, where expression follows length and
    composition of the transcripts and no miRNA represses any."""
    pairs: dict[float, list[float]] = {LEVEL: [], 0.5: []}
    of_mirnas: list[float] = []
    for table in range(tables):
        draw = np.random.default_rng([table, 7])
        mirnas, transcripts = random_mirnas(draw), random_transcripts(draw)
        expression = confounded_expression(transcripts, draw)
        found = with_expression(mirnas, transcripts, table, expression)
        p = found.targets["correlation_p_value"].dropna()
        for level, shares in pairs.items():
            shares.append(float((p <= level).mean()))
        assert found.expression is not None
        p = found.expression["p_value"][1:].dropna()
        of_mirnas.append(float((p <= LEVEL).mean()))
    what = "expression by length and composition of transcripts, no repression"
    return [
        mean_at_most(what, "of pairs, p <= 0.05", pairs[LEVEL], LEVEL, BAR, COMMAND),
        mean_at_most(what, "of pairs, p <= 0.5", pairs[0.5], 0.5, 0.54, COMMAND),
        mean_at_most(what, "of miRNAs, p <= 0.05", of_mirnas, LEVEL, BAR, COMMAND),
    ]


def repression(tables: int) -> list[dict[str, Any]]:
    """The same, but transcripts with planted sites go down with their miRNA."""
    found_pairs, found_mirnas = [], []
    for table in range(tables):
        draw = np.random.default_rng([table, 8])
        mirnas, transcripts = random_mirnas(draw), random_transcripts(draw)
        changed, planted_pairs = planted(mirnas, transcripts, "8mer", 1, draw)
        of_mirnas, of_transcripts = confounded_expression(changed, draw)
        for mirna, transcript in sorted(planted_pairs):
            of_transcripts[transcript] -= of_mirnas[mirna]
        found = with_expression(mirnas, changed, table, (of_mirnas, of_transcripts))
        keys = zip(found.targets["mirna"], found.targets["transcript"], strict=True)
        names = {(f"mirna_{i}", f"transcript_{j}") for i, j in planted_pairs}
        real = np.array([key in names for key in keys])
        found_pairs.append(float((found.targets["correlation_p_value"][real] <= LEVEL).mean()))
        assert found.expression is not None
        table_of = found.expression.set_index("mirna")["p_value"]
        with_targets = sorted({mirna for mirna, _ in names})
        found_mirnas.append(float((table_of[with_targets] <= LEVEL).mean()))
    rows = []
    for what, shares in (("pairs", found_pairs), ("miRNAs", found_mirnas)):
        low_high = of_mean(shares)
        rows.append(
            claim(
                f"one planted 8mer in {PLANTED_PAIRS} pairs that go down with their miRNA",
                f"of these {what}, p <= 0.05",
                float(np.mean(shares)),
                low_high,
                nominal=1.0,
                bar="interval above 0.05",
                passed=low_high[0] > LEVEL,
                command=COMMAND,
            )
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
        edges = analysed(mirnas, changed, table, energies=True).edges
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
