"""The tables of a multimodal network: the walk to its threshold, tests of conditions and their
networks, modules, and the texts of KINC."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.estimator import MergedResults, TableSummary
from pairtile.io.symbols import add_symbols
from pairtile.methods.multimodal_correlation.arrays import ModeArrays
from pairtile.methods.multimodal_correlation.conditions import ConditionTests, condition_networks
from pairtile.methods.multimodal_correlation.config import (
    ModulesConfig,
    MultimodalCorrelationConfig,
)
from pairtile.methods.multimodal_correlation.kinc_text import write_kinc_texts
from pairtile.methods.multimodal_correlation.network import (
    MASKS,
    annotations_of,
    conditions_tested,
    mode_samples,
    modes_of_edges,
)
from pairtile.methods.multimodal_correlation.thresholds import table_of_walk
from pairtile.runtime.files import atomic_path, write_tsv
from pairtile.statistics.modules import leiden_modules, link_communities

ROWS = 100_000
"""Modes whose tests are written at a time."""


def write_tables(
    config: MultimodalCorrelationConfig,
    state: ModeArrays,
    merged: MergedResults,
    items: pd.DataFrame,
    folder: Path,
) -> TableSummary:
    """Write the tables of the configuration into ``folder``, each whole or not at all."""
    network = merged.network
    if network is None:
        raise ValueError("found no network; expected the one that the tables are of")
    number = pd.Series(np.arange(len(items), dtype=np.int32), index=items["name"])
    number = number[items["kept"].to_numpy()]
    i, j = (number.loc[network[end]].to_numpy() for end in ("source", "target"))
    edges = network.assign(i=i, j=j)
    edges = pd.concat([edges, modes_of_edges(merged, edges)[list(MASKS)]], axis=1)
    done = TableSummary()
    if config.threshold.walks:
        write_tsv(folder / "threshold.tsv", table_of_walk(merged.scores, "curve"))
    samples = mode_samples(config, state, edges)
    annotations = annotations_of(config, state)
    tests = ConditionTests([])
    if annotations is not None:
        tests = conditions_tested(config, state, samples, annotations.conditions)
        named = add_symbols(edges[["source", "target", "cluster"]], items)
        path = folder / "condition_tests.tsv"
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as out:
            for start in range(0, max(len(named), 1), ROWS):
                part = tests.table(named, slice(start, start + ROWS))
                part.to_csv(out, sep="\t", index=False, header=start == 0, lineterminator="\n")
        chosen, counts = condition_networks(edges, tests, config.condition_networks.q_value)
        table = add_symbols(chosen.drop(columns="mode"), items)
        write_tsv(folder / "condition_networks.tsv", table)
        done.counts["condition_specific_edges"] = len(chosen)
        for label in counts.to_dict("records"):
            name = "_".join(filter(None, (str(label["condition"]), str(label["label"]))))
            done.counts[f"edges_of_{name}"] = int(label["modes"])
    if config.modules and config.gene_modules is None:
        table = module_rows(config.modules, edges, items["name"].to_numpy())
        write_tsv(folder / "modules.tsv", add_symbols(table, items, ["gene"]))
        done.counts["modules"] = int(table["module"].nunique())
    if config.writes_kinc_text:
        if config.compatibility == "kinc":
            # KINC reads single precision, and its limits of outliers are of that.
            samples = replace(samples, values=samples.values.astype(np.float32))
        write_kinc_texts(edges, samples, tests, config.estimator.outliers_before, folder)
    return done


def module_rows(
    settings: ModulesConfig, edges: pd.DataFrame, names: NDArray[np.object_]
) -> pd.DataFrame:
    """Genes with their modules, largest module first: gene, module, degree (genes joined to it),
    degree_in_module. With link communities a gene has a row for each of its communities.

    edges : i, j, correlation. names : of all genes.
    """
    i, j = edges["i"].to_numpy(), edges["j"].to_numpy()
    r, resolution = edges["correlation"].to_numpy(), settings.resolution
    both = pd.DataFrame({"a": np.append(i, j), "b": np.append(j, i)})
    if settings.method == "leiden":
        module = leiden_modules(i, j, r, len(names), resolution=resolution)
        both = both.assign(module=module[both["a"]], inside=module[both["a"]] == module[both["b"]])
    else:
        community = link_communities(i, j, r, len(names), resolution=resolution)
        both = both.assign(module=np.append(community, community), inside=True)
    both = both.drop_duplicates()
    table = both.groupby(["module", "a"])[["inside"]].sum().reset_index()
    table["degree"] = both.groupby("a")["b"].nunique().loc[table["a"]].to_numpy()
    table = table.sort_values(
        ["module", "inside", "degree", "a"], ascending=[True, False, False, True]
    )
    return pd.DataFrame(
        {
            "gene": names[table["a"].to_numpy()],
            "module": table["module"].to_numpy(),
            "degree": table["degree"].to_numpy(),
            "degree_in_module": table["inside"].to_numpy(),
        }
    )
