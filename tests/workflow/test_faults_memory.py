"""Too little memory, on the host or on the GPU: the same result, or one message; no half chunk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from gpu_rooms import failures_in_rooms
from pairtile.engine import tiles
from pairtile.gpu.device import Device
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import ROOT, Analysis, temporary_files, write_data

MIB = 1 << 20

# As a job of Snakemake: the frame of every script, round the step.
LIMITED = """
import resource, sys
sys.path[:0] = {path!r}
from pathlib import Path
from types import SimpleNamespace
from pairtile.runtime.job import job
here = Path({folder!r})
target = here / "results/net/chunks" / ({chunk!r} + ".parquet")
given = SimpleNamespace(
    threads=1, log=[str(here / "job.log")], resources=SimpleNamespace(), output=[str(target)]
)
with job(given):
    from pairtile.engine import tiles
    from pairtile.engine.estimator import estimator_of
    from small_analyses import ANALYSES, cut_small
    from workflow_runs import Analysis
    cut_small()
    tiles.TILE_EDGE = {edge}
    analysis = Analysis(here, ANALYSES[{name!r}][1])
    estimator_of(analysis.model.method)  # imported before its memory is counted
    if {compute_first}:  # nothing is left to import or to compile
        analysis.compute("chunks", [{chunk!r}])
        target.unlink()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
    ballast = []  # what the process already has, but does not use, is no room
    try:
        while True:
            ballast.append(bytearray(1 << 18))
    except MemoryError:
        pass
    most = used + {room}
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    analysis.compute("chunks", [{chunk!r}])
"""


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, edge in SMALL_TILES:
        monkeypatch.setattr(place, name, edge)


def with_room(
    folder: Path, name: str, chunk: str, room: int, compute_first: bool
) -> tuple[int, str]:
    """Compute a chunk in a process that may take so many bytes more; its code, its words."""
    path = [str(ROOT / "workflow"), str(ROOT / "tests/support")]
    code = LIMITED.format(
        path=path,
        folder=str(folder),
        name=name,
        chunk=chunk,
        room=room,
        edge=tiles.TILE_EDGE,
        compute_first=compute_first,
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=250, check=False
    )
    return done.returncode, done.stderr


def try_rooms(
    tmp_path: Path, name: str, rooms: list[int], compute_first: bool = False
) -> tuple[int, int]:
    """Returns how many rooms were too small, and how often that was said in our own words."""
    write, section = ANALYSES[name]
    write(tmp_path)
    analysis = Analysis(tmp_path, section).pairs()
    expected = (analysis.out / "pairs.parquet").read_bytes()
    chunk = analysis.plan.chunks[0].name
    target = analysis.out / "chunks" / f"{chunk}.parquet"
    failures = named = 0
    for room in rooms:
        target.unlink()
        code, said = with_room(tmp_path, name, chunk, room, compute_first)
        if code == 0:
            analysis.merge()
            assert (analysis.out / "pairs.parquet").read_bytes() == expected
            continue
        failures += 1
        assert not target.exists(), said
        if f"{target.name}: found too little memory" in said:
            named += 1
            assert "; expected more for this job: run fewer jobs at once" in said
        else:  # no memory even for the message, or a library or Python gave up in its own way
            words = ("memory", "alloc", "thread", "mmap", "without exception set")
            assert any(word in said.lower() for word in words), f"code {code}: {said}"
        analysis.compute("chunks", [chunk])
        assert temporary_files(analysis.out) == []
    return failures, named


@pytest.mark.complete
def test_a_chunk_without_memory_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "TILE_EDGE", 2048)  # its scores alone take twice the room
    section = ANALYSES["mutual_information"][1]
    large = (lambda folder: write_data(folder, genes=2048, samples=20), section)
    monkeypatch.setitem(ANALYSES, "mutual_information", large)
    assert try_rooms(tmp_path, "mutual_information", [16 * MIB], compute_first=True) == (1, 1)


@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", ANALYSES)
def test_a_chunk_with_any_memory_is_right_or_not_there(tmp_path: Path, name: str) -> None:
    rooms = [MIB << k for k in range(0, 12)]
    failures, named = try_rooms(tmp_path, name, rooms)
    print(f"{failures} of {len(rooms)} rooms were too small, {named} said so in our words")
    assert 0 < failures < len(rooms)


@pytest.mark.parametrize("name", ANALYSES)
def test_little_free_memory_changes_no_result(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks are cut by what the device says is free: a pretend limit cuts them small."""
    write, section = ANALYSES[name]
    write(tmp_path)
    expected = Analysis(tmp_path, section, name="expected").pairs().network()
    monkeypatch.setattr(Device, "free_bytes", lambda self: 4 * MIB)
    found = Analysis(tmp_path, section, name="small").pairs().network()
    null = ["null.npz"] if found.null_file else []
    for file in ("pairs.parquet", "network.parquet", *null):
        assert (found.out / file).read_bytes() == (expected.out / file).read_bytes(), file


RAISES = """
import sys
sys.path[:0] = {path!r}
from types import SimpleNamespace
from pairtile.runtime.job import job
given = SimpleNamespace(
    threads=1, log=[{log!r}], resources=SimpleNamespace(), output=["net/null.npz"]
)
with job(given):
    raise {error}
"""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("MemoryError('Out of memory allocating 17,179 bytes')", "too little memory to make it"),
        ("OSError(28, 'No space left on device', 'x')", "a full disk while writing it"),
    ],
    ids=["memory", "disk"],
)
def test_a_lack_of_room_ends_a_job_with_one_message(tmp_path: Path, error: str, said: str) -> None:
    """Whoever raises it: NumPy, Arrow and CuPy have errors of their own, all of them such."""
    log = tmp_path / "job.log"
    code = RAISES.format(path=[str(ROOT / "workflow")], log=str(log), error=error)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    for text in (log.read_text(), done.stderr):
        assert f"net/null.npz: found {said}" in text
        assert "; expected" in text
        assert "Traceback" not in text


@pytest.mark.gpu
@pytest.mark.parametrize(
    "name", ["mutual_information", "predictor_pairs", "multimodal_correlation"]
)
def test_a_gpu_with_too_little_memory_ends_in_one_error_or_the_same_result(
    tmp_path: Path, name: str
) -> None:
    assert failures_in_rooms(tmp_path, name, [1 << 12, 1 << 16, 1 << 20, 1 << 24]) > 0
