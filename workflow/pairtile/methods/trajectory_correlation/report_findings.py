"""What was found in a trajectory, in sentences: strongest pairs, communities, paths, time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairtile.methods.trajectory_correlation.report_results import METHOD_NAMES, motion_results
from pairtile.report.formats import count, counted, listed, number, percent

if TYPE_CHECKING:
    from pairtile.methods.trajectory_correlation.report_results import MotionResults
    from pairtile.report.results import Results

N_NAMED = 3
N_COMMUNITIES = 4
LEVEL = 0.05
FAR = 5
"""Residues so many apart in the chain, or more, are no neighbours."""


def findings(results: Results) -> list[str]:
    """Sentences for the top of the page."""
    found = results.cached(motion_results)
    if found is None:
        return []
    parts = [_strongest, _compared, _communities, _paths, _between, _against_chance, _replicas]
    sentences = [text for part in parts if (text := part(results, found))]
    return [*sentences, _time(results, found), *_left_out(results)]


def kind_of(results: Results) -> str:
    """The estimator's kind."""
    return str((results.parameters.get("estimator") or {}).get("kind", "ksg"))


def rule_of_keep(results: Results) -> str:
    """`` (p ≤ 0.05)``: which pairs are kept, as far as it is a rule."""
    keep = results.parameters.get("keep")
    if not isinstance(keep, dict) or not keep:
        return ""
    key, value = next(iter(keep.items()))
    sign = {"p_value": "p ≤", "fdr": "q ≤", "correlation": "correlation ≥"}.get(key)
    return f" ({sign} {value:g})" if sign else " (the strongest)"


def ranges(numbers: Sequence[int]) -> str:
    """``1-29, 60-118``: the stretches of some whole numbers."""
    values = np.unique(np.asarray(numbers, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(values) > 1) + 1
    parts = [part for part in np.split(values, breaks) if part.size]
    return ", ".join(str(part[0]) if part.size == 1 else f"{part[0]}–{part[-1]}" for part in parts)


def members_in_words(residues: pd.DataFrame, chains_named: bool, limit: int = 6) -> str:
    """Where variables lie: ``A 1–29, 60–118``; names where there are no residues."""
    if "resid" not in residues:
        names = residues["name"].tolist()
        return listed(names) if len(names) <= limit else ", ".join(names[:limit]) + ", …"
    parts = []
    chains = residues.groupby("chain", sort=False)["resid"]
    for chain, numbers in chains:
        stretches = ranges(numbers.tolist()).split(", ")
        text = ", ".join(stretches[:limit]) + (", …" if len(stretches) > limit else "")
        parts.append(f"{chain} {text}".strip() if chains_named else text)
    return "; ".join(parts)


def _strongest(results: Results, found: MotionResults) -> str:
    network = results.network
    if network.empty:
        return ""
    best = results.strongest(5000)
    i, j = (best[end].map(found.number).to_numpy() for end in ("source", "target"))
    far = best[found.far_apart(i, j, least=FAR)]
    text = f"Most strongly correlated: {_named(best, N_NAMED)}."
    if "resid" in found.residues and len(far) and not far.head(N_NAMED).equals(best.head(N_NAMED)):
        apart = f"{FAR} residues or more apart"
        apart += ", or in different chains" if found.several_chains else ""
        text += f" Of those not next to each other ({apart}): {_named(far, N_NAMED)}."
    return text


def _named(table: pd.DataFrame, limit: int) -> str:
    rows = table.head(limit).to_dict("records")
    return listed(
        [f"{row['source']} and {row['target']} ({number(row['correlation'])})" for row in rows]
    )


def _compared(results: Results, found: MotionResults) -> str:
    name = results.parameters.get("compare")
    matrix = found.difference("correlation") if name else None
    if matrix is None:
        return ""
    upper = np.triu(np.isfinite(matrix), 1)
    i, j = np.nonzero(upper)
    values = matrix[i, j]
    parts = []
    for order, words in ((np.argsort(-values, kind="stable"), "Stronger here than in"),
                         (np.argsort(values, kind="stable"), "weaker")):  # fmt: skip
        names = found.residues["name"]
        top = [f"{names[i[k]]} and {names[j[k]]} ({values[k]:+.2f})" for k in order[:N_NAMED]]
        about = f" {name}" if words.endswith("in") else ""
        parts.append(f"{words}{about}: {listed(top)}".replace("-", "−") if top else "")
    return f"{'; '.join(parts)} (differences of correlation, {counted(values.size, 'pair')})."


def _communities(results: Results, found: MotionResults) -> str:
    if not found.community_methods or found.communities.empty:
        return ""
    method = found.community_methods[0]
    table = found.communities[found.communities["method"] == method]
    if table.empty:
        return ""
    told = []
    member = found.members(method)
    for row in table.head(N_COMMUNITIES).to_dict("records"):
        where = members_in_words(found.residues[member == row["community"]], found.several_chains)
        told.append(f"{row['community']}: {where} ({count(row['n_members'])})")
    more = len(table) - len(told)
    text = f"{counted(len(table), 'community', 'communities')} ({METHOD_NAMES[method]}, modularity "
    text += f"{number(float(table['modularity'].iloc[0]))}): {'; '.join(told)}"
    return text + (f"; and {count(more)} smaller." if more > 0 else ".")


def _paths(results: Results, found: MotionResults) -> str:
    if found.paths.empty:
        return ""
    sentences = []
    for (source, target), rows in found.paths.groupby(["source", "target"], sort=False):
        first = rows.iloc[0]
        if not first["path"]:
            sentences.append(f"No path joins {source} and {target}.")
            continue
        sentences.append(
            f"Shortest path from {source} to {target}: {' → '.join(first['path'].split(' '))} "
            f"(weakest correlation {number(float(first['weakest_correlation']))})."
        )
    return " ".join(sentences[:N_NAMED])


def _between(results: Results, found: MotionResults) -> str:
    table = found.residues.sort_values(["betweenness", "item"], ascending=[False, True])
    top = table[table["betweenness"] > 0].head(N_NAMED)
    if top.empty:
        return ""
    named = [f"{row['name']} ({percent(row['betweenness'])})" for row in top.to_dict("records")]
    return f"Most shortest paths of the network run through {listed(named)} of all pairs of others."


def _against_chance(results: Results, found: MotionResults) -> str:
    matrix = found.matrix("p_value")
    if matrix is None:
        return ""
    p = matrix[np.triu_indices(len(matrix), 1)]
    total, small = int(np.isfinite(p).sum()), int((p <= LEVEL).sum())
    share = f"{count(small)} of {counted(total, 'pair')} ({percent(small / total)})"
    return (
        f"{share} with p ≤ {LEVEL:g}; unrelated motions as slow as these would give about "
        f"{count(LEVEL * total)}."
    )


def _replicas(results: Results, found: MotionResults) -> str:
    replicas = results.counts.get("replicas", 1)
    if replicas < 2:
        return ""
    spread = found.matrix("dcc_sd" if kind_of(results) == "dcc" else "correlation_sd")
    if spread is None:
        return ""
    typical = float(np.nanmedian(spread))
    return (
        f"Between the {count(replicas)} replicas the correlation of a pair differs by a standard "
        f"deviation of {number(typical, 2)} (median over pairs)."
    )


def _time(results: Results, found: MotionResults) -> str:
    tau = float(found.residues["correlation_time"].median())
    effective = float(found.residues["n_effective"].median())
    frames = results.counts.get("frames", 0)
    span = _in_time(tau, found.interval_ps)
    return (
        f"Motions are remembered for a median of {number(tau, 2)} frames{span}, so that "
        f"the {counted(frames, 'frame')} are worth about {count(effective)} independent ones "
        f"(least: {count(float(found.residues['n_effective'].min()))})."
    )


def _in_time(frames: float, interval_ps: float | None) -> str:
    if interval_ps is None:
        return ""
    ps = frames * interval_ps
    return f" ({number(ps / 1000, 2)} ns)" if ps >= 1000 else f" ({number(ps, 2)} ps)"


def _left_out(results: Results) -> list[str]:
    words, dropped = results.text, results.dropped
    sentences = []
    if len(dropped):
        reasons = dropped["reason"].astype(str).value_counts()
        why = listed([f"{reason} ({count(n)})" for reason, n in reasons.items()])
        kept = f"{count(len(dropped))} of {counted(len(results.items), words.item, words.items)}"
        sentences.append(f"{kept} left out: {why}.")
    alone = int(results.items["kept"].sum()) - len(results.degree)
    if alone > 0 and len(results.network):
        sentences.append(f"{counted(alone, words.item, words.items)} without an edge.")
    return sentences
