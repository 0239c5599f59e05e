"""Chunk files: written whole or not at all, verified when opened.

A chunk file is Parquet, one row group for each tile that has rows. Its metadata entry
``pairtile`` is a JSON header: format version, fingerprint of the analysis, the tiles it holds with
their row counts, summaries (integer arrays, added exactly by the merge), a record of the job, and
tiles that other analyses may take, by their key. As any Parquet file of pairtile, it carries its
checksum.

Two optional columns steer the merge and do not reach the merged table: ``passed`` (kept for its
own sake) and ``rank_score`` (kept while among the best ``top`` of the whole analysis).
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.errors import StoreError
from pairtile.runtime.files import atomic_path, verified

FORMAT_VERSION = 2
HEADER_KEY = b"pairtile"
RANK_SCORE = "rank_score"
PASSED = "passed"

Arrays = Mapping[str, NDArray[Any]]
Rows = Arrays
Summaries = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class ChunkHeader:
    """What a chunk file says of itself."""

    fingerprint: str
    tiles: list[tuple[int, int]]
    """Number and row count of each tile, in order."""
    summaries: Summaries
    record: dict[str, object] = field(default_factory=dict)
    reusable: Mapping[str, tuple[int, Summaries]] = field(default_factory=dict)
    """Number and summaries of tiles by their key (``earlier_tiles``), for the writer; a reader asks
    ``reusable_tile``."""


def _pack(array: NDArray[np.int64]) -> dict[str, object]:
    data = np.ascontiguousarray(array, dtype="<i8").tobytes()
    text = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
    return {"shape": list(array.shape), "data": text}


def _packed(summaries: Summaries) -> dict[str, object]:
    return {name: _pack(values) for name, values in sorted(summaries.items())}


def _unpack(packed: Mapping[str, Any]) -> NDArray[np.int64]:
    data = zlib.decompress(base64.b64decode(packed["data"], validate=True))
    return np.frombuffer(data, dtype="<i8").reshape(packed["shape"]).astype(np.int64)


def column(values: NDArray[np.generic] | pa.Array, kind: pa.DataType) -> pa.Array:
    """Rows of bytes (uint8, shape (rows, width)) become values of a fixed width."""
    if isinstance(values, pa.Array) or not pa.types.is_fixed_size_binary(kind):
        return pa.array(values, type=kind)
    data = np.ascontiguousarray(values, dtype=np.uint8)
    if data.shape != (len(data), kind.byte_width):
        raise ValueError(f"found bytes of shape {data.shape}; expected (rows, {kind.byte_width})")
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(data), [None, pa.py_buffer(data)])


def dictionary_columns(schema: pa.Schema) -> list[str]:
    """The columns of a table of pairs that Parquet writes by a dictionary: not real numbers, which
    hardly repeat. With one, a table of them takes half as long again to write and four times as
    long to read."""
    return [f.name for f in schema if not pa.types.is_floating(f.type)]


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
    written: list[tuple[int, int]] = []
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            use_dictionary=dictionary_columns(schema),
            write_statistics=False,
            store_schema=False,
        ) as writer,
    ):
        for number, rows in tiles:
            arrays = [column(rows[f.name], f.type) for f in schema]
            table = pa.Table.from_arrays(arrays, schema=schema)
            written.append((number, table.num_rows))
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)
        head = {
            "format_version": FORMAT_VERSION,
            "fingerprint": header.fingerprint,
            "tiles": written,
            "summaries": _packed(header.summaries),
            "record": header.record,
            "reusable": {key: (n, _packed(sums)) for key, (n, sums) in header.reusable.items()},
        }
        writer.add_key_value_metadata({HEADER_KEY: json.dumps(head, sort_keys=True)})


class ChunkFile:
    """A chunk file to be read; every problem is a ``StoreError`` that names the file.

    It is open only while something is read: a merge of thousands would hold more files than a
    process may have.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = verified(path)
        with pq.ParquetFile(self.path) as file:
            self._metadata = file.metadata
            self.schema = file.schema_arrow
        raw = (self._metadata.metadata or {}).get(HEADER_KEY)
        head: dict[str, Any] = {"format_version": "none"} if raw is None else json.loads(raw)
        if head["format_version"] != FORMAT_VERSION:
            found, expected = f"chunk format {head['format_version']}", f"format {FORMAT_VERSION}"
            raise StoreError.at(self.path, "header", found, expected)
        self.header = ChunkHeader(
            fingerprint=head["fingerprint"],
            tiles=[(int(n), int(rows)) for n, rows in head["tiles"]],
            summaries={k: _unpack(v) for k, v in head["summaries"].items()},
            record=head["record"],
        )
        self._reusable = head.get("reusable", {})
        with_rows = (number for number, rows in self.header.tiles if rows)
        self._groups = {number: group for group, number in enumerate(with_rows)}

    def read_tile(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of one tile."""
        if number not in self._groups:
            wanted = columns or self.schema.names
            return pa.schema([self.schema.field(c) for c in wanted]).empty_table()
        with pq.ParquetFile(self.path, metadata=self._metadata) as file:
            return file.read_row_group(self._groups[number], columns=columns)

    def reusable_tile(self, key: str) -> tuple[int, Summaries]:
        """Number and summaries of the tile with a key."""
        number, sums = self._reusable[key]
        return number, {name: _unpack(packed) for name, packed in sums.items()}

    def verify(self, fingerprint: str, tiles: Sequence[int] | None = None) -> None:
        """Check that the file is of this analysis, and holds these tiles."""
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


def _range(tiles: Sequence[int]) -> str:
    return f"tiles {tiles[0]} to {tiles[-1]}" if tiles else "no tiles"


def add_summaries(total: Summaries, part: Mapping[str, NDArray[np.int64]]) -> None:
    """Add integer summaries in place: exact, so independent of order and grouping."""
    for name, values in part.items():
        total[name] = total.get(name, 0) + values
