"""Before a run: what an earlier one left is taken over only whole, and only where it belongs."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pairtile.engine.custody import Custody, custody, misplaced, verified_by_record
from pairtile.engine.state import MANIFEST, verified_state
from pairtile.errors import StoreError
from pairtile.runtime.files import read_json, verified
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.merge import damaged_chunks
from pairtile.steps.plan import read_plan

_SEALED = (
    *("steps/*.json", "plan.json", "evaluation.json", "summary.json", "bootstraps/*.parquet"),
    *("null.npz", "scan.npz", "chunks.npz", "scores.npz", "network_data.npz"),
    *("items.parquet", "pairs.parquet", "network.parquet", "state/state.json", "values/state.json"),
)
"""Files that carry a seal, also where no record names them, as those of an earlier version."""


class Earlier(NamedTuple):
    """What is wrong with the files of an earlier run, by their paths (of a state, its folder), and
    whole files that were made with other settings: of steps that a changed configuration runs
    again, or of an analysis like this one."""

    damaged: dict[Path, str]
    other_settings: list[Path]


class _Survey(Custody):
    """Takes files of any analysis, and notes their seals."""

    def __init__(self, run: AnalysisRun) -> None:
        super().__init__(run.folder, run.config, run.seed)
        self.seals: dict[Path, str] = {}

    def check(self, path: Path, seal: str, checksum: str) -> None:
        self.seals[path.parent if path.name == MANIFEST else path] = seal


def earlier_files(run: AnalysisRun) -> Earlier:
    """Look at the files of an analysis that later steps read; its folder need not exist.

    Of chunk files, those of another analysis are damaged, too. Stages that are merged already are
    left alone: nothing reads their chunks.
    """
    survey, damaged = _Survey(run), {}
    with custody(survey):
        for path, verify in _files(run.folder):
            try:
                verify()
            except StoreError as error:
                damaged[path] = str(error)
        damaged |= _chunks(run.folder, damaged)
    # The one of most files: one of another analysis among them is a stranger.
    origins = Counter(seal[:32] for seal in survey.seals.values()).most_common(1)
    for path, seal in survey.seals.items():
        if seal[:32] != origins[0][0]:
            damaged.setdefault(path, str(misplaced(path, "a file of another analysis")))
    whole = {path: seal for path, seal in survey.seals.items() if path not in damaged}
    return Earlier(damaged, [path for path in whole if not survey.agrees(path, whole[path])])


def remove_damaged(run: AnalysisRun, dry_run: bool = False) -> Earlier:
    """Remove the damaged files of an analysis, before a run decides what is missing: their steps
    run again then, and those that read what these write. ``dry_run``: remove nothing."""
    found = earlier_files(run)
    for path in () if dry_run else found.damaged:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return found


def _files(folder: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Files that carry a seal, and those that records of steps name, each with its check, which
    raises StoreError."""
    for path in (path for kind in _SEALED for path in sorted(folder.glob(kind))):
        if path.name == MANIFEST:
            yield path.parent, partial(verified_state, path.parent)
            continue
        yield path, partial(verified, path)
        with suppress(StoreError, KeyError):
            for name, checksum in (
                read_json(path)["files"].items() if path.parent.name == "steps" else ()
            ):
                file = folder / name
                if file.is_file() and file.name != MANIFEST:
                    yield file, partial(verified_by_record, file, checksum)


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
