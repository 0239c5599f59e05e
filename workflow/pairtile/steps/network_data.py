"""Rule ``network_data``: what network and tables need and no score depends on.

A step of its own, so that a change of it neither prepares nor scores again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pairtile.config.models import Analysis
from pairtile.engine.estimator import estimator_of
from pairtile.engine.stages import NetworkData
from pairtile.io.input_files import local_inputs
from pairtile.runtime.files import read_table, write_arrays
from pairtile.runtime.record import recorded


def network_data(
    config: Analysis,
    items: Path,
    inputs: Mapping[str, str],
    out: Path,
    record: Path,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Write ``network_data.npz``: the arrays that the method's ``NetworkData`` gives.

    Parameters
    ----------
    config
        The analysis; one that says ``needs_network_data``.
    items
        What the step ``prepare`` made of the same analysis.
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
    with recorded("network_data", record) as step:
        found, _ = local_inputs(config, inputs, checksums)
        estimator = estimator_of(config.method)
        assert issubclass(estimator, NetworkData)
        arrays, counts = estimator.network_data(found, read_table(items))
        step.count(**counts)
        write_arrays(out, arrays)
