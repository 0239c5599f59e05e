"""What the report shows of correlated motion: text, figures, tables of communities and paths."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.io.networks.drawing import Grouping
from pairtile.methods.trajectory_correlation import figures as maps
from pairtile.methods.trajectory_correlation.report_states import (
    difference_map,
    fluctuations,
    states_finding,
    states_section,
)
from pairtile.methods.trajectory_correlation.report_structure import structure_section
from pairtile.methods.trajectory_correlation.report_text import (
    LEVEL,
    METHOD_NAMES,
    MotionResults,
    agreement_of,
    claimed_communities,
    findings,
    kind_of,
    members_in_words,
    methods_paragraph,
    motion_results,
    rule_of_keep,
    score_of,
    text_warnings,
)
from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS
from pairtile.report import figures
from pairtile.report.formats import count, counted, number, percent
from pairtile.report.method_report import (
    CaptionedFigure,
    FigureMaker,
    FigureWithText,
    MethodReport,
    MethodText,
    PageSection,
)
from pairtile.report.results import Results

MAX_POINTS = 30_000
"""Of a scatter plot; of more pairs some are drawn, evenly taken."""

STRONGEST_COLOUR = 99.0
"""Percentile of the strongest colour of a map of sums: neighbours would take the scale."""


def _marks_text(found: MotionResults) -> str:
    named = []
    if set(found.marks.secondary_structure) & {"H", "E"}:
        named.append("helices and strands of the first frame")
    if found.marks.domains:
        named.append("domains")
    text = f" Beside the axes: {' and '.join(named)}." if named else ""
    if found.marks.chain_borders():
        text += " Lines part the chains."
    return text


def _correlation(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    matrix = None if found is None else found.matrix(score_of(results))
    if found is None or matrix is None:
        return None
    signed, label = kind_of(results) == "dcc", results.text.score
    shown, limit = _above(results, found)
    figure = maps.correlation_map(
        matrix, found.marks, shown, label=label, diverging=signed, limit=1.0
    )
    caption = f"{label.capitalize()} of all pairs"
    if shown is not None:
        caption = (
            f"{label.capitalize()}: below the diagonal of all pairs, above it of those with {limit}"
        )
    caption += "; blue: motion against each other, red: together." if signed else "."
    caption += _marks_text(found) + maps.blocks_text(len(matrix))
    values = matrix[np.triu_indices(len(matrix), 1)]
    middle = f" Median {number(float(np.nanmedian(values)))}."
    return FigureWithText(figure, "Map of correlations", caption, f"Heat map. {caption}{middle}")


def _dcc(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or kind_of(results) == "dcc":
        return None
    matrix = found.matrix("dcc")
    if matrix is None:
        return None
    figure = maps.correlation_map(
        matrix, found.marks, label="dynamical cross-correlation", diverging=True, limit=1.0
    )
    caption = (
        "Dynamical cross-correlation of displacements. Red: along the same direction at the same "
        "time; blue: in opposite directions; white: neither, or at right angles, which it does not "
        f"see.{maps.blocks_text(len(matrix))}"
    )
    return FigureWithText(figure, "Together or against each other", caption, f"Heat map. {caption}")


def _residue_sums(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None:
        return None
    name = "mi_centred_residue_sum"
    matrix = found.matrix(name)
    if matrix is None:
        name, matrix = "mi_residue_sum", found.matrix("mi_residue_sum")
    if matrix is None:
        return None
    kept = results.items[results.items["kept"].to_numpy(dtype=bool)].reset_index(drop=True)
    first = ~kept["residue"].duplicated().to_numpy()
    marks = maps.ResidueMarks.of(found.residues[first])
    centred = " less that of surrogates" if name == "mi_centred_residue_sum" else ""
    limit = float(np.nanpercentile(matrix, STRONGEST_COLOUR))
    figure = maps.correlation_map(
        matrix, marks, label="summed mutual information (nats)", limit=max(limit, 1e-9)
    )
    caption = (
        f"Mutual information{centred}, summed over all angles of the one residue with all of the "
        "other. The strongest colour is that of the top hundredth."
    )
    caption += maps.blocks_text(len(matrix))
    return FigureWithText(figure, "Angles of residues together", caption, f"Heat map. {caption}")


def _score_distribution(results: Results) -> FigureWithText | None:
    scores, words = results.scores, results.text
    if scores is None or not {"edges", "counts"} <= scores.keys() or not scores["counts"].sum():
        return None
    threshold = float(scores.get("threshold", float("nan")))
    null = scores.get("null_counts")
    has_null = null is not None and np.sum(null) > 0
    figure = figures.score_distribution(
        scores["edges"], scores["counts"], null if has_null else None, threshold,
        label=words.score_axis,
    )  # fmt: skip
    total = int(scores["counts"].sum())
    name = words.score_axis.capitalize()
    caption = f"{name} of {counted(total, 'pair')}; logarithmic y axis."
    if has_null:
        caption += (
            " The null: the same pairs with one of the two motions shifted in time, so that each "
            "stays as slow as it is and only what they share is lost. That it does not lie at 0 is "
            "what few independent frames do."
        )
    return FigureWithText(
        figure, "Correlations and what chance gives", caption, f"Histogram. {caption}"
    )


def _surrogates(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or kind_of(results) == "dcc":
        return None
    null, values = found.matrix("null_mean"), found.matrix("mi_nats")
    if null is None or values is None:
        return None
    i, j = np.triu_indices(len(values), 1)
    every = -(-i.size // MAX_POINTS)
    i, j = i[::every], j[::every]
    p = found.matrix("p_value")
    small = None if p is None else p[i, j] <= LEVEL
    figure = maps.null_against_value(null[i, j], values[i, j], small, label=f"p ≤ {LEVEL:g}")
    caption = (
        "Mutual information of each pair against the mean of its own time-shifted surrogates. On "
        "the dashed line a pair shares no more than its slowness alone would bring about."
    )
    if every > 1:
        caption += f" Every {count(every)}th pair is drawn."
    return FigureWithText(
        figure, "Each pair and its surrogates", caption, f"Scatter plot. {caption}"
    )


def _p_values(results: Results) -> FigureWithText | None:
    scores = results.scores or {}
    counts = scores.get("p_value_counts")
    if counts is None or not np.sum(counts):
        return None
    keep = results.parameters.get("keep")
    level = keep.get("p_value") if isinstance(keep, dict) else None
    figure = maps.p_value_histogram(counts, level)
    caption = (
        f"p-values of {counted(int(np.sum(counts)), 'pair')} against their surrogates. Were no "
        "motion related to any other, the bars would be about as high as the line; a pile at the "
        "left is what is correlated beyond that."
    )
    return FigureWithText(figure, "p-values", caption, f"Histogram. {caption}")


def _frames(results: Results) -> FigureWithText | None:
    path = results.folder / "frames.tsv"
    found = results.cached(motion_results)
    if found is None or not path.is_file():
        return None
    shares = found.matrix("component_shares")
    shares = np.full(2, np.nan) if shares is None else shares
    figure = maps.frames_figure(pd.read_csv(path, sep="\t"), shares)
    caption = (
        "Root mean square distance of all positions from the first frame, along time: a curve that "
        "still rises is a run that has not settled."
    )
    if np.isfinite(shares).all():
        caption += (
            " Beside it, frames along the first two principal components of the motion (all "
            "replicas about one mean): replicas that lie apart have seen different states."
        )
    return FigureWithText(figure, "The motion of the whole", caption, f"Charts. {caption}")


def _residues(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or len(found.residues) < 2:
        return None
    table, positions = found.residues, results.parameters.get("variables") == "positions"
    profiles: dict[str, Any] = {}
    if "sd" in table:
        profiles["RMSF (Å)" if positions else "standard\ndeviation"] = table["sd"]
    profiles["correlation\ntime (frames)"] = table["correlation_time"]
    if "mean_correlation" in table:
        profiles["mean\ncorrelation"] = table["mean_correlation"].abs()
    through = len(results.network) > 0 and table["betweenness"].notna().any()
    if through:
        profiles["betweenness"] = table["betweenness"]
    method = next(iter(claimed_communities(results, found)), None)
    members = found.members(method) if method else None
    figure = maps.residue_profiles(profiles, found.marks, members)
    caption = "Fluctuation about the mean position" if positions else "Standard deviation"
    caption += ", correlation time (how long a motion is remembered)"
    caption += ", mean size of the correlation with all others" * ("mean_correlation" in table)
    caption += ", share of shortest paths through it (betweenness)" * bool(through)
    caption += "."
    if members is not None and members.any():
        caption += (
            f" Numbered strip: communities ({METHOD_NAMES.get(str(method), method)}), in the "
            "colours of the PyMOL and VMD scripts."
        )
    caption += _marks_text(found).replace("Beside the axes", "Other strips")
    title = f"Along the {'chain' if found.marks.numbers else 'variables'}"
    return FigureWithText(figure, title, caption, f"Line charts. {caption}")


def _distance(results: Results) -> FigureWithText | None:
    found = results.cached(motion_results)
    if found is None or found.places is None:
        return None
    matrix = found.matrix(score_of(results))
    if matrix is None:
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
    caption = (
        f"{results.text.score.capitalize()} against the distance of the mean positions, "
        f"{counted(int(known.sum()), 'pair')}. What is near moves together; pairs far above the "
        "median at their distance are candidates for coupling at a distance."
    )
    return FigureWithText(figure, "Correlation and distance", caption, f"Density plot. {caption}")


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
    if found is None:
        return None
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
            "paths": _path_rows(found),
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
    agreement = agreement_of(results, method)
    member = found.members(method)
    rows = []
    for row in table.head(MAX_COMMUNITIES).to_dict("records"):
        where = found.residues[member == row["community"]]
        rows.append(
            {
                "number": count(row["community"]),
                "members": count(row["n_members"]),
                "where": members_in_words(where, found.several_chains, limit=20),
                "within": count(row["edges_within"]),
                "out": count(row["edges_out"]),
                "correlation": number(row["mean_correlation"]),
            }
        )
    return {
        "method": METHOD_NAMES.get(method, method),
        "modularity": number(float(table["modularity"].iloc[0])) if len(table) else "",
        "agreement": "" if np.isnan(agreement) else number(agreement, 2),
        "claimed": method in claimed_communities(results, found),
        "rows": rows,
        "more": len(table) - len(rows),
        "alone": int((member == 0).sum()),
    }


def _group_tables(results: Results, found: MotionResults) -> list[dict[str, Any]]:
    """``domains.tsv`` as one square table for each kind of groups."""
    path = results.folder / "domains.tsv"
    if not path.is_file():
        return []
    table = pd.read_csv(path, sep="\t", dtype={"first": str, "second": str}, keep_default_na=False)
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


def _path_rows(motion: MotionResults) -> list[dict[str, Any]]:
    rows = []
    for row in motion.paths.head(MAX_PATHS).to_dict("records"):
        found = bool(row["items"])
        rows.append(
            {
                "ends": f"{row['source']} – {row['target']}",
                "rank": count(row["rank"]) if found else "–",
                "length": number(row["length"]) if found else "–",
                "weakest": number(row["weakest_correlation"]) if found else "–",
                "path": motion.path_names(row["items"]) if found else "nothing joins the two",
            }
        )
    return rows


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


def headline(results: Results) -> str:
    """``841 of 896 pairs in contact among 214 residues kept (p ≤ 0.05), 9 communities``."""
    words, counts = results.text, results.counts
    n = counted(counts.get("variables", len(results.items)), words.item, words.items)
    if results.network.empty:
        return f"No pair of {n} passed the threshold"
    candidates = counts.get("pairs_candidates") or counts.get("pairs")
    of = f" of {counted(candidates, 'pair')}" if candidates else " pairs"
    touching = " in contact" if results.parameters.get("contacts") else ""
    text = f"{count(len(results.network))}{of}{touching} among {n} kept{rule_of_keep(results)}"
    communities = _communities(results)
    if communities:
        text += f", {counted(communities[0], 'community', 'communities')}"
    return text


def key_numbers(results: Results) -> list[tuple[str, str, str]]:
    """Variables, frames, kept pairs, communities, effective frames: value, what, against what."""
    words, counts, found = results.text, results.counts, results.cached(motion_results)
    variables = counts.get("variables", 0)
    atoms = f"from a system of {counted(counts['atoms'], 'atom')}" if "atoms" in counts else ""
    frames, replicas = counts.get("frames", 0), counts.get("replicas", 1)
    tiles = [
        (count(variables), words.items if variables != 1 else words.item, atoms),
        (count(frames), "frames", f"in {counted(replicas, 'replica')}" if replicas > 1 else ""),
    ]
    pairs = counts.get("pairs_candidates") or counts.get("pairs")
    kind = "in contact" if results.parameters.get("contacts") else "in all"
    edges = len(results.network)
    of = f"of {count(pairs)} {kind} ({percent(edges / pairs)})" if pairs else ""
    tiles.append((count(edges), "pairs in the network", of))
    communities = _communities(results)
    if communities:
        modularity = f"modularity {number(communities[1], 2)}"
        noun = "community" if communities[0] == 1 else "communities"
        tiles.append((count(communities[0]), noun, modularity))
    if found is not None:
        effective = found.residues["n_effective"]
        least = f"median; the least {count(float(effective.min()))}"
        tiles.append((count(float(effective.median())), "effective frames", least))
    return tiles


def _communities(results: Results) -> tuple[int, float] | None:
    found = results.cached(motion_results)
    if found is None or found.communities.empty:
        return None
    method = found.community_methods[0]
    if method not in claimed_communities(results, found):
        return None
    table = found.communities[found.communities["method"] == method]
    return (len(table), float(table["modularity"].iloc[0])) if len(table) else None


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


def _remarks(results: Results) -> list[str]:
    """``findings``, and what differs from another state."""
    found = results.cached(motion_results)
    states = "" if found is None else states_finding(results, found)
    return [*findings(results), *([states] if states else [])]


_WORDS = tomllib.loads(
    (Path(__file__).parent / "templates" / "words.toml").read_text(encoding="utf-8")
)
"""What counts are."""

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
    counts=_WORDS["counts"],
    headline=headline,
    key_numbers=key_numbers,
    remarks=_remarks,
    warnings=text_warnings,
    empty=(
        "The network is empty: no pair passed the keep rule. More frames or replicas make it "
        "easier to distinguish correlated from slow motion; keep: {correlation: 0.5} or "
        "{top_edges: 500} shows the strongest pairs, significant or not. All values are in "
        "matrices.npz."
    ),
    methods=methods_paragraph,
    adapted=adapted,
)

REPORT = MethodReport(
    text=TEXT,
    figures=FIGURES,
    sections=(structure_section, motion_section, states_section),
    grouping=community_grouping,
)
