"""The strongest alignments of miRNAs as the page shows them without a click."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.methods.mirna_targets.report_shared_sites import SharedSite, shared_sites
from pairtile.methods.mirna_targets.report_tables import Hits
from pairtile.report.formats import count, counted, listed, plain

MAX_CARDS = 12
"""So many alignments are shown, each of another pair."""

MAX_OPEN = 3
"""So many transcripts of an alignment are named in view (or one more, if that is all), ..."""

MAX_NAMED = 50
"""... and so many with those that a click unfolds; hits.tsv has all."""

SEED_BEGIN, SEED_END = 2, 8
"""Positions of the seed, from the miRNA's 5' end."""

# Letters above one another: miRNA, pairs, transcript, and where the seed begins and ends in them.
Alignment = tuple[str, str, str, int, int]


def cards(hits: Hits) -> dict[str, Any]:
    """The cards and, over all of them, ``hits`` and ``transcripts``; ``complete`` as for a site."""
    sites = shared_sites(hits, MAX_CARDS)
    return {
        "cards": [_card(site) for site in sites],
        "hits": sum(len(site.hits) for site in sites),
        "transcripts": len({name for site in sites for name in site.transcripts}),
        "shared": any(len(site.transcripts) > 1 for site in sites),
        "complete": all(site.complete for site in sites),
    }


def seed_columns(query: str) -> tuple[int, int]:
    """The columns of the seed, end excluded.

    ``query`` runs from the miRNA's 3' to its 5' end and holds all its letters: the seed is
    counted from the right, past gaps.
    """
    places = [k for k in range(len(query) - 1, -1, -1) if query[k] != "-"]
    if len(places) < SEED_BEGIN:
        return len(query), len(query)
    return places[min(SEED_END, len(places)) - 1], places[SEED_BEGIN - 1] + 1


def alignment_of(query: str, match: str, reference: str) -> Alignment:
    """The three lines of an alignment and the columns of the seed, end excluded."""
    return query, match.ljust(len(query)), reference, *seed_columns(query)


def _card(site: SharedSite) -> dict[str, Any]:
    """Heading, facts, the lines cut at the seed, and the transcripts that have the alignment."""
    hit = site.hits.iloc[0]
    query, match, reference, begin, end = alignment_of(
        hit["query_alignment"], hit["match_line"], hit["reference_alignment"]
    )
    energy = hit["energy_kcal_mol"]
    facts = [f"score {plain(hit['score'])}"]
    facts += [f"{plain(energy)} kcal/mol"] if pd.notna(energy) else []
    facts += ["no seed match" if hit["seed_class"] == "none" else f"{hit['seed_class']} site"]
    places = _places(site)
    n = len(places)
    n_open = n if n <= MAX_OPEN + 1 else MAX_OPEN  # a click for one more is not worth it
    if n == 1:
        facts.append(places[0][1])
    return {
        "mirna": hit["mirna"],
        "transcript": places[0][0] if n == 1 else counted(n, "transcript"),
        "facts": " · ".join(facts),
        "stands_for": _stands_for(site, n) if n > 1 else "",
        "open": places[:n_open] if n > 1 else [],
        "folded": places[n_open:MAX_NAMED],
        "unnamed": max(0, n - MAX_NAMED),
        "lines": [
            (name, five, (text[:begin], text[begin:end], text[end:]), three)
            for name, five, text, three in (
                ("miRNA     ", "3'", query, "5'"),
                ("          ", "  ", match, "  "),
                ("transcript", "5'", reference, "3'"),
            )
        ],
    }


def _stands_for(site: SharedSite, n_transcripts: int) -> str:
    """``The same alignment in 3 transcripts``, and the number of hits where there are more."""
    least = "" if site.complete else "at least "
    text = f"The same alignment in {least}{counted(n_transcripts, 'transcript')}"
    more = len(site.hits) > n_transcripts
    return f"{text}, {count(len(site.hits))} hits" if more else text


def _places(site: SharedSite) -> list[tuple[str, str]]:
    """Each transcript and where it has the alignment: ``at 12–33 and 80–101 of 1,200``."""
    places = []
    for name, rows in site.hits.groupby("transcript", sort=False, observed=True):
        spans = sorted(zip(rows["site_begin"], rows["site_end"], strict=True))
        told = listed([f"{count(begin)}–{count(end)}" for begin, end in spans])
        places.append((str(name), f"at {told} of {count(rows['transcript_length'].iloc[0])}"))
    return places
