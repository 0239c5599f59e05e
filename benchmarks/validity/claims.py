"""One claim of validity: what was simulated, what should come out, what did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.stats import beta

Part = Callable[[], Iterable[dict[str, Any]]]
"""Simulates some of a method's claims, by itself: a row for each."""


def claim(
    scenario: str, what: str, measured: float, interval: tuple[float, float], **stated: Any
) -> dict[str, Any]:
    """A row of the table. ``stated``: nominal (what should come out), bar (what is allowed, in
    words), passed (None: shown to compare, nothing is claimed), command."""
    low, high = interval
    return {
        "scenario": scenario,
        "what": what,
        "nominal": stated["nominal"],
        "measured": measured,
        "low": low,
        "high": high,
        "bar": stated["bar"],
        "passed": None if stated["passed"] is None else bool(stated["passed"]),
        "command": stated["command"],
    }


def commanded(rows: list[dict[str, Any]], command: str) -> list[dict[str, Any]]:
    """The same rows, as those of another command."""
    return [row | {"command": command} for row in rows]


def of_command(parts: list[Part], command: str) -> list[Part]:
    """The same parts, with rows as those of another command."""
    return [lambda part=part: commanded(list(part()), command) for part in parts]  # type: ignore[misc]


def claim_of_mean(
    scenario: str,
    what: str,
    values: list[float],
    nominal: float,
    command: str,
    *,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    """The claim that the mean of ``values``, one for each simulated table, lies between ``low`` and
    ``high``; without both nothing is claimed."""
    mean = float(np.mean(values))
    bar = f"{low:g} to {high:g}" if low is not None and high is not None else "none"
    if low is None and high is not None:
        bar = f"at most {high:g}"
    elif high is None and low is not None:
        bar = f"at least {low:g}"
    passed = (low is None or mean >= low) and (high is None or mean <= high)
    return claim(
        scenario,
        what,
        mean,
        of_mean(values),
        nominal=nominal,
        bar=bar,
        passed=None if bar == "none" else passed,
        command=command,
    )


def mean_at_most(
    scenario: str, what: str, values: list[float], nominal: float, bar: float, command: str
) -> dict[str, Any]:
    """The claim that the mean of ``values``, one for each simulated table, is at most ``bar``."""
    return claim_of_mean(scenario, what, values, nominal, command, high=bar)


def of_mean(values: list[float]) -> tuple[float, float]:
    """95 % of the mean, from independent draws."""
    error = 1.96 * float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return float(np.mean(values)) - error, float(np.mean(values)) + error


def of_share(hits: int, total: int) -> tuple[float, float]:
    """95 % of a share (Clopper and Pearson 1934)."""
    low = beta.ppf(0.025, hits, total - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, total - hits) if hits < total else 1.0
    return float(low), float(high)
