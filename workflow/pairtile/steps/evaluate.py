"""Step ``evaluate`` of rule ``network``: ranking and network against a gold standard."""

from __future__ import annotations

import pandas as pd

from pairtile.config.models import Analysis
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import MergedResults, estimator_of
from pairtile.engine.state import open_state
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.io.gold_standard import read_gold_standard, with_spelling_of
from pairtile.io.input_files import local_inputs
from pairtile.io.names import GeneNames
from pairtile.runtime.files import read_arrays, read_json, read_table, verified, write_json
from pairtile.runtime.record import recorded
from pairtile.statistics.evaluation import evaluate as evaluate_ranking
from pairtile.steps.analysis_run import AnalysisRun

message = messages_of(__package__)


def evaluate(run: AnalysisRun) -> None:
    """Write ``evaluation.json``: AUPR and AUROC by the DREAM5 rule, precision, recall, ...

    Raises
    ------
    InputError
        If the gold standard has nothing to say about these genes.
    """
    folder, asked = run.folder, run.config.for_step("evaluate")
    with recorded("evaluate", run.record("evaluate")) as step:
        local = run.local_inputs("evaluate")
        config, step.details["inputs"] = local_inputs(asked, local, run.checksums)
        # Nothing is computed here but scores of stored pairs: any machine will do.
        opened = estimator_of(config.method, config)(
            config, open_state(run.state), choose("cpu"), "float64"
        )
        scan = read_arrays(folder / "scan.npz") if read_json(run.plan)["scan"] else None
        merged = MergedResults(
            verified(folder / "pairs.parquet"),
            {},
            {},
            scan,
            scores=read_arrays(folder / "scores.npz"),
        )
        ranking = opened.ranking(merged)
        result, said = against_gold_standard(
            config,
            local["gold_standard"],
            read_table(folder / "items.parquet"),
            ranking.edges,
            directed=ranking.directed,
            network=read_table(folder / "network.parquet")[["source", "target"]],
        )
        write_json(folder / "evaluation.json", result)
        step.log_messages(*said)
        shown = ("aupr", "random_aupr", "aupr_undirected", "random_aupr_undirected", "auroc")
        step.log_messages(message("evaluated", **{key: result[key] for key in shown}))


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
    names = GeneNames.of_items(items, *ignored)
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
