"""Rule ``contacts``: which items touch, for the steps that make a network of those alone.

A step of its own because no score depends on it: another ``contacts`` prepares and scores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pairtile.estimators import estimator
from pairtile.estimators.base import Section
from pairtile.files import write_arrays
from pairtile.input_files import local_inputs
from pairtile.network.residue_network import pairs_in_contact
from pairtile.record import recorded


def contacts(
    section: Section,
    items: Path,
    inputs: Mapping[str, str],
    out: Path,
    record: Path,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Write ``contacts.npz``: the arrays that ``Estimator.contacts`` gives.

    Parameters
    ----------
    section
        The analysis' section of the configuration, every default filled in; with ``contacts``.
    items
        What the step ``prepare`` made of the same section.
    inputs
        Configuration key -> path of each input file on this machine.
    out, record
        Where to write the arrays and the step's record.
    checksums
        Configured path -> checksum, of files that must be the ones that are meant.

    Raises
    ------
    InputError, ConfigError
        As the step ``prepare`` for the same files.
    """
    with recorded("contacts", record) as step:
        found, _ = local_inputs(section, inputs, checksums)
        arrays = estimator(section["method"]).contacts(found, pd.read_parquet(items))
        touching, _ = pairs_in_contact(arrays, section["contacts"]["fraction"])
        step.count(contacts=touching.size)
        write_arrays(out, arrays)
