"""Results of chunks on disk, and their merge."""

from pairtile.store.chunk_file import (
    FORMAT_VERSION,
    PASSED,
    RANK_SCORE,
    ChunkFile,
    ChunkHeader,
    Rows,
    Summaries,
    add_summaries,
    write_chunk,
)
from pairtile.store.merging import MergeResult, merge

__all__ = [
    "FORMAT_VERSION",
    "PASSED",
    "RANK_SCORE",
    "ChunkFile",
    "ChunkHeader",
    "MergeResult",
    "Rows",
    "Summaries",
    "add_summaries",
    "merge",
    "write_chunk",
]
