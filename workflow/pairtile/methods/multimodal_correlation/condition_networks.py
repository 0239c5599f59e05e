"""Networks of single conditions: the edges whose mode goes with a label, or with a gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pairtile.methods.multimodal_correlation.condition_tests import ConditionTest, ConditionTests

LABEL = ["condition", "label"]


@dataclass(frozen=True)
class ConditionNetworks:
    """edges : one row for each mode and test that meets the limits, in the order of tests, then of
    modes: ``condition``, ``label``, the two genes, ``cluster``, ``correlation``, ``p_value``,
    ``q_value``, ``r_squared``, ``direction`` (of the correlation: ``positive`` or ``negative``),
    ``unique`` (whichever its modes, the pair of genes is in the network of no other label of the
    condition), ``mode`` (row of the table of modes).

    counts : one row for each test: ``condition``, ``label``, ``modes``, ``positive``, ``negative``
    (of the modes), ``gene_pairs``, ``unique_gene_pairs``, ``genes``; zeros for an empty network.
    """

    edges: pd.DataFrame
    counts: pd.DataFrame


def condition_networks(
    modes: pd.DataFrame, tests: ConditionTests, q_value: float = 0.001, r_squared: float = 0.3
) -> ConditionNetworks:
    """Choose the modes of each condition-specific network.

    Parameters
    ----------
    modes : DataFrame [M rows]
        ``source`` and ``target`` (or ``i`` and ``j``), ``cluster``, ``correlation``.
    tests : ConditionTests
        Of the same modes.
    q_value : float
        A mode whose q-value is at most this belongs to the network of the label.
    r_squared : float
        And, for regressions, whose R^2 is at least this: with many samples a weak trend has a small
        q-value as well.
    """
    pair = ["source", "target"] if "source" in modes else ["i", "j"]
    parts = [_network(modes, pair, test, q_value, r_squared) for test in tests.tests]
    columns = [*LABEL, *pair, "cluster", "correlation", "p_value", "q_value", "r_squared"]
    columns += ["direction", "unique", "mode"]
    if not parts:
        return ConditionNetworks(pd.DataFrame(columns=columns), _counts(tests, [], pair))
    edges = pd.concat(parts, ignore_index=True)
    edges["direction"] = np.where(edges["correlation"] < 0.0, "negative", "positive")
    n_labels = edges.drop_duplicates([*LABEL, *pair]).groupby(["condition", *pair]).size()
    of_edge = pd.MultiIndex.from_frame(edges[["condition", *pair]])
    edges["unique"] = n_labels.reindex(of_edge).to_numpy() == 1
    # By position, not by name: the network of a label may be empty, and is counted too.
    ends = np.cumsum([len(part) for part in parts])
    networks = [edges.iloc[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]
    return ConditionNetworks(edges[columns], _counts(tests, networks, pair))


def _network(
    modes: pd.DataFrame, pair: list[str], test: ConditionTest, q_value: float, r_squared: float
) -> pd.DataFrame:
    met = test.q_value <= q_value  # NaN is not
    if test.r_squared is not None:
        met &= test.r_squared >= r_squared
    rows = np.flatnonzero(met)
    explained = np.full(len(rows), np.nan) if test.r_squared is None else test.r_squared[rows]
    return (
        modes[[*pair, "cluster", "correlation"]]
        .iloc[rows]
        .assign(
            condition=test.condition,
            label=test.label,
            p_value=test.p_value[rows],
            q_value=test.q_value[rows],
            r_squared=explained,
            mode=rows,
        )
    )


def _counts(tests: ConditionTests, networks: list[pd.DataFrame], pair: list[str]) -> pd.DataFrame:
    rows = []
    for test, network in zip(tests.tests, networks, strict=True):
        pairs = network.drop_duplicates(pair)
        negative = int((network["direction"] == "negative").sum())
        row = {
            "condition": test.condition,
            "label": test.label,
            "modes": len(network),
            "positive": len(network) - negative,
            "negative": negative,
            "gene_pairs": len(pairs),
            "unique_gene_pairs": int(pairs["unique"].sum()),
            "genes": len(pd.unique(pairs[pair].to_numpy().ravel())),
        }
        rows.append(row)
    names = ["modes", "positive", "negative", "gene_pairs", "unique_gene_pairs", "genes"]
    return pd.DataFrame(rows, columns=[*LABEL, *names])
