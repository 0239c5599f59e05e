"""Rule ``evaluate``: ranking and network against a gold standard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pairtile.config.models import Analysis
from pairtile.engine.estimator import Merged
from pairtile.engine.state import open_state
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.io.gold_standard import read_gold_standard
from pairtile.io.input_files import local_inputs
from pairtile.method import get_method
from pairtile.runtime.files import read_arrays, write_json
from pairtile.runtime.record import recorded
from pairtile.statistics.evaluation import evaluate as evaluate_ranking


def evaluate(
    config: Analysis,
    state: Path,
    items: Path,
    pairs: Path,
    scan: Path | None,
    network: Path,
    out: Path,
    record: Path,
    gold_standard: Path | None = None,
    scores: Path | None = None,
    checksums: Mapping[str, str] | None = None,
) -> None:
    """Write ``evaluation.json``: AUPR and AUROC by the DREAM5 rule, precision, recall, ...

    ``gold_standard``: where it lies on this machine (None: where the configuration says).
    ``scores``: what the network step found out on the way, for methods that need it again.
    ``checksums``: configured path -> checksum.

    Raises
    ------
    InputError
        If the gold standard has nothing to say about these genes.
    """
    with recorded("evaluate", record) as step:
        local = str(gold_standard or config.gold_standard)
        config, step.details["inputs"] = local_inputs(config, {"gold_standard": local}, checksums)
        # Nothing is computed here but scores of stored pairs: any machine will do.
        opened = get_method(config.method).estimator_class(
            config, open_state(state), choose("cpu"), "float64"
        )
        merged = Merged(
            pairs,
            {},
            {},
            None if scan is None else read_arrays(scan),
            scores={} if scores is None else read_arrays(scores),
        )
        ranking = opened.ranking(merged)
        table = pd.read_parquet(items)
        table = table[table["kept"]]
        names = table["name"].tolist()
        regulators = table.loc[table["is_regulator"], "name"].tolist() or None
        gold = read_gold_standard(local)
        try:
            result = evaluate_ranking(
                ranking.edges,
                gold,
                genes=names,
                regulators=regulators,
                directed=ranking.directed,
                network=pd.read_parquet(network, columns=["source", "target"]),
            )
        except ValueError as error:
            raise InputError(f"{local}: {error}") from error
        write_json(out, result)
        step.note(
            f"AUPR {result['aupr']:.3f} (random {result['random_aupr']:.3f}), "
            f"AUROC {result['auroc']:.3f}."
        )
