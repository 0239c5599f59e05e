"""Tiles that another run scored, taken from its chunk files.

A tile is known by a key: the digest of all that its rows and sums depend on (``ReusableTiles``).
Equal keys mean equal rows, so that earlier chunk files change nothing but the time.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pairtile.engine.chunk_file import HEADER_KEY, ChunkFile, Rows, Summaries
from pairtile.engine.estimator import Estimator
from pairtile.engine.selection import Selection
from pairtile.engine.stages import ReusableTiles
from pairtile.engine.tiles import Tile
from pairtile.errors import StoreError
from pairtile.runtime.files import json_digest
from pairtile.runtime.record import log


class EarlierTiles:
    """Scores tiles, and takes those that earlier chunk files hold from there.

    opened : estimator that computes the others. settings : digest of what all tiles of an analysis
    depend on. folder : of the earlier chunk files; None: there are none. ``scored`` : number and
    sums of each tile by its key, for the header of the chunk file. ``taken`` : how many tiles were
    not computed.
    """

    def __init__(self, opened: Estimator, settings: str, folder: Path | None) -> None:
        self.scored: dict[str, tuple[int, Summaries]] = {}
        self.taken = 0
        self._opened, self._settings = opened, settings
        self._digests: dict[tuple[int, int, bool], str] = {}
        self._file: ChunkFile | None = None  # neighbouring tiles lie in one
        paths = [] if folder is None else sorted(folder.glob("tiles-*.parquet"))
        self._files = {key: path for path in paths for key in _keys(path)}

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        """As ``Estimator.score_tile``."""
        held = (
            self._digest(tile.row_begin, tile.row_end, False),
            self._digest(tile.column_begin, tile.column_end, True),
        )
        place = tile.row_begin, tile.row_end, tile.column_begin, tile.column_end
        key = json_digest([self._settings, place, *held]) if all(held) else None
        found = self._earlier(key) if key in self._files else None
        self.taken += found is not None
        rows, sums = found or self._opened.score_tile(tile, selection)
        if key is not None:
            self.scored[key] = tile.number, sums
        return rows, sums

    def _digest(self, begin: int, end: int, columns: bool) -> str:
        """Of what a tile depends on in its rows or columns; "": of more than its own items."""
        block = begin, end, columns
        if block not in self._digests:
            digest, opened = sha256(), self._opened
            held = isinstance(opened, ReusableTiles) and opened.block_arrays(*block)
            for array in map(np.ascontiguousarray, held or ()):
                digest.update(f"{array.dtype.str} {array.shape} ".encode() + array.tobytes())
            self._digests[block] = digest.hexdigest() if held else ""
        return self._digests[block]

    def _earlier(self, key: str) -> tuple[Rows, Summaries] | None:
        path = self._files[key]
        try:
            if self._file is None or self._file.path != path:
                self._file = ChunkFile(path)
            file = self._file
            number, sums = file.reusable_tile(key)
            table = file.read_tile(number)
        except (StoreError, OSError) as error:  # another run's, which may have lost it
            log.warning("scored again: %s", error)
            return None
        return {name: table[name].combine_chunks() for name in table.column_names}, sums


def _keys(path: Path) -> list[str]:
    """Keys of the tiles in a chunk file, from its header alone; none of one that is damaged."""
    try:
        return list(json.loads(pq.read_metadata(path).metadata[HEADER_KEY])["reusable"])
    except (OSError, pa.ArrowException, TypeError, KeyError, ValueError) as error:
        log.warning("no tile is taken from %s: %r", path, error)
        return []
