"""All pairs of very many isoforms to a network by false discovery rate, step by step.

    python -m benchmarks.bench_isoforms FOLDER [ISOFORMS SAMPLES PER_GENE]

Isoforms of one gene have a third of their variance in common; genes are unrelated. Steps, seconds
and memory as in ``bench_million_cells``. Writes ``results/isoforms_ISOFORMS.DEVICE.json``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from benchmarks.bench_million_cells import measured_steps, write_names
from benchmarks.machine import write

ISOFORMS, SAMPLES, PER_GENE = 150_000, 1000, 8
BLOCK = 8192
"""Isoforms that are written together."""


def write_isoforms(path: Path, isoforms: int, samples: int, per_gene: int) -> None:
    """Normal values, float32, as a dense ``.h5ad``."""
    draw = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        x = file.create_dataset("X", (samples, isoforms), np.float32, chunks=(samples, 256))
        x.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for begin in range(0, isoforms, BLOCK):
            number = min(BLOCK, isoforms - begin)
            values = draw.standard_normal((samples, number), dtype=np.float32)
            of_gene = draw.standard_normal((samples, -(-number // per_gene)), dtype=np.float32)
            values += np.float32(0.7) * of_gene.repeat(per_gene, axis=1)[:, :number]
            x[:, begin : begin + number] = values
        write_names(file, samples, isoforms)


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    isoforms, samples, per_gene = map(int, sys.argv[2:] or (ISOFORMS, SAMPLES, PER_GENE))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "isoforms.h5ad"
    begin = time.perf_counter()
    write_isoforms(path, isoforms, samples, per_gene)
    results: dict[str, Any] = {
        "isoforms": isoforms,
        "samples": samples,
        "pairs": isoforms * (isoforms - 1) // 2,
        "file_bytes": path.stat().st_size,
        "simulated_seconds": round(time.perf_counter() - begin, 1),
    }
    section = {"method": "mutual_information", "expression": str(path), "score": "mi"}
    results |= measured_steps(section | {"keep": {"fdr": 0.01}}, folder / "results", scan=False)
    print(results, write(f"isoforms_{isoforms}", "auto", results))


if __name__ == "__main__":
    main()
