"""One tiny analysis of every method, cut into several tiles, for tests that break things."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pairtile.engine import tiles
from pairtile.methods.mirna_targets import score as mirna_targets
from pairtile.methods.multimodal_correlation import score as multimodal_correlation
from pairtile.methods.trajectory_correlation import score as trajectory_correlation
from workflow_runs import BASE, write_data

CHUNKS = 3


def _expression(folder: Path) -> None:
    write_data(folder, genes=40, samples=40)


def _levels(folder: Path) -> None:
    table = np.random.default_rng(1).integers(0, 2, (20, 24))
    lines = ["\t".join(["gene", *(f"t{k}" for k in range(24))])]
    lines += ["\t".join([f"g{k:02d}", *map(str, row)]) for k, row in enumerate(table)]
    (folder / "levels.tsv").write_text("\n".join(lines) + "\n")


def _sequences(folder: Path) -> None:
    draw = random.Random(3)
    for name, number, length in (("mirnas.fa", 6, 22), ("transcripts.fa", 8, 400)):
        texts = ("".join(draw.choices("ACGU", k=length)) for _ in range(number))
        records = (f">{name[0]}{k}\n{text}\n" for k, text in enumerate(texts))
        (folder / name).write_text("".join(records))


def _series(folder: Path) -> None:
    np.save(folder / "run0.npy", np.random.default_rng(2).normal(size=(60, 12, 3)).cumsum(0))


ANALYSES: dict[str, tuple[Callable[[Path], None], dict[str, Any]]] = {
    "mutual_information": (_expression, {"chunks": CHUNKS, "keep": {"p_value": 0.01}}),
    "mutual_information_clr": (
        _expression,
        {"chunks": CHUNKS, "keep": {"top_edges": 60}, "score": "clr"},
    ),
    "predictor_pairs": (
        _levels,
        {
            "method": "predictor_pairs",
            "levels": "levels.tsv",
            "preprocess": {"min_samples": 5},
            "null": {"permutations": 4},
            "chunks": CHUNKS,
            "export": ["tsv"],
        },
    ),
    "mirna_targets": (
        _sequences,
        {
            "method": "mirna_targets",
            "mirnas": "mirnas.fa",
            "transcripts": "transcripts.fa",
            "estimator": {"score": 90, "energy": 0},
            "chunks": CHUNKS,
            "export": ["tsv"],
        },
    ),
    "multimodal_correlation": (
        _expression,
        {
            "method": "multimodal_correlation",
            "expression": "expression.tsv",
            "preprocess": {"log2": False},
            "estimator": {"max_clusters": 2, "min_samples": 15},
            "threshold": {"method": "score", "score": 0.6},
            "chunks": CHUNKS,
            "export": ["tsv"],
        },
    ),
    "trajectory_correlation": (
        _series,
        {
            "method": "trajectory_correlation",
            "time_series": ["run0.npy"],
            "estimator": {"surrogates": 4},
            "chunks": CHUNKS,
            "export": ["tsv"],
        },
    ),
}
"""Name -> what writes its data, and its section (as changes of ``workflow_runs.BASE``)."""


def write_all(folder: Path) -> None:
    """Data of every analysis, and a configuration that has them all."""
    for write, _ in ANALYSES.values():
        write(folder)
    sections = {
        name: section if "method" in section else BASE | section
        for name, (_, section) in ANALYSES.items()
    }
    (folder / "config.yaml").write_text(yaml.safe_dump({"analyses": sections}))


SMALL_TILES = [
    (tiles, "TILE_EDGE", 16),
    (mirna_targets, "MIRNAS_OF_A_TILE", 4),
    (mirna_targets, "TRANSCRIPTS_OF_A_TILE", 4),
    (multimodal_correlation, "MIXTURE_TILE_EDGE", 16),
    (trajectory_correlation, "SMALLEST_TILE", 4),
    (trajectory_correlation, "LARGEST_TILE", 4),
]
"""Where the size of a tile is set, so that tiny data has several."""


def cut_small() -> None:
    """Small tiles from here on, in a process of its own; tests use ``monkeypatch``."""
    for place, name, edge in SMALL_TILES:
        setattr(place, name, edge)
