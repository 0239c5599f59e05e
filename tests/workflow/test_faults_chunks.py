"""A chunk file that is damaged, foreign or old, of any method: named, removed, computed again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pairtile.errors import StoreError
from pairtile.steps.damage import remove_damaged
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import Analysis, temporary_files

DRAW = random.Random(7)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, edge in SMALL_TILES:
        monkeypatch.setattr(place, name, edge)


def truncated(chunk: Path, analysis: Analysis) -> None:
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: DRAW.randrange(len(whole))])


def flipped(chunk: Path, analysis: Analysis) -> None:
    broken = bytearray(chunk.read_bytes())
    # In the pages: a flip in the metadata may lie where nothing is read from.
    broken[DRAW.randrange(4, len(broken) // 4)] ^= 1 << DRAW.randrange(8)
    chunk.write_bytes(broken)


def with_more(chunk: Path, analysis: Analysis) -> None:
    chunk.write_bytes(chunk.read_bytes() + b"more")


def of_another_seed(chunk: Path, analysis: Analysis) -> None:
    other = Analysis(analysis.out.parent.parent, analysis.given, name="other", seed=99).prepare()
    if other.plan.scan:
        other.compute("scan").merge("scan")
    other.compute("chunks", [chunk.stem])
    shutil.copy(other.out / "chunks" / chunk.name, chunk)


def of_an_older_format(chunk: Path, analysis: Analysis) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairtile.engine.chunk_file.FORMAT_VERSION", 0)
        analysis.compute("chunks", [chunk.stem])


FAULTS: dict[Callable[[Path, Analysis], None], str] = {
    truncated: "a damaged file",
    flipped: "a damaged file",
    with_more: "a damaged file",
    of_another_seed: "a chunk of another analysis",
    of_an_older_format: "chunk format 0; expected format 2",
}


def refuse_all(folder: Path, name: str) -> None:
    write, section = ANALYSES[name]
    write(folder)
    analysis = Analysis(folder, section)
    analysis.given = section  # type: ignore[attr-defined]
    analysis.pairs()
    pairs = analysis.out / "pairs.parquet"
    expected = pairs.read_bytes()
    for fault, said in FAULTS.items():
        pairs.unlink()
        chunk = DRAW.choice(analysis.chunk_files("chunks"))
        fault(chunk, analysis)
        ((path, message),) = remove_damaged(analysis.run, dry_run=True).damaged.items()
        assert path == chunk
        assert chunk.name in message
        assert f"found {said}" in message
        with pytest.raises(StoreError, match=r"removed; run the same command again") as error:
            analysis.merge()
        assert chunk.name in str(error.value)
        assert not chunk.exists()
        assert not pairs.exists()
        analysis.compute("chunks", [chunk.stem]).merge()
        assert pairs.read_bytes() == expected
        assert temporary_files(analysis.out) == []


@pytest.mark.parametrize("name", ["predictor_pairs", "trajectory_correlation"])
def test_a_chunk_that_is_not_what_it_should_be_is_never_merged(tmp_path: Path, name: str) -> None:
    refuse_all(tmp_path, name)


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ANALYSES)
def test_so_it_is_for_every_method_again_and_again(tmp_path: Path, name: str) -> None:
    for time in range(3):
        folder = tmp_path / str(time)
        folder.mkdir()
        refuse_all(folder, name)


def test_a_whole_chunk_under_anothers_name_is_refused(tmp_path: Path) -> None:
    write, section = ANALYSES["mutual_information"]
    write(tmp_path)
    analysis = Analysis(tmp_path, section).pairs()
    first, second, _ = analysis.chunk_files("chunks")
    expected = (analysis.out / "pairs.parquet").read_bytes()
    shutil.copy(first, second)
    with pytest.raises(StoreError, match=f"(?s){second.name}: .*removed"):
        analysis.merge()
    assert (analysis.out / "pairs.parquet").read_bytes() == expected
    assert not second.exists()
    analysis.compute("chunks", [second.stem]).merge()
    assert (analysis.out / "pairs.parquet").read_bytes() == expected
