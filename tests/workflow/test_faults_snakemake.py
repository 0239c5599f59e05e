"""Snakemake, its chunks and its merge, killed at random moments: the same command goes on."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from pairtile.engine.chunk_file import ChunkFile
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import (
    ROOT,
    Analysis,
    command,
    environment,
    temporary_files,
    write_config,
)

SEED = 20240607
KILLS = 54
VICTIMS = ("snakemake", "chunk", "chunk", "merge", "merge", "any job")
TARGETS = ("results/net/network.parquet", "results/net/scores.npz")

JOBS = """
import sys
said = " ".join(sys.orig_argv)
if ".plan.py" in said:
    from small_analyses import cut_small
    cut_small()
if ".chunk.py" in said or ".merge.py" in said:
    # Most of the time of a tiny job is spent on imports; let it be spent on writing.
    import time
    import pyarrow.parquet as pq
    write = pq.ParquetWriter.write_table
    def slowly(*arguments, **options):
        time.sleep(0.2)
        write(*arguments, **options)
        time.sleep(0.2)
    pq.ParquetWriter.write_table = slowly
"""
"""What a job does at its start: ``sitecustomize``."""


@dataclass
class Chain:
    """Runs of one analysis, killed again and again until one ends well."""

    folder: Path
    name: str
    draw: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    started: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    """Job -> how often it was begun and not noted as finished."""
    finished: set[str] = field(default_factory=set)
    chunks: dict[str, int] = field(default_factory=dict)
    """Chunk -> when it was made, once Snakemake has noted it as finished."""

    def run(self, kill: bool) -> bool:
        """One run of Snakemake; returns whether it ended well."""
        output = self.folder / "output.txt"
        path = ":".join([str(self.folder / "site"), str(ROOT / "tests/support")])
        with output.open("w") as out:
            process = subprocess.Popen(
                command(self.folder, *TARGETS),
                cwd=ROOT,
                env=environment() | {"PYTHONPATH": path},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            if kill:
                self._kill(process)
            try:
                code = process.wait(timeout=200)
            finally:
                for child in psutil.process_iter():
                    if child.pid != process.pid and _session(child.pid) == process.pid:
                        psutil.wait_procs([child], timeout=10)
                        assert not child.is_running(), "a job outlived its run"
        self._check(output.read_text())
        return code == 0

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill -9 up to three victims, each some random time after it has begun."""
        top = psutil.Process(process.pid)
        for _ in range(3):
            kind = self.draw.choice(VICTIMS)
            delay = self.draw.uniform(0, 1.8)
            victim = top if kind == "snakemake" else None
            while victim is None and process.poll() is None:
                time.sleep(0.02)
                victim = self._job(top, kind)
            if process.poll() is not None:
                return
            time.sleep(delay + 4 * delay * (kind == "snakemake"))
            if victim.is_running() and victim.status() != psutil.STATUS_ZOMBIE:
                victim.send_signal(signal.SIGKILL)
                self.kills[kind] += 1

    @staticmethod
    def _job(top: psutil.Process, kind: str) -> psutil.Process | None:
        mark = r"\.\w+\.py$" if kind == "any job" else rf"\.{kind}\.py$"
        try:
            for child in top.children(recursive=True):
                if any(re.search(mark, word) for word in child.cmdline()):
                    return child
        except psutil.NoSuchProcess:
            pass
        return None

    def _check(self, text: str) -> None:
        """Nothing that was noted as finished has begun again; what is there is whole."""
        names: dict[str, str] = {}
        begun_now: Counter[str] = Counter()
        finished_now: set[str] = set()
        for line in text.splitlines():
            if begun := re.match(r"(?:Job|localjob) (\d+): (net: .+)", line):
                assert begun[2] not in self.finished, f"{begun[2]} was done again"
                names[begun[1]] = begun[2]
                begun_now[begun[2]] += 1
            ended = re.match(r"Finished jobid: (\d+) ", line)
            if ended and ended[1] in names:
                finished_now.add(names[ended[1]])
        self.finished |= finished_now
        self.started += begun_now
        self.lost += begun_now - Counter(finished_now)
        for path in (self.folder / "results/net/chunks").glob("tiles-*.parquet"):
            file = ChunkFile(path)
            file.verify(file.header.fingerprint)
            made = path.stat().st_mtime_ns
            if f"net: chunks {path.stem}" in self.finished:
                assert self.chunks.setdefault(path.stem, made) == made
        missing = {c for c in self.finished if c.startswith("net: chunks")} - {
            f"net: chunks {name}" for name in self.chunks
        }
        assert not missing, "a finished chunk is gone"


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


@pytest.mark.faults
@pytest.mark.workflow
@pytest.mark.timeout(6000)
def test_killed_at_random_moments_every_run_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(SEED)
    for place, name, edge in SMALL_TILES:
        monkeypatch.setattr(place, name, edge)
    kills: Counter[str] = Counter()
    begun: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    again: Counter[str] = Counter()
    chains = 0
    while kills.total() < KILLS:
        method = list(ANALYSES)[chains % len(ANALYSES)]
        folder = tmp_path / f"{chains:02d}-{method}"
        (folder / "site").mkdir(parents=True)
        (folder / "site/sitecustomize.py").write_text(JOBS)
        write, section = ANALYSES[method]
        write(folder)
        write_config(folder, {"net": section})
        chain = Chain(folder, method, draw)
        # A few kills for each, then it may end in peace.
        while not chain.run(kill=chain.kills.total() < 10):
            if sum(chain.started.values()) > 200:
                raise AssertionError("no end in sight")
        expected = Analysis(folder, section, name="expected").pairs().network()
        for file in ("pairs.parquet", "network.parquet", "chunks.npz", "scores.npz"):
            found = (folder / "results/net" / file).read_bytes()
            assert found == (expected.out / file).read_bytes(), file
        assert temporary_files(folder / "results/net") == []
        repeats = chain.started - Counter(list(chain.started))
        assert repeats <= chain.lost, "a job was done again that had not been lost"
        kills += chain.kills
        for total, counts in ((begun, chain.started), (lost, chain.lost), (again, repeats)):
            for job, number in counts.items():
                total["chunk" if " tiles-" in job else "other"] += number
        chains += 1
        print(f"{method}: {dict(chain.kills)} in {chain.started.total()} jobs", flush=True)
    print(f"seed {SEED}: {kills.total()} kills {dict(kills)} in {chains} analyses")
    print(f"jobs begun {dict(begun)}, lost {dict(lost)}, begun again {dict(again)}")
