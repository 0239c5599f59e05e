"""Permutation null of mutual information: what chance gives, and p-values by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.settings import analysis_config
from pairtile.api.table import Matrix, as_table
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import check_samples
from pairtile.methods.mutual_information.api_analysis import open_analysis
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.significance import Null

BLOCK = 1 << 20
"""Values judged at a time, which bounds the memory for whole matrices."""


@dataclass(frozen=True)
class PermutationNull:
    """Null distribution of n_samples * MI between unrelated genes of one data set.

    ``null``: its draws, one distribution for each pair of gene classes (one class under the rank
    transform without many ties). ``genes``: labels of the genes, their numbers for an array.
    ``n_samples``: of the data set. ``observed``: bool (genes, samples), or None where no value is
    missing. ``classes``: int8 (genes,).
    """

    null: Null
    genes: pd.Index[Any]
    n_samples: int
    observed: NDArray[np.bool_] | None

    @property
    def draws(self) -> int:
        """Number of draws, over all classes."""
        return sum(s.size for s in self.null.statistic)

    @property
    def classes(self) -> NDArray[np.int8]:
        """Null class of each gene, shape (genes,)."""
        return self.null.class_of

    def p_value(
        self,
        mi: Any,
        *,
        i: ArrayLike | None = None,
        j: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
    ) -> Matrix:
        """p-values of scores of this data set: how often chance gives as much.

        p = (1 + #{null >= x}) / (1 + draws) where at least 10 draws reach x, with
        x = n_samples * MI; beyond, log p goes on linearly in x with the slope of the top 1 % of
        the draws (``extrapolated`` says where).

        Parameters
        ----------
        mi : float array or DataFrame
            Mutual information in bits, as ``mutual_information`` gives it with the same settings:
            the matrix of all genes, a DataFrame of some, or any array with ``i`` and ``j``.
        i, j : integers, optional
            The two genes of each value, of shapes that broadcast to that of ``mi``. Not needed
            for a DataFrame or the matrix of all genes, nor where there is one class and nothing
            is missing: then genes make no difference.
        n_samples : integers, optional
            Samples observed in both genes; counted in the data unless given.

        Returns
        -------
        float64, the same kind and shape as ``mi``
            In (0, 1]; NaN where ``mi`` is NaN. Not corrected for the number of tests: see
            ``benjamini_hochberg``.

        Raises
        ------
        ValueError
            Genes that are not in the data set, or a shape that does not say which genes are meant.
        """
        return self._judge(mi, i, j, n_samples)[0]

    def extrapolated(
        self,
        mi: Any,
        *,
        i: ArrayLike | None = None,
        j: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
    ) -> Matrix:
        """Where ``p_value`` of the same arguments is extrapolated: bool, same kind and shape."""
        return self._judge(mi, i, j, n_samples)[1]

    def threshold_bits(self, p: float) -> NDArray[np.float64]:
        """Least MI in bits with a p-value of at most ``p``, where no sample is missing.

        float64, shape (classes, classes): the limit for a pair of genes of two classes; (1, 1)
        where there is one class.

        Raises ValueError for a ``p`` outside (0, 1].
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(f"p: found {p}; expected a number above 0 and at most 1")
        return self.null.thresholds(p) / self.n_samples

    def _judge(self, mi: Any, i: Any, j: Any, n_samples: Any) -> tuple[Matrix, Matrix]:
        values = np.asarray(mi, dtype=np.float64)
        i, j = self._genes_of(mi, values, i, j)
        shape = values.shape
        values = np.atleast_1d(values)
        p = np.empty(values.shape)
        extrapolated = np.empty(values.shape, dtype=bool)
        step = max(1, BLOCK // max(1, values[:1].size))
        for begin in range(0, len(values), step):
            block = slice(begin, begin + step)
            x = values[block]
            row, column = (_part(g, values.shape, block) for g in (i, j))
            if n_samples is None:
                n: Any = self._samples_of(row, column)
            else:
                n = _part(np.asarray(n_samples), values.shape, block)
            unscored = np.isnan(x)
            statistic = np.where(unscored, 0.0, x) * n
            classes = (np.broadcast_to(self.classes[g], x.shape) for g in (row, column))
            p[block], extrapolated[block] = self.null.p_value(statistic, *classes)
            p[block][unscored] = np.nan
            extrapolated[block][unscored] = False
        return _as_given(mi, p.reshape(shape)), _as_given(mi, extrapolated.reshape(shape))

    def _genes_of(
        self, mi: Any, values: NDArray[np.float64], i: Any, j: Any
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Numbers of the row and the column gene of every value, shapes that broadcast."""
        if (i is None) != (j is None):
            raise ValueError("found only one of i and j; expected both or none")
        if i is not None:
            numbers = np.asarray(i), np.asarray(j)
        elif isinstance(mi, pd.DataFrame):
            row, column = (self.genes.get_indexer(axis) for axis in (mi.index, mi.columns))
            numbers = row[:, None], column[None, :]
        elif values.shape == (len(self.genes), len(self.genes)):
            every = np.arange(len(self.genes))
            numbers = every[:, None], every[None, :]
        elif self.observed is None and self.null.n_classes == 1:
            numbers = np.zeros((), dtype=np.int64), np.zeros((), dtype=np.int64)
        else:
            raise ValueError(
                f"mi: found shape {values.shape}; expected {(len(self.genes),) * 2}, or i and j "
                "with the numbers of each value's two genes, as the null depends on them"
            )
        for number in numbers:
            if number.dtype.kind not in "iu":
                raise ValueError(f"i, j: found type {number.dtype}; expected gene numbers")
            if number.size and not 0 <= number.min() <= number.max() < len(self.genes):
                raise ValueError(
                    f"mi: found genes that are not among the {len(self.genes)} of the null; "
                    "expected those of one data set"
                )
        np.broadcast_shapes(values.shape, *(n.shape for n in numbers))
        return numbers

    def _samples_of(self, row: NDArray[Any], column: NDArray[Any]) -> Any:
        if self.observed is None:
            return self.n_samples
        row, column = (np.atleast_1d(g) for g in (row, column))
        if row.ndim == column.ndim == 2 and row.shape[1] == column.shape[0] == 1:
            left, right = (self.observed[g.ravel()].astype(np.float32) for g in (row, column))
            return (left @ right.T).astype(np.int64)
        both = np.broadcast_arrays(row, column)
        pairs = np.stack([g.ravel() for g in both])
        counts = np.empty(pairs.shape[1], dtype=np.int64)
        step = max(1, (BLOCK << 5) // self.n_samples)
        for begin in range(0, counts.size, step):
            a, b = pairs[:, begin : begin + step]
            counts[begin : begin + step] = (self.observed[a] & self.observed[b]).sum(axis=1)
        return counts.reshape(both[0].shape)


def permutation_null(
    expression: Any,
    *,
    permutations: int = 1_000_000,
    seed: int = 1,
    bins: int = 10,
    order: int = 3,
    knots: str = "clamped",
    transform: str = "rank",
    precision: str = "auto",
    min_samples: int = 20,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
    backend: str = "auto",
) -> PermutationNull:
    """Score pairs of permuted genes: the null distribution of ``mutual_information``.

    Genes drawn at random have their samples permuted independently and are scored against each
    other like any pair. Draws are keyed on the seed alone, so they are the same on any machine.
    Genes whose marginal entropies differ widely (raw values with outliers, ties) are put in up to
    four classes, and each pair of classes gets draws of its own.

    Parameters
    ----------
    permutations : int, 100 to 1e9
        Draws for each pair of classes (rounded up to a square). A p-value needs 10 / p of them;
        smaller ones are extrapolated.
    seed : int
    expression, bins, order, knots, transform, precision, min_samples, orientation, layer, backend
        As for :func:`mutual_information`: give both the same.

    Returns
    -------
    PermutationNull

    Raises
    ------
    ValueError, DeviceError
        As :func:`mutual_information`; also where no two genes have ``min_samples`` in common.

    Notes
    -----
    Source: Daub et al. 2004, BMC Bioinformatics 5:118 (permutation); Phipson & Smyth 2010, Stat.
    Appl. Genet. Mol. Biol. 9:39 (p-values that are never 0).

    Examples
    --------
    >>> from pairtile import mutual_information
    >>> table = np.random.default_rng(0).normal(size=(20, 100))
    >>> table[1] = table[0] + 0.5 * table[1]
    >>> null = permutation_null(table, permutations=10_000)
    >>> p = null.p_value(mutual_information(table))
    >>> bool(p[0, 1] < 1e-6), bool(p[2, 3] > 0.01)
    (True, True)
    """
    config = analysis_config(
        MutualInformationConfig,
        estimator={
            "bins": bins,
            "order": order,
            "knots": knots,
            "transform": transform,
            "precision": precision,
        },
        preprocess={"min_samples": min_samples},
        null={"permutations": permutations},
        seed=seed,
        backend=backend,
    )
    table = as_table(expression, orientation=orientation, layer=layer)
    check_samples(table, min_samples)
    opened = open_analysis(table.values, np.empty(0), config, choose(backend))
    null = Null.from_arrays(opened.null(int(seed)))
    if not all(s.size for s in null.statistic):
        raise ValueError(
            f"expression: found no two genes with {min_samples} samples in common (min_samples) "
            "among those drawn; expected fewer missing values, or lower min_samples"
        )
    observed = ~np.isnan(table.values)
    return PermutationNull(
        null, table.labels, table.n_samples, None if observed.all() else observed
    )


def _part(array: NDArray[Any], shape: tuple[int, ...], block: slice) -> NDArray[Any]:
    """The part of a broadcastable array that belongs to a block of the first axis."""
    if array.ndim == len(shape) and array.shape[0] != 1:
        return array[block]
    return array


def _as_given(mi: Any, values: NDArray[Any]) -> Matrix:
    if isinstance(mi, pd.DataFrame):
        return pd.DataFrame(values, index=mi.index, columns=mi.columns, copy=False)
    return values if values.ndim else values[()]
