"""Boolean networks with known truth: time series of levels, for the search for predictors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.simulate.shared import check_share, check_whole, gene_table, stream, write_files

TOPOLOGIES = ("erdos_renyi", "barabasi_albert")

# Outputs for the inputs 00, 01, 10, 11 (first predictor A, second B) -> what people call it.
_NAMES = {
    "0001": "A AND B",
    "0010": "A AND NOT B",
    "0100": "NOT A AND B",
    "0110": "A XOR B",
    "0111": "A OR B",
    "1000": "A NOR B",
    "1001": "A XNOR B",
    "1011": "A OR NOT B",
    "1101": "NOT A OR B",
    "1110": "A NAND B",
    "01": "A",
    "10": "NOT A",
}


def draw_predictors(
    n_genes: int, n_predictors: int, topology: str, random: np.random.Generator
) -> NDArray[np.int64]:
    """Predictors of each gene, other genes, ascending: shape (genes, predictors)."""
    scale_free = topology == "barabasi_albert"
    degree = _degrees(n_genes, n_predictors, random) if scale_free else np.ones(n_genes)
    predictors = np.empty((n_genes, n_predictors), dtype=np.int64)
    for gene in range(n_genes):
        weight = degree.copy()
        weight[gene] = 0.0
        chosen = random.choice(n_genes, n_predictors, replace=False, p=weight / weight.sum())
        predictors[gene] = np.sort(chosen)
    return predictors


def _degrees(n_genes: int, links: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Degrees of a Barabasi-Albert graph, whose genes enter in random order.

    Only the degrees are taken from it: were its links the edges, early genes would have no late
    predictors, and the few first ones, soon in a circle, would drive all the others.
    """
    order = random.permutation(n_genes)
    degree = np.zeros(n_genes)
    degree[order[: links + 1]] = links
    for n in range(links + 1, n_genes):
        there = order[:n]
        share = degree[there] / degree[there].sum()
        degree[random.choice(there, links, replace=False, p=share)] += 1
        degree[order[n]] = links
    return degree


def draw_functions(
    n_genes: int,
    n_predictors: int,
    q: int,
    xor_share: float | None,
    random: np.random.Generator,
) -> NDArray[np.int8]:
    """Outputs of each gene's function, int8 (genes, combinations of its predictors' ``q`` levels),
    the last predictor changing fastest. ``xor_share``: as in ``simulate_boolean``."""
    inputs = np.array(list(itertools.product(range(q), repeat=n_predictors)))
    n_xor = 0 if xor_share is None else int(np.floor(xor_share * n_genes + 0.5))
    is_xor = np.isin(np.arange(n_genes), random.permutation(n_genes)[:n_xor])
    outputs = np.empty((n_genes, len(inputs)), dtype=np.int8)
    for gene in range(n_genes):
        if is_xor[gene]:
            outputs[gene] = (inputs.sum(axis=1) + random.integers(q)) % q
            continue
        wanted = False
        while not wanted:
            drawn = random.integers(0, q, len(inputs))
            is_sum = len(np.unique((drawn - inputs.sum(axis=1)) % q)) == 1  # as XOR is
            # Whether each predictor makes a difference for some levels of the others.
            table = drawn.reshape((q,) * n_predictors)
            wanted = all((np.diff(table, axis=k) != 0).any() for k in range(n_predictors)) and (
                xor_share is None or not is_sum
            )
        outputs[gene] = drawn
    return outputs


def trajectories(
    settings: dict[str, Any], predictors: NDArray[np.int64], outputs: NDArray[np.int8]
) -> list[NDArray[np.int8]]:
    """The states of each series, int8 (steps, genes); ``settings`` of ``simulate_boolean``."""
    n_steps, perturbed = settings["n_steps"], bool(settings["perturbation"])
    starts = stream(settings["seed"], "starts")
    random = stream(settings["seed"], "perturbation")
    genes = np.arange(len(predictors))
    # Of each predictor's level in the number of a combination of levels.
    places = settings["levels"] ** np.arange(predictors.shape[1])[::-1]
    missing = settings["n_series"] * n_steps
    courses = []
    while missing:
        # A remainder of one sample would be a series without a step: it goes to the one before.
        length = missing if missing == n_steps + 1 else min(n_steps, missing)
        state = starts.integers(0, settings["levels"], len(predictors)).astype(np.int8)
        states, seen = [state], {state.tobytes()}
        while len(states) < length:
            state = outputs[genes, state[predictors].astype(np.int64) @ places]
            if perturbed:
                hit = random.random(len(genes)) < settings["perturbation"]
                drawn = random.integers(0, settings["levels"], len(genes))
                state = np.where(hit, drawn, state).astype(np.int8)
            states.append(state)
            repeated = state.tobytes() in seen
            if repeated and not perturbed and missing - len(states) != 1:
                break
            seen.add(state.tobytes())
        missing -= len(states)
        courses.append(np.stack(states))
    return courses


@dataclass(frozen=True, repr=False)
class BooleanSimulation:
    """Simulated time series of levels, and the network behind them.

    ``levels``: int8 (genes, samples), 0 to levels - 1, as measured (with noise flips). ``series``:
    for each sample the name of its time series; samples of a series stand together, in order of
    time. ``truth``: one row for each gene, in row order: ``target``, ``predictor_1``,
    ``predictor_2``, ... (names, in row order), ``outputs`` (the target's next level for every
    combination of the predictors' levels, the last predictor changing fastest: ``0110`` is XOR)
    and ``function`` (its name; the outputs again where it has none). ``edges``: columns ``source``,
    ``target``. ``parameters`` holds ``settings`` (the arguments) and ``true_levels`` (int8, without
    noise flips).
    """

    levels: NDArray[np.int8]
    genes: list[str]
    samples: list[str]
    series: list[str]
    truth: pd.DataFrame
    edges: pd.DataFrame
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"BooleanSimulation: {len(self.genes):,} genes, {len(self.samples):,} samples in "
            f"{len(set(self.series)):,} time series"
        )


def simulate_boolean(
    n_genes: int = 60,
    n_steps: int = 50,
    n_series: int = 1,
    *,
    topology: str = "erdos_renyi",
    n_predictors: int = 2,
    levels: int = 2,
    xor_share: float | None = None,
    noise: float = 0.0,
    perturbation: float = 0.0,
    seed: int = 1,
) -> BooleanSimulation:
    """Simulate time series of a random Boolean network (or one with more levels).

    Every gene has ``n_predictors`` predictors among the other genes and a function of their levels
    that depends on each of them. All genes change at once (synchronous update): levels at t + 1
    are the functions' outputs for the levels at t.

    A network of so few inputs soon repeats itself: from the first state that occurred before, a
    trajectory goes round in a circle (often of one state) and adds nothing new. So a series ends
    with that state, and another one starts from random levels, until there are ``n_series`` x
    ``n_steps`` samples (the last series may be a step longer); ``series`` numbers them. With
    ``perturbation`` trajectories leave such circles by themselves, and every series has
    ``n_steps`` samples.

    Parameters
    ----------
    n_genes : int
        At least ``n_predictors`` + 1.
    n_steps : int
        Samples of a series, at least 2.
    n_series : int
        At least 1.
    topology : str
        ``erdos_renyi``: each gene chooses its predictors among all others with equal chance.
        ``barabasi_albert``: the chance to be chosen grows with a gene's degree in a Barabasi-Albert
        graph (preferential attachment): a few hubs, and many genes with few targets or none.
    n_predictors : int
        Of each gene, 1 to 4.
    levels : int
        2 to 4.
    xor_share : float, optional
        Share of the genes (to the nearest whole number) whose function is (sum of levels +
        constant) modulo ``levels``, which is XOR or XNOR for two predictors of two levels: one
        predictor alone is not informative. The others then have functions of other kinds. By
        default all functions have the same chance.
    noise : float
        Chance that a sample's level is measured wrongly, as one of the others; 0 to 1. It does not
        act on later levels.
    perturbation : float
        Chance that a gene takes a random level in place of its function's output; 0 to 1. It acts
        on later levels.
    seed : int
        Not negative. Topology, functions, starts, noise and perturbation have streams of their own.

    Raises
    ------
    ValueError
        An argument outside its range; the message names it and what is allowed.

    Notes
    -----
    After the artificial gene networks (AGN) of Lopes, Cesar & Costa 2011, J Comput Biol 18:1353,
    where genes follow random Boolean functions on Erdos-Renyi and Barabasi-Albert topologies.
    """
    settings: dict[str, Any] = {
        "n_genes": n_genes,
        "n_steps": n_steps,
        "n_series": n_series,
        "topology": topology,
        "n_predictors": n_predictors,
        "levels": levels,
        "xor_share": xor_share,
        "noise": noise,
        "perturbation": perturbation,
        "seed": seed,
    }
    least = {"n_steps": 2, "n_series": 1, "n_predictors": 1, "levels": 2, "seed": 0}
    most = {"n_predictors": 4, "levels": 4}
    for name, low in least.items():
        check_whole(name, settings[name], low, most.get(name))
    check_whole("n_genes", n_genes, n_predictors + 1)
    if topology not in TOPOLOGIES:
        raise ValueError(f"topology is {topology!r}; expected {' or '.join(TOPOLOGIES)}")
    for name in ("noise", "perturbation", "xor_share"):
        check_share(name, settings[name] or 0.0)
    if xor_share not in (None, 1) and levels**n_predictors == 2:
        raise ValueError(
            "xor_share is for 2 predictors or more; a single one has no other function"
        )
    predictors = draw_predictors(n_genes, n_predictors, topology, stream(seed, "topology"))
    outputs = draw_functions(n_genes, n_predictors, levels, xor_share, stream(seed, "functions"))
    courses = trajectories(settings, predictors, outputs)
    true_levels = np.ascontiguousarray(np.concatenate(courses).T)
    # Sample by sample, so that the first samples are the same whatever their number.
    draws = stream(seed, "noise").random((*true_levels.shape[::-1], 2))
    step = 1 + np.minimum((draws[..., 1] * (levels - 1)).astype(np.int8), levels - 2)
    flipped = np.where(draws[..., 0] < noise, (true_levels.T + step) % levels, true_levels.T)
    measured = np.ascontiguousarray(flipped.astype(np.int8).T)

    digits = len(str(n_steps))
    genes = [f"G{k:0{len(str(n_genes))}d}" for k in range(1, n_genes + 1)]
    series = [f"series{k}" for k, course in enumerate(courses, start=1) for _ in course]
    samples = [
        f"S{k}T{t:0{digits}d}"
        for k, course in enumerate(courses, start=1)
        for t in range(len(course))
    ]
    names = np.array(genes, dtype=object)
    written = ["".join(map(str, row)) for row in outputs.tolist()]
    truth = pd.DataFrame(
        {
            "target": names,
            **{f"predictor_{k + 1}": names[column] for k, column in enumerate(predictors.T)},
            "function": [_NAMES.get(text, text) if levels == 2 else text for text in written],
            "outputs": written,
        }
    )
    edges = pd.DataFrame(
        {"source": names[predictors.ravel()], "target": np.repeat(names, n_predictors)}
    )
    parameters = {"settings": settings, "true_levels": true_levels}
    return BooleanSimulation(measured, genes, samples, series, truth, edges, parameters)


def write_boolean(simulation: BooleanSimulation, folder: Path, command: str) -> None:
    """Write ``levels.tsv.gz``, ``series.tsv`` (sample, series), ``truth.tsv``,
    ``gold_standard.tsv`` (source, target) and a ``README.md`` that names seed and ``command``."""
    settings = simulation.parameters["settings"]
    n_samples, n_series = len(simulation.samples), len(set(simulation.series))
    size = f"{settings['n_genes']} genes, {n_samples} samples in {n_series} series"
    readme = f"""# Simulated Boolean network with known truth

{size}, {settings["levels"]} levels, {settings["n_predictors"]} predictors of each gene \
({settings["topology"]}); seed {settings["seed"]}. Made by

    {command}

`levels.tsv.gz`: genes in rows, samples in order of time. `series.tsv`: the time series of each
sample. `truth.tsv`: predictors and function of each gene. `gold_standard.tsv`: source, target. How:
`pairtile.simulate.simulate_boolean`.
"""
    write_files(
        folder,
        {
            "levels.tsv.gz": gene_table(simulation.levels, simulation.genes, simulation.samples),
            "series.tsv": pd.DataFrame({"sample": simulation.samples, "series": simulation.series}),
            "truth.tsv": simulation.truth,
            "gold_standard.tsv": simulation.edges,
            "README.md": readme,
        },
    )
