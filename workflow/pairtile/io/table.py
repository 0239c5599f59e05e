"""A table as it stands in a file, before anyone says which side holds the genes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Table:
    """Named rows and columns of numbers.

    ``values`` is float64 of shape (rows, columns), NaN where a value is missing; ``notes`` are
    plain sentences on what reading decided.
    """

    values: np.ndarray
    rows: list[str]
    columns: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Kinds:
    """What rows and columns stand for, in the words of error messages."""

    row: str
    column: str

    @classmethod
    def of(cls, orientation: str) -> Kinds:
        """Kinds for ``genes_in_rows`` or ``samples_in_rows``."""
        if orientation == "genes_in_rows":
            return cls("gene", "sample")
        return cls("sample", "gene")
