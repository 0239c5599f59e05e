"""Small input that makes miRNA targets compile what usual settings need."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np


def write_trial(folder: Path) -> dict[str, object]:
    """Random sequences, with so low a score that there are hits; energies where ViennaRNA is."""
    random = np.random.default_rng(1)
    for name, number, length in (("mirnas.fa", 6, 22), ("transcripts.fa", 8, 2_000)):
        texts = ("".join(random.choice(list("ACGU"), length)) for _ in range(number))
        (folder / name).write_text("".join(f">{name[0]}{k}\n{s}\n" for k, s in enumerate(texts)))
    estimator = {"score": 100, "energies": find_spec("RNA") is not None}
    return {"mirnas": "mirnas.fa", "transcripts": "transcripts.fa", "estimator": estimator}
