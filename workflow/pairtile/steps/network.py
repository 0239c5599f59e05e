"""Rule ``network``: merged pairs -> the final network and the score histogram."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.config.models import Analysis
from pairtile.declare.columns import with_metadata
from pairtile.engine.estimator import Estimator, MergedResults
from pairtile.engine.network import Network
from pairtile.io.input_files import local_inputs
from pairtile.io.symbols import add_symbols
from pairtile.method import get_method
from pairtile.runtime.files import atomic_path, read_arrays, read_table, verified, write_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.null import read_null
from pairtile.steps.plan import read_plan

ROW_GROUP = 1 << 20
"""Edges that are written together."""


def opened_network(run: AnalysisRun, config: Analysis, backend: str | None) -> Estimator:
    """The estimator as planned, with what network and tables alone need; ``backend``: another than
    the planned one."""
    more = run.folder / "network_data.npz" if run.config.needs_network_data else None
    return read_plan(run.plan).open_estimator(config, run.state, backend, more)


def read_merged(run: AnalysisRun, whole: bool = True) -> MergedResults:
    """What the chunks left; the pairs themselves are read when they are used. ``whole``: with the
    sums of the first pass and the bootstraps, where there are any."""
    folder, plan = run.folder, read_plan(run.plan)
    scan = read_arrays(folder / "scan.npz") if whole and plan.scan else None
    bootstraps = None
    if whole and plan.bootstraps:
        files = (folder / f"bootstraps/{a:05d}-{b:05d}.parquet" for a, b in plan.bootstraps)
        bootstraps = pd.concat(map(read_table, files), ignore_index=True)
    sums = read_arrays(folder / "chunks.npz")
    return MergedResults(verified(folder / "pairs.parquet"), sums, read_null(run), scan, bootstraps)


def network(run: AnalysisRun) -> None:
    """Select edges from the merged pairs by the method's rules and write ``network.parquet``.

    With bootstraps, the edges are those of the consensus; their ``p_value`` and ``q_value`` are
    the consensus' and ``support`` counts the bootstrap networks that hold the edge.
    """
    folder, asked = run.folder, run.config.for_step("network")
    with recorded("network", run.record("network")) as step:
        config, described = local_inputs(asked, run.local_inputs("network"), run.checksums)
        if described:
            step.details["inputs"] = described
        opened = opened_network(run, config, None if config.jobs.network_gpu else "cpu")
        given = config.resolved()
        step.details["parameters"] = {
            key: decided
            for key, decided in opened.config.resolved().items()
            if given[key] == "auto" != decided
        }
        merged = read_merged(run)
        result = opened.network(merged)
        step.device = opened.device.name
        step.peak_gpu_memory_bytes = opened.device.peak_bytes()
        step.count(**{"edges": len(result.edges)} | result.counts)
        step.log_messages(*result.messages)
        step.details |= {
            "threshold": result.threshold,
            "directed": result.directed,
            "ranked_by": {"score": result.score, "value": result.value},
            "edges": len(result.edges),
        }
        items = read_table(folder / "items.parquet")
        write_network(result, items, folder / "network.parquet", get_method(config.method).package)
        write_arrays(folder / "scores.npz", opened.result_arrays(merged, result))


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
    named = {end: names[edges[end].to_numpy()].astype(object) for end in ("source", "target")}
    table = add_symbols(edges.assign(**named), items)
    kinds: dict[str, type] = dict.fromkeys(table.select_dtypes("float32").columns, np.float64)
    if "support" in table:
        kinds["support"] = np.int64
    typed = pa.Table.from_pandas(table.astype(kinds), preserve_index=False)
    # Without a single edge, text columns have no type of their own.
    fields = [
        pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in typed.schema
    ]
    return typed.cast(pa.schema(fields))
