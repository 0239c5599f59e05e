"""Rule ``evaluate``: ranking and network against a gold standard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from pairtile.estimators.base import Section
from pairtile.files import read_arrays, write_json
from pairtile.inputs.gold_standard import read_gold_standard
from pairtile.network.build import Pairs, directed_edges
from pairtile.network.evaluation import evaluate as evaluate_ranking
from pairtile.network.moments import ExactMoments
from pairtile.record import describe_inputs, recorded
from pairtile.state import open_state
from pairtile.steps.network import regulator_flags


def evaluate(
    section: Section,
    state: Path,
    items: Path,
    pairs: Path,
    scan: Path | None,
    network: Path,
    out: Path,
    record: Path,
) -> None:
    """Write ``evaluation.json``: AUPR and AUROC by the DREAM5 rule, precision, recall, ..."""
    with recorded("evaluate", record) as step:
        table = pd.read_parquet(items)
        table = table[table["kept"]]
        arrays = open_state(state)
        is_regulator = regulator_flags(arrays)
        moments = None if scan is None else ExactMoments.from_summaries(read_arrays(scan))
        score = section["score"]
        found = Pairs.from_frame(pq.read_table(pairs).to_pandas())
        ranking = directed_edges(found, score, moments, is_regulator)
        column = "mi_bits" if score == "mi" else score
        names = table["name"].to_numpy()
        ranked = pd.DataFrame(
            {
                "source": names[ranking["source"].to_numpy()],
                "target": names[ranking["target"].to_numpy()],
                "score": ranking[column].to_numpy(dtype=np.float64),
            }
        )
        gold = read_gold_standard(section["gold_standard"])
        step.details["inputs"] = describe_inputs({"gold_standard": section["gold_standard"]})
        regulators = list(names if is_regulator is None else names[is_regulator])
        edges = pd.read_parquet(network, columns=["source", "target"])
        result = evaluate_ranking(
            ranked,
            gold,
            genes=list(names),
            regulators=regulators,
            directed=score != "mi" and not (score == "clr" and is_regulator is None),
            network=edges,
        )
        write_json(out, result)
        step.note(
            f"AUPR {result['aupr']:.3f} (random {result['random_aupr']:.3f}), "
            f"AUROC {result['auroc']:.3f}"
        )
