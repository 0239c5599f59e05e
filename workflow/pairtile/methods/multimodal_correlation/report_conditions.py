"""Condition networks: how many edges go with each label, and which go with it most clearly."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pairtile.methods.multimodal_correlation.report_conditions_text import differs_in, label_counts
from pairtile.methods.multimodal_correlation.report_results import ModeResults, mode_results
from pairtile.report.formats import count, number, plain
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.methods_parts import section as settings_of
from pairtile.report.results import Results

MAX_LABELS, MAX_EDGES = 40, 10


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Counts and the clearest edges of each label; None without conditions."""
    found = results.cached(mode_results)
    if found is None or not found.conditions:
        return None
    counts = label_counts(found)
    limits = settings_of(results, "condition_networks")
    kinds = {each.name: each.kind for each in found.conditions}
    ordered = counts.sort_values("edges", ascending=False, kind="stable")
    with_edges = ordered[ordered["edges"] > 0].head(MAX_LABELS)
    return PageSection(
        id="conditions",
        title="Condition networks",
        template="section_mode_conditions.html.j2",
        values={
            "rows": [_count_row(row, kinds) for row in counts.to_dict("records")],
            "networks": [
                _network(found, str(row.condition), str(row.label))
                for row in with_edges.itertuples()
            ],
            "shown": MAX_EDGES,
            "q_value": plain(float(limits.get("q_value") or 0.0)),
            "r_squared": plain(float(limits.get("r_squared") or 0.0)),
            "labels": any(each.kind == "categorical" for each in found.conditions),
            "numbers": any(each.kind != "categorical" for each in found.conditions),
        },
    )


def name_of(condition: str, label: str) -> str:
    """``Treatment: Heat``; the condition alone where it has no labels."""
    return f"{condition}: {label}" if label else condition


def _count_row(row: dict[Any, Any], kinds: dict[str, str]) -> dict[str, str]:
    labelled = kinds.get(str(row["condition"]), "categorical") == "categorical"
    return {
        "condition": str(row["condition"]),
        "label": str(row["label"]) or f"({kinds.get(str(row['condition']), '')})",
        "tested": count(row["tested"]) if row["tested"] else "none",
        "edges": count(row["edges"]) if row["tested"] else "–",
        "positive": count(row["positive"]),
        "negative": count(row["negative"]),
        "pairs": count(row["pairs"]),
        "unique": count(row["unique"]) if labelled else "–",
        "genes": count(row["genes"]),
    }


def _network(found: ModeResults, condition: str, label: str) -> dict[str, Any]:
    """The edges of one label, the smallest q first, the larger of equals by size."""
    table = found.networks
    table = table[(table["condition"] == condition) & (table["label"] == label)]
    size = table["correlation"].abs().rename("size")
    order = table.assign(size=size).sort_values(
        ["q_value", "size", "source", "target", "cluster"],
        ascending=[True, False, True, True, True],
    )
    keys = ["source", "target", "cluster"]
    top = order.head(MAX_EDGES).merge(
        found.network.drop(columns=["correlation", "p_value"]), on=keys, how="left", validate="m:1"
    )
    apart = differs_in(top)
    regression = bool(top["r_squared"].notna().any())
    split = apart is not None and bool((apart != "").any())
    return {
        "name": name_of(condition, label),
        "edges": len(table),
        "regression": regression,
        "split": split,
        "rows": [
            _edge_row(row, "" if apart is None else str(apart[place]), regression)
            for place, row in enumerate(top.to_dict("records"))
        ],
    }


def _edge_row(row: dict[Any, Any], apart: str, regression: bool) -> dict[str, str]:
    return {
        "source": str(row["source"]),
        "target": str(row["target"]),
        "correlation": number(row["correlation"]).replace("-", "−"),
        "samples": "–" if pd.isna(row["n_samples"]) else count(row["n_samples"]),
        "modes": "–" if pd.isna(row["n_modes"]) else count(row["n_modes"]),
        "q_value": number(row["q_value"]),
        "r_squared": number(row["r_squared"]) if regression else "",
        "apart": apart or "–",
        "unique": "yes" if row["unique"] else "no",
    }
