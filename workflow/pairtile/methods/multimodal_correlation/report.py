"""The report of multimodal correlation: its names, texts, figures and sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.members import members_section
from pairtile.io.networks.drawing import Grouping
from pairtile.methods.multimodal_correlation.arrays import ModeArrays, source_values
from pairtile.methods.multimodal_correlation.conditions import unique_names
from pairtile.methods.multimodal_correlation.correlations import CORRELATIONS
from pairtile.methods.multimodal_correlation.report_results import (
    MAX_MODE_P,
    ModeResults,
    differs_in,
    edges_with_condition,
    label_counts,
    mixture,
    mode_results,
    settings,
    threshold_method,
)
from pairtile.report.formats import count, format_number, join_list, number, percent, pluralise
from pairtile.report.method_report import (
    ANSWER_ROWS,
    Answer,
    CaptionedFigure,
    MethodReport,
    MethodText,
    PageSection,
    Results,
    best_edges,
    needed,
)
from pairtile.statistics.modules import module_table
from pairtile.view.evidence import Samples, State, evidence_section, table_samples

message = messages_of(__package__)

SHARE_WARNED = 0.1
"""Share of a condition's edges with a sign of bias from which it is said."""

N_NAMED = 6


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of modes, threshold, edges, modules and conditions."""
    found, network = results.cached(mode_results), results.network
    heights = [int(n) for n in found.arrays.get("pairs_by_modes", ())]
    sizes = found.modules["module"].value_counts().sort_index()
    first = found.modules.drop_duplicates("module")
    # Each condition, the labels that edges go with, most first, and what was tested.
    said = {
        (each["code"], each["numbers"]["condition"]): each["numbers"]
        for each in results.summary.get("messages") or []
        if each["code"] in ("condition_tested", "counting_noise_thinned")
    }
    counts = label_counts(found).sort_values("edges", ascending=False, kind="stable")
    counts = counts[counts["edges"] > 0]
    return {
        "mixture": mixture(results),
        "correlation": CORRELATIONS[settings(results, "estimator").get("correlation", "spearman")],
        "rule": threshold_method(results),
        "limit": None if found.threshold is None else round(found.threshold, 4),
        "partners": found.partners.to_dict(),
        "pairs": len(found.pairs),
        "total": sum(heights),
        "fitted": sum(heights[1:]),
        "several": sum(heights[2:]),
        "modes_of_pairs": [(n, k) for k, n in enumerate(heights) if k and (n or k == 1)],
        "whole": int((network["n_modes"] == 1).sum()) if "n_modes" in network else 0,
        "negative": int((network["correlation"] < 0).sum()),
        "both_signs": int((found.pairs["signs"] > 1).sum()),
        "modules": [(int(sizes[m]), gene) for m, gene in first[["module", "gene"]].to_numpy()],
        "specific": edges_with_condition(found),
        "networks": len(found.networks[["condition", "label"]].drop_duplicates()),
        "conditions": [
            {
                "name": each.name,
                "categorical": each.kind == "categorical",
                "labels": counts[counts["condition"] == each.name].to_dict("records"),
                "tested": said.get(("condition_tested", each.name)),
                "thinned": ("counting_noise_thinned", each.name) in said,
            }
            for each in found.conditions
        ],
    }


def warnings(results: Results) -> Iterator[Message]:
    """Warnings that the settings, counts and tables themselves give rise to."""
    found = results.cached(mode_results)
    yield from _of_samples(results)
    if threshold_method(results) == "none" and not results.network.empty:
        yield message("no_threshold_set")
    if mixture(results):
        yield from [*_of_labels(results, found), *_of_fits(results), *_one_gene(found)]
    yield from _missing(found)


def _of_samples(results: Results) -> Iterator[Message]:
    counts, estimator = results.counts, settings(results, "estimator")
    samples, least = counts.get("samples") or 0, int(estimator.get("min_samples") or 0)
    pairs, few = counts.get("pairs", 0), counts.get("too_few_samples", 0)
    # It is said from a fifth of the pairs on.
    if pairs and few > 0.2 * pairs:
        yield message("few_common_samples", share=few / pairs, least=least)
    if not mixture(results) or not samples:
        return
    if samples < least:
        yield message("too_few_samples_for_a_mode", samples=samples, least=least)
    elif samples < 2 * least:
        yield message("too_few_samples_for_two_modes", samples=samples, least=least)


def _of_labels(results: Results, found: ModeResults) -> Iterator[Message]:
    """Of labels with too few samples for a mode, and of those that may be taken for outliers."""
    estimator, samples = settings(results, "estimator"), results.counts.get("samples") or 0
    least = int(estimator.get("min_samples") or 0)
    sizes = [
        (f"{each.name} {label}", int((each.codes == k).sum()))
        for each in found.conditions
        if each.kind == "categorical"
        for k, label in enumerate(each.labels)
    ]
    small = [(label, n) for label, n in sizes if n < least]
    if small:
        yield message("labels_too_small", least=least, labels=_named(small))
    rare = [(label, n) for label, n in sizes if least <= n < samples / 4]
    cut = estimator.get("outliers_before") and 4 * least < samples
    if cut and (rare or not found.conditions):
        which = f"; here that can be {_named(rare)}" if rare else ""
        yield message("groups_taken_for_outliers", quarter=samples / 4, which=which)


def _named(labels: list[tuple[str, int]]) -> str:
    named = [f"{label} ({count(n)})" for label, n in labels[:N_NAMED]]
    more = len(labels) - N_NAMED
    return join_list([*named, pluralise(more, "more label")] if more > 0 else named)


def _of_fits(results: Results) -> Iterator[Message]:
    counts, kinc = results.counts, results.parameters.get("compatibility") == "kinc"
    fits, unfinished = counts.get("fits", 0), counts.get("fits_unfinished", 0)
    if fits and unfinished > 0.05 * fits:
        code = "kinc_fits_not_settled" if kinc else "fits_not_settled"
        yield message(code, share=unfinished / fits, fits=fits)
    if failed := counts.get("failed", 0):
        yield message("fits_failed_in_pairs", failed=failed)
    # Numbers of samples for which two of KINC's starting points are the same sample.
    if kinc and counts.get("samples") in (25, 36, 40, 48, 188, 277, 554):
        yield message("starts_coincide", samples=counts["samples"])
    least = int(settings(results, "estimator").get("min_clusters") or 1)
    if least > 1:
        yield message("modes_forced", least=least)


def _one_gene(found: ModeResults) -> Iterator[Message]:
    apart = differs_in(found.network)
    words = apart[_condition_edges(found) & (apart != "").to_numpy()]
    other = int((words != "both").sum())
    if other > SHARE_WARNED * len(words):
        yield message("modes_differ_in_one_gene", n=other, edges=len(words), p=MAX_MODE_P)


def _missing(found: ModeResults) -> Iterator[Message]:
    """Of conditions whose edges may come of values that are missing under one label."""
    categorical = [each for each in found.conditions if each.kind == "categorical"]
    names = unique_names([(each.name,) for each in categorical])
    for condition, name in zip(categorical, names, strict=True):
        column = f"missing_by_{name}_p_value"
        edges = _condition_edges(found, condition.name)
        if column not in found.network or not edges.any():
            continue
        biased, total = (
            int((found.network.loc[edges, column] <= MAX_MODE_P).sum()),
            int(edges.sum()),
        )
        if biased > SHARE_WARNED * total:
            yield message(
                "missing_under_a_label", n=biased, edges=total, condition=condition.name,
                column=column, p=MAX_MODE_P,
            )  # fmt: skip


def _condition_edges(found: ModeResults, condition: str | None = None) -> NDArray[np.bool_]:
    """Of each edge of the network, whether it is in a network of a condition (of any)."""
    keys = ["source", "target", "cluster"]
    table = found.networks
    if condition is not None:
        table = table[table["condition"] == condition]
    wanted = pd.MultiIndex.from_frame(table[keys].astype({"cluster": np.int64}))
    have = pd.MultiIndex.from_frame(found.network[keys].astype({"cluster": np.int64}))
    return np.asarray(have.isin(wanted))


def edge_table(results: Results, table: pd.DataFrame) -> pd.DataFrame:
    """The columns that a reader wants first; a column for all conditions, not one for each test."""
    found = results.cached(mode_results)
    columns = [
        *("source", "target", "correlation", "n_samples"),
        *(("cluster", "n_modes") if mixture(results) else ()),
        *(column for column in ("p_value", "q_value") if column in table),
    ]
    shown = table[columns].copy()
    apart = differs_in(table)
    if (apart != "").any():
        shown["differs_in"] = apart
    if found.conditions:
        keys = pd.MultiIndex.from_frame(table[["source", "target", "cluster"]])
        shown["conditions"] = found.labels_of_edges().reindex(keys).fillna("").to_numpy()
    return shown


def adapted(results: Results) -> MethodText:
    """Text for one analysis: without mixtures an edge is a pair, not a mode."""
    return TEXT if mixture(results) else replace(TEXT, title="Correlation of all samples")


MAX_LABELS, MAX_EDGES = 40, 10


def conditions_section(results: Results, figures: list[CaptionedFigure]) -> PageSection:
    """Counts and the clearest edges of each label."""
    found = results.cached(mode_results)
    needed(found.conditions)
    counts = label_counts(found)
    kinds = {each.name: each.kind for each in found.conditions}
    ordered = counts.sort_values("edges", ascending=False, kind="stable")
    with_edges = ordered[ordered["edges"] > 0].head(MAX_LABELS)
    return PageSection(
        id="conditions",
        title="Condition networks",
        template="section_mode_conditions.html.j2",
        values={
            "rows": counts.assign(kind=counts["condition"].map(kinds)).to_dict("records"),
            "networks": [
                _label_network(found, str(row.condition), str(row.label))
                for row in with_edges.itertuples()
            ],
            "shown": MAX_EDGES,
            "specific": edges_with_condition(found),
            "q_value": format_number(
                float(settings(results, "condition_networks").get("q_value") or 0.0)
            ),
            "labels": any(each.kind == "categorical" for each in found.conditions),
            "numbers": any(each.kind != "categorical" for each in found.conditions),
        },
    )


def name_of(condition: str, label: str) -> str:
    """``Treatment: Heat``; the condition alone where it has no labels."""
    return f"{condition}: {label}" if label else condition


def _label_network(found: ModeResults, condition: str, label: str) -> dict[str, object]:
    """The edges of one label, the smallest q first, the larger of equals by size."""
    networks = found.networks
    table = networks[(networks["condition"] == condition) & (networks["label"] == label)]
    size = table["correlation"].abs().rename("size")
    order = table.assign(size=size).sort_values(
        ["q_value", "size", "source", "target", "cluster"],
        ascending=[True, False, True, True, True],
    )
    keys = ["source", "target", "cluster"]
    # The network has p and q of its own where its threshold is a false discovery rate.
    more = found.network[[*keys, *found.network.columns.difference(table.columns, sort=False)]]
    top = order.head(MAX_EDGES).merge(more, on=keys, how="left", validate="m:1")
    apart = differs_in(top)
    return {
        "name": name_of(condition, label),
        "edges": len(table),
        "regression": bool(top["r_squared"].notna().any()),
        "split": bool((apart != "").any()),
        "rows": top.assign(apart=apart).to_dict("records"),
    }


MAX_MODULES, MAX_MEMBERS = 100, 200

MIN_SHARE = 0.2
"""A module goes with a label that so many of its edges go with."""


def modules_section(results: Results, figures: list[CaptionedFigure]) -> PageSection:
    """Modules that share genes (where each gene is in one, ``members_section`` has them)."""
    found = results.cached(mode_results)
    needed(found.modules["gene"].duplicated().any())
    members = found.modules.groupby("module")["gene"].agg(list)
    return PageSection(
        id="modules",
        title="Modules that share genes",
        template="section_mode_modules.html.j2",
        values={
            "modules": members.head(MAX_MODULES).to_dict(),
            # Genes of a module that are named at once; the others open.
            "first": 8,
            "most": MAX_MEMBERS,
            "total": len(members),
        },
    )


def module_columns(results: Results) -> dict[str, dict[int, str]]:
    """Of each module: the mean size of correlations within, and the labels that it goes with."""
    found = results.cached(mode_results)
    place = {name: k for k, name in enumerate(found.modules["gene"])}
    ends = pd.DataFrame({end: found.pairs[end].map(place) for end in ("source", "target")})
    ends["r"] = found.pairs["correlation"]
    ends = ends.dropna(subset=["source", "target"])  # a gene may be in no module
    table = module_table(found.modules["module"], ends["source"], ends["target"], ends["r"])
    means = dict(zip(table["module"], map(number, table["mean_correlation"]), strict=True))
    labels = _labels(found)
    at_least = f"goes with (labels of {percent(MIN_SHARE)} of the edges within, or more)"
    return {"mean |r|": means} | ({at_least: labels} if labels else {})


def _labels(found: ModeResults) -> dict[int, str]:
    """For each module the labels that many of the edges within it go with, with their share."""
    module = found.modules.set_index("gene")["module"]

    def within(table: pd.DataFrame) -> pd.Series:
        first, second = (table[end].map(module) for end in ("source", "target"))
        return first.where(first == second)

    if found.networks.empty:
        return {}
    edges = within(found.network).value_counts()
    labelled = found.networks.assign(module=within(found.networks)).dropna(subset=["module"])
    counts = labelled.groupby(["module", "condition", "label"]).size().rename("n").reset_index()
    shares: dict[int, list[tuple[float, str]]] = {}
    for row in counts.to_dict("records"):
        share = row["n"] / edges[row["module"]]
        if share >= MIN_SHARE:
            named = name_of(row["condition"], row["label"])
            shares.setdefault(int(row["module"]), []).append((share, named))
    return {
        number_: ", ".join(
            f"{name} ({percent(share)})"
            for share, name in sorted(named, key=lambda pair: (-pair[0], pair[1]))
        )
        for number_, named in shares.items()
    }


def module_grouping(results: Results, names: pd.Index[str]) -> Grouping | None:
    """The modules of the analysis, where each gene is in one."""
    modules = results.cached(mode_results).modules
    if not len(modules) or modules["gene"].duplicated().any():
        return None
    found = modules.set_index("gene")["module"].reindex(names, fill_value=0)
    columns = results.cached(module_columns)
    return Grouping(found.to_numpy(dtype=np.int64), "module", "modules", "", columns=columns)


TEXT = MethodText(
    title="Multimodal correlation (pairwise Gaussian mixtures)",
    package=__package__,
    score="correlation",
    strength=("correlation",),
    ties=("p_value",),
    numbers=numbers,
    warnings=warnings,
    empty=message("no_modes_pass"),
    edge_table=edge_table,
    adapted=adapted,
)


def clearest_edges(results: Results) -> tuple[str, pd.DataFrame]:
    """The edges that go with a condition most clearly; the strongest where none does."""
    found = results.cached(mode_results)
    if found.networks.empty:
        return best_edges(results)
    size = -found.networks["correlation"].abs()
    order = found.networks.assign(size=size).sort_values(["q_value", "size", "source", "target"])
    columns = ["source", "target", "condition", "label", "correlation", "q_value"]
    tested = pluralise(int(label_counts(found)["tested"].sum()), "test")
    above = f"The edges that go most clearly with a condition; {tested} of edges and labels"
    return above, order.head(ANSWER_ROWS)[columns]


def samples(results: Results, state: State) -> Samples:
    """The prepared values, and which of them each mode of a split pair holds."""
    found, values, sources = results.cached(mode_results), state["values"], {}
    if "lag" in state:
        sources[int(state["lag"])] = source_values(cast(ModeArrays, state), slice(None))
    groups = {
        each.name: [
            each.labels[code] if code >= 0 else "" if np.isnan(value) else f"{value:g}"
            for code, value in zip(each.codes, each.numbers, strict=True)
        ]
        for each in found.conditions
    }
    shown = table_samples(results, state, values, "Prepared values", sources, groups)
    split = mixture(results) and (found.network["n_modes"] > 1).any()
    return replace(shown, members=found.members) if split else shown


REPORT = MethodReport(
    text=TEXT,
    answer=Answer(
        clearest_edges, "condition_networks.tsv", ("condition_pairs_1", "strongest_pairs")
    ),
    figures=f"{__package__}.charts:FIGURES",
    sections=(evidence_section(samples), conditions_section, members_section, modules_section),
    grouping=module_grouping,
)
