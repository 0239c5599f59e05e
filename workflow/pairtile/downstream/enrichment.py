"""Stage ``enrichment``: gene sets that are over-represented in what an analysis found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pairtile.arrays import Float64Array, Int64Array
from pairtile.config.preprocess import TableAnalysis
from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.eigengenes import correlations, eigengene, standardise
from pairtile.downstream.enrichment_tests import excess_by_profile, overlap_tests, rank_tests
from pairtile.downstream.gene_sets import (
    MIN_SET_GENES,
    GeneSets,
    find_gene_sets,
    read_gene_sets,
)
from pairtile.downstream.given import Q_VALUE, Given
from pairtile.engine.estimator import TableSummary
from pairtile.engine.large_table import row_blocks
from pairtile.io.names import GeneNames
from pairtile.io.networks.edge_lists import regulon_table
from pairtile.statistics.correction import benjamini_hochberg
from pairtile.statistics.dependence import evenly_spaced
from pairtile.statistics.modules import leiden_modules

message = messages_of(__package__)

MAX_SAMPLES = 1000
"""Samples by which correlations of genes are estimated; of more, so many evenly spaced ones."""

MAX_ROWS = 100_000
"""Rows of the table, those of the smallest p-values; all tests count for q."""

FILE = "enrichment.tsv"


class GeneList(NamedTuple):
    """``rows``: analysed genes that are listed. ``impossible``: those that could not be."""

    kind: str
    name: str
    rows: Int64Array
    impossible: tuple[int, ...] = ()


def enrichment_table(
    sets: GeneSets,
    genes: Sequence[str],
    lists: Iterable[GeneList],
    eigengenes: Sequence[tuple[str, Float64Array]] = (),
    values: Float64Array | None = None,
    free_samples: int = 0,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Test every set with every list and every eigengene; q-values are over all of these tests.

    eigengenes : name and profile over the samples, float64 (samples,), that genes are ranked by.
    values : float64 (genes, samples), what genes are correlated with eigengenes by.
    free_samples : samples, less the degrees of freedom that were taken off the values before.

    Returns the rows of ``enrichment.tsv``, best first, without those of no common gene, and counts.
    """
    size = np.rint(sets.members.sum(axis=1)).astype(np.int64)
    parts: list[pd.DataFrame] = []
    tested: list[tuple[str, str]] = []  # kind and name
    listed_rows: dict[int, Int64Array] = {}
    scores: dict[int, Float64Array] = {}
    given = list(lists)
    large = [each for each in given if each.rows.size >= MIN_SET_GENES]
    for each in large:
        listed, possible = np.zeros(len(genes), dtype=bool), np.ones(len(genes), dtype=bool)
        listed[each.rows], possible[list(each.impossible)] = True, False
        found = overlap_tests(listed, sets.members, possible).assign(
            number=len(tested), set=np.arange(size.size), size=size
        )
        parts.append(found[found["overlap"] > 0])
        listed_rows[len(tested)] = each.rows
        tested.append((each.kind, each.name))
    if eigengenes:
        assert values is not None
        stack = np.stack([profile for _, profile in eigengenes])
        all_kme = np.concatenate([correlations(values[k], stack) for k in row_blocks(values.shape)])
        taken = evenly_spaced(values.shape[1], MAX_SAMPLES)
        some_values = np.asarray(values[:, taken])
        for (name, profile), kme in zip(eigengenes, all_kme.T, strict=True):
            noise = excess_by_profile(kme, some_values, profile[taken], sets.members, free_samples)
            found = rank_tests(kme, sets.members, *noise)[["effect", "p_value"]]
            parts.append(found.assign(number=len(tested), set=np.arange(size.size), size=size))
            scores[len(tested)] = kme
            tested.append(("module kME", name))
    n_tests = len(tested) * size.size
    columns = ["list", "kind", "gene_set", "overlap", "size", "expected", "effect"]
    counts = {
        "enrichment_lists": len(tested),
        "enrichment_lists_with_few_genes": len(given) - len(large),
        "enrichment_tests": n_tests,
        "enrichment_rows_left_out": 0,
    }
    if not parts:
        empty = pd.DataFrame(columns=[*columns, "p_value", "q_value", "genes"])
        return empty, {**counts, "enrichment_found": 0}
    table = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    table["q_value"] = benjamini_hochberg(table["p_value"], n_tests)
    counts |= {
        "enrichment_found": int((table["q_value"] <= Q_VALUE).sum()),
        "enrichment_rows_left_out": max(0, len(table) - MAX_ROWS),
    }
    table = table.sort_values(["p_value", "number", "set"], ignore_index=True).head(MAX_ROWS)
    table = table.reindex(columns=["number", "set", *columns, "p_value", "q_value"])
    table = table.assign(
        kind=[tested[k][0] for k in table["number"]],
        list=[tested[k][1] for k in table["number"]],
        gene_set=[sets.names[k] for k in table["set"]],
        overlap=table["overlap"].astype("Int64"),
    )
    named = []
    for number, k, effect in zip(table["number"], table["set"], table["effect"], strict=True):
        begin, end = sets.members.indptr[k : k + 2]
        rows = np.asarray(sets.members.indices[begin:end], dtype=np.int64)
        if number in listed_rows:
            rows = rows[np.isin(rows, listed_rows[number])]
        else:
            up = scores[number][rows] if effect >= 0.5 else -scores[number][rows]
            # Genes that are named of a set whose ranks were tested.
            rows = rows[np.argsort(-up, kind="stable")[:20]]
        named.append(";".join(genes[row] for row in rows.tolist()))
    return table[[*columns, "p_value", "q_value"]].assign(genes=named), counts


def sets_of(config: TableAnalysis, items: pd.DataFrame) -> GeneSets:
    """The sets of ``gene_sets`` among the kept items. Raises InputError."""
    genes = GeneNames.of_items(items, config.ignore_case, config.ignore_versions)
    path = str(config.gene_sets)
    sets, said = read_gene_sets(path, [*genes.names, *genes.symbols])
    return find_gene_sets(sets, genes, path, said)


def validate(config: TableAnalysis, items: pd.DataFrame) -> None:
    """Refuse a file that cannot be used, before anything is scored."""
    if config.gene_sets is not None:
        sets_of(config, items)


def regulon_lists(edges: pd.DataFrame, row: Mapping[str, int]) -> list[GeneList]:
    """The targets of each regulator; a regulator is no target of its own."""
    return [
        GeneList("regulon", str(name), _rows(group["target"], row), (row[str(name)],))
        for name, group in edges[edges["source"] != edges["target"]].groupby("source", sort=False)
    ]


def _rows(names: Iterable[object], row: Mapping[str, int]) -> Int64Array:
    return np.array([row[str(name)] for name in names], dtype=np.int64)


def edge_list(edges: pd.DataFrame, kind: str, name: str, row: Mapping[str, int]) -> GeneList:
    """The genes of some edges as a list."""
    ends = np.unique(edges[["source", "target"]].to_numpy(dtype=object).ravel().astype(str))
    return GeneList(kind, name, _rows(ends, row))


def module_lists(modules: pd.DataFrame, row: Mapping[str, int]) -> list[GeneList]:
    """From ``gene`` and ``module``; module 0 is none."""
    return [
        GeneList("module", str(name), _rows(group["gene"], row))
        for name, group in modules.groupby("module", sort=True)
        if str(name) != "0"
    ]


def named_lists(
    lists: Mapping[str, Iterable[str]] | pd.DataFrame, genes: GeneNames
) -> tuple[list[GeneList], list[Message]]:
    """Lists of names, modules (``gene``, ``module``) or a network (``source``, ``target``).

    Returns them with what to say of names.

    Raises ValueError for a name that is none of the genes.
    """
    list_names = [] if isinstance(lists, pd.DataFrame) else list(map(str, lists))
    if not isinstance(lists, pd.DataFrame):
        pairs = [(str(name), gene) for name, given in lists.items() for gene in given]
        lists = pd.DataFrame(pairs, columns=["list", "gene"], dtype=object)
    columns = ["gene"] if "gene" in lists else ["source", "target"]
    lists, said = genes.spell(lists, columns, "names of lists")
    row = {name: k for k, name in enumerate(genes.names)}
    if unknown := sorted({name for column in columns for name in lists[column]} - row.keys()):
        raise ValueError(f"lists: found {unknown[0]!r}; expected genes of the background")
    if "list" in lists:
        members = lists.groupby("list")["gene"].unique()
        found = {name: _rows(members.get(name, ()), row) for name in list_names}
        return [GeneList("list", name, rows) for name, rows in found.items()], said
    if "module" in lists:
        return module_lists(lists, row), said
    return regulon_lists(lists.drop_duplicates(["source", "target"]), row), said


def run(given: Given) -> TableSummary:
    """Write ``enrichment.tsv``."""
    sets = sets_of(given.config, given.items)
    row = {name: k for k, name in enumerate(given.genes)}
    lists, eigengenes = _modules(given, row)
    if given.directed or given.network_table.is_regulator.any():
        lists += regulon_lists(regulon_table(given.network_table), row)
    network = given.network
    lists += [
        edge_list(network[network[column] <= Q_VALUE], "condition", found[1], row)
        for column in network.columns
        if (found := re.fullmatch("(.+)_coexpression_q_value", str(column)))
    ]
    if getattr(given.config, "differential", None):
        edges = given.table("differential.tsv")
        edges = edges[edges["q_value"] <= Q_VALUE]
        for compared, pairs in edges.groupby("comparison", sort=True):
            lists.append(edge_list(pairs, "differential", str(compared), row))
            for name, group in pairs.groupby("class", sort=True):
                lists.append(edge_list(group, "differential", f"{compared}: {name}", row))
    free = len(given.samples) - given.degrees_given_up
    labels = given.labels
    called = [
        each._replace(name=labels[row[each.name]]) if each.kind == "regulon" else each
        for each in lists
    ]
    table, counts = enrichment_table(sets, labels, called, eigengenes, given.values, free)
    given.write(FILE, table)
    notes = list(sets.messages)
    unknown = sets.counts["gene_set_names_unknown"]
    if unknown > sets.counts["gene_set_names"] / 2:
        notes.append(message("gene_set_names_unknown", n=unknown, of=sets.counts["gene_set_names"]))
    if not counts["enrichment_lists"]:
        notes.append(message("nothing_to_enrich", n=MIN_SET_GENES))
    return TableSummary({**sets.counts, **counts}, notes)


def _modules(
    given: Given, row: Mapping[str, int]
) -> tuple[list[GeneList], list[tuple[str, Float64Array]]]:
    """Modules of the stage where it was asked for, else communities of the network; and what genes
    are ranked by: the eigengenes of these."""
    if given.config.gene_modules is not None:
        lists = module_lists(given.table("modules.tsv"), row)
        profiles = given.table("eigengenes.tsv").set_index("module")[given.samples]
        named = {str(name): profile.to_numpy(np.float64) for name, profile in profiles.iterrows()}
    else:
        found = leiden_modules(*given.network_table.edges_by_number, len(row), seed=given.seed)
        lists = module_lists(pd.DataFrame({"gene": given.genes, "module": found}), row)
        named = {}
    eigengenes = []
    for each in lists:
        if each.rows.size >= MIN_SET_GENES:
            some = each.rows[:: max(1, each.rows.size // MAX_SAMPLES)]
            known = named.get(each.name)
            profile = eigengene(standardise(given.values[some]))[0] if known is None else known
            eigengenes.append((each.name, profile))
    return lists, eigengenes
