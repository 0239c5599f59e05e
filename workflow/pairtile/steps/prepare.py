"""Rule ``prepare``: input files -> items and state."""

from __future__ import annotations

from pathlib import Path

from pairtile.estimators import estimator
from pairtile.estimators.base import Section
from pairtile.files import atomic_path
from pairtile.record import describe_inputs, recorded
from pairtile.state import write_state


def prepare(
    section: Section,
    seed: int,
    inputs: dict[str, str],
    items: Path,
    state: Path,
    record: Path,
) -> None:
    """Clean the input of one analysis.

    Parameters
    ----------
    section
        The analysis' section of the configuration, every default filled in.
    seed
        Of the run, for methods that draw their null here.
    inputs
        Configuration key -> path of each input file, for their checksums.
    items, state, record
        Where to write ``items.parquet``, the state's folder and the step's record.

    Raises
    ------
    InputError
        If an input cannot be read or used.
    """
    with recorded("prepare", record) as step:
        prepared = estimator(section["method"]).prepare(section, seed)
        step.count(**prepared.counts)
        for note in prepared.notes:
            step.note(note)
        for warning in prepared.warnings:
            step.warn(warning)
        step.details["parameters"] = prepared.parameters
        step.details["inputs"] = describe_inputs(inputs)
        with atomic_path(items) as temporary:
            prepared.items.to_parquet(temporary, index=False)
        write_state(state, prepared.state)
