"""Small input that makes multimodal correlation compile what usual settings need."""

from __future__ import annotations

from pathlib import Path

from pairtile.simulate.kinetic import simulate_kinetic, write_simulation


def write_trial(folder: Path) -> dict[str, object]:
    """A simulated table; mixtures of its pairs."""
    write_simulation(simulate_kinetic(40, 60, seed=1), folder, "pairtile warm")
    return {"expression": "expression.tsv.gz", "threshold": {"method": "score", "score": 0.6}}
