"""The fast way through a text table: Arrow's multithreaded parser, for tables without fault."""

from __future__ import annotations

import zlib
from os import PathLike

import numpy as np
import pyarrow as pa
import pyarrow.csv

from pairtile.inputs.checks import has_name_fault
from pairtile.inputs.text_file import is_gzip
from pairtile.inputs.text_layout import MISSING, Layout
from pairtile.inputs.unpacked import open_unpacked

# A block should hold many rows even of a wide table: Arrow makes one array per column and block.
_ROWS_PER_BLOCK = 128
_MIN_BLOCK = 1 << 20
_MAX_BLOCK = 1 << 26


def read_fast(path: str | PathLike[str], layout: Layout) -> tuple[list[str], np.ndarray] | None:
    """Row names and values (rows, columns), float64, NaN where missing.

    None when anything is odd (ragged rows, text, infinite values, empty or repeated names, damaged
    gzip): ``read_careful`` then finds the place, or reads what is only unusual.
    """
    table = _parse(path, layout)
    if table is None:
        return None
    names = [name.strip() for name in table.column(0).to_pylist()]
    if not names or has_name_fault(names):
        return None
    # Columns are contiguous in Arrow: fill the transpose row by row, and turn it over once.
    turned = np.empty((len(layout.columns), len(names)))
    n_null = 0
    for k in range(len(layout.columns)):
        column = table.column(k + 1)
        n_null += column.null_count
        turned[k] = column.to_numpy()
    del table
    # Every allowed spelling of missing is a null by now; another NaN came from odd text.
    if np.isinf(turned).any() or int(np.isnan(turned).sum()) != n_null:
        return None
    return names, np.ascontiguousarray(turned.T)


def _parse(path: str | PathLike[str], layout: Layout) -> pa.Table | None:
    keys = [f"f{k}" for k in range(layout.width)]
    numbers = keys[layout.labels :]
    block = min(max(_MIN_BLOCK, _ROWS_PER_BLOCK * layout.row_bytes), _MAX_BLOCK)
    try:
        with open_unpacked(path) if is_gzip(path) else pa.input_stream(str(path)) as stream:
            return pa.csv.read_csv(
                stream,
                read_options=pa.csv.ReadOptions(
                    column_names=keys, skip_rows=layout.skip_lines, block_size=block
                ),
                parse_options=pa.csv.ParseOptions(delimiter=layout.delimiter),
                convert_options=pa.csv.ConvertOptions(
                    column_types={keys[0]: pa.string(), **dict.fromkeys(numbers, pa.float64())},
                    include_columns=[keys[0], *numbers],
                    null_values=sorted(MISSING),
                    strings_can_be_null=False,
                ),
            )
    except (pa.ArrowException, OSError, EOFError, zlib.error):
        return None
