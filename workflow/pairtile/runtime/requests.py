"""What jobs ask a scheduler for: memory and time, from the plan where there is one.

A request is a limit, not an estimate: a job that goes beyond it is killed. So it holds a safety
factor, and the next attempt asks for twice as much.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pairtile.config.downstream import read_of_others
from pairtile.config.export_formats import EXPORT_FORMATS, FORMAT_OF_SUFFIX
from pairtile.config.models import Analysis
from pairtile.runtime.files import read_json

Paths = str | Iterable[str | os.PathLike[str]]
"""Files and folders; Snakemake gives a single file, or a word for what is not known yet, as a
string."""

START_BYTES = 1 << 30
"""Python with its libraries takes 0.2 to 0.5 GiB before any data."""

CUDA_BYTES = 1 << 30
"""Host memory that the CUDA libraries and a context take beside it: measured 0.3 to 0.5 GiB."""

MAX_SMALL_JOBS = 8
"""The most jobs of one small analysis each; of more analyses, the processes of a job of many. The
same wherever it runs, as rules must be."""

MAX_SHARE = 40  # small analyses of a job: Snakemake notes all its inputs with each of its outputs

SMALL_ANALYSIS_SECONDS = 30.0
"""Seconds that a small analysis takes at most on a slow machine."""

MAX_SMALL_JOB_BYTES = 1 << 20

UNPACKED = {
    ".gz": 6,
    ".bz2": 8,
    ".xz": 8,
    ".zst": 6,
    ".parquet": 4,
    ".h5ad": 4,
    ".h5": 4,
    ".loom": 8,
}
"""How many times its bytes a compressed file stands for (a Parquet file says it itself)."""

VALUE_BYTES = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
"""Of Parquet's types of one width."""

STREAMED = frozenset({".dcd", ".h5md", ".nc", ".ncdf", ".trj", ".trr", ".tng", ".xtc"})
"""Trajectories: read a few frames at a time, whatever their length."""


def memory_mb(wanted: float, attempt: int = 1) -> int:
    """Memory to ask for in MiB: whole GiB, from two on, doubled with each attempt.

    Snakemake's resource is called ``mem_mb``; Slurm, AWS and Google take it as MiB.
    """
    return 1024 * max(2, math.ceil(wanted / (1 << 30))) * 2 ** (attempt - 1)


def minutes(seconds: float, attempt: int = 1, least: int = 15) -> int:
    """Minutes to ask for, for work estimated at ``seconds``; doubled with each attempt. ``least``:
    of a job's start, imports and compilation on a slow shared file system."""
    # The cost model knows an order of magnitude, and a limit kills.
    return max(least, math.ceil(4 * seconds / 60)) * 2 ** (attempt - 1)


def aws_memory_mb(wanted: int, threads: int) -> int:
    """The least memory from ``wanted`` MiB that AWS Batch's plugin takes for so many vCPUs.

    It knows fixed sizes for 1, 2, 4, 8 and 16 vCPUs; any other amount it replaces by the least.
    """
    step = 1024 * max(1, threads // 2 if threads > 4 else 1)
    most = {1: 8192, 2: 16384, 4: 30720, 8: 61440, 16: 122880}.get(threads, 8192 * threads)
    return min(most, max(2048 * threads, step * math.ceil(wanted / step)))


def file_bytes(paths: Paths) -> int:
    """Bytes that files and folders take. What is not there (yet) counts nothing."""
    return sum(part.stat().st_size for part in _files(paths))


def data_bytes(paths: Paths) -> int:
    """Bytes that files and folders bring into memory when they are read: unpacked, but without
    what is streamed, and without masks (``mask_bytes``)."""
    return sum(
        _parquet_bytes(part)[0]
        if part.suffix.lower() == ".parquet"
        else part.stat().st_size * UNPACKED.get(part.suffix.lower(), 1)
        for part in _files(paths)
        if part.suffix.lower() not in STREAMED
    )


def mask_bytes(paths: Paths, whole: bool = False) -> int:
    """Bytes of masks in Parquet files: of the largest row group, as they are read, or of all."""
    return sum(
        _parquet_bytes(part)[2 if whole else 1]
        for part in _files(paths)
        if part.suffix.lower() == ".parquet"
    )


def _parquet_bytes(path: Path) -> tuple[int, int, int]:
    """Bytes of the columns that are no masks; of the largest row group's masks; of all masks.

    From the file's footer: masks and repeated values are packed a hundredfold, so that its size
    says nothing. A file that cannot be read counts by ``UNPACKED``; whoever reads it will say what
    is wrong.
    """
    status = path.stat()
    return _footer_bytes(os.fspath(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1 << 14)
def _footer_bytes(path: str, mtime_ns: int, size: int) -> tuple[int, int, int]:
    # Snakemake's start should not wait for Arrow.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return UNPACKED[".parquet"] * size, 0, 0
    groups = [file.row_group(group) for group in range(file.num_row_groups)]
    values = mask = 0
    for number in range(file.num_columns):
        column = file.schema.column(number)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
            mask += column.length
        elif column.physical_type in VALUE_BYTES:
            values += VALUE_BYTES[column.physical_type] * file.num_rows
        else:  # texts: their letters, and where each begins
            letters = sum(group.column(number).total_uncompressed_size for group in groups)
            values += letters + 4 * file.num_rows
    most_rows = max((group.num_rows for group in groups), default=0)
    return values, mask * most_rows, mask * file.num_rows


def _files(paths: Paths) -> Iterator[Path]:
    for path in map(Path, [paths] if isinstance(paths, str) else paths):
        if path.is_dir():
            yield from (part for part in path.rglob("*") if part.is_file())
        elif path.is_file():
            yield path


def chunk_name(chunk: Mapping[str, Any]) -> str:
    """The name of a chunk in ``plan.json``, as in the file names."""
    other = f"-{chunk['backend']}" if "backend" in chunk else ""
    return f"tiles-{chunk['first_tile']:06d}-{chunk['last_tile']:06d}{other}"


class PlannedRequests:
    """What the jobs of one analysis ask for, read from its ``plan.json``."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.uses_gpu = plan["backend"] == "cuda"
        self.memory_bytes = int(plan["memory_bytes"])
        """Of one job that computes tiles; a chunk for the CPU beside GPUs says its own."""
        self.seconds = float(plan["estimated_seconds"])
        """Of all tiles together."""
        self.null_seconds = float(plan["null_seconds"])
        bands = math.ceil(plan["space"]["rows"] / plan["tile_edges"][0]) or 1
        self.band_share = min(1.0, 2 / bands)
        """Part of all rows in the largest band of tiles; the merge holds one band at a time."""
        self.chunks = {chunk_name(chunk): chunk for chunk in plan["chunks"]}


def read_requests(path: str | os.PathLike[str]) -> PlannedRequests | None:
    """The requests of a plan; None before there is one.

    A plan of ten thousand chunks is asked several times for each of them: it is read once.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return _read(os.fspath(path), status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=64)
def _read(path: str, mtime_ns: int, size: int, inode: int) -> PlannedRequests | None:
    raw = read_json(path)
    # A plan of an earlier version is made again; until then nothing is known.
    return PlannedRequests(raw) if "null_seconds" in raw else None


# --- one rule after the other ---------------------------------------------------------------------
# Paths are the rule's inputs, ``plan`` is that of ``read_requests``.


def is_small_job(read: Paths, plan: PlannedRequests | None, cores: int) -> bool:
    """Whether a job that reads these files has next to nothing to do."""
    seconds = plan.seconds if plan else 0.0
    # What is not there yet may be large.
    return seconds * cores <= 1.0 and 0 < file_bytes(read) < MAX_SMALL_JOB_BYTES


def is_small(config: Analysis, has_gpu: bool) -> bool:
    """Whether an analysis is one job, judged by what costs nothing to look at: settings, sizes of
    input files that are here, and whether a GPU is."""
    key, _, inner = config.jobs.many_draws.partition(".")
    draws = getattr(getattr(config, key, None), inner, None) if key else None
    files = {*config.input_files().values()} - {*config.downstream_inputs().values()}
    return (
        config.chunks == "auto"
        and not (read_of_others(config) or getattr(config, "reuse", None))
        and all(map(os.path.exists, files))
        and (1 + (draws or 0))
        * sum(part.stat().st_size * UNPACKED.get(part.suffix.lower(), 1) for part in _files(files))
        <= (config.jobs.small_gpu_bytes if has_gpu else config.jobs.small_bytes)
    )


def shares(small: Collection[str]) -> list[list[str]]:
    """Small analyses, by the jobs that compute them: one each, or many in a job, whose processes
    each pay once for imports."""
    names, each = [*small], 1 if len(small) <= MAX_SMALL_JOBS else MAX_SHARE
    return [names[k : k + each] for k in range(0, len(names), each)]


def small_memory(input: Paths, at_once: int) -> float:
    """Memory of a job of small analyses: what they read counts little beside what they compute,
    but beside a GPU (168 and 410 MB of text took 2.0 and 2.1 GB at most)."""
    return (2 + at_once) * START_BYTES + 8 * data_bytes(input)


def tiles_bytes(plan: PlannedRequests | None, chunk: str | None = None) -> float:
    """Memory of a job that computes tiles: of one chunk, or of any other job."""
    if plan is None:
        return START_BYTES
    return float(plan.chunks.get(chunk or "", {}).get("memory_bytes", plan.memory_bytes))


def tiles_seconds(plan: PlannedRequests | None, chunk: str | None = None) -> float:
    """Of one chunk, or of all where the plan no longer knows it; without its name, of the null."""
    if plan is None:
        return 0
    return plan.chunks.get(chunk, {}).get("seconds", plan.seconds) if chunk else plan.null_seconds


def bootstrap_seconds(plan: PlannedRequests | None, first: int, last: int) -> float:
    """Of one job of bootstraps: each draws a null, scores all pairs and prunes them."""
    return (last - first + 1) * (plan.null_seconds + plan.seconds + 0.5) if plan else 0


def merge_bytes(plan: PlannedRequests | None, chunks: Paths) -> float:
    """Memory of one band of tiles, while it is sorted, with what the table's writer holds."""
    share = plan.band_share if plan else 1
    rows = data_bytes(chunks) + mask_bytes(chunks, whole=True)
    return 1.5 * START_BYTES + 4 * share * rows


def network_bytes(
    plan: PlannedRequests | None,
    pairs: Paths,
    bootstraps: Paths,
    state: Paths,
    network_data: Paths,
    times: int,
) -> float:
    """Memory of all stored pairs, so many ``times`` what they take when read, or of a tile: the
    null of a network is computed like tiles."""
    stored = times * data_bytes(pairs) + 20 * data_bytes(bootstraps)
    read = 3 * (file_bytes(state) + file_bytes(network_data)) + 2 * mask_bytes(pairs)
    return max(tiles_bytes(plan), START_BYTES + stored + read)


def input_bytes(times: float, read: Paths, state: Paths = ()) -> float:
    """So many times the unpacked input; a state is mapped, not read into objects."""
    return START_BYTES + times * data_bytes(read) + 2 * mask_bytes(read) + 3 * file_bytes(state)


def report_bytes(read: Paths, state: Paths, tables: Paths) -> float:
    """Memory of what is read whole, the network first; of tables, however large, the page shows
    parts."""
    return input_bytes(10, read, state) + min(START_BYTES, 10 * data_bytes(tables))


def export_bytes(suffix: str, network: Paths, items: Paths) -> float:
    """Memory of the network in the format of that suffix, and of the table of items."""
    times = EXPORT_FORMATS[FORMAT_OF_SUFFIX[suffix]].memory_factor
    return START_BYTES + times * data_bytes(network) + 10 * data_bytes(items)
