"""Step ``values`` of rule ``network``: prepared expression and annotations, for what follows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from numpy.typing import NDArray

from pairtile.config.preprocess import TableAnalysis
from pairtile.downstream.differential import large_groups
from pairtile.downstream.given import conditions_of, prepare_values
from pairtile.engine.state import scratch_beside, write_state
from pairtile.runtime.files import read_table
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun


def values(run: AnalysisRun) -> None:
    """Write the arrays of ``ValueArrays`` into the folder ``values``."""
    config = run.config.for_step("values")
    assert isinstance(config, TableAnalysis)
    out = run.folder / "values"
    with recorded("values", run.record("values")), scratch_beside(out) as scratch:
        kept = read_table(run.folder / "items.parquet").query("kept")["name"].tolist()
        arrays = prepare_values(config.with_inputs(run.local_inputs("prepare")), kept, scratch)
        if not config.obs:  # refused here, before anything long is done; left out of a group
            cells = dict(zip(arrays["columns"].tolist(), arrays["cells"].tolist(), strict=True))
            conditions_of(arrays["samples"].tolist(), cells, config.traits, of_group=False)
            if config.differential is not None:
                large_groups(cells[config.differential.label], config.differential.label)
        write_state(out, cast("Mapping[str, NDArray[Any]]", arrays), scratch)
