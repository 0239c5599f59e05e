"""The tables, curves and samples of a multimodal network, read once for the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from pairtile.declare.tables import empty_table, read_result_table
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.arrays import ModeArrays, source_values
from pairtile.methods.multimodal_correlation.conditions import (
    COUNTS_OF_NETWORK,
    conditions_of_arrays,
    counts_of_network,
    unique_names,
)
from pairtile.methods.multimodal_correlation.modes import PairModes, packed_masks
from pairtile.methods.multimodal_correlation.thresholds import table_of_walk
from pairtile.report.results import Results

NETWORKS, MODULES, MODES = "condition_networks.tsv", "modules.tsv", "pairs.parquet"
TESTS = "condition_tests.tsv"


Pair = tuple[str, str]


@dataclass(frozen=True)
class ModeResults:
    """What the report knows of modes, beyond the network.

    network : the edges, by falling size of their correlation.
    networks : rows of ``condition_networks.tsv``; empty without annotations.
    modules : rows of ``modules.tsv``; empty without modules.
    conditions : of the samples, as they were tested.
    arrays : those of ``scores.npz``.
    number : row of each gene in the state.
    state : values, keys and samples; empty where they are gone.
    """

    folder: Path
    network: pd.DataFrame
    networks: pd.DataFrame
    modules: pd.DataFrame
    conditions: list[Condition]
    arrays: Mapping[str, NDArray[np.generic]]
    number: Mapping[str, int]
    state: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    @property
    def threshold(self) -> float | None:
        """Least size of an edge's correlation; None where none was found."""
        found = self.arrays.get("threshold")
        return None if found is None or np.isnan(found) else float(found)

    def table(self, prefix: str) -> pd.DataFrame:
        """Arrays ``curve_...`` or ``spacings_...`` as a table; empty where there are none."""
        return table_of_walk(self.arrays, prefix)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Pairs of genes in the network, each once: ``source``, ``target``, ``edges``, ``signs``
        (1: its edges have one sign, 2: both), ``n_modes``, ``correlation`` (the strongest)."""
        signs = np.sign(self.network["correlation"]).rename("signs")
        return (
            self.network.assign(signs=signs)
            .groupby(["source", "target"], sort=False)
            .agg(
                edges=("cluster", "size"),
                signs=("signs", "nunique"),
                n_modes=("n_modes", "max"),
                correlation=("correlation", "first"),
            )
            .reset_index()
        )

    @cached_property
    def partners(self) -> pd.Series:
        """Genes that each gene of the network has edges with, most first, equals by name."""
        ends = np.append(self.pairs["source"], self.pairs["target"])
        table = pd.Series(ends).value_counts().rename("n").rename_axis("name").reset_index()
        return table.sort_values(["n", "name"], ascending=[False, True]).set_index("name")["n"]

    def labels_of_edges(self) -> pd.Series:
        """The labels whose networks an edge is in, ``Treatment Heat, Hours``, by (source, target,
        cluster)."""
        names = self.networks["condition"] + " " + self.networks["label"]
        keys = [self.networks[key] for key in ("source", "target", "cluster")]
        return names.str.strip().groupby(keys).agg(", ".join)

    @property
    def samples(self) -> list[str]:
        """Their names, as far as they are there still."""
        return self.state["samples"].tolist() if self.state else []

    def pair_modes(self, wanted: Iterable[Pair]) -> dict[Pair, PairModes]:
        """The samples and modes of pairs, in their order, as far as they are there still."""
        path = self.folder / MODES
        numbers = {
            (self.number[a], self.number[b]): (a, b)
            for a, b in wanted
            if a in self.number and b in self.number
        }
        if not self.state or not numbers or not path.is_file():
            return {}
        rows, state = stored_rows(path, list(numbers)), cast(ModeArrays, self.state)
        found = {}
        for (i, j), names in numbers.items():
            part = rows[(rows["i"] == i) & (rows["j"] == j)]
            if len(part):
                found[names] = PairModes.of_rows(
                    part, source_values(state, i), state["values"][j], names
                )
        return found

    def members(self, edges: pd.DataFrame) -> NDArray[np.bool_]:
        """The samples of the mode of each edge, bool (edges, samples); none where the state is
        gone."""
        n_samples = self.state["values"].shape[1]
        keys = [edges[end].map(self.number) for end in ("source", "target")]
        wanted = pd.MultiIndex.from_arrays([*keys, edges["cluster"]])
        rows = stored_rows(self.folder / MODES, list(zip(*keys, strict=True)))
        row = pd.MultiIndex.from_frame(rows[["i", "j", "cluster"]]).get_indexer(wanted)
        masks = packed_masks(rows["samples"].tolist(), n_samples)[row]
        return np.unpackbits(masks, axis=1, count=n_samples).astype(bool) & (row >= 0)[:, None]


def stored_rows(path: Path, pairs: list[tuple[int, int]]) -> pd.DataFrame:
    """The rows of ``pairs.parquet`` of some pairs (i < j), in their order."""
    keys = [pc.field(name).cast("int64") for name in ("i", "j")]
    wanted = pa.array([i << 32 | j for i, j in pairs], pa.int64())
    chosen = (keys[0] * (1 << 32) + keys[1]).isin(wanted)
    return ds.dataset(path).to_table(filter=chosen).to_pandas()


def settings(results: Results, key: str) -> dict[str, Any]:
    """A section of the parameters; empty where it is none."""
    found = results.parameters.get(key)
    return found if isinstance(found, dict) else {}


def mixture(results: Results) -> bool:
    """Whether pairs were split into modes at all."""
    return bool(settings(results, "estimator").get("clustering") != "none")


def threshold_method(results: Results) -> str:
    """How the threshold was found, with ``auto`` as it was decided."""
    method = str(settings(results, "threshold").get("method"))
    return str((results.summary.get("threshold") or {})["method"]) if method == "auto" else method


def mode_results(results: Results) -> ModeResults:
    """What was found with the network of an analysis, for ``results.cached``.

    Raises StoreError naming the file when a table that the analysis asked for is missing or is not
    what its name says.
    """
    arrays, tables = results.scores or {}, network_tables(results)
    networks, modules = tables.networks, tables.modules
    modules = modules[modules["module"] > 0]
    return ModeResults(
        results.folder,
        results.network,
        results.labelled(networks, ["source", "target"]),
        results.labelled(modules, ["gene"]),
        tables.conditions,
        arrays,
        results.rows,
        results.state,
    )


class NetworkTables(NamedTuple):
    """The tables beside a network, with names of genes. ``counts``: a row for each label,
    ``condition``, ``label`` and ``COUNTS_OF_NETWORK``."""

    tests: pd.DataFrame
    networks: pd.DataFrame
    modules: pd.DataFrame
    conditions: list[Condition]

    @property
    def counts(self) -> pd.DataFrame:
        labels = [(each.name, label) for each in self.conditions for label in each.tested_labels]
        of_label = dict(iter(self.networks.groupby(["condition", "label"])))
        none = self.networks.iloc[:0]
        rows = [
            (*label, *counts_of_network(of_label.get(label, none), ("source", "target")))
            for label in labels
        ]
        return pd.DataFrame(rows, columns=["condition", "label", *COUNTS_OF_NETWORK])


def network_tables(results: Results) -> NetworkTables:
    """As the files of an analysis have them; empty what it does not ask for."""
    folder, asked = results.folder, results.parameters
    tested = asked.get("annotations") is not None
    tests, networks = _read(folder / TESTS, tested), _read(folder / NETWORKS, tested)
    networks["unique"] = networks["unique"].astype(bool)
    modules = _read(folder / MODULES, bool(asked.get("modules")))
    return NetworkTables(tests, networks, modules, conditions_of_arrays(results.scores or {}))


def _read(path: Path, asked: bool) -> pd.DataFrame:
    """A table; empty where the analysis was to have none, whatever an earlier one left."""
    return read_result_table(path, __package__) if asked else empty_table(__package__, path.name)


# --- edges by condition ---


MAX_MODE_P = 0.001
"""A mode differs from the pair's other samples in a gene where Welch's p is at most this."""


def edges_with_condition(found: ModeResults) -> int:
    """Edges that are in the network of any label, each once."""
    return len(found.networks[["source", "target", "cluster"]].drop_duplicates())


def label_counts(found: ModeResults) -> pd.DataFrame:
    """A row for each label, those without edges too, in the order of conditions: ``condition``,
    ``label``, ``tested`` (edges that could be), ``edges``, ``positive``, ``negative``, ``pairs``,
    ``unique`` (pairs that are in no other label's network of the condition), ``genes``."""
    labels = [(each.name, label) for each in found.conditions for label in each.tested_labels]
    table = found.networks
    seen = zip(table["condition"], table["label"], strict=True)
    labels = list(dict.fromkeys([*labels, *seen]))
    columns = unique_names([(name, label) if label else (name,) for name, label in labels])
    rows = []
    for (condition, label), column in zip(labels, columns, strict=True):
        p_value = found.network.get(f"{column}_coexpression_p_value", pd.Series(dtype=float))
        part = table[(table["condition"] == condition) & (table["label"] == label)]
        counts = counts_of_network(part, ("source", "target"))
        rows.append((condition, label, int(p_value.notna().sum()), *counts))
    names = ["edges", "positive", "negative", "pairs", "unique", "genes"]
    return pd.DataFrame(rows, columns=["condition", "label", "tested", *names])


def differs_in(edges: pd.DataFrame) -> pd.Series:
    """In which genes a mode's mean expression differs from that of the pair's other samples:
    ``both``, ``first``, ``second``, ``neither``, or empty where the mode holds all of them, or
    nothing was tested."""
    tests = edges.reindex(columns=["source_welch_p_value", "target_welch_p_value"])
    first, second = tests.to_numpy(dtype=np.float64).T
    words = np.select(
        [
            np.isnan(first) & np.isnan(second),
            (first <= MAX_MODE_P) & (second <= MAX_MODE_P),
            first <= MAX_MODE_P,
            second <= MAX_MODE_P,
        ],
        ["", "both", "first", "second"],
        "neither",
    )
    return pd.Series(words, index=edges.index, dtype=object)


# --- which pairs of genes are drawn ---

MAX_PAIRS = 6
PAIRS_OF_CONDITION = 3
MAX_CONDITIONS = 4


def strongest_pairs(found: ModeResults) -> list[Pair]:
    """The pairs of largest correlation, each gene once while there are others."""
    return spread(_ends(found.pairs), MAX_PAIRS)


def split_pairs(found: ModeResults) -> list[Pair]:
    """Pairs of several modes that are not among the strongest: those with edges of both signs
    first, then those with more edges, then the stronger."""
    several = found.pairs[found.pairs["n_modes"] > 1].sort_values(
        ["signs", "edges"], ascending=False, kind="stable"
    )
    drawn = set(strongest_pairs(found))
    return spread((pair for pair in _ends(several) if pair not in drawn), MAX_PAIRS)


def drawn_conditions(found: ModeResults) -> list[Condition]:
    """Conditions by falling number of edges of theirs; the first one where none has any."""
    edges = found.networks["condition"].value_counts()
    with_edges = [each for each in found.conditions if each.name in edges.index]
    ordered = sorted(with_edges, key=lambda each: -int(edges[each.name]))
    return ordered[:MAX_CONDITIONS] or found.conditions[:1]


def condition_pairs(found: ModeResults, condition: Condition) -> list[Pair]:
    """Pairs that go most clearly with a condition, its labels in turn; without any, the strongest
    of all."""
    table = found.networks[found.networks["condition"] == condition.name]
    size = table["correlation"].abs().rename("size")
    table = table.assign(size=size).sort_values(["q_value", "size"], ascending=[True, False])
    in_turn = chain.from_iterable(
        zip_longest(*(_ends(part) for _, part in table.groupby("label", sort=False)))
    )
    pairs = spread((pair for pair in in_turn if pair is not None), PAIRS_OF_CONDITION)
    return pairs or strongest_pairs(found)[:PAIRS_OF_CONDITION]


def spread(pairs: Iterable[Pair], limit: int) -> list[Pair]:
    """The first ``limit`` pairs that share no gene, then those that do; in their order."""
    distinct, used = list(dict.fromkeys(pairs)), set[str]()
    chosen: list[Pair] = []
    for pair in distinct:
        if len(chosen) < limit and used.isdisjoint(pair):
            chosen.append(pair)
            used.update(pair)
    return [*chosen, *(pair for pair in distinct if pair not in chosen)][:limit]


def _ends(table: pd.DataFrame) -> Iterator[Pair]:
    return zip(table["source"].astype(str), table["target"].astype(str), strict=True)
