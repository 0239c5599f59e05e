"""Report: text of multimodal correlation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from pairtile.methods.multimodal_correlation import report_conditions, report_modules
from pairtile.methods.multimodal_correlation.report_cautions import cautions
from pairtile.methods.multimodal_correlation.report_conditions_text import differs_in
from pairtile.methods.multimodal_correlation.report_files import FILE_COLUMNS, FILES
from pairtile.methods.multimodal_correlation.report_findings import (
    findings,
    headline,
    key_numbers,
    mixture,
)
from pairtile.methods.multimodal_correlation.report_methods import methods_paragraph
from pairtile.methods.multimodal_correlation.report_modules import module_grouping
from pairtile.methods.multimodal_correlation.report_pictures import FIGURES
from pairtile.methods.multimodal_correlation.report_results import mode_results
from pairtile.report.make_figures import cleaning, precision_recall
from pairtile.report.method_report import MethodReport, MethodText

if TYPE_CHECKING:
    from pairtile.report.results import Results


def edge_table(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """The columns that a reader wants first; a column for all conditions, not one for each test."""
    found = results.cached(mode_results)
    if found is None:
        return table
    columns = ["source", "target", "correlation", "n_samples"]
    columns += ["cluster", "n_modes"] if mixture(results) else []
    shown = table[[*columns, "p_value"]].copy()
    apart = differs_in(table)
    if apart is not None and (apart != "").any():
        shown["differs_in"] = apart
    if found.conditions:
        keys = pd.MultiIndex.from_frame(table[["source", "target", "cluster"]])
        shown["conditions"] = found.labels_of_edges().reindex(keys).fillna("").to_numpy()
    return shown


def adapted(results: Results) -> MethodText:
    """Text for one analysis: without mixtures an edge is a pair, not a mode."""
    if mixture(results):
        return TEXT
    return replace(TEXT, title="Correlation of all samples")


TEXT = MethodText(
    title="Multimodal correlation (pairwise Gaussian mixtures)",
    score="correlation",
    score_axis="correlation",
    ranking="the pairs, by the size of their strongest mode's correlation",
    strength=("correlation",),
    signed=True,
    ties=("p_value",),
    columns={
        "correlation": "correlation",
        "n_samples": "samples",
        "cluster": "mode",
        "n_modes": "modes of the pair",
        "p_value": "p-value",
        "differs_in": "differs in",
        "conditions": "goes with",
    },
    counts={
        "genes_read": "genes read",
        "genes_kept": "genes kept",
        "genes_dropped_too_few_samples": "genes left out: too few observed samples",
        "genes_dropped_constant": "genes left out: constant",
        "genes_constant": "constant genes kept",
        "samples": "samples",
        "values_missing_in_input": "missing values in the input",
        "zeros_to_missing": "zeros read as missing",
        "values_missing": "missing values after cleaning",
        "tiles": "tiles",
        "chunks": "chunks of tiles",
        "pairs": "pairs of genes",
        "pairs_stored": "modes stored (rows of pairs.parquet)",
        "too_few_samples": "pairs without a mode: too few samples in common",
        "constant": "pairs without a mode: a constant gene",
        "degenerate": "pairs on one line (|r| = 1), taken as one mode",
        "failed": "pairs without a mode: every fit failed",
        "fits": "fits of two or more modes",
        "fits_failed": "fits that failed",
        "fits_unfinished": "fits that had not settled at the last step",
        "em_steps": "steps of all fits",
        "modes_kept": "modes stored",
        "modes_below": "modes not stored: correlation too small",
        "modes_above": "modes not stored: correlation too large",
        "modes_small": "modes not stored: too few samples",
        "modes_undefined": "modes not stored: a gene is constant in them",
        "modes_above_threshold": "modes above the threshold",
        "modes_without_power": "modes left out: too few samples for their correlation (power)",
        "edges": "edges in the network",
        "pairs_in_network": "pairs of genes in the network",
        "genes_in_network": "genes in the network",
        "condition_specific_edges": "edges of condition networks, each label counted",
        "modules": "modules",
    },
    headline=headline,
    key_numbers=key_numbers,
    remarks=findings,
    warnings=cautions,
    empty=(
        "The network is empty. threshold: {method: score, score: 0.8} takes a threshold of your "
        "own; power: false keeps modes of few samples; a smaller estimator.min_samples finds modes "
        "in fewer samples. The distribution of correlations below shows what there is."
    ),
    edge_table=edge_table,
    files=FILES,
    file_columns=FILE_COLUMNS,
    methods=methods_paragraph,
    adapted=adapted,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**FIGURES, "precision_recall": precision_recall, "cleaning": cleaning},
    sections=(
        report_conditions.section,
        report_modules.section,
    ),
    grouping=module_grouping,
)
