"""Chunk files of random rows, of a rectangle of 20 x 20 pairs in 16 tiles."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
from pairtile.engine.chunk_file import ChunkFile, ChunkHeader, write_chunk
from pairtile.engine.merging import MergeRules, merge

SCHEMA = pa.schema([("i", pa.int32()), ("j", pa.int32()), ("mi_bits", pa.float64())])
RANKED = SCHEMA.append(pa.field("passed", pa.bool_())).append(pa.field("rank_score", pa.float64()))
PRINT = "f" * 64
EDGE, TILES_ACROSS = 5, 4
BANDS = [t // TILES_ACROSS for t in range(TILES_ACROSS**2)]


def tile_rows(number, seed=0, ranked=False):
    """Random rows of one tile of a 20 x 20 rectangle, sorted by (i, j)."""
    random = np.random.default_rng([seed, number])
    band, column = divmod(number, TILES_ACROSS)
    cells = np.flatnonzero(random.random(EDGE * EDGE) < 0.6)
    if number % 5 == 3:
        cells = cells[:0]
    rows = {
        "i": (band * EDGE + cells // EDGE).astype(np.int32),
        "j": (column * EDGE + cells % EDGE).astype(np.int32),
        "mi_bits": random.random(cells.size).round(2),
    }
    if ranked:
        rows["rank_score"] = rows["mi_bits"]
        rows["passed"] = random.random(cells.size) < 0.1
    return rows


def write(folder, chunks, ranked=False, fingerprint=PRINT):
    """Write tiles as chunks: a list of lists of tile numbers. Returns the paths."""
    paths = []
    for numbers in chunks:
        path = folder / f"tiles-{numbers[0]:06d}-{numbers[-1]:06d}.parquet"
        summary = {"pairs": np.array([EDGE * EDGE * len(numbers)]), "sum": np.array(numbers[:1])}
        tiles = ((n, tile_rows(n, ranked=ranked)) for n in numbers)
        write_chunk(
            path, RANKED if ranked else SCHEMA, tiles, ChunkHeader(fingerprint, [], summary)
        )
        paths.append(path)
    return paths


def cut(lengths):
    numbers = iter(range(TILES_ACROSS**2))
    return [part for n in lengths if (part := list(itertools.islice(numbers, n)))]


def merged(paths, out, band_of_tile=BANDS, **options):
    for path in paths:
        ChunkFile(path).verify(PRINT)
    columns = [c for c in ChunkFile(paths[0]).schema if c.name not in ("passed", "rank_score")]
    rules = MergeRules(band_of_tile, ("i", "j"), schema=pa.schema(columns), **options)
    return merge(paths, out, rules)
