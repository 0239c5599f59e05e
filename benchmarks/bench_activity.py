"""Speed of regulators' activities in sparse cells, beside decoupler on the same cells in one run.

    PYTHONPATH=workflow python -m benchmarks.bench_activity

Writes ``benchmarks/results/activity.<machine>.json``. 5 % of the values are above 0; 300 regulators
of 100 targets each. decoupler's ``viper`` is timed without its correction of shared targets, which
pairtile does not have.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import anndata
import decoupler
import numpy as np
import pandas as pd
from pairtile import activity
from scipy import sparse

from benchmarks.machine import write

GENES, REGULATORS, TARGETS, FILLED = 8000, 300, 100, 0.05
CELLS = {"ulm": 20_000, "viper": 2000}


def cells(draw: np.random.Generator, number: int) -> anndata.AnnData:
    per_cell = int(GENES * FILLED)
    starts = np.arange(number + 1, dtype=np.int64) * per_cell
    genes = np.concatenate([np.sort(draw.permutation(GENES)[:per_cell]) for _ in range(number)])
    values = draw.gamma(2.0, 0.5, genes.size)
    found = anndata.AnnData(sparse.csr_matrix((values, genes, starts), shape=(number, GENES)))
    found.var_names = [f"g{k}" for k in range(GENES)]
    return found


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    made = work()
    return time.perf_counter() - begin, made


def run() -> dict[str, Any]:
    draw = np.random.default_rng(1)
    targets = np.concatenate([draw.permutation(GENES)[:TARGETS] for _ in range(REGULATORS)])
    network = pd.DataFrame(
        {
            "source": np.repeat([f"r{k}" for k in range(REGULATORS)], TARGETS),
            "target": [f"g{k}" for k in targets],
            "weight": draw.uniform(-1, 1, targets.size),
        }
    )
    result: dict[str, Any] = {"benchmark": "activity", "decoupler": decoupler.__version__}
    result |= {"genes": GENES, "regulators": REGULATORS, "targets": TARGETS, "cases": {}}
    for method, number in CELLS.items():
        some = cells(draw, number)
        options = {} if method == "ulm" else {"pleiotropy": False}
        score = getattr(decoupler.mt, method)
        activity(some[:100].copy(), network, method=method, scale=False)  # compile
        ours, mine = seconds(lambda: activity(some, network, method=method, scale=False))  # noqa: B023
        theirs, _ = seconds(lambda: score(some, network, tmin=0, bsize=5000, **options))  # noqa: B023
        difference = some.obsm[f"score_{method}"][mine.index].to_numpy().T - mine.to_numpy()
        result["cases"][method] = {
            "cells": number,
            "seconds": ours,
            "decoupler_seconds": theirs,
            "times_faster": theirs / ours,
            "largest_difference": float(np.abs(difference).max()),
        }
    many = cells(draw, 100_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken, _ = seconds(lambda: activity(many, network))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result["cells_100000"] = {
        "seconds": taken,
        "bytes_of_values": int(many.X.data.nbytes + many.X.indices.nbytes),
        "bytes_if_dense": 100_000 * GENES * 8,
        "peak_added_bytes": 1024 * (after - before),
    }
    return result


if __name__ == "__main__":
    print(write("activity", "cpu", run()))
