"""What other programs compute of the inputs; runs without pairtile, where the program is installed.

    python programs.py NAME FOLDER

prints JSON: the program, its version, least seconds of the processor without imports and reading,
and results.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np

Result = tuple[Callable[[], Any], str, str]
"""What to time, the package, and the call that it makes."""


def rows(folder: Path, name: str) -> tuple[list[str], Any]:
    """Names and numbers of a table."""
    lines = [line.split("\t") for line in (folder / name).read_text().splitlines()]
    return [line[0] for line in lines], np.array([[float(v) for v in line[1:]] for line in lines])


def fasta(folder: Path, name: str) -> list[str]:
    """The sequences of a file with one line each."""
    return (folder / name).read_text().splitlines()[1::2]


def named_by_appearance(labels: Any) -> str:
    """Labels of samples as letters, ``a`` for that of the first sample, and so on."""
    letters: dict[Any, str] = {}
    return "".join(letters.setdefault(label, chr(97 + len(letters))) for label in labels)


def binned_mi(folder: Path) -> Result:
    """Mutual information of ranks in six equal bins, bits; pairs (i, j), i < j, row by row."""
    from scipy.stats import rankdata
    from sklearn.metrics import mutual_info_score

    _, values = rows(folder, "expression.tsv")
    ranks = rankdata(values, axis=1) - 1
    bins = np.minimum((6 * ranks / (values.shape[1] - 1)).astype(int), 5)

    def work() -> list[float]:
        pairs = combinations(range(len(bins)), 2)
        return [mutual_info_score(bins[i], bins[j]) / np.log(2) for i, j in pairs]

    return work, "scikit-learn", "sklearn.metrics.mutual_info_score(bins_i, bins_j) / log(2)"


def conditional_entropy(folder: Path) -> Result:
    """Least entropy of each gene's next level given two others' levels, bits; how many have it."""
    from pyitlib import discrete_random_variable as drv

    _, table = rows(folder, "levels.tsv")
    levels = table.astype(int)
    steps = np.array(
        [line.split("\t") for line in (folder / "transitions.tsv").read_text().splitlines()], int
    )
    before, after = levels[:, steps[:, 0]], levels[:, steps[:, 1]]

    def work() -> list[list[float]]:
        found = []
        for target in range(len(levels)):
            others = [gene for gene in range(len(levels)) if gene != target]
            bits = [
                float(drv.entropy_conditional(after[target], 2 * before[i] + before[j]))
                for i, j in combinations(others, 2)
            ]
            found.append([min(bits), sum(value < min(bits) + 1e-9 for value in bits)])
        return found

    return work, "pyitlib", "entropy_conditional(next, 2 * first + second, base=2)"


def alignment(folder: Path) -> Result:
    """Best local score of each miRNA, reversed, with each transcript: A-U and G-C 5, G-U 1, else
    -3; without gaps. As in miRanda, a miRNA's first letter and its last two take no part."""
    from Bio.Align import PairwiseAligner, substitution_matrices

    matrix = substitution_matrices.Array("ACGU", 2)
    for first in "ACGU":
        for second in "ACGU":
            pair = "".join(sorted(first + second))
            matrix[first, second] = {"AU": 5, "CG": 5, "GU": 1}.get(pair, -3)
    aligner = PairwiseAligner(mode="local", substitution_matrix=matrix)
    aligner.open_gap_score = aligner.extend_gap_score = -1000
    mirnas, transcripts = fasta(folder, "mirnas.fa"), fasta(folder, "transcripts.fa")

    def work() -> list[list[float]]:
        return [[aligner.score(m[::-1][2:-1], t) for t in transcripts] for m in mirnas]

    return work, "biopython", "PairwiseAligner(mode='local').score(miRNA[::-1][2:-1], transcript)"


def mixtures(folder: Path) -> Result:
    """Modes of each pair of rows, one to five by BIC: their number, and each sample's."""
    from sklearn.mixture import GaussianMixture

    _, values = rows(folder, "modes.tsv")

    def work() -> list[list[Any]]:
        found = []
        for pair in np.stack([values[::2], values[1::2]], axis=2):
            points = (pair - pair.mean(axis=0)) / pair.std(axis=0)
            fits = [GaussianMixture(k, n_init=5, random_state=1).fit(points) for k in range(1, 6)]
            best = min(fits, key=lambda fit: fit.bic(points))
            found.append([best.n_components, named_by_appearance(best.predict(points))])
        return found

    return work, "scikit-learn", "GaussianMixture(k, n_init=5, random_state=1), k = 1 to 5, bic"


def nearest_neighbours(folder: Path) -> Result:
    """Mutual information of every two atoms' positions by KSG's first estimator, k = 6, nats."""
    from normi._estimators import kraskov_estimator

    _, values = rows(folder, "positions.tsv")
    moves = values.reshape(-1, 3, values.shape[1])
    moves = moves / moves.std(axis=2, keepdims=True)
    points = [np.ascontiguousarray(atom.T) for atom in moves]
    kraskov_estimator(points[0], points[1], 6, "kraskov", 1)  # compiles

    def work() -> list[float]:
        pairs = combinations(points, 2)
        return [float(kraskov_estimator(x, y, 6, "kraskov", 1)[0]) for x, y in pairs]

    return (
        work,
        "normi",
        "kraskov_estimator(x, y, 6, 'kraskov', 1), coordinates in units of their SD",
    )


def power(folder: Path) -> Result:
    """Power of the test of a correlation: r 0.1 to 0.9, n 10 to 160."""
    from pingouin import power_corr

    def work() -> list[list[float]]:
        return [
            [float(power_corr(r=k / 10, n=n, alpha=0.001)) for n in (10, 20, 40, 80, 160)]
            for k in range(1, 10)
        ]

    return work, "pingouin", "power_corr(r, n, alpha=0.001)"


def _regulators(folder: Path) -> tuple[list[str], Any, list[str]]:
    """Genes, log2(1 + level) of each (genes, samples), and those of them that are regulators."""
    names, levels = rows(folder, "expression.tsv")
    return names, np.log2(1.0 + levels), (folder / "regulators.txt").read_text().split()


def _trees(folder: Path, kind: str) -> Result:
    from arboreto import core

    names, values, regulators = _regulators(folder)
    matrix = values[[names.index(name) for name in regulators]].T
    settings = {"RF": core.RF_KWARGS | {"n_estimators": 300}, "GBM": core.SGBM_KWARGS}[kind]
    stop = core.EARLY_STOP_WINDOW_LENGTH if kind == "GBM" else 0

    def work() -> list[list[Any]]:
        edges = []
        for name, target in zip(names, values, strict=True):
            found = core.infer_partial_network(
                kind, settings, matrix, regulators, name, target, False, stop, 1
            )
            edges += found[["TF", "target", "importance"]].to_numpy().tolist()
        return edges

    return work, "arboreto", f"core.infer_partial_network({kind!r}, {settings}), seed 1"


def portia(folder: Path) -> Result:
    """Edges by partial correlation with a correction of direction (PORTIA)."""
    import portia as pt

    names, values, regulators = _regulators(folder)
    tf_idx = [names.index(name) for name in regulators]

    def work() -> list[list[Any]]:
        data = pt.GeneExpressionDataset()
        for number, sample in enumerate(values.T):
            data.add(pt.Experiment(number, sample))
        scores = pt.run(data, tf_idx=tf_idx, method="fast", verbose=False)
        return [
            [names[i], names[j], float(scores[i, j])]
            for i in tf_idx
            for j in range(len(names))
            if i != j
        ]

    return work, "portia-grn", "portia.run(dataset, tf_idx, method='fast')"


def scenic_rs(folder: Path) -> Result:
    """Edges by boosted trees, GRNBoost2 in Rust."""
    from scenic_rs import grnboost2

    names, values, regulators = _regulators(folder)

    def work() -> list[list[Any]]:
        found = grnboost2(values.T, names, regulators, seed=1)
        return found[["TF", "target", "importance"]].to_numpy().tolist()

    return work, "scenic-rs", "grnboost2(values, genes, regulators, seed=1)"


def rustscenic(folder: Path) -> Result:
    """Edges by boosted trees, in Rust."""
    from rustscenic import grn

    names, values, regulators = _regulators(folder)

    def work() -> list[list[Any]]:
        found = grn.infer((values.T, names), regulators, seed=1, verbose=False)
        return found[["TF", "target", "importance"]].to_numpy().tolist()

    return work, "rustscenic", "grn.infer((values, genes), regulators, seed=1)"


def signifikante(folder: Path) -> Result:
    """Edges of GRNBoost2 with a p-value of at most 0.05 after Benjamini and Hochberg."""
    import pandas as pd
    from distributed import Client, LocalCluster
    from signifikante.algo import signifikante_fdr

    names, values, regulators = _regulators(folder)

    def work() -> list[list[Any]]:
        cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
        with cluster, Client(cluster) as client:
            found = signifikante_fdr(
                pd.DataFrame(values.T, columns=names),
                "random",
                tf_names=regulators,
                num_permutations=PERMUTATIONS,
                apply_bh_correction=True,
                normalize_gene_expression=True,
                client_or_address=client,
                seed=1,
            )
        kept = found.reset_index()[found["pvalue_bh"].to_numpy() <= 0.05]
        return kept[["TF", "target", "importance"]].to_numpy().tolist()

    call = f"signifikante_fdr(values, 'random', num_permutations={PERMUTATIONS}), pvalue_bh <= 0.05"
    return work, "signifikante", call


PERMUTATIONS = 200


def spline_mi(folder: Path) -> Result:
    """B-spline mutual information of all pairs, ten bins, order 3; pairs (i, j), i < j."""
    import widestats

    _, values = rows(folder, "expression.tsv")

    def work() -> list[float]:
        found = widestats.mutual_info(values.T, bins=10, order=3, device="cpu", dtype="float64")
        return found[np.triu_indices(len(values), 1)].tolist()

    return work, "widestats", "mutual_info(values, bins=10, order=3, device='cpu')"


CORRELATED = 0.3
"""Least absolute correlation of a pair that is listed."""


def correlated_pairs(folder: Path) -> Result:
    """Pairs (i, j, r), i < j, of at least ``CORRELATED`` by Pearson's correlation, in order."""
    import widestats

    _, values = rows(folder, "expression.tsv")

    def work() -> list[list[float]]:
        how = {"threshold": CORRELATED, "device": "cpu", "dtype": "float64"}
        found = widestats.cor_pairs(values.T, **how)
        return sorted(zip(found.i.tolist(), found.j.tolist(), found.r.tolist(), strict=True))

    return work, "widestats", f"cor_pairs(values, threshold={CORRELATED}, device='cpu')"


def corals(folder: Path) -> Result:
    """The same pairs, picked out of CorALS's full matrix."""
    from corals.correlation.full.default import cor_full

    _, values = rows(folder, "expression.tsv")

    def work() -> list[list[float]]:
        found = np.asarray(cor_full(values.T, correlation_type="pearson"))
        i, j = np.nonzero(np.triu(abs(found) >= CORRELATED, 1))
        return [list(row) for row in zip(i.tolist(), j.tolist(), found[i, j].tolist(), strict=True)]

    return work, "corals", "cor_full(values, correlation_type='pearson')"


def _duplexes(command: list[str], folder: Path, cells: Callable[[str], Any]) -> Any:
    """Least energy of each miRNA and transcript, of lines that ``cells`` takes apart into miRNA,
    transcript and energy."""
    names = [folder / "mirnas.fa", folder / "transcripts.fa"]
    energies = np.zeros([path.read_text().count(">") for path in names])
    printed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    for line in printed.stdout.splitlines():
        mirna, transcript, energy = cells(line)
        at = int(mirna.removeprefix("mirna")), int(transcript.removeprefix("transcript"))
        energies[at] = min(energies[at], float(energy))
    return energies


def rnahybrid(folder: Path) -> Result:
    """Energy of the best site of each miRNA and transcript, kcal/mol."""
    command = [
        "RNAhybrid",
        "-c",
        "-b",
        "1",
        "-s",
        "3utr_human",
        "-t",
        "transcripts.fa",
        "-q",
        "mirnas.fa",
    ]

    def cells(line: str) -> tuple[str, str, str]:
        transcript, _, mirna, _, energy = line.split(":")[:5]
        return mirna, transcript, energy

    return lambda: _duplexes(command, folder, cells).tolist(), "RNAhybrid", " ".join(command)


def risearch(folder: Path) -> Result:
    """Energy of the best duplex of each miRNA and transcript, kcal/mol."""
    options = ["-q", "mirnas.fa", "-t", "transcripts.fa", "-p2"]
    program = str(Path(sys.executable).with_name("risearch-tauso"))

    def cells(line: str) -> tuple[str, str, str]:
        mirna, _, _, transcript, *_, energy = line.split("\t")
        return mirna, transcript, energy

    call = f"risearch-tauso {' '.join(options)}"
    return lambda: _duplexes([program, *options], folder, cells).tolist(), "risearch-tauso", call


def dynetan(folder: Path) -> Result:
    """Mutual information of every two atoms' positions, KSG 2, k = 7, nats."""
    from dynetan.gencor import calc_mir_numba_2var
    from scipy.special import digamma

    _, values = rows(folder, "positions.tsv")
    moves = values.reshape(-1, 3, values.shape[1])
    moves = moves / moves.std(axis=2, keepdims=True)
    counts = np.arange(1, moves.shape[2] + 1)
    psi = np.concatenate([[np.nan], digamma(counts)])
    phi = psi - np.concatenate([[np.nan], 1.0 / counts])

    def mi(first: Any, second: Any) -> float:
        pair = np.stack([first, second])
        return float(calc_mir_numba_2var(pair, pair.shape[2], 3, 7, psi, phi))

    mi(moves[0], moves[1])  # compiles
    return (
        lambda: [mi(x, y) for x, y in combinations(moves, 2)],
        "dynetan",
        "gencor.calc_mir_numba_2var(x and y, frames, 3, 7, psi, phi)",
    )


def mdigest(folder: Path) -> Result:
    """Mutual information of every two atoms' positions, KSG 1, k = 5, nats."""
    # Its package draws with PyMOL, which it does not name as a requirement.
    sys.modules["pymol"] = MagicMock()
    from mdigest.core.auxiliary import _mutual_information_knn_estimator

    _, values = rows(folder, "positions.tsv")
    moves = np.ascontiguousarray(values.reshape(-1, 3, values.shape[1]).transpose(2, 0, 1))

    def work() -> list[float]:
        found = _mutual_information_knn_estimator(moves, 3, k=5, estimate=1, correction=False)
        return found[np.triu_indices(len(found), 1)].tolist()

    return work, "mdigest", "_mutual_information_knn_estimator(x, 3, k=5, correction=False)"


def genie3(folder: Path) -> Result:
    """Edges by random forests (GENIE3), 300 trees a gene."""
    return _trees(folder, "RF")


def grnboost2(folder: Path) -> Result:
    """Edges by boosted trees (GRNBoost2)."""
    return _trees(folder, "GBM")


PROGRAMS = {
    function.__name__: function
    for function in (
        *(binned_mi, conditional_entropy, alignment, mixtures, nearest_neighbours, power),
        *(genie3, grnboost2, portia, scenic_rs, rustscenic, signifikante, spline_mi),
        *(correlated_pairs, corals, rnahybrid, risearch, dynetan, mdigest),
    )
}


def processor_seconds() -> float:
    """Of this process and of those it has waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def best_of_three(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and its least seconds of the processor; no second time after half a minute."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < 3 and sum(seconds) < 30.0):
        start = processor_seconds()
        results = work()
        seconds.append(processor_seconds() - start)
    return results, min(seconds)


def version_of(package: str) -> str:
    """Of a Python package, else of Debian's."""
    try:
        return version(package)
    except PackageNotFoundError:
        query = ["dpkg-query", "-W", "-f", "${Version}", package.lower()]
        return subprocess.run(query, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        work, package, call = PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
        results, seconds = best_of_three(work)
    found = {"program": package, "version": version_of(package), "call": call}
    print(json.dumps(found | {"seconds": seconds, "results": results}))
