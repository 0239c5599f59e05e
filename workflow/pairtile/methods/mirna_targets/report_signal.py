"""Report: how many of the sites and pairs are more than chance gives, from the shuffled miRNAs; how
many sites are kept in other species beyond chance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pairtile.methods.mirna_targets import figures
from pairtile.methods.mirna_targets.null import CLASS_ROWS
from pairtile.methods.mirna_targets.tables import ALL_MIRNAS
from pairtile.report.formats import count, counted, listed, number, percent, plain
from pairtile.report.method_report import FigureWithText
from pairtile.report.results import Results

FEW_KEPT = 10
"""Sites below which a rate is not drawn."""

N_NAMED = 5
"""Pairs that are named in the findings, those of the lowest p."""

SHOWN_CLASSES = ("8mer", "7mer-m8", "7mer-A1", "6mer", "offset 6mer", "none")


def has_null(results: Results) -> bool:
    """Whether there are shuffles to compare with."""
    return results.scores is not None and "null_sites" in results.scores


def chance_numbers(results: Results) -> list[tuple[str, str, str]]:
    """The tile beside the number of hits: as many as chance gives."""
    row = _row(results, "all") if has_null(results) else None
    if row is None or not np.isfinite(row["ratio"]):
        return []
    return [(count(round(row["expected"])), "hits by chance", f"ratio {row['ratio']:.2f}")]


def signal_findings(results: Results) -> list[str]:
    """Sites and pairs against those of the shuffled miRNAs."""
    if not has_null(results):
        return []
    text = f"Chance alone gives {_against(results, 'all')}."
    every, canonical = _row(results, "all"), _row(results, "canonical")
    if every["sites"] and all(every[of] == canonical[of] for of in ("sites", "expected")):
        text += " All of these hits, and those by chance, are canonical sites."
    else:
        text += (
            " Of canonical sites (8mer, 7mer-m8, 7mer-A1) there are "
            f"{_sites(results, 'canonical')}, chance gives {_against(results, 'canonical')}."
        )
    lines = [text]
    network = results.network
    if "q_value" in network and len(network):
        found = int((network["q_value"] <= 0.05).sum())
        if found:
            verb = "has" if found == 1 else "have"
            text = f"{counted(found, 'pair')} {verb} more or stronger sites than chance explains"
            text += f" at q ≤ 0.05{', the strongest' if found > N_NAMED else ''}: "
        else:
            text = "No pair has more sites than chance explains at q ≤ 0.05. The lowest p: "
        lines.append(f"{text}{listed(_pairs_by_p(network, found or N_NAMED))}.")
    return lines


def _pairs_by_p(network: pd.DataFrame, n: int) -> list[str]:
    """``let-7 on HMGA2 (p 1e-5, q 0.02)``: the first pairs of the network, which goes by p."""
    return [
        f"{pair['source']} on {pair['target']} (p {number(pair['p_value'])}, "
        f"q {number(pair['q_value'])}, {counted(int(pair['n_hits']), 'hit')})"
        for pair in network.head(min(n, N_NAMED)).to_dict("records")
    ]


def conserved(results: Results) -> pd.DataFrame | None:
    """The rows of conservation.tsv for all miRNAs, for ``results.cached``; None without."""
    path = results.folder / "conservation.tsv"
    if not path.is_file():
        return None
    table = pd.read_csv(path, sep="\t")
    return table[table["mirna"] == ALL_MIRNAS]


def conservation_findings(results: Results) -> list[str]:
    """Canonical sites that half of the species, or half of the tree, keep."""
    table = results.cached(conserved)
    if table is None:
        return []
    rows = table[table["seed_class"] == "canonical"]
    row = rows.iloc[(len(rows) - 1) // 2]
    if not row["sites"]:
        return []
    n_species = results.counts.get("ortholog_species", 0)
    by_tree = "min_branch_length" in rows
    where = f"in at least {plain(row.iloc[2])} of {count(n_species)} other species"
    if by_tree:
        where = f"along branches of at least {number(row.iloc[2])} substitutions a site"
    text = (
        f"Of {count(int(row['sites']))} canonical sites with an ortholog, {count(int(row['kept']))}"
        f" are kept {where}; chance keeps {count(round(row['expected']))} (shuffled miRNAs)"
    )
    if row["kept"]:
        low, high = (percent(max(row[name], 0.0)) for name in ("rate_low", "rate_high"))
        share = percent(max(row["conservation_rate"], 0.0))
        text += f": {share} ({low} to {high}) of these are conserved beyond chance"
    return [f"{text}."]


def expression_findings(results: Results) -> list[str]:
    """Whether targets go against their miRNAs, all together and by miRNA."""
    path = results.folder / "expression.tsv"
    if not path.is_file():
        return []
    table = pd.read_csv(path, sep="\t").set_index("mirna")
    row, q = table.loc[ALL_MIRNAS], table["q_value"].iloc[1:]
    if not row["pairs"]:
        return []
    low = int((q <= 0.05).sum())
    mean, expected = (
        number(row[name]).replace("-", "\N{MINUS SIGN}") for name in ("correlation", "expected")
    )
    return [
        f"{counted(int(row['pairs']), 'pair')} with a canonical site and expression of both sides "
        f"{'has' if row['pairs'] == 1 else 'have'} a mean correlation of "
        f"{mean}; those of the shuffles {expected} (p {number(row['p_value'])}). The targets of "
        f"{counted(low, 'miRNA')} of {count(int(q.notna().sum()))} go against it more than "
        "chance gives (q ≤ 0.05)."
    ]


def _row(results: Results, name: str) -> dict[str, float]:
    assert results.scores is not None
    row = CLASS_ROWS.index(name)
    columns = ("sites", "expected", "ratio", "ratio_low", "ratio_high", "p_value")
    return {column: float(results.scores[f"null_{column}"][row]) for column in columns}


def _sites(results: Results, name: str) -> str:
    return count(int(_row(results, name)["sites"]))


def _against(results: Results, name: str) -> str:
    """``6,607 of them (shuffled miRNAs; ratio 1.01, 0.93 to 1.08)``."""
    row = _row(results, name)
    interval = ""
    if np.isfinite(row["ratio"]):
        interval = f"; ratio {row['ratio']:.2f}"
        if np.isfinite(row["ratio_high"]):
            interval += f", {row['ratio_low']:.2f} to {row['ratio_high']:.2f}"
    sites = "sites" if name == "canonical" else f"of {_sites(results, name)} hits"
    return f"{count(round(row['expected']))} {sites} (shuffled miRNAs{interval})"


def signal(results: Results) -> FigureWithText | None:
    """Ratio of each seed class, and pairs by their score."""
    if not has_null(results):
        return None
    rows = {name: _row(results, name) for name in SHOWN_CLASSES}
    rows = {name: row for name, row in rows.items() if row["sites"] and row["expected"]}
    if not rows:
        return None
    scores = results.scores
    assert scores is not None
    figure = figures.signal_and_chance(
        list(rows),
        [row["ratio"] for row in rows.values()],
        [(row["ratio_low"], row["ratio_high"]) for row in rows.values()],
        scores["null_pair_scores"],
        scores["null_pairs"],
        scores["null_pairs_expected"],
    )
    shuffles = plain((results.parameters.get("null") or {}).get("shuffles", 0))
    caption = (
        f"Left: sites over those of {shuffles} shuffles of each miRNA, by seed class; lines: to "
        "the 2.5 and 97.5 % quantiles of the shuffles. 1 is chance. Right: pairs of miRNA and "
        "transcript with a pair score of this or more, and as many as the shuffles have."
    )
    values = ", ".join(f"{name} {number(row['ratio'])}" for name, row in rows.items())
    return FigureWithText(
        figure, "Signal and chance", caption, f"Two charts. {caption} Ratios: {values}."
    )


def conservation(results: Results) -> FigureWithText | None:
    """Share of the sites kept that chance does not explain, by how well they are kept."""
    table = results.cached(conserved)
    if table is None:
        return None
    table = table[table["kept"] >= FEW_KEPT]
    if table.empty:
        return None
    measure = "min_branch_length" if "min_branch_length" in table else "min_species"
    of = {
        name: rows for name, rows in table.groupby("seed_class", sort=False) if rows["kept"].any()
    }
    label = "branch length (substitutions a site)" if "length" in measure else "number of species"
    levels = table[measure].unique()
    rows_of = {str(name): rows.set_index(measure).reindex(levels) for name, rows in of.items()}
    figure = figures.conservation_rates(
        levels,
        {name: rows["conservation_rate"] for name, rows in rows_of.items()},
        {name: (rows["rate_low"], rows["rate_high"]) for name, rows in rows_of.items()},
        label=f"kept, at least: {label}",
    )
    caption = (
        "Of the sites that are kept in other species so well or better, the share that chance does "
        "not explain: (S − B) / S, S sites of the miRNAs, B as many as would be kept if it were as "
        "often as sites of the shuffles. Band: canonical sites, the middle 95 % of the shuffles. "
        f"Only where {FEW_KEPT} sites or more are kept."
    )
    best = table.iloc[int(np.nanargmax(table["conservation_rate"]))]
    alternative = (
        f"Line chart. {caption} Greatest: {best['seed_class']}, "
        f"{percent(max(best['conservation_rate'], 0.0))} at {number(best[measure])} or more."
    )
    return FigureWithText(figure, "Conservation", caption, alternative)
