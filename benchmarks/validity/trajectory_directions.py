"""Whether ``direction: true`` of ``trajectory_correlation`` says who drives whom.

    PYTHONPATH=workflow python -m benchmarks.validity trajectory_directions [--quick]

Motions are those of ``trajectory_correlation``, with every setting at its default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.validity.claims import Part, claim_of_mean
from benchmarks.validity.trajectory_correlation import coupled, found_in, slow_motion

COMMAND = "python -m benchmarks.validity trajectory_directions"
Floats = NDArray[np.float64]
Draw = np.random.Generator
SMALL, FRAMES, TAU = "ordered pairs with p <= 0.05", 1000, 20.0


def directions(series: Any, seed: int) -> pd.DataFrame:
    """The table of ordered pairs, variables by their numbers."""
    return found_in(series, direction=True, seed=seed).directions


def follower(draw: Draw, driver: Floats, delay: int) -> Floats:
    """As slow a motion, half of whose variance is the driver's of some frames before: (frames,
    variables, 3)."""
    own = slow_motion(draw, len(driver), driver.shape[1], TAU)
    own[delay:] = np.sqrt(0.5) * own[delay:] + np.sqrt(0.5) * driver[:-delay]
    return own


def small_p(
    scenario: str, make: Callable[[Draw], Any], draws: int, high: float | None
) -> Iterator[dict[str, Any]]:
    """Share of the ordered pairs with p <= 0.05."""
    shares = []
    for seed in range(draws):
        found = directions(make(np.random.default_rng([seed, 17])), seed)
        shares.append(float((found["p_value"] <= 0.05).mean()))
    yield claim_of_mean(scenario, SMALL, shares, 0.05, COMMAND, high=high)


def planted(draws: int) -> Iterator[dict[str, Any]]:
    """Three motions each drive another one, 10 frames later."""
    held, right, wrong = [], [], []
    for seed in range(draws):
        draw = np.random.default_rng([seed, 19])
        drivers = slow_motion(draw, FRAMES + 10, 3, TAU)
        series = np.concatenate([drivers, follower(draw, drivers, 10)], axis=1)[10:]
        found = directions(series, seed).set_index(["source", "target"])
        true = [(k, 3 + k) for k in range(3)]
        share = found["te_share"]
        kept = set(found.index[found["q_value"] <= 0.05])
        held.append(len(kept & set(true)) / 3)
        right.append(np.mean([share[a, b] > share[b, a] for a, b in true]))
        wrong.append(len(kept - set(true)) / max(len(kept), 1))
    scenario = "3 drivers and followers, delay 10"
    what = "planted pairs with the right direction"
    yield claim_of_mean(scenario, what, right, 1.0, COMMAND, low=0.95)
    yield claim_of_mean(scenario, "planted pairs with q <= 0.05", held, 1.0, COMMAND)
    yield claim_of_mean(scenario, "false, of pairs with q <= 0.05", wrong, 0.05, COMMAND, high=0.07)


def hidden(draws: int) -> Iterator[dict[str, Any]]:
    """Two followers of a driver that is not analysed, 5 and 15 frames later."""
    edges = []
    for seed in range(draws):
        draw = np.random.default_rng([seed, 23])
        driver = slow_motion(draw, FRAMES + 15, 1, TAU)
        series = np.concatenate([follower(draw, driver, delay) for delay in (5, 15)], axis=1)
        found = directions(series[15:], seed).set_index(["source", "target"])
        edges.append(float(found["p_value"][0, 1] <= 0.05))
    what = "earlier to later follower with p <= 0.05"
    yield claim_of_mean("one hidden driver, delays 5 and 15", what, edges, 0.05, COMMAND)


def parts(quick: bool) -> list[Part]:
    """All claims; ``quick`` from fewer draws."""
    draws = 6 if quick else 40
    slow = {
        "independent motions, tau 20, 1000 frames": lambda draw: slow_motion(draw, FRAMES, 6, TAU),
        "independent motions, tau 5, 500 frames": lambda draw: slow_motion(draw, 500, 6, 5.0),
        "independent scalars, tau 20, 1000 frames": lambda draw: slow_motion(draw, FRAMES, 6, TAU)[
            :, :, 0
        ],
        "independent motions, two replicas of 500 frames, tau 10": lambda draw: [
            slow_motion(draw, 500, 6, 10.0) for _ in range(2)
        ],
    }
    related = {
        f"motions that correlate (r {r})": partial(coupled, frames=FRAMES, r=r, tau=TAU)
        for r in (0.3, 0.6)
    }
    return [
        *(partial(small_p, name, make, draws, 0.07) for name, make in slow.items()),
        *(partial(small_p, name, make, draws, None) for name, make in related.items()),
        partial(planted, draws),
        partial(hidden, draws),
    ]
