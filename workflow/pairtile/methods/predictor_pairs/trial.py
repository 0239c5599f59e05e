"""Small input that makes predictor pairs compile what usual settings need."""

from __future__ import annotations

from pathlib import Path

from pairtile.simulate.kinetic import simulate_kinetic, write_simulation


def write_trial(folder: Path) -> dict[str, object]:
    """A simulated table, cut into levels."""
    write_simulation(simulate_kinetic(30, 40, seed=1), folder, "pairtile warm")
    return {"expression": "expression.tsv.gz", "null": {"permutations": 19}}
