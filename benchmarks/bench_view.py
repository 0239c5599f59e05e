"""``pairtile view``: partners of an item among a billion stored pairs; frames a second of a drawing
of 50,000 edges while it is dragged and zoomed.

    python -m benchmarks.bench_view FOLDER [ITEMS]    (needs 20 GB in FOLDER; ITEMS: default 44,722)
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pairtile.engine.merging import MERGED_ROW_GROUP
from pairtile.io.networks.page import write_html
from pairtile.io.networks.table import NetworkTable
from pairtile.runtime.files import write_json, write_parquet
from pairtile.runtime.host_memory import peak_host_bytes
from pairtile.view.pair_store import PairStore

from benchmarks.machine import write

sys.path.append(str(Path(__file__).parents[1] / "tests/support"))
from browser_page import browser, canvas, choose

ITEMS = 44_722
LOOKED_UP = 50


def write_pairs(folder: Path, items: int) -> int:
    """All pairs of so many genes, as a run that keeps them all leaves them; how many."""
    random = np.random.default_rng(1)
    folder.mkdir(parents=True)
    names = pd.DataFrame({"name": [f"gene{k}" for k in range(items)]})
    write_parquet(folder / "items.parquet", names, "pairtile.methods.mutual_information")
    write_json(folder / "summary.json", {"method": "mutual_information"})
    begins = np.concatenate([[0], np.cumsum(np.arange(items - 1, 0, -1))])
    n_pairs = int(begins[-1])
    schema = pa.schema(
        {"i": pa.int32(), "j": pa.int32(), "mi_bits": pa.float64(), "n_samples": pa.int32()}
    )
    with pq.ParquetWriter(folder / "pairs.parquet", schema, compression="zstd") as writer:
        for begin in range(0, n_pairs, MERGED_ROW_GROUP):
            place = np.arange(begin, min(begin + MERGED_ROW_GROUP, n_pairs))
            i = np.searchsorted(begins, place, side="right") - 1
            # As many digits as scores have that are computed in float32.
            score = random.standard_exponential(len(place), dtype=np.float32) / 20
            columns = [i, place - begins[i] + i + 1, score, np.full(len(place), 1000)]
            table = pa.table(
                [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema
            )
            writer.write_table(table, row_group_size=MERGED_ROW_GROUP)
    return n_pairs


def forget(*files: Path) -> None:
    """Let the system drop what it holds of these files in memory."""
    for path in files:
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def look_up(folder: Path) -> dict[str, Any]:
    """Seconds and memory of the index, then of partners, first time and again."""
    begin, worked = time.perf_counter(), time.process_time()
    store = PairStore(folder)
    found: dict[str, Any] = {
        "load_average": os.getloadavg()[0],
        "pairs": store.rows,
        "items": len(store.names),
        "file_bytes": store.path.stat().st_size,
        "index_bytes": sum(path.stat().st_size for path in store.index.iterdir()),
        "index_seconds": time.perf_counter() - begin,
        "index_cpu_seconds": time.process_time() - worked,
        "index_peak_memory_bytes": peak_host_bytes(),
    }
    begin = time.perf_counter()
    store = PairStore(folder)
    found["open_seconds"] = time.perf_counter() - begin
    items = np.random.default_rng(2).choice(len(store.names), LOOKED_UP, replace=False).tolist()
    for when in ("first", "again"):
        seconds = []
        for item in items:
            if when == "first":
                forget(store.path, *store.index.iterdir())
            begin = time.perf_counter()
            partners = store.partners(item)
            seconds.append(time.perf_counter() - begin)
            assert len(partners.score) == len(store.names) - 1
        found[f"partners_{when}_seconds"] = {
            "median": float(np.median(seconds)),
            "most": max(seconds),
        }
    least = store.snapped(0.5)
    begin = time.perf_counter()
    found["pairs_from_threshold"] = store.count(least)
    found["threshold_seconds"] = time.perf_counter() - begin
    return found


def write_drawing(path: Path) -> None:
    """The page of a network of 50,000 edges between 5,000 genes, four of five inside a module."""
    random = np.random.default_rng(1)
    module = np.arange(5000) // 100 * 100
    source = random.integers(0, 5000, 80_000)
    inside = module[source] + random.integers(0, 100, len(source))
    target = np.where(
        random.random(len(source)) < 0.8, inside, random.integers(0, 5000, len(source))
    )
    ends = np.unique(np.sort(np.c_[source, target], axis=1)[source != target], axis=0)
    ends = random.permutation(ends)[:50_000]
    names = np.array([f"gene{k}" for k in range(5000)])
    edges = pd.DataFrame({"source": names[ends[:, 0]], "target": names[ends[:, 1]]})
    edges["mi_bits"] = np.linspace(1, 0.1, len(edges))
    write_html(NetworkTable.build(edges, pd.DataFrame({"name": names}), directed=False), path)


MOVE = """(async () => {
  const canvas = document.querySelector("#network-canvas canvas");
  const box = canvas.getBoundingClientRect();
  const send = (Kind, type, more) => canvas.dispatchEvent(new Kind(type, {
    bubbles: true, cancelable: true, view: window, clientX: box.x + 300, clientY: box.y + 200,
    ...more,
  }));
  const moves = {
    dragging: (n) =>
      send(MouseEvent, "mousemove", { buttons: 1, clientX: box.x + 300 + 3 * (n % 100) }),
    zooming: (n) => send(WheelEvent, "wheel", { deltaY: n % 120 < 60 ? -20 : 20 }),
  };
  document.getElementById("network-canvas").focus();
  if (KIND === "dragging") send(MouseEvent, "mousedown", { buttons: 1 });
  let n = 0;
  const begin = performance.now();
  while (performance.now() - begin < 5000) {
    moves[KIND](n++);
    await new Promise(requestAnimationFrame);
  }
  const frames = n / (performance.now() - begin) * 1000;
  if (KIND === "dragging") send(MouseEvent, "mouseup", {});
  window.measured = frames;
})(); 0"""
"""Counts frames for five seconds, in each of which the mouse is moved or its wheel turned."""


def frames(folder: Path) -> dict[str, Any]:
    """Frames a second in headless Chromium without a GPU, counted with requestAnimationFrame, while
    a mouse drags the drawing of all edges and turns its wheel."""
    write_drawing(folder / "network.html")
    cy = "document.getElementById('network-canvas')._cyreg.cy"
    found: dict[str, Any] = {"load_average": os.getloadavg()[0]}
    with browser(folder / "profile") as chromium, chromium.fresh(folder) as page:
        page.open((folder / "network.html").as_uri())
        begin = time.perf_counter()
        choose(page, "view", "all")
        page.wait_for(f"{cy}.batching()", 300)
        found |= {"edges": int(canvas(page)["edges"]), "drawn_seconds": time.perf_counter() - begin}
        for kind in ("dragging", "zooming"):
            before = page.ask(f"[{cy}.pan('x'), {cy}.zoom()]")
            page.ask(f"window.measured = 0; {MOVE.replace('KIND', repr(kind))}")
            page.wait_for("window.measured", 60)
            assert page.ask(f"[{cy}.pan('x'), {cy}.zoom()]") != before
            found[f"frames_a_second_{kind}"] = page.ask("window.measured")
            time.sleep(1)
            page.wait_for(f"{cy}.batching()", 300)
    return found


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    results: dict[str, Any] = {"drawing": frames(folder)}
    print(results, flush=True)
    pairs = folder / "pairs"
    if not pairs.is_dir():
        write_pairs(pairs, int(sys.argv[2]) if len(sys.argv) > 2 else ITEMS)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    results["lookups"] = look_up(pairs)
    print(results, write("view", "cpu", results))


if __name__ == "__main__":
    main()
