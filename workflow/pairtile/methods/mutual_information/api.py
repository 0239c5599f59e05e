"""Mutual information of pairs of genes in memory, and its permutation null."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.anndata_network import check_storage
from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import Inputs, as_expression, preparation_of
from pairtile.api.regulators import listed_genes
from pairtile.api.settings import Keywords, SectionMapping
from pairtile.api.table import (
    ExpressionLike,
    ExpressionTable,
    Labels,
    Matrix,
    Names,
    as_table,
    is_anndata,
)
from pairtile.declare.messages import Message, warnings_of
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import Device, choose
from pairtile.io.in_memory import inputs_in_memory
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.null import Null
from pairtile.methods.mutual_information.prepare import (
    SplineState,
    counts_by_rank,
    few_samples_warnings,
    floor_share,
    spline_settings,
    state_of_values,
)
from pairtile.methods.mutual_information.score import MutualInformation, number_type
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.samples import SampleDesign, arrange_samples
from pairtile.runtime.threads import in_threads
from pairtile.splines.scorer import BsplineScorer, Weights
from pairtile.splines.values import scaled

BLOCK = 1 << 20
"""Values tested at a time, which bounds the memory for whole matrices."""

STRIP = 256
"""Rows of a tile that a thread writes into the matrix and into its other triangle."""

Numbers = NDArray[np.integer]
"""Of genes or samples."""

_SPLINES = ("estimator.*", "preprocess.min_samples")
SCORES = Keywords(MutualInformationConfig, *_SPLINES)
NULL = Keywords(
    MutualInformationConfig, "null.permutations", "null.kind", *_SPLINES, null="null.kind"
)


def mutual_information(
    expression: ExpressionLike,
    *,
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    other: ExpressionLike | None = None,
    layer: str | None = "auto",
    key_added: str | None = None,
    copy: bool = False,
    dtype: str = "float64",
    bins: Literal["auto"] | int = "auto",
    order: Literal["auto"] | int = "auto",
    knots: Literal["clamped", "uniform"] = "clamped",
    transform: Literal["auto", "rank", "none"] = "auto",
    precision: Literal["auto", "float64", "mixed"] = "auto",
    min_samples: int = 20,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    obs: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> Any:
    """Mutual information in bits of every pair of genes, by B-splines (Daub et al. 2004).

    Each gene's values (or ranks) are spread over ``bins`` bins by B-splines of order ``order``,
    and MI = H(x) + H(y) - H(x, y) of the binned distributions, in bits: 0 for unrelated genes, at
    most log2(bins). Values are used as they are: no logarithm, no filter (``prepare_expression``
    does those). There is no correction for the bias of few samples; ``permutation_null`` gives
    what chance does.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples); AnnData is cells x genes, as ever. NaN is missing: a pair is
        scored on the samples that both genes were observed in.
    regulators : sequence, optional
        Names of genes (gene numbers for an array) or a mask: score only these with all genes.
    other : as ``expression``, optional
        A second table of the same samples in the same order (metabolites, protein levels): score
        the genes of the first with those of the second.
    layer : str, optional
        Of an AnnData: a layer, ``raw``, or ``X`` (also None). ``auto``: ``X``, as values are used
        as they are; functions that prepare them take the counts that ``X`` was made from where
        these are beside it.
    key_added : str, optional
        Only for an AnnData, without ``regulators`` and ``other``: store the matrix in
        ``varp[key_added]`` and the settings in ``uns[key_added]``, and return None.
    copy : bool
        With ``key_added``: leave the AnnData as it is and return a copy that holds the matrix.
    dtype : {"float64", "float32"}
        Of the result. Large matrices take most of their time to be written, float32 half of it.
    bins : auto or an integer between 1 and 64
        Bins into which each gene's values are spread; mutual information is at most log2(bins)
        bits. `auto`: 5 for fewer than 200 samples; 6 for ranks of more, or where values have a
        floor (more than a tenth of a gene's samples at one value); 10 for the values of more; at
        least `order`.
    order : auto or an integer between 1 and bins
        Spline order: over how many neighbouring bins one value is spread; 1 is a plain histogram.
        At most `bins`. `auto`: 4 beside `bins: auto` where that is 5 or 6, else 3 (or `bins`).
    knots : clamped or uniform
        `clamped`: end knots are repeated, so that the extreme values fall into the end bins, as in
        the paper. `uniform`: evenly spaced knots, as in the authors' R code, for comparison with
        it; differs by up to 0.05 bits at order 3.
    transform : auto, rank or none
        What is binned. `rank`: each gene's ranks; outliers do no harm, and one null distribution
        serves all genes. `none`: the values themselves; genes with unlike spreads then get null
        distributions of their own, which takes longer. `auto`: `none` from 200 samples on, if the
        values have no floor (in the median gene at most 1 % of the samples share its most common
        value), else `rank`.
    precision : auto, float64 or mixed
        `float64`: doubles throughout. `mixed`: half-precision weights with single-precision sums,
        several times faster on a GPU and within 1e-4 bits. `auto`: `mixed` on a GPU, `float64` on
        the CPU.
    min_samples : an integer between 3 and 1000000
        Least number of samples. Genes observed in fewer are dropped, and pairs observed together in
        fewer get no score. Scores from few samples come out too good by chance.
    orientation : genes_in_rows or samples_in_rows
        Which way the table lies. `.h5ad` files are cells x genes whatever stands here.
    obs : a mapping of columns to a value or a list of values
        Read only some samples: columns of `obs` or `samples.annotations`, each with a value or a
        list of values, as `{cell_type: T cell}`; samples that fit all of them are taken.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

    Returns
    -------
    array or DataFrame of ``dtype`` [shape: (genes, genes)]
        Symmetric. The diagonal is NaN: a gene is not its own partner (and with B-splines of order
        above 1, MI(x, x) is not the entropy of x either). With ``regulators``, shape
        (regulators, genes), rows in the order given, NaN where a regulator meets itself; with
        ``other``, (genes, genes of ``other``). An array for an array, else a DataFrame with the
        names of the genes. NaN too for pairs of too few samples. A constant gene has 0 throughout.
        Warnings stand in ``attrs["warnings"]`` of a DataFrame.

    Raises
    ------
    ValueError
        Not a table of numbers; infinite values; repeated names; fewer samples than
        ``min_samples``; regulators that are not there; settings that are not allowed.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Daub et al. 2004, BMC Bioinformatics 5:118, equations 3-8. Genes are scored in the
    tiles that the workflow uses, and each pair has the score that it has there.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.linspace(0, 1, 200)
    >>> table = pd.DataFrame([x, (x - 0.5) ** 2, np.sin(999 * x)], index=["a", "b", "c"])
    >>> mutual_information(table).round(1)
         a    b    c
    a  NaN  1.2  0.4
    b  1.2  NaN  0.0
    c  0.4  0.0  NaN
    """
    config = counts_by_rank(
        SCORES.config(locals(), expression="in memory"), *preparation_of(expression)
    )
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype: found {dtype!r}; expected 'float64' or 'float32'")
    table = as_table(expression, orientation=orientation, layer=_as_it_is(layer), obs=obs)
    check_samples(table, config.preprocess.min_samples)
    square = is_anndata(expression) and regulators is None and other is None
    if key_added is not None and not square:
        raise ValueError(
            f"key_added: found {key_added!r}; expected it only with an AnnData, without "
            "regulators and other (varp holds genes x genes)"
        )
    check_storage(expression, key_added, copy)
    device = choose(backend)
    columns = None if other is None else as_table(other, orientation=orientation, name="other")
    tables = [table.values] if columns is None else [table.values, columns.values]
    asked = config.estimator
    stated = "auto" not in (asked.bins, asked.order, asked.transform)
    floor = 0.0 if stated else max(map(floor_share, tables))
    config = config.model_copy(update={"estimator": asked.resolved_for(table.n_samples, floor)})
    found = few_samples_warnings(config, table.n_samples)
    if columns is not None:
        if regulators is not None:
            raise ValueError("regulators: found them beside other; expected one of the two")
        _check_same_samples(table, columns)
        between: Matrix = _matrix(table.values, columns.values, config, device, dtype)
        if table.genes is not None or columns.genes is not None:
            between = pd.DataFrame(between, index=table.labels, columns=columns.labels, copy=False)
        return with_warnings(between, issue_warnings(found))
    rows, of_rows = np.arange(table.n_genes), table.values
    if regulators is not None:
        listed = listed_genes(regulators, table)
        rows, of_rows = listed.rows, table.values[listed.rows]
        found += listed.messages
    found = issue_warnings(found)
    scores = _matrix(of_rows, None if regulators is None else table.values, config, device, dtype)
    scores[np.arange(rows.size), rows] = np.nan
    if key_added is None:
        return with_warnings(table.named(rows, scores), found)
    assert is_anndata(expression)  # as was checked
    stored = expression.copy() if copy else expression
    stored.varp[key_added] = scores
    used = config.estimator.model_dump(mode="json")
    used |= {"min_samples": config.preprocess.min_samples, "layer": _as_it_is(layer) or "X"}
    stored.uns[key_added] = {"params": used, "unit": "bits"}
    return stored if copy else None


def _as_it_is(layer: str | None) -> str | None:
    """Counts that nothing normalises would be worse than what was made from them."""
    return None if layer == "auto" else layer


def permutation_null(
    expression: ExpressionLike,
    *,
    layer: str | None = "auto",
    permutations: Literal["auto"] | int = 1_000_000,
    null: Literal["auto", "permutation", "circular_shift", "courses", "blocks"] = "auto",
    series: Labels | None = None,
    time: Labels | None = None,
    step: Mapping[str, float] | None = None,
    batch: Labels | None = None,
    seed: int = 1,
    bins: Literal["auto"] | int = "auto",
    order: Literal["auto"] | int = "auto",
    knots: Literal["clamped", "uniform"] = "clamped",
    transform: Literal["auto", "rank", "none"] = "auto",
    precision: Literal["auto", "float64", "mixed"] = "auto",
    min_samples: int = 20,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    obs: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> PermutationNull:
    """Score pairs of permuted genes: the null distribution of ``mutual_information``.

    Genes drawn at random have their samples permuted independently (or shifted, see ``null``) and
    are scored against each other like any pair. Draws are keyed on the seed alone, so they are the
    same on any machine. Genes whose marginal entropies differ widely (raw values with outliers,
    ties), or whose numbers of observed samples or autocorrelations do, are put in classes, and
    each pair of classes gets draws of its own.

    Parameters
    ----------
    expression, layer
        As for :func:`mutual_information`: give both the same, and the same settings.
    permutations : auto or an integer between 100 and 1000000000
        Scores drawn between genes whose samples are exchanged. Where there are fewer than 10 / p,
        `p_value` goes on from their tail (`p_method: extrapolated`). `auto`: as many as `keep`
        needs, up to 1e8.
    null : auto, permutation, circular_shift, courses or blocks
        What is done to the samples of a gene. `permutation`: any changes places with any other
        (independent samples). `circular_shift`: they are moved along in their order, within each
        series (time courses). `courses`: whole series change places with others of equal times and
        batch (replicates of one stimulus). `blocks`: they are permuted within their batch. `auto`:
        courses where stated series follow one course, else shifts where series or times are stated,
        else blocks where batches are, else shifts where neighbours in the table are more alike than
        in any of 999 random orders, else permutation; `summary.json` says which and why.
    series : array-like [shape: (samples,)], mapping or Series, or None
        Which time course each sample is of: a label for each, in their order, or by the sample's
        name. None: one.
    time : array-like [shape: (samples,)], mapping or Series, or None
        When each sample was taken: samples are put in this order within their series. None: they
        stand in the order of time.
    step : a mapping, or None
        `{'time': 2, 'tolerance': 0.5}`: how long a step of `time` is; series are cut at others.
    batch : array-like [shape: (samples,)], mapping or Series, or None
        Which batch each sample is of.
    seed : an integer between 0 and 4294967295
        Start of all random draws (permutations, bootstraps). The same seed gives the same result on
        any number of chunks and threads.
    bins : auto or an integer between 1 and 64
        Bins into which each gene's values are spread; mutual information is at most log2(bins)
        bits. `auto`: 5 for fewer than 200 samples; 6 for ranks of more, or where values have a
        floor (more than a tenth of a gene's samples at one value); 10 for the values of more; at
        least `order`.
    order : auto or an integer between 1 and bins
        Spline order: over how many neighbouring bins one value is spread; 1 is a plain histogram.
        At most `bins`. `auto`: 4 beside `bins: auto` where that is 5 or 6, else 3 (or `bins`).
    knots : clamped or uniform
        `clamped`: end knots are repeated, so that the extreme values fall into the end bins, as in
        the paper. `uniform`: evenly spaced knots, as in the authors' R code, for comparison with
        it; differs by up to 0.05 bits at order 3.
    transform : auto, rank or none
        What is binned. `rank`: each gene's ranks; outliers do no harm, and one null distribution
        serves all genes. `none`: the values themselves; genes with unlike spreads then get null
        distributions of their own, which takes longer. `auto`: `none` from 200 samples on, if the
        values have no floor (in the median gene at most 1 % of the samples share its most common
        value), else `rank`.
    precision : auto, float64 or mixed
        `float64`: doubles throughout. `mixed`: half-precision weights with single-precision sums,
        several times faster on a GPU and within 1e-4 bits. `auto`: `mixed` on a GPU, `float64` on
        the CPU.
    min_samples : an integer between 3 and 1000000
        Least number of samples. Genes observed in fewer are dropped, and pairs observed together in
        fewer get no score. Scores from few samples come out too good by chance.
    orientation : genes_in_rows or samples_in_rows
        Which way the table lies. `.h5ad` files are cells x genes whatever stands here.
    obs : a mapping of columns to a value or a list of values
        Read only some samples: columns of `obs` or `samples.annotations`, each with a value or a
        list of values, as `{cell_type: T cell}`; samples that fit all of them are taken.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

    Returns
    -------
    PermutationNull
        Its ``warnings`` are also issued.

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
    given, inputs = locals(), Inputs()
    table = as_table(expression, orientation=orientation, layer=_as_it_is(layer), obs=obs)
    stated = inputs.samples({"series": series, "time": time, "batch": batch}, table, step)
    config = NULL.config(given, expression="in memory", samples=stated)
    config = counts_by_rank(config, *preparation_of(expression))
    check_samples(table, min_samples)
    with inputs_in_memory(inputs.held):
        arranged, design = arrange_samples(as_expression(table), config.samples)
    device = choose(backend)
    if isinstance(expression, Prepared):
        design = design.with_removed(expression.design)
    opened, made = open_analysis(arranged.values, np.empty(0, int), config, device, design)
    found = issue_warnings([*made.messages, *opened.null_messages(seed)])
    drawn = Null.from_arrays(opened.null(seed))
    if not all(s.size for s in drawn.statistic):
        raise ValueError(
            f"expression: found no two genes with {min_samples} samples in common (min_samples) "
            "among those drawn; expected fewer missing values, or lower min_samples"
        )
    observed = ~np.isnan(arranged.values)
    return PermutationNull(
        drawn,
        table.labels,
        table.n_samples,
        None if observed.all() else observed,
        warnings_of(found),
    )


@dataclass(frozen=True, repr=False)
class PermutationNull:
    """Null distribution of n_samples * MI between unrelated genes of one data set.

    ``null``: its draws, one distribution for each pair of gene classes (one class under the rank
    transform without many ties). ``genes``: labels of the genes, their numbers for an array.
    ``n_samples``: of the data set. ``observed``: bool (genes, samples), or None where no value is
    missing. ``classes``: int8 (genes,). ``warnings``: what needs attention.
    """

    null: Null
    genes: Names
    n_samples: int
    observed: NDArray[np.bool_] | None
    warnings: list[Message] = field(default_factory=list)

    def __repr__(self) -> str:
        return (
            f"PermutationNull: {self.draws:,} draws for {len(self.genes):,} genes, "
            f"{self.n_samples:,} samples"
        )

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
        mi: ArrayLike,
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
        return self._test(mi, i, j, n_samples)[0]

    def extrapolated(
        self,
        mi: ArrayLike,
        *,
        i: ArrayLike | None = None,
        j: ArrayLike | None = None,
        n_samples: ArrayLike | None = None,
    ) -> Matrix:
        """Where ``p_value`` of the same arguments is extrapolated: bool, same kind and shape."""
        return self._test(mi, i, j, n_samples)[1]

    def threshold_bits(self, p: float) -> NDArray[np.float64]:
        """Least MI in bits with a p-value of at most ``p``, where no sample is missing.

        float64, shape (classes, classes): the limit for a pair of genes of two classes; (1, 1)
        where there is one class.

        Raises ValueError for a ``p`` outside (0, 1].
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(f"p: found {p}; expected a number above 0 and at most 1")
        return self.null.thresholds(p) / self.n_samples

    def _test(
        self, mi: ArrayLike, i: ArrayLike | None, j: ArrayLike | None, n_samples: ArrayLike | None
    ) -> tuple[Matrix, Matrix]:
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
                n: int | Numbers = self._samples_of(row, column)
            else:
                n = _part(np.asarray(n_samples), values.shape, block)
            unscored = np.isnan(x)
            statistic = np.where(unscored, 0.0, x) * n
            classes = (np.broadcast_to(self.classes[g], x.shape) for g in (row, column))
            p[block], extrapolated[block] = self.null.p_value(statistic, *classes)
            p[block][unscored] = np.nan
            extrapolated[block][unscored] = False
        return as_given(mi, p.reshape(shape)), as_given(mi, extrapolated.reshape(shape))

    def _genes_of(
        self, mi: ArrayLike, values: NDArray[np.float64], i: ArrayLike | None, j: ArrayLike | None
    ) -> tuple[Numbers, Numbers]:
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

    def _samples_of(self, row: Numbers, column: Numbers) -> int | NDArray[np.int64]:
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


def open_analysis(
    values: NDArray[np.float64],
    regulators: Numbers,
    config: MutualInformationConfig,
    device: Device,
    design: SampleDesign | None = None,
    columns: int | None = None,
) -> tuple[MutualInformation, SplineState]:
    """An estimator on ``values``, float64 (genes, samples), NaN where missing; and its state, with
    what there is to say of it.

    ``regulators``: gene numbers, empty for every gene with every gene. ``config``: complete, as
    ``analysis_config`` gives it. ``design``: what is known of the samples. ``columns``: of two
    tables, genes of the first.
    """
    listed = np.unique(np.asarray(regulators, dtype=np.int32))
    known = {} if design is None else design.state
    values = np.array(values, np.float64, order="C")
    made = state_of_values(config, values, listed, known, columns)
    precision = number_type(made.config, device.backend)
    return MutualInformation(made.config, made.state, device, precision), made


def check_samples(table: ExpressionTable, min_samples: int) -> None:
    """Refuse a table in which no pair can have ``min_samples`` samples."""
    if table.n_samples < min_samples:
        raise ValueError(
            f"expression: found {table.n_samples} samples; expected at least min_samples "
            f"({min_samples}); lower it if so few are meant"
        )


def _matrix(
    rows: NDArray[np.float64],
    columns: NDArray[np.float64] | None,
    config: MutualInformationConfig,
    device: Device,
    dtype: str,
) -> NDArray[np.floating]:
    """Scores of every row with every column, genes' values, without ``columns`` of all rows with
    each other: in the tiles of the workflow, so that every pair is scored as it is there. Most time
    goes into new pages of memory: all threads write them, while the next tiles are scored."""
    settings = spline_settings(config, number_type(config, device.backend))
    scorer = BsplineScorer(settings, device)
    transform = config.estimator.transform
    z_rows = scaled(rows, settings, transform)
    z_columns = z_rows if columns is None else scaled(columns, settings, transform)
    space = PairSpace("triangle" if columns is None else "rectangle", len(z_rows), len(z_columns))
    result = np.empty((space.rows, space.columns), dtype)
    all_weights = (z_rows.size + z_columns.size) * settings.bins * 8

    # Kept where those of all columns take little of the free memory; else they are made again.
    @lru_cache(None if all_weights < 0.25 * device.free_bytes() else 2)
    def weights(of_rows: bool, begin: int, end: int) -> Weights:
        return scorer.weights((z_rows if of_rows else z_columns)[begin:end])

    def strips() -> Iterator[tuple[Tile, int, Callable[[], NDArray[np.floating]]]]:
        for tile in space.tiles():
            on_diagonal = space.kind == "triangle" and tile.row_begin == tile.column_begin
            bits, n_samples = scorer.scores(
                weights(columns is not None, tile.row_begin, tile.row_end),
                weights(False, tile.column_begin, tile.column_end),
                np.arange(tile.row_end - tile.row_begin) + 1 if on_diagonal else None,
            )
            if n_samples is not None:
                bits[n_samples < config.preprocess.min_samples] = np.nan
            if on_diagonal:
                upper = device.xp.triu(bits, 1)
                bits = upper + upper.T
            arrived = device.sent(bits)
            for begin in range(0, tile.row_end - tile.row_begin, STRIP):
                yield tile, begin, arrived

    def write(strip: tuple[Tile, int, Callable[[], NDArray[np.floating]]]) -> None:
        tile, begin, arrived = strip
        bits = arrived()[begin : begin + STRIP]
        at = slice(tile.row_begin + begin, tile.row_begin + begin + len(bits))
        result[at, tile.columns] = bits
        if space.kind == "triangle" and tile.row_begin != tile.column_begin:
            result[tile.columns, at] = bits.T

    list(in_threads(write, strips()))
    return result


def _check_same_samples(table: ExpressionTable, other: ExpressionTable) -> None:
    if table.n_samples != other.n_samples:
        raise ValueError(
            f"other: found {other.n_samples} samples; expected the {table.n_samples} of expression"
        )
    if table.samples is None or other.samples is None:
        return
    if not table.samples.equals(other.samples):
        where = int(np.argmax(np.asarray(table.samples) != np.asarray(other.samples)))
        raise ValueError(
            f"other: sample {where}: found {other.samples[where]!r}; expected "
            f"{table.samples[where]!r}, as in expression (reindex one by the other)"
        )


def with_warnings(matrix: Matrix, found: list[Message]) -> Matrix:
    """The matrix, with its warnings where it is a table."""
    if isinstance(matrix, pd.DataFrame):
        matrix.attrs["warnings"] = found
    return matrix


def _part(array: Numbers, shape: tuple[int, ...], block: slice) -> Numbers:
    """The part of a broadcastable array that belongs to a block of the first axis."""
    if array.ndim == len(shape) and array.shape[0] != 1:
        return array[block]
    return array


def as_given(mi: ArrayLike, values: NDArray[np.generic]) -> Matrix:
    """Values of the shape of ``mi`` as what ``mi`` is: a DataFrame, an array or a number."""
    if isinstance(mi, pd.DataFrame):
        return pd.DataFrame(values, index=mi.index, columns=mi.columns, copy=False)
    return values if values.ndim else values[()]
