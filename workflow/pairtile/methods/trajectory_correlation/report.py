"""What the report shows of correlated motion: text, figures, tables of communities and paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.io.networks.drawing import Grouping
from pairtile.methods.trajectory_correlation import charts as maps
from pairtile.methods.trajectory_correlation.report_numbers import message, numbers, warnings
from pairtile.methods.trajectory_correlation.report_results import (
    LEVEL,
    METHOD_NAMES,
    MotionResults,
    agreement_of,
    claimed_communities,
    kind_of,
    members_in_words,
    motion_results,
    score_of,
)
from pairtile.methods.trajectory_correlation.report_states import (
    difference_map,
    fluctuations,
    states_section,
)
from pairtile.methods.trajectory_correlation.report_structure import structure_section
from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS
from pairtile.report import figures
from pairtile.report.formats import count, number
from pairtile.report.method_report import (
    CaptionedFigure,
    FigureMaker,
    FigureWithText,
    MethodReport,
    MethodText,
    PageSection,
)
from pairtile.report.results import Results
from pairtile.report.text import page_text

MAX_POINTS = 30_000
"""Of a scatter plot; of more pairs some are drawn, evenly taken."""

STRONGEST_COLOUR = 99.0
"""Percentile of the strongest colour of a map of sums: neighbours would take the scale."""


def _correlation(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = found.matrix(score_of(results))
    if matrix is None:
        return None
    shown, limit = _above(results, found)
    figure = maps.correlation_map(
        matrix, found.marks, shown, label=results.text.score,
        diverging=kind_of(results) == "dcc", limit=1.0,
    )  # fmt: skip
    median = float(np.nanmedian(matrix[np.triu_indices(len(matrix), 1)]))
    return page_text(results).figure(
        "correlation", figure, n=len(matrix), above=limit, median=median
    )


def _dcc(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = None if kind_of(results) == "dcc" else found.matrix("dcc")
    if matrix is None:
        return None
    figure = maps.correlation_map(
        matrix, found.marks, label="dynamical cross-correlation", diverging=True, limit=1.0
    )
    return page_text(results).figure("dcc", figure, n=len(matrix))


def _residue_sums(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = centred = found.matrix("mi_centred_residue_sum")
    if matrix is None:
        matrix = found.matrix("mi_residue_sum")
    if matrix is None:
        return None
    kept = results.items[results.items["kept"].astype(bool)]
    marks = maps.ResidueMarks.of(found.residues[~kept["residue"].duplicated().to_numpy()])
    limit = float(np.nanpercentile(matrix, STRONGEST_COLOUR))
    figure = maps.correlation_map(
        matrix, marks, label="summed mutual information (nats)", limit=max(limit, 1e-9)
    )
    return page_text(results).figure(
        "residue_sums", figure, n=len(matrix), centred=centred is not None
    )


def _score_distribution(results: Results) -> FigureWithText | None:
    scores = results.scores
    if scores is None or not {"edges", "counts"} <= scores.keys() or not scores["counts"].sum():
        return None
    null = scores.get("null_counts")
    null = null if null is not None and np.sum(null) > 0 else None
    figure = figures.score_distribution(
        scores["edges"], scores["counts"], null, float(scores.get("threshold", float("nan"))),
        label=results.text.score_axis,
    )  # fmt: skip
    return page_text(results).figure(
        "score_distribution", figure, pairs=int(scores["counts"].sum()), null=null is not None
    )


def _surrogates(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    null, values = found.matrix("null_mean"), found.matrix("mi_nats")
    if kind_of(results) == "dcc" or null is None or values is None:
        return None
    i, j = np.triu_indices(len(values), 1)
    every = -(-i.size // MAX_POINTS)
    i, j = i[::every], j[::every]
    p = found.matrix("p_value")
    small = None if p is None else p[i, j] <= LEVEL
    figure = maps.null_against_value(null[i, j], values[i, j], small, label=f"p ≤ {LEVEL:g}")
    return page_text(results).figure("surrogates", figure, every=every)


def _p_values(results: Results) -> FigureWithText | None:
    counts = (results.scores or {}).get("p_value_counts")
    if counts is None or not np.sum(counts):
        return None
    keep = results.parameters.get("keep")
    figure = maps.p_value_histogram(counts, keep.get("p_value") if isinstance(keep, dict) else None)
    return page_text(results).figure("p_values", figure, pairs=int(np.sum(counts)))


def _frames(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    frames, shares = found.table("frames.tsv"), found.matrix("component_shares")
    if frames is None:
        return None
    shares = np.full(2, np.nan) if shares is None else shares
    figure = maps.frames_figure(frames, shares)
    return page_text(results).figure("frames", figure, components=bool(np.isfinite(shares).all()))


def _residues(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    table, positions = found.residues, results.parameters.get("variables") == "positions"
    if len(table) < 2:
        return None
    profiles: dict[str, Any] = {}
    if "sd" in table:
        profiles["RMSF (Å)" if positions else "standard\ndeviation"] = table["sd"]
    profiles["correlation\ntime (frames)"] = table["correlation_time"]
    if "mean_correlation" in table:
        profiles["mean\ncorrelation"] = table["mean_correlation"].abs()
    if len(results.network) > 0 and table["betweenness"].notna().any():
        profiles["betweenness"] = table["betweenness"]
    method = next(iter(claimed_communities(results, found)), None)
    members = found.members(method) if method else None
    figure = maps.residue_profiles(profiles, found.marks, members)
    named = method is not None and members is not None and members.any()
    return page_text(results).figure(
        "residues",
        figure,
        profiles=list(profiles),
        method=METHOD_NAMES.get(method, method) if method and named else "",
    )


def _distance(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = found.matrix(score_of(results))
    if found.places is None or matrix is None:
        return None
    i, j = np.triu_indices(len(matrix), 1)
    distance = np.linalg.norm(found.places[i] - found.places[j], axis=1)
    # Angles of one residue lie at one place.
    known = np.isfinite(distance) & (distance > 1e-3)
    if known.sum() < 2:
        return None
    figure = maps.correlation_against_distance(
        distance[known], matrix[i, j][known], label=results.text.score
    )
    return page_text(results).figure("distance", figure, pairs=int(known.sum()))


def _above(results: Results, found: MotionResults) -> tuple[NDArray[np.bool_] | None, str]:
    """What the map shows above its diagonal, and in words: what passes the threshold of ``keep``,
    in contact or not. None without one."""
    keep = results.parameters.get("keep")
    rule, value = next(iter(keep.items())) if isinstance(keep, dict) and keep else ("", None)
    name = {"p_value": "p_value", "fdr": "q_value", "correlation": score_of(results)}.get(rule)
    if name == "q_value" and results.parameters.get("contacts"):
        name, value = "p_value", LEVEL  # q-values are of contacts alone
    matrix = found.matrix(name or "p_value")
    if matrix is None:
        return None, ""
    if rule == "correlation":
        return np.abs(matrix) >= value, f"at least {value:g}"
    limit = value if name and value is not None else LEVEL
    return matrix <= limit, f"{'q' if name == 'q_value' else 'p'} ≤ {limit:g}"


FIGURES: Mapping[str, FigureMaker] = {
    "correlation": _correlation,
    "dcc": _dcc,
    "residue_sums": _residue_sums,
    "frames": _frames,
    "residues": _residues,
    "difference": difference_map,
    "difference_fluctuation": fluctuations,
    "distance": _distance,
    "score_distribution": _score_distribution,
    "surrogates": _surrogates,
    "p_values": _p_values,
}


# --- communities and paths ------------------------------------------------------------------------


MAX_COMMUNITIES, MAX_GROUPS, MAX_PATHS, MAX_RESIDUES = 30, 20, 200, 3000

COLUMNS = (
    *("domain", "secondary_structure", "community_leiden", "community_girvan_newman", "degree"),
    *("betweenness", "closeness", "eigenvector", "mean_correlation", "sd", "correlation_time"),
    "n_effective",
)
"""Columns of residues.tsv that the page shows."""

# What is shown, and the number to sort by (None: what is shown).
Cell = tuple[str, str | None]


def motion_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection | None:
    """Tables; None for another method."""
    found = results.cached(motion_results)
    residues = found.residues.sort_values(
        ["betweenness", "item"], ascending=[False, True], kind="stable"
    ).head(MAX_RESIDUES)
    columns = [column for column in COLUMNS if column in residues and _tells(residues[column])]
    return PageSection(
        id="motion",
        title="Communities and paths",
        template="section_motion.html.j2",
        values={
            "words": results.text,
            "communities": [
                _community_rows(results, found, method) for method in found.community_methods
            ],
            "groups": _group_tables(results, found),
            "paths": [
                {**row, "path": found.path_names(row["items"])}
                for row in found.paths.head(MAX_PATHS).to_dict("records")
            ],
            "paths_total": len(found.paths),
            "headings": [
                (results.text.item, ""),
                *results.text.headings(columns, "residues.tsv"),
            ],
            "rows": [
                (str(name), list(cells))
                for name, *cells in zip(
                    residues["name"], *(_cells(residues[column]) for column in columns), strict=True
                )
            ],
            "shown": len(residues),
            "total": len(found.residues),
        },
        scripts=("datatables.min.js", "searchable_table.js", "residues_table.js"),
    )


def _community_rows(results: Results, found: MotionResults, method: str) -> dict[str, Any]:
    table = found.communities[found.communities["method"] == method]
    agreement, member = agreement_of(results, method), found.members(method)
    rows = table.head(MAX_COMMUNITIES).to_dict("records")
    for row in rows:
        where = found.residues[member == row["community"]]
        row["where"] = members_in_words(where, found.several_chains, limit=20)
    return {
        "method": METHOD_NAMES.get(method, method),
        "agreement": None if np.isnan(agreement) else agreement,
        "claimed": method in claimed_communities(results, found),
        "rows": rows,
        "more": len(table) - len(rows),
        "alone": int((member == 0).sum()),
    }


def _group_tables(results: Results, found: MotionResults) -> list[dict[str, Any]]:
    """``domains.tsv`` as one square table for each kind of groups."""
    table = found.table("domains.tsv")
    if table is None:
        return []
    kinds = {"domain": ("Domains", list(found.marks.domain_colours))}
    for method in claimed_communities(results, found):
        numbers = [str(n) for n in range(1, int(found.members(method).max(initial=0)) + 1)]
        kinds[f"community_{method}"] = (f"Communities ({METHOD_NAMES[method]})", numbers)
    made = []
    for kind, (title, names) in kinds.items():
        own, shown = table[table["kind"] == kind], names[:MAX_GROUPS]
        cells = {}
        for a, b, mean, edges in own[["first", "second", "mean_score", "edges"]].to_numpy():
            cells[a, b] = cells[b, a] = f"{number(mean, 2)} ({count(edges)})"
        if len(own):
            rows = [(a, [cells.get((a, b), "–") for b in shown]) for a in shown]
            made.append({"title": title, "names": shown, "rows": rows, "total": len(names)})
    return made


def _tells(values: pd.Series) -> bool:
    """Whether a column is worth a place: not empty."""
    return bool((values != "").any()) if values.dtype == object else bool(values.notna().any())


def _cells(values: pd.Series) -> list[Cell]:
    if values.dtype.kind == "f":
        # What has no value is sorted below all that have one.
        return [(number(value), "-1e308" if pd.isna(value) else f"{value:.8g}") for value in values]
    if values.dtype.kind in "iu":
        return [(count(value), str(value)) for value in values]
    return [(str(value), None) for value in values]


def community_grouping(results: Results, names: pd.Index[Any]) -> Grouping | None:
    """The communities by the first method that was asked for."""
    motion = results.cached(motion_results)
    if motion.community_methods[:1] != claimed_communities(results, motion)[:1]:
        return None
    if not motion.community_methods:
        return None
    members = motion.members(motion.community_methods[0])
    rows = np.array([motion.number.get(name, -1) for name in names], dtype=np.int64)
    of_node = np.where(rows >= 0, members[rows], 0)
    return Grouping(of_node, "community", "communities", "", HEX_COLOURS)


# --- text -----------------------------------------------------------------------------------------


ITEMS = {
    "coordinates": ("coordinate", "coordinates"),
    "dihedrals": ("angle", "angles"),
    "distances": ("distance", "distances"),
    "columns": ("variable", "variables"),
}


def adapted(results: Results) -> MethodText:
    """Text for what is paired here: residues, atoms, angles, distances or columns of a table."""
    words = TEXT
    variables = str(results.parameters.get("variables", "positions"))
    item, items = ITEMS.get(variables, ("atom", "atoms"))
    kept = results.items[results.items["kept"].astype(bool)]
    if variables not in ITEMS and "residue" in kept and kept["residue"].is_unique:
        item, items = "residue", "residues"
    words = replace(words, item=item, items=items)
    score = score_of(results)
    if score == "correlation_centred":
        words = replace(words, score=f"centred {words.score}", strength=(score, "correlation"))
    if kind_of(results) == "dcc":
        axis = "dynamical cross-correlation"
        # Two atoms that move against each other are as strongly coupled.
        words = replace(words, score=axis, score_axis=axis, signed=True)
    return words


TEXT = MethodText(
    title="Correlated motion in trajectories",
    package=__package__,
    item="residue",
    items="residues",
    edge="pair",
    edges="pairs",
    score="generalized correlation",
    score_axis="generalized correlation",
    strength=("correlation",),
    ties=("p_value",),
    counts={
        "atoms": "atoms of the system",
        "residues": "residues selected",
        "fit_atoms": "atoms that frames are superposed on",
        "variables_dropped": "variables left out",
        "variables_constant": "variables that never move",
        "variables_few_frames": "variables with few effective frames",
        "variables_drifting": "variables that drift",
        "frames": "frames, all replicas together",
        "frames_repeated": "frames exactly equal to others",
        "frames_nearly_repeated": "frames nearly equal to others",
        "contacts": "pairs in contact",
        "pairs_candidates": "pairs that may become edges",
        "edges": "edges of the network",
        "pairs_that_differ": "pairs that differ from the other state",
        "communities_leiden": "communities (Leiden)",
        "communities_girvan_newman": "communities (Girvan-Newman)",
        "variables_compared": "variables that the other analysis has too",
        "pairs_compared": "pairs that the other analysis has too",
    },
    numbers=numbers,
    warnings=warnings,
    empty=message("no_pairs_kept"),
    adapted=adapted,
)

REPORT = MethodReport(
    text=TEXT,
    figures=FIGURES,
    sections=(structure_section, motion_section, states_section),
    grouping=community_grouping,
)
