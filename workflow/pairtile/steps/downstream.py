"""The rules of the stages that follow a network (``pairtile.config.downstream``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from pairtile.config.downstream import PACKAGE, STAGES
from pairtile.config.preprocess import TableAnalysis
from pairtile.downstream.given import Given
from pairtile.engine.estimator import Written
from pairtile.engine.state import open_state
from pairtile.gpu.device import choose
from pairtile.io.input_files import later_inputs, local_inputs
from pairtile.preprocess.sample_arrays import SampleArrays
from pairtile.runtime.files import file_checksum, read_json, read_table
from pairtile.runtime.record import recorded
from pairtile.steps.plan import read_plan


def downstream(
    name: str,
    config: TableAnalysis,
    plan: Path,
    values: Path,
    items: Path,
    network: Path,
    network_record: Path,
    record: Path,
    inputs: Sequence[str] | None = None,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Run the stage of a name; its tables come into the folder of the network.

    ``inputs``: where the input files of this stage lie on this machine, in the order of the keys
    (None: where the configuration says). ``checksums``: configured path -> checksum.
    """
    stage = next(stage for stage in STAGES if stage.name == name)
    with recorded(name, record) as step:
        later = later_inputs(config, name, inputs)
        config, step.details["inputs"] = local_inputs(config, later, checksums)
        planned, known = read_plan(plan), open_state(values)
        made = read_json(network_record)["details"]
        score = made["threshold"].get("score")  # the column, or in some methods a limit
        given = Given(
            config=config,
            values=known["values"],
            genes=known["genes"].tolist(),
            samples=known["samples"].tolist(),
            annotations=dict(zip(known["columns"].tolist(), known["cells"].tolist(), strict=True)),
            known=cast(SampleArrays, known),
            items=read_table(items),
            network=read_table(network),
            folder=network.parent,
            seed=planned.seed,
            device=choose(planned.backend if stage.gpu else "cpu"),
            directed=bool(made["directed"]),
            score=score if isinstance(score, str) else None,
        )
        written: Written = import_module(f"{PACKAGE}.{name}").run(given)
        step.device = given.device.name
        step.peak_gpu_memory_bytes = given.device.peak_bytes()
        step.count(**written.counts)
        step.say(*written.messages)
        step.details["checksums"] = {
            table: file_checksum(given.folder / table) for table in stage.tables
        }
