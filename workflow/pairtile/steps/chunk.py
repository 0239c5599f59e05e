"""Rule ``chunk``: one chunk of tiles -> one chunk file. Stages: ``scan`` (sums) and ``chunks``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from pairtile.engine.chunk_file import (
    PASSED,
    RANK_SCORE,
    ChunkHeader,
    Rows,
    Summaries,
    write_chunk,
)
from pairtile.engine.chunk_progress import ChunkProgress
from pairtile.engine.earlier_tiles import EarlierTiles
from pairtile.engine.selection import Selection, score_tiles
from pairtile.engine.stages import FirstPass, selection_of
from pairtile.engine.tiles import Tile
from pairtile.gpu.device import threads
from pairtile.runtime.files import read_arrays
from pairtile.runtime.host_memory import peak_host_bytes
from pairtile.runtime.record import log, recorded
from pairtile.runtime.threads import one_ahead
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.null import read_null
from pairtile.steps.plan import read_plan


def chunk(run: AnalysisRun, stage: str, name: str) -> None:
    """Compute one chunk and write its file, whole or not at all.

    stage : ``scan`` or ``chunks``. name : of the chunk in the plan.
    """
    # Results do not depend on it; a scan takes nothing from others.
    reuse = getattr(run.config, "reuse", None) if stage == "chunks" else None
    out = run.folder / stage / f"{name}.parquet"
    with recorded(f"{stage} {name}") as step:
        plan = read_plan(run.plan)
        todo = plan.chunk(name)
        opened = plan.open_estimator(run.config.for_step("score"), run.state, todo.backend)
        tiles = plan.tiles[todo.first : todo.last + 1]
        cost = opened.cost(opened.config, opened.state, plan.backend, threads())
        work = {tile: cost.tile(tile) for tile in tiles}
        label = run.name + (", first pass" if stage == "scan" else "")
        progress = ChunkProgress(
            *(label, out.parent, run.plan, plan.chunks),
            *(todo, list(work.values()), cost.unit),
        )

        def counted() -> Iterator[Tile]:
            for tile in tiles:
                yield tile
                progress.advance(work[tile])

        summaries: Summaries = {}
        earlier = EarlierTiles(opened, plan.settings, Path(reuse) / "chunks" if reuse else None)
        header = ChunkHeader(plan.stage_fingerprint(stage), [], summaries, {}, earlier.scored)

        def score(tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
            if stage == "chunks":
                return earlier.score_tile(tile, selection)
            assert isinstance(opened, FirstPass)
            # A scan writes no rows; Parquet wants a column.
            return {"i": np.empty(0, dtype=np.int32)}, opened.scan_tile(tile)

        selection, schema = Selection(everything=True), pa.schema([("i", pa.int32())])
        if stage == "chunks":
            selection, schema = selection_of(opened, read_null(run)), opened.schema()
            if plan.scan:
                selection = replace(selection, scan=read_arrays(run.folder / "scan.npz"))
        if selection.top:
            schema = schema.append(pa.field(PASSED, pa.bool_()))
            schema = schema.append(pa.field(RANK_SCORE, pa.float64()))

        def computed() -> Iterator[tuple[int, Rows]]:
            for tile, rows in score_tiles(score, counted(), selection, summaries):
                yield tile.number, rows
            progress.log_progress()
            if reuse:
                header.record["tiles_taken"] = earlier.taken
                log.info("%d of %d tiles taken from %s", earlier.taken, len(tiles), reuse)
            header.record.update(
                seconds=round(step.elapsed(), 3),
                peak_memory_bytes=peak_host_bytes(),
                device=opened.device.name,
                backend=opened.device.backend,
                peak_gpu_memory_bytes=opened.device.peak_bytes(),
            )

        # While a GPU is at one tile, the one before is written.
        ahead = stage == "chunks" and opened.device.backend == "cuda"
        write_chunk(out, schema, one_ahead(computed()) if ahead else computed(), header)
