"""What KINC 3.4.2 gave on a table that is made here (``tests/golden/built``)."""

from __future__ import annotations

import gzip
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.peers import built
from benchmarks.peers.inputs import checksums


@cache
def values() -> NDArray[np.float64]:
    """The table that KINC had, made again: the same bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        built.write_expression(Path(scratch))
        recorded = json.loads((built.GOLDEN / "kinc.json").read_text())["inputs"]
        assert checksums(Path(scratch)) == recorded
        table = pd.read_csv(Path(scratch) / "expression.txt", sep="\t", index_col=0)
    made: NDArray[np.float64] = table.to_numpy(np.float64)
    return made


def modes(name: str) -> dict[tuple[int, int], list[tuple[float, str]]]:
    """Correlation and sample string of the modes of each pair, (smaller, larger) number."""
    found: dict[tuple[int, int], list[tuple[float, str]]] = {}
    with gzip.open(built.GOLDEN / "kinc_modes.tsv.gz", "rt") as lines:
        for line in lines:
            run, x, y, *_, r, states = line.split()
            if run == name:
                found.setdefault((int(y), int(x)), []).append((float(r), states))
    return found
