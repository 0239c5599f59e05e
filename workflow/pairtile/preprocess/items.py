"""Items of a table: their names, as every table and network can hold them; what became of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pairtile.declare.messages import Message, messages_of
from pairtile.io.names import UNUSABLE
from pairtile.preprocess.statistics import RowStatistics
from pairtile.runtime.record import say_done

message = messages_of(__package__)

TOO_FEW = "too few samples"
CONSTANT = "constant"
TOO_RARE = "expressed in too few samples"
NOT_VARIABLE = "not among the most variable"


class CleaningLog:
    """What happened to each input gene; all arrays have shape (input genes,)."""

    def __init__(self, n_genes: int) -> None:
        self.reason = np.full(n_genes, "", dtype=object)
        self.n_missing_input = np.zeros(n_genes, dtype=np.int32)
        self.n_zeros = np.zeros(n_genes, dtype=np.int32)
        self.n_observed = np.zeros(n_genes, dtype=np.int32)
        self.mean = np.full(n_genes, np.nan)
        self.sd = np.full(n_genes, np.nan)
        self.constant = np.zeros(n_genes, dtype=bool)
        self.messages: list[Message] = []

    def add_message(self, code: str, **numbers: str | float) -> None:
        """A message of ``messages.toml`` in this folder."""
        self.messages.append(message(code, **numbers))

    def did(self, code: str, **numbers: str | float) -> None:
        """``add_message`` of what was just done, with the time that it took (``say_done``)."""
        self.messages.append(say_done(message(code, **numbers)))

    def record(self, rows: np.ndarray, statistics: RowStatistics) -> None:
        """Write down the statistics of the genes ``rows``."""
        self.n_observed[rows] = statistics.n_observed
        self.mean[rows] = statistics.mean
        self.sd[rows] = statistics.sd
        self.constant[rows] = statistics.constant

    def drop(self, rows: np.ndarray, reason: str) -> None:
        """Mark genes as dropped; the first reason stays."""
        self.reason[rows[self.reason[rows] == ""]] = reason

    def drop_constant(self) -> None:
        """Mark the genes that are constant by what is written down now."""
        self.drop(np.flatnonzero(self.constant), CONSTANT)

    def dropped(self) -> dict[str, int]:
        """Number of genes dropped, for each reason; those that were asked for only where any is."""
        found = {
            reason: int((self.reason == reason).sum())
            for reason in (TOO_FEW, CONSTANT, TOO_RARE, NOT_VARIABLE)
        }
        return {reason: n for reason, n in found.items() if n or reason in (TOO_FEW, CONSTANT)}


def items_table(
    genes: Sequence[str],
    cleaning: CleaningLog,
    symbols: Mapping[str, str] | None = None,
    accessions: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row per input gene: the kept ones in input order, then the dropped ones.

    Columns are those of ``items.parquet`` in ``columns.toml``.
    """
    kept = cleaning.reason == ""
    order = np.concatenate([np.flatnonzero(kept), np.flatnonzero(~kept)])
    names = [genes[k] for k in order]
    also = {
        "symbol": [symbols.get(name, name) for name in names] if symbols else [],
        "accession": [accessions.get(name, "") for name in names] if accessions else [],
    }
    return pd.DataFrame(
        {
            "item": np.arange(order.size, dtype=np.int32),
            "name": pd.Series(names, dtype=object),
            **{column: texts for column, texts in also.items() if texts},
            "kept": kept[order],
            "reason": pd.Series(cleaning.reason[order], dtype=object),
            "n_observed": cleaning.n_observed[order],
            "n_missing_input": cleaning.n_missing_input[order],
            "n_zeros_to_missing": cleaning.n_zeros[order],
            "mean": cleaning.mean[order],
            "sd": cleaning.sd[order],
            "constant": cleaning.constant[order],
            "is_regulator": np.zeros(order.size, dtype=bool),
        }
    )


# Names of items that every table and network can hold, each of them once.

# What a spreadsheet computes; signed numbers are numbers.
_FORMULA = re.compile(r"[=@]|[+-](?![0-9.]+$)")


def printable(text: str) -> str:
    """``text`` with characters that tables cannot hold written out (``\\x09``, ``\\xb5``)."""
    return UNUSABLE.sub(lambda found: _written_out(ord(found.group())), text)


def formula_warnings(names: Sequence[str]) -> list[Message]:
    """A warning of names that spreadsheets take for formulas (they are written as they are: another
    name would be another gene)."""
    formulas = [name for name in names if _FORMULA.match(name)]
    return [message("names_like_formulas", n=len(formulas), first=first) for first in formulas[:1]]


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, in order; the second of the same name becomes ``name#2``, and so on.

    A name made so is none that is there already.
    """
    taken = set(names)
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0) + 1
        if count > 1:
            while f"{name}#{count}" in taken:
                count += 1
            taken.add(f"{name}#{count}")
        seen[name] = count
        unique.append(name if count == 1 else f"{name}#{count}")
    return unique


def _written_out(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
