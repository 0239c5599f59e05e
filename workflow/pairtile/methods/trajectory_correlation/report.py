"""What the report shows of correlated motion: text, figures, tables of communities and paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.io.networks.drawing import Grouping
from pairtile.methods.trajectory_correlation.report_results import (
    LEVEL,
    METHOD_NAMES,
    MotionResults,
    agreement_of,
    claimed_communities,
    difference_of,
    kind_of,
    members_in_words,
    motion_results,
    score_name,
    score_of,
)
from pairtile.methods.trajectory_correlation.report_structure import structure_section
from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS
from pairtile.report.charts import MAX_CELLS, MAX_PIXELS
from pairtile.report.formats import count, number
from pairtile.report.method_report import (
    Answer,
    CaptionedFigure,
    MethodReport,
    MethodText,
    PageSection,
    Results,
    best_edges,
    needed,
)
from pairtile.report.packed_columns import cells, table_cells
from pairtile.view.evidence import Samples, State, evidence_section

message = messages_of(__package__)

N_NAMED = 3

FAR = 5
"""Residues so many apart in the chain, or more, are no neighbours."""


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of pairs, communities, paths, chance, time and another state."""
    found, counts = results.cached(motion_results), results.counts
    table, replicas = found.residues, counts.get("replicas", 1)
    through = table[table["betweenness"] > 0].sort_values(
        ["betweenness", "item"], ascending=[False, True]
    )
    p_counts = np.asarray((results.scores or {}).get("p_value_counts", np.zeros(1, np.int64)))
    spread = found.matrix("correlation_sd")
    theiler = (results.parameters.get("estimator") or {}).get("theiler")
    windows = theiler if isinstance(theiler, list) else [theiler]
    return {
        "kind": kind_of(results),
        "score": score_of(results),
        "score_name": score_name(results),
        "level": LEVEL,
        "max_pixels": MAX_PIXELS,
        "max_cells": MAX_CELLS,
        "replicas": replicas,
        "several_chains": found.several_chains,
        "apart": FAR,
        **_strongest(results, found),
        "communities": _communities(results, found),
        "drivers": results.table("directed_network.tsv").head(N_NAMED).to_dict("records"),
        "halves": any(not np.isnan(agreement_of(results, m)) for m in found.community_methods),
        "paths": [
            (*ends, rows.iloc[0]["items"] and found.path_names(rows.iloc[0]["items"]),
             float(rows.iloc[0]["weakest_correlation"]))
            for ends, rows in found.paths.groupby(["source", "target"], sort=False)
        ][:N_NAMED],
        "through": through[["name", "betweenness"]].head(N_NAMED).to_numpy().tolist(),
        "tested": int(p_counts.sum()),
        "small_p": int(p_counts[: round(LEVEL * p_counts.size)].sum()),
        "spread": None if replicas < 2 or spread is None else float(np.nanmedian(spread)),
        "tau": float(table["correlation_time"].median()),
        "effective": float(table["n_effective"].median()),
        "least_effective": float(table["n_effective"].min()),
        "interval_ps": found.interval_ps,
        "windows": [frames for frames in windows if isinstance(frames, int) and frames > 0],
        "state": state_numbers(results, found),
        "marks": {
            "folds": bool(set(found.marks.secondary_structure) & {"H", "E"}),
            "domains": bool(found.marks.domains),
            "chains": bool(found.marks.chain_borders()),
            "numbers": bool(found.marks.numbers),
        },
    }  # fmt: skip


def _strongest(results: Results, found: MotionResults) -> dict[str, object]:
    if results.network.empty:
        return {"strongest": [], "far": []}
    best = results.strongest(5000)
    i, j = (best[end].map(found.number).to_numpy() for end in ("source", "target"))
    columns = ["source", "target", score_of(results)]
    far = best[found.far_apart(i, j, least=FAR)][columns].head(N_NAMED)
    best = best[columns].head(N_NAMED)
    if "resid" not in found.residues or far.equals(best):
        far = far.head(0)
    return {"strongest": best.to_numpy().tolist(), "far": far.to_numpy().tolist()}


def _communities(results: Results, found: MotionResults) -> dict[str, object]:
    """Those of the first method that was asked for; empty without any."""
    method = next(iter(found.community_methods), None)
    table = found.communities[found.communities["method"] == method]
    if method is None or table.empty:
        return {}
    members, agreement = found.members(method), agreement_of(results, method)
    named: list[tuple[object, ...]] = []
    for row in table.to_dict("records"):
        shown = found.residues[members == row["community"]] if len(named) < 4 else None
        where = "" if shown is None else members_in_words(shown, found.several_chains)
        named.append((row["community"], where, row["n_members"]))
    return {
        "method": METHOD_NAMES[method],
        "agreement": None if np.isnan(agreement) else agreement,
        "claimed": method in claimed_communities(results, found),
        "modularity": float(table["modularity"].iloc[0]),
        "named": named,
    }


def warnings(results: Results) -> Iterator[Message]:
    """Warnings that the settings and tables give rise to, beyond those of the summary."""
    settings, parameters = results.parameters.get("estimator") or {}, results.parameters
    kind, variables = kind_of(results), parameters.get("variables")
    residues = results.cached(motion_results).residues
    tau, preset = float(residues["correlation_time"].median()), settings.get("preset", "none")
    if not settings.get("surrogates"):
        yield message("no_surrogates")
    if kind.searches_neighbours and preset != "none" and tau >= 1.0:
        yield message("preset_without_window", preset=preset)
    if isinstance(variables, str) and variables in kind.warnings:
        yield message(kind.warnings[variables])
    replicas = max(results.counts.get("replicas", 1), 1)
    few = (residues["n_effective"] < 50).any()
    if replicas == 1 and few and parameters.get("ensemble") is not True:
        yield message("one_trajectory")
    frames = results.counts.get("frames", 0) / replicas
    # A trajectory of fewer correlation times has seen each motion a handful of times.
    if frames and frames < 20 * tau:
        yield message("short_trajectory", times=frames / tau, frames=frames, tau=tau)
    moving = variables in ("positions", "coordinates", "displacements")
    if moving and parameters.get("fit") is False:
        n, text = results.counts.get("variables", 0), results.text
        yield message("not_superposed", n=n, items=text.item if n == 1 else text.items)


MAX_COMMUNITIES, MAX_GROUPS, MAX_PATHS, MAX_RESIDUES = 30, 20, 200, 3000

COLUMNS = (
    *("domain", "secondary_structure", "community_leiden", "community_girvan_newman", "degree"),
    *("betweenness", "closeness", "eigenvector", "mean_correlation", "te_out", "te_in", "sd"),
    *("correlation_time", "n_effective"),
)
"""Columns of residues.tsv that the page shows."""


def motion_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Tables of communities, groups, paths and residues."""
    found = results.cached(motion_results)
    residues = found.residues.sort_values(
        ["betweenness", "item"], ascending=[False, True], kind="stable"
    ).head(MAX_RESIDUES)
    columns = [  # that say something of a residue
        name
        for name in COLUMNS
        if name in residues
        and (
            residues[name] != "" if residues[name].dtype == object else residues[name].notna()
        ).any()
    ]
    return PageSection(
        id="motion",
        title="Communities and paths",
        template="section_motion.html.j2",
        values={
            "words": results.text,
            "score": score_name(results),
            "communities": [
                _community_rows(results, found, method) for method in found.community_methods
            ],
            "groups": _group_tables(results, found),
            "paths": [
                {**row, "path": found.path_names(row["items"])}
                for row in found.paths.head(MAX_PATHS).to_dict("records")
            ],
            "drivers": results.table("directed_network.tsv").head(MAX_PATHS).to_dict("records"),
            "paths_total": len(found.paths),
            "headings": [
                (results.text.item, ""),
                *results.text.headings(columns, "residues.tsv"),
            ],
            "rows": [
                (str(name), list(cells))
                for name, *cells in zip(
                    residues["name"], *(cells(residues[column]) for column in columns), strict=True
                )
            ],
            "shown": len(residues),
            "total": len(found.residues),
        },
        scripts=("datatables.min.js", "searchable_table.js", "residues_table.js"),
    )


def _community_rows(results: Results, found: MotionResults, method: str) -> dict[str, object]:
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


def _group_tables(results: Results, found: MotionResults) -> list[dict[str, object]]:
    table = results.table("domains.tsv")
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


def community_grouping(results: Results, names: pd.Index[str]) -> Grouping | None:
    """The communities by the first method that was asked for."""
    motion = results.cached(motion_results)
    methods = motion.community_methods
    if not methods or methods[:1] != claimed_communities(results, motion)[:1]:
        return None
    rows = np.array([motion.number.get(name, -1) for name in names], dtype=np.int64)
    of_node = np.where(rows >= 0, motion.members(methods[0])[rows], 0)
    return Grouping(of_node, "community", "communities", "", HEX_COLOURS)


# --- another state --------------------------------------------------------------------------------


def states_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Tables of what differs from another state, and how far communities agree."""
    name, tables = needed(results.parameters.get("compare")), []
    of_pairs = f"{kind_of(results).value}_z"
    # Table, what differs in it, and the column that says how clearly.
    for file, what, z in (
        ("difference_network.tsv", "pairs", of_pairs),
        ("difference_residues.tsv", "fluctuation", "z"),
        ("difference_contacts.tsv", "contacts", "z"),
        ("difference_domains.tsv", "domains", "z"),
    ):
        if (results.folder / file).is_file():
            table = results.table(file)
            q = z.removesuffix("z") + "q_value"
            tested = q in table and table[q].notna().any()
            chosen = table if "low" in table else table.iloc[:0]
            if tested and "low" not in table:
                chosen = table[table[q] <= LEVEL].sort_values(
                    z, key=lambda z: -z.abs(), kind="stable"
                )
            names = [c for c in ("name", "source", "target", "first", "second") if c in table]
            values = [c for c in map(str, table) if c.endswith("_difference")]
            if what == "pairs":  # what ranks them, and what is tested
                own = (f"{score_of(results)}_difference", kind_of(results).value)
                values = [c for c in values if c.startswith(own)]
            error = z.removesuffix("z") + "standard_error"
            sure = [c for c in ("low", "high", error, z, q) if c in table]
            columns = [*names, *values, *sure]
            headings = [
                f"difference of {results.text.column(c.removesuffix('_difference'), file)}"
                for c in values
            ]
            tables.append(
                {
                    "what": what,
                    "file": file,
                    "tested": bool(tested),
                    "total": len(chosen),
                    "columns": [
                        *map(results.text.column, names),
                        *headings,
                        *(results.text.column(c, file) for c in sure),
                    ],
                    "names": len(names),
                    "rows": table_cells(chosen[columns].head(100)),
                }
            )
    return PageSection(
        id="states",
        title=f"Difference from {name}",
        template="section_states.html.j2",
        values={
            "name": name,
            "tables": tables,
            "agreement": results.table("difference_agreement.tsv").to_dict("records"),
        },
    )


def state_numbers(results: Results, found: MotionResults) -> dict[str, object] | None:
    """How many pairs differ, which the most, and whether communities do; of states that were not
    tested the largest differences, which chance alone has, too."""
    name = results.parameters.get("compare")
    n = results.counts.get("pairs_that_differ")
    if not name or not (results.folder / "difference_network.tsv").is_file():
        return None
    edges = results.table("difference_network.tsv")
    if n is None:
        matrix = difference_of(results, found)
        if matrix is None:
            return {"name": name}
        i, j = np.nonzero(np.triu(np.isfinite(matrix), 1))
        values, names = matrix[i, j], found.residues["name"]
        order = np.argsort(-values, kind="stable")
        high, low = (
            [(names[i[k]], names[j[k]], float(values[k])) for k in part[:N_NAMED]]
            for part in (order, order[::-1])
        )
        return {"name": name, "compared": values.size, "highest": high, "lowest": low}
    score = f"{score_of(results)}_difference"
    score = score if score in edges else "correlation_difference"
    columns = [
        "source",
        "target",
        score,
        *(f"{kind_of(results).value}_{end}" for end in ("z", "q_value")),
    ]
    clearest = edges[columns].head(2 * N_NAMED).to_numpy().tolist() if n else []
    agreement = results.table("difference_agreement.tsv")
    made: dict[str, object] = {"name": name, "differ": n, "clearest": clearest}
    if len(agreement) == 3:
        made |= {
            "agreement": agreement["agreement"].tolist(),
            "agreement_p": float(agreement["p_value"].iloc[-1]),
        }
    return made


# --- text -----------------------------------------------------------------------------------------


ITEMS = {
    "coordinates": ("coordinate", "coordinates"),
    "dihedrals": ("angle", "angles"),
    "distances": ("distance", "distances"),
    "columns": ("variable", "variables"),
}


def adapted(results: Results) -> MethodText:
    """Text for what is paired here: residues, atoms, angles, distances or columns of a table."""
    variables = str(results.parameters.get("variables", "positions"))
    item, items = ITEMS.get(variables, ("atom", "atoms"))
    kept = results.items[results.items["kept"].astype(bool)]
    if variables not in ITEMS and "residue" in kept and kept["residue"].is_unique:
        item, items = "residue", "residues"
    words = replace(TEXT, item=item, items=items, score=kind_of(results).correlation)
    if score_of(results) == "correlation_centred":
        words = replace(words, strength=("correlation_centred", "correlation"))
    return words


TEXT = MethodText(
    title="Correlated motion in trajectories",
    package=__package__,
    item="residue",
    items="residues",
    edge="pair",
    score="generalized correlation",
    strength=("correlation",),
    ties=("p_value",),
    numbers=numbers,
    warnings=warnings,
    empty=message("no_pairs_kept"),
    adapted=adapted,
)


def samples(results: Results, state: State) -> Samples:
    """How each variable moves: the displacement along the direction in which it moves most."""
    series, offsets = state["series"], np.asarray(state["replica_offsets"])
    replica = np.repeat(np.arange(1, len(offsets)), np.diff(offsets))

    def motion(rows: NDArray[np.int64], frames: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([main_motion(np.asarray(series[row]))[frames] for row in rows])

    several = {"replica": replica} if len(offsets) > 2 else {}
    label = (
        "Displacement in Å along the main direction of each" if series.shape[1] > 1 else "Values"
    )
    return Samples(series.shape[2], motion, label, groups=several, series=replica)


def main_motion(series: NDArray[np.floating]) -> NDArray[np.float64]:
    """Of a variable (d, frames), its displacement from the mean along the first principal
    component, float64 (frames,); that points where its largest coordinate does. A variable of one
    dimension is as it is."""
    if len(series) == 1:
        return series[0].astype(np.float64)
    moved = series - series.mean(axis=1, keepdims=True, dtype=np.float64)
    main = np.linalg.eigh(moved @ moved.T)[1][:, -1]
    return np.asarray(main * np.sign(main[np.abs(main).argmax()]) @ moved)


REPORT = MethodReport(
    text=TEXT,
    answer=Answer(best_edges, pictures=("difference", "correlation")),
    figures=f"{__package__}.charts:FIGURES",
    sections=(
        evidence_section(samples, symbols=False),
        structure_section,
        motion_section,
        states_section,
    ),
    grouping=community_grouping,
)
