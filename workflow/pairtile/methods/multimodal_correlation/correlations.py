"""The correlations: all that pairtile knows of each but how it is computed.

To add one, add a ``Correlation`` to ``CORRELATIONS``, its name to ``correlation`` of the
configuration and of the library, and the functions or the class that its entry names. Snakemake
reads this module at every start: it imports no numerics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Correlation:
    """A correlation of two genes.

    Parameters
    ----------
    name
        What ``estimator.correlation`` calls it.
    description
        What the reference says of it.
    called
        What the methods paragraph calls it, with its paper, of ``cite`` for the key of a paper.
    product_moment
        Whether it is Pearson's correlation of values or of ranks: all kernels know it, and it is
        taken without outliers. How the others spread between unrelated genes depends on the genes:
        their p-values are compared (``standard_correlation``).
    of_ranks
        Whether it is Pearson's correlation of ranks.
    rows
        What makes the rows of genes (``CorrelationGenes``) whose products it is, where these are
        neither values nor ranks, as ``MODULE:NAME`` in this package; ``all_samples`` takes
        them of the samples of a pair, too, where values are missing.
    by_codes
        Whether it is no product of rows, but taken from the order of values
        (``CorrelationGenes.codes``).
    all_samples
        The ``PlainCorrelation`` that computes it of all samples of a pair, as ``MODULE:NAME`` in
        this package.
    with_p_values
        The function that gives it within modes of mixtures, with its p-values, of the values of
        either gene, (modes, samples), NaN elsewhere, as ``MODULE:NAME``. "": the kernels do.
    given_all_genes
        Whether that of a pair depends on all other genes: it has no modes, no lag and no power,
        KINC's texts do not know it, its tiles are not those of a table of other genes, and its null
        is not that of permuted copies of genes.
    as_pearson
        Pearson's correlation of normal values that have this one, of NumPy and the correlations.
    pairs_per_second
        Of 100 samples or fewer, on a core. Measured: docs/speed.md.
    growth
        The power of the number of samples that its work grows with.
    """

    name: str
    description: str
    called: Callable[[Callable[[str], str]], str]
    product_moment: bool = False
    of_ranks: bool = False
    rows: str = ""
    by_codes: bool = False
    all_samples: str = "plain_correlation:PlainCorrelation"
    with_p_values: str = ""
    given_all_genes: bool = False
    as_pearson: Callable[..., Any] = lambda xp, r: r
    pairs_per_second: float = 5e7
    growth: int = 1


CORRELATIONS: Mapping[str, Correlation] = {
    correlation.name: correlation
    for correlation in (
        Correlation(
            "spearman",
            "`spearman`: of ranks within the mode.",
            lambda cite: "Spearman's rank correlation",
            product_moment=True,
            of_ranks=True,
        ),
        Correlation(
            "pearson",
            "`pearson`: of the values.",
            lambda cite: "Pearson's correlation",
            product_moment=True,
        ),
        Correlation(
            "bicor",
            "`bicor`: the biweight midcorrelation.",
            lambda cite: f"The biweight midcorrelation ({cite('LANGFELDER_HORVATH_2012')})",
            rows="bicor:bicor_rows",
            all_samples="plain_correlation:PlainBicor",
            with_p_values="bicor:bicor_with_p_values",
        ),
        Correlation(
            "kendall",
            "`kendall`: tau-b, about two thirds as large as Spearman's.",
            lambda cite: f"Kendall's tau-b ({cite('KENDALL_1945')})",
            by_codes=True,
            all_samples="plain_correlation:PlainKendall",
            with_p_values="kendall:kendall_with_p_values",
            as_pearson=lambda xp, r: xp.sin(0.5 * xp.pi * r),  # Kruskal 1958
            # All pairs of samples are compared.
            pairs_per_second=3e7,
            growth=2,
        ),
        Correlation(
            "partial",
            "`partial`, with `clustering: none`: what is left of Pearson's given all other genes, "
            "shrunken towards 0; set `min_correlation` to 0.1 or less. Missing values then count "
            "as the gene's mean.",
            lambda cite: (
                "The partial correlation given all other genes, by shrinkage "
                f"({cite('SCHAEFER_STRIMMER_2005')}),"
            ),
            all_samples="plain_correlation:PlainPartial",
            given_all_genes=True,
        ),
    )
}
