"""Any file of a run that a later step reads, damaged: named and made again, whatever the method."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.errors import StoreError
from pairtile.runtime.files import (
    atomic_path,
    read_arrays,
    read_json,
    read_table,
    verified,
    write_arrays,
    write_json,
)
from pairtile.steps.damage import remove_damaged
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import Analysis, finished_run, run

pytestmark = pytest.mark.complete

MORE = {
    "mutual_information": {
        "gold_standard": "gold_standard.tsv",
        "bootstraps": {"number": 2, "alpha": 1.0},
    }
}
"""Keys that give an analysis files of more kinds."""


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """The file with a bit flipped, cut short, with a range of zeros, or emptied."""
    while True:
        place = draw.randrange(len(whole))
        length = draw.randint(1, 64)
        flipped = whole[place] ^ 1 << draw.randrange(8)
        changed = draw.choice(
            [
                whole[:place] + bytes([flipped]) + whole[place + 1 :],
                whole[:place],
                (whole[:place] + bytes(length) + whole[place + length :])[: len(whole)],
                b"",
            ]
        )
        if changed != whole:
            return changed


def files_read_later(out: Path) -> list[Path]:
    """All files of an analysis but those that only people read."""
    for_people = {"summary.json", "network.tsv", "report.html"}
    paths = (path for path in out.rglob("*") if path.is_file())
    return sorted(
        path
        for path in paths
        if path.name not in for_people and not {"figures", "logs"} & {*path.parts}
    )


BEFORE_CHUNKS = {"plan.json", "null.npz", "scan.npz"}
BEFORE_NETWORK = {"items.parquet", "pairs.parquet", "chunks.npz", "network_data.npz"}


def read_again(analysis: Analysis, path: Path) -> None:
    """A step that reads the file."""
    folder, name = path.relative_to(analysis.out).parts[0], path.name
    if folder in ("scan", "chunks"):
        analysis.merge(folder)
    elif folder == "state" or folder in BEFORE_CHUNKS:
        analysis.compute("chunks", [analysis.plan.chunks[0].name])
    elif folder == "bootstraps" or name in BEFORE_NETWORK:
        analysis.network()
    else:
        analysis.summary()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Analysis]]:
    """Whole runs of each method, made when they are first asked for."""
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        for place, name, edge in SMALL_TILES:
            patch.setattr(place, name, edge)

        def of(method: str) -> Analysis:
            if method not in made:
                write, section = ANALYSES[method]
                folder = tmp_path_factory.mktemp(method)
                write(folder)
                made[method] = Analysis(folder, section | MORE.get(method, {})).all()
            return made[method]

        yield of


@pytest.mark.parametrize("method", ANALYSES)
@pytest.mark.parametrize(
    ("seed", "times"),
    [
        (0, 7),
        pytest.param(1, 20, marks=pytest.mark.complete),
        pytest.param(2, 80, marks=pytest.mark.faults),
    ],
)
def test_a_damaged_file_is_named_by_who_reads_it_and_found_before_a_run(
    finished: Callable[[str], Analysis], method: str, seed: int, times: int
) -> None:
    analysis, draw = finished(method), random.Random(f"{method} {seed}")
    paths = files_read_later(analysis.out)
    for path in (draw.sample(paths, len(paths)) * times)[:times]:
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, draw))
        found = remove_damaged(analysis.run, dry_run=True).damaged
        folder = path.relative_to(analysis.out).parts[0]
        assert list(found) == [analysis.out / "state" if folder == "state" else path]
        if not path.name.startswith("export."):  # no step reads it
            with pytest.raises(StoreError, match=f"{path.name}: found a damaged file"):
                read_again(analysis, path)
        path.write_bytes(whole)
    assert remove_damaged(analysis.run, dry_run=True).damaged == {}


def test_files_carry_a_checksum_and_are_what_they_were_without(tmp_path: Path) -> None:
    table = pd.DataFrame({"i": np.arange(5), "name": list("abcde")})
    with atomic_path(tmp_path / "t.parquet") as temporary:
        table.to_parquet(temporary)
    arrays = {"x": np.arange(3_000_000.0), "names": np.array(["a", "bc"])}  # more than one part
    write_arrays(tmp_path / "a.npz", arrays)
    write_json(tmp_path / "j.json", {"text": "µ", "number": 1})
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), table)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), table)
    assert all((read_arrays(tmp_path / "a.npz")[k] == v).all() for k, v in arrays.items())
    assert read_json(tmp_path / "j.json") == {"text": "µ", "number": 1}
    with (tmp_path / "a.npz").open("r+b") as file:
        file.seek(20_000_000)
        byte = file.read(1)
        file.seek(20_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(StoreError, match="damaged"):
        read_arrays(tmp_path / "a.npz")
    (tmp_path / "t.parquet").unlink()
    with pytest.raises(StoreError, match="no such file"):
        verified(tmp_path / "t.parquet")


RESULTS = ("items.parquet", "pairs.parquet", "network.parquet", "network.tsv")


@pytest.mark.complete  # runs of their own
@pytest.mark.workflow
@pytest.mark.timeout(1800)
def test_the_same_command_makes_damaged_files_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, _ = finished_run(tmp_path_factory)
    results = [folder / "out" / name / file for name in ("net", "boot") for file in RESULTS]
    expected = [path.read_bytes() for path in results]
    draw = random.Random(2)
    every = [path for name in ("net", "boot") for path in files_read_later(folder / "out" / name)]
    every = [path for path in every if path.suffix in (".json", ".npz", ".npy", ".parquet")]
    for path in draw.sample(every, 16):
        path.write_bytes(damaged(path.read_bytes(), draw))
    for name in ("net", "boot"):  # so that something is to be done
        (folder / "out" / name / "network.tsv").unlink()
        (folder / "out" / name / "report.html").unlink()
    done = run(folder)
    assert done.code == 0, done.text
    assert "Traceback" not in done.text
    assert [path.read_bytes() for path in results] == expected
