"""Rule ``check_inputs``: what only later steps read, looked at before anything is scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pairtile.estimators import estimator
from pairtile.estimators.base import Section
from pairtile.input_files import local_inputs
from pairtile.record import recorded
from pairtile.state import open_state


def check_inputs(
    section: Section,
    items: Path,
    state: Path,
    inputs: Mapping[str, str],
    record: Path,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Read the gold standard, annotations and names that later steps use, and write a record.

    Parameters
    ----------
    section
        What ``Analysis.to_check`` gives.
    items, state
        What the step ``prepare`` made.
    inputs
        Configuration key -> path of each file on this machine.
    record
        Where to write the step's record.
    checksums
        Configured path -> checksum, of files that must be the ones that are meant.

    Raises
    ------
    InputError, ConfigError
        As the step would that uses them.
    """
    with recorded("check_inputs", record):
        found, _ = local_inputs(section, inputs, checksums)
        method = estimator(section["method"])
        method.check_later_inputs(found, open_state(state), pd.read_parquet(items))
