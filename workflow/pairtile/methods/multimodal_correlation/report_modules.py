"""The modules of a correlation network: genes, hubs, and the conditions of their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pairtile.methods.multimodal_correlation.report_conditions import name_of
from pairtile.methods.multimodal_correlation.report_results import ModeResults, mode_results
from pairtile.report.formats import count, number, percent
from pairtile.report.method_report import CaptionedFigure, Grouping, PageSection
from pairtile.report.results import Results
from pairtile.statistics.modules import module_table

MAX_MODULES, MAX_MEMBERS = 100, 200

FIRST_MEMBERS = 8
"""Genes of a module that are named at once; the others open."""

LEAST_SHARE = 0.2
"""A module goes with a label that so many of its edges go with."""


def section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """The table; None without modules."""
    found = results.cached(mode_results)
    if found is None or found.modules.empty:
        return None
    numbers = found.modules["module"].to_numpy(dtype=np.int64)
    genes = found.modules["gene"].to_numpy()
    modules = np.unique(numbers).tolist()
    shared = bool(found.modules["gene"].duplicated().any())
    inside = {} if shared else _inside(found)
    labels = {} if shared else _labels(found)
    rows = []
    for number_ in modules[:MAX_MODULES]:
        names = genes[numbers == number_].tolist()
        rows.append(
            {
                "number": str(number_),
                "genes": count(len(names)),
                "first": ", ".join(names[:FIRST_MEMBERS]),
                "others": ", ".join(names[FIRST_MEMBERS:MAX_MEMBERS]),
                "n_others": len(names) - FIRST_MEMBERS,
                "more": len(names) - MAX_MEMBERS,
                "conditions": labels.get(number_, ""),
                **inside.get(number_, {}),
            }
        )
    return PageSection(
        id="modules",
        title="Modules",
        template="section_mode_modules.html.j2",
        values={
            "rows": rows,
            "total": len(modules),
            "shared": shared,
            "conditions": bool(labels),
            "share": percent(LEAST_SHARE),
        },
    )


def _inside(found: ModeResults) -> dict[int, dict[str, str]]:
    """Of each module: pairs within and out, density, mean size of the correlation."""
    genes = found.modules["gene"].tolist()
    place = {name: k for k, name in enumerate(genes)}
    first, second = (found.pairs[end].map(place) for end in ("source", "target"))
    table = module_table(found.modules["module"], first, second, found.pairs["correlation"])
    return {
        int(row["module"]): {
            "within": count(row["edges"]),
            "out": count(row["edges_out"]),
            "density": percent(row["density"]),
            "correlation": number(row["mean_correlation"]),
        }
        for row in table.to_dict("records")
    }


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
        if share >= LEAST_SHARE:
            named = name_of(row["condition"], row["label"])
            shares.setdefault(int(row["module"]), []).append((share, named))
    return {
        number_: ", ".join(
            f"{name} ({percent(share)})"
            for share, name in sorted(told, key=lambda pair: (-pair[0], pair[1]))
        )
        for number_, told in shares.items()
    }


def module_grouping(results: Results, names: pd.Index[Any]) -> Grouping | None:
    """The modules of the analysis, where each gene is in one."""
    modules = results.cached(mode_results).modules
    if not len(modules) or modules["gene"].duplicated().any():
        return None
    found = modules.set_index("gene")["module"].reindex(names, fill_value=0)
    return Grouping(found.to_numpy(dtype=np.int64), "module", "modules", "")
