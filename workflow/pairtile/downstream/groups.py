"""Networks of groups of samples side by side: what they share, and where they differ.

Of an analysis with ``split_by``; the tests are those of ``downstream.shared_edges``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from pairtile.arrays import AnyArray, Float64Array, Int32Array, Int64Array
from pairtile.config.downstream import GROUP_TABLES
from pairtile.config.preprocess import TableAnalysis
from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.given import Q_VALUE
from pairtile.downstream.shared_edges import (
    EdgeDifferences,
    GroupNetwork,
    Overlap,
    edge_differences,
    numbered,
    overlap,
)
from pairtile.engine.estimator import TableSummary
from pairtile.engine.state import open_state
from pairtile.runtime.files import read_table
from pairtile.statistics.counting_noise import Counts, name_keys
from pairtile.statistics.exchangeable import Exchangeable

message = messages_of(__package__)


@dataclass(frozen=True)
class Group:
    """One group: its analysis, its label, and what that analysis left: edges, the kept items, and
    the values that were scored (``ValueArrays``)."""

    analysis: str
    label: str
    network: pd.DataFrame
    items: pd.DataFrame
    values: Mapping[str, AnyArray]

    @classmethod
    def read(cls, folder: Path, label: str) -> Group:
        """From the folder of the group's results."""
        items = read_table(folder / "items.parquet")
        kept = items[items["kept"]].reset_index(drop=True)
        network = read_table(folder / "network.parquet")
        return cls(folder.name, label, network, kept, open_state(folder / "values"))

    @property
    def suffix(self) -> str:
        """What columns of the group end with: the last part of the name of its analysis."""
        return self.analysis.rpartition(".")[2]


def compare_groups(
    groups: list[Group], config: TableAnalysis, seed: int
) -> tuple[dict[str, pd.DataFrame], TableSummary]:
    """What the networks of groups share, each edge beside all groups, and where edges differ: the
    contents of ``GROUP_TABLES``, by name, with counts and messages.

    Directions are left aside, and so is which of a pair's modes an edge is.
    """
    names = pd.Index(pd.unique(np.concatenate([group.items["name"] for group in groups])))
    kinds = np.zeros(len(names), dtype=np.int64)
    ends: dict[tuple[int, int], tuple[str, str]] = {}
    networks = []
    for group in groups:
        place = names.get_indexer(pd.Index(group.items["name"]))
        kinds[place] |= group.items["is_regulator"].to_numpy(dtype=np.int64)
        pairs = (
            names.get_indexer(pd.Index(group.network["source"])),
            names.get_indexer(pd.Index(group.network["target"])),
        )
        own = np.unique(np.sort(np.stack(pairs, axis=1), axis=1), axis=0)
        given = group.network[["source", "target"]].itertuples(index=False, name=None)
        for i, j, (source, target) in zip(*pairs, given, strict=True):
            ends.setdefault((min(i, j), max(i, j)), (source, target))
        networks.append(GroupNetwork(own, names.isin(group.items["name"])))
    compared = [
        (groups[a].label, groups[b].label, *overlap(networks[a], networks[b], kinds, seed))
        for a, b in combinations(range(len(groups)), 2)
    ]
    overlaps = pd.DataFrame(compared, columns=["first", "second", *Overlap._fields])
    everything = np.unique(np.concatenate([network.edges for network in networks]), axis=0)
    found, n_pairs, said = _differences(groups, networks, kinds, everything, names, config)
    edges = _edge_table(groups, networks, everything, found, ends)
    sizes = pd.DataFrame(
        {
            "group": [group.label for group in groups],
            "analysis": [group.analysis for group in groups],
            "samples": [len(group.values["samples"]) for group in groups],
            "genes": [len(group.items) for group in groups],
            "edges": [len(network.edges) for network in networks],
            "edges_alone": [
                int(((edges["n_groups"] == 1) & edges[f"in_{group.suffix}"]).sum())
                for group in groups
            ],
        }
    )
    classes = edges["class"].value_counts()
    counts = {
        "groups": len(groups),
        "edges_of_any_group": len(edges),
        "edges_of_all_groups": int((edges["n_groups"] == len(groups)).sum()),
        "pairs": n_pairs,
        **{f"edges_{name}": int(classes.get(name, 0)) for name in ("specific", "missing")},
    }
    if len(edges) and edges["p_value"].isna().all():
        said.append(message("groups_not_compared"))
    tables = dict(zip(GROUP_TABLES, (sizes, overlaps, edges), strict=True))
    return tables, TableSummary(counts, said)


def _differences(
    groups: list[Group],
    networks: list[GroupNetwork],
    kinds: Int64Array,
    edges: Int64Array,
    names: pd.Index[str],
    config: TableAnalysis,
) -> tuple[EdgeDifferences, int, list[Message]]:
    """Tests of all edges, how many pairs could have been one (those of two groups or more), and
    what became of counting noise."""
    used, places = np.unique(edges, return_inverse=True)
    values, labels, stated = [], [], {"batch": [], "series": []}  # type: ignore[var-annotated]
    for number, group in enumerate(groups):
        row = pd.Index(group.values["genes"].astype(str)).get_indexer(names[used])
        own = np.asarray(group.values["values"])[np.maximum(row, 0)]
        own[row < 0] = np.nan
        values.append(own)
        samples = own.shape[1]
        labels.append(np.full(samples, number, dtype=np.int32))
        cells = dict(zip(group.values["columns"].tolist(), group.values["cells"], strict=True))
        for key, known in stated.items():
            known.append(cells.get(getattr(config.samples, key), np.full(samples, "")))
    codes = {key: pd.factorize(np.concatenate(known))[0] for key, known in stated.items()}
    none = np.empty(0, dtype=np.int32)
    exchangeable = Exchangeable(
        *(codes[key].astype(np.int32) if codes[key].any() else none for key in ("series", "batch"))
    )
    several = np.sum([network.genes for network in networks], axis=0) > 1
    n, special = int(several.sum()), int(kinds[several].sum())
    first = special or n  # regulators, of the pairs of which one is counted
    n_pairs = first * (n - 1) - first * (first - 1) // 2
    if getattr(config, "other_expression", None) is not None:
        n_pairs = special * (n - special)
    group_of = np.concatenate(labels)
    equal, said = _equal_noise(groups, names[used], np.concatenate(values, axis=1), group_of)
    found = edge_differences(equal, group_of, places.reshape(-1, 2), exchangeable, n_pairs)
    return found, n_pairs, said


def _equal_noise(
    groups: list[Group], genes: pd.Index[str], values: Float64Array, codes: Int32Array
) -> tuple[Float64Array, list[Message]]:
    """The values with as much counting noise in each group, where all were made from counts."""
    found = [Counts.of_state(group.values) for group in groups]
    known = [counts for counts in found if counts is not None]
    if len(known) < len(groups):
        return values, []
    parts = []
    for group, counts in zip(groups, known, strict=True):
        row = pd.Index(group.values["genes"].astype(str)).get_indexer(genes)
        own = counts.counts[np.maximum(row, 0)]
        own[row < 0] = 1  # of no gene; its values are missing
        parts.append(own)
    depths = np.concatenate([counts.depths for counts in known])
    removed = any(counts.effects_removed for counts in known)
    joint = Counts(np.concatenate(parts, axis=1), depths, name_keys(genes.tolist()), removed)
    equal = joint.equalised(values, np.arange(len(genes)), codes)
    n = int(equal.unequal.sum())
    code = "groups_noise_kept" if removed else "groups_noise_made_equal"
    return equal.values, [message(code, n=n)] if n else []


def _edge_table(
    groups: list[Group],
    networks: list[GroupNetwork],
    edges: Int64Array,
    found: EdgeDifferences,
    ends: Mapping[tuple[int, int], tuple[str, str]],
) -> pd.DataFrame:
    """A row for each edge of any group, those of most groups first."""
    size = networks[0].genes.size
    codes = numbered(edges, size)
    held = [np.isin(codes, numbered(network.edges, size)) for network in networks]
    within = np.stack(held, axis=1)
    n_groups = within.sum(axis=1)
    labels = np.array([group.label for group in groups], dtype=object)
    own = within[np.arange(len(edges)), np.maximum(found.group, 0)]
    differs = found.q_value <= Q_VALUE  # NaN is not
    kind = np.where(n_groups == len(groups), "shared", "open").astype(object)
    kind[differs] = "different"
    kind[differs & ~own & (n_groups == len(groups) - 1)] = "missing"
    # Of two groups, which one differs from the other is no question.
    kind[differs & (own | (len(groups) == 2)) & (n_groups == 1)] = "specific"
    pairs = [ends[i, j] for i, j in edges.tolist()]
    table = {
        "source": [source for source, _ in pairs],
        "target": [target for _, target in pairs],
        "n_groups": n_groups,
        "groups": ["; ".join(labels[row]) for row in within],
        "class": kind,
        "most_different": np.where(found.group < 0, "", labels[np.maximum(found.group, 0)]),
        "difference": found.difference,
        "p_value": found.p_value,
        "q_value": found.q_value,
    }
    for k, group in enumerate(groups):
        table |= {
            f"in_{group.suffix}": within[:, k],
            f"correlation_{group.suffix}": found.correlation[:, k],
        }
    order = ["n_groups", "p_value", "source", "target"]
    return pd.DataFrame(table).sort_values(
        order, ascending=[False, True, True, True], kind="stable", ignore_index=True
    )
