"""Counts of two conditions with planted modules, for what follows a network: one module goes with
a measured trait, one is expressed more under treatment, one holds together under treatment alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.simulate.shared import check_whole, gene_table, stream, write_files

MODULES = {"plain": 0.15, "trait": 0.1, "treatment": 0.075, "treated_only": 0.05}
"""Share of the genes in each."""

SIGNAL, NOISE, SHIFT = 0.8, 0.4, 1.0
"""Of ln(expression): standard deviation of what a module shares, and of each gene; treatment."""

DISPERSION, N_RANDOM_SETS = 0.05, 20


@dataclass(frozen=True, repr=False)
class ConditionsSimulation:
    """Simulated counts and what was planted.

    counts : int64 (genes, samples). annotations : a row for each sample, with ``condition``,
    ``batch`` and ``severity``, the trait. module : of each gene, "" where it is in none; the first
    gene of each is its regulator. gene_sets : name -> genes; those of the modules, with some genes
    exchanged, and random ones.
    """

    counts: NDArray[np.int64]
    genes: list[str]
    annotations: pd.DataFrame
    module: list[str]
    gene_sets: dict[str, list[str]]

    @property
    def regulators(self) -> list[str]:
        """The first gene of each module."""
        return [self.genes[self.module.index(name)] for name in MODULES]

    def __repr__(self) -> str:
        return f"ConditionsSimulation: {len(self.genes):,} genes, {len(self.annotations):,} samples"


def simulate_conditions(
    n_genes: int = 400, n_samples: int = 80, *, seed: int = 1
) -> ConditionsSimulation:
    """Simulate counts of as many control as treated samples, in two batches.

    Each module has a factor that its genes share with either sign; depths of samples vary twofold.
    Raises ValueError for fewer than 100 genes or 8 samples.
    """
    check_whole("n_genes", n_genes, 100)
    check_whole("n_samples", n_samples, 8)
    random = stream(seed, "conditions")
    treated = np.arange(n_samples) % 2 == 1
    batch = np.arange(n_samples) // 2 % 2
    severity = random.normal(size=n_samples)
    sizes = [round(share * n_genes) for share in MODULES.values()]
    module = np.repeat([*MODULES, ""], [*sizes, n_genes - sum(sizes)])
    log_mean = random.normal(4.0, 1.0, (n_genes, 1))
    log_mean = log_mean + random.normal(0.0, NOISE, (n_genes, n_samples))
    log_mean += 0.2 * random.normal(size=(n_genes, 1)) * batch
    planted = {name: np.flatnonzero(module == name) for name in MODULES}
    for name, members in planted.items():
        factor = random.normal(size=n_samples)
        if name == "trait":
            factor = 0.8 * severity + 0.6 * factor
        sign = np.where(random.random(members.size) < 0.25, -1.0, 1.0)
        sign[0] = 1.0
        shared = SIGNAL * sign[:, None] * factor
        if name == "treated_only":
            own = SIGNAL * random.normal(size=shared.shape)
            shared = np.where(treated, shared, own)
        log_mean[members] += shared
        if name == "treatment":
            log_mean[members] += SHIFT * treated
    depth = np.exp(random.normal(0.0, 0.25, n_samples))
    mean = np.exp(log_mean) * depth
    counts = random.negative_binomial(1 / DISPERSION, 1 / (1 + DISPERSION * mean))
    genes = [f"G{k + 1:04d}" for k in range(n_genes)]
    sets = {f"set_{name}": _mostly(random, rows, n_genes) for name, rows in planted.items()}
    for number in range(N_RANDOM_SETS):
        size = int(random.integers(10, 50))
        sets[f"random_{number + 1}"] = random.choice(n_genes, size, replace=False)
    annotations = pd.DataFrame(
        {
            "sample": [f"S{k + 1:03d}" for k in range(n_samples)],
            "condition": np.where(treated, "treated", "control"),
            "batch": np.where(batch, "B", "A"),
            "severity": severity.round(3),
        }
    )
    named = {name: [genes[k] for k in sorted(members)] for name, members in sets.items()}
    return ConditionsSimulation(counts, genes, annotations, module.tolist(), named)


def _mostly(
    random: np.random.Generator, members: NDArray[np.int64], n_genes: int
) -> NDArray[np.int64]:
    """Four of five members, and as many other genes as were left out."""
    kept = random.choice(members, round(0.8 * members.size), replace=False)
    others = np.setdiff1d(np.arange(n_genes), members)
    return np.concatenate([kept, random.choice(others, members.size - kept.size, replace=False)])


def write_conditions(simulation: ConditionsSimulation, folder: Path, command: str) -> None:
    """Write ``counts.tsv.gz``, ``samples.tsv``, ``regulators.txt``, ``gene_sets.gmt``,
    ``truth.tsv`` (gene, module) and a ``README.md`` that names ``command``."""
    samples = simulation.annotations["sample"].tolist()
    truth = pd.DataFrame({"gene": simulation.genes, "module": simulation.module})
    sets = ([name, "simulated", *genes] for name, genes in simulation.gene_sets.items())
    write_files(
        folder,
        {
            "counts.tsv.gz": gene_table(simulation.counts, simulation.genes, samples),
            "samples.tsv": simulation.annotations,
            "regulators.txt": "\n".join(simulation.regulators) + "\n",
            "gene_sets.gmt": "".join("\t".join(fields) + "\n" for fields in sets),
            "truth.tsv": truth[truth["module"] != ""],
            "README.md": (
                "# Simulated conditions\n\nCounts of control and treated samples with four modules"
                ": `trait` goes with severity, `treatment` is expressed more under treatment, "
                "`treated_only` holds together under treatment alone, `plain` is as it is.\n\n"
                f"Made by:\n\n    {command}\n"
            ),
        },
    )
