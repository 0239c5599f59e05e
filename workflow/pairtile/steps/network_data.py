"""Rule ``network_data``: what network and tables need and no score depends on.

A step of its own, so that a change of it neither prepares nor scores again.
"""

from __future__ import annotations

from pairtile.engine.estimator import estimator_of
from pairtile.engine.stages import NetworkData
from pairtile.io.input_files import local_inputs
from pairtile.runtime.files import read_table, write_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun


def network_data(run: AnalysisRun) -> None:
    """Write ``network_data.npz``: the arrays that the method's ``NetworkData`` gives, for an
    analysis that says ``needs_network_data``.

    Raises
    ------
    InputError, ConfigError
        As the step ``prepare`` for the same files.
    """
    config = run.config.for_step("network_data")
    with recorded("network_data", run.record("network_data")) as step:
        found, _ = local_inputs(config, run.local_inputs("prepare"), run.checksums)
        estimator = estimator_of(config.method, config)
        assert issubclass(estimator, NetworkData)
        arrays, counts = estimator.network_data(found, read_table(run.folder / "items.parquet"))
        step.count(**counts)
        write_arrays(run.folder / "network_data.npz", arrays)
