"""Rule ``prepare``: input files -> items and state."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pairtile.config.models import Analysis
from pairtile.engine.estimator import estimator_of
from pairtile.engine.state import scratch_beside, write_state
from pairtile.io.input_files import describe_inputs
from pairtile.method import get_method
from pairtile.preprocess.items import check_item_names
from pairtile.runtime.files import write_parquet
from pairtile.runtime.record import recorded


def prepare(
    config: Analysis,
    seed: int,
    inputs: dict[str, str],
    items: Path,
    state: Path,
    record: Path,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Clean the input of one analysis.

    Parameters
    ----------
    config
        The analysis' section of the configuration, every default filled in.
    seed
        Of the run, for methods that draw their null here.
    inputs
        Configuration key -> path of each input file on this machine.
    items, state, record
        Where to write ``items.parquet``, the state's folder and the step's record.
    checksums
        Configured path -> checksum, of files that must be the ones that are meant.

    Raises
    ------
    InputError
        If an input cannot be read or used, or does not have its checksum.
    """
    with (
        recorded("prepare", record) as step,
        scratch_beside(state) as scratch,
        ThreadPoolExecutor(1) as pool,
    ):
        # Checksums are taken while the files are read as tables.
        described = pool.submit(describe_inputs, config, inputs, checksums)
        if checksums:
            described.result()  # nothing is used of a file that is not the one that is meant
        found = config.with_inputs(inputs)
        prepared = estimator_of(config.method).prepare(found, seed, scratch)
        items_kept = prepared.items.loc[prepared.items["kept"], "name"].tolist()
        first = next((given["path"] for given in described.result().values()), "")
        step.count(**prepared.counts)
        step.say(*prepared.messages, *check_item_names(first, items_kept))
        step.details["parameters"] = prepared.parameters
        step.details["inputs"] = described.result()
        write_parquet(items, prepared.items, get_method(config.method).package)
        write_state(state, prepared.state, scratch)
