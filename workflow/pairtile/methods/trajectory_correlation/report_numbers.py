"""What the report of correlated motion warns of, and the numbers of its text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pairtile.declare.messages import Message, messages_of
from pairtile.methods.trajectory_correlation.report_results import (
    LEVEL,
    METHOD_NAMES,
    MotionResults,
    agreement_of,
    claimed_communities,
    kind_of,
    members_in_words,
    motion_results,
    score_name,
    score_of,
)
from pairtile.methods.trajectory_correlation.report_states import N_NAMED, state_numbers
from pairtile.report.charts import MAX_CELLS, MAX_PIXELS
from pairtile.report.results import Results

message = messages_of(__package__)

N_COMMUNITIES = 4
FAR = 5
"""Residues so many apart in the chain, or more, are no neighbours."""

MANY = 20
"""Correlation times that a trajectory should at least be long: one of fewer has seen each motion a
handful of times."""


def numbers(results: Results) -> dict[str, object]:
    """What ``text.md.j2`` shows: of pairs, communities, paths, chance, time and another state."""
    found, counts = results.cached(motion_results), results.counts
    table, replicas = found.residues, counts.get("replicas", 1)
    through = table[table["betweenness"] > 0].sort_values(
        ["betweenness", "item"], ascending=[False, True]
    )
    p_counts = np.asarray((results.scores or {}).get("p_value_counts", np.zeros(1, np.int64)))
    spread = found.matrix("dcc_sd" if kind_of(results) == "dcc" else "correlation_sd")
    theiler = (results.parameters.get("estimator") or {}).get("theiler")
    windows = theiler if isinstance(theiler, list) else [theiler]
    folds = bool(set(found.marks.secondary_structure) & {"H", "E"})
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
            "folds": folds,
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
        shown = found.residues[members == row["community"]] if len(named) < N_COMMUNITIES else None
        where = "" if shown is None else members_in_words(shown, found.several_chains)
        named.append((row["community"], where, row["n_members"]))
    return {
        "method": METHOD_NAMES[method],
        "agreement": None if np.isnan(agreement) else agreement,
        "claimed": method in claimed_communities(results, found),
        "modularity": float(table["modularity"].iloc[0]),
        "named": named,
    }


def warnings(results: Results) -> list[Message]:
    """Warnings that the settings and tables give rise to, beyond those of the summary."""
    return list(_warnings(results))


def _warnings(results: Results) -> Iterator[Message]:
    settings, parameters = results.parameters.get("estimator") or {}, results.parameters
    kind, variables = kind_of(results), parameters.get("variables")
    residues = results.cached(motion_results).residues
    tau, preset = float(residues["correlation_time"].median()), settings.get("preset", "none")
    if not settings.get("surrogates"):
        yield message("no_surrogates")
    if kind == "ksg" and preset != "none" and tau >= 1.0:
        yield message("preset_without_window", preset=preset)
    if kind == "dcc":
        yield message("dcc_is_blind")
    if kind == "bspline" and variables == "displacements":
        yield message("displacements_without_direction")
    if kind == "bspline" and variables == "positions":
        yield message("coordinates_added_up")
    replicas = max(results.counts.get("replicas", 1), 1)
    few = (residues["n_effective"] < 50).any()
    if replicas == 1 and few and parameters.get("ensemble") is not True:
        yield message("one_trajectory")
    frames = results.counts.get("frames", 0) / replicas
    if frames and frames < MANY * tau:
        yield message("short_trajectory", times=frames / tau, frames=frames, tau=tau)
    moving = variables in ("positions", "coordinates", "displacements")
    if moving and parameters.get("fit") is False:
        n, text = results.counts.get("variables", 0), results.text
        yield message("not_superposed", n=n, items=text.item if n == 1 else text.items)
