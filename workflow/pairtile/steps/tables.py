"""Rules ``tables_METHOD``: the tables that a method has beside the network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from pairtile.config.model import model_of
from pairtile.estimators.base import Section
from pairtile.files import read_arrays
from pairtile.record import describe_inputs, recorded
from pairtile.steps.network import read_merged
from pairtile.steps.plan import read_plan


def tables(
    section: Section,
    plan_file: Path,
    state: Path,
    items: Path,
    null: Path,
    pairs: Path,
    summaries: Path,
    network: Path,
    scores: Path,
    folder: Path,
    record: Path,
) -> None:
    """Write a method's own tables into ``folder``, the folder of the analysis' results."""
    with recorded("tables", record) as step:
        opened = read_plan(plan_file).open_estimator(section, state, backend="cpu")
        merged = replace(
            read_merged(pairs, summaries, null),
            network=pd.read_parquet(network),
            scores=read_arrays(scores),
        )
        model = model_of(section)
        later = {key: section[key] for key in (model.table_inputs if model else ())}
        step.details["inputs"] = describe_inputs({k: path for k, path in later.items() if path})
        written = opened.write_tables(merged, pd.read_parquet(items), folder)
        step.count(**written.counts)
        for warning in written.warnings:
            step.warn(warning)
