"""Speed of the search for miRNA targets: the score pass, the whole search, the energies.

    python -m benchmarks.bench_mirna_targets [cpu|cuda] [--mirnas 1921] [--transcripts 918]

prints JSON. GCUPS are 10^9 cells (miRNA letters x transcript letters) a second. The score pass
ends with the candidates of all pairs in host memory, with traceback with the alignments that both
filters leave (on the CPU as text); the search goes on to hits as a table, with and without
energies; energies are counted in strings a second. miRanda 3.3a reaches 0.075 GCUPS on one current
core without energies.

Sequences are human (1,921 miRNAs, 918 transcripts of chromosome 22) where
``../shared/data/mirna`` is there, else random ones of the same lengths.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pairtile.errors import ConfigError
from pairtile.gpu.device import Device, choose, threads
from pairtile.methods.mirna_targets import search_cpu
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.energy import DuplexEnergy
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.scoring import Candidates
from pairtile.methods.mirna_targets.search import SequenceBatch, TargetSearch, align

from benchmarks.machine import timed

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "mirna"

SIZES = {"cpu": (64, 200), "cuda": (1921, 918)}
"""miRNAs and transcripts: what miRanda was timed on, and all."""


def run(
    backend: str = "cpu", n_mirnas: int | None = None, n_transcripts: int | None = None
) -> dict[str, Any]:
    """Time the search on ``backend``; every n-th sequence where fewer than all are asked for."""
    device = choose(backend)
    few = SIZES[device.backend]
    mirnas, transcripts, source = sequences(n_mirnas or few[0], n_transcripts or few[1])
    cells = int(mirnas.offsets[-1]) * int(transcripts.offsets[-1])
    result: dict[str, Any] = {
        "sequences": source,
        "mirnas": len(mirnas),
        "transcripts": len(transcripts),
        "cells": cells,
        "backend": device.backend,
        "cpu_threads": threads(),
    }
    rows = np.arange(len(transcripts))
    search = TargetSearch(mirnas, transcripts, AlignmentConfig(energies=False), device)
    coded = mirnas.coded(), transcripts.coded()
    candidates = score_pass(device)
    found = candidates(*coded, search.scoring)
    seconds = timed(lambda: candidates(*coded, search.scoring), repeats=5)
    result["score_pass"] = rates(seconds, cells) | {"candidates": len(found)}
    if device.backend == "cuda":
        from pairtile.methods.mirna_targets.search_cuda import alignments

        seconds = timed(lambda: alignments(*coded, search.scoring, device=device), repeats=5)
    else:
        seconds = timed(
            lambda: align(candidates(*coded, search.scoring), mirnas, transcripts, search.scoring)
        )
    result["score_pass_and_traceback"] = rates(seconds, cells)
    seconds = timed(lambda: search.hits(0, len(mirnas), rows), repeats=2, warm=0)
    hits = search.hits(0, len(mirnas), rows)
    result["hits_without_energies"] = rates(seconds, cells) | {"hits": len(hits)}
    aligned = align(found, mirnas, transcripts, search.scoring)
    try:
        result["energies"] = energies(*aligned.fold_strings(), device)
        search = TargetSearch(mirnas, transcripts, AlignmentConfig(), device)
        seconds = timed(lambda: search.hits(0, len(mirnas), rows), repeats=1, warm=0)
        result["hits_with_energies"] = rates(seconds, cells)
    except ConfigError as error:  # no ViennaRNA, whose tables the energies need
        result["energies"] = str(error)
    result["peak_host_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result["peak_device_memory_bytes"] = device.peak_bytes()
    return result


def score_pass(device: Device) -> Callable[..., Candidates]:
    """The score pass of a device: sequences and scoring to candidates."""
    if device.backend == "cpu":
        return search_cpu.candidates
    from pairtile.methods.mirna_targets import search_cuda

    return partial(search_cuda.candidates, device=device)


def rates(seconds: dict[str, float], cells: int) -> dict[str, float]:
    return seconds | {
        "gcups": cells / seconds["seconds"] / 1e9,
        "gcups_per_core": cells / seconds["seconds"] / 1e9 / threads(),
    }


def energies(
    letters: np.ndarray, offsets: np.ndarray, device: Device, most: int = 2_000_000
) -> dict[str, float]:
    """Strings a second of the energies of the hits found."""
    count = min(len(offsets) - 1, most)
    energy = DuplexEnergy(device)
    energy.fold_letters(letters[: offsets[min(count, 1000)]], offsets[: min(count, 1000) + 1])
    seconds = timed(
        lambda: energy.fold_letters(letters[: offsets[count]], offsets[: count + 1]),
        repeats=2 if device.backend == "cuda" else 1,
        warm=0,
    )
    return seconds | {"strings": count, "strings_per_second": count / seconds["seconds"]}


def sequences(n_mirnas: int, n_transcripts: int) -> tuple[SequenceBatch, SequenceBatch, str]:
    """miRNAs, transcripts, and where they are from."""
    if not DATA.is_dir():
        return *random_sequences(n_mirnas, n_transcripts), "random"
    found = []
    for name, count in (
        ("human_mature_mirna.fa", n_mirnas),
        ("human_chr22_transcripts.fa.gz", n_transcripts),
    ):
        fasta = read_fasta(DATA / name)
        batch = SequenceBatch(fasta.text, fasta.offsets)
        rows = np.linspace(0, len(batch) - 1, min(count, len(batch))).astype(np.int64)
        found.append(batch.block(rows))
    return found[0], found[1], "human"


def random_sequences(
    n_mirnas: int, n_transcripts: int, seed: int = 1
) -> tuple[SequenceBatch, SequenceBatch]:
    """SequenceBatch in equal shares; lengths as of human miRNAs and of whole transcripts."""
    random = np.random.default_rng(seed)
    found = []
    for lengths in (
        np.clip(random.normal(21.7, 1.6, n_mirnas).round(), 16, 28),
        random.lognormal(7.7, 0.8, n_transcripts).clip(200, 30_000),
    ):
        offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
        text = random.choice(np.frombuffer(b"ACGU", dtype=np.uint8), int(offsets[-1]))
        found.append(SequenceBatch(text, offsets))
    return found[0], found[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--mirnas", type=int)
    parser.add_argument("--transcripts", type=int)
    chosen = parser.parse_args()
    print(json.dumps(run(chosen.backend, chosen.mirnas, chosen.transcripts), indent=2))
