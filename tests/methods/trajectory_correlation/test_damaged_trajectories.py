"""Damaged trajectories end in one error that names the file, whatever the C code does with them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.forked import ReaderError, in_fork
from small_trajectories import molecule, prepare, store

mda = pytest.importorskip("MDAnalysis")

FORMATS = ("xtc", "trr", "dcd", "nc")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topology and a sound trajectory of each format."""
    folder = tmp_path_factory.mktemp("sound")
    universe = molecule()
    noise = np.random.default_rng(3).normal(scale=0.3, size=(30, universe.atoms.n_atoms, 3))
    frames = universe.atoms.positions + noise
    universe.dimensions = [60, 60, 60, 90, 90, 90]
    for ending in FORMATS:
        store(folder, universe, frames, f"run.{ending}")
    return folder


def damaged(content: bytes, kind: int, random: np.random.Generator) -> bytes:
    """Cut short, with some bits turned, a range of zeros, another header, or a range of noise."""
    part, place = bytearray(content), int(random.integers(len(content)))
    if kind == 0:
        return content[: max(place, 1)]
    if kind == 1:
        for at in random.integers(len(part), size=3):
            part[at] ^= 1 << int(random.integers(8))
    elif kind == 2:
        part[place : place + 64] = bytes(len(part[place : place + 64]))
    elif kind == 3:
        place = int(random.integers(min(120, len(part) - 4)))
        part[place : place + 4] = random.bytes(4)
    else:
        part[place : place + 32] = random.bytes(len(part[place : place + 32]))
    return bytes(part)


def outcome(topology: Path, path: Path) -> str:
    keys = {"topology": str(topology), "trajectories": [str(path)], "fit": False}
    try:
        prepare(**keys, estimator={"kind": "gaussian"})
    except InputError as error:
        text = str(error)
    else:
        return "taken"
    assert text.startswith(str(path))
    assert "\n" not in text
    return "refused"


@pytest.mark.parametrize("ending", FORMATS)
def test_files_cut_short_are_refused_by_name(sound: Path, tmp_path: Path, ending: str) -> None:
    content = (sound / f"run.{ending}").read_bytes()
    for part in (0.02, 0.21):
        path = tmp_path / f"cut{part}.{ending}"
        path.write_bytes(content[: int(part * len(content))])
        assert outcome(sound / "top.pdb", path) == "refused"


def test_a_header_of_a_giant_system_takes_no_memory(sound: Path, tmp_path: Path) -> None:
    content = bytearray((sound / "run.xtc").read_bytes())
    content[4:8] = (2**31 - 1).to_bytes(4, "big")  # atoms
    path = tmp_path / "giant.xtc"
    path.write_bytes(content)
    assert outcome(sound / "top.pdb", path) == "refused"


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(0, marks=pytest.mark.complete),
        *(pytest.param(seed, marks=pytest.mark.faults) for seed in range(1, 5)),
    ],
)
def test_no_damage_ends_this_process(sound: Path, tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for ending in FORMATS:
        content = (sound / f"run.{ending}").read_bytes()
        for number in range(20):
            path = tmp_path / f"{number}.{ending}"
            path.write_bytes(damaged(content, number % 5, random))
            found[outcome(sound / "top.pdb", path)] += 1
    assert found["refused"] > 20


def _dying(how: str) -> Iterator[Any]:
    yield 1
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "exit":
        os._exit(3)
    if how == "memory":
        yield np.ones(1 << 29).sum()
    raise ValueError("no such frame")


@pytest.mark.parametrize(
    ("how", "kind", "text"),
    [
        ("signal", "", "signal SIGSEGV"),
        ("exit", "", "exit code 3"),
        ("memory", "MemoryError", ""),
        ("error", "ValueError", "no such frame"),
    ],
)
def test_what_ends_a_fork_is_an_error(how: str, kind: str, text: str) -> None:
    items = in_fork(lambda: _dying(how), 1 << 28)
    assert next(items) == 1
    with pytest.raises(ReaderError) as caught:
        next(items)
    assert caught.value.kind.endswith(kind)
    assert text in caught.value.text


def test_a_fork_ends_with_the_one_that_reads_it() -> None:
    def forever() -> Iterator[int]:
        yield os.getpid()
        while True:
            yield 0

    items = in_fork(forever, 1 << 28)
    process = next(items)
    os.kill(process, 0)
    items.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("ending", ["xtc", "trr"])
def test_a_frame_of_another_system_is_named(tmp_path: Path, ending: str) -> None:
    """The readers of both go by the first frame alone."""
    universe, random = molecule(), np.random.default_rng(1)
    n_atoms = universe.atoms.n_atoms
    universe.dimensions = [60, 60, 60, 90, 90, 90]
    noise = random.normal(scale=0.3, size=(20, n_atoms, 3))
    path = tmp_path / f"run.{ending}"
    store(tmp_path, universe, universe.atoms.positions + noise, path.name)
    part = universe.atoms[: n_atoms - 6]
    with mda.Writer(str(tmp_path / f"b.{ending}"), n_atoms=len(part)) as writer:
        writer.write(part)
    path.write_bytes(path.read_bytes() + (tmp_path / f"b.{ending}").read_bytes())
    keys = {"topology": str(tmp_path / "top.pdb"), "trajectories": [str(path)], "fit": False}
    keys["estimator"] = {"kind": "gaussian"}
    with pytest.raises(InputError, match=f"frame 20: found {n_atoms - 6} atoms"):
        prepare(**keys)
    assert prepare(**keys, frames={"stop": 20}).counts["frames"] == 20
