"""What an analysis by each method cannot do without."""

from __future__ import annotations

from typing import Any

REQUIRED: dict[str, dict[str, Any]] = {
    "mutual_information": {"expression": "e.tsv"},
    "multimodal_correlation": {"expression": "e.tsv"},
    "predictor_pairs": {"expression": "e.tsv"},
    "mirna_targets": {"mirnas": "m.fa", "transcripts": "t.fa"},
    "trajectory_correlation": {"topology": "t.psf", "trajectories": ["a.dcd"]},
}


def required_keys(method: str) -> dict[str, Any]:
    """Its section but for ``method``."""
    assert method in REQUIRED, f"say in tests/support/required_keys.py what {method} needs"
    return REQUIRED[method]
