"""Steps of rule ``network``: the stages that follow it (``pairtile.config.downstream``)."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from pairtile.config.downstream import PACKAGE, STAGES
from pairtile.config.preprocess import TableAnalysis
from pairtile.downstream.given import Given
from pairtile.engine.estimator import TableSummary
from pairtile.engine.state import open_state
from pairtile.gpu.device import choose
from pairtile.io.input_files import local_inputs
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.runtime.files import read_json, read_table
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.plan import read_plan


def downstream(run: AnalysisRun, name: str) -> None:
    """Run the stage of a name; its tables come into the folder of the network."""
    stage = next(stage for stage in STAGES if stage.name == name)
    asked, folder = run.config.for_step(name), run.folder
    assert isinstance(asked, TableAnalysis)
    with recorded(name, run.record(name)) as step:
        config, step.details["inputs"] = local_inputs(asked, run.local_inputs(name), run.checksums)
        planned, known = read_plan(run.plan), open_state(folder / "values")
        made = read_json(run.record("network"))["details"]
        given = Given(
            config=config,
            values=known["values"],
            genes=known["genes"].tolist(),
            samples=known["samples"].tolist(),
            annotations=dict(zip(known["columns"].tolist(), known["cells"].tolist(), strict=True)),
            known=cast(SampleArrays, known),
            items=read_table(folder / "items.parquet"),
            network=read_table(folder / "network.parquet"),
            folder=folder,
            seed=planned.seed,
            device=choose(planned.backend if stage.gpu else "cpu"),
            directed=bool(made["directed"]),
            **made["ranked_by"],
        )
        written: TableSummary = import_module(f"{PACKAGE}.{name}").run(given)
        step.device = given.device.name
        step.peak_gpu_memory_bytes = given.device.peak_bytes()
        step.count(**written.counts)
        step.log_messages(*written.messages)
