"""What is said of good tables: samples are independent, and nothing is hidden.

    PYTHONPATH=workflow python -m benchmarks.validity false_alarms [--quick]

Every message that needs reading (of severity ``warning`` or ``severe``) of the whole default chain
of ``mutual_information`` is counted by its code.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile import infer_network
from pairtile.statistics.dependence import standardised

from benchmarks import ranking_tables
from benchmarks.validity.cells import cells
from benchmarks.validity.claims import Part, claim, of_mean, of_share
from benchmarks.validity.delivered_networks import kinetic, modules, regulons
from benchmarks.validity.unstated import HIDDEN, SAID, hidden

Floats = NDArray[np.float64]
Good = tuple[Floats, NDArray[np.int64] | None]
"""A table and the regulators where a list is given."""

COMMAND = "python -m benchmarks.validity false_alarms"
MAX_SHARE = 0.05
TRUE = {"empty_network"}
"""Of genes that are unrelated or few samples, no false alarm."""

MAX_MESSAGES = 2.0


def _modules(*how: Any) -> Callable[[np.random.Generator], Good]:
    return lambda draw: (modules(draw, *how)[0], None)


def _network(kind: str, samples: int, given: bool) -> Callable[[np.random.Generator], Good]:
    """A table of ``ranking_tables``, with or without its list of regulators."""

    def made(draw: np.random.Generator) -> Good:
        table = ranking_tables.KINDS[kind](draw, samples)
        return table.values, table.regulators if given else None

    return made


def _counts(draw: np.random.Generator, genes: int, samples: int) -> Good:
    """Counts of modules, of bulk RNA; totals that differ by a standard deviation of log .4."""
    values = modules(draw, genes, samples, (0.1,) * 4)[0]
    mean = draw.normal(4.5, 1.5, (genes, 1)) + 0.4 * draw.standard_normal(samples)
    return draw.poisson(np.exp(mean + 0.6 * values)).astype(float), None


def _incomplete(draw: np.random.Generator, genes: int, samples: int) -> Good:
    """Modules; one value of twelve was not measured."""
    values = modules(draw, genes, samples, (0.1,) * 4)[0]
    return np.where(draw.random(values.shape) < 1 / 12, np.nan, values), None


def _weak(draw: np.random.Generator, genes: int, samples: int) -> Good:
    """Four modules whose genes have a tenth of their variance in common."""
    module = np.searchsorted((0.1, 0.2, 0.3, 0.4), (np.arange(genes) + 0.5) / genes)
    factors = np.vstack([draw.standard_normal((4, samples)), np.zeros(samples)])
    return draw.standard_normal((genes, samples)) + factors[module] / 3.0, None


GOOD: dict[str, Callable[[np.random.Generator], Good]] = {
    "unrelated, 30 genes, 50 samples": _modules(30, 50, ()),
    "unrelated, 200 genes, 8 samples": _modules(200, 8, ()),
    "unrelated, 500 genes, 20 samples": _modules(500, 20, ()),
    "four weak modules, 300 genes, 60 samples": lambda draw: _weak(draw, 300, 60),
    "two modules of 10 %, 500 genes, 20 samples": _modules(500, 20, (0.1, 0.1)),
    "four modules of 10 %, 1,000 genes, 8 samples": _modules(1000, 8, (0.1,) * 4),
    "two modules of a quarter, 40 genes, 60 samples": _modules(40, 60, (0.25, 0.25)),
    "two modules of a quarter, 300 genes, 100 samples": _modules(300, 100, (0.25, 0.25)),
    "two modules of a quarter, 800 genes, 40 samples": _modules(800, 40, (0.25, 0.25)),
    "two modules that are all, 30 genes, 40 samples": _modules(30, 40, (0.5, 0.5)),
    "a module of a third, 200 genes, 100 samples": _modules(200, 100, (0.33,)),
    "ten modules of 8 %, 300 genes, 80 samples": _modules(300, 80, (0.08,) * 10),
    "counts of four modules, 400 genes, 60 samples": lambda draw: _counts(draw, 400, 60),
    "four modules, values missing, 300 genes, 80 samples": (
        lambda draw: _incomplete(draw, 300, 80)
    ),
    "kinetic network beside unregulated genes, 400 genes, 100 samples": (
        lambda draw: kinetic(draw, 400, 100)[::2]
    ),
    "40 listed regulators, 600 genes, 40 samples": lambda draw: regulons(draw, 600, 40)[::2],
    **{
        f"{kind} network, {'a list' if given else 'no list'}, 200 genes, {samples} samples": (
            _network(kind, samples, given)
        )
        for kind, samples, given in (
            ("kinetic", 60, True),
            ("linear", 100, True),
            ("linear", 100, False),
            ("modules", 100, True),
            ("chains", 100, False),
        )
    },
}
SLOW: dict[str, Callable[[np.random.Generator], Good]] = {
    "unrelated, heavy tails, 150 genes, 200 samples": (
        lambda draw: (np.exp(2 * draw.standard_normal((150, 200))), None)
    ),
    "three modules of 10 %, 200 genes, 500 samples": _modules(200, 500, (0.1,) * 3),
    "ten modules of 3 %, 5,000 genes, 60 samples": _modules(5000, 60, (0.03,) * 10),
    "counts of cells, 20 pairs, 150 genes, 400 cells": (
        lambda draw: (cells(draw, 400, genes=150, pairs=20), None)
    ),
    "kinetic network, a list, 200 genes, 300 samples": _network("kinetic", 300, True),
    "kinetic network, no list, 200 genes, 200 samples": _network("kinetic", 200, False),
    "dense network, a list, 200 genes, 200 samples": _network("dense", 200, True),
}
"""Tables of which fewer are drawn."""


def _hidden(kind: str, network: str, samples: int) -> Callable[[np.random.Generator], Good]:
    """The same network with its list of regulators, and what its samples share: 30 % of the
    variance of all genes."""

    def made(draw: np.random.Generator) -> Good:
        values, regulators = _network(network, samples, given=True)(draw)
        return hidden(draw, standardised(values), kind), regulators

    return made


BAD: dict[str, Callable[[np.random.Generator], Good]] = {
    f"{kind} in a {network} network, a list, 200 genes, {samples} samples": _hidden(
        kind, network, samples
    )
    for kind in HIDDEN
    for network, samples in (("linear", 100), ("kinetic", 100))
}
"""Tables whose samples share something that nobody states: a message must say so."""


def prepared_as(values: Floats) -> dict[str, Any]:
    """Settings of preparation: counts by the defaults; simulated levels are no logarithms."""
    raw = {} if np.array_equal(values, np.round(values)) else {"log2": False, "normalize": "none"}
    return raw | {"min_samples": min(20, values.shape[1])}


def said(table: Good) -> set[str]:
    """Codes of the messages of one table that need reading."""
    values, regulators = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = infer_network(
            values,
            regulators,
            backend="cpu",
            preprocess=prepared_as(values),
        )
    return {message.code for message in edges.attrs["warnings"]}


def alarms(n_tables: int, n_slow: int) -> list[dict[str, Any]]:
    """What is said of tables of each kind."""
    found = {}
    for scenario, make in (GOOD | SLOW).items():
        number = n_tables if scenario in GOOD else n_slow
        draws = (np.random.default_rng([seed, 49, 9]) for seed in range(number))
        found[scenario] = [said(make(draw)) for draw in draws]
    return alarms_of(found)


def alarms_of(found: dict[str, list[set[str]]]) -> list[dict[str, Any]]:
    """The most frequent warning of each kind of table, how many a table has, and each warning over
    all kinds. ``found``: codes of messages, of each table of each kind."""
    rows = []
    for scenario, tables in found.items():
        counted = Counter(code for codes in tables for code in sorted(codes - TRUE)).most_common(1)
        code, hits = counted[0] if counted else ("none", 0)
        interval = of_share(hits, len(tables))
        numbers = [float(len(codes)) for codes in tables]
        rows += [
            claim(
                f"{scenario}, whole chain" + (f": `{code}`" if hits else ""),
                "good tables with the most frequent warning",
                hits / len(tables),
                interval,
                nominal=0.0,
                bar="interval holds 0.05 or less",
                passed=interval[0] <= MAX_SHARE,
                command=COMMAND,
            ),
            claim(
                f"{scenario}, whole chain",
                "messages that need reading of a good table, at most",
                max(numbers),
                of_mean(numbers),
                nominal=0.0,
                bar="at most 2",
                passed=max(numbers) <= MAX_MESSAGES,
                command=COMMAND,
            ),
        ]
    everywhere = [codes - TRUE for tables in found.values() for codes in tables]
    total = len(everywhere)
    for code, hits in Counter(code for codes in everywhere for code in sorted(codes)).most_common():
        rows.append(
            claim(
                f"{total:,} tables of {len(found)} kinds, whole chain: `{code}`",
                "good tables of all kinds with a warning",
                hits / total,
                of_share(hits, total),
                nominal=0.0,
                bar="at most 0.05",
                passed=hits <= MAX_SHARE * total,
                command=COMMAND,
            )
        )
    return rows


def detected(n_tables: int, scenario: str) -> list[dict[str, Any]]:
    """How many tables are warned of."""
    draws = (np.random.default_rng([seed, 49, 10]) for seed in range(n_tables))
    hits = sum(bool(said(BAD[scenario](draw)) & SAID) for draw in draws)
    return [
        claim(
            f"{scenario}, whole chain",
            "tables that are warned of",
            hits / n_tables,
            of_share(hits, n_tables),
            nominal=1.0,
            bar="at least 0.9",
            passed=hits >= 0.9 * n_tables,
            command=COMMAND,
        )
    ]


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer tables."""
    return [
        partial(alarms, 4 if quick else 60, 2 if quick else 24),
        *(partial(detected, 4 if quick else 60, scenario) for scenario in BAD),
    ]
