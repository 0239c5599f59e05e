"""How much faster several GPUs of one host are than one, without a scheduler.

    python -m benchmarks.bench_gpus [CASE ...]
    python -m benchmarks.bench_gpus --predict
    python -m benchmarks.bench_gpus --both [CASE ...]

Each case is one analysis. Its chunks (of ``mutual_information`` its bootstraps) are computed by
Snakemake with ``--resources gpu=N``, N all GPUs of the host first, then half of them, down to one;
each GPU brings its part of the host's cores. Before that, a chunk for each GPU (where bootstraps
are timed: all chunks and two bootstraps) is computed once, so that kernels are compiled and files
are in memory. ``seconds`` are those from the start of the first of these jobs to the end of the
last, with Snakemake and the start of every job; ``efficiency`` is the time on one GPU over N times
that on N. Cases that are not named stay in the file as they are.
On a machine without GPUs a small size runs on the CPU, to try the script.

``--predict`` says from the measured times what four and eight GPUs will take, so that a run there
is a check (``predicted``).

``--both`` times chunks with ``backend: both`` beside ``cuda`` on one GPU with its part of the cores
(``both``), by default those of ``multimodal_correlation``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pairtile.gpu.device import threads, visible_gpus
from pairtile.runtime.requests import chunk_name

from benchmarks.bench_trajectory_correlation import moving
from benchmarks.bench_workflow import ROOT, expression, write_genome, write_table
from benchmarks.machine import MEASURED_MI, RESULTS, results_path, write

Inputs = Callable[[Path, bool], dict[str, Any]]


def mutual_information(folder: Path, large: bool) -> dict[str, Any]:
    """B-spline mutual information, and bootstraps of it."""
    genes, samples, bootstraps = (10_000, 500, 112) if large else (200, 60, 4)
    write_table(folder / "expression.tsv", expression(genes, samples))
    return {
        "method": "mutual_information",
        "expression": "expression.tsv",
        "preprocess": {"log2": False},
        **MEASURED_MI,
        "keep": {"p_value": 1e-6},
        "bootstraps": bootstraps,
        "export": ["tsv"],
    }


def multimodal_correlation(folder: Path, large: bool) -> dict[str, Any]:
    """Gaussian mixtures, K 1 to 5, three restarts."""
    genes, samples = (10_000, 188) if large else (60, 60)
    write_table(folder / "expression.tsv", expression(genes, samples))
    return {
        "method": "multimodal_correlation",
        "expression": "expression.tsv",
        "preprocess": {"log2": False},
        "chunks": 8,
        "export": ["tsv"],
    }


def predictor_pairs(folder: Path, large: bool) -> dict[str, Any]:
    """All pairs of predictors for every target, three levels, 50 samples."""
    genes = 25_000 if large else 300
    levels = np.random.default_rng(1).integers(0, 3, (genes, 50))
    lines = ["\t".join(["gene", *(f"t{n}" for n in range(50))])]
    lines += ["\t".join([f"gene{n}", *map(str, row)]) for n, row in enumerate(levels)]
    (folder / "levels.tsv").write_text("\n".join(lines) + "\n")
    return {
        "method": "predictor_pairs",
        "levels": "levels.tsv",
        "null": {"permutations": 0},
        "chunks": 8,
        "export": ["tsv"],
    }


def mirna_targets(folder: Path, large: bool) -> dict[str, Any]:
    """2,600 miRNAs and 100 shuffles of each on a tenth of all human 3' UTRs (simulated)."""
    section = write_genome(folder, 10 if large else 2_000)
    shuffles = 100 if large else 20
    return section | {"null": {"shuffles": shuffles}, "chunks": 8, "export": ["tsv"]}


def coordinates(folder: Path, large: bool) -> dict[str, Any]:
    """B-spline mutual information of all coordinates of 3,413 atoms, with 20 surrogates."""
    estimator = {"kind": "bspline", "bins": 20, "surrogates": 20}
    return _motion(folder, (10_239, 1) if large else (60, 1), estimator)


def ksg(folder: Path, large: bool) -> dict[str, Any]:
    """Nearest-neighbour mutual information of 10,240 positions, without surrogates."""
    estimator = {"kind": "ksg", "surrogates": 0}
    return _motion(folder, (10_240, 3) if large else (40, 3), estimator)


def _motion(folder: Path, shape: tuple[int, int], estimator: dict[str, Any]) -> dict[str, Any]:
    """1,000 frames of so many variables of so many coordinates."""
    np.save(folder / "run.npy", np.moveaxis(moving(*shape, 1_000), 2, 0))
    return {
        "method": "trajectory_correlation",
        "time_series": "run.npy",
        "estimator": estimator,
        "keep": {"top_edges": 1000},
        "chunks": 16,
        "export": ["tsv"],
    }


CASES: dict[str, tuple[Inputs, str]] = {
    "multimodal_correlation": (multimodal_correlation, "chunks"),
    "predictor_pairs": (predictor_pairs, "chunks"),
    "mutual_information": (mutual_information, "bootstraps"),
    "mirna_targets": (mirna_targets, "chunks"),
    "coordinates": (coordinates, "chunks"),
    "ksg": (ksg, "chunks"),
}
"""Inputs and section of a case, and the folder of the files that are timed."""


def run(cases: list[str] | None = None) -> dict[str, Any]:
    """Time the cases on one GPU and on several of this host, and write what is measured so far."""
    gpus = len(visible_gpus())
    results = _beside_others(f"gpus_{max(gpus, 1)}", {"gpus": gpus})
    for name in cases or CASES:
        inputs, timed = CASES[name]
        folder = Path(tempfile.mkdtemp(prefix="pairtile-gpus-"))
        try:
            section = inputs(folder, gpus > 0)
            backend = "cuda" if gpus else "cpu"
            warm = section | ({"bootstraps": 2} if "bootstraps" in section else {})
            config = {"backend": backend, "analyses": {"bench": section, "warm": warm}}
            (folder / "config.yaml").write_text(json.dumps(config))
            results[name] = _scaling(folder, timed, max(gpus, 1))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(name, json.dumps(results[name]), flush=True)
        print(write(f"gpus_{max(gpus, 1)}", "auto", results), flush=True)
    return results


def both(cases: list[str] | None = None) -> dict[str, Any]:
    """Time the chunks of cases on one GPU, alone and with the cores that it leaves, and write what
    is measured so far.

    ``share``: the part of the work that these can do by the cost model. ``cuda_seconds``,
    ``both_seconds``: of all chunks; ``cpu_seconds``: until the last one on the CPU ends. ``saved``:
    the part of the time of the GPU alone.
    """
    results = _beside_others("gpus_both", {"cores": threads() // len(visible_gpus())})
    for name in cases or ["multimodal_correlation"]:
        inputs, timed = CASES[name]
        folder = Path(tempfile.mkdtemp(prefix="pairtile-both-"))
        bench = folder / "results/bench"
        entry: dict[str, Any] = {}
        try:
            section = inputs(folder, True)
            for backend in ("cuda", "both"):
                shutil.rmtree(bench, ignore_errors=True)
                config = {"backend": backend, "analyses": {"bench": section}}
                (folder / "config.yaml").write_text(json.dumps(config))
                targets = _files(folder, "bench", timed, 1)
                on_cpu = [target for target in targets if target.endswith("-cpu.parquet")]
                _snakemake(folder, [*targets[:1], *on_cpu[:1]], 1)  # compiles kernels
                shutil.rmtree(bench / timed)
                entry[f"{backend}_seconds"] = _time_jobs(folder, timed, targets, 1)
            entry["saved"] = 1 - entry["both_seconds"] / entry["cuda_seconds"]
            entry["cpu_chunks"] = len(on_cpu)
            if on_cpu:
                later = _last_end(folder, targets) - _last_end(folder, on_cpu)
                entry["cpu_seconds"] = entry["both_seconds"] - later
            said = json.loads((bench / "steps/plan.json").read_text())["messages"]
            [entry["share"]] = [m["numbers"]["share"] for m in said if m["code"] == "cpu_share"]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        results[name] = entry
        print(name, json.dumps(entry), flush=True)
        print(write("gpus_both", "auto", results), flush=True)
    return results


def predicted() -> dict[str, Any]:
    """Times on four and eight GPUs, from ``gpus_N.DEVICE.json``, to ``gpus_predicted.DEVICE.json``.

    J jobs on N GPUs take ceil(J / N) rounds of ``job`` + (N - 1) ``beside`` seconds: a job alone,
    and what each job beside it costs it of the host they share. Both are fitted by least squares to
    what was measured; ``misfit`` is the largest relative error there. ``*_of_60_s``: the efficiency
    of work that takes 60 s or longer on one GPU, in as many jobs, but one for each GPU at least.
    """
    results: dict[str, Any] = {}
    for path in sorted(RESULTS.glob("gpus_[0-9]*.json")):
        content = json.loads(path.read_text())
        own: dict[str, Any] = {}
        for case, entry in content["results"].items():
            if case == "gpus":
                continue
            jobs = entry["jobs"]
            seconds = {
                int(key.rpartition("_")[2]): value
                for key, value in entry.items()
                if key.startswith("seconds_on_")
            }
            design = [[-(-jobs // n), -(-jobs // n) * (n - 1)] for n in seconds]
            (job, beside), *_ = np.linalg.lstsq(design, [*seconds.values()])
            fitted = np.array(design) @ (job, beside) / [*seconds.values()]
            found = {"jobs": jobs, "job": job, "beside": beside}
            found["misfit"] = float(np.abs(fitted - 1).max())
            for n in (4, 8):
                rounds, many = -(-jobs // n), max(jobs, n)
                found[f"seconds_on_{n}"] = rounds * (job + (n - 1) * beside)
                found[f"efficiency_on_{n}"] = jobs * job / (n * found[f"seconds_on_{n}"])
                longer = max(jobs * job, 60.0) / many
                of_60 = -(-many // n) * (longer + (n - 1) * beside)
                found[f"efficiency_on_{n}_of_60_s"] = many * longer / (n * of_60)
            own[case] = found
        made = {"benchmark": "gpus_predicted", "from": path.name, "results": own}
        device = path.name.partition(".")[2]
        (RESULTS / f"gpus_predicted.{device}").write_text(json.dumps(made, indent=2) + "\n")
        results |= own
    return results


def _beside_others(name: str, host: dict[str, Any]) -> dict[str, Any]:
    """What the file holds of other cases, where it is of such a host; else the host alone."""
    path = results_path(name, "auto")
    before: dict[str, Any] = json.loads(path.read_text())["results"] if path.exists() else {}
    return before if host.items() <= before.items() else host


def _scaling(folder: Path, timed: str, gpus: int) -> dict[str, Any]:
    chunks = _files(folder, "bench", "chunks", gpus)
    if timed == "bootstraps":
        _snakemake(folder, _files(folder, "warm", timed, gpus), gpus)
        _snakemake(folder, chunks, gpus)
    else:
        _snakemake(folder, chunks[:gpus], gpus)
    targets = _files(folder, "bench", timed, gpus)
    results = folder / "results/bench"
    entry: dict[str, Any] = {"jobs": len(targets)}
    numbers = [gpus]
    while numbers[-1] > 1:
        numbers.append(numbers[-1] // 2)
    for number in numbers:
        shutil.rmtree(results / timed, ignore_errors=True)
        entry[f"seconds_on_{number}"] = _time_jobs(folder, timed, targets, number)
    for number in numbers[:-1]:
        on_number = number * entry[f"seconds_on_{number}"]
        entry[f"efficiency_on_{number}"] = entry["seconds_on_1"] / on_number
    return entry


def _time_jobs(folder: Path, timed: str, targets: list[str], gpus: int) -> float:
    """Seconds from the start of the first job that makes these files to the end of the last."""
    start = time.time()
    _snakemake(folder, targets, gpus)
    logs = (folder / "results/bench/logs" / timed).glob("*.log")
    return _last_end(folder, targets) - min(_begun(log, start) for log in logs)


def _last_end(folder: Path, targets: list[str]) -> float:
    """When the last of the files was made."""
    return max((folder / target).stat().st_mtime for target in targets)


def _files(folder: Path, analysis: str, kind: str, gpus: int) -> list[str]:
    """The chunk or bootstrap files that the plan of an analysis asks for."""
    results = f"results/{analysis}"
    _snakemake(folder, [f"{results}/plan.json"], gpus)
    plan = json.loads((folder / results / "plan.json").read_text())
    names = {
        "chunks": [chunk_name(chunk) for chunk in plan["chunks"]],
        "bootstraps": [f"{job['first']:05d}-{job['last']:05d}" for job in plan["bootstraps"]],
    }
    return [f"{results}/{kind}/{name}.parquet" for name in names[kind]]


def _snakemake(folder: Path, targets: list[str], gpus: int) -> None:
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), *targets]
    # The cores of one GPU go with it.
    command += ["--cores", str(max(2, gpus * (threads() // max(1, len(visible_gpus())))))]
    command += ["--resources", f"gpu={gpus}"]
    command += ["--directory", str(folder), "--configfile", str(folder / "config.yaml")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)


def _begun(log: Path, run_start: float) -> float:
    """When a job's log began: the time of day of its first line, to a second."""
    hour, minute, second = (int(part) for part in log.read_text()[:8].split(":"))
    day = time.localtime(run_start)
    begun = time.mktime((*day[:3], hour, minute, second, 0, 0, day.tm_isdst))
    return begun if begun >= run_start - 60 else begun + 86_400  # past midnight


if __name__ == "__main__":
    if sys.argv[1:] == ["--predict"]:
        print(json.dumps(predicted(), indent=2))
    elif sys.argv[1:2] == ["--both"]:
        both(sys.argv[2:] or None)
    else:
        run(sys.argv[1:] or None)
