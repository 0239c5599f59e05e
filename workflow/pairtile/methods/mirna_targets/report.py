"""Report: text of the miRNA targets method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pairtile.methods.mirna_targets import report_hits
from pairtile.methods.mirna_targets.charts import FIGURES
from pairtile.methods.mirna_targets.report_hits import GENES, targets_of_pairs
from pairtile.methods.mirna_targets.report_numbers import message, numbers, warnings
from pairtile.report.formats import count
from pairtile.report.method_report import ANSWER_ROWS, Answer, MethodReport, MethodText, best_edges
from pairtile.report.sections.network import strongest
from pairtile.view.evidence import evidence_section

if TYPE_CHECKING:
    from pairtile.report.results import Results

MAX_POSITIONS = 3
PAIR_COLUMNS = (
    "n_canonical_sites",
    "best_seed_class",
    "max_local_au",
    "transcript_length",
    "correlation",
    "positions",
)
"""What the table of pairs takes from targets.tsv."""

SUMS = ("total_score", "total_energy_kcal_mol")

MAX_ROWS_WITH_ALL = 10_000
"""Longer tables leave out positions and sums, of 50,000 pairs over a megabyte; targets.tsv has
them."""


def edge_table(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """The strongest pairs with their columns of targets.tsv."""
    path = results.folder / "targets.tsv"
    if not path.is_file() or table.empty or GENES in table:
        return table
    rows = targets_of_pairs(results, table)
    whole = ("n_canonical_sites", "transcript_length")
    brief = (*SUMS, "positions") if len(table) > MAX_ROWS_WITH_ALL else ()
    more = {
        name: rows[name].astype("int64") if name in whole else rows[name]
        for name in PAIR_COLUMNS
        if name in rows and name not in brief
    }
    if "positions" in more:
        more["positions"] = more["positions"].map(_first_positions)
    table = table.assign(**{name: values.to_numpy() for name, values in more.items()})
    # Sums are of less use than what kind of site there is.
    last = (*SUMS, *PAIR_COLUMNS[2:])
    first = [column for column in table.columns if column not in last]
    return table[[*first, *(column for column in last if column in table and column not in brief)]]


def _first_positions(text: str) -> str:
    places = text.split()
    shown = [count(int(place)) for place in places[:MAX_POSITIONS]]
    shown += ["…"] if len(places) > MAX_POSITIONS else []
    return ";\N{NO-BREAK SPACE}".join(shown)


TEXT = MethodText(
    title="miRNA targets by the rules of miRanda 3.3a",
    package=__package__,
    item="miRNA or transcript",
    items="miRNAs and transcripts",
    regulator="miRNA",
    target="transcript",
    edge="pair",
    score="alignment score",
    strength=("neg_log10_p", "score"),
    ties=("energy_kcal_mol",),
    numbers=numbers,
    warnings=warnings,
    empty=message("no_hits"),
    edge_table=edge_table,
)


def surest_pairs(results: Results) -> tuple[str, pd.DataFrame]:
    """The best pairs, with their sites and how sure they are."""
    above, edges = best_edges(results)
    more = results.cached(strongest)[1].head(ANSWER_ROWS)
    columns = [name for name in ("n_canonical_sites", "best_seed_class") if name in more]
    return above, edges.assign(**{name: more[name].to_numpy() for name in columns})


REPORT = MethodReport(
    text=TEXT,
    answer=Answer(surest_pairs, pictures=("signal", "site_map", "target_map")),
    figures=FIGURES,
    # What a pair is judged by is its alignments, which the table of hits has.
    sections=(evidence_section(lambda results, state: None), report_hits.section),
)
