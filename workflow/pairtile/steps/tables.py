"""Rules ``tables_METHOD``: the tables that a method has beside the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pairtile.config.models import Analysis
from pairtile.io.input_files import later_inputs, local_inputs
from pairtile.runtime.files import file_checksum, read_arrays, read_json, read_table, verified
from pairtile.runtime.record import recorded
from pairtile.runtime.threads import in_threads
from pairtile.steps.network import MergedFiles, NetworkFiles


def tables(
    config: Analysis,
    merged_files: MergedFiles,
    network_files: NetworkFiles,
    folder: Path,
    record: Path,
    inputs: Sequence[str] | None = None,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Write a method's own tables into ``folder``, the folder of the analysis' results.

    ``inputs``: where the input files of this step lie on this machine, in the order of the keys
    (None: where the configuration says). ``checksums``: configured path -> checksum.
    """
    with recorded("tables", record) as step:
        later = later_inputs(config, "tables", inputs)
        config, step.details["inputs"] = local_inputs(config, later, checksums)
        merged = replace(
            merged_files.read(),
            network=read_table(network_files.network),
            scores=read_arrays(network_files.scores),
        )
        opened = merged_files.open_estimator(config, "cpu")
        written = opened.tables(merged, read_table(merged_files.items), folder)
        step.count(**written.counts)
        step.say(*written.messages)
        names = config.result_tables()
        sums = in_threads(file_checksum, [folder / name for name in names])
        step.details["checksums"] = dict(zip(names, sums, strict=True))


def verified_table(path: Path, step: str = "tables") -> Path:
    """A file that the step wrote, or the stage of that name, known to hold what it wrote. Raises
    StoreError."""
    record = read_json(path.parent / "steps" / f"{step}.json")
    return verified(path, record["details"]["checksums"][path.name])
