"""Chunk files to one sorted table: every planned tile exactly once, one band of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.engine.chunk_file import (
    PASSED,
    RANK_SCORE,
    ChunkFile,
    Summaries,
    add_summaries,
    dictionary_columns,
)
from pairtile.engine.selection import RunningTopK
from pairtile.errors import StoreError
from pairtile.runtime.files import atomic_path
from pairtile.runtime.threads import one_ahead

MERGED_ROW_GROUP = 1 << 20


@dataclass(frozen=True)
class MergeRules:
    """How the rows of all tiles become one table."""

    band_of_tile: Sequence[int]
    """For each planned tile, in order, which band of rows it belongs to. Rows of different bands
    never interleave in ``sort_by`` order, so that one band at a time is held in memory."""
    sort_by: Sequence[str]
    """Columns that order the merged table; together unique."""
    top: int = 0
    """Keep rows that did not pass by themselves only while among the ``top`` best of all
    (``rank_score``; equal scores stay together). 0: chunks hold no ``rank_score`` column."""
    reduce: Callable[[pa.Table], pa.Table] | None = None
    """Makes the rows of one band, from all its tiles, those of the result."""
    schema: pa.Schema | None = None
    """Columns of the merged table; None where only summaries are wanted."""


def merge(
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None,
    rules: MergeRules,
) -> tuple[int, Summaries, dict[str, dict[str, object]]]:
    """Join chunk files into one sorted Parquet file and add up their summaries.

    Returns the number of rows written, the summed summaries, and the chunks' records by file name.

    Parameters
    ----------
    paths
        The chunk files, in any order.
    out
        The merged table; None where only summaries are wanted.
    rules
        Order and selection of its rows.

    Raises
    ------
    StoreError
        If a chunk is damaged, or a tile is missing or there twice. The caller knows that all are of
        its analysis (``ChunkFile.verify``).
    """
    files = [ChunkFile(path) for path in paths]
    seen: dict[int, ChunkFile] = {}
    for file in files:
        for number, _ in file.header.tiles:
            if number in seen:
                raise StoreError.at(
                    file.path, f"tile {number}", f"it also in {seen[number].path}", "each tile once"
                )
            seen[number] = file
    planned = len(rules.band_of_tile)
    missing = sorted(set(range(planned)) - set(seen))
    if missing or len(seen) != planned:
        raise StoreError(
            f"merge: found {len(seen)} tiles in {len(files)} chunk files, "
            f"missing {missing[:5]}; expected the {planned} tiles of the plan"
        )
    summaries: Summaries = {}
    for file in sorted(files, key=lambda f: f.header.tiles[0][0] if f.header.tiles else -1):
        add_summaries(summaries, file.header.summaries)
    rows = 0
    if out is not None:
        with (
            atomic_path(out) as temporary,
            pq.ParquetWriter(
                temporary,
                rules.schema,
                compression="zstd",
                use_dictionary=dictionary_columns(rules.schema),
            ) as writer,
        ):
            for group in one_ahead(_row_groups(seen, rules, rules.schema)):
                writer.write_table(group, row_group_size=MERGED_ROW_GROUP)
                rows += group.num_rows
    return rows, summaries, {file.path.stem: file.header.record for file in files}


def row_order(keys: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """Places of rows in the order of ``keys``, the first one first; equal ones as they come.

    Two columns of int32, item numbers from 0, are sorted as one of int64, in a tenth of the time:
    each tile brings a run that is in order.
    """
    if len(keys) == 2 and all(key.dtype == np.int32 for key in keys):
        first, second = (key.astype(np.int64) for key in keys)
        return np.argsort((first << 32) + (second + 2**31), kind="stable")
    return np.lexsort(list(reversed(keys)))


def _row_groups(
    file_of_tile: Mapping[int, ChunkFile], rules: MergeRules, schema: pa.Schema
) -> Iterator[pa.Table]:
    """The merged table in parts of a fixed size, so that its file's bytes depend on its rows
    alone; of no row, a part of none."""
    best = RunningTopK(rules.top)  # of all chunks, each of which holds its own best
    if rules.top:
        for number, file in file_of_tile.items():
            best.add(file.read_tile(number, [RANK_SCORE])[RANK_SCORE].to_numpy())
    waiting = schema.empty_table()
    for _, tiles in groupby(range(len(rules.band_of_tile)), rules.band_of_tile.__getitem__):
        table = pa.concat_tables([file_of_tile[number].read_tile(number) for number in tiles])
        if rules.top:
            scores = table[RANK_SCORE].to_numpy()
            keep = table[PASSED].to_numpy(zero_copy_only=False) | (scores >= best.threshold)
            table = table.filter(pa.array(keep)).select(schema.names)
        if rules.reduce is not None:
            table = rules.reduce(table)
        order = row_order([table[name].to_numpy() for name in rules.sort_by])
        table = table.take(pa.array(order)).replace_schema_metadata(None)
        waiting = pa.concat_tables([waiting, table]).combine_chunks()
        full = waiting.num_rows // MERGED_ROW_GROUP * MERGED_ROW_GROUP
        if full:
            yield waiting.slice(0, full)
            waiting = waiting.slice(full)
    yield waiting
