"""Stage ``activity``: what regulators do in each sample, by the expression of their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from pairtile.arrays import Float64Array, Int32Array
from pairtile.config.downstream import label_columns
from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.activity_scores import (
    Regulons,
    gene_scale,
    univariate_linear_model,
    viper,
)
from pairtile.downstream.given import Q_VALUE, Given
from pairtile.downstream.label_tests import label_means, label_test
from pairtile.engine.estimator import TableSummary
from pairtile.errors import require_columns
from pairtile.io.annotations import Condition
from pairtile.io.names import GeneNames
from pairtile.io.networks.edge_lists import regulon_table
from pairtile.method import sign_column, value_columns
from pairtile.runtime.files import atomic_path
from pairtile.statistics.correction import known_q_values

message = messages_of(__package__)

MIN_TARGETS = 5
"""Targets that a regulator needs among the genes (decoupler's default)."""

TESTS = (
    "regulator", "label", "targets", "units", "effect", "means", "p_value", "q_value",
    "viper_p_value",
)  # fmt: skip


def regulons_of(
    edges: pd.DataFrame, genes: Sequence[str], min_targets: int = MIN_TARGETS
) -> tuple[Regulons, int]:
    """The regulons of edges among the genes, and how many regulators have too few targets.

    edges : ``source``, ``target``, ``weight`` (-1 to 1), ``likelihood`` (0 to 1); each pair once.
    """
    target = pd.Index(genes).get_indexer(pd.Index(edges["target"].astype(str)))
    here = (target >= 0) & (edges["likelihood"] > 0).to_numpy()
    here &= (edges["source"] != edges["target"]).to_numpy()
    edges, target = edges[here], target[here]
    codes, names = pd.factorize(edges["source"].astype(str).to_numpy(dtype=object))
    # A target of weight 0 is none to a linear model, so it does not count here.
    signed = (edges["weight"] != 0).to_numpy()
    enough = np.bincount(codes[signed], minlength=len(names)) >= min_targets
    number = np.cumsum(enough) - 1
    kept = enough[codes]
    at = (number[codes[kept]], target[kept])
    shape = (int(enough.sum()), len(genes))
    weights, likelihood = (
        csr_array((edges[column].to_numpy(dtype=np.float64)[kept], at), shape=shape)
        for column in ("weight", "likelihood")
    )
    return Regulons(list(names[enough]), weights, likelihood), int((~enough).sum())


def spelled_targets(edges: pd.DataFrame, genes: GeneNames) -> tuple[pd.DataFrame, list[Message]]:
    """Edges as ``regulons_of`` takes them, with targets as the genes are called, and what to say of
    names. Regulators, which need not be genes, keep their names, and are no targets of their
    own under any."""
    ends = ["source", "target"]
    edges, said = genes.spell(edges.assign(regulator=edges["source"]), ends, "names of regulons")
    edges = edges[edges["source"] != edges["target"]].drop(columns="source")
    return edges.rename(columns={"regulator": "source"}).drop_duplicates(ends), said


def weighted_edges(network: pd.DataFrame) -> pd.DataFrame:
    """The edges of any network as ``regulons_of`` takes them, the likeliest row of each pair.

    Without a ``weight`` it is the column of the sign (``spearman``, ``correlation``), else 1;
    ``likelihood`` the size of the score beside the largest, else 1. A weight that is never negative
    beside a column that is, as the share of a mode's samples, says no signs, and does not count.
    Raises ValueError for columns that are not there and for numbers out of range.
    """
    require_columns(network, ("source", "target"), "regulons")
    edges = network[["source", "target"]].astype(str)
    sign = sign_column(network)
    signed = [name for name in ("weight", sign) if name in network and (network[name] < 0).any()]
    weight = next(iter(signed), "weight" if "weight" in network else sign)
    score = next(iter(value_columns(network)), None)
    edges["weight"] = 1.0 if weight is None else network[weight].fillna(0.0).astype(float)
    if "likelihood" in network:
        edges["likelihood"] = network["likelihood"].astype(float)
    else:
        size = pd.Series(1.0, network.index) if score is None else network[score].abs().fillna(0.0)
        edges["likelihood"] = size / max(float(size.max()), np.finfo(float).tiny)
    for name, low in (("weight", -1.0), ("likelihood", 0.0)):
        if not edges[name].between(low, 1.0).all():
            raise ValueError(f"regulons: {name}: expected numbers from {low:g} to 1")
    edges = edges.sort_values("likelihood", ascending=False, kind="stable")
    return edges.drop_duplicates(["source", "target"]).sort_index()


def activity_tests(
    activities: Mapping[str, Float64Array],
    regulons: Regulons,
    conditions: Sequence[Condition],
    blocks: Sequence[Int32Array] = (),
    degrees_given_up: int = 0,
) -> tuple[pd.DataFrame, list[Message]]:
    """Test the activities (``ulm`` and ``viper``, float64 (regulators, samples)) against labels.

    Returns the rows of ``activity_tests.tsv``, best first, and what could not be tested or was
    tested by blocks.
    """
    parts, notes = [], []
    targets = np.diff(regulons.weights.indptr)
    spread = np.nanstd(activities["ulm"], axis=1, ddof=1)
    for condition in conditions:
        ulm, other = (
            label_test(activities[kind], condition, blocks, degrees_given_up)
            for kind in ("ulm", "viper")
        )
        if np.isnan(ulm.p_value).all():
            notes.append(message("untested_label", label=condition.name))
        elif ulm.of_blocks:
            notes.append(message("blocks_compared", label=condition.name, n=ulm.units))
        with np.errstate(invalid="ignore", divide="ignore"):
            effect = ulm.effect / spread
        means = label_means(activities["ulm"], condition)
        columns = (regulons.names, condition.name, targets, ulm.units, effect, means)
        part = zip(TESTS, (*columns, ulm.p_value, np.nan, other.p_value), strict=True)
        parts.append(pd.DataFrame(dict(part)))
    if not parts:
        return pd.DataFrame(columns=list(TESTS)), notes
    table = pd.concat(parts, ignore_index=True)
    table["q_value"] = known_q_values(table["p_value"])
    return table.sort_values("p_value", kind="stable", ignore_index=True), notes


def run(given: Given) -> TableSummary:
    """Write ``activity.tsv``, ``activity_viper.tsv`` and ``activity_tests.tsv``."""
    network, notes = given.network_table, []
    regulons, few = regulons_of(regulon_table(network), given.genes)
    if not (given.directed or network.is_regulator.any()):
        notes.append(message("every_gene_a_regulator", n=len(regulons.names)))
    if not regulons.names:
        notes.append(message("no_activity", n=MIN_TARGETS))
    scale = gene_scale(given.values)
    label = dict(zip(given.genes, given.labels, strict=True))
    names = [label[name] for name in regulons.names]
    activities = {}
    for kind, method, file in (
        ("ulm", univariate_linear_model, "activity.tsv"),
        ("viper", viper, "activity_viper.tsv"),
    ):
        activities[kind] = method(given.values, regulons, scale)
        # Line by line: a table of 1e5 columns is slow as such.
        with (
            atomic_path(given.folder / file) as temporary,
            temporary.open("w", encoding="utf-8") as lines,
        ):
            lines.write("\t".join(["regulator", *given.samples]) + "\n")
            for name, row in zip(names, activities[kind], strict=True):
                cells = ["" if value != value else repr(value) for value in row.tolist()]
                lines.write("\t".join([name, *cells]) + "\n")
    found = given.conditions(label_columns(given.config).values() if regulons.names else [])
    tests, said = activity_tests(
        activities, regulons, found.conditions, given.blocks, given.degrees_given_up
    )
    given.write("activity_tests.tsv", tests)
    counts = {
        "activity_regulators": len(regulons.names),
        "activity_regulators_with_few_targets": few,
    }
    if found.conditions:
        counts |= {
            "activity_tests": int(tests["p_value"].notna().sum()),
            "activity_tests_impossible": int(tests["p_value"].isna().sum()),
            "activity_found": int((tests["q_value"] <= Q_VALUE).sum()),
        }
    return TableSummary(counts, [*notes, *found.notes, *said])
