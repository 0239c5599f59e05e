"""Chunk files: written whole or not at all, verified when read.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.errors import StoreError
from pairtile.runtime.files import atomic_path
from pairtile.runtime.threads import in_threads

FORMAT_VERSION = 1
HEADER_KEY = b"pairtile"
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
        if pa.types.is_string(column.type):
            lengths = pc.binary_length(column).to_numpy(zero_copy_only=False)
            digest.update(np.ascontiguousarray(lengths, dtype=np.int32).tobytes())
            digest.update(_letters(column))
        elif pa.types.is_fixed_size_binary(column.type):
            digest.update(_fixed_bytes(column))
        else:
            digest.update(np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).tobytes())


def _letters(column: pa.Array) -> bytes:
    """All letters of a column of texts, one text after the other."""
    _, offsets, letters = column.buffers()
    if not len(column) or letters is None:
        return b""
    places = np.frombuffer(offsets, dtype=np.int32)[column.offset :][: len(column) + 1]
    return memoryview(letters)[int(places[0]) : int(places[-1])].tobytes()


def _fixed_bytes(column: pa.Array) -> memoryview:
    """The bytes of a column whose values have one width, one value after the other."""
    width = column.type.byte_width
    data = column.buffers()[1]
    if not len(column) or data is None or not width:
        return memoryview(b"")
    return memoryview(data)[column.offset * width : (column.offset + len(column)) * width]


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    """Rows of bytes (uint8, shape (rows, width)) become values of a fixed width."""
    if not pa.types.is_fixed_size_binary(kind):
        return pa.array(values, type=kind)
    data = np.ascontiguousarray(values, dtype=np.uint8)
    if data.shape != (len(data), kind.byte_width):
        raise ValueError(f"found bytes of shape {data.shape}; expected (rows, {kind.byte_width})")
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(data), [None, pa.py_buffer(data)])


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
            arrays = [_column(rows[f.name], f.type) for f in schema]
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
    """A chunk file to be read; every problem is a ``StoreError`` that names the file.

    It is open only while something is read: a merge of thousands would hold more files than a
    process may have.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            with pq.ParquetFile(self.path) as file:
                self._metadata = file.metadata
                self._schema = file.schema_arrow
            raw = (self._schema.metadata or {}).get(HEADER_KEY)
            if raw is None:
                raw = (self._metadata.metadata or {})[HEADER_KEY]
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
        if self._metadata.num_row_groups != len(self._groups):
            raise self._damaged(f"{self._metadata.num_row_groups} row groups")

    def _damaged(self, why: object) -> StoreError:
        why_text = str(why).splitlines()[0] if str(why) else type(why).__name__
        return StoreError.at(
            self.path,
            "",
            f"a damaged chunk file ({why_text})",
            "a whole one",
        )

    @property
    def schema(self) -> pa.Schema:
        """Columns of the table."""
        return self._schema

    def read_tile(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of one tile."""
        try:
            if number not in self._groups:
                wanted = columns or self._schema.names
                schema = pa.schema([self._schema.field(c) for c in wanted])
                return schema.empty_table()
            with self._open() as file:
                return file.read_row_group(self._groups[number], columns=columns)
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
            raise StoreError.at(self.path, "header", _range(held), _range(list(tiles)))
        digest = hashlib.blake2b(digest_size=16)
        tables = in_threads(self.read_tile, held)
        for (number, rows), table in zip(self.header.tiles, tables, strict=True):
            if table.num_rows != rows:
                raise self._damaged(f"tile {number} has {table.num_rows} rows, not {rows}")
            _table_hash(digest, table)
        digest.update(self._head_text.encode())
        if digest.hexdigest() != self._checksum:
            raise self._damaged("its checksum does not agree with its content")

    def _open(self) -> pq.ParquetFile:
        return pq.ParquetFile(self.path, metadata=self._metadata, page_checksum_verification=True)


def _range(tiles: Sequence[int]) -> str:
    return f"tiles {tiles[0]} to {tiles[-1]}" if tiles else "no tiles"


def add_summaries(total: Summaries, part: Mapping[str, NDArray[np.int64]]) -> None:
    """Add integer summaries in place: exact, so independent of order and grouping."""
    for name, values in part.items():
        if name in total:
            total[name] = total[name] + values
        else:
            total[name] = values.copy()
