"""Report: sites and pairs against those of the shuffled miRNAs; sites kept in other species."""

from __future__ import annotations

import pandas as pd

from pairtile.methods.mirna_targets.null import CLASS_ROWS
from pairtile.methods.mirna_targets.tables import ALL_MIRNAS
from pairtile.report.results import Results

SHOWN_CLASSES = ("8mer", "7mer-m8", "7mer-A1", "6mer", "offset 6mer", "none")


def has_null(results: Results) -> bool:
    """Whether there are shuffles to compare with."""
    return results.scores is not None and "null_sites" in results.scores


def conserved(results: Results) -> pd.DataFrame | None:
    """The rows of conservation.tsv for all miRNAs, for ``results.cached``; None without."""
    path = results.folder / "conservation.tsv"
    if not path.is_file():
        return None
    table = pd.read_csv(path, sep="\t")
    return table[table["mirna"] == ALL_MIRNAS]


def null_row(results: Results, name: str) -> dict[str, float]:
    """Sites of a class against those of the shuffles; NaN where there is no ratio or interval."""
    assert results.scores is not None
    row = CLASS_ROWS.index(name)
    columns = ("sites", "expected", "ratio", "ratio_low", "ratio_high")
    return {column: float(results.scores[f"null_{column}"][row]) for column in columns}
