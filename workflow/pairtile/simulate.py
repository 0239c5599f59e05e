"""Expression networks with known truth, for the demonstration and the tests.

``python -m pairtile.simulate --genes 200 --samples 300 --seed 1 --out FOLDER`` writes an expression
table, the list of regulators and the true edges.
"""

from __future__ import annotations

import argparse
import gzip
import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairtile.files import atomic_path

_LEAK = (0.02, 0.2)  # expression left when an activator is absent or a repressor abounds
_HILL = (1.0, 4.0)  # cooperativity
_BASAL = 100.0  # typical level of an unregulated gene, in arbitrary linear units
_ROOTS = 0.3  # share of regulators that nothing regulates
_SHORTCUT = 0.3  # chance that a gene also takes an edge from a regulator of its regulator
_REPRESSION = 0.35  # share of edges that repress
_KNOCK_DOWN = (0.2, 0.1)  # share of samples with one regulator knocked down, and to what level


@dataclass(frozen=True)
class Simulation:
    """A simulated experiment and its truth.

    | field | content |
    |---|---|
    | values | measured expression, linear scale, float64 (genes, samples); 0 where dropped out |
    | genes, samples | names of rows and columns |
    | regulators | names of genes that may regulate, in the order of rows |
    | edges | DataFrame ``source``, ``target`` (names), ``sign`` (+1 or -1, int8), sorted by rows |
    | parameters | ``settings`` (the arguments as resolved); ``true_values`` (genes, samples): without noise; ``production`` (genes, samples): maximal rate of each gene in each sample; ``leak``, ``hill``, ``half_level`` (edges,) |
    """  # noqa: E501

    values: np.ndarray
    genes: list[str]
    samples: list[str]
    regulators: list[str]
    edges: pd.DataFrame
    parameters: dict[str, Any]


def simulate_kinetic(
    n_genes: int = 200,
    n_samples: int = 300,
    n_regulators: int | None = None,
    *,
    seed: int = 1,
    noise: float = 0.1,
    dropout: float = 0.0,
    spread: float = 0.4,
) -> Simulation:
    """Simulate expression as steady states of a regulated network, measured with noise.

    The level x of gene g follows dx_g/dt = b_g prod_r f_r(x_r) - x_g (time in lifetimes of the
    product) with one factor for each of its regulators r: with u = (x_r / k)^h,
    f = leak + (1 - leak) u / (1 + u) for an activator and leak + (1 - leak) / (1 + u) for a
    repressor (Hill kinetics, independent sites). The network has no cycles, so its only steady
    state follows exactly, gene after gene. Regulators form cascades; targets choose regulators by
    preferential attachment (hubs), one to four each; some choose a regulator of their regulator
    too (feed-forward loops), and so have an indirect and a direct way.

    Samples differ in the maximal production b of every gene (multifactorial perturbation,
    lognormal), and in a fifth of them one regulator is knocked down to a tenth. Measured values
    are the steady state times lognormal noise; a dropped-out value is 0.

    Parameters
    ----------
    n_genes : int
        At least 2, regulators among them.
    n_samples : int
        At least 1. The first samples are the same whatever their number.
    n_regulators : int, optional
        1 to ``n_genes`` - 1; a tenth of the genes, at least one, unless given.
    seed : int
        Not negative. Network, kinetics, perturbations, noise and dropout have streams of their
        own (Philox), so changing ``noise`` changes nothing else.
    noise : float
        Standard deviation of the measured values' natural logarithm, not negative.
    dropout : float
        Chance that a value is lost, 0 to below 1.
    spread : float
        Standard deviation of the natural logarithm of b between samples, not negative.

    Raises
    ------
    ValueError
        An argument outside its range; the message names it and what is allowed.

    Notes
    -----
    Sources: Mendes et al. 2003, Bioinformatics 19:ii122 (multiplicative Hill kinetics on scale-free
    networks); Schaffter et al. 2011, Bioinformatics 27:2263 (multifactorial perturbations).
    """
    if n_regulators is None:
        n_regulators = max(1, n_genes // 10)
    settings = {
        "n_genes": n_genes,
        "n_samples": n_samples,
        "n_regulators": n_regulators,
        "seed": seed,
        "noise": noise,
        "dropout": dropout,
        "spread": spread,
    }
    _check(settings)
    # Genes are numbered in the order in which they depend on each other: regulators, then others.
    source, target = _network(n_genes, n_regulators, _stream(seed, "network"))
    sign, leak, hill, ratio = _kinetics(len(source), _stream(seed, "kinetics"))
    basal = _BASAL * np.exp(_stream(seed, "basal").normal(0, 1, n_genes))
    factors = _perturbations(n_genes, n_samples, n_regulators, seed, spread)

    half_level = np.ones(len(source))
    arguments = (source, target, sign, leak, hill, half_level)
    # Sensitivity is set where it can matter: half levels lie near the regulator's usual level, which
    # is known as soon as its own regulators are done. The usual level is the unperturbed one.
    _steady_state(basal[:, None], *arguments, half_level_of_usual=ratio)
    production = basal[:, None] * factors
    levels = _steady_state(production, *arguments)

    draws = _stream(seed, "noise").normal(size=(n_samples, n_genes)).T
    values = levels * np.exp(noise * draws)
    lost = _stream(seed, "dropout").random((n_samples, n_genes)).T < dropout
    values[lost] = 0.0

    # Names and rows must not tell who regulates whom.
    row = _stream(seed, "rows").permutation(n_genes)
    order = np.argsort(row)
    edge = np.lexsort((row[target], row[source]))
    genes = [f"G{k:0{len(str(n_genes))}d}" for k in range(1, n_genes + 1)]
    names = np.array(genes, dtype=object)
    return Simulation(
        values=np.ascontiguousarray(values[order]),
        genes=genes,
        samples=[f"S{k}" for k in range(1, n_samples + 1)],
        regulators=[genes[k] for k in sorted(row[:n_regulators].tolist())],
        edges=pd.DataFrame(
            {
                "source": names[row[source[edge]]],
                "target": names[row[target[edge]]],
                "sign": sign[edge],
            }
        ),
        parameters={
            "settings": settings,
            "true_values": np.ascontiguousarray(levels[order]),
            "production": np.ascontiguousarray(production[order]),
            "leak": leak[edge],
            "hill": hill[edge],
            "half_level": half_level[edge],
        },
    )


def write_simulation(simulation: Simulation, folder: Path, command: str) -> None:
    """Write ``expression.tsv.gz`` (6 significant digits), ``regulators.txt``,
    ``gold_standard.tsv`` (source, target) and a ``README.md`` that names seed and ``command``."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(simulation.values, index=simulation.genes, columns=simulation.samples)
    text = table.to_csv(sep="\t", float_format="%.6g", index_label="gene", lineterminator="\n")
    with (
        atomic_path(folder / "expression.tsv.gz") as temporary,
        temporary.open("wb") as raw,
        # Neither time nor file name in the header: equal tables are equal files.
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
    ):
        packed.write(text.encode())
    edges = simulation.edges[["source", "target"]]
    for name, content in {
        "regulators.txt": "".join(f"{name}\n" for name in simulation.regulators),
        "gold_standard.tsv": edges.to_csv(sep="\t", index=False, lineterminator="\n"),
        "README.md": _readme(simulation, command),
    }.items():
        with atomic_path(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line: simulate and write a folder."""
    parser = argparse.ArgumentParser(prog="python -m pairtile.simulate", description=__doc__)
    parser.add_argument("--genes", type=int, default=200)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--regulators", type=int, default=None, help="a tenth of the genes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.1, help="sd of ln(value)")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of values lost")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    try:
        simulation = simulate_kinetic(
            options.genes,
            options.samples,
            options.regulators,
            seed=options.seed,
            noise=options.noise,
            dropout=options.dropout,
        )
    except ValueError as error:
        parser.error(str(error))
    write_simulation(simulation, options.out, f"{parser.prog} {shlex.join(given)}")


def _check(settings: dict[str, Any]) -> None:
    def require(name: str, fits: bool, allowed: str) -> None:
        if not fits:
            raise ValueError(f"{name} is {settings[name]}; expected {allowed}")

    n_genes = settings["n_genes"]
    require("n_genes", n_genes >= 2, "at least 2")
    require("n_samples", settings["n_samples"] >= 1, "at least 1")
    require("n_regulators", 1 <= settings["n_regulators"] < n_genes, f"1 to {n_genes - 1}")
    require("seed", settings["seed"] >= 0, "0 or more")
    for name in ("noise", "spread"):
        require(name, 0 <= settings[name] < math.inf, "a finite number, 0 or more")
    require("dropout", 0 <= settings["dropout"] < 1, "0 to below 1")


def _stream(seed: int, purpose: str) -> np.random.Generator:
    key = int.from_bytes(purpose.encode(), "big")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, key])))


def _network(
    n_genes: int, n_regulators: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Edges without cycles: a source comes before its target. Sorted by target."""
    attraction = np.ones(n_regulators)
    parents: list[list[int]] = []
    for gene in range(n_genes):
        known = min(gene, n_regulators)
        is_root = gene < n_regulators and (gene == 0 or random.random() < _ROOTS)
        wanted = 0 if is_root else min(known, int(random.choice(4, p=(0.5, 0.3, 0.15, 0.05))) + 1)
        weight = attraction[:known] / attraction[:known].sum() if wanted else None
        chosen = random.choice(known, wanted, replace=False, p=weight).tolist() if wanted else []
        if chosen and random.random() < _SHORTCUT:
            upstream = sorted(set(parents[chosen[0]]) - set(chosen))
            if upstream:
                chosen.append(upstream[int(random.integers(len(upstream)))])
        attraction[chosen] += 1
        parents.append(sorted(chosen))
    target = np.repeat(np.arange(n_genes), [len(p) for p in parents])
    return np.array([r for p in parents for r in p], dtype=np.int64), target


def _kinetics(
    n_edges: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sign, leak, Hill coefficient, and half level over the regulator's usual level."""
    sign = np.where(random.random(n_edges) < _REPRESSION, -1, 1).astype(np.int8)
    leak = random.uniform(*_LEAK, n_edges)
    hill = random.uniform(*_HILL, n_edges)
    return sign, leak, hill, np.exp(random.normal(0, 0.5, n_edges))


def _perturbations(
    n_genes: int, n_samples: int, n_regulators: int, seed: int, spread: float
) -> np.ndarray:
    """What the production of each gene is multiplied by in each sample, (genes, samples)."""
    factors = np.exp(spread * _stream(seed, "production").normal(size=(n_samples, n_genes)))
    chance, left = _KNOCK_DOWN
    draws = _stream(seed, "knock-down").random((n_samples, 2))
    hit = np.flatnonzero(draws[:, 0] < chance)
    factors[hit, (draws[hit, 1] * n_regulators).astype(int)] *= left
    return factors.T


def _steady_state(
    production: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    sign: np.ndarray,
    leak: np.ndarray,
    hill: np.ndarray,
    half_level: np.ndarray,
    half_level_of_usual: np.ndarray | None = None,
) -> np.ndarray:
    """Levels (genes, samples) for ``production`` (genes, samples), gene after gene.

    With ``half_level_of_usual`` (edges,), ``half_level`` is filled in on the way, as that multiple
    of the source's level in the first sample.
    """
    levels = production.copy()
    for edge in range(len(source)):
        regulator = levels[source[edge]]
        if half_level_of_usual is not None:
            half_level[edge] = half_level_of_usual[edge] * regulator[0]
        u = (regulator / half_level[edge]) ** (sign[edge] * hill[edge])
        # u / (1 + u) for an activator; a repressor's 1 / (1 + u) is the same of 1 / u.
        levels[target[edge]] *= leak[edge] + (1 - leak[edge]) * (1 - 1 / (1 + u))
    return levels


def _readme(simulation: Simulation, command: str) -> str:
    settings = simulation.parameters["settings"]
    return f"""# Simulated expression with known truth

{settings["n_genes"]} genes x {settings["n_samples"]} samples, {settings["n_regulators"]} regulators, \
{len(simulation.edges)} edges; seed {settings["seed"]}. Made by

    {command}

`expression.tsv.gz`: genes in rows, linear scale, 6 significant digits. `regulators.txt`: one a line.
`gold_standard.tsv`: source, target. `pairtile.simulate.simulate_kinetic` says how.
"""


if __name__ == "__main__":
    main()
