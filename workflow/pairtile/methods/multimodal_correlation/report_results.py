"""The tables, curves and samples of a multimodal network, read once for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.engine.state import MANIFEST, open_state
from pairtile.errors import StoreError
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.condition_arrays import conditions_of_arrays
from pairtile.methods.multimodal_correlation.pair_modes import PairModes
from pairtile.report.results import Results

NETWORKS, MODULES, MODES = "condition_networks.tsv", "modules.tsv", "pairs.parquet"

_NETWORK_COLUMNS = [
    *("condition", "label", "source", "target", "cluster", "correlation"),
    *("p_value", "q_value", "r_squared", "direction", "unique"),
]
_MODULE_COLUMNS = ["gene", "module", "degree", "degree_in_module"]
_TEXTS = ("condition", "label", "source", "target", "direction", "unique", "gene")

Pair = tuple[str, str]


@dataclass(frozen=True)
class ModeResults:
    """What the report knows of modes, beyond the network.

    network : the edges, by falling size of their correlation.
    networks : rows of ``condition_networks.tsv``; empty without annotations.
    modules : rows of ``modules.tsv``; empty without modules.
    conditions : of the samples, as they were tested.
    arrays : those of ``scores.npz``.
    """

    folder: Path
    network: pd.DataFrame
    networks: pd.DataFrame
    modules: pd.DataFrame
    conditions: list[Condition]
    arrays: Mapping[str, NDArray[Any]]
    number: Mapping[str, int]

    @cached_property
    def state(self) -> dict[str, NDArray[Any]] | None:
        """Values, keys and samples; None where the state is gone."""
        there = (self.folder / "state" / MANIFEST).is_file()
        return open_state(self.folder / "state") if there else None

    @property
    def threshold(self) -> float | None:
        """Least size of an edge's correlation; None where none was found."""
        found = self.arrays.get("threshold")
        return None if found is None or np.isnan(found) else float(found)

    def table(self, prefix: str) -> pd.DataFrame:
        """Arrays ``curve_...`` or ``spacings_...`` as a table; empty where there are none."""
        found = {
            name.removeprefix(f"{prefix}_"): values
            for name, values in self.arrays.items()
            if name.startswith(f"{prefix}_")
        }
        return pd.DataFrame(found)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Pairs of genes in the network, each once: ``source``, ``target``, ``edges``, ``signs``
        (1: its edges have one sign, 2: both), ``n_modes``, ``correlation`` (the strongest)."""
        signs = np.sign(self.network["correlation"]).rename("signs")
        grouped = self.network.assign(signs=signs).groupby(["source", "target"], sort=False)
        return grouped.agg(
            edges=("cluster", "size"),
            signs=("signs", "nunique"),
            n_modes=("n_modes", "max"),
            correlation=("correlation", "first"),
        ).reset_index()

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

    def pair_modes(self, wanted: Iterable[Pair]) -> dict[Pair, PairModes]:
        """The samples and modes of pairs, as far as they are there still."""
        state, path = self.state, self.folder / MODES
        asked = dict.fromkeys(wanted)
        if state is None or not asked or not path.is_file():
            return {}
        numbers = {
            (self.number[a], self.number[b]): (a, b)
            for a, b in asked
            if a in self.number and b in self.number
        }
        rows = stored_rows(path, list(numbers))
        found = {}
        for (i, j), names in numbers.items():
            part = rows[(rows["i"] == i) & (rows["j"] == j)]
            if len(part):
                found[names] = PairModes.of(part, state["values"][i], state["values"][j], names)
        return found


def stored_rows(path: Path, pairs: list[tuple[int, int]]) -> pd.DataFrame:
    """The rows of ``pairs.parquet`` of some pairs (i < j), a part of the file at a time."""
    wanted = np.array([i << 32 | j for i, j in pairs], dtype=np.int64)
    parts = []
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            keys = file.read_row_group(group, columns=["i", "j"])
            i, j = (keys[name].to_numpy().astype(np.int64) for name in ("i", "j"))
            here = np.isin(i << 32 | j, wanted)
            if here.any():
                parts.append(file.read_row_group(group).filter(pa.array(here)))
        empty = file.schema_arrow.empty_table()
    return pa.concat_tables(parts or [empty]).to_pandas()


def read_mode_results(
    folder: Path,
    items: pd.DataFrame,
    network: pd.DataFrame,
    arrays: Mapping[str, NDArray[Any]] | None,
    parameters: Mapping[str, Any],
) -> ModeResults:
    """Read the tables that the section ``parameters`` asks for from ``folder``.

    Raises StoreError naming the file when one of them is missing or is not what its name says.
    """
    asked = parameters.get("annotations") is not None
    networks = _read(folder / NETWORKS, _NETWORK_COLUMNS, asked)
    networks["unique"] = networks["unique"] == "True"
    names = items.loc[items["kept"].astype(bool), "name"]
    return ModeResults(
        folder,
        network,
        networks,
        _read(folder / MODULES, _MODULE_COLUMNS, bool(parameters.get("modules"))),
        conditions_of_arrays(arrays or {}),
        arrays or {},
        {str(name): row for row, name in enumerate(names)},
    )


def _read(path: Path, columns: list[str], asked: bool) -> pd.DataFrame:
    """A table; empty where the analysis was to have none, whatever an earlier one left."""
    if not asked:
        return pd.DataFrame(columns=columns)
    if not path.is_file():
        raise StoreError.at(path, "", "no such file", "the table that the step tables writes")
    try:
        # A gene or a label may be called NA: texts are texts, and only numbers can be missing.
        table = pd.read_csv(
            path,
            sep="\t",
            dtype=dict.fromkeys(_TEXTS, str),
            keep_default_na=False,
            na_values={name: [""] for name in columns if name not in _TEXTS},
        )
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a table") from error
    missing = sorted(set(columns) - set(table.columns))
    if missing:
        raise StoreError.at(path, "columns", ", ".join(table.columns), ", ".join(missing))
    return table


def mode_results(results: Results) -> ModeResults:
    """What was found with the network of an analysis, for ``results.cached``."""
    return read_mode_results(
        results.folder, results.items, results.network, results.scores, results.parameters
    )
