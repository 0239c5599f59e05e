"""What grows with genes and chunks beside the arithmetic: plans, dry runs, jobs, files, the merge.

Chunks are made tiny here, so that what is measured is the machinery. ``docs/scaling.md`` quotes the
figures.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import anndata
import numpy as np
import pyarrow as pa
import scipy.sparse
from pairtile.config.load import load_config
from pairtile.engine import tiles
from pairtile.engine.chunk_file import ChunkHeader, write_chunk
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.damage import remove_damaged
from pairtile.steps.plan import read_plan

from benchmarks.bench_workflow import ROOT, expression, write_table
from benchmarks.machine import MEASURED_MI

CHUNKS = (100, 1_000, 10_000)
GENES = (1_000, 5_000, 20_000, 60_000)
JOBS = (8, 40)
TABLES = ((2_000, 1_000), (4_000, 2_500), (20_000, 1_000), (5_000, 10_000))
CELLS = (30_000, 20_000, 1_500)
"""Genes, cells, and entries of a cell in a sparse table."""
STORED = (1_000, 2_000, 4_000)
EDGE = 16
"""Genes along each side of a tile in these measurements."""

COLUMNS = {"i": pa.int32(), "j": pa.int32(), "mi_bits": pa.float64(), "n_samples": pa.int32()}
SCHEMA = pa.schema(list(COLUMNS.items()))


def run() -> dict[str, Any]:
    """All measurements, and the slopes between them."""
    found = {
        "plans": {str(genes): measure_plan(genes) for genes in GENES},
        "prepares": {
            f"{genes} genes x {samples} samples": in_folder(measure_prepare, genes, samples)
            for genes, samples in TABLES
        },
        "sparse_prepare": in_folder(measure_sparse_prepare, *CELLS),
        "dry_runs": {str(chunks): in_folder(measure_dry_run, chunks) for chunks in CHUNKS},
        "jobs": {str(chunks): in_folder(measure_jobs, chunks) for chunks in JOBS},
        "merges": {
            f"{chunks} chunks of {rows} rows": in_folder(measure_merge, chunks, rows)
            for chunks, rows in [*((chunks, 100) for chunks in CHUNKS), (1_000, 10_000)]
        },
        "networks": {
            f"all pairs of {genes} genes": in_folder(measure_network, genes) for genes in STORED
        },
    }
    return found | {"slopes": slopes(found)}


def slopes(found: dict[str, Any]) -> dict[str, float]:
    """What one more value, chunk or pair costs, from the two largest measurements of each kind."""
    medium, large = list(found["prepares"].values())[-2:]
    genes, samples = TABLES[-1]
    values = genes * samples
    smaller, larger = list(found["networks"].values())[-2:]
    pairs = larger["stored_pairs"] - smaller["stored_pairs"]
    grown = larger["network"]["peak_memory_bytes"] - smaller["network"]["peak_memory_bytes"]
    chunks, rows = 1_000, 10_000
    return {
        "values_of_the_largest_table": values,
        "text_bytes_a_value": large["table_bytes"] / values,
        "state_bytes_a_value": large["state_bytes"] / values,
        "prepare_bytes_a_value": (large["peak_bytes"] - medium["peak_bytes"])
        / (values - TABLES[-2][0] * TABLES[-2][1]),
        "plan_bytes_a_chunk": found["dry_runs"][str(CHUNKS[-1])]["plan_bytes"] / CHUNKS[-1],
        "chunk_file_bytes_a_row": found["merges"][f"{chunks} chunks of {rows} rows"]["chunk_bytes"]
        / (chunks * rows),
        "network_bytes_a_pair": grown / pairs,
        "network_microseconds_a_pair": 1e6 * larger["network"]["seconds"] / larger["stored_pairs"],
    }


def in_folder(work: Callable[..., dict[str, Any]], *arguments: int) -> dict[str, Any]:
    """Measure in a new folder."""
    with tempfile.TemporaryDirectory(prefix="pairtile-bench-") as folder:
        return work(Path(folder), *arguments)


def measure_plan(genes: int) -> dict[str, Any]:
    """Tiles of a triangle of so many genes, their chunks, and what plan.json takes."""
    found: dict[str, Any] = {}
    for edge in (1024, 256):
        start = time.perf_counter()
        all_tiles = tiles.PairSpace("triangle", genes, genes).tiles(edge)
        # An hour for a million pairs: as many chunks as there may be.
        chunks = tiles.plan_chunks([tile.cells / 300 for tile in all_tiles])
        seconds = time.perf_counter() - start
        entries = [{"first_tile": c.first, "last_tile": c.last, "seconds": 120.0} for c in chunks]
        found[f"tiles of {edge}"] = {
            "tiles": len(all_tiles),
            "most_chunks": len(chunks),
            "seconds": seconds,
            "plan_bytes": len(json.dumps(entries, indent=2)),
        }
    return found


PREPARE = """
import json, sys, time
from pathlib import Path
from pairtile.config.load import load_config
from pairtile.runtime.host_memory import peak_host_bytes
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.prepare import prepare
config, out = load_config(json.loads(sys.argv[1])).analyses["bench"], Path(sys.argv[2])
start = time.perf_counter()
prepare(AnalysisRun("bench", config, out))
print(json.dumps({"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time(),
                  "peak_bytes": peak_host_bytes()}))
"""


def measure_prepare(folder: Path, genes: int, samples: int) -> dict[str, Any]:
    """The step ``prepare`` of a text table for mutual information."""
    table = folder / "expression.tsv"
    write_table(table, expression(genes, samples))
    section = {"method": "mutual_information", **MEASURED_MI, "expression": str(table)}
    content = {"analyses": {"bench": section}}
    found = measured(PREPARE, json.dumps(content), str(folder / "results"))
    state = sum(path.stat().st_size for path in (folder / "results/state").iterdir())
    values = genes * samples
    return found | {
        "table_bytes": table.stat().st_size,
        "state_bytes": state,
        "peak_bytes_a_value": found["peak_bytes"] / values,
        "microseconds_a_value": 1e6 * found["seconds"] / values,
    }


def measure_sparse_prepare(folder: Path, genes: int, cells: int, entries: int) -> dict[str, Any]:
    """The step ``prepare`` of counts of single cells in a sparse ``.h5ad``."""
    random = np.random.default_rng(1)
    indices = np.sort(random.integers(0, genes // entries, (cells, entries)), axis=1)
    indices = np.arange(entries) * (genes // entries) + indices % (genes // entries)
    counts = random.geometric(0.4, cells * entries).astype(np.float32)
    starts = np.arange(0, counts.size + 1, entries)
    matrix = scipy.sparse.csr_matrix((counts, indices.ravel(), starts), (cells, genes))
    anndata.AnnData(matrix).write_h5ad(folder / "cells.h5ad")
    section = {"method": "mutual_information", "expression": str(folder / "cells.h5ad")}
    content = {"analyses": {"bench": section}}
    found = measured(PREPARE, json.dumps(content), str(folder / "results"))
    return found | {"entries": counts.size, "file_bytes": (folder / "cells.h5ad").stat().st_size}


def measured(code: str, *arguments: str) -> dict[str, Any]:
    """Run code in a process of its own; what its last line says."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow")},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def prepared(folder: Path, chunks: int) -> Path:
    """An analysis that is planned with so many chunks of one or a few tiny tiles, and its null."""
    bands = int(np.ceil((np.sqrt(8 * chunks + 1) - 1) / 2))
    write_table(folder / "expression.tsv", expression(bands * EDGE, 24))
    section: dict[str, Any] = {"method": "mutual_information", "chunks": chunks, "export": ["tsv"]}
    section |= {**MEASURED_MI, "expression": "expression.tsv", "keep": {"p_value": 1e-3}}
    content = {"backend": "cpu", "analyses": {"bench": section}}
    (folder / "config.yaml").write_text(json.dumps(content))
    config = load_config(content).analyses["bench"]
    out = folder / "results/bench"
    inputs = {"expression": str(folder / "expression.tsv")}
    run = AnalysisRun("bench", config, out, 1, "cpu", inputs)
    with mock.patch.object(tiles, "TILE_EDGE", EDGE):
        run.run_steps(last="null")
    assert len(read_plan(run.plan).chunks) == chunks
    return out


def snakemake(folder: Path, *arguments: str) -> dict[str, float]:
    """Run it on two cores; seconds, processor seconds and peak memory of it and its children."""
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--cores", "2"]
    command += ["--configfile", str(folder / "config.yaml"), "--directory", str(folder)]
    code = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "log = open(sys.argv[1], 'w')\n"
        "done = subprocess.run(sys.argv[2:], stdout=log, stderr=subprocess.STDOUT)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    log = folder / "log"
    arguments_of_code = [str(log), *command, *arguments]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments_of_code], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(log.read_text())
    seconds, processor, kilobytes = map(float, done.stdout.split())
    return {"seconds": seconds, "cpu_seconds": processor, "peak_bytes": kilobytes * 1024}


def measure_dry_run(folder: Path, chunks: int) -> dict[str, Any]:
    """``snakemake -n`` once the plan is there: the whole graph of jobs."""
    out = prepared(folder, chunks)
    start = time.perf_counter()
    read = read_plan(out / "plan.json")
    assert read.tiles
    read_seconds = time.perf_counter() - start
    found = snakemake(folder, "-n")
    assert re.search(rf"^chunk +{chunks}$", (folder / "log").read_text(), re.MULTILINE)
    plan_bytes = (out / "plan.json").stat().st_size
    return found | {"plan_bytes": plan_bytes, "seconds_to_read_plan": read_seconds}


def measure_jobs(folder: Path, chunks: int) -> dict[str, Any]:
    """Chunks that compute next to nothing, by Snakemake: what a job costs by itself."""
    out = prepared(folder, chunks)
    found = snakemake(folder, "results/bench/pairs.parquet")
    files = [path for path in folder.rglob("*") if path.is_file()]
    inside = [path for path in files if "chunks" in path.parts]
    return found | {
        "seconds_a_chunk": found["seconds"] / chunks,
        "files": len(files),
        "files_a_chunk": len(inside) / chunks,
        "bytes_a_chunk_without_rows": min(p.stat().st_size for p in (out / "chunks").iterdir()),
    }


MERGE = """
import json, sys, time
from pathlib import Path
from pairtile.config.load import load_config
from pairtile.runtime.host_memory import peak_host_bytes
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.merge import merge
out = Path(sys.argv[1])
config = load_config(json.loads(sys.argv[2])).analyses["bench"]
before = peak_host_bytes()
start = time.perf_counter()
merge(AnalysisRun("bench", config, out), "chunks")
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "peak_bytes": peak_host_bytes(),
                  "grown_bytes": peak_host_bytes() - before}))
"""


def filled_tile(i: int, first_j: int, rows: int, random: np.random.Generator) -> dict[str, Any]:
    """Rows as a tile of mutual information has them."""
    return {
        "i": np.full(rows, i, np.int32),
        "j": np.arange(first_j, first_j + rows, dtype=np.int32),
        "mi_bits": random.random(rows),
        "n_samples": np.full(rows, 24, np.int32),
    }


def measure_merge(folder: Path, chunks: int, rows: int) -> dict[str, Any]:
    """The step ``merge`` on chunk files of so many rows each, and what a run checks before it."""
    out = prepared(folder, chunks)
    planned = read_plan(out / "plan.json")
    all_tiles = planned.tiles
    random = np.random.default_rng(1)
    for chunk in planned.chunks:
        numbers = range(chunk.first, chunk.last + 1)
        share = rows // len(numbers)
        filled = [
            (n, filled_tile(all_tiles[n].row_begin, n * rows, share, random)) for n in numbers
        ]
        counts = {name: np.array([rows]) for name in ("pairs", "pairs_scored")}
        header = ChunkHeader(planned.stage_fingerprint("chunks"), [], counts)
        write_chunk(out / "chunks" / f"{chunk.name}.parquet", SCHEMA, filled, header)
    start = time.perf_counter()
    assert remove_damaged(out) == {}
    check_seconds = time.perf_counter() - start
    found = measured(MERGE, str(out), (folder / "config.yaml").read_text())
    chunk_bytes = sum(path.stat().st_size for path in (out / "chunks").iterdir())
    return found | {
        "seconds_a_chunk": found["seconds"] / chunks,
        "seconds_to_check_before_a_run": check_seconds,
        "chunk_bytes": chunk_bytes,
        "merged_bytes": (out / "pairs.parquet").stat().st_size,
    }


def measure_network(folder: Path, genes: int) -> dict[str, Any]:
    """Steps of ``keep: all`` after the chunks: the network, with DPI, holds all stored pairs."""
    write_table(folder / "expression.tsv", expression(genes, 24))
    section: dict[str, Any] = {"method": "mutual_information", "expression": "expression.tsv"}
    section |= {**MEASURED_MI, "keep": "all", "dpi": {"tolerance": 0.1}, "export": ["tsv"]}
    content = {"backend": "cpu", "analyses": {"bench": section}}
    (folder / "config.yaml").write_text(json.dumps(content))
    snakemake(folder, "results/bench/network.parquet")
    out = folder / "results/bench"
    stored = json.loads((out / "steps/merge.json").read_text())["counts"]["pairs_stored"]
    found: dict[str, Any] = {"stored_pairs": stored}
    found["bytes_a_pair_on_disk"] = (out / "pairs.parquet").stat().st_size / stored
    for step in ("merge", "network"):
        record = json.loads((out / f"steps/{step}.json").read_text())
        found[step] = {key: record[key] for key in ("seconds", "peak_memory_bytes")}
    return found
