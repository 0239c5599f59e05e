"""Sentences on what was found among miRNAs and transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pairtile.methods.mirna_targets.report_tables import hits_of, targets_of
from pairtile.report.formats import count, counted, listed, percent, plain

if TYPE_CHECKING:
    from pairtile.report.results import Results

N_NAMED = 3


def findings(results: Results) -> list[str]:
    """Strongest hits, largest hubs, seed classes, and what was left out or has no hit."""
    return [*_strongest(results), *_hubs(results), *_seeds(results), *_left_out(results)]


GENES = "n_transcripts"
"""The column that a network of genes has, and one of transcripts has not."""


def hit_transcripts(results: Results) -> int:
    """Transcripts with a hit, whether or not edges point to their genes."""
    found = results.counts.get("transcripts_with_sites")
    return int(results.network["target"].nunique() if found is None else found)


def n_hits(results: Results) -> int:
    """Hits of all pairs."""
    if "hits" in results.counts:
        return results.counts["hits"]
    return int(results.network["n_hits"].sum()) if "n_hits" in results.network else 0


def _strongest(results: Results) -> list[str]:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return []
    from pairtile.methods.mirna_targets.report_shared_sites import shared_sites

    told = []
    for site in shared_sites(hits, N_NAMED):
        hit, transcripts = site.hits.iloc[0], site.transcripts
        parts = [f"score {plain(hit['score'])}"]
        if pd.notna(hit["energy_kcal_mol"]):
            parts += [f"{plain(round(hit['energy_kcal_mol'], 1))} kcal/mol"]
        parts += [hit["seed_class"] if hit["seed_class"] != "none" else "no seed site"]
        least = "" if site.complete else "at least "
        more = f"{least}{counted(len(transcripts) - 1, 'transcript')} more"
        place = f"{transcripts[0]} and {more}" if len(transcripts) > 1 else transcripts[0]
        told.append(f"{hit['mirna']} on {place} ({', '.join(parts)})")
    return [f"Strongest: {listed(told)}."]


def _hubs(results: Results) -> list[str]:
    targets = results.cached(targets_of)
    if targets is None or targets.n < 2:
        return []
    sentences = []
    for table, of, noun in (
        (targets.mirnas, "Most targets", "transcript"),
        (targets.transcripts, "Hit by most miRNAs", "miRNA"),
    ):
        named = [
            f"{name} ({counted(int(n), noun)})" for name, n in table["pairs"].head(N_NAMED).items()
        ]
        sentences.append(f"{of}: {listed(named)}.")
    several = int((results.network["n_hits"] > 1).sum()) if "n_hits" in results.network else 0
    if several:
        sentences.append(f"{counted(several, 'pair')} {_has(several)} more than one hit.")
    return sentences


def _seeds(results: Results) -> list[str]:
    hits = results.cached(hits_of)
    if hits is None or not hits.n:
        return []
    classes = hits.seed_classes
    kinds = [
        f"{count(classes[name])} {name}" for name in ("8mer", "7mer-m8", "7mer-A1") if classes[name]
    ]
    text = (
        f"{count(hits.canonical)} of {counted(hits.n, 'hit')} ({percent(hits.canonical / hits.n)})"
    )
    text += f" {_has(hits.canonical)} a canonical seed site"
    text += f" ({listed(kinds)})" if kinds else ""
    targets = results.cached(targets_of)
    if targets is not None and hits.canonical:
        text += f", in {count(targets.canonical)} of {counted(targets.n, 'pair')}"
    if classes["none"]:
        text += f"; {count(classes['none'])} {_has(classes['none'])} no seed match of any class"
    return [f"{text}."]


def _has(n: int) -> str:
    return "has" if n == 1 else "have"


def _left_out(results: Results) -> list[str]:
    sentences = []
    items, network = results.items, results.network
    dropped = results.dropped
    if len(dropped):
        kinds = {"mirna": "miRNA", "transcript": "transcript"}
        numbers = {word: int((dropped["kind"] == kind).sum()) for kind, word in kinds.items()}
        parts = [counted(n, word) for word, n in numbers.items() if n]
        where = "the records and their faults are listed below"
        sentences.append(f"{listed(parts)} left out as unusable: {where}.")
    if len(network) and "kind" in items:
        kept = items[items["kept"].astype(bool)]["kind"]
        alone = {
            "miRNA": int((kept == "mirna").sum()) - network["source"].nunique(),
            "transcript": int((kept == "transcript").sum()) - hit_transcripts(results),
        }
        parts = [counted(n, word) for word, n in alone.items() if n > 0]
        if parts:
            sentences.append(f"{listed(parts)} without a hit.")
    return sentences
