"""All pairs of 44,722 genes, a billion, written and merged: time and memory by bands of tiles.

    python -m benchmarks.bench_stored_pairs FOLDER [BANDS [GENES]]

The merge holds one band (1,024 genes with all later ones) at a time, so the first bands, which are
the largest, show its memory; of its time they show a part. ``bench_view`` looks up partners in such
a store. Writes ``results/stored_pairs.DEVICE.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from pairtile.engine.chunk_file import ChunkHeader, write_chunk
from pairtile.engine.tiles import PairSpace
from pairtile.runtime.host_memory import peak_host_bytes

from benchmarks.bench_scaling import SCHEMA
from benchmarks.machine import write

GENES, BANDS = 44_722, 2

MERGE = """
import json, sys, time
from pathlib import Path
from pairtile.engine.chunk_file import ChunkFile
from pairtile.engine.merging import MergeRules, merge
from pairtile.runtime.host_memory import peak_host_bytes
folder, bands = Path(sys.argv[1]), json.loads(sys.argv[2])
start = time.perf_counter()
chunks = sorted((folder / "chunks").iterdir())
rules = MergeRules(bands, ("i", "j"), schema=ChunkFile(chunks[0]).schema)
rows, _, _ = merge(chunks, folder / "pairs.parquet", rules)
print(json.dumps({"seconds": time.perf_counter() - start, "peak_bytes": peak_host_bytes(),
                  "bytes": (folder / "pairs.parquet").stat().st_size, "rows": rows}))
"""


def main() -> None:
    """Write them."""
    folder, given = Path(sys.argv[1]), [int(n) for n in sys.argv[2:]]
    n_bands, genes = [*given, *(BANDS, GENES)[len(given) :]]
    tiles = PairSpace("triangle", genes, genes).tiles()
    starts = sorted({tile.row_begin for tile in tiles})[:n_bands]
    tiles = [tile for tile in tiles if tile.row_begin in starts]
    (folder / "chunks").mkdir(parents=True)
    random = np.random.default_rng(1)
    begin, rows = time.perf_counter(), 0
    for tile in tiles:  # each a chunk
        i, j = np.meshgrid(
            np.arange(tile.row_begin, tile.row_end), np.arange(tile.column_begin, tile.column_end),
            indexing="ij",
        )  # fmt: skip
        wanted = j > i
        rows += int(wanted.sum())
        # As many digits as scores have that are computed in float32.
        score = random.standard_exponential(wanted.sum(), dtype=np.float32) / 20
        held = {"i": i[wanted], "j": j[wanted], "mi_bits": score}
        held["n_samples"] = np.full(len(score), 1000)
        path = folder / "chunks" / f"tiles-{tile.number:06d}-{tile.number:06d}.parquet"
        write_chunk(path, SCHEMA, [(tile.number, held)], ChunkHeader("bench", [], {}))
    results: dict[str, Any] = {
        "genes": genes,
        "pairs_of_all": genes * (genes - 1) // 2,
        "bands": n_bands,
        "written": {
            "rows": rows,
            "seconds": time.perf_counter() - begin,
            "bytes": sum(path.stat().st_size for path in (folder / "chunks").iterdir()),
            "peak_bytes": peak_host_bytes(),
        },
    }
    bands = json.dumps([tile.row_begin for tile in tiles])
    done = subprocess.run(
        [sys.executable, "-c", MERGE, str(folder), bands],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    results["merged"] = json.loads(done.stdout.splitlines()[-1])
    share = results["pairs_of_all"] / rows
    for step in ("written", "merged"):
        results[step]["seconds_of_all"] = share * results[step]["seconds"]
        results[step]["bytes_of_all"] = share * results[step]["bytes"]
    print(results, write("stored_pairs", "cpu", results))


if __name__ == "__main__":
    main()
