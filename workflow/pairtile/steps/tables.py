"""Step ``tables`` of rule ``network``: the tables that a method has beside the network."""

from __future__ import annotations

from dataclasses import replace

from pairtile.engine.custody import note_files
from pairtile.io.input_files import local_inputs
from pairtile.runtime.files import read_arrays, read_table
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.network import opened_network, read_merged


def tables(run: AnalysisRun) -> None:
    """Write a method's own tables into the folder of the analysis' results."""
    folder, asked = run.folder, run.config.for_step("tables")
    with recorded("tables", run.record("tables")) as step:
        config, step.details["inputs"] = local_inputs(
            asked, run.local_inputs("tables"), run.checksums
        )
        merged = replace(
            read_merged(run, whole=False),
            network=read_table(folder / "network.parquet"),
            scores=read_arrays(folder / "scores.npz"),
        )
        opened = opened_network(run, config, "cpu")
        written = opened.tables(merged, read_table(folder / "items.parquet"), folder)
        step.count(**written.counts)
        step.log_messages(*written.messages)
        note_files(folder / name for name in config.result_tables())
