"""How long an analysis will take, step by step, by the cost model.

A method's ``cost`` knows the reference machine of docs/speed.md, and so does a stage after the
network of itself (``seconds`` of its module). What the machine at hand does is told while it works.
"""

from __future__ import annotations

from collections.abc import Mapping

from pairtile.runtime.record import format_duration

BOOTSTRAP_SECONDS = 0.05
"""Of DPI and files of each."""

STEP_SECONDS = {
    "merge": 0.3,
    "network": 0.6,
    "tables": 0.6,
    "export": 0.4,
    "report": 2.0,
}
"""What the other steps take of a small analysis, with the start of their jobs."""


def step_seconds(
    *,
    tiles: float,
    passes: int,
    null: float,
    network: float,
    bootstraps: int,
    tables: bool,
    others: Mapping[str, float],
) -> dict[str, float]:
    """Seconds of each step that follows the plan, by the name of its rule.

    tiles, null, network : of all tiles in one pass, of the null, and of what the network computes
    like tiles. bootstraps : their number. others : of steps that only some analyses have.
    """
    seconds = {
        "null": null,
        "chunk": passes * tiles,
        "bootstrap": bootstraps * (passes * tiles + null + BOOTSTRAP_SECONDS),
        "merge": STEP_SECONDS["merge"],
        "network": STEP_SECONDS["network"] + network,
        "tables": STEP_SECONDS["tables"] if tables else 0.0,
        **others,
        "export": STEP_SECONDS["export"],
        "report": STEP_SECONDS["report"],
    }
    return {step: round(each, 2) for step, each in seconds.items() if each}


def format_steps(estimate: Mapping[str, float]) -> str:
    """``about 40 s (chunk 25 s, null 10 s)``: the whole, and what takes the most of it."""
    total = sum(estimate.values())
    longest = sorted(estimate, key=lambda step: -estimate[step])[:3]
    parts = (f"{step} {format_duration(estimate[step])[6:]}" for step in longest)
    return f"{format_duration(total)} ({', '.join(parts)})"
