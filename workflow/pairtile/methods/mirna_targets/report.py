"""Report: text of the miRNA targets method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from pairtile.declare.messages import Message, messages_of
from pairtile.methods.mirna_targets import report_hits
from pairtile.methods.mirna_targets.report_hits import (
    GENES,
    conserved,
    has_null,
    hits_of,
    null_row,
    settings_of,
    shared_sites,
    targets_of,
    targets_of_pairs,
)
from pairtile.methods.mirna_targets.tables import ALL_MIRNAS
from pairtile.report.formats import count
from pairtile.report.method_report import (
    ANSWER_ROWS,
    Answer,
    MethodReport,
    MethodText,
    Results,
    best_edges,
)
from pairtile.report.sections.network import strongest
from pairtile.view.evidence import evidence_section

message = messages_of(__package__)

N_SITES, N_PAIRS = 3, 5
"""Strongest hits, and pairs of the lowest p, that are named in the findings."""


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of hits, chance, conservation, expression and what has no hit."""
    network, counts, items = results.network, results.counts, results.items
    hits, targets = results.cached(hits_of), results.cached(targets_of)
    in_network = int(network["n_hits"].sum()) if "n_hits" in network else 0
    on = counts.get("transcripts_with_sites", int(network["target"].nunique()))
    classes = hits.seed_classes if hits else {}
    made: dict[str, object] = {
        "settings": settings_of(results),
        "by_gene": GENES in network,
        "n_hits": counts.get("hits", in_network),
        "hit_transcripts": on,
        "hits": hits.n if hits else 0,
        "canonical": hits.canonical if hits else 0,
        "classes": classes,
        "canonical_classes": [
            (name, classes[name]) for name in ("8mer", "7mer-m8", "7mer-A1") if classes.get(name)
        ],
        "pairs_read": targets.n if targets else 0,
        "canonical_pairs": targets.canonical if targets else 0,
        "most_mirnas": targets.mirnas["pairs"].to_dict() if targets else {},
        "most_transcripts": targets.transcripts["pairs"].to_dict() if targets else {},
        "several": int((network["n_hits"] > 1).sum()) if "n_hits" in network else 0,
        "strongest": [] if has_null(results) else _strongest(results),
        # All sites and canonical ones against those of the shuffles, as far as there are numbers.
        "null": {
            name: {k: v for k, v in null_row(results, name).items() if np.isfinite(v)}
            for name in ("all", "canonical")
        }
        if has_null(results)
        else None,
        "conservation": _conservation(results),
        "expression": _expression(results),
        "unusable": _by_kind(results.dropped),
        "alone": [],
    }
    if len(network) and "kind" in items:
        there = {"miRNA": network["source"].nunique(), "transcript": on}
        kept = _by_kind(items[items["kept"].astype(bool)])
        made["alone"] = [(word, n - there[word]) for word, n in kept if n > there[word]]
    if has_null(results) and "joint_q_value" in network and len(network):
        significant = int((network["joint_q_value"] <= 0.05).sum())
        made |= {"significant": significant, "lowest_p": lowest_p(network, significant or N_PAIRS)}
    return made


def _by_kind(items: pd.DataFrame) -> list[tuple[str, int]]:
    kinds = Counter(items.get("kind", ()))
    words = {"mirna": "miRNA", "transcript": "transcript"}
    return [(word, kinds[kind]) for kind, word in words.items() if kind in kinds]


def lowest_p(network: pd.DataFrame, n: int) -> list[list[str | float]]:
    """The first pairs of the network, which goes by p: names, p, q, hits."""
    columns = ["source", "target", "joint_p_value", "joint_q_value", "n_hits"]
    return list(network[columns].head(min(n, N_PAIRS)).to_numpy().tolist())


def _strongest(results: Results) -> list[dict[str, object]]:
    """The strongest alignments, each with its first transcript."""
    hits, sites = results.cached(hits_of), []
    for site in shared_sites(hits, N_SITES) if hits and hits.n else ():
        hit, energy = site.hits.iloc[0], site.hits.iloc[0]["energy_kcal_mol"]
        sites.append(
            {
                **hit[["mirna", "score", "seed_class"]],
                "energy": None if pd.isna(energy) else round(energy, 1),
                "transcript": site.transcripts[0],
                "more": len(site.transcripts) - 1,
                "complete": site.complete,
            }
        )
    return sites


def _conservation(results: Results) -> dict[str, object] | None:
    """Canonical sites that half of the species, or half of the tree, keep."""
    table = results.cached(conserved)
    rows = table[table["seed_class"] == "canonical"]
    if rows.empty:
        return None
    row = rows.iloc[(len(rows) - 1) // 2]
    return {
        "by_tree": "min_branch_length" in rows,
        "bound": row.iloc[2],
        "rates": [max(row[of], 0.0) for of in ("conservation_rate", "rate_low", "rate_high")],
        **row[["sites", "kept", "expected"]],
    } if row["sites"] else None  # fmt: skip


def _expression(results: Results) -> dict[str, object] | None:
    """Whether targets go against their miRNAs, all together and by miRNA."""
    table = results.table("expression.tsv").set_index("mirna")
    if table.empty:
        return None
    row, q = table.loc[ALL_MIRNAS], table["q_value"].iloc[1:]
    if not row["pairs"]:
        return None
    shown = row[["pairs", "correlation", "expected", "p_value"]]
    return {**shown, "low": int((q <= 0.05).sum()), "tested": int(q.notna().sum())}


def warnings(results: Results) -> Iterator[Message]:
    """What a reader of predicted targets should know, and what these settings bring about."""
    settings = settings_of(results)
    if not settings["energies"]:
        yield message("no_energies")
    if settings["trim"]:
        yield message("transcripts_trimmed", letters=settings["trim"])
    if results.network.empty:
        return
    yield message("only_predictions")
    yield message("sites_outside_utrs")
    if not has_null(results):
        yield message("no_shuffles")
    hits = results.cached(hits_of)
    if hits and hits.strongest["reference_alignment"].str.contains("[Tt]").any():
        yield message("written_with_t")


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


def edge_table(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """The strongest pairs with their columns of targets.tsv."""
    path = results.folder / "targets.tsv"
    if not path.is_file() or table.empty or GENES in table:
        return table
    rows = targets_of_pairs(results, table)
    whole = ("n_canonical_sites", "transcript_length")
    # Longer tables leave out positions and sums, of 50,000 pairs over a megabyte; targets.tsv
    # has them.
    brief = (*SUMS, "positions") if len(table) > 10_000 else ()
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
    """The best pairs, with their best site and the q of what ranks them."""
    above, edges = best_edges(results)
    more = results.cached(strongest)[1].head(ANSWER_ROWS)
    columns = [name for name in ("joint_q_value", "best_seed_class") if name in more]
    shown = edges.drop(columns="q_value") if "joint_q_value" in more else edges
    return above, shown.assign(**{name: more[name].to_numpy() for name in columns})


REPORT = MethodReport(
    text=TEXT,
    answer=Answer(surest_pairs, pictures=("signal", "site_map", "target_map")),
    figures=f"{__package__}.charts:FIGURES",
    # What a pair is judged by is its alignments, which the table of hits has.
    sections=(evidence_section(lambda results, state: None), report_hits.section),
)
