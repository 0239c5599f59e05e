"""Hits whose alignments are all different, or shared by isoforms as a test asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mirna_results import write_mirna_results

PAIRS = {"AU": "|", "UA": "|", "GC": "|", "CG": "|", "GU": ":", "UG": ":"}
N_LETTERS = 24
SITE = ("query_alignment", "match_line", "reference_alignment", "score", "energy_kcal_mol")
LINES = SITE[:3]


def random_lines(n: int, seed: int = 1) -> pd.DataFrame:
    """Lines of ``n`` alignments: tails in small letters, some gaps, letters at random; what pairs
    is worked out letter by letter."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACGU"))
    rows = []
    for above, below in zip(
        letters[rng.integers(0, 4, (n, N_LETTERS))],
        letters[rng.integers(0, 4, (n, N_LETTERS))],
        strict=True,
    ):
        below[rng.integers(3, N_LETTERS - 3)] = "-"
        begin, end = rng.integers(1, 4), N_LETTERS - rng.integers(0, 3)
        cut = slice(begin, end)
        match = "".join(PAIRS.get(a + b, " ") for a, b in zip(above[cut], below[cut], strict=True))
        query, reference = (
            "".join(line[:begin]).lower() + "".join(line[cut]) + "".join(line[end:]).lower()
            for line in (above, below)
        )
        rows.append((query, " " * begin + match + " " * (N_LETTERS - end), reference))
    return pd.DataFrame(rows, columns=list(LINES))


def write_different(folder: Path, seed: int = 1, **settings: Any) -> Path:
    """A results folder whose hits have alignments of their own."""
    write_mirna_results(folder, **settings)
    hits = pd.read_parquet(folder / "hits.parquet")
    lines = random_lines(len(hits), seed)
    hits.assign(**{name: lines[name] for name in LINES}).to_parquet(folder / "hits.parquet")
    return folder


def share(folder: Path, mirna: str, transcripts: list[str], score: float) -> pd.DataFrame:
    """Give one alignment to the first hit of a miRNA on each of some transcripts; their rows."""
    hits = pd.read_parquet(folder / "hits.parquet")
    chosen = hits[(hits["mirna"] == mirna) & hits["transcript"].isin(transcripts)]
    rows = chosen.drop_duplicates("transcript").index
    assert len(rows) == len(transcripts)
    for name in SITE:
        hits.loc[rows, name] = hits.loc[rows[0], name]
    hits.loc[rows, "score"] = score
    hits.loc[rows, "seed_class"] = "8mer"
    hits.to_parquet(folder / "hits.parquet")
    return hits.loc[rows]
