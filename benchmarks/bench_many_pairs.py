"""Memory and time of a network of very many stored pairs, on the CPU.

    python -m benchmarks.bench_many_pairs [1e7 1e8]

writes ``results/many_pairs.DEVICE.json``: for each number of pairs the step from ``pairs.parquet``
to edges, in a process of its own. All pairs of as many genes as it takes have a random score, most
of them beyond what the null resolves, so that all p-values differ. ``all``: every pair is kept, and
DPI works on all. ``clr``: of the pairs with q <= 0.01 the best two for each gene. The other cases,
which a test measures, keep all without DPI: ``every_pair`` by ``clr``, ``both_ways`` by
``target_z``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pairtile.api.settings import analysis_config
from pairtile.engine.estimator import MergedResults
from pairtile.engine.merging import MERGED_ROW_GROUP
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information import network
from pairtile.methods.mutual_information.config import (
    AUTO_FDR,
    EDGES_PER_GENE,
    MutualInformationConfig,
)
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.null import Null
from pairtile.methods.mutual_information.score import MutualInformation
from pairtile.runtime.host_memory import peak_host_bytes

from benchmarks.machine import MEASURED_MI, write

SAMPLES, DRAWS = 1_000, 1_000_000

CASES: dict[str, dict[str, Any]] = {
    "all": {"score": "clr", "keep": "all", "dpi": {"tolerance": 0.1}},
    "clr": {"score": "clr", "keep": "auto", "dpi": {"tolerance": 0.1}},
    "every_pair": {"score": "clr", "keep": "all", "dpi": False},
    "both_ways": {"score": "target_z", "keep": "all", "dpi": False},
}

COLUMNS = {"i": pa.int32(), "j": pa.int32(), "mi_bits": pa.float64(), "n_samples": pa.int32()}


def write_pairs(path: Path, genes: int) -> None:
    """All pairs of the genes with random scores, as the merge leaves them."""
    random = np.random.default_rng(1)
    schema = pa.schema(list(COLUMNS.items()))
    rows = max(1, MERGED_ROW_GROUP // genes)
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, genes, rows):
            last = min(first + rows, genes)
            i = np.repeat(np.arange(first, last), genes - 1 - np.arange(first, last))
            j = np.concatenate([np.arange(k + 1, genes) for k in range(first, last)])
            bits = random.gamma(2.0, 0.2, i.size)
            columns = [i.astype(np.int32), j.astype(np.int32), bits]
            writer.write_table(
                pa.table([*columns, np.full(i.size, SAMPLES, np.int32)], schema=schema)
            )


def measure(path: Path, genes: int, case: str) -> dict[str, Any]:
    """The network of the pairs, in this process."""
    n_pairs = genes * (genes - 1) // 2
    config = analysis_config(
        MutualInformationConfig, expression="e.tsv", **MEASURED_MI | CASES[case]
    )
    if case == "clr":
        keep = KeepGenePairs(fdr=AUTO_FDR, top_edges=EDGES_PER_GENE * genes)
        config = config.model_copy(update={"keep": keep})
    draws = np.sort(np.random.default_rng(2).gamma(3.0, 0.02, DRAWS) * SAMPLES)
    null = Null([draws.astype(np.float32)], np.zeros(genes, dtype=np.int8))
    of_gamma = np.full(genes, 0.4), np.full(genes, 0.28)  # of gamma(2, 0.2)
    ranked = network.PairScores(genes, config.ranked_by, None, lambda role: of_gamma)
    analysis: Any = SimpleNamespace(
        config=config,
        state={"z": np.broadcast_to(0.0, (genes, SAMPLES)), "shared_components": np.array(0)},
        device=choose("cpu"),
        null_of=Null.from_arrays,
        pair_scores=lambda scan: ranked,
        _resampling=None,
    )
    merged = MergedResults(path, {"pairs_scored": np.array([n_pairs])}, null.arrays())
    start, cpu = time.perf_counter(), time.process_time()
    found = MutualInformation._network_of_pairs(analysis, merged)
    return {
        "genes": genes,
        "pairs": n_pairs,
        "edges": len(found.edges),
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": peak_host_bytes(),
    }


def run(numbers: list[float]) -> dict[str, Any]:
    """Each number of pairs and case in a process of its own; and what one more pair takes."""
    results: dict[str, Any] = {"all": [], "clr": []}
    for number in sorted(numbers):
        genes = round((2 * number) ** 0.5)
        with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as folder:
            path = Path(folder) / "pairs.parquet"
            write_pairs(path, genes)
            for case, rows in results.items():
                command = [sys.executable, "-m", __spec__.name, "--measure", path, str(genes), case]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                rows.append(json.loads(done.stdout))
                print(case, rows[-1], flush=True)
    if len(numbers) > 1:
        for case in ("all", "clr"):
            less, more = results[case][-2:]
            grown = more["peak_bytes"] - less["peak_bytes"]
            results[f"bytes_a_pair_{case}"] = grown / (more["pairs"] - less["pairs"])
    return results


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
    else:
        print(write("many_pairs", "cpu", run([float(n) for n in sys.argv[1:]] or [1e7, 1e8])))
