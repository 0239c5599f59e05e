"""What modes have to do with the conditions of their samples, in numbers and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairtile.methods.multimodal_correlation.condition_tests import unique_names
from pairtile.report.formats import count, counted, listed

if TYPE_CHECKING:
    from pairtile.methods.multimodal_correlation.report_results import ModeResults

N_LABELS = 6

SMALL_P = 0.001
"""A mode differs from the pair's other samples in a gene where Welch's p is at most this."""


def edges_with_condition(found: ModeResults) -> int:
    """Edges that are in the network of any label, each once."""
    return len(found.networks[["source", "target", "cluster"]].drop_duplicates())


def label_counts(found: ModeResults) -> pd.DataFrame:
    """A row for each label, those without edges too, in the order of conditions: ``condition``,
    ``label``, ``tested`` (edges that could be), ``edges``, ``positive``, ``negative``, ``pairs``,
    ``unique`` (pairs that are in no other label's network of the condition), ``genes``."""
    labels = [
        (each.name, label)
        for each in found.conditions
        for label in (each.labels if each.kind == "categorical" else ("",))
    ]
    table = found.networks
    seen = zip(table["condition"], table["label"], strict=True)
    labels = list(dict.fromkeys([*labels, *seen]))
    columns = unique_names([(name, label) if label else (name,) for name, label in labels])
    rows = []
    for (condition, label), column in zip(labels, columns, strict=True):
        p_value = found.network.get(f"{column}_p_value", pd.Series(dtype=float))
        part = table[(table["condition"] == condition) & (table["label"] == label)]
        pairs = part.drop_duplicates(["source", "target"])
        rows.append(
            {
                "condition": condition,
                "label": label,
                "tested": int(p_value.notna().sum()),
                "edges": len(part),
                "positive": int((part["direction"] == "positive").sum()),
                "negative": int((part["direction"] == "negative").sum()),
                "pairs": len(pairs),
                "unique": int(pairs["unique"].astype(bool).sum()),
                "genes": len(np.union1d(pairs["source"], pairs["target"])),
            }
        )
    names = ["edges", "positive", "negative", "pairs", "unique", "genes"]
    return pd.DataFrame(rows, columns=["condition", "label", "tested", *names])


def differs_in(edges: pd.DataFrame) -> pd.Series | None:
    """In which genes a mode's mean expression differs from that of the pair's other samples:
    ``both``, ``first``, ``second``, ``neither``, or empty where the mode holds all of them."""
    names = ["source_welch_p_value", "target_welch_p_value"]
    if not set(names) <= set(edges.columns):
        return None
    first, second = (edges[name].to_numpy(dtype=np.float64) for name in names)
    words = np.select(
        [
            np.isnan(first) & np.isnan(second),
            (first <= SMALL_P) & (second <= SMALL_P),
            first <= SMALL_P,
            second <= SMALL_P,
        ],
        ["", "both", "first", "second"],
        "neither",
    )
    return pd.Series(words, index=edges.index, dtype=object)


def condition_sentences(found: ModeResults) -> list[str]:
    """How many edges go with which label, and which conditions have none."""
    if not found.conditions:
        return []
    counts = label_counts(found)
    tested = counts.groupby("condition")["tested"].max()
    sentences, without = [], []
    for name, part in counts.groupby("condition", sort=False):
        part = part[part["edges"] > 0]
        if part.empty:
            if tested[name]:
                without.append(str(name))
            continue
        ordered = part.sort_values("edges", ascending=False, kind="stable")
        if (ordered["label"] == "").all():
            sentences.append(f"{counted(int(ordered['edges'].sum()), 'edge')} go with {name}.")
            continue
        told = [
            f"{count(row['edges'])} with {row['label']} ({count(row['unique'])} of "
            f"{counted(row['pairs'], 'pair')} with no other label)"
            for row in ordered.head(N_LABELS).to_dict("records")
        ]
        more = len(ordered) - N_LABELS
        told += [f"{counted(more, 'more label')}"] if more > 0 else []
        sentences.append(f"{name}: edges that go with a label: {listed(told)}.")
    if without:
        told = [*without[:-2], " or ".join(without[-2:])]
        sentences.append(f"No edge goes with {', '.join(told)}.")
    return sentences
