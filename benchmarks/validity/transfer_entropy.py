"""Whether p- and q-values of ``score: transfer_entropy`` hold.

PYTHONPATH=workflow python -m benchmarks.validity transfer_entropy [--quick]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pairtile
import pandas as pd
from numpy.typing import NDArray

from benchmarks.validity.claims import claim_of_mean
from benchmarks.validity.predictor_pairs import levels, named, replicates, short_series

COMMAND = "python -m benchmarks.validity transfer_entropy"
GENES, LEVEL, BAR = 40, 0.05, 0.07
Table = tuple[pd.DataFrame, NDArray[Any]]
Draw = np.random.Generator


def network(key: str, table: Table, seed: int, **settings: Any) -> pd.DataFrame:
    """The network of a table of ``levels`` or ``expression`` and the series of its samples."""
    values, series = table
    values = values.set_axis([f"s{k}" for k in range(values.shape[1])], axis=1)
    asked = {"score": "transfer_entropy", "seed": seed, "backend": "cpu", "export": ["parquet"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pairtile.analyse(
            "predictor_pairs",
            **{key: values},
            series=pd.DataFrame({"series": series}, index=values.columns),
            **asked | settings,
        )
    return found.network


def one_series(values: pd.DataFrame) -> Table:
    return values, np.zeros(values.shape[1], dtype=int)


def autoregressive(draw: Draw, phi: float, lengths: list[int]) -> Table:
    """Unrelated genes, each its former value times phi and noise, in series of these lengths."""
    parts = []
    for length in lengths:
        noise = draw.standard_normal((GENES, length))
        part = noise / np.sqrt(1.0 - phi**2)
        for t in range(1, length):
            part[:, t] = phi * part[:, t - 1] + noise[:, t]
        parts.append(part)
    return named(np.concatenate(parts, axis=1)), np.repeat(range(len(lengths)), lengths)


def periodic(draw: Draw, samples: int) -> Table:
    """Unrelated genes that swing, each with a period of its own of 8 to 25 steps, and noise."""
    period, phase = draw.uniform(8, 25, (GENES, 1)), draw.uniform(0, 2 * np.pi, (GENES, 1))
    wave = np.sin(2 * np.pi * np.arange(samples) / period + phase)
    return one_series(named(wave + 0.5 * draw.standard_normal((GENES, samples))))


def slow_and_fast(draw: Draw) -> Table:
    """Half of the unrelated genes keep their level with chance 0.9, half with 0.5."""
    slow, fast = levels(draw, 0.9), levels(draw, 0.5)
    return one_series(named(np.concatenate([slow[: GENES // 2], fast[: GENES // 2]])))


def driven(draw: Draw, measured: bool) -> Table:
    """Ten genes follow one driver at delay 1, ten at delay 2; 8 series of 25 samples of three
    levels. The driver is the first gene where it is ``measured``, else one that is left out."""
    x = draw.integers(3, size=(GENES + 1, 8, 25))
    for t in range(1, 25):
        stays = draw.random((GENES + 1, 8)) < 0.4
        x[:, :, t] = np.where(stays, x[:, :, t - 1], x[:, :, t])
        for gene in range(1, 21):
            if t >= (lag := 1 + gene // 11):
                follows = draw.random(8) < 0.7
                x[gene, :, t] = np.where(follows, x[0, :, t - lag], x[gene, :, t])
    x = x[:-1] if measured else x[1:]
    return named(x.reshape(GENES, -1)), np.repeat(range(8), 25)


def ordered_noise(draw: Draw, cells: int, averaged: int) -> Table:
    """Unrelated noise, its cells in the order of their first principal component, as pseudotime
    orders them; means of so many neighbours."""
    noise = draw.standard_normal((GENES, cells))
    noise -= noise.mean(axis=1, keepdims=True)
    order = np.argsort(np.linalg.svd(noise, full_matrices=False)[2][0])
    return one_series(named(noise[:, order].reshape(GENES, -1, averaged).mean(axis=2)))


def along_one_course(draw: Draw) -> Table:
    """Unrelated genes that rise or fall once along one course of 100 samples, with noise."""
    time, middle = np.linspace(0, 1, 100), draw.uniform(0, 1, (GENES, 1))
    course = draw.choice([-1, 1], (GENES, 1)) * np.tanh(6 * (time - middle))
    return one_series(named(course + 0.7 * draw.standard_normal((GENES, 100))))


def planted(draw: Draw, stays: float, bystanders: int) -> Table:
    """Ten genes follow ten others one or two steps later; five series of 30 samples, 3 levels."""
    x = draw.integers(3, size=(20 + bystanders, 5, 30))
    for t in range(1, 30):
        kept = draw.random(x.shape[:2]) < stays
        x[:, :, t] = np.where(kept, x[:, :, t - 1], x[:, :, t])
        for k in range(10):
            if t >= (lag := 1 + k % 2):
                follows = draw.random(5) < 0.6
                x[k, :, t] = np.where(follows, x[10 + k, :, t - lag], x[k, :, t])
    return named(x.reshape(len(x), -1)), np.repeat(range(5), 30)


def small_p(
    scenario: str,
    key: str,
    make: Callable[[Draw], Table],
    seeds: range,
    among: int = GENES,
    bar: float | None = BAR,
    **settings: Any,
) -> dict[str, Any]:
    """Share of ordered pairs with p <= 0.05, of the first genes alone if asked."""
    shares = []
    first = {f"g{k}" for k in range(among)}
    for seed in seeds:
        table = make(np.random.default_rng([seed, 71]))
        found = network(key, table, seed, keep={"p_value": LEVEL}, dpi=False, **settings)
        here = found["source"].isin(first) & found["target"].isin(first)
        shares.append(int(here.sum()) / (among * (among - 1)))
    return claim_of_mean(scenario, "ordered pairs with p ≤ 0.05", shares, LEVEL, COMMAND, high=bar)


def false_discoveries(seeds: range, stays: float, bystanders: int) -> list[dict[str, Any]]:
    """Share of wrong edges in the network, and of planted edges that it holds at their lag."""
    false, found = [], []
    for seed in seeds:
        table = planted(np.random.default_rng([seed, 73]), stays, bystanders)
        edges = network("levels", table, seed, lag=[1, 2])
        right = {(f"g{10 + k}", f"g{k}", 1 + k % 2) for k in range(10)}
        kept = {*zip(edges["source"], edges["target"], edges["lag"], strict=True)}
        false.append(len(kept - right) / max(len(kept), 1))
        found.append(len(kept & right) / 10)
    scenario = f"10 planted edges of lags 1 and 2, {20 + bystanders} genes, levels kept {stays}"
    wrong, held = "wrong edges with q ≤ 0.05", "planted edges with q ≤ 0.05 at their lag"
    return [
        claim_of_mean(scenario, wrong, false, LEVEL, COMMAND, high=0.07),
        claim_of_mean(scenario, held, found, 1.0, COMMAND),
    ]


def siblings(seeds: range, measured: bool) -> dict[str, Any]:
    """Share of the pairs of genes with one driver, the earlier one first, that become edges."""
    shares = []
    for seed in seeds:
        edges = network(
            "levels", driven(np.random.default_rng([seed, 79]), measured), seed, lag=[1, 2]
        )
        begin = 1 if measured else 0
        early = {f"g{k}" for k in range(begin, begin + 10)}
        late = {f"g{k}" for k in range(begin + 10, begin + 20)}
        shares.append(int((edges["source"].isin(early) & edges["target"].isin(late)).sum()) / 100)
    how = "measured" if measured else "hidden"
    scenario = f"one {how} driver, delays 1 and 2"
    high = 0.05 if measured else None
    return claim_of_mean(scenario, "edges between driven genes", shares, 0.0, COMMAND, high=high)


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims."""
    seeds = range(3 if quick else 10)
    rows = []
    for stays in (0.5, 0.7, 0.85, 0.95):
        scenario = f"unrelated binary genes, level kept with chance {stays}"
        rows.append(small_p(scenario, "levels", lambda d, s=stays: one_series(levels(d, s)), seeds))
    for lags in (1, [1, 2, 3]):
        scenario = f"eight series of 12 samples, three levels, lag {lags}"
        rows.append(small_p(scenario, "levels", lambda d: short_series(d, 0.7), seeds, lag=lags))
    for phi in (0.0, 0.5, 0.9):
        scenario = f"autoregressive genes, {phi} of the former value, one series of 100"
        make = lambda d, p=phi: autoregressive(d, p, [100])  # noqa: E731
        rows.append(small_p(scenario, "expression", make, seeds))
    scenario = "autoregressive genes, 0.7, six series of 8 to 40 samples"
    lengths = [8, 12, 16, 24, 32, 40]
    make = lambda d: autoregressive(d, 0.7, lengths)  # noqa: E731
    rows.append(small_p(scenario, "expression", make, seeds, lag=[1, 2]))
    rows.append(
        small_p("autoregressive genes, 0.7, history 2", "expression", make, seeds, history=2)
    )
    make = lambda d: periodic(d, 100)  # noqa: E731
    rows.append(small_p("genes of periods of their own", "expression", make, seeds))
    for cells, averaged in ((300, 1), (1000, 10)):
        scenario = f"noise of {cells} cells in the order of a component, means of {averaged}"
        make = lambda d, n=cells, k=averaged: ordered_noise(d, n, k)  # noqa: E731
        rows.append(small_p(scenario, "expression", make, seeds, bar=None))
    scenario = "genes that rise or fall along one course"
    rows.append(small_p(scenario, "expression", along_one_course, seeds, bar=None))
    half = GENES // 2
    scenario = "slow genes among fast ones"
    rows.append(small_p(scenario, "levels", slow_and_fast, seeds, among=half, bar=None))
    for number, steps in ((5, 8), (5, 12), (3, 12)):
        scenario = f"{number} replicates of {steps} samples, unrelated genes that respond alike"
        make = lambda d, n=number, t=steps: replicates(d, n, t)  # noqa: E731
        rows.append(small_p(scenario, "expression", make, seeds))
    for stays, bystanders in ((0.4, 30), (0.7, 30), (0.7, 130)):
        rows += false_discoveries(range(4 if quick else 20), stays, bystanders)
    rows += [siblings(seeds, measured) for measured in (True, False)]
    return rows
