"""The figures of miRNA hits: which can be made, their captions and alternative texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairtile.methods.mirna_targets import figures
from pairtile.methods.mirna_targets.hits_bed_gff3 import COLOURS
from pairtile.methods.mirna_targets.report_hits import (
    GENES,
    hits_of,
    mapped_transcript,
    targets_of,
    targets_of_pairs,
)
from pairtile.methods.mirna_targets.report_signal import conservation, signal
from pairtile.report.formats import count, counted, listed, number, percent, plain
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results

CANONICAL = ("8mer", "7mer-m8", "7mer-A1")
MAP_SIZE = 30
FEW_HITS = 80
"""Hits in a bin of positions below which bins are joined, on average."""

BEST_FIRST = 100_000
"""So many of the strongest pairs are looked through for the map's rows and columns."""


def energies_computed(results: Results) -> bool:
    """Whether the hits have energies."""
    return bool((results.parameters.get("estimator") or {}).get("energies", True))


def _target_map(results: Results) -> FigureWithText | None:
    if results.network.empty:
        return None
    pairs = figures.strongest_block(results.strongest(BEST_FIRST), MAP_SIZE)
    n_mirnas, n_transcripts = pairs["source"].nunique(), pairs["target"].nunique()
    if n_mirnas * n_transcripts < 4:
        return None
    energies = energies_computed(results) and "energy_kcal_mol" in pairs
    column = "energy_kcal_mol" if energies else "score"
    label, unit = ("lowest energy", " kcal/mol") if energies else ("best score", "")
    canonical = None
    path = results.folder / "targets.tsv"
    by_gene = GENES in results.network
    if path.is_file() and not by_gene:
        rows = targets_of_pairs(results, pairs)
        canonical = rows["n_canonical_sites"].to_numpy(dtype=np.float64) > 0
    figure = figures.target_map(
        pairs,
        pairs[column],
        canonical,
        label=f"{label} (kcal/mol)" if energies else label,
        low_is_strong=energies,
    )
    target = "gene" if by_gene else "transcript"
    caption = (
        f"{counted(len(pairs), 'pair')} between the {counted(n_mirnas, 'miRNA')} and the "
        f"{counted(n_transcripts, target)} of the strongest hits; darker is stronger, "
        "blank: no hit. Rows and columns that are alike lie together."
    )
    if canonical is not None:
        caption += f" Dot: at least one canonical seed site ({listed(CANONICAL)})."
    best = pairs.iloc[int(pairs["score"].to_numpy().argmax())]
    alternative = (
        f"Heat map. {caption} The pair with the highest score, {best['source']} and "
        f"{best['target']}, has a {label} of {number(best[column])}{unit}."
    )
    return FigureWithText(figure, f"Strongest miRNAs and {target}s", caption, alternative)


def _score_distribution(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not np.sum(scores.get("counts", 0)):
        return None
    threshold = float(scores.get("threshold", float("nan")))
    figure = figures.hit_distribution(
        scores["edges"],
        scores["counts"],
        threshold,
        label=results.text.score_axis,
        logarithmic=True,
    )
    total = int(scores["counts"].sum())
    caption = f"Alignment scores of {counted(total, 'hit')}; logarithmic y axis."
    alternative = f"Histogram. {caption} The threshold is at {plain(threshold)}."
    return FigureWithText(figure, "Scores", caption, alternative)


def _energy_distribution(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not energies_computed(results):
        return None
    counts = scores.get("energy_counts")
    if counts is None or not counts.sum():
        return None
    threshold = (results.summary.get("threshold") or {}).get("energy_kcal_mol")
    edges = scores["energy_edges"]
    figure = figures.hit_distribution(
        edges, counts, threshold, label="free energy of the duplex (kcal/mol)"
    )
    middle = int(np.searchsorted(counts.cumsum(), counts.sum() / 2))
    caption = (
        f"Free energies of the duplexes of {counted(int(counts.sum()), 'hit')}; lower is stronger."
    )
    half = f" Half of the hits have {number(edges[min(middle + 1, len(counts))])} kcal/mol or less."
    return FigureWithText(figure, "Energies", caption, f"Histogram. {caption}{half}")


def _seed_classes(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    figure = figures.seed_classes(hits.seed_classes, CANONICAL)
    caption = (
        "Which part of the seed pairs by A-U or G-C without a gap, at miRNA positions 2 to 8 "
        "(7mer-m8), 2 to 7 (6mer) or 3 to 8 (offset 6mer); 8mer and 7mer-A1 have an A opposite "
        "position 1, too."
    )
    shares = [f"{name} {count(n)}" for name, n in hits.seed_classes.items()]
    alternative = f"Bar chart. {caption} {listed(shares)}."
    return FigureWithText(figure, "Seed classes", caption, alternative)


def _relative_positions(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    bins = hits.positions.shape[1]
    # Few hits in narrow bins would show little but chance.
    joined = next((n for n in (8, 4, 2) if hits.n < FEW_HITS * bins / n), 1)
    figure = figures.relative_positions(hits.positions.reshape(2, bins // joined, joined).sum(2))
    caption = "Middle of each hit's site, as a share of its transcript's length."
    last = hits.positions[:, 3 * bins // 4 :].sum() / hits.n
    alternative = f"Line chart. {caption} {percent(last)} of the hits lie in the last quarter."
    return FigureWithText(figure, "Positions on the transcripts", caption, alternative)


def _site_map(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    name = mapped_transcript(results)
    rows = hits.strongest[hits.strongest["transcript"].astype(str) == name]
    figure = figures.site_map(rows, COLOURS)
    filled = ""
    if "conservation_rate" in rows:
        filled = " Filled as far as sites of the class, kept so well, are conserved beyond chance."
    if "accessibility" in rows:
        filled += " Lower panel: the probability that the whole site is unpaired."
    caption = (
        f"{counted(len(rows), 'site')} on {name} among the strongest hits, as high as their score, "
        f"by seed class.{filled} Further down, the page draws any other transcript."
    )
    best = rows.iloc[0]
    alternative = (
        f"Lines along the transcript. {caption} The strongest, of {best['mirna']}, lies at "
        f"{count(best['site_begin'])} to {count(best['site_end'])}."
    )
    return FigureWithText(figure, "Sites along a transcript", caption, alternative)


def _most_pairs(results: Results) -> FigureWithText | None:
    targets = results.cached(targets_of)
    if targets is None or targets.n < 2:
        return None
    figure = figures.most_pairs(targets.mirnas, targets.transcripts)
    caption = (
        "Pairs of each, and those among them with a canonical seed site. Long transcripts have "
        "more hits by chance alone."
    )
    largest = [
        f"{table.index[0]} has {count(table['pairs'].iloc[0])}"
        for table in (targets.mirnas, targets.transcripts)
    ]
    return FigureWithText(
        figure, "Most targets", caption, f"Two bar charts. {caption} {listed(largest)}."
    )


FIGURES: Mapping[str, FigureMaker] = {
    "signal": signal,
    "conservation": conservation,
    "site_map": _site_map,
    "target_map": _target_map,
    "most_pairs": _most_pairs,
    "score_distribution": _score_distribution,
    "energy_distribution": _energy_distribution,
    "seed_classes": _seed_classes,
    "relative_positions": _relative_positions,
}
