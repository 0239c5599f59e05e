"""Genes appended to a table: mixtures of all pairs, and of the new ones with ``reuse``.

    python -m benchmarks.bench_added_genes [GENES NEW SAMPLES]

From the table to the merged pairs, which are the same bytes. Writes
``results/added_genes.DEVICE.json``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pairtile.gpu.device import choose
from pairtile.runtime.files import read_json

from benchmarks.bench_scaling import ROOT
from benchmarks.bench_workflow import expression, write_table
from benchmarks.machine import write

sys.path.append(str(ROOT / "tests/support"))
from workflow_runs import Analysis

GENES, NEW, SAMPLES = 6144, 256, 188


def main() -> None:
    """Write them."""
    genes, new, samples = [int(n) for n in sys.argv[1:]] or (GENES, NEW, SAMPLES)
    Analysis.backend = choose("auto").backend
    results: dict[str, Any] = {"genes": genes, "new_genes": new, "samples": samples}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values = expression(genes + new, samples)
        as_it_is = {"log2": False, "normalize": "none", "sample_scale": False}
        section = {"method": "multimodal_correlation", "preprocess": as_it_is}
        section |= {"expression": "table.tsv", "estimator": {"max_clusters": 3}}
        for run, number, reuse in (
            ("warm", 300, None),
            ("before", genes, None),
            ("all", genes + new, None),
            ("with_reuse", genes + new, str(folder / "results/before")),
        ):
            write_table(folder / "table.tsv", values[:number])
            begin = time.perf_counter()
            made = Analysis(folder, section | {"reuse": reuse}, name=run).pairs()
            seconds = time.perf_counter() - begin
            records = read_json(made.record("merge"))["details"]["chunks"].values()
            results[run] = {
                "seconds": seconds,
                "tiles": len(made.plan.tiles),
                "tiles_taken": sum(record.get("tiles_taken", 0) for record in records),
                "chunk_seconds": sum(record["seconds"] for record in records),
            }
            print(run, results[run], flush=True)
        of = [
            (folder / f"results/{run}/pairs.parquet").read_bytes() for run in ("all", "with_reuse")
        ]
        assert of[0] == of[1]
        results["bytes"] = len(of[0])
    print(results, write("added_genes", "auto", results))


if __name__ == "__main__":
    main()
