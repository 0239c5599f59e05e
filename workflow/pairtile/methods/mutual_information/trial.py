"""Small input that makes mutual information compile what usual settings need."""

from __future__ import annotations

from pathlib import Path

from pairtile.simulate.kinetic import simulate_kinetic, write_simulation


def write_trial(folder: Path) -> dict[str, object]:
    """A simulated table; scores against other pairs, DPI and bootstraps of it."""
    write_simulation(simulate_kinetic(60, 60, seed=1), folder, "pairtile warm")
    return {
        "expression": "expression.tsv.gz",
        "regulators": "regulators.txt",
        "bootstraps": 2,
        "null": {"permutations": 10_000},
    }
