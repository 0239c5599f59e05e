"""Before a run: what an earlier one left is taken over only whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Container, Iterator
from functools import partial
from pathlib import Path

from pairtile.config.downstream import STAGES
from pairtile.engine.state import MANIFEST, verified_state
from pairtile.errors import StoreError
from pairtile.runtime.files import read_json, verified
from pairtile.steps.merge import damaged_chunks
from pairtile.steps.plan import read_plan
from pairtile.steps.tables import verified_table

_WITH_CHECKSUM = (
    *("plan.json", "evaluation.json", "summary.json", "steps/*.json"),
    *("null.npz", "scan.npz", "chunks.npz", "scores.npz", "network_data.npz"),
    *("items.parquet", "pairs.parquet", "network.parquet", "bootstraps/*.parquet"),
)


def remove_damaged(folder: Path, dry_run: bool = False) -> dict[Path, str]:
    """Remove the damaged files of an analysis, before a run decides what is missing: their steps
    run again then, and those that read what these write.

    Of chunk files, those of another analysis go, too. Stages that are merged already are left
    alone: nothing reads their chunks.

    Parameters
    ----------
    folder
        Results folder of one analysis; need not exist.
    dry_run
        Say what would be removed and remove nothing.

    Returns
    -------
    What is wrong, by the path of the file, or of the folder of a state.
    """
    damaged = {}
    for path, verify in _files(folder):
        try:
            verify()
        except StoreError as error:
            damaged[path] = str(error)
    damaged |= _chunks(folder, damaged)
    for path in () if dry_run else damaged:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return damaged


def _files(folder: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Files of an analysis that later steps read, each with its check, which raises StoreError."""
    for pattern in _WITH_CHECKSUM:
        for path in sorted(folder.glob(pattern)):
            yield path, partial(verified, path)
    for state in (folder / "state", folder / "values"):
        if (state / MANIFEST).exists():  # without one it is in the making
            yield state, partial(verified_state, state)
    for step in ("tables", *(stage.name for stage in STAGES)):
        record = folder / "steps" / f"{step}.json"
        try:
            tables = read_json(record)["details"].get("checksums", {}) if record.exists() else {}
        except StoreError:
            tables = {}  # made again, with all tables
        for path in (folder / name for name in tables):
            if path.exists():
                yield path, partial(verified_table, path, step)


def _chunks(folder: Path, damaged: Container[Path]) -> dict[Path, str]:
    """Chunk files that a run would take over and cannot."""
    try:
        plan = read_plan(folder / "plan.json")
    except (StoreError, KeyError, TypeError):
        return {}  # without a plan every chunk is computed anew
    found: dict[Path, str] = {}
    merged_into = {"scan": ["scan.npz"], "chunks": ["chunks.npz", "pairs.parquet"]}
    for stage, merged in merged_into.items():
        paths = sorted((folder / stage).glob("tiles-*.parquet"))  # no temporary files
        newest = max((path.stat().st_mtime for path in paths), default=0.0)
        results = [folder / name for name in merged]
        whole = all(path.exists() and path not in damaged for path in results)
        if not (whole and min(path.stat().st_mtime for path in results) >= newest):
            found |= damaged_chunks(paths, plan.stage_fingerprint(stage))
    return found
