"""What the report calls things, for each method: the one place for words that differ.

A method without a file here gets plain words made from its column names and keys, and no
ready-made methods paragraph; every other part of the page works for it as it is.
"""

from __future__ import annotations

from pairtile.report.words.base import Reference, Words
from pairtile.report.words.mirna_targets import MIRNA_TARGETS
from pairtile.report.words.multimodal_correlation import MULTIMODAL_CORRELATION
from pairtile.report.words.mutual_information import MUTUAL_INFORMATION
from pairtile.report.words.predictor_pairs import PREDICTOR_PAIRS
from pairtile.report.words.trajectory_correlation import TRAJECTORY_CORRELATION

WORDS: dict[str, Words] = {
    "mirna_targets": MIRNA_TARGETS,
    "multimodal_correlation": MULTIMODAL_CORRELATION,
    "mutual_information": MUTUAL_INFORMATION,
    "predictor_pairs": PREDICTOR_PAIRS,
    "trajectory_correlation": TRAJECTORY_CORRELATION,
}


def words_for(method: str) -> Words:
    """Words of ``method`` (its name in the configuration), plain ones for an unknown method."""
    return WORDS.get(method) or Words(title=method.replace("_", " ").strip() or "pair scores")


__all__ = ["WORDS", "Reference", "Words", "words_for"]
