"""Chunk files: written whole or not at all, verified when read, merged into one sorted table.

A chunk file is Parquet, one row group for each tile that has rows. Its metadata entry
``pairtile`` is a JSON header: format version, fingerprint of the analysis, the tiles it holds with
their row counts, summaries (integer arrays, added exactly by the merge), a record of the job, and
a checksum over all of it and every value of the table.

Two optional columns steer the merge and do not reach the merged table: ``passed`` (kept for its
own sake) and ``rank_score`` (kept while among the best ``top`` of the whole analysis).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.errors import StoreError
from pairtile.files import atomic_path

FORMAT_VERSION = 1
HEADER_KEY = b"pairtile"
MERGED_ROW_GROUP = 1 << 20
RANK_SCORE = "rank_score"
PASSED = "passed"

Rows = Mapping[str, NDArray[Any]]
Summaries = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class ChunkHeader:
    """What a chunk file says of itself."""

    fingerprint: str
    tiles: list[tuple[int, int]]
    """Number and row count of each tile, in order."""
    summaries: Summaries
    record: dict[str, Any] = field(default_factory=dict)


def _pack(array: NDArray[np.int64]) -> dict[str, Any]:
    data = np.ascontiguousarray(array, dtype="<i8").tobytes()
    text = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
    return {"shape": list(array.shape), "data": text}


def _unpack(packed: Mapping[str, Any]) -> NDArray[np.int64]:
    data = zlib.decompress(base64.b64decode(packed["data"], validate=True))
    return np.frombuffer(data, dtype="<i8").reshape(packed["shape"]).astype(np.int64)


def _table_hash(digest: Any, table: pa.Table) -> None:
    digest.update(table.schema.to_string(show_schema_metadata=False).encode())
    for name in table.column_names:
        column = table[name].combine_chunks()
        digest.update(np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).tobytes())


def write_chunk(
    path: str | os.PathLike[str],
    schema: pa.Schema,
    tiles: Iterable[tuple[int, Rows]],
    header: ChunkHeader,
) -> None:
    """Write one chunk file. ``tiles`` gives (tile number, columns) in order of tile number.

    ``header.tiles`` is filled in from what is written; summaries may still change while ``tiles``
    is consumed. The file appears under its name only when it is complete.
    """
    digest = hashlib.blake2b(digest_size=16)
    written: list[tuple[int, int]] = []
    # Nothing in the file but what the checksums cover: no statistics, no second schema.
    options = {"write_page_checksum": True, "write_statistics": False, "store_schema": False}
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", **options) as writer,
    ):
        for number, rows in tiles:
            arrays = [pa.array(rows[f.name], type=f.type) for f in schema]
            table = pa.Table.from_arrays(arrays, schema=schema)
            written.append((number, table.num_rows))
            _table_hash(digest, table)
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)
        head = {
            "format_version": FORMAT_VERSION,
            "fingerprint": header.fingerprint,
            "tiles": written,
            "summaries": {k: _pack(v) for k, v in sorted(header.summaries.items())},
            "record": header.record,
        }
        digest.update(json.dumps(head, sort_keys=True).encode())
        head["checksum"] = digest.hexdigest()
        writer.add_key_value_metadata({HEADER_KEY: json.dumps(head, sort_keys=True)})


class ChunkFile:
    """A chunk file opened for reading; every problem is a ``StoreError`` that names the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = pq.ParquetFile(self.path, page_checksum_verification=True)
            raw = (self._file.schema_arrow.metadata or {}).get(HEADER_KEY)
            if raw is None:
                raw = (self._file.metadata.metadata or {})[HEADER_KEY]
            head = json.loads(raw)
            if head["format_version"] != FORMAT_VERSION:
                raise StoreError.at(
                    self.path,
                    "header",
                    f"chunk format {head['format_version']}",
                    f"format {FORMAT_VERSION}",
                )
            self._checksum = head.pop("checksum")
            self._head_text = json.dumps(head, sort_keys=True)
            self.header = ChunkHeader(
                fingerprint=head["fingerprint"],
                tiles=[(int(n), int(rows)) for n, rows in head["tiles"]],
                summaries={k: _unpack(v) for k, v in head["summaries"].items()},
                record=head["record"],
            )
        except StoreError:
            raise
        except Exception as error:
            raise self._damaged(error) from error
        self._groups: dict[int, int] = {}
        for number, rows in self.header.tiles:
            if rows:
                self._groups[number] = len(self._groups)
        if self._file.metadata.num_row_groups != len(self._groups):
            raise self._damaged(f"{self._file.metadata.num_row_groups} row groups")

    def _damaged(self, why: object) -> StoreError:
        why_text = str(why).splitlines()[0] if str(why) else type(why).__name__
        return StoreError.at(
            self.path,
            "",
            f"a damaged chunk file ({why_text})",
            "a whole one",
        )

    def read_tile(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of one tile."""
        try:
            if number not in self._groups:
                wanted = columns or self._file.schema_arrow.names
                schema = pa.schema([self._file.schema_arrow.field(c) for c in wanted])
                return schema.empty_table()
            return self._file.read_row_group(self._groups[number], columns=columns)
        except Exception as error:
            raise self._damaged(error) from error

    def verify(self, fingerprint: str, tiles: Sequence[int] | None = None) -> None:
        """Check fingerprint, tiles and the checksum of every value."""
        if self.header.fingerprint != fingerprint:
            raise StoreError.at(
                self.path,
                "header",
                f"a chunk of another analysis ({self.header.fingerprint[:12]})",
                f"one with fingerprint {fingerprint[:12]}",
            )
        held = [n for n, _ in self.header.tiles]
        if tiles is not None and held != list(tiles):
            raise StoreError.at(self.path, "header", f"tiles {held}", f"tiles {list(tiles)}")
        digest = hashlib.blake2b(digest_size=16)
        for number, rows in self.header.tiles:
            table = self.read_tile(number)
            if table.num_rows != rows:
                raise self._damaged(f"tile {number} has {table.num_rows} rows, not {rows}")
            _table_hash(digest, table)
        digest.update(self._head_text.encode())
        if digest.hexdigest() != self._checksum:
            raise self._damaged("its checksum does not agree with its content")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def add_summaries(total: Summaries, part: Mapping[str, NDArray[np.int64]]) -> None:
    """Add integer summaries in place: exact, so independent of order and grouping."""
    for name, values in part.items():
        if name in total:
            total[name] = total[name] + values
        else:
            total[name] = values.copy()


@dataclass(frozen=True)
class MergeResult:
    """What the merge found: rows written, summed summaries, the chunks' records by file name."""

    rows: int
    summaries: Summaries
    records: dict[str, dict[str, Any]]


def _best_cut(files: Sequence[ChunkFile], top: int) -> float:
    """The ``top``-th best rank score of all chunks; -inf where there are not as many rows."""
    best = np.empty(0)
    for file in files:
        for number, _ in file.header.tiles:
            scores = file.read_tile(number, [RANK_SCORE])[RANK_SCORE].to_numpy()
            best = np.concatenate([best, scores])
            if best.size > 2 * top:
                best = -np.partition(-best, top - 1)[:top]
    return float(-np.partition(-best, top - 1)[top - 1]) if best.size >= top else -np.inf


def _bands(files: Sequence[ChunkFile], band_of_tile: Sequence[int]) -> Iterator[pa.Table]:
    """The rows of one band of tiles after the other."""
    where = {number: file for file in files for number, _ in file.header.tiles}
    parts: list[pa.Table] = []
    for number, band in enumerate(band_of_tile):
        parts.append(where[number].read_tile(number))
        if number + 1 == len(band_of_tile) or band_of_tile[number + 1] != band:
            yield pa.concat_tables(parts)
            parts = []


def merge(
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None,
    *,
    fingerprint: str,
    band_of_tile: Sequence[int],
    sort_by: Sequence[str],
    top: int = 0,
    reduce: Callable[[pa.Table], pa.Table] | None = None,
    verified: bool = False,
) -> MergeResult:
    """Join chunk files into one sorted Parquet file and add up their summaries.

    Parameters
    ----------
    paths
        The chunk files, in any order.
    out
        The merged table; None where only summaries are wanted.
    band_of_tile
        For each planned tile, in order, which band of rows it belongs to. Rows of different bands
        never interleave in ``sort_by`` order, so that one band at a time is held in memory.
    sort_by
        Columns that order the merged table; together unique.
    top
        Keep rows that did not pass by themselves only while among the ``top`` best of all
        (``rank_score``; equal scores stay together). 0: chunks hold no ``rank_score`` column.
    reduce
        Makes the rows of one band, from all its tiles, those of the result.
    verified
        The caller has just verified every file; do not read them a second time for it.

    Raises
    ------
    StoreError
        If a chunk is damaged, of another analysis, or a tile is missing or there twice.
    """
    files = [ChunkFile(path) for path in paths]
    seen: dict[int, Path] = {}
    for file in files:
        if not verified:
            file.verify(fingerprint)
        for number, _ in file.header.tiles:
            if number in seen:
                raise StoreError.at(
                    file.path, f"tile {number}", f"it also in {seen[number]}", "each tile once"
                )
            seen[number] = file.path
    missing = sorted(set(range(len(band_of_tile))) - set(seen))
    if missing or len(seen) != len(band_of_tile):
        raise StoreError(
            f"merge: found {len(seen)} tiles in {len(files)} chunk files, "
            f"missing {missing[:5]}; expected the {len(band_of_tile)} tiles of the plan"
        )
    summaries: Summaries = {}
    for file in sorted(files, key=lambda f: f.header.tiles[0][0] if f.header.tiles else -1):
        add_summaries(summaries, file.header.summaries)
    rows = 0
    if out is not None:
        cut = _best_cut(files, top) if top else -np.inf
        rows = _write_merged(files, Path(out), band_of_tile, sort_by, top, cut, reduce)
    records = {file.path.stem: file.header.record for file in files}
    for file in files:
        file.close()
    return MergeResult(rows, summaries, records)


def _write_merged(
    files: Sequence[ChunkFile],
    out: Path,
    band_of_tile: Sequence[int],
    sort_by: Sequence[str],
    top: int,
    cut: float,
    reduce: Callable[[pa.Table], pa.Table] | None,
) -> int:
    steering = {RANK_SCORE, PASSED} if top else set()
    fields = [f for f in files[0]._file.schema_arrow if f.name not in steering]
    schema = pa.schema(fields)
    rows = 0
    waiting: list[pa.Table] = []
    with (
        atomic_path(out) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for table in _bands(files, band_of_tile):
            if top:
                scores = table[RANK_SCORE].to_numpy()
                keep = table[PASSED].to_numpy(zero_copy_only=False) | (scores >= cut)
                table = table.filter(pa.array(keep)).select(schema.names)
            if reduce is not None:
                table = reduce(table)
            keys = [table[name].to_numpy() for name in reversed(sort_by)]
            table = table.take(pa.array(np.lexsort(keys))).replace_schema_metadata(None)
            rows += table.num_rows
            waiting.append(table)
            # Row groups of a fixed size, so that the file's bytes depend on its rows alone.
            joined = pa.concat_tables(waiting).combine_chunks()
            full = joined.num_rows // MERGED_ROW_GROUP * MERGED_ROW_GROUP
            if full:
                writer.write_table(joined.slice(0, full), row_group_size=MERGED_ROW_GROUP)
            waiting = [joined.slice(full)]
        writer.write_table(waiting[0], row_group_size=MERGED_ROW_GROUP)
    return rows
