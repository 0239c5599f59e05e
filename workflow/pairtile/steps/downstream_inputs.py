"""What only later steps read, looked at before anything is scored."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pandas as pd

from pairtile.config.downstream import PACKAGE, Stage, stages_of
from pairtile.config.models import Analysis
from pairtile.engine.chunk_file import Arrays
from pairtile.engine.estimator import estimator_of
from pairtile.errors import InputError
from pairtile.runtime.record import log
from pairtile.steps.evaluate import against_gold_standard


def validate_inputs(config: Analysis, state: Arrays, items: pd.DataFrame) -> None:
    """Refuse what a later step would: the gold standard of any method, and what the method
    itself (``Estimator.validate``) and the stages after the network look at.

    Files that are not on this machine yet are left to the steps that have them fetched.

    Raises
    ------
    InputError, ConfigError
        As the step would that uses them.
    """
    later = config.downstream_inputs()
    elsewhere = {key: path for key, path in later.items() if not os.path.exists(path)}
    if elsewhere:
        paths = ", ".join(elsewhere.values())
        log.info("not looked into before scoring, as not here yet: %s", paths)
        config = config.model_copy(update=dict.fromkeys(elsewhere))
    reuse = getattr(config, "reuse", None)
    if reuse is not None and not any(Path(reuse, "chunks").glob("tiles-*.parquet")):
        expected = "the results folder of an analysis, with chunk files in its folder chunks"
        raise InputError.at(reuse, "", "no chunk file", expected)
    gold_standard = getattr(config, "gold_standard", None)
    if gold_standard is not None:
        unranked = pd.DataFrame({"source": [], "target": [], "score": []})
        against_gold_standard(config, gold_standard, items, unranked)
    estimator_of(config.method, config).validate(config, state, items)
    for stage in stages_of(config):
        validate = getattr(import_module(f"{PACKAGE}.{stage.name}"), "validate", None)
        if validate is not None:
            validate(config, items)


def stage_seconds(stage: Stage, config: Analysis, genes: int, threads: int) -> float:
    """What a stage takes, by its ``seconds`` where it has to compute much."""
    seconds = getattr(import_module(f"{PACKAGE}.{stage.name}"), "seconds", None)
    # Half a second for the start of its job and its files.
    return 0.5 + (seconds(config, genes, threads) if seconds else 0.0)
