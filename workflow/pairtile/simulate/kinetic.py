"""Expression networks with known truth, for the demonstration and the tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairtile.simulate.shared import check_share, check_whole, gene_table, stream, write_files

_MAX_SPREAD = 10  # of noise and spread: e to its fifth multiple is still a number


@dataclass(frozen=True, repr=False)
class Simulation:
    """A simulated experiment and its truth.

    ``values`` is the measured expression on a linear scale, float64 (genes, samples), 0 where
    dropped out; ``regulators`` are in the order of rows. ``edges`` has the columns ``source``,
    ``target`` (names) and ``sign`` (+1 or -1, int8). ``parameters`` holds ``settings`` (the
    arguments as resolved); ``true_values`` (without noise) and ``production`` (maximal rate),
    both (genes, samples); ``leak``, ``hill`` and ``half_level``, one for each edge.
    """

    values: np.ndarray
    genes: list[str]
    samples: list[str]
    regulators: list[str]
    edges: pd.DataFrame
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"Simulation: {len(self.genes):,} genes, {len(self.samples):,} samples, "
            f"{len(self.edges):,} edges of {len(self.regulators):,} regulators"
        )


def simulate_kinetic(
    n_genes: int = 200,
    n_samples: int = 300,
    n_regulators: int | None = None,
    *,
    seed: int = 1,
    noise: float = 0.2,
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
        Standard deviation that measuring adds to a value's natural logarithm, 0 to 10.
    dropout : float
        Chance that a value is lost, 0 to below 1.
    spread : float
        Standard deviation of the natural logarithm of b between samples, 0 to 10.

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
    check_whole("n_genes", n_genes, 2)
    check_whole("n_samples", n_samples, 1)
    check_whole("seed", seed, 0)
    check_whole("n_regulators", n_regulators, 1, max(n_genes - 1, 1))
    check_share("noise", noise, _MAX_SPREAD)
    check_share("spread", spread, _MAX_SPREAD)
    check_share("dropout", dropout, below=True)
    # Genes are numbered in the order in which they depend on each other: regulators, then others.
    source, target = _network(n_genes, n_regulators, stream(seed, "network"))
    n_edges, kinetics = len(source), stream(seed, "kinetics")
    edges: dict[str, np.ndarray] = {
        "source": source,
        "target": target,
        "sign": np.where(kinetics.random(n_edges) < 0.35, -1, 1).astype(np.int8),  # a third repress
        # Expression left where an activator is absent or a repressor abounds.
        "leak": kinetics.uniform(0.02, 0.2, n_edges),
        "hill": kinetics.uniform(1.0, 4.0, n_edges),  # cooperativity
        # Over the source's usual level, by which it is multiplied below.
        "half_level": np.exp(kinetics.normal(0, 0.5, n_edges)),
    }
    # In arbitrary linear units.
    basal = 100.0 * np.exp(stream(seed, "basal").normal(0, 1, n_genes))
    # Half levels lie near the regulator's usual (unperturbed) level, where regulation matters.
    _steady_state(basal[:, None], edges, set_half_levels=True)
    # What production is multiplied by, (samples, genes), so that the first samples are the same
    # whatever their number.
    factors = np.exp(spread * stream(seed, "production").normal(size=(n_samples, n_genes)))
    # In a fifth of the samples one regulator is knocked down, to a tenth.
    knocked = stream(seed, "knock-down").random((n_samples, 2))
    hit = np.flatnonzero(knocked[:, 0] < 0.2)
    factors[hit, (knocked[hit, 1] * n_regulators).astype(int)] *= 0.1
    production = basal[:, None] * factors.T
    levels = _steady_state(production, edges)

    values = levels * np.exp(noise * stream(seed, "noise").normal(size=(n_samples, n_genes)).T)
    values[dropout > stream(seed, "dropout").random((n_samples, n_genes)).T] = 0.0

    # Names and rows must not reveal who regulates whom.
    row = stream(seed, "rows").permutation(n_genes)
    order = np.argsort(row)
    edge = np.lexsort((row[target], row[source]))
    genes = [f"G{k:0{len(str(n_genes))}d}" for k in range(1, n_genes + 1)]
    names = np.array(genes, dtype=object)
    truth = {end: names[row[edges[end][edge]]] for end in ("source", "target")}
    return Simulation(
        values=np.ascontiguousarray(values[order]),
        genes=genes,
        samples=[f"S{k}" for k in range(1, n_samples + 1)],
        regulators=[genes[k] for k in sorted(row[:n_regulators].tolist())],
        edges=pd.DataFrame({**truth, "sign": edges["sign"][edge]}),
        parameters={
            "settings": {
                "n_genes": n_genes,
                "n_samples": n_samples,
                "n_regulators": n_regulators,
                "seed": seed,
                "noise": noise,
                "dropout": dropout,
                "spread": spread,
            },
            "true_values": np.ascontiguousarray(levels[order]),
            "production": np.ascontiguousarray(production[order]),
            **{name: edges[name][edge] for name in ("leak", "hill", "half_level")},
        },
    )


def write_simulation(simulation: Simulation, folder: Path, command: str) -> None:
    """Write ``expression.tsv.gz`` (6 significant digits), ``regulators.txt``,
    ``gold_standard.tsv`` (source, target) and a ``README.md`` that names seed and ``command``."""
    settings = simulation.parameters["settings"]
    size = f"{settings['n_genes']} genes x {settings['n_samples']} samples"
    readme = f"""# Simulated expression with known truth

{size}, {settings["n_regulators"]} regulators, {len(simulation.edges)} edges; \
seed {settings["seed"]}. Made by

    {command}

`expression.tsv.gz`: genes in rows, linear scale, 6 significant digits. `regulators.txt`: one gene
a line. `gold_standard.tsv`: source, target. How: `pairtile.simulate.simulate_kinetic`.
"""
    write_files(
        folder,
        {
            "expression.tsv.gz": gene_table(
                simulation.values, simulation.genes, simulation.samples
            ),
            "regulators.txt": "".join(f"{name}\n" for name in simulation.regulators),
            "gold_standard.tsv": simulation.edges[["source", "target"]],
            "README.md": readme,
        },
    )


def _network(
    n_genes: int, n_regulators: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Edges without cycles: a source comes before its target. Sorted by target."""
    attraction = np.ones(n_regulators)
    parents: list[list[int]] = []
    for gene in range(n_genes):
        known = min(gene, n_regulators)
        is_root = gene < n_regulators and (gene == 0 or random.random() < 0.3)  # unregulated
        wanted = 0 if is_root else min(known, int(random.choice(4, p=(0.5, 0.3, 0.15, 0.05))) + 1)
        weight = attraction[:known] / attraction[:known].sum() if wanted else None
        chosen = random.choice(known, wanted, replace=False, p=weight).tolist() if wanted else []
        # A gene may also take an edge from a regulator of its regulator.
        if chosen and random.random() < 0.3:
            upstream = sorted(set(parents[chosen[0]]) - set(chosen))
            if upstream:
                chosen.append(upstream[int(random.integers(len(upstream)))])
        attraction[chosen] += 1
        parents.append(sorted(chosen))
    target = np.repeat(np.arange(n_genes), [len(p) for p in parents])
    return np.array([r for p in parents for r in p], dtype=np.int64), target


def _steady_state(
    production: np.ndarray, edges: dict[str, np.ndarray], set_half_levels: bool = False
) -> np.ndarray:
    """Levels (genes, samples) for ``production`` (genes, samples), gene after gene: edges are
    sorted by target. Arrays of ``edges``, (edges,), are kinetics, of which half levels are set."""
    levels, leak, half_level = production.copy(), edges["leak"], edges["half_level"]
    for k, (source, target) in enumerate(zip(edges["source"], edges["target"], strict=True)):
        if set_half_levels:
            half_level[k] *= levels[source, 0]
        u = (levels[source] / half_level[k]) ** (edges["sign"][k] * edges["hill"][k])
        # u / (1 + u) for an activator; a repressor's 1 / (1 + u) is the same of 1 / u.
        levels[target] *= leak[k] + (1 - leak[k]) * (1 - 1 / (1 + u))
    return levels
