"""The scores that rank pairs of genes: all that pairtile knows of each but its column.

To add one, add a ``Score`` to ``SCORES`` and its column to ``columns.toml``. Configuration, chunks,
network, evaluation, page, methods paragraph, exports and library take it from here. Snakemake reads
this module at every start: it imports no numerics.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pairtile.arrays import DeviceArray
    from pairtile.methods.mutual_information.context_scores import SourceTarget


@dataclass(frozen=True)
class Score:
    """A score that ranks pairs of genes.

    Parameters
    ----------
    name
        What ``score:`` calls it.
    column
        Of ``network.parquet``.
    unit
        As ``keep: {score: x}`` takes it.
    description
        What the reference says of it, behind its name.
    of
        The score of source -> target, float64 of the same shape, NaN where there is none, from
        their mutual information, its mean and standard deviation among the pairs of either gene,
        and their entropies, 0 if constant (``SourceTarget``); whoever takes these is refused where
        ``scores`` are given in place of a table. None: mutual information itself, which needs no
        first pass over the pairs.
    directed
        When both directions of a pair have a score of their own: always, never, or where only
        regulators are sources.
    sums_partial_correlations
        Whether the first pass also sums what ``SourceTarget.combined`` needs.
    methods
        Sentence of the methods paragraph, ``[KEY]`` for a paper of ``references.bib``.
    """

    name: str
    column: str
    unit: str
    description: str
    of: Callable[[SourceTarget], DeviceArray] | None
    directed: Literal["always", "beside regulators", "never"] = "never"
    sums_partial_correlations: bool = False
    methods: str = ""

    def is_directed(self, regulators: bool) -> bool:
        """Whether both directions have a score of their own; ``regulators``: only some genes are
        sources."""
        return self.directed == "always" or (regulators and self.directed != "never")

    def methods_sentence(self, cite: Callable[[str], str]) -> str:
        """The sentence with its papers as ``cite`` writes them."""
        return re.sub(r"\[(\w+)\]", lambda key: cite(key[1]), self.methods)


MUTUAL_INFORMATION = Score("mi", "mi_bits", "bits", "mutual information itself, in bits.", None)

SCORES = {
    score.name: score
    for score in (
        MUTUAL_INFORMATION,
        Score(
            "clr",
            "clr",
            "standard deviations",
            "context likelihood of relatedness, how far a pair stands out among all pairs of both "
            "its genes.",
            lambda pair: pair.xp.hypot(
                pair.xp.maximum(0.0, pair.z_source), pair.xp.maximum(0.0, pair.z_target)
            ),
            "beside regulators",
            methods=(
                "Pairs were scored by the context likelihood of relatedness ([FAITH_2007]): the "
                "z-score of their mutual information within the values of either gene, negative "
                "ones set to zero, combined as the root of the sum of squares."
            ),
        ),
        Score(
            "target_z",
            "target_z",
            "standard deviations",
            "how far it stands out among all candidate regulators of the target, in standard "
            "deviations; directed.",
            lambda pair: pair.z_target,
            "always",
            methods=(
                "Each directed pair was scored by the z-score of its mutual information among all "
                "candidate sources of its target."
            ),
        ),
        Score(
            "combined",
            "combined",
            "",
            "`target_z` and what the regulator explains of the target beside all other regulators "
            "(partial correlation, also with its square); without `regulators` all other genes, "
            "and the better direction. Against gold standards the best.",
            lambda pair: pair.combined(),
            "beside regulators",
            sums_partial_correlations=True,
            methods=(
                "Each directed pair was scored by the sum of two terms −ln(1 − rank), the ranks "
                "among all candidate pairs: one of the z-score of its mutual information among all "
                "candidate sources of its target, the other of the z-score, made in the same way, "
                "of the partial correlation of target and source given all other sources "
                "([SCHAEFER_STRIMMER_2005]; joined with that of the square of the source and what "
                "the linear fit leaves of the target), weighted by one less twice the shrinkage of "
                "the correlations of the sources (0 where negative). Without listed sources, "
                "each term is of the better direction of a pair; in the first the z-score of the "
                "other direction over the root of the number of genes is added, and the weight of "
                "the second is times one half less one over that root. Where samples share "
                "components that genes do not make, the first term is of the mutual information of "
                "normal variables that is left given these components, and without listed sources "
                "there is no other."
            ),
        ),
    )
}
"""By their names, in the order in which they are listed."""

OF_ONE_TABLE = SCORES["combined"]
OF_TWO_TABLES = SCORES["clr"]
"""What ``score: auto`` is (docs/quality.md), of one table and of two."""
