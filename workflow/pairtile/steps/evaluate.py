"""Rule ``evaluate``: ranking and network against a gold standard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pairtile.config.models import Analysis
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import Merged, estimator_of
from pairtile.engine.state import open_state
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.io.gold_standard import read_gold_standard, with_spelling_of
from pairtile.io.input_files import local_inputs
from pairtile.io.names import GeneNames
from pairtile.runtime.files import read_arrays, read_table, verified, write_json
from pairtile.runtime.record import recorded
from pairtile.statistics.evaluation import evaluate as evaluate_ranking

message = messages_of(__package__)


class EvaluationInputs(NamedTuple):
    """The files that are read."""

    state: Path
    items: Path
    pairs: Path
    network: Path
    scores: Path
    """What the network step found on the way, for methods that need it again."""
    scan: Path | None = None
    """None where the analysis has no first pass."""
    gold_standard: Path | None = None
    """Where it lies on this machine; None: where the configuration says."""


def evaluate(
    config: Analysis,
    inputs: EvaluationInputs,
    out: Path,
    record: Path,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Write ``evaluation.json``: AUPR and AUROC by the DREAM5 rule, precision, recall, ...

    ``checksums``: configured path -> checksum.

    Raises
    ------
    InputError
        If the gold standard has nothing to say about these genes.
    """
    with recorded("evaluate", record) as step:
        local = str(inputs.gold_standard or config.gold_standard)
        config, step.details["inputs"] = local_inputs(config, {"gold_standard": local}, checksums)
        # Nothing is computed here but scores of stored pairs: any machine will do.
        opened = estimator_of(config.method)(
            config, open_state(inputs.state), choose("cpu"), "float64"
        )
        merged = Merged(
            verified(inputs.pairs),
            {},
            {},
            None if inputs.scan is None else read_arrays(inputs.scan),
            scores=read_arrays(inputs.scores),
        )
        ranking = opened.ranking(merged)
        result, said = against_gold_standard(
            config,
            local,
            read_table(inputs.items),
            ranking.edges,
            directed=ranking.directed,
            network=read_table(inputs.network)[["source", "target"]],
        )
        write_json(out, result)
        step.say(*said)
        shown = ("aupr", "random_aupr", "aupr_undirected", "random_aupr_undirected", "auroc")
        step.say(message("evaluated", **{key: result[key] for key in shown}))


def against_gold_standard(
    config: Analysis,
    path: str,
    items: pd.DataFrame,
    edges: pd.DataFrame,
    directed: bool = True,
    network: pd.DataFrame | None = None,
) -> tuple[dict[str, object], list[Message]]:
    """Edges with their score (source, target: item numbers; score) against the gold standard in a
    file: what ``statistics.evaluation.evaluate`` gives, and what to say of names. Raises
    InputError as ``evaluate``."""
    kept = items[items["kept"]]
    ignored = (getattr(config, key, False) for key in ("ignore_case", "ignore_versions"))
    names = GeneNames.of(items, *ignored)
    gold, said = with_spelling_of(read_gold_standard(path), names)
    regulators = kept.loc[kept["is_regulator"], "name"].tolist() or None
    try:
        result = evaluate_ranking(
            edges,
            gold,
            genes=names.names,
            regulators=regulators,
            directed=directed,
            network=network,
        )
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return result, said
