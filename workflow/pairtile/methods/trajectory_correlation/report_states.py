"""What the report shows of two states: pairs, residues and contacts that differ, communities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pairtile.methods.trajectory_correlation import figures as maps
from pairtile.methods.trajectory_correlation.report_text import (
    LEVEL,
    N_NAMED,
    MotionResults,
    difference_of,
    kind_of,
    motion_results,
    read_table,
    score_of,
)
from pairtile.report.formats import count, counted, listed, number
from pairtile.report.method_report import CaptionedFigure, FigureWithText, MethodText, PageSection
from pairtile.report.results import Results

MAX_ROWS = 100
"""Of each table of the page."""

COLUMNS = {
    "difference_network.tsv": ("pairs", "VALUE_z"),
    "difference_residues.tsv": ("fluctuation", "z"),
    "difference_contacts.tsv": ("contacts", "z"),
}
"""Table -> what differs in it, and the column that says how clearly."""


def difference_map(results: Results) -> FigureWithText | None:
    """All differences below the diagonal, above it those that are significant."""
    found, name = results.cached(motion_results), results.parameters.get("compare")
    matrix = None if found is None or not name else difference_of(results, found)
    if found is None or matrix is None or len(matrix) != len(found.marks):
        return None
    q = found.difference_array(f"{_value(results)}_q_value")
    figure = maps.correlation_map(
        matrix,
        found.marks,
        None if q is None else q <= LEVEL,
        label="difference of correlation",
        diverging=True,
    )
    above = "" if q is None else f" Above the diagonal only pairs with q ≤ {LEVEL:g} are drawn."
    caption = (
        f"Correlation here minus that of “{name}”. Red: stronger here; blue: stronger there. Grey: "
        f"pairs that only one of the two has.{above}{maps.blocks_text(len(matrix))}"
    )
    return FigureWithText(figure, f"Difference from {name}", caption, f"Heat map. {caption}")


def fluctuations(results: Results) -> FigureWithText | None:
    """How far each variable moves in either state."""
    found, name = results.cached(motion_results), results.parameters.get("compare")
    table = _table(results, "difference_residues.tsv") if found is not None and name else None
    if found is None or table is None or len(table) < 2:
        return None
    rows = found.residues["name"].map(dict(zip(table["name"], table.index, strict=True)))
    table = table.reindex(rows.to_numpy())
    label = "RMSF (Å)" if results.parameters.get("variables") == "positions" else "deviation"
    marked = (table["q_value"] <= LEVEL).to_numpy()
    figure = maps.two_profiles(
        (table["sd"], table["sd_other"]), ("here", str(name)), label, found.marks, marked
    )
    caption = f"Fluctuation along the chain, here and in “{name}”."
    if table["q_value"].notna().any():
        caption += (
            f" Bars below: {counted(int(marked.sum()), 'variable')} with q ≤ {LEVEL:g}, with "
            "replicas as the unit."
        )
    return FigureWithText(figure, "Fluctuation in both states", caption, f"Line chart. {caption}")


def states_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Tables of what differs, and how far communities agree; None without another state."""
    name = results.parameters.get("compare")
    if not name:
        return None
    tables = []
    for file, (what, z) in COLUMNS.items():
        table = _table(results, file)
        if table is not None:
            z = z.replace("VALUE", _value(results))
            tables.append(_shown(results.text, table, file, what, z))
    agreement = _table(results, "difference_agreement.tsv")
    rows = [] if agreement is None else agreement.to_dict("records")
    return PageSection(
        id="states",
        title=f"Difference from {name}",
        template="section_states.html.j2",
        values={
            "name": name,
            "tables": tables,
            "agreement": [
                (row["between"], number(row["agreement"], 2), count(row["n_pairs"])) for row in rows
            ],
            "p_value": number(rows[-1]["p_value"], 2) if rows else "",
        },
        scripts=(),
    )


def _shown(text: MethodText, table: pd.DataFrame, file: str, what: str, z: str) -> dict[str, Any]:
    q = z.removesuffix("z") + "q_value"
    tested = q in table and table[q].notna().any()
    chosen = table[table[q] <= LEVEL] if tested else table.iloc[:0]
    chosen = (
        chosen.iloc[np.argsort(-chosen[z].abs().to_numpy(), kind="stable")] if tested else chosen
    )
    names = ["name"] if "name" in table else ["source", "target"]
    values = [c for c in map(str, table) if c.endswith("_difference")]
    columns = [*names, *values, *([z, q] if tested else [])]
    headings = [f"difference of {text.column(c.removesuffix('_difference'), file)}" for c in values]
    rows = chosen.head(MAX_ROWS)
    return {
        "what": what,
        "file": file,
        "tested": bool(tested),
        "total": len(chosen),
        "of": len(table),
        "columns": [*map(text.column, names), *headings, *(text.column(c, file) for c in (z, q))],
        "names": len(names),
        "rows": [
            [str(v) if k < len(names) else number(v) for k, v in enumerate(row)]
            for row in rows[columns].itertuples(index=False)
        ],
    }


def states_finding(results: Results, found: MotionResults) -> str:
    """How many pairs differ, which the most, and whether communities do; of states that were not
    tested the largest differences."""
    name = results.parameters.get("compare")
    n = results.counts.get("pairs_that_differ")
    edges = _table(results, "difference_network.tsv") if name else None
    if edges is None:
        return ""
    if n is None:
        return _untested(results, found)
    of = f"of {count(results.counts.get('pairs_compared', 0))}"
    level = f"(q ≤ {LEVEL:g}, replicas as the unit)"
    text = f"{counted(n, 'pair')} {of} differ from {name} {level}."
    if n:
        z, q = (f"{_value(results)}_{end}" for end in ("z", "q_value"))
        score = f"{score_of(results)}_difference"
        score = score if score in edges else "correlation_difference"
        named = [
            f"{row['source']} and {row['target']} ({_signed(row[score])}, z = "
            f"{_signed(row[z], 1)}, q = {number(row[q])})"
            for row in edges.head(2 * N_NAMED).to_dict("records")
        ]
        text += f" The clearest (difference of correlation, this minus {name}): {listed(named)}."
    agreement = _table(results, "difference_agreement.tsv")
    if agreement is not None and len(agreement) == 3:
        own, other, both = (number(value, 2) for value in agreement["agreement"])
        text += (
            f" Communities of replicas agree with an adjusted Rand index of {own} here, {other} in "
            f"{name} and {both} between the two (p = {number(agreement['p_value'].iloc[-1], 2)})."
        )
    return text


def _untested(results: Results, found: MotionResults) -> str:
    """The extremes, which chance alone has, too."""
    matrix = difference_of(results, found)
    if matrix is None:
        return ""
    i, j = np.nonzero(np.triu(np.isfinite(matrix), 1))
    values, names = matrix[i, j], found.residues["name"]
    order = np.argsort(-values, kind="stable")
    high, low = (
        listed([f"{names[i[k]]} and {names[j[k]]} ({_signed(values[k])})" for k in part[:N_NAMED]])
        for part in (order, order[::-1])
    )
    return (
        f"Differences from {results.parameters['compare']} are not tested. The extremes, which "
        f"chance alone has, too ({counted(values.size, 'pair')}): highest {high}; lowest {low}."
    )


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _value(results: Results) -> str:
    return "dcc" if kind_of(results) == "dcc" else "mi"


def _table(results: Results, file: str) -> pd.DataFrame | None:
    path = results.folder / file
    return read_table(path, set()) if path.is_file() else None
