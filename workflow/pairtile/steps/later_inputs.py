"""What only later steps read, looked at before anything is scored."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pandas as pd

from pairtile.config.models import Analysis
from pairtile.engine.estimator import estimator_of
from pairtile.engine.state import open_state
from pairtile.io.symbols import with_symbols
from pairtile.runtime.files import read_table
from pairtile.steps.evaluate import against_gold_standard

log = logging.getLogger(__name__)


def check_later_inputs(config: Analysis, state: Path, items: Path) -> None:
    """Read what only later steps need: gold standard and symbols of any method, and its own.

    Files that are not on this machine yet are left to the steps that have them fetched.

    Parameters
    ----------
    config
        What ``Analysis.inputs_to_check`` gives.
    items, state
        What the step ``prepare`` made.

    Raises
    ------
    InputError, ConfigError
        As the step would that uses them.
    """
    elsewhere = [path for path in config.later_inputs().values() if not os.path.exists(path)]
    if elsewhere:
        log.info("not looked into before scoring, as not here yet: %s", ", ".join(elsewhere))
        return
    table = read_table(items)
    with_symbols(table, getattr(config, "names", None))
    gold_standard = getattr(config, "gold_standard", None)
    if gold_standard is not None:
        unranked = pd.DataFrame({"source": [], "target": [], "score": []})
        against_gold_standard(config, gold_standard, table, unranked)
    estimator = estimator_of(config.method)
    estimator.check_later_inputs(config, open_state(state), table)
