"""Report of the search for predictor sets: what it warns of, and the numbers of its text."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.members import members_section
from pairtile.methods.predictor_pairs.network import LEVEL, SET_NAMES, weak_warnings
from pairtile.methods.predictor_pairs.report_results import (
    PredictorResults,
    is_transfer,
    predictor_results,
    rule_of_two,
)
from pairtile.report.formats import count, number
from pairtile.report.method_report import (
    ANSWER_ROWS,
    Answer,
    CaptionedFigure,
    MethodReport,
    MethodText,
    PageSection,
    Results,
    needed,
)
from pairtile.report.packed_columns import cells
from pairtile.view.evidence import Samples, State, evidence_section, table_samples


def levels_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Small heat maps."""
    from pairtile.methods.predictor_pairs.charts import LEVEL_COLOURS

    found = results.cached(predictor_results)
    q, clearest = needed(found.levels).n_levels, found.clearest(12)
    needed(found.best)
    return PageSection(
        id="levels",
        title=f"What the clearest {found.word}s tell",
        template="section_predictor_levels.html.j2",
        values={
            "cards": [_card(found, row) for row in clearest.to_dict("records")],
            "alone": int((~found.tied).sum()),
            "total": len(found.best),
            "legend": [(level, _background(LEVEL_COLOURS[q][level], 0.55)) for level in range(q)],
            "word": found.word,
            "lag": results.parameters.get("lag") or 0,
        },
    )


def _card(found: PredictorResults, row: Mapping[Hashable, Any]) -> dict[str, object]:
    """One target: its names, its numbers, and the lines of its table."""
    assert found.levels is not None
    predictors = [str(row[member]) for member in found.members]
    lags = [int(row[f"lag_{k + 1}"]) for k in range(len(predictors)) if f"lag_{k + 1}" in row]
    counts = found.levels.table(predictors, str(row["target"]), lags)
    named = zip(predictors, lags, strict=False)
    predictors = [f"{name} ({lag} before)" for name, lag in named] or predictors
    q = found.levels.n_levels
    lines = list(product(range(q), repeat=len(predictors) - 1))
    rows = counts.reshape(len(lines), q, q)
    facts = [
        f"tells {number(row['mi_bits'])} of {number(row['target_entropy_bits'])} bits",
        f"MCE {number(row['mce_bits'])}",
        *([f"IMP {number(row['imp_bits'])}"] if len(predictors) > 1 else []),
        *(f"{k[0]} = {number(row[k])}" for k in ("p_value", "q_value") if row[k] == row[k]),
        f"{count(row['n_samples'])} samples",
    ]
    return {
        "target": str(row["target"]),
        # A line breaks between facts, not within one.
        "facts": " · ".join(fact.replace(" ", "\u00a0") for fact in facts),
        "rule": rule_of_two(counts),
        "others": int(row["others"]),
        "predictors": predictors,
        "n_levels": q,
        "lines": [
            (" ".join(map(str, levels)), [_cell(cell) for cell in cells])
            for levels, cells in zip(lines, rows, strict=True)
        ],
    }


def _cell(counts: NDArray[np.int64]) -> dict[str, object] | None:
    """Counts, the largest marked, and their colour; None where nothing was seen."""
    from pairtile.methods.predictor_pairs.charts import cell_colour

    if not counts.sum():
        return None
    return {
        "counts": [(int(n), bool(n == counts.max())) for n in counts],
        "background": _background(*cell_colour(counts)),
    }


def _background(colour: str, strength: float) -> str:
    """As CSS: clear enough that text stays readable on light and on dark paper."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgb({red} {green} {blue} / {strength:.2f})"


MAX_ROWS = 6000
"""So many targets at most; the page stays under 5 MB."""


def sets_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The table of reported sets."""
    found = results.cached(predictor_results)
    table = shown_sets(needed(found.sets))
    of_members = ["imp_bits", *(f"gain_{k + 1}" for k in range(len(found.members)))]
    columns = [
        *("target", "rank", *found.members, "n_ties"),
        *(("p_value", "q_value") if found.tested else ()),
        *("mce_bits", "target_entropy_bits", "mi_bits"),
        *(of_members if len(found.members) > 1 else ()),
        *(("n_samples",) if table["n_samples"].nunique() > 1 else ()),
        "kept",
    ]
    shown = {column: cells(table[column]) for column in columns}
    shown["n_ties"] = [
        ("alone" if n == 1 else f"1\u00a0of\u00a0{count(n)}: arbitrary", str(n))
        for n in table["n_ties"].tolist()
    ]
    return PageSection(
        id="predictors",
        title=f"Best {found.word}s of each target",
        template="section_predictors.html.j2",
        values={
            "headings": results.text.headings(columns, "predictors.tsv"),
            "rows": list(zip(*(shown[column] for column in columns), strict=True)),
            "ranks": int(table["rank"].max()),
            "shown": table["target"].nunique(),
            "total": found.sets["target"].nunique(),
            "of_network": results.network["target"].nunique(),
            "reported": len(found.sets),
            "tied": int(found.tied.sum()),
            "word": found.word,
        },
        scripts=("datatables.min.js", "searchable_table.js", "predictors_table.js"),
    )


def shown_sets(sets: pd.DataFrame) -> pd.DataFrame:
    """The first ranks of the targets of which most is told, these first; equals by name."""
    best = sets[sets["rank"] == 1].sort_values(
        ["information_bits", "target"], ascending=[False, True]
    )
    place = {target: k for k, target in enumerate(best["target"].head(MAX_ROWS))}
    table = sets[sets["target"].isin(place)]
    per_rank = table["rank"].value_counts().sort_index().cumsum()
    # As many ranks of every target as fit in 2,000 rows, at least the best.
    ranks = max(1, int((per_rank <= 2000).sum()))
    table = table[table["rank"] <= ranks]
    order = table["target"].map(place).to_numpy() * (ranks + 1) + table["rank"].to_numpy()
    return table.iloc[order.argsort(kind="stable")]


message = messages_of(__package__)

SAMPLES_EACH = 5
"""Fewer samples than this for each combination of levels, and chance makes good sets."""


def warnings(results: Results) -> Iterator[Message]:
    """Warnings that the settings and tables themselves give rise to."""
    if is_transfer(results):
        p = results.network["p_value"]
        if results.parameters.get("keep") == "best" and p.isna().any():
            yield message("no_p_values", word="source")
        return
    found = results.cached(predictor_results)
    if found.sets.empty:
        return
    levels = int((results.parameters.get("quantize") or {}).get("levels") or 2)
    samples, cells = results.counts.get("transitions"), int(levels ** len(found.members))
    if samples and samples < SAMPLES_EACH * cells:
        yield message(
            "few_samples_for_levels",
            word=found.word,
            least=SAMPLES_EACH,
            samples=samples,
            cells=cells,
            each=samples / cells,
        )
    before = {one["code"] for one in results.summary.get("messages") or []}
    if found.tested:
        best = found.best
        if found.draws is not None and not _is_pooled(results):
            least, tested = 1.0 / (1.0 + found.draws), int(best["p_value"].notna().sum())
            if least >= LEVEL / 2 and best["q_value"].min() > LEVEL:
                yield message(
                    "coarse_p_values", level=LEVEL, draws=found.draws, least=least, targets=tested
                )
        if results.parameters.get("keep") == "best":
            yield from weak_warnings(best[best["kept"]])
    elif "too_few_courses" not in before:
        yield message("no_p_values", word=found.word)
    if "search" in found.sets and (found.sets["search"] == "sffs").any():
        yield message("triples_grown")


def _is_pooled(results: Results) -> bool:
    return (results.parameters.get("null") or {}).get("permutations", "auto") == "auto"


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of the best set of each target, of ties, chance and IMP; of
    transfer entropy what the network holds."""
    if is_transfer(results):
        edges = results.network
        return {
            "transfer": True,
            "lags": [*edges["lag"].value_counts().sort_index().items()],
            "tested": edges["p_value"].notna().any(),
        }
    found = results.cached(predictor_results)
    estimator = results.parameters.get("estimator") or {}
    best, size = found.best, int(estimator.get("cardinality", 2))
    joint = best.iloc[:0]
    if len(found.members) > 1:
        joint = best[~found.tied & (best["imp_bits"] > 0.5 * best["mi_bits"])]
    most = joint.sort_values(["imp_bits", "target"], ascending=[False, True]).head(3)
    return {
        "word": SET_NAMES[size],
        "size": size,
        "grown": estimator.get("search") == "sffs",
        "null": (results.parameters.get("null") or {}).get("kind", "permutation"),
        "level": LEVEL,
        "draws": results.counts.get("null_draws") if _is_pooled(results) else found.draws,
        "pooled": _is_pooled(results),
        "sets_kept": int(found.sets["kept"].sum()),
        "searched": results.counts.get("targets_searched", len(best)),
        "best": len(best),
        "tied": int(found.tied.sum()),
        "full": int((best["mi_bits"] >= best["target_entropy_bits"] - 1e-9).sum()),
        "share": float((best["mi_bits"] / best["target_entropy_bits"]).median()),
        "tested": int(best["p_value"].notna().sum()),
        "small_p": int((best["p_value"] <= LEVEL).sum()),
        "small_q": int((best["q_value"] <= LEVEL).sum()),
        "joint": len(joint),
        "most_joint": [
            (row["target"], row["imp_bits"], [row[member] for member in found.members])
            for row in most.to_dict("records")
        ],
    }


def adapted(results: Results) -> MethodText:
    """Text for what is scored: sets, or ordered pairs."""
    if not is_transfer(results):
        return TEXT
    return replace(
        TEXT,
        title="Transfer entropy of every ordered pair",
        score="transfer entropy",
        strength=("te_bits",),
        empty=MethodText("").empty,
    )


TEXT = MethodText(
    title="Predictor sets by mean conditional entropy",
    package=__package__,
    score="mean conditional entropy",
    # What a set tells says little of its weaker predictor: edges go by what each of them adds.
    strength=("gain_bits",),
    ties=("rank", "mce_bits"),
    numbers=numbers,
    warnings=warnings,
    empty=message("no_predictor_sets"),
    adapted=adapted,
)


def best_explained(results: Results) -> tuple[str, pd.DataFrame]:
    """The targets that their best set tells most of, surest first, then by information; of
    transfer entropy the strongest edges."""
    if is_transfer(results):
        columns = ["source", "target", "lag", "te_bits", "te_share", "spearman", "q_value"]
        shown = results.strongest(ANSWER_ROWS)[columns].dropna(axis=1, how="all")
        return "The strongest directed edges, with their lags", shown
    found = results.cached(predictor_results)
    best = found.best
    unsure = best["p_value"].fillna(1.0) if found.tested else 0.0
    by = ["unsure", "information_bits", "target"]
    order = best.assign(unsure=unsure).sort_values(by, ascending=[True, False, True])
    columns = ["target", *found.members, "mce_bits", "target_entropy_bits"]
    shown = order.head(ANSWER_ROWS)[[*columns, *(["q_value"] if found.tested else [])]]
    return "The genes best explained, with their predictors", shown


def samples(results: Results, state: State) -> Samples:
    """What levels were made from: of predictors and of their targets, transition by transition."""
    target, lags = state["target_samples"], np.atleast_1d(results.parameters["lag"]).tolist()
    read = zip(lags, np.atleast_2d(state["source_samples"]), strict=True)
    sources = {lag: state["values"][:, source] for lag, source in read if lag}
    shown = table_samples(
        results, state, state["values"][:, target], "Values before they were levels", sources,
        at=np.asarray(target, dtype=np.int64),
    )  # fmt: skip
    several = len(np.unique(state["series"])) > 1 or sources
    return replace(shown, series=state["series"][target] if several else None)


REPORT = MethodReport(
    text=TEXT,
    answer=Answer(best_explained, "predictors.tsv"),
    figures=f"{__package__}.charts:FIGURES",
    sections=(
        evidence_section(samples),
        levels_section,
        sets_section,
        members_section,
    ),
)
