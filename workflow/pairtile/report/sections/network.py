"""The network: drawn, as a table to sort and search, and against a gold standard."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pairtile.io.networks import drawing
from pairtile.io.networks.page import DRAWING_SCRIPTS
from pairtile.report.formats import count, number
from pairtile.report.method_report import CaptionedFigure, PageSection, Results, needed
from pairtile.report.packed_columns import pack_column, table_cells
from pairtile.report.text import page_text
from pairtile.runtime.end_together import end_with_parent


def drawing_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """What the drawing shows and its data; without edges, only a sentence that says so."""
    if results.network.empty:
        return PageSection("network", "The network", "section_drawing.html.j2", {"shown": 0})
    data = results.cached(drawn)
    return PageSection(
        id="network",
        title="The network",
        template="section_drawing.html.j2",
        values={
            "shown": len(data["edges"]),
            "total": len(results.network),
            "n_nodes": len(data["nodes"]),
            "n_items": count(len(results.degree)),
            "data": data,
            "strength": results.text.column(results.strength) if results.strength else "",
            "directed": results.directed,
            "has_regulators": bool(results.regulators),
            "text": results.text,
        },
        scripts=DRAWING_SCRIPTS,
    )


def lay_out_beside(results: Results) -> Callable[[], None]:
    """Have a fork of this process lay out the network; gives what is called to take it over."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def work() -> None:
        end_with_parent()
        send.send({f: results.cached(f) for f in (strongest, drawn)})

    context.Process(target=work).start()  # a daemon could not fork
    send.close()  # else nothing ends the wait for a fork that has failed
    return lambda: results.read.update(receive.recv())


def drawn(results: Results) -> dict[str, Any]:
    """What the drawing's script reads (``drawing.network_data``), for ``results.cached``."""
    edges, table = results.cached(strongest)
    # What the table says beside the edges' own columns, such as the conditions of a mode.
    more = [column for column in table if column not in edges]
    return drawing.network_data(
        pd.concat([edges, table[more]], axis=1),
        results.items,
        results.degree,
        score=results.strength,
        method=results.method,
        directed=results.directed,
        regulators=results.regulators,
        grouping=results.method_report.grouping(results, drawing.node_names(edges)),
        verdicts=_verdicts(results, edges),
    )


def strongest(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The edges that are drawn and listed, and their table, for ``results.cached``."""
    edges = results.strongest(drawing.MAX_EDGES)
    return edges, results.text.edge_table(results, edges)


def _verdicts(results: Results, edges: pd.DataFrame) -> list[int] | None:
    """What the gold standard says of each edge; None where there is none."""
    verdicts = ((results.evaluation or {}).get("network") or {}).get("verdicts")
    if verdicts is None or len(verdicts) != len(results.network):
        return None
    keys = ["source", "target"]
    rows = results.network[keys].assign(verdict=[".-+".index(v) for v in verdicts])
    of_pair = rows.drop_duplicates(keys).set_index(keys)["verdict"]
    return [int(verdict) for verdict in of_pair.reindex(pd.MultiIndex.from_frame(edges[keys]))]


# The edges as a table to sort and search: those of the drawing, from the data that it has.

SAVED_TABLE = ("datatables.min.js", "searchable_table.js", "save_file.js", "save_rows.js")
"""Scripts of a table that can be searched, sorted and saved."""

FIRST_ROWS = 50
"""Rows of one page; so many are in the page as text, for readers without JavaScript."""


def edges_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """The table of edges."""
    needed(results.network)
    # The rows of the drawing in its order: the script takes names and scores from there.
    edges, table = results.cached(strongest)
    verdicts = _verdicts(results, edges)
    if verdicts is not None:
        table = table.assign(in_gold_standard=[("", "false", "true")[v] for v in verdicts])
    if "p_method" in table and table["p_method"].nunique() < 2:
        table = table.drop(columns="p_method")  # the same for all: said in the notes
    columns = [column for column in table.columns if column not in ("source", "target")]
    packed = {column: pack_column(table[column]) for column in columns}
    score = packed.get(str(results.strength), {})
    if score.get("kind") == "decimal" and np.isfinite(results.score).all():
        packed[str(results.strength)] = {"kind": "decimal"}  # the drawing has these numbers
    return PageSection(
        id="edges",
        title=f"Strongest {results.text.edge}s",
        template="section_edges.html.j2",
        values={
            "ends": ends(results),
            "headings": results.text.headings(columns, "network.parquet"),
            "rows": table_cells(table.head(FIRST_ROWS)[["source", "target", *columns]]),
            "data": {
                "rows_a_page": FIRST_ROWS,
                "columns": list(packed.values()),
            },
            "shown": len(table),
            "total": len(results.network),
            "strength": results.text.column(results.strength) if results.strength else "",
            "n_bootstraps": (results.parameters.get("bootstraps") or {}).get("number")
            if "support" in table
            else None,
            "text": results.text,
        },
        scripts=(
            *SAVED_TABLE,
            *("network_data.js", "packed_columns.js", "table_columns.js", "edges_table.js"),
        ),
    )


def ends(results: Results) -> list[str]:
    """What the page calls the two ends of an edge."""
    if results.regulators:
        return [results.text.regulator, results.text.target or "target"]
    if results.directed:
        return ["source", "target"]
    item = results.text.item
    return [f"{item} 1", f"{item} 2"]


# How the ranking and the network do against a gold standard.

RANKING = {
    "aupr": "area under the precision-recall curve (AUPR)",
    "random_aupr": "the same for a random ranking",
    "aupr_undirected": "AUPR of pairs, whichever way they are directed",
    "random_aupr_undirected": "the same for a random ranking",
    "auroc": "area under the ROC curve (AUROC); random: 0.5",
    "n_gold_edges": "edges in the gold standard",
    "n_candidates": "candidate edges",
    "n_ranked": "candidate edges that the ranking places",
}
NETWORK = {
    "precision": "precision: share of the network's edges that are true",
    "recall": "recall: share of the true edges that are in the network",
    "sensitivity": "sensitivity",
    "specificity": "specificity: share of the untrue pairs left out",
    "true_positives": "true edges in the network",
    "false_positives": "untrue edges in the network",
    "true_negatives": "untrue pairs left out",
    "false_negatives": "true edges left out",
}


def evaluation_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Two small tables."""
    evaluation = needed(results.evaluation)
    network = evaluation.get("network") or {}
    if network.get("sensitivity") == network.get("recall"):
        network = {key: value for key, value in network.items() if key != "sensitivity"}
    return PageSection(
        id="evaluation",
        title="Against the gold standard",
        template="section_evaluation.html.j2",
        values={
            "rule": evaluation.get("rule", ""),
            "ranked": page_text(results).text("ranking"),
            "ranking": _named(RANKING, evaluation),
            "network": _named(NETWORK, network),
        },
    )


def _named(names: dict[str, str], values: dict[str, float | str]) -> list[tuple[str, str]]:
    found = [(label, values[key]) for key, label in names.items() if values.get(key) is not None]
    return [(label, count(v) if isinstance(v, int) else number(v, 4)) for label, v in found]
