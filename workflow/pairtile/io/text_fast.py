"""The fast way through a text table: Arrow's multithreaded parser, for tables without fault."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from pairtile.io.checks import has_name_fault
from pairtile.io.text_file import is_gzip
from pairtile.io.text_layout import MISSING, Layout
from pairtile.io.unpacked import open_unpacked

# A block should hold many rows even of a wide table: Arrow makes one array per column and block.
_ROWS_PER_BLOCK = 128
_MIN_BLOCK = 1 << 20
_MAX_BLOCK = 1 << 26

_PIECE = 1 << 26
"""Bytes of text that are parsed together: what parsing takes beside the values stays so small."""


def read_fast(path: str | PathLike[str], layout: Layout) -> tuple[list[str], np.ndarray] | None:
    """Row names and values (rows, columns), float64, NaN where missing.

    None when anything is odd (ragged rows, text, infinite values, empty or repeated names, damaged
    gzip): ``read_careful`` then finds the place, or reads what is only unusual.
    """
    names: list[str] = []
    parts: list[np.ndarray] = []
    try:
        with open_unpacked(path) if is_gzip(path) else Path(path).open("rb") as stream:
            for k, piece in enumerate(_pieces(stream, layout)):
                table = _parse(piece, layout, skip_lines=0 if k else layout.skip_lines)
                part = _values(table, layout)
                if part is None:
                    return None
                names += [name.strip() for name in table.column(0).to_pylist()]
                parts.append(part)
    except (pa.ArrowException, OSError, EOFError, zlib.error):
        return None
    finally:
        pa.default_memory_pool().release_unused()
    if not names or has_name_fault(names):
        return None
    return names, _joined(parts)


def _pieces(stream: BinaryIO, layout: Layout) -> Iterator[pa.Buffer]:
    """The file's bytes in pieces of whole lines."""
    size = max(_PIECE, (layout.skip_lines + 8) * layout.row_bytes)
    rest = b""
    while block := stream.read(size):
        text = rest + block
        end = text.rfind(b"\n") + 1
        if text[:end].strip(b"\r\n"):
            yield pa.py_buffer(memoryview(text)[:end])
            rest = text[end:]
        else:
            rest = text
    if rest.strip(b"\r\n"):
        yield pa.py_buffer(rest)


def _parse(piece: pa.Buffer, layout: Layout, skip_lines: int) -> pa.Table:
    keys = [f"f{k}" for k in range(layout.width)]
    numbers = keys[layout.labels :]
    block = min(max(_MIN_BLOCK, _ROWS_PER_BLOCK * layout.row_bytes), _MAX_BLOCK)
    return pa.csv.read_csv(
        pa.BufferReader(piece),
        read_options=pa.csv.ReadOptions(column_names=keys, skip_rows=skip_lines, block_size=block),
        parse_options=pa.csv.ParseOptions(delimiter=layout.delimiter),
        convert_options=pa.csv.ConvertOptions(
            column_types={keys[0]: pa.string(), **dict.fromkeys(numbers, pa.float64())},
            include_columns=[keys[0], *numbers],
            null_values=sorted(MISSING),
            strings_can_be_null=False,
        ),
    )


def _values(table: pa.Table, layout: Layout) -> np.ndarray | None:
    """The numbers of a parsed piece, rows x columns; None where there is an odd one."""
    # Columns are contiguous in Arrow: fill the transpose row by row, and turn it over once.
    turned = np.empty((len(layout.columns), table.num_rows))
    n_null = 0
    for k in range(len(layout.columns)):
        column = table.column(k + 1)
        n_null += column.null_count
        turned[k] = column.to_numpy()
    # Every allowed spelling of missing is a null by now; another NaN came from odd text.
    if np.isinf(turned).any() or int(np.isnan(turned).sum()) != n_null:
        return None
    return np.ascontiguousarray(turned.T)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """All parts below each other; each goes as soon as it is copied."""
    if len(parts) == 1:
        return parts[0]
    values = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    end = len(values)
    while parts:
        part = parts.pop()
        values[end - len(part) : end] = part
        end -= len(part)
    return values
