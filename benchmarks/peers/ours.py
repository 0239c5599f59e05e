"""What pairtile computes of the inputs, in the form of ``programs.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pairtile
import pandas as pd

from benchmarks.peers.programs import CORRELATED, fasta, named_by_appearance, rows


def binned_mi(folder: Path) -> list[float]:
    """Mutual information with six bins of order 1, ranks, bits."""
    names, values = rows(folder, "expression.tsv")
    table = pd.DataFrame(values, index=names)
    found = pairtile.mutual_information(table, bins=6, order=1, transform="rank", backend="cpu")
    return np.asarray(found)[np.triu_indices(len(names), 1)].tolist()


def conditional_entropy(folder: Path) -> list[list[float]]:
    """The best pair of predictors of each gene without a penalty: bits, and how many tie."""
    names, levels = rows(folder, "levels.tsv")
    sets = pairtile.predictor_pairs(
        levels=pd.DataFrame(levels, index=names),
        series=(folder / "series.txt").read_text().split(),
        penalty="none",
        permutations=0,
        backend="cpu",
    )
    best = sets[sets["rank"] == 1].set_index("target").loc[names]
    return best[["mce_bits", "n_ties"]].astype(float).to_numpy().tolist()


def alignment(folder: Path) -> list[list[float]]:
    """Score of the best hit of each miRNA and transcript, without gaps, the seed as the rest."""
    mirnas, transcripts = fasta(folder, "mirnas.fa"), fasta(folder, "transcripts.fa")
    hits = pairtile.mirna_targets(
        mirnas,
        transcripts,
        score=1.0,
        scale=1.0,
        gap_open=-1000.0,
        gap_extend=-1000.0,
        energies=False,
        backend="cpu",
    )
    best = hits.groupby(["mirna", "transcript"], sort=False)["score"].max()
    by_row = best.unstack(fill_value=0.0)
    return by_row.to_numpy().tolist()


def mixtures(folder: Path) -> list[list[Any]]:
    """Modes of each pair of rows, one to five by BIC: their number, and each sample's."""
    names, values = rows(folder, "modes.tsv")
    found = []
    for first in range(0, len(names), 2):
        modes = pairtile.multimodal_correlation(
            values[first : first + 2],
            criterion="bic",
            outliers_before=False,
            outliers_after=False,
            min_correlation=0.0,
            min_samples=20,
            restarts=5,
            backend="cpu",
        )
        labels = modes.members().to_numpy().argmax(axis=0)
        found.append([len(modes.modes), named_by_appearance(labels)])
    return found


def nearest_neighbours(folder: Path) -> list[float]:
    """Mutual information of every two atoms' positions, KSG 1, k = 6; 0 where below, as NorMI."""
    _, values = rows(folder, "positions.tsv")
    moves = values.reshape(-1, 3, values.shape[1]).transpose(2, 0, 1)
    found = pairtile.trajectory_correlation(
        moves,
        kind="ksg",
        neighbours=6,
        norm="max",
        scale="std",
        surrogates=0,
        theiler=0,
        backend="cpu",
    )
    pairs = np.triu_indices(moves.shape[1], 1)
    return np.maximum(found.mi_nats[pairs], 0.0).tolist()


def dynetan(folder: Path) -> list[float]:
    """Mutual information of every two atoms' positions as dynetan has it."""
    return _preset(folder, "dynetan")


def mdigest(folder: Path) -> list[float]:
    """The same as MDiGest has it."""
    return _preset(folder, "mdigest")


def _preset(folder: Path, preset: str) -> list[float]:
    _, values = rows(folder, "positions.tsv")
    moves = values.reshape(-1, 3, values.shape[1]).transpose(2, 0, 1)
    found = pairtile.trajectory_correlation(moves, preset=preset, surrogates=0, backend="cpu")
    return np.asarray(found.mi_nats[np.triu_indices(moves.shape[1], 1)]).tolist()


def _network(folder: Path) -> list[list[Any]]:
    """Every edge from a regulator, ranked by ``combined``, settings at their defaults."""
    names, values = rows(folder, "expression.tsv")
    regulators = (folder / "regulators.txt").read_text().split()
    network = pairtile.infer_network(
        pd.DataFrame(values, index=names), regulators, keep="all", dpi=False, backend="cpu"
    )
    return network[["source", "target", "combined"]].to_numpy().tolist()


genie3 = grnboost2 = portia = scenic_rs = rustscenic = _network


def signifikante(folder: Path) -> list[list[Any]]:
    """Edges from a regulator with a q-value of at most 0.05."""
    names, values = rows(folder, "expression.tsv")
    regulators = (folder / "regulators.txt").read_text().split()
    table = pd.DataFrame(values, index=names)
    network = pairtile.infer_network(
        table, regulators, keep={"fdr": 0.05}, dpi=False, backend="cpu"
    )
    return network[["source", "target", "combined"]].to_numpy().tolist()


def spline_mi(folder: Path) -> list[float]:
    """B-spline mutual information of all pairs, ten bins, order 3, values as they are; bits."""
    names, values = rows(folder, "expression.tsv")
    table = pd.DataFrame(values, index=names)
    found = pairtile.mutual_information(table, bins=10, order=3, transform="none", backend="cpu")
    return np.asarray(found)[np.triu_indices(len(names), 1)].tolist()


def correlated_pairs(folder: Path) -> list[list[float]]:
    """Pairs of at least ``CORRELATED`` by Pearson's correlation of the values as they are."""
    _, values = rows(folder, "expression.tsv")
    found = pairtile.multimodal_correlation(
        values,
        clustering="none",
        correlation="pearson",
        min_correlation=CORRELATED,
        outliers_before=False,
        outliers_after=False,
        preprocess={"log2": False, "normalize": "none", "sample_scale": False},
        backend="cpu",
    )
    return found.modes[["source", "target", "correlation"]].to_numpy(dtype=float).tolist()


corals = correlated_pairs


def rnahybrid(folder: Path) -> list[list[float]]:
    """Energy of the best hit of each miRNA and transcript; 0 where there is none."""
    mirnas, transcripts = fasta(folder, "mirnas.fa"), fasta(folder, "transcripts.fa")
    hits = pairtile.mirna_targets(mirnas, transcripts, score=100.0, backend="cpu")
    energies = np.zeros((len(mirnas), len(transcripts)))
    best = hits.groupby(["mirna", "transcript"], sort=False)["energy_kcal_mol"].min()
    for (mirna, transcript), energy in best.items():
        energies[int(mirna.split("_")[1]), int(transcript.split("_")[1])] = energy
    return energies.tolist()


risearch = rnahybrid


def power(folder: Path) -> list[list[float]]:
    """Power of the test of a correlation: r 0.1 to 0.9, n 10 to 160."""
    r, n = np.arange(1, 10)[:, None] / 10, np.array([10, 20, 40, 80, 160])
    return pairtile.correlation_power(r, n, alpha=0.001).tolist()
