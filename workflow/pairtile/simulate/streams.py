"""Random numbers with a stream of their own for each purpose."""

from __future__ import annotations

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A generator (Philox) that depends on the seed and on what is drawn, and on nothing else."""
    key = int.from_bytes(purpose.encode(), "big")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, key])))
