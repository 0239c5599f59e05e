"""The programs that the methods come from, beside pairtile on the same simulated input.

    python -m benchmarks.peers.originals [NAME ...]    # into docs/comparison.md
    python -m benchmarks.peers.originals --why         # which of ARACNe-AP's steps does what

They come from their public sources, which no package index has; ``.peers/originals`` must hold

- ``miranda``, miRanda 3.3a, and ``kinc``, KINC 3.4.2 without its graphical interface;
- ``aracne.jar`` of ARACNe-AP, and ``dimreduction.jar`` of DimReduction's packages ``fs`` and
  ``utilities`` (its charts are not needed);
- ``R``, a library with minet and infotheo.

Seconds are of the processor, of one core each, so that other work on the machine counts little:
those of the whole process where a program reads and writes files (with the start of Java), else
those of the functions that are named. pairtile's are of a library call whose code is compiled, also
on two threads, and seconds of the clock there.

``--why`` exchanges ARACNe-AP's steps (estimate, threshold, DPI) for pairtile's one by one on eight
simulated tables of each size, into ``results/aracne_why.DEVICE.json``: the mean AUPR of each
choice, how far it is above ARACNe-AP's on the same tables, and the standard error of that. A pair
of two regulators counts in both directions, as ARACNe-AP gives it; ``once``: in the direction of
its row in pairtile's network, as in the comparison above. DPI is without tolerance where none is
named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pairtile
import pandas as pd

from benchmarks.machine import write
from benchmarks.peers.__main__ import (
    ENVIRONMENTS,
    ROOT,
    gold,
    network_agreement,
    record_page,
    table,
)
from benchmarks.peers.built import hits_of
from benchmarks.peers.inputs import Sizes, make
from benchmarks.peers.programs import fasta, processor_seconds, rows

FOLDER = ENVIRONMENTS / "originals"
HERE = Path(__file__).parent
BEGIN, END = "<!-- table: benchmarks.peers.originals -->", "<!-- end of originals -->"

SIZES = Sizes(250, 30, 500, 20, 30, 64, 400, 16, 300, 9)
LEVELS, BINS = 2, 10
P_VALUE, DRAWS = 1e-8, 1_000_000
"""Of a network; both programs extrapolate the tail of their null to it."""
MODES_GENES = 60

ONE_JAVA_THREAD = ("java", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1")


class Run(NamedTuple):
    """What a program gave."""

    version: str
    call: str
    seconds: float
    results: Any


def cpu_seconds(command: list[Any], folder: Path) -> tuple[str, float]:
    """What it prints, and the seconds of the processor that it takes, without waiting."""

    before = processor_seconds()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "R_LIBS": str(FOLDER / "R")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, processor_seconds() - before


def miranda(folder: Path) -> Run:
    """Hits with energies, all three of miRanda's thresholds as they are."""
    text, seconds = cpu_seconds([FOLDER / "miranda", "mirnas.fa", "transcripts.fa"], folder)
    hits = [row.split("\t") for row in hits_of(text)]
    found = sorted([*row[:2], float(row[2]), round(float(row[3]), 2), int(row[6])] for row in hits)
    return Run("3.3a", "miranda mirnas.fa transcripts.fa", seconds, found)


def our_miranda(folder: Path) -> Callable[[], Any]:
    sequences = fasta(folder, "mirnas.fa"), fasta(folder, "transcripts.fa")

    def work() -> list[list[Any]]:
        hits = pairtile.mirna_targets(*sequences, backend="cpu")
        names = (hits[column].str.replace("_", "") for column in ("mirna", "transcript"))
        energy = hits["energy_kcal_mol"].astype(float).round(2)
        columns = hits["score"], energy, hits["reference_begin"]
        return sorted([*row] for row in zip(*names, *columns, strict=True))

    return work


def kinc(folder: Path) -> Run:
    """Modes of all pairs, ICL and Spearman, by the processor without OpenCL."""
    program = FOLDER / "kinc"
    names, values = rows(folder, "modes.tsv")
    names, values = names[:MODES_GENES], values[:MODES_GENES]
    lines = ["\t".join(f"s{sample}" for sample in range(values.shape[1]))]
    lines += [
        "\t".join([name, *map(repr, row)]) for name, row in zip(names, values.tolist(), strict=True)
    ]
    (folder / "kinc.txt").write_text("\n".join(lines) + "\n")
    for setting in ("cuda none", "opencl none", "logging off"):
        cpu_seconds([program, "settings", "set", *setting.split()], folder)
    begin = [program, "run", "import-emx", "--input", "kinc.txt", "--output", "kinc.emx"]
    cpu_seconds([*begin, "--nan", "NA"], folder)
    options = "--clusmethod gmm --corrmethod spearman --minsamp 25 --mincorr 0"
    matrices = "--ccm kinc.ccm --cmx kinc.cmx"
    call = f"run similarity --input kinc.emx {matrices} {options}"
    _, seconds = cpu_seconds([program, *call.split()], folder)
    export = f"run export-cmx --emx kinc.emx {matrices} --output modes.txt"
    cpu_seconds([program, *export.split()], folder)
    found: dict[str, list[list[Any]]] = {}
    for line in (folder / "modes.txt").read_text().splitlines():
        x, y, *_, r, states = line.split()
        found.setdefault(f"{y} {x}", []).append([states.count("1"), round(float(r), 4)])
    return Run("3.4.2", f"kinc {call}", seconds, {key: sorted(found[key]) for key in found})


def our_kinc(folder: Path) -> Callable[[], Any]:
    _, values = rows(folder, "modes.tsv")

    def work() -> dict[str, list[list[Any]]]:
        modes = pairtile.multimodal_correlation(
            values[:MODES_GENES],
            compatibility="kinc",
            correlation="spearman",
            min_samples=25,
            min_correlation=0.0,
            preprocess={"log2": False, "normalize": "none", "sample_scale": False},
            backend="cpu",
        ).modes
        found: dict[str, list[list[Any]]] = {}
        for one, other, n, r in modes[["source", "target", "n_samples", "correlation"]].to_numpy():
            found.setdefault(f"{int(one)} {int(other)}", []).append([int(n), round(float(r), 4)])
        return {key: sorted(found[key]) for key in found}

    return work


def aracne(folder: Path) -> Run:
    """Threshold, then a network of all samples after DPI."""
    seconds = aracne_step(folder, "--calculateThreshold") + aracne_step(folder, *ARACNE_NETWORK)
    call = f"aracne.jar --calculateThreshold, then --nobootstrap, --pvalue {P_VALUE:.0E}"
    return Run("of 2018", call, seconds, aracne_edges(folder).to_numpy().tolist())


ARACNE_NETWORK = "--nobootstrap", "--threads", "1"


def aracne_step(folder: Path, *step: str) -> float:
    """Seconds of a call of ARACNe-AP on the expression there."""
    names, values = rows(folder, "expression.tsv")
    table = pd.DataFrame(np.log2(1.0 + values), index=pd.Index(names, name="gene"))
    table.to_csv(folder / "aracne.tsv", sep="\t")
    program = [*ONE_JAVA_THREAD, "-jar", FOLDER / "aracne.jar", "-e", "aracne.tsv", "-o", "aracne"]
    given = ["--tfs", "regulators.txt", "--pvalue", f"{P_VALUE:.0E}", "--seed", "1"]
    return cpu_seconds([*program, *given, *step], folder)[1]


def aracne_edges(folder: Path) -> pd.DataFrame:
    """Regulator, target and MI, in nats; two regulators in both directions."""
    return pd.read_csv(folder / "aracne/nobootstrap_network.txt", sep="\t").iloc[:, :3]


def our_aracne(folder: Path) -> Callable[[], Any]:
    names, values = rows(folder, "expression.tsv")
    regulators = (folder / "regulators.txt").read_text().split()
    table = pd.DataFrame(values, index=names)

    def work() -> list[list[Any]]:
        network = pairtile.infer_network(
            table,
            regulators,
            score="mi",
            transform="rank",  # as ARACNe-AP partitions ranks
            keep={"p_value": P_VALUE},
            permutations=DRAWS,
            backend="cpu",
        )
        return network[["source", "target", "mi_bits"]].to_numpy().tolist()

    return work


def dimreduction(folder: Path) -> Run:
    """Least entropy with the penalty ``no_obs`` of each gene's next level, over all pairs."""
    # Its sort asks for a garbage collection at every pair, which takes most of the time.
    java = [*ONE_JAVA_THREAD, "-XX:+DisableExplicitGC", "-cp", FOLDER / "dimreduction.jar"]
    command = [*java, HERE / "DimReduction.java"]
    *lines, seconds = cpu_seconds([*command, folder, LEVELS], folder)[0].splitlines()
    best = [float(line.split("\t")[0]) for line in lines]
    return Run("of 2012", "FS.runExhaustive(0, 0, set), 'no_obs', alpha 1", float(seconds), best)


def our_dimreduction(folder: Path) -> Callable[[], Any]:
    names, levels = rows(folder, "levels.tsv")
    table = pd.DataFrame(levels, index=names)
    series = (folder / "series.txt").read_text().split()

    def work() -> list[float]:
        sets = pairtile.predictor_pairs(
            levels=table, series=series, penalty="no_obs", permutations=0, top=1, backend="cpu"
        )
        return (sets.set_index("target").loc[names, "mce_bits"] / np.log2(LEVELS)).tolist()

    return work


def _in_r(folder: Path, package: str, number: int, step: str) -> tuple[str, float, Any]:
    if not (folder / f"{package}.done").exists():
        cpu_seconds(["Rscript", HERE / "originals.R", folder, package, number], folder)
        (folder / "r.json").rename(folder / f"{package}.done")
        for name in ("mi", "clr", "kept"):
            (folder / f"{name}.bin").rename(folder / f"{package}.{name}")
    told = json.loads((folder / f"{package}.done").read_text())
    matrix = np.fromfile(folder / f"{package}.{step}").reshape(SIZES.genes, SIZES.genes)
    return told["version"], told["seconds"][step], matrix[_pairs()].tolist()


def _pairs() -> tuple[Any, Any]:
    return np.triu_indices(SIZES.genes, 1)


def _their_mi(folder: Path, package: str) -> Any:
    return np.fromfile(folder / f"{package}.mi").reshape(SIZES.genes, SIZES.genes)


def minet(folder: Path) -> Run:
    """Mutual information of bins of equal numbers of samples, nats (infotheo)."""
    version, seconds, found = _in_r(folder, "minet", BINS, "mi")
    return Run(version, f"build.mim(x, 'mi.empirical', 'equalfreq', {BINS})", seconds, found)


def our_minet(folder: Path) -> Callable[[], Any]:
    _, values = rows(folder, "expression.tsv")
    how = {"bins": BINS, "order": 1, "transform": "rank", "backend": "cpu"}
    return lambda: (np.log(2.0) * pairtile.mutual_information(values, **how)[_pairs()]).tolist()


def minet_clr(folder: Path) -> Run:
    """CLR of that matrix."""
    version, seconds, found = _in_r(folder, "minet", BINS, "clr")
    return Run(version, "clr(mim)", seconds, found)


def our_minet_clr(folder: Path) -> Callable[[], Any]:
    mi = _their_mi(folder, "minet")
    samples_not_population = np.sqrt((SIZES.genes - 2) / (SIZES.genes - 1))
    return lambda: (samples_not_population * pairtile.clr(mi)[_pairs()]).tolist()


def minet_aracne(folder: Path) -> Run:
    """DPI of that matrix by the additive rule: which pairs stay."""
    version, seconds, found = _in_r(folder, "minet", BINS, "kept")
    return Run(version, "aracne(mim, eps=0)", seconds, [value > 0 for value in found])


def our_minet_aracne(folder: Path) -> Callable[[], Any]:
    mi = _their_mi(folder, "minet")[_pairs()]
    return lambda: pairtile.data_processing_inequality(
        *_pairs(), mi, rule="additive", backend="cpu"
    ).tolist()


SEEDS = range(19, 27)
"""Of the simulated tables of ``--why``; the first has the tables of ``aracne``."""

ESTIMATES = [(10, 1), *product((6, 8, 10, 12, 16, 20), (2, 3, 4))]
"""Bins and orders of ``--why``; for ranks of so many samples pairtile takes 6 and 4."""


ENDS = ["source", "target"]


def why_aracne() -> dict[str, Any]:
    """AUPR of each choice by the number of samples."""
    results: dict[str, Any] = {"seeds": [*SEEDS]}
    for samples in (500, 900, 1_200):
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / f"{SEEDS[0]}/aracne/miThreshold_p1E-8_samples{samples}.txt"
            make(Path(scratch) / f"{SEEDS[0]}", SIZES._replace(samples=samples), SEEDS[0])
            aracne_step(file.parents[1], "--calculateThreshold")
            threshold = float(file.read_text())  # of permuted ranks: the same for all tables
            found = []
            for seed in SEEDS:
                folder = Path(scratch) / f"{seed}"
                make(folder, SIZES._replace(samples=samples), seed)
                found.append(aracne_choices(folder, samples, threshold))
                print(samples, seed, json.dumps(found[-1]), flush=True)
        choices = pd.DataFrame(found)
        own: dict[str, Any] = {}
        for name, values in choices.items():
            above = values - choices[f"{str(name).partition(':')[0]}: ARACNe-AP"]
            own[str(name)] = {"mean": values.mean(), "above": above.mean(), "error": above.sem()}
            own[str(name)]["of_each"] = values.tolist()
        results[f"{samples} samples"] = own
        write("aracne_why", "cpu", results)
    return results


def aracne_choices(folder: Path, samples: int, threshold: float) -> dict[str, float]:
    """AUPR of all pairs by MI, of networks, and of pairtile's defaults on one table."""
    names, values = rows(folder, "expression.tsv")
    regulators = (folder / "regulators.txt").read_text().split()
    table = pd.DataFrame(values, index=names)
    (folder / "aracne").mkdir(exist_ok=True)
    (folder / f"aracne/miThreshold_p1E-8_samples{samples}.txt").write_text("0\n")
    aracne_step(folder, *ARACNE_NETWORK, "--nodpi")
    pairs = aracne_edges(folder).set_axis([*ENDS, "mi_bits"], axis=1)
    pairs = pairs[(pairs["source"] < pairs["target"]) | ~pairs["target"].isin(regulators)]

    def aupr(edges: pd.DataFrame, score: str = "mi_bits", directed: bool = False) -> float:
        ranking = edges[ENDS].assign(score=edges[score])
        judged = {"genes": names, "regulators": regulators, "directed": directed}
        return float(pairtile.evaluate(ranking, gold(folder), **judged)["aupr"])

    def pruned(edges: pd.DataFrame, tolerance: float = 0.0) -> pd.DataFrame:
        how = {"regulators": regulators, "tolerance": tolerance, "backend": "cpu"}
        return edges[pairtile.data_processing_inequality(edges, **how)]

    def estimated(bins: int, order: int) -> pd.DataFrame:
        how = {"bins": bins, "order": order, "transform": "rank", "backend": "cpu"}
        bits = pairtile.mutual_information(table, regulators=regulators, **how).stack()
        return pairs.assign(mi_bits=bits[pd.MultiIndex.from_frame(pairs[ENDS])].to_numpy())

    def inferred(**how: Any) -> pd.DataFrame:
        return pairtile.infer_network(table, regulators, backend="cpu", **how)

    mine = {"score": "mi", "transform": "rank", "permutations": DRAWS, "dpi": False}
    theirs, ours = pairs[pairs["mi_bits"] >= threshold], inferred(keep={"p_value": P_VALUE}, **mine)
    found = {"all pairs: ARACNe-AP": aupr(pairs)}
    found["network: ARACNe-AP"] = aupr(pruned(theirs))
    found["network: ARACNe-AP, tolerance 0.1"] = aupr(pruned(theirs, 0.1))
    as_many = pairs.nlargest(len(ours), "mi_bits")
    found["network: ARACNe-AP, as many pairs as pairtile"] = aupr(pruned(as_many))
    for bins, order in ESTIMATES:
        of_all = estimated(bins, order)
        found[f"all pairs: {bins} bins, order {order}"] = aupr(of_all)
        as_many = of_all.nlargest(len(theirs), "mi_bits")
        name = f"network: {bins} bins, order {order}, as many pairs as ARACNe-AP"
        found[name] = aupr(pruned(as_many))
    for name, tolerance in (("pairtile", 0.0), ("pairtile, tolerance 0.1", 0.1)):
        kept = pruned(ours, tolerance)
        found[f"network: {name}"] = aupr(kept)
        found[f"network: {name}, once"] = aupr(kept, directed=True)
    found["network: defaults"] = aupr(inferred(), "combined", directed=True)
    found["all pairs: defaults"] = aupr(inferred(keep="all", dpi=False), "combined", directed=True)
    return found | {"pairs: ARACNe-AP": len(theirs), "pairs: pairtile": len(ours)}


class Original(NamedTuple):
    """A program and what it does; how results agree: numbers, AUPR, rows, keys."""

    method: str
    program: str
    what: str
    agreement: str
    samples: int = SIZES.samples


ORIGINALS = {
    "miranda": Original("mirna_targets", "miRanda", "hits with energies", "rows"),
    "aracne": Original(
        "mutual_information", "ARACNe-AP", "network of 500 samples, p <= 1e-8, DPI", "AUPR"
    ),
    "aracne_900": Original("mutual_information", "ARACNe-AP", "the same, 900 samples", "AUPR", 900),
    "aracne_1200": Original(
        "mutual_information", "ARACNe-AP", "the same, 1,200 samples", "AUPR", 1200
    ),
    "minet": Original("mutual_information", "minet", "MI of ten equal bins, all pairs", "numbers"),
    "minet_clr": Original("mutual_information", "minet", "CLR of a matrix", "numbers"),
    "minet_aracne": Original("mutual_information", "minet", "DPI of a matrix", "rows"),
    "dimreduction": Original(
        "predictor_pairs", "DimReduction", "best pair of each target", "numbers"
    ),
    "kinc": Original("multimodal_correlation", "KINC", "modes of all pairs, ICL", "keys"),
}


def ours(name: str, folder: Path) -> None:
    """Print seconds and results of pairtile; of the clock, and of the processor."""
    warnings.simplefilter("ignore")
    work = globals()[f"our_{name}"](folder)
    results = work()  # compiles
    clock, processor = [], []
    while len(clock) < 3 and sum(clock) < 20.0:
        begin = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - begin[0])
        processor.append(time.process_time() - begin[1])
    print(json.dumps({"clock": min(clock), "processor": min(processor), "results": results}))


def in_own_process(name: str, folder: Path, threads: int) -> dict[str, Any]:
    """What ``ours`` prints, with so many threads."""
    counts = {f"{each}_NUM_THREADS": str(threads) for each in ("OMP", "OPENBLAS", "NUMBA")}
    command = [sys.executable, "-m", "benchmarks.peers.originals", "--ours", str(folder), name]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | counts, stdout=subprocess.PIPE, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def agreement(how: str, folder: Path, theirs: Any, mine: Any) -> dict[str, Any]:
    """How far results are the same."""
    if how == "AUPR":
        values = network_agreement(theirs, folder), network_agreement(mine, folder)
        return {"aupr": values[0], "pairtile_aupr": values[1]}
    if how == "numbers":
        difference = np.abs(np.asarray(theirs) - np.asarray(mine))
        return {"largest_difference": float(difference.max())}
    if how == "keys":
        theirs = [[key, theirs[key]] for key in sorted(theirs)]
        mine = [[key, mine[key]] for key in sorted(mine)]
    if len(theirs) == len(mine) and how == "rows":
        return {"same": sum(a == b for a, b in zip(theirs, mine, strict=True)), "of": len(theirs)}
    return {"same": sum(row in mine for row in theirs), "of": len(theirs)}


def compared(name: str, scratch: Path) -> dict[str, Any]:
    """One program beside pairtile."""
    original = ORIGINALS[name]
    folder = scratch / str(original.samples)
    if not folder.exists():
        make(folder, SIZES._replace(samples=original.samples))
    name = name.partition("_")[0] if original.samples != SIZES.samples else name
    run: Run = globals()[name](folder)
    one, two = (in_own_process(name, folder, threads) for threads in (1, 2))
    theirs = json.loads(json.dumps(run.results))
    return {
        "method": original.method,
        "what": original.what,
        "program": original.program,
        "version": run.version,
        "call": run.call,
        "seconds": run.seconds,
        "seconds_of": "the processor",
        "pairtile_seconds": one["processor"],
        "two_threads_seconds": two["clock"],
        "times_faster": run.seconds / one["processor"],
    } | agreement(original.agreement, folder, theirs, one["results"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ORIGINALS)} (default: all)")
    parser.add_argument("--why", action="store_true", help="ARACNe-AP's steps, one by one")
    parser.add_argument("--ours", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.why:
        warnings.simplefilter("ignore")
        why_aracne()
        return
    if given.ours:
        ours(given.names[0], given.ours)
        return
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.names or ORIGINALS:
            results = {name: compared(name, Path(scratch))}
            print(table(results), flush=True)
            record_page("originals", SIZES, ORIGINALS, results, (BEGIN, END))


if __name__ == "__main__":
    main()
