"""Predicted targets of miRNAs beside their expression: those that go against their miRNA, and
whether predicted targets do so more than other genes (``downstream.target_enrichment``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.arrays import Int64Array
from pairtile.config.preprocess import TwoTableAnalysis
from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.given import Given
from pairtile.downstream.target_enrichment import (
    MIN_FAMILIES,
    permuted_correlations,
    rank_profiles,
    target_enrichment,
)
from pairtile.engine.estimator import TableSummary
from pairtile.errors import InputError
from pairtile.io.names import GeneNames, join_first
from pairtile.preprocess.null_design import inflation, null_design
from pairtile.preprocess.two_tables import KEPT_APART, TABLES
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.hidden_factors import Exchange
from pairtile.statistics.ranks import spearman

message = messages_of(__package__)

NAMES_OF_GENES = ("gene", "symbol", "transcript")
"""Columns of ``targets.tsv`` that may name the genes of the expression table."""

MIN_TARGETS = 5
"""Predicted targets among the genes of the table, from which a miRNA is tested."""

ENRICHMENT = (
    *("mirna", "n_targets", "r_targets", "r_others"),
    *("p_samples", "p_sets", "p_value", "q_value"),
)
"""Columns of ``target_enrichment.tsv``."""


def run(given: Given) -> TableSummary:
    """Write ``predicted_targets.tsv``, ``target_enrichment.tsv`` and ``target_correlations.tsv``.

    Raises
    ------
    InputError
        No predicted pair whose miRNA and gene both have expression.
    """
    config = given.config
    assert isinstance(config, TwoTableAnalysis)
    table = given.items.loc[given.items["kept"], "table"].to_numpy()
    rows, genes = (np.flatnonzero(table == name) for name in reversed(TABLES))
    file = given.folder.parent / str(config.mirna_targets) / "targets.tsv"
    names = np.array(given.genes, dtype=object)
    of_first = given.items[given.items["table"] == TABLES[0]]
    known = GeneNames.of_items(of_first, config.ignore_case, config.ignore_versions)
    pairs, at_row, at_gene, notes = predicted_pairs(file, names[rows], known)
    design = null_design("auto", given.known, len(given.samples))
    groups = None if design.shifted.any() else design.groups
    exchange = Exchange(design.groups, design.shifted)
    wider = inflation(given.known, len(given.samples))
    values = np.asarray(given.values)
    mirna_ranks, gene_ranks = (rank_profiles(values[part], groups) for part in (rows, genes))
    pairs["correlation"] = spearman(values, rows[at_row], values, genes[at_gene])
    # One-sided, by so many pairs of which one had its samples exchanged.
    null = permuted_correlations(mirna_ranks, gene_ranks, exchange, 4_000_000, given.seed)
    null *= np.float32(np.sqrt(wider))
    r = np.einsum("ij,ij->i", mirna_ranks[at_row], gene_ranks[at_gene])
    pairs["p_value"] = (1.0 + np.searchsorted(null, r, side="right")) / (1.0 + null.size)
    pairs["q_value"] = benjamini_hochberg(pairs["p_value"])
    edges = set(zip(given.network["source"], given.network["target"], strict=True))
    ends = zip(pairs["mirna"], pairs["target"], strict=True)
    pairs["in_network"] = [pair in edges for pair in ends]
    against = pairs[pairs["correlation"] < 0.0]
    order = ["p_value", "correlation", "mirna", "target"]
    given.write("predicted_targets.tsv", against.sort_values(order, kind="stable"))
    targets = np.zeros((rows.size, genes.size), dtype=bool)
    targets[at_row, at_gene] = True
    number = targets.sum(axis=1)
    tested = np.flatnonzero((number >= MIN_TARGETS) & (number < genes.size))
    summary = pd.DataFrame(columns=ENRICHMENT)
    quantiles = pd.DataFrame({"share": np.linspace(0.0, 1.0, 101)})
    quantiles[["r_targets", "r_others"]] = np.nan
    if tested.size:
        test = target_enrichment(
            mirna_ranks[tested],
            gene_ranks,
            targets[tested],
            exchange,
            seed=given.seed,
            inflation=wider,
        )
        each = test.each.assign(mirna=names[rows[tested]], n_targets=number[tested])
        each["q_value"] = benjamini_hochberg(each["p_value"])
        each = each.sort_values(["p_value", "r_targets"], kind="stable")
        # All miRNAs together come first.
        together = test.together | {
            "mirna": "all",
            "n_targets": int(number[tested].sum()),
            "r_targets": test.each["r_targets"].mean(),
            "r_others": test.each["r_others"].mean(),
            "q_value": test.together["p_value"],
        }
        summary = pd.concat([pd.DataFrame([together]), each], ignore_index=True)[[*ENRICHMENT]]
        r = mirna_ranks[tested] @ gene_ranks.T
        for name, chosen in (("r_targets", targets[tested]), ("r_others", ~targets[tested])):
            quantiles[name] = np.quantile(r[chosen], quantiles["share"])
        if test.families < MIN_FAMILIES:
            notes.append(message("few_target_sets", families=test.families, least=MIN_FAMILIES))
    given.write("target_enrichment.tsv", summary)
    given.write("target_correlations.tsv", quantiles)
    counts = {
        "predicted_pairs": len(pairs),
        "predicted_pairs_against": len(against),
        "predicted_pairs_at_fdr_0.05": int((against["q_value"] <= 0.05).sum()),
        "mirnas_tested": max(0, len(summary) - 1),
        "mirnas_with_few_targets": int(((number > 0) & (number < MIN_TARGETS)).sum()),
    }
    return TableSummary(counts, notes)


def predicted_pairs(
    file: Path, rows: NDArray[np.object_], genes: GeneNames
) -> tuple[pd.DataFrame, Int64Array, Int64Array, list[Message]]:
    """The pairs of ``targets.tsv`` with a canonical site, by rows and genes that have expression.

    Transcripts of one gene are joined: their sites are added up, the best score and energy stand.

    Returns a row for each pair, ``mirna`` and ``target`` as the items are called, with the sites;
    places of both among the rows of the other table and among the genes, int64 (pairs,); and what
    to say of it.
    """
    texts = dict.fromkeys(("mirna", *NAMES_OF_GENES, "best_seed_class", "positions"), str)
    table = pd.read_csv(
        file,
        sep="\t",
        dtype=texts,
        keep_default_na=False,
        na_values={"min_energy_kcal_mol": [""]},
    )
    table = table[table["n_canonical_sites"] > 0]
    bare = [str(name).removeprefix(KEPT_APART) for name in rows]
    place_of_row = pd.Series(np.arange(rows.size), index=bare)
    given = {name: table[name] for name in NAMES_OF_GENES if name in table}
    places = {name: genes.find(names).rows for name, names in given.items()}
    key = max(places, key=lambda name: len(places[name]))
    place_of_gene = {name: found[0] for name, found in places[key].items()}
    row = table["mirna"].map(place_of_row)
    gene = given[key].map(place_of_gene)
    there = row.notna() & gene.notna()
    if not there.any():
        found = (
            f"{row.notna().sum()} pairs of miRNAs in other_expression ({join_first(bare)}), "
            f"{gene.notna().sum()} of genes in expression ({join_first(genes.names)}), none of "
            f"both, among {len(table)} with a canonical site "
            f"({join_first(table['mirna'].unique().tolist())}; "
            f"{join_first(given[key].unique().tolist())})"
        )
        raise InputError.at(file, "", found, "miRNAs and genes named as in the two tables")
    pairs = table[there].assign(row=row[there].astype(int), gene=gene[there].astype(int))
    joined = pairs.groupby(["row", "gene"], as_index=False).agg(
        {
            "n_hits": "sum",
            "n_canonical_sites": "sum",
            "max_score": "max",
            "min_energy_kcal_mol": "min",
        }
    )
    at_row, at_gene = (joined.pop(name).to_numpy(np.int64) for name in ("row", "gene"))
    joined.insert(0, "mirna", rows[at_row])
    joined.insert(1, "target", np.array(genes.names, dtype=object)[at_gene])
    lost = {
        "pairs": len(table),
        "joined": len(joined),
        "mirnas": int(table.loc[row.isna(), "mirna"].nunique()),
        "genes": int(given[key][gene.isna()].nunique()),
    }
    return joined, at_row, at_gene, [message("targets_joined", column=key, **lost)]
