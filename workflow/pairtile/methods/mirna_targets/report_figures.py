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
from pairtile.report.method_report import FigureMaker, FigureWithText
from pairtile.report.results import Results
from pairtile.report.text import page_text

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
        label="lowest energy (kcal/mol)" if energies else "best score",
        low_is_strong=energies,
    )
    best = pairs.iloc[int(pairs["score"].to_numpy().argmax())]
    return page_text(results).figure(
        "target_map",
        figure,
        pairs=len(pairs),
        mirnas=n_mirnas,
        items=n_transcripts,
        dots=canonical is not None,
        energies=energies,
        best=best[["source", "target"]].tolist(),
        value=best[column],
    )


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
    n = int(scores["counts"].sum())
    return page_text(results).figure("scores", figure, n=n, threshold=threshold)


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
    half = edges[min(middle + 1, len(counts))]
    return page_text(results).figure("energies", figure, n=int(counts.sum()), half=half)


def _seed_classes(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    figure = figures.seed_classes(hits.seed_classes, CANONICAL)
    return page_text(results).figure("seed_classes", figure)


def _relative_positions(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    bins = hits.positions.shape[1]
    # Few hits in narrow bins would show little but chance.
    joined = next((n for n in (8, 4, 2) if hits.n < FEW_HITS * bins / n), 1)
    figure = figures.relative_positions(hits.positions.reshape(2, bins // joined, joined).sum(2))
    last = hits.positions[:, 3 * bins // 4 :].sum() / hits.n
    return page_text(results).figure("positions", figure, last=last)


def _site_map(results: Results) -> FigureWithText | None:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return None
    name = mapped_transcript(results)
    rows = hits.strongest[hits.strongest["transcript"].astype(str) == name]
    figure = figures.site_map(rows, COLOURS)
    best = rows.iloc[0]
    return page_text(results).figure(
        "site_map",
        figure,
        sites=len(rows),
        name=name,
        conserved="conservation_rate" in rows,
        accessible="accessibility" in rows,
        best=best[["mirna", "site_begin", "site_end"]].tolist(),
    )


def _most_pairs(results: Results) -> FigureWithText | None:
    targets = results.cached(targets_of)
    if targets is None or targets.n < 2:
        return None
    figure = figures.most_pairs(targets.mirnas, targets.transcripts)
    largest = [
        (table.index[0], table["pairs"].iloc[0]) for table in (targets.mirnas, targets.transcripts)
    ]
    return page_text(results).figure("most_pairs", figure, largest=largest)


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
