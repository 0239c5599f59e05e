"""Genes that go together in some samples, and analyses of them by ``multimodal_correlation``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from workflow_runs import Analysis

SAMPLES = 80


def section(**changes: Any) -> dict[str, Any]:
    """A section to start from: small, with a fixed threshold."""
    base: dict[str, Any] = {
        "method": "multimodal_correlation",
        "expression": "expression.tsv",
        "preprocess": {"log2": False},
        "estimator": {"max_clusters": 3, "min_samples": 20, "outliers_before": False},
        "threshold": {"method": "score", "score": 0.6},
        "export": ["tsv", "graphml"],
    }
    return base | changes


def planted(genes: int = 24, seed: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Expression and annotations: genes 0 and 1 go together in treated samples, apart in others;
    genes 2 and 3 always together; the rest is noise."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(genes, SAMPLES))
    treated = np.arange(SAMPLES) < SAMPLES // 2
    hidden = random.normal(size=SAMPLES)
    values[0] = hidden + 0.2 * random.normal(size=SAMPLES) + np.where(treated, 5.0, 0.0)
    values[1] = (
        np.where(treated, hidden, -hidden) + 0.2 * random.normal(size=SAMPLES) - 5.0 * treated
    )
    values[3] = values[2] + 0.1 * random.normal(size=SAMPLES)
    values[4:8][random.random((4, SAMPLES)) < 0.1] = np.nan
    names = [f"s{k:02d}" for k in range(SAMPLES)]
    table = pd.DataFrame(values.round(5), [f"g{k:02d}" for k in range(genes)], names)
    annotations = pd.DataFrame(
        {
            "sample": names,
            "Treatment": np.where(treated, "heat", "control"),
            "Hours": random.integers(0, 48, SAMPLES),
        }
    )
    return table, annotations


def write_planted(folder: Path, genes: int = 14) -> None:
    """Pairs g00 g01 and g04 g05 go together in treated samples, against each other in others; g02,
    g03 and g06 always together; the rest is noise, and the last gene is hardly observed."""
    random = np.random.default_rng(4)
    values = random.normal(size=(genes, SAMPLES))
    treated = np.arange(SAMPLES) < SAMPLES // 2
    for first in (0, 4):
        hidden = random.normal(size=SAMPLES)
        values[first] = hidden + 0.2 * random.normal(size=SAMPLES) + 5.0 * treated
        values[first + 1] = np.where(treated, hidden, -hidden) - 5.0 * treated
        values[first + 1] += 0.2 * random.normal(size=SAMPLES)
    values[3] = values[2] + 0.1 * random.normal(size=SAMPLES)
    values[6] = values[2] - 0.3 * random.normal(size=SAMPLES)
    values[-1, 5:] = np.nan
    names = [f"s{k:02d}" for k in range(SAMPLES)]
    table = pd.DataFrame(values.round(5), [f"g{k:02d}" for k in range(genes)], names)
    table.to_csv(folder / "expression.tsv", sep="\t", index_label="gene")
    annotations = {
        "sample": names,
        "Treatment": np.where(treated, "heat", "control"),
        "Batch": random.choice(["one", "two", "three"], SAMPLES),
        "Hours": (values[2] * 10).round(1),
    }
    pd.DataFrame(annotations).to_csv(folder / "samples.tsv", sep="\t", index=False)


def analysis(folder: Path, **changes: Any) -> Path:
    """Run an analysis of the planted pairs step by step; its folder, the report written."""
    write_planted(folder)
    return (
        Analysis(folder, section(**({"annotations": "samples.tsv"} | changes))).all().report().out
    )
