"""The strongest hits of miRNAs: their alignments, and a table to sort and search."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.report.formats import count, number, plain
from pairtile.report.results import Results
from pairtile.report.sections.base import Picture, Section
from pairtile.report.words.mirna_targets_files import ALIGNMENT_COLUMNS

MAX_ALIGNMENTS = 12
"""So many are shown without a click, each of another pair."""

SEED_BEGIN, SEED_END = 2, 8
"""Positions of the seed, from the miRNA's 5' end."""

# What the table shows: column, heading, digits (None: no decimal number).
COLUMNS: tuple[tuple[str, str, int | None], ...] = (
    ("score", "score", 4),
    ("energy_kcal_mol", "energy (kcal/mol)", 4),
    ("duplex_energy_kcal_mol", "ViennaRNA energy (kcal/mol)", 4),
    ("seed_class", "seed class", None),
    ("site_begin", "site", None),
    ("identity_percent", "identity (%)", 3),
    ("local_au", "local AU", 3),
    ("accessibility", "accessibility", 3),
    ("relative_position", "relative position", 3),
)
# Letters above one another: miRNA, pairs, transcript, and where the seed begins and ends in them.
Alignment = tuple[str, str, str, int, int]


def section(results: Results, pictures: list[Picture]) -> Section | None:
    """Alignments and table; None for another method and where there is no hit."""
    if results.method != "mirna_targets" or results.hits is None or not results.hits.n:
        return None
    hits = results.hits.strongest
    columns = [column for column in COLUMNS if column[0] in hits and hits[column[0]].notna().any()]
    texts = hits[list(ALIGNMENT_COLUMNS)].itertuples(index=False, name=None)
    alignments = [alignment_of(*lines) for lines in texts]
    return Section(
        id="hits",
        title="Strongest hits",
        template="section_mirna_hits.html.j2",
        values={
            "shown": len(hits),
            "total": results.hits.n,
            "cards": _cards(hits, alignments),
            "headings": [heading for _, heading, _ in columns],
            "rows": _rows(hits, columns),
            "alignments": alignments,
        },
        scripts=("datatables.min.js", "searchable_table.js", "hits_table.js"),
    )


def alignment_of(query: str, match: str, reference: str) -> Alignment:
    """The three lines of an alignment and the columns of the seed, end excluded.

    ``query`` runs from the miRNA's 3' to its 5' end and holds all its letters: the seed is
    counted from the right, past gaps.
    """
    places = [k for k in range(len(query) - 1, -1, -1) if query[k] != "-"]
    if len(places) < SEED_BEGIN:
        return query, match, reference, len(query), len(query)
    first = places[min(SEED_END, len(places)) - 1]
    return query, match.ljust(len(query)), reference, first, places[SEED_BEGIN - 1] + 1


def _cards(hits: pd.DataFrame, alignments: list[Alignment]) -> list[dict[str, Any]]:
    """The best hit of each of the first pairs: heading, facts, and the lines cut at the seed."""
    chosen = hits.drop_duplicates(["mirna", "transcript"]).head(MAX_ALIGNMENTS)
    cards = []
    for row, hit in zip(chosen.index.tolist(), chosen.to_dict("records"), strict=True):
        query, match, reference, begin, end = alignments[row]
        energy = hit["energy_kcal_mol"]
        facts = [f"score {plain(hit['score'])}"]
        facts += [f"{plain(energy)} kcal/mol"] if pd.notna(energy) else []
        facts += ["no seed match" if hit["seed_class"] == "none" else f"{hit['seed_class']} site"]
        facts += [
            f"at {count(hit['site_begin'])}–{count(hit['site_end'])} "
            f"of {count(hit['transcript_length'])}"
        ]
        cards.append(
            {
                "mirna": hit["mirna"],
                "transcript": hit["transcript"],
                "facts": " · ".join(facts),
                "lines": [
                    (name, five, (text[:begin], text[begin:end], text[end:]), three)
                    for name, five, text, three in (
                        ("miRNA     ", "3'", query, "5'"),
                        ("          ", "  ", match, "  "),
                        ("transcript", "5'", reference, "3'"),
                    )
                ],
            }
        )
    return cards


def _rows(
    hits: pd.DataFrame, columns: list[tuple[str, str, int | None]]
) -> list[tuple[str, str, list[tuple[str, str | None]]]]:
    """For each hit miRNA, transcript and cells: what is shown, and the number to sort by."""
    cells = [_cells(hits, name, digits) for name, _, digits in columns]
    names = zip(hits["mirna"].astype(str), hits["transcript"].astype(str), strict=True)
    return [
        (mirna, transcript, list(row))
        for (mirna, transcript), row in zip(names, zip(*cells, strict=True), strict=True)
    ]


def _cells(hits: pd.DataFrame, name: str, digits: int | None) -> list[tuple[str, str | None]]:
    values = hits[name]
    if name == "site_begin":
        spans = zip(values.tolist(), hits["site_end"].tolist(), strict=True)
        return [(f"{count(begin)}–{count(end)}", str(begin)) for begin, end in spans]
    if digits is None:
        return [(str(value), None) for value in values]
    # What has no value is sorted below all that have one.
    return [
        (number(value, digits), "-1e308" if pd.isna(value) else f"{value:.6g}") for value in values
    ]
