"""What the report shows of two states: pairs, residues and contacts that differ, communities."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pairtile.methods.trajectory_correlation.report_results import (
    LEVEL,
    MotionResults,
    difference_of,
    kind_of,
    score_of,
)
from pairtile.report.method_report import CaptionedFigure, MethodText, PageSection, needed
from pairtile.report.packed_columns import table_cells
from pairtile.report.results import Results

N_NAMED = 3

MAX_ROWS = 100
"""Of each table of the page."""

COLUMNS = {
    "difference_network.tsv": ("pairs", "VALUE_z"),
    "difference_residues.tsv": ("fluctuation", "z"),
    "difference_contacts.tsv": ("contacts", "z"),
}
"""Table -> what differs in it, and the column that says how clearly."""


def states_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Tables of what differs from another state, and how far communities agree."""
    name, tables = needed(results.parameters.get("compare")), []
    for file, (what, z) in COLUMNS.items():
        if (results.folder / file).is_file():
            z = z.replace("VALUE", _value(results))
            tables.append(_shown(results.text, results.table(file), file, what, z))
    agreement = results.table("difference_agreement.tsv")
    return PageSection(
        id="states",
        title=f"Difference from {name}",
        template="section_states.html.j2",
        values={
            "name": name,
            "tables": tables,
            "agreement": agreement.to_dict("records"),
        },
    )


def _shown(
    text: MethodText, table: pd.DataFrame, file: str, what: str, z: str
) -> dict[str, object]:
    q = z.removesuffix("z") + "q_value"
    tested = q in table and table[q].notna().any()
    chosen = table.iloc[:0]
    if tested:
        chosen = table[table[q] <= LEVEL].sort_values(z, key=lambda z: -z.abs(), kind="stable")
    names = ["name"] if "name" in table else ["source", "target"]
    values = [c for c in map(str, table) if c.endswith("_difference")]
    columns = [*names, *values, *([z, q] if tested else [])]
    headings = [f"difference of {text.column(c.removesuffix('_difference'), file)}" for c in values]
    return {
        "what": what,
        "file": file,
        "tested": bool(tested),
        "total": len(chosen),
        "of": len(table),
        "columns": [*map(text.column, names), *headings, *(text.column(c, file) for c in (z, q))],
        "names": len(names),
        "rows": table_cells(chosen[columns].head(MAX_ROWS)),
    }


def state_numbers(results: Results, found: MotionResults) -> dict[str, object] | None:
    """How many pairs differ, which the most, and whether communities do; of states that were not
    tested the largest differences, which chance alone has, too."""
    name = results.parameters.get("compare")
    n = results.counts.get("pairs_that_differ")
    if not name or not (results.folder / "difference_network.tsv").is_file():
        return None
    edges = results.table("difference_network.tsv")
    if n is None:
        return {"name": name, **_extremes(results, found)}
    score = f"{score_of(results)}_difference"
    score = score if score in edges else "correlation_difference"
    columns = ["source", "target", score, *(f"{_value(results)}_{end}" for end in ("z", "q_value"))]
    clearest = edges[columns].head(2 * N_NAMED).to_numpy().tolist() if n else []
    agreement = results.table("difference_agreement.tsv")
    made: dict[str, object] = {"name": name, "differ": n, "clearest": clearest}
    if len(agreement) == 3:
        made["agreement"] = agreement["agreement"].tolist()
        made["agreement_p"] = float(agreement["p_value"].iloc[-1])
    return made


def _extremes(results: Results, found: MotionResults) -> dict[str, object]:
    matrix = difference_of(results, found)
    if matrix is None:
        return {}
    i, j = np.nonzero(np.triu(np.isfinite(matrix), 1))
    values, names = matrix[i, j], found.residues["name"]
    order = np.argsort(-values, kind="stable")
    high, low = (
        [(names[i[k]], names[j[k]], float(values[k])) for k in part[:N_NAMED]]
        for part in (order, order[::-1])
    )
    return {"compared": values.size, "highest": high, "lowest": low}


def _value(results: Results) -> str:
    return "dcc" if kind_of(results) == "dcc" else "mi"
