"""Whether the statistics of ``trajectory_correlation`` hold on motions whose truth is known.

    PYTHONPATH=workflow python -m benchmarks.validity trajectory_correlation [--quick]

Motions are Ornstein-Uhlenbeck processes in three dimensions, as slow as atoms in a simulation are
beside its length. ``run`` gives one row for each claim.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairtile import trajectory_correlation
from scipy.signal import lfilter

from benchmarks.validity.claims import Part, claim, mean_at_most, of_mean, of_share

Floats = NDArray[np.float64]

COMMAND = "python -m benchmarks.validity trajectory_correlation"
GROUP = 6
"""Motions of one group, all pairs of which have the same true correlation."""

MIN_AGREEMENT = 0.3
BARS = {0.0: 0.12, 0.3: 0.05, 0.6: 0.08}
"""By true correlation: how high independent pairs may read; how far off others."""


def slow_motion(draw: np.random.Generator, frames: int, variables: int, tau: float) -> Floats:
    """Ornstein-Uhlenbeck, variance 1, memory exp(-t / tau): (frames, variables, 3)."""
    phi, start = np.exp(-1.0 / tau), int(20 * tau)
    noise = draw.standard_normal((frames + start, variables, 3))
    return np.asarray(lfilter([np.sqrt(1 - phi * phi)], [1, -phi], noise, axis=0)[start:])


def coupled(draw: np.random.Generator, frames: int, r: float, tau: float, n: int = GROUP) -> Floats:
    """Motions of which every two correlate with r, coordinate by coordinate."""
    common, own = (slow_motion(draw, frames, k, tau) for k in (1, n))
    return np.sqrt(r) * common + np.sqrt(1.0 - r) * own


def found_in(series: Floats, **settings: Any) -> Any:
    """The result of the library's function; its warnings are in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trajectory_correlation(series, backend="cpu", **settings)


def row(*parts: Any, **stated: Any) -> dict[str, Any]:
    """A claim by this file's command."""
    return claim(*parts, command=COMMAND, **stated)


def correlations(
    tau: int, frames: int, groups: int, kind: str = "auto"
) -> Iterator[dict[str, Any]]:
    """The centred correlation read where the true one is 0, 0.3 and 0.6; by default as ``auto``
    decides for each group."""
    for true, bar in BARS.items():
        draw = np.random.default_rng([tau, frames, int(10 * true)])
        means, kinds = [], set()
        for number in range(groups):
            result = found_in(coupled(draw, frames, true, tau), kind=kind, seed=number)
            means.append(float(result.pairs["correlation_centred"].mean()))
            kinds.add(result.settings["estimator"]["kind"])
        chosen = f" ({' or '.join(sorted(kinds))})" if kind == "auto" else ""
        measured = float(np.mean(means))
        passed = measured <= bar if true == 0.0 else abs(measured - true) <= bar
        yield row(
            f"{'independent' if true == 0.0 else 'coupled'} motions, kind "
            f"{kind}{chosen}, tau {tau}, {frames} frames",
            "mean centred correlation",
            measured,
            of_mean(means),
            nominal=true,
            bar=f"at most {bar}" if true == 0.0 else f"within {bar}",
            passed=passed,
        )


def communities(draws: int) -> Iterator[dict[str, Any]]:
    """Communities of noise are not claimed; those of blocks that move together are."""
    draw = np.random.default_rng(7)

    def noise() -> Floats:
        speeds = np.exp(draw.uniform(np.log(5), np.log(40), 40))
        return np.concatenate([slow_motion(draw, 1000, 1, tau) for tau in speeds], axis=1)

    def blocks() -> Floats:
        return np.concatenate([coupled(draw, 1000, 0.5, 20, n=10) for _ in range(4)], axis=1)

    makers: tuple[tuple[str, Callable[[], Floats], bool], ...] = (
        ("noise of mixed speeds", noise, False),
        ("four blocks with r 0.5", blocks, True),
    )
    for name, make, real in makers:
        keep = {"p_value": 0.05}
        found = [found_in(make(), kind="gaussian", seed=k, keep=keep) for k in range(draws)]
        claims = sum(f.community_agreement.get("leiden", 0.0) >= MIN_AGREEMENT for f in found)
        bar = 0.9 if real else 0.1
        share = claims / draws
        yield row(
            f"communities of {name}, 40 variables, 1000 frames",
            "share of runs that claim communities",
            share,
            of_share(claims, draws),
            nominal=float(real),
            bar=f"at {'least' if real else 'most'} {bar}",
            passed=share >= bar if real else share <= bar,
        )


def drifts(draws: int) -> Iterator[dict[str, Any]]:
    """Stationary motions are not warned of, drifting ones are."""
    draw = np.random.default_rng(8)
    for name, size, bar in (("stationary", 0.0, 0.05), ("moved by 2 sd halfway", 2.0, 0.8)):
        hits = total = 0
        for number in range(draws):
            series = slow_motion(draw, 1000, 40, 20.0)
            series[500:] += size / np.sqrt(3)
            found = found_in(series, kind="gaussian", seed=number, surrogates=0)
            hits += found.counts["variables_drifting"]
            total += 40
        share = hits / total
        yield row(
            f"{name} variables, tau 20, 1000 frames",
            "share of variables that are warned of",
            share,
            of_share(hits, total),
            nominal=float(size > 0),
            bar=f"at {'least' if size else 'most'} {bar}",
            passed=share >= bar if size else share <= bar,
        )


CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gaussian", {"kind": "gaussian"}),
    ("ksg", {"kind": "ksg"}),
    ("ksg, frames permuted", {"kind": "ksg", "ensemble": True}),
)


def p_values(draws: int, number: int) -> Iterator[dict[str, Any]]:
    """Of independent motions, 5 % of the pairs have p <= 0.05; and what is read without centring.
    Taken for an ensemble, frames are permuted, and slow motions look related."""
    name, settings = CASES[number]
    draw = np.random.default_rng([9, number] if number else 9)
    shares, means = [], []
    for seed in range(draws // 3 if number else draws):  # ksg takes long
        found = found_in(slow_motion(draw, 1000, 12, 20.0), seed=seed, **settings)
        shares.append(float((found.pairs["p_value"] <= 0.05).mean()))
        means.append(float(found.pairs["correlation"].mean()))
    scenario = f"independent motions, kind {name}, tau 20, 1000 frames"
    stated = {"bar": "none", "passed": None}
    if not settings.get("ensemble"):
        stated = {"bar": "at most 0.08", "passed": np.mean(shares) <= 0.08}
    what = "share of pairs with p <= 0.05"
    yield row(scenario, what, float(np.mean(shares)), of_mean(shares), nominal=0.05, **stated)
    stated = {"bar": "none", "passed": None}
    what = "mean correlation as estimated"
    yield row(scenario, what, float(np.mean(means)), of_mean(means), nominal=0.0, **stated)


LENGTHS = ((2100, 100), (200, 600, 1500), (100, 100, 2100))


def unlike_replicas(draws: int, lengths: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Of independent motions in replicas of unlike length, 5 % of the pairs have p <= 0.05; those
    too short for surrogates of their own are named."""
    draw = np.random.default_rng([13, *lengths])
    shares, named = [], 0
    for seed in range(draws):
        tau = float(draw.uniform(20.0, 50.0))
        replicas = [slow_motion(draw, frames, 12, tau) for frames in lengths]
        found = found_in(replicas, kind="gaussian", seed=seed)
        shares.append(float((found.pairs["p_value"] <= 0.05).mean()))
        named += any("too short for surrogates" in text for text in found.warnings)
    scenario = f"replicas of {', '.join(map(str, lengths))} frames, tau 20 to 50, kind gaussian"
    yield mean_at_most(scenario, "share of pairs with p <= 0.05", shares, 0.05, 0.07, COMMAND)
    what, interval = "runs in which short replicas are named", of_share(named, draws)
    stated = {"nominal": 1.0, "bar": "at least 0.9", "passed": named >= 0.9 * draws}
    yield row(scenario, what, named / draws, interval, **stated)


def ensembles(draws: int) -> Iterator[dict[str, Any]]:
    """24 independent models without an order: p-values hold, and correlations read nothing."""
    draw = np.random.default_rng(10)
    shares, means = [], []
    for number in range(draws):
        found = found_in(draw.standard_normal((24, 27, 3)), ensemble=True, seed=number)
        shares.append(float((found.pairs["p_value"] <= 0.05).mean()))
        means.append(float(found.pairs["mi_nats"].mean()))
    scenario = "ensembles of 24 independent models, 27 residues"
    yield mean_at_most(scenario, "share of pairs with p <= 0.05", shares, 0.05, 0.07, COMMAND)
    yield mean_at_most(scenario, "mean mutual information in nats", means, 0.0, 0.01, COMMAND)


COMPARED = ((False, 2), (False, 3), (True, 2))
"""Whether two groups are two states, and how many replicas each has."""


def states(draws: int, different: bool, replicas: int) -> Iterator[dict[str, Any]]:
    """Two groups of replicas of one state differ as often as stated; two states are told apart."""
    draw = np.random.default_rng([11, replicas, different])
    tests = [_compared(draw, replicas, different, number) for number in range(draws)]
    kind = "two states" if different else "one state"
    scenario = f"{replicas} and {replicas} replicas of {kind}"
    scenario += ", kind gaussian, 24 variables, tau 20, 1000 frames"
    if different:
        what = "share of wrong pairs among those with q <= 0.05"
        yield mean_at_most(scenario, what, [t["wrong"] for t in tests], 0.05, 0.07, COMMAND)
        power = [t["found"] for t in tests]
        yield row(
            scenario,
            "share of the pairs that differ (r 0.3 and 0.8) with q <= 0.05",
            float(np.mean(power)),
            of_mean(power),
            nominal=1.0,
            bar="none",
            passed=None,
        )
        return
    for name in ("p_value", "p_permutation"):
        what = f"share of pairs with {name} <= 0.05"
        yield mean_at_most(scenario, what, [t[name] for t in tests], 0.05, 0.07, COMMAND)


def _compared(
    draw: np.random.Generator, replicas: int, different: bool, seed: int
) -> dict[str, float]:
    """Shares of the pairs of one comparison."""
    groups = [
        found_in([_state(draw, tight) for _ in range(replicas)], kind="gaussian", seed=seed)
        for tight in (False, different)
    ]
    table = groups[0].difference(groups[1])
    changed = ((table["source"] < GROUP) & (table["target"] < GROUP)).to_numpy()
    q = table["mi_q_value"].to_numpy() <= 0.05
    return {
        "p_value": float((table["mi_p_value"] <= 0.05).mean()),
        "p_permutation": float((table["mi_p_permutation"] <= 0.05).mean()),
        "found": float(q[changed].mean()),
        "wrong": float(q[~changed].sum() / max(q.sum(), 1)),
    }


def _state(draw: np.random.Generator, tight: bool) -> Floats:
    """Four groups of six motions that correlate with 0.3; the first with 0.8 if ``tight``."""
    return np.concatenate(
        [coupled(draw, 1000, 0.8 if tight and k == 0 else 0.3, 20.0) for k in range(4)], axis=1
    )


def parts(quick: bool) -> list[Part]:
    """All claims: scenario, nominal, measured, low, high (95 %), what, bar, passed, command.

    quick : fewer draws, and the default at 500 frames alone.
    """
    groups = 16 if quick else 60
    sizes = [(20, 500, groups)]
    if not quick:
        sizes += [(20, 1000, groups), (20, 2000, 24)]
        sizes += [
            (tau, frames, 24) for tau, frames in ((5, 500), (5, 1000), (50, 1000), (50, 2000))
        ]
    found: list[Part] = [partial(correlations, *size) for size in sizes]
    if not quick:
        found.append(partial(correlations, 20, 2000, groups, kind="gaussian"))
        found.append(partial(correlations, 20, 2000, 8, kind="ksg"))
    return found
