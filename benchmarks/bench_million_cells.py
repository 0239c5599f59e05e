"""Counts of many cells in a sparse ``.h5ad`` to a network with regulators, step by step.

    python -m benchmarks.bench_million_cells FOLDER [GENES CELLS ENTRIES REGULATORS]

The file is written cell block by cell block: ENTRIES counts in each cell on average, more in
some cells and genes, and targets that follow regulators. Each step is a process of its own, as in a
run; its seconds and its peak memory are those of the system (mapped pages that are in use among
them). Writes ``results/million_cells.DEVICE.json``. FOLDER needs room for file and state.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import count, repeat
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pairtile.gpu.device import choose

from benchmarks.machine import write

GENES, CELLS, ENTRIES, REGULATORS = 20_000, 1_000_000, 1000, 1500
BLOCK = 500
"""Cells that are written together."""

STEP = """
import json, sys, time, resource
from pathlib import Path
from pairtile.config.load import load_config
from pairtile.steps.analysis_run import AnalysisRun, Step, steps_of
step, content, out = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
given = load_config(content)
run = AnalysisRun("cells", given.analyses["cells"], out, 1, given.backend)
start = time.perf_counter()
if step in ("scan", "chunks"):
    for one in steps_of(run):
        if one.name == "network":  # what follows is known once it is there
            break
        if one.arguments[:1] == (step,):
            run.run(one)
else:
    run.run(Step(step))
print(json.dumps({"seconds": round(time.perf_counter() - start, 2),
                  "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


class Rates(NamedTuple):
    """What counts are drawn from: rates of genes, and which regulator each follows how strongly."""

    rates: NDArray[np.float32]
    follows: NDArray[np.int64]
    strength: NDArray[np.float32]
    regulators: int


def drawn_cells(
    given: Rates, number: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
    """Counts of some cells: values, genes, entries of each cell."""
    random = np.random.default_rng([1, seed])
    activity = random.standard_normal((number, given.regulators), dtype=np.float32)
    log = activity[:, given.follows] * given.strength
    log[:, : given.regulators] = 0.7 * activity
    rate = np.exp(log, out=log)
    rate *= random.lognormal(0.0, 0.4, (number, 1)).astype(np.float32) * given.rates
    above = random.random(rate.shape, dtype=np.float32) > np.exp(-rate)  # most counts are 0
    genes = np.nonzero(above)[1].astype(np.int32)
    counts = 1.0 + random.poisson(np.maximum(rate[above] - 0.5, 0.0)).astype(np.float32)
    return counts, genes, above.sum(axis=1)


def write_cells(path: Path, genes: int, cells: int, entries: int, regulators: int) -> int:
    """Counts as CSR of cells x genes; how many entries."""
    random = np.random.default_rng(1)
    share = random.lognormal(0.0, 1.5, genes)
    share[::-1].sort()  # regulators first: counted often enough to be followed
    strength = np.where(random.random(genes) < 0.3, 0.7, 0.0).astype(np.float32)
    rates = (share / share.sum() * 1.6 * entries).astype(np.float32)
    given = Rates(rates, random.integers(0, regulators, genes), strength, regulators)
    sizes = [min(BLOCK, cells - begin) for begin in range(0, cells, BLOCK)]
    of_cell = []
    with h5py.File(path, "w") as file, ProcessPoolExecutor() as pool:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = np.array([cells, genes])
        stored = [
            group.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(1 << 20,))
            for name, kind in (("data", np.float32), ("indices", np.int32))
        ]
        total = 0
        for *parts, numbers in pool.map(drawn_cells, repeat(given), sizes, count(), chunksize=4):
            for dataset, values in zip(stored, parts, strict=True):
                dataset.resize((total + values.size,))
                dataset[total:] = values
            total += parts[0].size
            of_cell.append(numbers)
        group["indptr"] = np.concatenate([[0], np.cumsum(np.concatenate(of_cell))])
        write_names(file, cells, genes)
    return total


def write_names(file: h5py.File, cells: int, genes: int) -> None:
    """``obs`` and ``var`` of an ``.h5ad``: c0, c1 ... and g0, g1 ..."""
    for name, number, letter in (("obs", cells, "c"), ("var", genes, "g")):
        frame = file.create_group(name)
        frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0"})
        frame.attrs["_index"] = "_index"
        frame.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
        names = np.array([f"{letter}{k}" for k in range(number)], dtype=object)
        frame.create_dataset("_index", data=names, dtype=h5py.string_dtype())


def measured_steps(section: dict[str, Any], out: Path, scan: bool = True) -> dict[str, Any]:
    """Seconds and peak memory of each step, bytes on disk, edges; the step that failed."""
    content = json.dumps({"backend": choose("auto").backend, "analyses": {"cells": section}})
    found: dict[str, Any] = {"steps": {}}
    for step in ("prepare", "plan", "null", *(["scan"] * scan), "chunks", "network"):
        done = subprocess.run(
            [sys.executable, "-c", STEP, step, content, str(out)], stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            found["failed"] = step
            break
        found["steps"][step] = json.loads(done.stdout.splitlines()[-1])
        print(step, found["steps"][step], flush=True)
    for name in ("state", "scan", "chunks"):
        files = (out / name).iterdir() if (out / name).exists() else ()
        found[f"{name}_bytes"] = sum(file.stat().st_size for file in files)
    for name, rows in (("pairs", "stored_pairs"), ("network", "edges")):
        if (out / f"{name}.parquet").exists():
            found[rows] = pq.read_metadata(out / f"{name}.parquet").num_rows
    return found | {"seconds": round(sum(step["seconds"] for step in found["steps"].values()), 2)}


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    given = [int(n) for n in sys.argv[2:]] or [GENES, CELLS, ENTRIES, REGULATORS]
    genes, cells, _, regulators = given
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cells.h5ad"
    begin = time.perf_counter()
    stored = write_cells(path, *given)
    (folder / "regulators.txt").write_text("".join(f"g{k}\n" for k in range(regulators)))
    results: dict[str, Any] = {
        "genes": genes,
        "cells": cells,
        "regulators": regulators,
        "entries": stored,
        "file_bytes": path.stat().st_size,
        "simulated_seconds": round(time.perf_counter() - begin, 1),
    }
    print(results, flush=True)
    section = {"method": "mutual_information", "expression": str(path)}
    section["regulators"] = str(folder / "regulators.txt")
    results |= measured_steps(section, folder / "results")
    print(results, write("million_cells", "auto", results))


if __name__ == "__main__":
    main()
