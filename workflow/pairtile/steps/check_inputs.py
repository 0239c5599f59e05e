"""Rule ``check_inputs``: what only later steps read, looked at before anything is scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pairtile.config.models import Analysis
from pairtile.engine.state import open_state
from pairtile.errors import InputError
from pairtile.io.gold_standard import read_gold_standard
from pairtile.io.input_files import local_inputs
from pairtile.method import get_method
from pairtile.runtime.record import recorded
from pairtile.statistics.evaluation import evaluate


def check_inputs(
    config: Analysis,
    items: Path,
    state: Path,
    inputs: Mapping[str, str],
    record: Path,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Read the gold standard, annotations and names that later steps use, and write a record.

    Parameters
    ----------
    config
        What ``Analysis.inputs_to_check`` gives.
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
        found, _ = local_inputs(config, inputs, checksums)
        check_later_inputs(found, state, items)


def check_later_inputs(config: Analysis, state: Path, items: Path) -> None:
    """Read what only later steps need: the gold standard of any method, and its own."""
    table = pd.read_parquet(items)
    gold_standard = getattr(config, "gold_standard", None)
    if gold_standard is not None:
        _check_gold_standard(gold_standard, table)
    estimator = get_method(config.method).estimator_class
    estimator.check_later_inputs(config, open_state(state), table)


def _check_gold_standard(path: str, items: pd.DataFrame) -> None:
    gold = read_gold_standard(path)
    kept = items[items["kept"]]
    regulators = kept.loc[kept["is_regulator"], "name"].tolist() or None
    unranked = pd.DataFrame({"source": [], "target": [], "score": []})
    try:
        evaluate(unranked, gold, genes=kept["name"].tolist(), regulators=regulators)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
