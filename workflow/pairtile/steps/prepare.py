"""Rule ``prepare``: input files -> items and state."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from pairtile.engine.estimator import estimator_of
from pairtile.engine.state import scratch_beside, write_state
from pairtile.io.input_files import describe_inputs
from pairtile.io.names import check_characters
from pairtile.method import get_method
from pairtile.preprocess.items import formula_warnings
from pairtile.runtime.files import write_parquet
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun


def prepare(run: AnalysisRun) -> None:
    """Clean the input of one analysis.

    Raises
    ------
    InputError
        If an input cannot be read or used, or does not have its checksum.
    """
    config = run.config.for_step("prepare", with_names=True)
    inputs = run.local_inputs("prepare")
    with (
        recorded(
            "prepare",
            run.record("prepare"),
            # 30 MB a second of text are read, cleaned and tested on two cores.
            sum(os.path.getsize(path) for path in inputs.values() if os.path.exists(path)) / 30e6,
        ) as step,
        scratch_beside(run.state) as scratch,
        ThreadPoolExecutor(1) as pool,
    ):
        # Checksums are taken while the files are read as tables.
        described = pool.submit(describe_inputs, config, inputs, run.checksums)
        if run.checksums:
            described.result()  # nothing is used of a file that is not the one that is meant
        prepared = estimator_of(config.method, config).prepare(
            config.with_inputs(inputs), run.seed, scratch, run.is_check
        )
        items_kept = prepared.items.loc[prepared.items["kept"], "name"].tolist()
        step.count(**prepared.counts)
        check_characters(
            next((given["path"] for given in described.result().values()), ""), "name", items_kept
        )
        step.log_messages(*prepared.messages, *formula_warnings(items_kept))
        step.details |= {"parameters": prepared.parameters, "inputs": described.result()}
        write_state(run.state, prepared.state, scratch)
        write_parquet(
            run.folder / "items.parquet", prepared.items, get_method(config.method).package
        )
