"""Speed of the search for miRNA targets: the score pass, the whole search, the energies.

    python -m benchmarks.bench_mirna_targets [cpu|cuda] [--mirnas 1921] [--transcripts 918]

prints JSON. GCUPS are 10^9 cells (miRNA letters x transcript letters) a second. The score pass
ends with the candidates of all pairs in host memory, with traceback with the alignments that both
filters leave (on the CPU as text); the search goes on to hits as a table, with and without
energies; energies are counted in strings a second. miRanda 3.3a reaches 0.075 GCUPS on one current
core without energies.

    python -m benchmarks.bench_mirna_targets cuda --genome --seconds 440 --out rows.jsonl

searches a genome's worth of simulated sequences with a null: 2,600 miRNAs, 100 shuffles of each, 60
million letters of 3' UTRs, tile by tile in a random order. A line of JSON each 30 seconds says how
far it is; the last one how long all takes, measured or, where ``--seconds`` end before, by the
share that was done, and in which functions the time went.

    python -m benchmarks.bench_mirna_targets cpu --large --seconds 120

writes a share of that genome, and one transcript as long as a chromosome (5, 10 and 20 million
letters, 20 miRNAs, 20 shuffles), each in a process of its own: its peak of memory is its own.

    python -m benchmarks.bench_mirna_targets cuda --published

searches as many sequences as CUDA-miRanda's largest run had.

    python -m benchmarks.bench_mirna_targets cuda --miranda PROGRAM

runs miRanda 3.3a on one core and pairtile on the same two files, each to the hits with energies.

Sequences are human (1,921 miRNAs, 918 transcripts of chromosome 22) where
``../shared/data/mirna`` is there, else random ones of the same lengths.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import multiprocessing
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pairtile import mirna_targets
from pairtile.api.settings import analysis_config
from pairtile.engine.selection import Selection
from pairtile.errors import ConfigError
from pairtile.gpu.device import Device, choose, threads
from pairtile.io.in_memory import inputs_in_memory
from pairtile.methods.mirna_targets import search_cpu
from pairtile.methods.mirna_targets.config import AlignmentConfig, MirnaTargetsConfig
from pairtile.methods.mirna_targets.energy import DuplexEnergy
from pairtile.methods.mirna_targets.fasta import Fasta, read_fasta
from pairtile.methods.mirna_targets.score import MirnaTargets, cells_in
from pairtile.methods.mirna_targets.scoring import Candidates
from pairtile.methods.mirna_targets.search import SequenceBatch, TargetSearch, fold_strings, trace

from benchmarks.machine import timed, write
from benchmarks.peers.built import hits_of

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
    block = mirnas, transcripts
    candidates = score_pass(device)
    found = candidates(*block, search.scoring)
    seconds = timed(lambda: candidates(*block, search.scoring), repeats=5)
    result["score_pass"] = rates(seconds, cells) | {"candidates": len(found.i)}
    if device.backend == "cuda":
        from pairtile.methods.mirna_targets.search_cuda import alignments

        seconds = timed(lambda: alignments(*block, search.scoring, device=device), repeats=5)
    else:
        of_block = mirnas, transcripts, search.scoring
        seconds = timed(lambda: list(trace(candidates(*block, search.scoring), *of_block)))
    result["score_pass_and_traceback"] = rates(seconds, cells)
    seconds = timed(lambda: search.hits(0, len(mirnas), rows), repeats=2, warm=0)
    hits = search.hits(0, len(mirnas), rows)
    result["hits_without_energies"] = rates(seconds, cells) | {"hits": len(hits)}
    traced, *_ = trace(found, mirnas, transcripts, search.scoring)
    try:
        result["energies"] = energies(*fold_strings(mirnas, transcripts, traced), device)
        search = TargetSearch(mirnas, transcripts, AlignmentConfig(), device)
        seconds = timed(lambda: search.hits(0, len(mirnas), rows), repeats=1, warm=0)
        result["hits_with_energies"] = rates(seconds, cells)
    except ConfigError as error:  # no ViennaRNA, whose tables the energies need
        result["energies"] = str(error)
    result["peak_host_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result["peak_device_memory_bytes"] = device.peak_bytes()
    return result


def published(device: Device) -> dict[str, Any]:
    """As many miRNAs and references as CUDA-miRanda's largest run; these of 1,200 letters on
    average, simulated."""
    of_mirnas, of_transcripts = simulated((256, 33_727 * 1_200, 33_727))
    mirnas, transcripts = of_mirnas.letters, of_transcripts.letters
    cells, rows = int(mirnas.offsets[-1]) * int(transcripts.offsets[-1]), np.arange(33_727)
    search = TargetSearch(mirnas, transcripts, AlignmentConfig(), device)
    find = score_pass(device)
    seconds = timed(lambda: find(mirnas, transcripts, search.scoring), repeats=3)
    hits = timed(lambda: search.hits(0, len(mirnas), rows), repeats=2)
    return {
        "mirnas": 256,
        "transcripts": 33_727,
        "cells": cells,
        "score_pass": rates(seconds, cells),
        "hits_with_energies": rates(hits, cells),
    }


def beside_miranda(program: Path, backend: str) -> dict[str, Any]:
    """Both from files to hits with energies: 64 miRNAs, all transcripts."""
    files = ["mirnas.fa", "transcripts.fa"]
    *batches, source = sequences(64, 918)
    with tempfile.TemporaryDirectory() as name:
        for file, batch in zip(files, batches, strict=True):
            pieces = [
                bytes(batch.text[begin:end]).decode() for begin, end in pairwise(batch.offsets)
            ]
            records = [f">{file[0]}{k}\n{text}\n" for k, text in enumerate(pieces)]
            (Path(name) / file).write_text("".join(records))
        begin = time.perf_counter()
        command = [str(program.resolve()), *files]
        printed = subprocess.run(command, cwd=name, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begin
        paths = [Path(name) / file for file in files]
        ours = timed(lambda: mirna_targets(*paths, backend=backend))
        found = mirna_targets(*paths, backend=backend)
    cells = int(batches[0].offsets[-1]) * int(batches[1].offsets[-1])
    columns = ["mirna", "transcript", "score", "energy_kcal_mol", "reference_begin"]
    listed = zip(*(found[column].tolist() for column in columns), strict=True)
    hits = sorted(f"{a} {b} {c:.2f} {d:.2f} {e}" for a, b, c, d, e in listed)
    expected = [line.split("\t") for line in hits_of(printed.stdout)]
    theirs = sorted(
        f"{a} {b} {float(c):.2f} {float(d):.2f} {e}" for a, b, c, d, _, _, e, *_ in expected
    )
    return {
        "sequences": source,
        "cells": cells,
        "miranda": {"seconds": seconds, "hits": len(theirs)},
        "pairtile": ours | {"hits": len(hits)},
        "hits_of_both": len({*hits} & {*theirs}),
        "times_faster": seconds / ours["seconds"],
    }


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
        batch = fasta.letters
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


# --- a genome with its null -----------------------------------------------------------------------


GENOME = (2600, 60_000_000, 30_000)
"""miRNAs, letters of 3' UTRs, 3' UTRs."""


def genome(
    backend: str,
    seconds: float,
    out: Path | None = None,
    size: tuple[int, int, int] = GENOME,
    shuffles: int = 100,
) -> dict[str, Any]:
    """Search and null of simulated sequences of ``size`` (``GENOME``), for at most ``seconds``."""
    begin = time.perf_counter()
    device = choose(backend)
    names = {"mirnas": "mirnas", "transcripts": "transcripts"}
    asked = {"backend": backend, "null": {"shuffles": shuffles}}
    config = analysis_config(MirnaTargetsConfig, **asked, **names)
    with inputs_in_memory(dict(zip(names, simulated(size), strict=True))):
        prepared = MirnaTargets.prepare(config, seed=1)
    opened = MirnaTargets(config, prepared.state, device, "integer")
    ready, ready_cpu = time.perf_counter(), time.process_time()
    edges = opened.cost(config, prepared.state, device.backend, threads()).tile_edges
    tiles = opened.space(prepared.state).tiles(*edges)
    order = np.random.default_rng(1).permutation(len(tiles))
    whole = sum(cells_in(prepared.state, tile) for tile in tiles) * (shuffles + 1)
    done = {"tiles": 0, "cells": 0, "hits": 0, "shuffled_hits": 0}
    told = ready

    def row() -> dict[str, Any]:
        spent = time.perf_counter() - ready
        return done | {
            "of_tiles": len(tiles),
            "share": done["cells"] / whole,
            "seconds": spent,
            "cpu_seconds": time.process_time() - ready_cpu,
            "seconds_of_all": spent * whole / max(done["cells"], 1),
            "gcups": done["cells"] / spent / 1e9,
            "peak_host_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "peak_device_memory_bytes": device.peak_bytes(),
        }

    def tell(content: dict[str, Any]) -> None:
        line = json.dumps(content)
        print(line, flush=True)
        if out is not None:
            with out.open("a") as handle:
                handle.write(line + "\n")

    profile = cProfile.Profile()
    profile.enable()
    for number in order.tolist():
        tile = tiles[number]
        _, counts = opened.score_tile(tile, Selection(everything=True))
        done["tiles"] += 1
        done["cells"] += cells_in(prepared.state, tile) * (shuffles + 1)
        done["hits"] += int(counts["hits"].sum())
        done["shuffled_hits"] += int(counts["null_site_counts"].sum())
        now = time.perf_counter()
        if now - told > 30:
            tell(row())
            told = now
        if now - begin > seconds:
            break
    profile.disable()
    functions = pstats.Stats(profile, stream=sys.stderr).get_stats_profile().func_profiles
    longest = sorted(functions.items(), key=lambda item: -item[1].tottime)[:15]
    final = row() | {
        "device": device.name,
        "cpu_threads": threads(),
        "mirnas": size[0],
        "letters": size[1],
        "shuffles": shuffles,
        "seconds_to_prepare": ready - begin,
        "finished": done["tiles"] == len(tiles),
        "own_seconds_of_functions": {name: round(of.tottime, 2) for name, of in longest},
    }
    tell(final)
    return final


CHROMOSOMES = (5_000_000, 10_000_000, 20_000_000)
"""Letters of a transcript, as long as a small chromosome."""
FEW_MIRNAS, FEW_SHUFFLES = 20, 20


def large(backend: str, seconds: float) -> dict[str, Any]:
    """A share of the genome, ``seconds`` of it, and single long transcripts."""
    alone = multiprocessing.get_context("spawn")
    sizes = {"genome": (*GENOME, 100)}
    sizes |= {
        f"one transcript of {letters} letters": (FEW_MIRNAS, letters, 1, FEW_SHUFFLES)
        for letters in CHROMOSOMES
    }
    found = {}
    for name, (*size, shuffles) in sizes.items():
        with alone.Pool(1) as pool:
            found[name] = pool.apply(genome, (backend, seconds, None, tuple(size), shuffles))
    return found


def simulated(size: tuple[int, int, int]) -> tuple[Fasta, Fasta]:
    """miRNAs, and 3' UTRs with lengths as human ones and three of five letters A or U."""
    n_mirnas, letters, n_transcripts = size
    random = np.random.default_rng(1)
    of_mirnas = np.clip(random.normal(21.7, 1.6, n_mirnas).round(), 16, 28)
    of_transcripts = random.lognormal(7.0, 1.0, n_transcripts)
    of_transcripts = np.maximum(of_transcripts * letters / of_transcripts.sum(), 50)
    files = []
    for key, lengths in (("mirnas", of_mirnas), ("transcripts", of_transcripts)):
        offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
        draws = random.integers(0, 10, int(offsets[-1]), dtype=np.uint8)
        batch = SequenceBatch(np.frombuffer(b"AAAUUUCCGG", np.uint8)[draws], offsets)
        names = [f"{key[0]}{k}" for k in range(len(lengths))]
        records = np.arange(1, len(names) + 1, dtype=np.int32)
        files.append(Fasta(key, key, names, names, [""] * len(names), batch, records))
    return files[0], files[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--mirnas", type=int)
    parser.add_argument("--transcripts", type=int)
    parser.add_argument("--genome", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--miranda", type=Path)
    parser.add_argument("--seconds", type=float, default=440.0)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if chosen.published:
        results = published(choose(chosen.backend))
        print(write("mirna_targets_published", chosen.backend, results))
        sys.exit()
    if chosen.miranda:
        results = beside_miranda(chosen.miranda, chosen.backend)
        print(results, write("mirna_targets_miranda", chosen.backend, results))
        sys.exit()
    if chosen.large:
        results = large(chosen.backend, chosen.seconds)
        print(write("mirna_targets_large", chosen.backend, results))
        sys.exit()
    if chosen.genome:
        genome(chosen.backend, chosen.seconds, chosen.out)
        sys.exit()
    print(json.dumps(run(chosen.backend, chosen.mirnas, chosen.transcripts), indent=2))
