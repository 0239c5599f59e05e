"""Rules ``merge_scan`` and ``merge``: checked union of the chunk files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pairtile.declare.columns import with_metadata
from pairtile.declare.messages import messages_of
from pairtile.engine.chunk_file import ChunkFile
from pairtile.engine.estimator import estimator_of
from pairtile.engine.merging import MergeRules
from pairtile.engine.merging import merge as merge_chunks
from pairtile.engine.stages import CandidateMerge, selection_of
from pairtile.engine.state import open_state
from pairtile.errors import StoreError
from pairtile.gpu.device import choose
from pairtile.method import get_method
from pairtile.runtime.files import write_arrays
from pairtile.runtime.record import recorded
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.null import read_null
from pairtile.steps.plan import read_plan

message = messages_of(__package__)


def merge(run: AnalysisRun, stage: str) -> None:
    """Merge the chunk files of a stage (``scan`` or ``chunks``): rows into ``pairs.parquet``,
    summed summaries into an .npz.

    A damaged or foreign chunk file is removed, so that the next run computes it again, and the
    error names it.
    """
    name = "merge" if stage == "chunks" else "merge_scan"
    pairs = run.folder / "pairs.parquet" if stage == "chunks" else None
    with recorded(name, run.record(name)) as step:
        plan = read_plan(run.plan)
        chunks = [run.folder / stage / f"{chunk.name}.parquet" for chunk in plan.chunks]
        method = estimator_of(plan.method, run.config)
        rules = MergeRules([tile.row_begin for tile in plan.tiles], method.sort_by)
        if pairs is not None:
            # The rules only; nothing is computed, so any machine will do.
            config, state = run.config.for_step("score"), open_state(run.state)
            opened = method(config, state, choose("cpu"), plan.precision)
            rules = replace(
                rules,
                top=selection_of(opened, read_null(run)).top,
                reduce=opened.reduce_band if isinstance(opened, CandidateMerge) else None,
                schema=with_metadata(
                    opened.schema(), get_method(plan.method).package, "pairs.parquet"
                ),
            )
        damaged = damaged_chunks(chunks, plan.stage_fingerprint(stage))
        if damaged:
            for path in damaged:
                path.unlink(missing_ok=True)
            them = "it" if len(damaged) == 1 else "them"
            remedy = f"removed; run the same command again to compute {them} again"
            if run.in_storage:
                remedy = f"remove {them} from the storage, or run again with --forcerun chunk"
            raise StoreError("\n".join([*damaged.values(), remedy]))
        rows, sums, records = merge_chunks(chunks, pairs, rules)
        write_arrays(run.folder / f"{stage}.npz", sums)
        step.count(chunks=len(chunks))
        if pairs is not None:
            step.count(pairs_stored=rows)
            taken = [r["tiles_taken"] for r in records.values() if "tiles_taken" in r]
            if taken:
                which = "tiles_taken" if any(taken) else "no_tiles_taken"
                step.log_messages(message(which, n=sum(taken), tiles=len(plan.tiles)))
            scored = {
                name: int(sums[name].sum()) for name in ("pairs", "pairs_scored") if name in sums
            }
            step.count(**scored)
            if len(scored) == 2:
                step.count(pairs_too_few_samples=scored["pairs"] - scored["pairs_scored"])
        step.details["chunks"] = records


def damaged_chunks(paths: Sequence[Path], fingerprint: str) -> dict[Path, str]:
    """What is wrong with chunk files that are damaged or of another analysis."""
    found = {}
    for path in paths:
        try:
            first, last = map(int, path.stem.split("-")[1:3])  # a chunk's name says its tiles
            ChunkFile(path).verify(fingerprint, range(first, last + 1))
        except StoreError as error:
            found[path] = str(error)
    return found
