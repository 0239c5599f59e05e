"""Report: text of the correlation of motions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pairtile.methods.trajectory_correlation import report_motion
from pairtile.methods.trajectory_correlation.report_cautions import cautions
from pairtile.methods.trajectory_correlation.report_files import FILE_COLUMNS, FILES
from pairtile.methods.trajectory_correlation.report_findings import findings, kind_of, rule_of_keep
from pairtile.methods.trajectory_correlation.report_motion import community_grouping
from pairtile.methods.trajectory_correlation.report_pictures import FIGURES
from pairtile.methods.trajectory_correlation.report_results import motion_results
from pairtile.methods.trajectory_correlation.report_text import methods_paragraph
from pairtile.report.formats import count, counted, number, percent
from pairtile.report.method_report import MethodReport
from pairtile.report.method_text import MethodText

if TYPE_CHECKING:
    from pairtile.report.results import Results

ITEMS = {
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
    if kind_of(results) == "dcc":
        axis = "dynamical cross-correlation"
        # Two atoms that move against each other are as strongly coupled.
        words = replace(words, score=axis, score_axis=axis, signed=True)
    return words


TEXT = MethodText(
    title="Correlated motion in trajectories",
    item="residue",
    items="residues",
    edge="pair",
    edges="pairs",
    score="generalized correlation",
    score_axis="generalized correlation",
    strength=("correlation",),
    ties=("p_value",),
    columns={
        "mi_nats": "MI (nats)",
        "correlation": "correlation",
        "dcc": "DCC",
        "p_value": "p-value",
        "q_value": "q-value",
        "mi_sd": "MI, sd",
        "correlation_sd": "correlation, sd",
        "dcc_sd": "DCC, sd",
    },
    counts={
        "atoms": "atoms of the system",
        "residues": "residues selected",
        "fit_atoms": "atoms that frames are superposed on",
        "variables": "variables",
        "variables_dropped": "variables left out",
        "variables_constant": "variables that never move",
        "variables_few_frames": "variables with few effective frames",
        "frames": "frames, all replicas together",
        "replicas": "replicas",
        "frames_repeated": "frames exactly equal to others",
        "frames_nearly_repeated": "frames nearly equal to others",
        "contacts": "pairs in contact",
        "tiles": "tiles",
        "chunks": "chunks of tiles",
        "pairs": "pairs",
        "pairs_scored": "pairs scored",
        "pairs_stored": "pairs stored",
        "pairs_candidates": "pairs that may become edges",
        "pairs_kept": "pairs kept",
        "edges": "edges of the network",
        "communities_leiden": "communities (Leiden)",
        "communities_girvan_newman": "communities (Girvan-Newman)",
        "paths_found": "paths found",
        "variables_compared": "variables that the other analysis has too",
        "pairs_compared": "pairs that the other analysis has too",
    },
    headline=headline,
    key_numbers=key_numbers,
    remarks=findings,
    warnings=cautions,
    empty=(
        "The network is empty: no pair passed the keep rule. More frames or replicas make it "
        "easier to tell correlated from slow motion; keep: {correlation: 0.5} or "
        "{top_edges: 500} shows the strongest pairs, significant or not. All values are in "
        "matrices.npz."
    ),
    files=FILES,
    file_columns=FILE_COLUMNS,
    methods=methods_paragraph,
    adapted=adapted,
)

REPORT = MethodReport(
    text=TEXT, figures=FIGURES, sections=(report_motion.section,), grouping=community_grouping
)
