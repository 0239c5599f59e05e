"""Tables of levels, and analyses of them by ``predictor_pairs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from workflow_runs import Analysis

PARTS = [
    "findings", "levels", "predictors", "members", "edges", "figures", "trust", "cleaning", "files",
    "run", "methods",
]  # fmt: skip


def section(**changes: Any) -> dict[str, Any]:
    """A section to start from: levels, ten pairs a target, no null; the best sets, untested."""
    base = {"method": "predictor_pairs", "levels": "levels.tsv", "null": {"permutations": 0}}
    base |= {"preprocess": {"min_samples": 5}, "export": ["tsv"], "keep": "best"}
    return base | changes


def write_levels(folder: Path, levels: np.ndarray, name: str = "levels.tsv") -> list[str]:
    """A table of levels with names; blanks where -1. Returns the genes' names."""
    genes = [f"g{k:03d}" for k in range(len(levels))]
    header = ["gene", *(f"t{k}" for k in range(levels.shape[1]))]
    lines = ["\t".join(header)]
    for gene, row in zip(genes, levels, strict=True):
        lines.append("\t".join([gene, *("" if level < 0 else str(level) for level in row)]))
    (folder / name).write_text("\n".join(lines) + "\n")
    return genes


def random_levels(genes: int, samples: int, levels: int = 2, missing: float = 0.0) -> np.ndarray:
    random = np.random.default_rng([genes, samples, levels])
    table = random.integers(0, levels, (genes, samples)).astype(np.int8)
    table[random.random(table.shape) < missing] = -1
    return table


def planted_levels(samples: int = 41, levels: int = 2) -> np.ndarray:
    """Fourteen genes: g000 follows g001 and g002 by exclusive or, g003 and g004 are the same,
    g005 never changes."""
    table = random_levels(14, samples, levels)
    table[0, 1:] = (table[1, :-1] + table[2, :-1]) % levels
    table[3] = table[4]
    table[5] = 1
    return table


def analysis(
    folder: Path, levels: np.ndarray | None = None, page: bool = True, **changes: Any
) -> Path:
    """Run an analysis of ``levels`` step by step; its folder, with the report where asked for."""
    write_levels(folder, planted_levels() if levels is None else levels)
    asked = section(**({"null": {"permutations": 99}} | changes))
    done = Analysis(folder, asked).all()
    return done.report().out if page else done.out


def sets_of(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "predictors.tsv", sep="\t", keep_default_na=False)


def varied_best(folder: Path) -> pd.DataFrame:
    table = sets_of(folder)
    return table[(table["rank"] == 1) & (table["target_entropy_bits"] > 0)]
