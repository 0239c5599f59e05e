"""Rules ``tables_METHOD``: the tables that a method has beside the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from pairtile.config.models import Analysis
from pairtile.io.input_files import later_inputs, local_inputs
from pairtile.runtime.files import read_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.network import read_merged
from pairtile.steps.plan import read_plan


def tables(
    config: Analysis,
    plan_file: Path,
    state: Path,
    items: Path,
    null: Path | None,
    pairs: Path,
    summaries: Path,
    network: Path,
    scores: Path,
    folder: Path,
    record: Path,
    inputs: Sequence[str] | None = None,
    checksums: Mapping[str, str] | None = None,
    network_data: Path | None = None,
) -> None:
    """Write a method's own tables into ``folder``, the folder of the analysis' results.

    ``null``, ``network_data``: None where the analysis has none.
    ``inputs``: where the files of ``table_inputs`` lie on this machine, in the order of the keys
    (None: where the configuration says). ``checksums``: configured path -> checksum.
    """
    with recorded("tables", record) as step:
        later = later_inputs(config, "table_inputs", inputs)
        config, step.details["inputs"] = local_inputs(config, later, checksums)
        opened = read_plan(plan_file).open_estimator(config, state, "cpu", network_data)
        merged = replace(
            read_merged(pairs, summaries, null),
            network=pd.read_parquet(network),
            scores=read_arrays(scores),
        )
        written = opened.write_tables(merged, pd.read_parquet(items), folder)
        step.count(**written.counts)
        for warning in written.warnings:
            step.warn(warning)
