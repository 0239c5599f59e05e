"""Rule ``network``: merged pairs -> the final network and the score histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.config.models import Analysis
from pairtile.declare.columns import with_metadata
from pairtile.engine.estimator import Estimator, Merged
from pairtile.engine.network import Network
from pairtile.io.input_files import later_inputs, local_inputs
from pairtile.io.symbols import add_symbols
from pairtile.method import get_method
from pairtile.runtime.files import atomic_path, read_arrays, read_table, verified, write_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.null import read_null
from pairtile.steps.plan import read_plan

ROW_GROUP = 1 << 20
"""Edges that are written together."""


class MergedFiles(NamedTuple):
    """What there is of an analysis once its chunks are merged; None for what it does not have."""

    plan: Path
    state: Path
    items: Path
    pairs: Path
    summaries: Path
    null: Path | None = None
    scan: Path | None = None
    network_data: Path | None = None
    bootstraps: Sequence[Path] = ()

    def open_estimator(self, config: Analysis, backend: str | None) -> Estimator:
        """The estimator as planned; ``backend``: another than the planned one."""
        plan = read_plan(self.plan)
        return plan.open_estimator(config, self.state, backend, self.network_data)

    def read(self) -> Merged:
        """What the chunks left; the pairs themselves are read when they are used."""
        return Merged(
            verified(self.pairs),
            read_arrays(self.summaries),
            read_null(self.null),
            None if self.scan is None else read_arrays(self.scan),
            pd.concat(map(read_table, self.bootstraps), ignore_index=True)
            if self.bootstraps
            else None,
        )


class NetworkFiles(NamedTuple):
    """What the step writes: edges, and the arrays of ``Estimator.result_arrays``."""

    network: Path
    scores: Path


def network(
    config: Analysis,
    merged_files: MergedFiles,
    out: NetworkFiles,
    record: Path,
    inputs: Sequence[str] | None = None,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Select edges from the merged pairs by the method's rules and write ``network.parquet``.

    With bootstraps, the edges are those of the consensus; their ``p_value`` and ``q_value`` are
    the consensus' and ``support`` counts the bootstrap networks that hold the edge.

    ``inputs``: where the input files of this step lie on this machine, in the order of the keys
    (None: where the configuration says). ``checksums``: configured path -> checksum.
    """
    with recorded("network", record) as step:
        later = later_inputs(config, "network", inputs)
        config, described = local_inputs(config, later, checksums)
        if described:
            step.details["inputs"] = described
        backend = None if config.jobs.network_gpu else "cpu"
        opened = merged_files.open_estimator(config, backend)
        given = config.resolved()
        step.details["parameters"] = {
            key: decided
            for key, decided in opened.config.resolved().items()
            if given[key] == "auto" != decided
        }
        merged = merged_files.read()
        result = opened.network(merged)
        step.device = opened.device.name
        step.peak_gpu_memory_bytes = opened.device.peak_bytes()
        step.count(**{"edges": len(result.edges)} | result.counts)
        step.say(*result.messages)
        step.details["threshold"] = result.threshold
        step.details["directed"] = result.directed
        step.details["edges"] = len(result.edges)
        write_network(
            result, read_table(merged_files.items), out.network, get_method(config.method).package
        )
        write_arrays(out.scores, opened.result_arrays(merged, result))


def write_network(result: Network, items: pd.DataFrame, out: Path, package: str) -> None:
    """Write the network with names in place of item numbers, and symbols where items have them.

    ``package``: that of the method, which says what the columns are.
    """
    names = items["name"].to_numpy()
    with ExitStack() as stack:
        temporary = stack.enter_context(atomic_path(out))
        writer = None
        for begin in range(0, max(1, len(result.edges)), ROW_GROUP):
            part = _with_names(result.edges.iloc[begin : begin + ROW_GROUP], names, items)
            if writer is None:
                schema = with_metadata(part.schema, package, "network.parquet")
                writer = stack.enter_context(pq.ParquetWriter(temporary, schema))
            writer.write_table(part.cast(writer.schema))


def _with_names(edges: pd.DataFrame, names: NDArray[np.generic], items: pd.DataFrame) -> pa.Table:
    table = edges.copy()
    for column in ("source", "target"):
        table[column] = names[table[column].to_numpy()].astype(object)
    table = add_symbols(table, items)
    kinds: dict[str, type] = dict.fromkeys(table.select_dtypes("float32").columns, np.float64)
    if "support" in table:
        kinds["support"] = np.int64
    typed = pa.Table.from_pandas(table.astype(kinds), preserve_index=False)
    # Without a single edge, text columns have no type of their own.
    fields = [
        pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in typed.schema
    ]
    return typed.cast(pa.schema(fields))
