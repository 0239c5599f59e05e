"""Whole files in the wrong place, of another analysis or of another kind: named, never used."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from pairtile.errors import InputError, StoreError
from pairtile.steps.analysis_run import Step
from pairtile.steps.damage import earlier_files, remove_damaged
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import Analysis

METHODS = [
    "mutual_information",
    *(pytest.param(name, marks=pytest.mark.complete) for name in [*ANALYSES][1:]),
]


class Three(NamedTuple):
    """Finished analyses: one, one of other data, and one of the same data with another seed."""

    one: Analysis
    other_data: Analysis
    other_settings: Analysis


def change_data(folder: Path) -> None:
    """Other values for the same names."""
    for path in folder.glob("*.tsv"):
        head, *rows = path.read_text().splitlines()
        fields = [row.split("\t") for row in rows]
        turned = ["\t".join([row[0], *row[2:], row[1]]) for row in fields[: len(fields) // 2]]
        path.write_text("\n".join([head, *turned, *rows[len(turned) :]]) + "\n")
    for path in folder.glob("*.fa"):
        path.write_text(path.read_text().replace("GA", "AG"))
    for path in folder.glob("*.npy"):
        np.save(path, np.load(path) ** 2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Three]]:
    made: dict[str, Three] = {}
    with pytest.MonkeyPatch.context() as patch:
        for place, name, edge in SMALL_TILES:
            patch.setattr(place, name, edge)

        def run(method: str, seed: int, change: bool) -> Analysis:
            write, section = ANALYSES[method]
            folder = tmp_path_factory.mktemp(method)
            write(folder)
            if change:
                change_data(folder)
            return Analysis(folder, section, seed=seed).all()

        def of(method: str) -> Three:
            if method not in made:
                cases = ((3, False), (3, True), (4, False))
                made[method] = Three(*(run(method, *case) for case in cases))
            return made[method]

        yield of


def carriers(out: Path) -> list[Path]:
    """Files that steps read, by their names in the folder."""
    paths = (path.relative_to(out) for path in out.rglob("*") if path.is_file())
    left_out = {"logs", "figures", "report.html"}
    return sorted(path for path in paths if not left_out & {path.parts[0]})


def read_again(analysis: Analysis, name: Path) -> None:
    """Steps that read the file, up to the first that refuses it."""
    run, first = analysis.run, name.parts[0]
    if first in ("scan", "chunks", "state") or name.name in ("plan.json", "null.npz", "scan.npz"):
        run.run(Step("merge", ("scan" if first == "scan" else "chunks",)))
        run.run(Step("chunk", ("chunks", analysis.plan.chunks[0].name)))
    elif first in ("items.parquet", "pairs.parquet", "chunks.npz", "bootstraps"):
        run.run(Step("network"))
    run.run(Step("summary"))


TIMES = {"seconds", "after_seconds", "peak_memory_bytes", "seal", "checksum"}
"""What records of the same work differ in."""


def without_times(found: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in found.items() if key not in TIMES}


def holds_the_same(one: Path, other: Path) -> bool:
    """Whether two files have the same content, apart from where inputs lay and how long it took."""
    if one.suffix != ".json" or one.name != other.name:
        return one.read_bytes() == other.read_bytes()
    texts = (
        path.read_text().replace(str(path).partition("/results/")[0], "") for path in (one, other)
    )
    first, second = (json.loads(text, object_hook=without_times) for text in texts)
    return first == second


def swap(analysis: Analysis, name: Path, source: Path) -> None:
    """Put another whole file in place of one: it is found before a run, and no step takes it."""
    path, kept = analysis.out / name, (analysis.out / name).read_bytes()
    if holds_the_same(path, source):
        return
    shutil.copyfile(source, path)
    everything = {file: (analysis.out / file).read_bytes() for file in carriers(analysis.out)}
    found = earlier_files(analysis.run)
    assert {path, path.parent} & {*found.damaged, *found.other_settings}, (name, source)
    unread = name.name == "summary.json" or name.name.startswith("export.")
    if not (unread or name.suffix in (".tsv", ".txt", ".bed", ".gff3")):
        with pytest.raises((StoreError, InputError)):
            read_again(analysis, name)
    for file, content in everything.items():
        (analysis.out / file).write_bytes(content)
    path.write_bytes(kept)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "times", [8, pytest.param(80, marks=[pytest.mark.complete, pytest.mark.faults])]
)
def test_a_whole_file_in_the_wrong_place_is_refused_by_name(
    finished: Callable[[str], Three], method: str, times: int
) -> None:
    three, draw = finished(method), random.Random(f"{method} {times}")
    names = carriers(three.one.out)
    for other in three[1:]:
        for name in (draw.sample(names, len(names)) * times)[:times]:
            if (other.out / name).exists():
                swap(three.one, name, other.out / name)
    for name in (draw.sample(names, len(names)) * times)[:times]:  # of another kind
        alike = [n for n in names if n.suffix == name.suffix and n != name]
        if alike and name.suffix in (".json", ".npz", ".parquet"):
            swap(three.one, name, three.one.out / draw.choice(alike))
    assert earlier_files(three.one.run) == ({}, [])


def test_all_files_of_a_step_from_an_analysis_with_other_settings_are_made_again(
    finished: Callable[[str], Three], tmp_path: Path
) -> None:
    """They agree with each other and with the data: only the settings tell."""
    three = finished("mutual_information")
    kept = shutil.copytree(three.one.out, tmp_path / "kept")
    names = ("network.parquet", "scores.npz", "steps/network.json")
    for name in names:
        shutil.copyfile(three.other_settings.out / name, three.one.out / name)
    found = remove_damaged(three.one.run)
    assert found.damaged == {}
    assert {*found.other_settings} == {three.one.out / name for name in names}
    with pytest.raises(StoreError):
        three.one.run.run(Step("summary"))
    shutil.copytree(kept, three.one.out, dirs_exist_ok=True)


def test_an_emptied_export_and_a_cut_page_are_found(
    finished: Callable[[str], Three],
) -> None:
    out = finished("mutual_information").one.out
    path = out / "network.tsv"
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], whole + b"a\tb\t1\n"):
        path.write_bytes(content)
        assert [*earlier_files(finished("mutual_information").one.run).damaged] == [path]
    path.write_bytes(whole)
