"""Expression tables of thirteen kinds with known edges, on which rankings are compared.

How ``score: combined`` is made was chosen on other tables of the first eight kinds; the last five
(``HELD_OUT``) had no say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pairtile.simulate import simulate_kinetic

Floats = NDArray[np.float64]
GENES, REGULATORS = 200, 40


class Table(NamedTuple):
    """Values, float64 (genes, samples); the regulators' rows; true edges, bool (regulators,
    genes)."""

    values: Floats
    regulators: NDArray[np.int64]
    edges: NDArray[np.bool_]


def _scale_free(draw: np.random.Generator, cascades: float = 0.5) -> Floats:
    """Weights (genes, regulators) without cycles: a regulator comes before its targets. Hubs by
    preferential attachment, one to four regulators a gene; a share ``cascades`` of the regulators
    is regulated."""
    weights = np.zeros((GENES, REGULATORS))
    attraction = np.ones(REGULATORS)
    for gene in range(1, GENES):
        known = min(gene, REGULATORS)
        if gene < REGULATORS and draw.random() > cascades:
            continue
        number = min(known, 1 + int(draw.choice(4, p=(0.4, 0.3, 0.2, 0.1))))
        share = attraction[:known] / attraction[:known].sum()
        chosen = draw.choice(known, number, replace=False, p=share)
        weights[gene, chosen] = draw.choice([-1, 1], number) * draw.uniform(0.4, 1.0, number)
        attraction[chosen] += 1
    return weights


def _levels(draw: np.random.Generator, weights: Floats, samples: int) -> Floats:
    """Genes one after the other: the weighted sum of their regulators and noise, of variance 1."""
    values = draw.standard_normal((len(weights), samples))
    for gene, row in enumerate(weights):
        chosen = np.flatnonzero(row)
        if chosen.size:
            values[gene] += row[chosen] @ values[chosen]
            values[gene] = (values[gene] - values[gene].mean()) / values[gene].std()
    return values


def _table(values: Floats, weights: Floats) -> Table:
    return Table(values, np.arange(REGULATORS), weights.T != 0)


def linear(draw: np.random.Generator, samples: int) -> Table:
    """A scale-free network of linear effects."""
    weights = _scale_free(draw)
    return _table(_levels(draw, weights, samples), weights)


def hidden_factor(draw: np.random.Generator, samples: int) -> Table:
    """The same, with three hidden factors that make 30 % of the variance of every gene."""
    table = linear(draw, samples)
    loadings = draw.standard_normal((GENES, 3))
    hidden = loadings @ draw.standard_normal((3, samples))
    hidden /= hidden.std(axis=1, keepdims=True)
    return table._replace(values=np.sqrt(0.7) * table.values + np.sqrt(0.3) * hidden)


def kinetic(draw: np.random.Generator, samples: int) -> Table:
    """Steady states of Hill kinetics with measuring noise, logarithms."""
    made = simulate_kinetic(GENES, samples, REGULATORS, seed=int(draw.integers(1 << 31)))
    row = {name: k for k, name in enumerate(made.genes)}
    regulators = np.array([row[name] for name in made.regulators])
    edges = np.zeros((REGULATORS, GENES), dtype=bool)
    place = {gene: k for k, gene in enumerate(regulators.tolist())}
    for source, target in zip(made.edges["source"], made.edges["target"], strict=True):
        edges[place[row[source]], row[target]] = True
    return Table(np.log2(made.values + 1.0), regulators, edges)


def parabola(draw: np.random.Generator, samples: int) -> Table:
    """Half of the regulators act by their squares."""
    weights = _scale_free(draw)
    curved = draw.random(REGULATORS) < 0.5
    values = draw.standard_normal((GENES, samples))
    for gene, row in enumerate(weights):
        chosen = np.flatnonzero(row)
        if chosen.size:
            x = values[chosen]
            x = np.where(curved[chosen, None], (x * x - 1.0) / np.sqrt(2.0), x)
            values[gene] += row[chosen] @ x
            values[gene] = (values[gene] - values[gene].mean()) / values[gene].std()
    return _table(values, weights)


def chains(draw: np.random.Generator, samples: int) -> Table:
    """Chains of five regulators, and targets of one regulator each."""
    weights = np.zeros((GENES, REGULATORS))
    for gene in range(GENES):
        if gene >= REGULATORS:
            weights[gene, draw.integers(REGULATORS)] = 1.0
        elif gene % 5:
            weights[gene, gene - 1] = 1.5
    return _table(_levels(draw, weights, samples), weights)


def modules(draw: np.random.Generator, samples: int) -> Table:
    """Ten modules, each with four regulators that go together (r about .8); a gene takes one or
    two of those of its module."""
    weights = np.zeros((GENES, REGULATORS))
    shared = draw.standard_normal((10, samples))
    values = draw.standard_normal((GENES, samples))
    values[:REGULATORS] = 2.0 * shared[np.arange(REGULATORS) % 10] + values[:REGULATORS]
    values[:REGULATORS] /= np.sqrt(5.0)
    for gene in range(REGULATORS, GENES):
        own = np.arange(gene % 10, REGULATORS, 10)
        chosen = draw.choice(own, draw.integers(1, 3), replace=False)
        weights[gene, chosen] = draw.uniform(0.6, 1.0, chosen.size)
        values[gene] += weights[gene] @ values[:REGULATORS]
    return _table(values, weights)


def time_course(draw: np.random.Generator, samples: int) -> Table:
    """Series of ten samples: half of a gene stays from one sample to the next, the rest goes by
    what its regulators are."""
    weights = _scale_free(draw)
    values = np.empty((GENES, samples))
    for begin in range(0, samples, 10):
        now = draw.standard_normal(GENES)
        for sample in range(begin, min(begin + 10, samples)):
            now = 0.5 * now + 0.5 * weights @ now[:REGULATORS] + 0.6 * draw.standard_normal(GENES)
            values[:, sample] = now
    return _table(values, weights)


def knock_outs(draw: np.random.Generator, samples: int) -> Table:
    """In each sample one regulator is off, four deviations below; sigmoid effects."""
    weights = 2.0 * _scale_free(draw)
    values = draw.standard_normal((GENES, samples)) * 0.5
    off = draw.integers(REGULATORS, size=samples)
    for gene, row in enumerate(weights):
        chosen = np.flatnonzero(row)
        if chosen.size:
            values[gene] += row[chosen] @ np.tanh(values[chosen])
        if gene < REGULATORS:
            values[gene, off == gene] -= 4.0
    return _table(values, weights)


def counts(draw: np.random.Generator, samples: int) -> Table:
    """Counts of the linear network, mean about 60, unequal depths; log of counts per million."""
    return _counted(linear(draw, samples), draw, 4.0)


def cells(draw: np.random.Generator, samples: int) -> Table:
    """The same with a mean of about 1.5, as of single cells."""
    return _counted(linear(draw, samples), draw, 0.4)


def _counted(table: Table, draw: np.random.Generator, log_mean: float) -> Table:
    usual = draw.normal(log_mean, 0.5, (GENES, 1)) + 0.4 * draw.standard_normal(
        table.values.shape[1]
    )
    rate = np.exp(usual + 0.6 * table.values) * draw.gamma(10.0, 0.1, table.values.shape)
    found = draw.poisson(rate).astype(float)
    return table._replace(values=np.log1p(1e4 * found / np.maximum(found.sum(axis=0), 1.0)))


def many_regulators(draw: np.random.Generator, samples: int) -> Table:
    """All genes but 40 are listed as regulators; most of them regulate nothing."""
    table = linear(draw, samples)
    listed = np.arange(160)
    edges = np.zeros((160, GENES), dtype=bool)
    edges[:REGULATORS] = table.edges
    return Table(table.values, listed, edges)


def dense(draw: np.random.Generator, samples: int) -> Table:
    """Each gene takes 5 to 12 regulators, none of which is regulated."""
    weights = np.zeros((GENES, REGULATORS))
    for gene in range(REGULATORS, GENES):
        chosen = draw.choice(REGULATORS, draw.integers(5, 13), replace=False)
        weights[gene, chosen] = draw.choice([-1, 1], chosen.size) * draw.uniform(
            0.3, 1, chosen.size
        )
    return _table(_levels(draw, weights, samples), weights)


def outliers(draw: np.random.Generator, samples: int) -> Table:
    """The linear network; 3 % of the values are off by five deviations, each on its own."""
    table = linear(draw, samples)
    hit = draw.random(table.values.shape) < 0.03
    return table._replace(values=table.values + 5.0 * hit * draw.choice([-1, 1], hit.shape))


CHOSEN_ON = (linear, hidden_factor, kinetic, parabola, chains, modules, time_course, knock_outs)
HELD_OUT = (counts, cells, many_regulators, dense, outliers)
KINDS: dict[str, Callable[[np.random.Generator, int], Table]] = {
    function.__name__: function for function in (*CHOSEN_ON, *HELD_OUT)
}
