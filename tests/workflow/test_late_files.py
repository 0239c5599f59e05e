"""Results on a shared file system that shows new files late to the machine that Snakemake is on.

The lateness is pretended, yet where it matters: ``late_files.c``, preloaded, hides young files from
every system call of Snakemake's own process, while the jobs, as on another node, see what they
write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from pairtile.engine import state as state_module
from pairtile.engine.state import open_state, write_state
from pairtile.errors import StoreError
from workflow_runs import ROOT, Analysis, Run, run, write_config, write_data

COMPILER = shutil.which("cc")
SECONDS = 1.5


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    made = tmp_path_factory.mktemp("late") / "late_files.so"
    source = ROOT / "tests/support/late_files.c"
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True
    )
    return made


def run_late(folder: Path, library: Path, *arguments: str) -> Run:
    """A run whose own process sees what jobs write in results/ late."""
    late = {"LATE_FOLDER": str(folder / "results"), "LATE_SECONDS": str(SECONDS)}
    return run(folder, *arguments, LD_PRELOAD=str(library), **late)


@pytest.mark.complete  # what waits is Snakemake, and arrays below
@pytest.mark.workflow
def test_files_that_appear_late_are_waited_for(library: Path, tmp_path: Path) -> None:
    write_data(tmp_path, 30, 40)
    changes = {"chunks": 2, "bootstraps": 1}
    write_config(tmp_path, {"net": changes})
    target = "results/net/network.tsv"
    done = run_late(tmp_path, library, "--latency-wait", "20", target)
    assert done.code == 0, done.text
    assert "Waiting at most 20 seconds for missing files" in done.text
    prompt = Analysis(tmp_path, changes, name="prompt").all()
    for name in ("pairs.parquet", "network.parquet", "network.tsv"):
        late = tmp_path / "results/net" / name
        assert late.read_bytes() == (prompt.out / name).read_bytes()
    assert run(tmp_path, target).done_before


def test_arrays_of_a_state_that_appear_late_are_waited_for(tmp_path: Path) -> None:
    write_state(tmp_path / "state", {"a": np.arange(3), "b": np.arange(4)})
    os.rename(tmp_path / "state/b.npy", tmp_path / "b.npy")

    def appear() -> None:
        time.sleep(0.5)
        os.rename(tmp_path / "b.npy", tmp_path / "state/b.npy")

    thread = threading.Thread(target=appear)
    thread.start()
    opened = open_state(tmp_path / "state")
    thread.join()
    assert opened["b"].tolist() == [0, 1, 2, 3]


def test_a_state_that_stays_incomplete_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "PATIENCE_SECONDS", 0.3)
    write_state(tmp_path / "state", {"a": np.arange(3)})
    (tmp_path / "state/a.npy").unlink()
    with pytest.raises(StoreError, match=r"state/a\.npy: found no such file"):
        open_state(tmp_path / "state")
    with pytest.raises(StoreError, match=r"state\.json: found no such file"):
        open_state(tmp_path / "nothing")
