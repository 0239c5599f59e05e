"""Columns of hits that ViennaRNA computes, by all cores: duplex energy and accessibility."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numba import get_num_threads

from pairtile.errors import StoreError
from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.energy import (
    SPAN,
    WINDOW,
    package,
    site_accessibilities,
    viennarna_duplex_energy,
)
from pairtile.methods.mirna_targets.scoring import state_sequences
from pairtile.methods.mirna_targets.tables import state_rows
from pairtile.runtime.files import atomic_path, read_table
from pairtile.runtime.threads import in_forks

FOR_ONE_PROCESS = 200
"""Fewer jobs than this are not worth forks."""

CACHE = "accessibility.parquet"
"""Accessibilities found before, in the folder of results."""

SITE = ["content", "begin", "end"]

R = TypeVar("R")


def duplex_energies(hits: pa.Table, state: SequenceArrays) -> pa.Array:
    """Energy in kcal/mol of the best duplex of each hit's miRNA and its span in the transcript."""
    package("extras.duplex_energy")
    mirna, transcript = state_rows(hits, state)
    spans = [hits[name].to_pylist() for name in ("reference_begin", "reference_end")]
    of_mirnas, of_transcripts = state_sequences(state)
    mirnas = [of_mirnas.sequence(row) for row in mirna.tolist()]
    sites = [
        of_transcripts.sequence(row)[begin - 1 : end]
        for row, begin, end in zip(transcript.tolist(), *spans, strict=True)
    ]
    found = _in_processes(viennarna_duplex_energy, mirnas, sites)
    return pa.array(np.round(found, 2), pa.float64())


class Accessibilities:
    """Accessibility of the sites of hits: the probability that no letter of the aligned site pairs
    within its transcript (RNAplfold; ``WINDOW``, ``SPAN``).

    Every site is computed once, whatever miRNAs and isoforms share it, and is kept in a file by the
    letters of its transcript, where a later run finds it.
    """

    def __init__(
        self,
        tables: Iterable[pa.Table],
        state: SequenceArrays,
        folder: Path,
    ) -> None:
        """tables : hits (``tables.hits_table``). folder : where ``CACHE`` is.

        Raises ConfigError where ViennaRNA is not installed.
        """
        key = f"{package('extras.accessibility').__version__} {WINDOW} {SPAN}".encode()
        self._state = state
        _, transcripts = state_sequences(state)
        rows = range(len(transcripts))
        texts = (transcripts.sequence(row).upper().replace("T", "U") for row in rows)
        digests = [hashlib.blake2b(t.encode(), digest_size=8, key=key).digest() for t in texts]
        self._content = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
        parts = [self._sites(table).drop_duplicates() for table in tables]
        sites = pd.concat(parts, ignore_index=True).drop_duplicates(SITE, ignore_index=True)
        known = _read(folder / CACHE)
        sites = sites.merge(known, on=SITE, how="left")
        new = np.flatnonzero(sites["accessibility"].isna())
        if new.size:
            wanted = sites.iloc[new]
            places = list(wanted.groupby("content", sort=False).indices.values())
            firsts = [wanted["row"].iloc[rows[0]] for rows in places]
            letters = [transcripts.sequence(row) for row in firsts]
            spans = (
                [wanted[name].to_numpy()[rows] for rows in places] for name in ("begin", "end")
            )
            result = np.empty(len(wanted))
            result[np.concatenate(places)] = np.concatenate(
                _in_processes(site_accessibilities, letters, *spans)
            )
            sites.loc[new, "accessibility"] = [float(f"{value:.6g}") for value in result.tolist()]
            found = pd.concat([known, sites.iloc[new][known.columns]], ignore_index=True)
            with atomic_path(folder / CACHE) as temporary:
                found.to_parquet(temporary, index=False)
        self._found = sites[[*SITE, "accessibility"]]

    def column(self, hits: pa.Table) -> pa.Array:
        """The column of some of the hits."""
        found = self._sites(hits).merge(self._found, on=SITE, how="left")
        return pa.array(found["accessibility"].to_numpy(np.float64), pa.float64())

    def _sites(self, hits: pa.Table) -> pd.DataFrame:
        """``SITE`` of each hit, and ``row``, its transcript in the state."""
        row = state_rows(hits, self._state)[1]
        return pd.DataFrame(
            {
                "content": self._content[row],
                "begin": hits["site_begin"].to_numpy(),
                "end": hits["site_end"].to_numpy(),
                "row": row,
            }
        )


def _in_processes(work: Callable[..., R], *columns: Sequence[object]) -> list[R]:
    """``work`` of each row of the columns, by forks of this process: ViennaRNA holds Python's
    lock."""
    jobs = len(columns[0])
    forks = min(get_num_threads(), jobs // FOR_ONE_PROCESS + 1)
    return list(in_forks(forks, work, *columns, at_once=max(1, jobs // (16 * forks))))


def _read(path: Path) -> pd.DataFrame:
    """What was found before; nothing of a file that cannot be read, which is written anew."""
    types = {"content": np.uint64, "begin": np.int32, "end": np.int32, "accessibility": np.float64}
    none = pd.DataFrame(columns=list(types)).astype(types)
    if not path.is_file():
        return none
    try:
        found = read_table(path)
    except StoreError:
        return none
    return found if dict(found.dtypes) == dict(none.dtypes) else none
