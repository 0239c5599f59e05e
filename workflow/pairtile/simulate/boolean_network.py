"""The parts of a Boolean network: who predicts whom, by which function, and what follows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.simulate.streams import stream

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
    degree = np.ones(n_genes)
    if topology == "barabasi_albert":
        degree = _degrees(n_genes, n_predictors, random)
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
    order = random.permutation(n_genes)
    n_xor = 0 if xor_share is None else int(np.floor(xor_share * n_genes + 0.5))
    is_xor = np.isin(np.arange(n_genes), order[:n_xor])
    outputs = np.empty((n_genes, len(inputs)), dtype=np.int8)
    for gene in range(n_genes):
        if is_xor[gene]:
            outputs[gene] = (inputs.sum(axis=1) + random.integers(q)) % q
            continue
        drawn = random.integers(0, q, len(inputs))
        while not _depends_on_all(drawn, q, n_predictors) or (
            xor_share is not None and _is_xor(drawn, inputs, q)
        ):
            drawn = random.integers(0, q, len(inputs))
        outputs[gene] = drawn
    return outputs


def function_name(outputs: str) -> str:
    """``A XOR B`` for ``0110``, and so on, for two levels; ``outputs`` where it has no name."""
    return _NAMES.get(outputs, outputs)


def trajectories(
    settings: dict[str, Any], predictors: NDArray[np.int64], outputs: NDArray[np.int8]
) -> list[NDArray[np.int8]]:
    """The states of each series, int8 (steps, genes); ``settings`` of ``simulate_boolean``."""
    n_steps, perturbed = settings["n_steps"], bool(settings["perturbation"])
    starts = stream(settings["seed"], "starts")
    random = stream(settings["seed"], "perturbation")
    missing = settings["n_series"] * n_steps
    courses = []
    while missing:
        # A remainder of one sample would be a series without a step: it goes to the one before.
        length = missing if missing == n_steps + 1 else min(n_steps, missing)
        state = starts.integers(0, settings["levels"], len(predictors)).astype(np.int8)
        states, seen = [state], {state.tobytes()}
        while len(states) < length:
            state = _next_state(state, predictors, outputs, settings, random)
            states.append(state)
            repeated = state.tobytes() in seen
            if repeated and not perturbed and missing - len(states) != 1:
                break
            seen.add(state.tobytes())
        missing -= len(states)
        courses.append(np.stack(states))
    return courses


def _next_state(
    state: NDArray[np.int8],
    predictors: NDArray[np.int64],
    outputs: NDArray[np.int8],
    settings: dict[str, Any],
    random: np.random.Generator,
) -> NDArray[np.int8]:
    n_genes, q = len(state), settings["levels"]
    combination = state[predictors].astype(np.int64) @ q ** np.arange(predictors.shape[1])[::-1]
    following = outputs[np.arange(n_genes), combination]
    if not settings["perturbation"]:
        return following
    hit = random.random(n_genes) < settings["perturbation"]
    return np.where(hit, random.integers(0, q, n_genes), following).astype(np.int8)


def _depends_on_all(outputs: NDArray[Any], q: int, n_predictors: int) -> bool:
    """Whether each predictor makes a difference for some levels of the others."""
    table = outputs.reshape((q,) * n_predictors)
    return all((np.diff(table, axis=k) != 0).any() for k in range(n_predictors))


def _is_xor(outputs: NDArray[Any], inputs: NDArray[Any], q: int) -> bool:
    return len(set(((outputs - inputs.sum(axis=1)) % q).tolist())) == 1
