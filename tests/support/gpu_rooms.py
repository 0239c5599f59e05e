"""A chunk on a GPU with little memory, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from small_analyses import ANALYSES, cut_small
from workflow_runs import Analysis, temporary_files


def failures_in_rooms(folder: Path, name: str, rooms: Sequence[int]) -> int:
    """Compute a chunk with so many bytes of GPU memory more than are in use, for each of ``rooms``.

    Asserts that it fails with one of our errors or a MemoryError and leaves nothing, or gives the
    same result; returns how often it failed. In a new process: what other tests left in CuPy's pool
    keeps whole chunks of memory there, whose free parts are handed out without counting against the
    pool's limit, so that small tiles would always find room.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(_failures_in_rooms, folder, name, rooms).result()


def _failures_in_rooms(folder: Path, name: str, rooms: Sequence[int]) -> int:
    import cupy
    from pairtile.errors import PairtileError

    cut_small()
    write, section = ANALYSES[name]
    write(folder)
    analysis = Analysis(folder, section)
    analysis.backend = "cuda"
    analysis.pairs()
    expected = (analysis.out / "pairs.parquet").read_bytes()
    chunk = analysis.plan.chunks[0].name
    target = analysis.out / "chunks" / f"{chunk}.parquet"
    pool = cupy.get_default_memory_pool()
    failures = 0
    for room in rooms:
        target.unlink()
        pool.free_all_blocks()
        pool.set_limit(size=pool.used_bytes() + room)
        try:
            analysis.compute("chunks", [chunk])
        except (PairtileError, MemoryError):
            failures += 1
            assert not target.exists()
            assert temporary_files(analysis.out) == []
        finally:
            pool.set_limit(size=0)
        if not target.exists():
            analysis.compute("chunks", [chunk])
        analysis.merge()
        assert (analysis.out / "pairs.parquet").read_bytes() == expected
    return failures
