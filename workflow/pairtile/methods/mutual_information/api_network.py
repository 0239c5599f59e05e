"""From expression to a network in one call, and its steps on scores in memory: ``clr``,
``target_z``, data processing inequality."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.analyse import attributes, finished, kept_run, read_network
from pairtile.api.anndata_network import add_network, check_storage
from pairtile.api.prepare import Inputs, preprocess_of
from pairtile.api.regulators import listed_genes
from pairtile.api.settings import Keywords, SectionMapping
from pairtile.api.table import ExpressionLike, ExpressionTable, Labels, as_table
from pairtile.errors import require_columns
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.api import as_given
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.mutual_information.dpi import data_processing_inequality as surviving_edges

SETTINGS = ("score", "keep", "dpi", "estimator", "null")
"""Keys of the configuration that ``attrs`` of a network names."""

EDGE_COLUMNS = ("source", "target", "mi_bits")

ArrayOrFrame = TypeVar("ArrayOrFrame", NDArray[np.float64], pd.DataFrame)


KEYWORDS = Keywords(
    MutualInformationConfig,
    *("lag", "score", "keep", "dpi", "preprocess", "other_preprocess", "estimator.*", "null.*"),
    null="null.kind",
)


def infer_network(
    expression: ExpressionLike,
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    *,
    other_expression: ExpressionLike | None = None,
    key_added: str | None = None,
    copy: bool = False,
    lag: int = 0,
    score: Literal["auto", "mi", "clr", "target_z", "combined"] = "auto",
    keep: SectionMapping | str = "auto",
    dpi: SectionMapping | bool | None = None,
    preprocess: SectionMapping | None = None,
    other_preprocess: SectionMapping | None = None,
    bins: Literal["auto"] | int = "auto",
    order: Literal["auto"] | int = "auto",
    knots: Literal["clamped", "uniform"] = "clamped",
    transform: Literal["auto", "rank", "none"] = "auto",
    precision: Literal["auto", "float64", "mixed"] = "auto",
    permutations: Literal["auto"] | int = "auto",
    samples_alike: bool = False,
    null: Literal["auto", "permutation", "circular_shift", "courses", "blocks"] = "auto",
    series: Labels | None = None,
    time: Labels | None = None,
    step: Mapping[str, float] | None = None,
    batch: Labels | None = None,
    seed: int = 1,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    layer: str | None = "auto",
    obs: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> Any:
    """Infer a gene network: preparation, mutual information, significance, threshold, DPI.

    The steps of the workflow with these settings, seed and backend, in this process and a temporary
    folder: the same edge for edge and number for number. For tables that take hours, for
    bootstraps, and for a report there are ``analyse`` and the workflow.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    regulators : sequence, optional
        Names of genes (gene numbers for an array) or a mask. Only their pairs are scored, and
        edges start at them. Names that are not among the genes are left out with a warning.
    other_expression : as ``expression``, optional
        A second table of the same samples, matched by name: each of its rows is paired with each
        gene of ``expression``, and is the source of the edge. Not beside ``regulators``.
    key_added : str, optional
        Only for an AnnData: store the network in it, as :func:`add_network` does
        (``varp[key_added]`` and ``uns[key_added]``), and return None.
    copy : bool
        With ``key_added``: return a changed copy of the AnnData.
    lag : an integer between 0 and 1000
        Of time courses: pair each gene with the others so many samples later in the same series
        (`samples.series`, `samples.time`). Edges are directed, `source` first, and the null shifts
        genes along their series. Only with `score: mi` (which `auto` takes) and without
        `bootstraps` and `other_expression`; no DPI.
    score : auto, mi, clr, target_z or combined
        What ranks the pairs, for `keep`, the order of the network table and the evaluation. `mi`:
        mutual information itself, in bits. `clr`: context likelihood of relatedness, how far a pair
        stands out among all pairs of both its genes. `target_z`: how far it stands out among all
        candidate regulators of the target, in standard deviations; directed. `combined`: `target_z`
        and what the regulator explains of the target beside all other regulators (partial
        correlation, also with its square); without `regulators` all other genes, and the better
        direction. Against gold standards the best. `auto`: `mi` of `scores`, `clr` beside
        `other_expression`, else `combined`. p- and q-values are those of mutual information
        whatever stands here; beside `other_expression` all but `mi` are directed.
    keep : mapping or str
        Which pairs become edges; give one form. `auto`: `{fdr: 0.05, top_edges: n}`, with two edges
        for each gene of the table. `{fdr: x, top_edges: n}`: the n best by `score` of the pairs
        whose p-values are so small that q is at most x among so few. `all`: every pair (large!).
    dpi : mapping or bool
        Removal of indirect edges by the data processing inequality; `False` turns it off. It works
        on mutual information, after `keep`. With regulators, an edge of a regulator is not removed
        because of a gene that is none. Precision rises and recall falls: turn it off for a ranking
        of all candidates.
    preprocess : mapping, optional
        How expression values are cleaned before genes are paired.
    other_preprocess : mapping, optional
        How `other_expression` is cleaned, with the keys of `preprocess`. None: `min_samples`,
        `drop_constant`, `sample_scale`, `regress_out` and `hidden_factors` as there, all else by
        the table itself.
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
    permutations : auto or an integer between 100 and 1000000000
        Scores drawn between genes whose samples are exchanged. Where there are fewer than 10 / p,
        `p_value` goes on from their tail (`p_method: extrapolated`). `auto`: as many as `keep`
        needs, up to 1e8.
    samples_alike : true or false
        Whether unrelated genes are drawn in samples as much alike as those of the table (relatives,
        pools): by the correlations of samples over all genes, shrunken until unrelated genes
        correlate as widely as those of the table that correlate least. It costs power where most
        genes are related.
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
        Which batch each sample is of; of an AnnData also the name of a column of `obs`.
    seed : an integer between 0 and 4294967295
        Start of all random draws (permutations, bootstraps). The same seed gives the same result on
        any number of chunks and threads.
    orientation : genes_in_rows or samples_in_rows
        Which way the table lies. `.h5ad` files are cells x genes whatever stands here.
    layer : auto or the name of a layer (text) or None
        Which matrix of an `.h5ad` file to read: the name of a layer, for instance `counts`, or
        `raw` (with its own genes), or `X`, as None does. `auto`: the counts that X was made from,
        where X is normalised or scaled and they are in the file, of the genes of X; else X.
        `summary.json` says which. Only for `.h5ad` files.
    obs : a mapping of columns to a value or a list of values
        Read only some samples: columns of `obs` or `samples.annotations`, each with a value or a
        list of values, as `{cell_type: T cell}`; samples that fit all of them are taken.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

    Returns
    -------
    DataFrame, best edge first; None or AnnData with ``key_added``
        ``source``, ``target`` (as the genes are labelled; numbers for an array), ``mi_bits``,
        ``p_value``, ``q_value`` (Benjamini-Hochberg; both of MI), ``clr``, ``target_z`` or
        ``combined``, ``p_method`` ("empirical", or "extrapolated": fewer than 10 draws reach the
        score, and ``p_value`` goes on from the tail of the null). Undirected edges are there once.
        ``attrs`` has ``directed``, ``score`` (the column that ranks the edges), ``counts``,
        ``threshold_bits`` (least MI kept), ``notes`` (what was decided on the way), ``warnings``
        (also issued as warnings), ``device`` and ``settings``.

    Raises
    ------
    ValueError
        As :func:`mutual_information`.
    InputError
        Values that cannot be prepared as asked, see :func:`prepare_expression`; no regulator left
        after preparation.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Daub et al. 2004, BMC Bioinformatics 5:118 (estimator); Margolin et al. 2006, BMC
    Bioinformatics 7 (S1) S7 (threshold and DPI); Faith et al. 2007, PLoS Biology 5:e8 (CLR);
    Schäfer & Strimmer 2005, Stat. Appl. Genet. Mol. Biol. 4:32 (``combined``).

    Examples
    --------
    >>> from pairtile.simulate import simulate_kinetic
    >>> simulated = simulate_kinetic(n_genes=30, n_samples=100, n_regulators=4)
    >>> network = infer_network(simulated, simulated.regulators, keep={"top_edges": 20})
    >>> len(network), network.attrs["directed"]
    (20, True)
    >>> true = set(zip(simulated.edges["source"], simulated.edges["target"]))
    >>> (network["source"][0], network["target"][0]) in true
    True
    """
    given = locals() | {"preprocess": preprocess_of(expression, preprocess)}
    check_storage(expression, key_added, copy)
    table = as_table(expression, orientation=orientation, layer=layer, obs=obs, sparse=True)
    inputs, labels = Inputs(), {"series": series, "time": time, "batch": batch}
    config = KEYWORDS.config(
        given,
        expression=inputs.table(expression, table),
        other_expression=inputs.other(
            other_expression, table, bool(key_added or regulators is not None)
        ),
        regulators=inputs.genes(regulators, table),
        samples=inputs.samples(labels, table, step, preprocess),
    )
    made, said = finished(*kept_run(config, inputs, seed, backend))
    edges = read_network(made.folder, table.labels if other_expression is None else None)
    used = {key: made.parameters[key] for key in (*SETTINGS, "preprocess", "seed")}
    edges.attrs = attributes(made, said) | {
        "directed": made.directed,
        "score": made.strength,
        "threshold_bits": made.summary["threshold"]["mi_bits"],
        "settings": used | {"precision": made.summary["backend"]["precision"]},
    }
    if key_added is None:
        return edges
    return add_network(expression, edges, key_added=key_added, copy=copy)


def clr(mi: ArrayOrFrame) -> ArrayOrFrame:
    """Context likelihood of relatedness: how far a pair's MI stands out for both its genes.

    clr[s, t] = sqrt(max(0, z_s)^2 + max(0, z_t)^2), where z_s is the z-score of mi[s, t] in its
    row (all targets of the source s), z_t in its column (all candidate sources of the target t);
    population standard deviation, 0 where there is no spread. Symmetric for a symmetric matrix.

    Parameters
    ----------
    mi : float array or DataFrame [shape: (genes, genes) or (regulators, genes)]
        As ``mutual_information`` returns it. NaN cells have no score and count nowhere; so do a
        square matrix' diagonal and cells of a DataFrame with the same name on both sides.

    Returns
    -------
    float64, the same kind and shape
        NaN where there is no score.

    Raises
    ------
    ValueError
        Not a two-dimensional table of numbers, or infinite values.

    Notes
    -----
    Source: Faith et al. 2007, PLoS Biology 5:e8.

    Examples
    --------
    >>> mi = np.array([[np.nan, 3.0, 1.0], [3.0, np.nan, 2.0], [1.0, 2.0, np.nan]])
    >>> clr(mi).round(3)
    array([[  nan, 1.414, 0.   ],
           [1.414,   nan, 1.   ],
           [0.   , 1.   ,   nan]])
    """
    values = _scored(mi)
    by_source, by_target = _z(values, axis=1), _z(values, axis=0)
    # maximum and hypot keep NaN.
    return as_given(mi, np.hypot(np.maximum(0.0, by_source), np.maximum(0.0, by_target)))


def target_z(mi: ArrayOrFrame) -> ArrayOrFrame:
    """z-score of mi[source, target] among all candidate sources of that target: its column.

    Directed: cell [s, t] is the score of s -> t, and [t, s] that of t -> s. Population standard
    deviation, the target itself left out; 0 where a column has no spread. Of the scores here, the
    one that ranks true edges best (docs of the project have the table).

    Parameters, returned values and errors are those of :func:`clr`.

    Examples
    --------
    >>> mi = np.array([[np.nan, 3.0, 1.0], [3.0, np.nan, 2.0], [1.0, 2.0, np.nan]])
    >>> target_z(mi)
    array([[nan,  1., -1.],
           [ 1., nan,  1.],
           [-1., -1., nan]])
    """
    return as_given(mi, _z(_scored(mi), axis=0))


def _scored(mi: NDArray[np.float64] | pd.DataFrame) -> NDArray[np.float64]:
    """A copy with NaN where a gene meets itself."""
    try:
        values = np.array(mi, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"mi: found no table of numbers ({error}); expected numbers") from error
    if values.ndim != 2:
        raise ValueError(f"mi: found shape {values.shape}; expected (genes, genes)")
    if np.isinf(values).any():
        raise ValueError("mi: found infinite values; expected finite ones, or NaN for no score")
    if isinstance(mi, pd.DataFrame):
        column = mi.columns.get_indexer(mi.index)
        row = np.flatnonzero(column >= 0)
        values[row, column[row]] = np.nan
    elif values.shape[0] == values.shape[1]:
        np.fill_diagonal(values, np.nan)
    return values


def _z(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    count = (~np.isnan(values)).sum(axis=axis)
    mean = np.nansum(values, axis=axis) / np.maximum(count, 1)
    deviations = values - np.expand_dims(mean, axis)
    variance = np.nansum(deviations**2, axis=axis) / np.maximum(count, 1)
    # A standard deviation below a millionth of the root mean square is a rounding error.
    is_spread = variance > 1e-12 * (variance + mean**2)
    return deviations / np.expand_dims(np.where(is_spread, np.sqrt(variance), np.inf), axis)


@overload
def data_processing_inequality(
    edges: pd.DataFrame,
    *,
    tolerance: float = 0.0,
    rule: str = "relative",
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    backend: str = "auto",
) -> pd.Series[bool]: ...


@overload
def data_processing_inequality(
    edges: ArrayLike,
    j: ArrayLike,
    mi: ArrayLike,
    *,
    n_genes: int | None = None,
    tolerance: float = 0.0,
    rule: str = "relative",
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    backend: str = "auto",
) -> NDArray[np.bool_]: ...


def data_processing_inequality(
    edges: pd.DataFrame | ArrayLike,
    j: ArrayLike | None = None,
    mi: ArrayLike | None = None,
    *,
    n_genes: int | None = None,
    tolerance: float = 0.0,
    rule: str = "relative",
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    backend: str = "auto",
) -> NDArray[np.bool_] | pd.Series[bool]:
    """Say which edges are not the weakest of a triangle: the direct ones, as far as MI shows.

    An edge AB is removed if any gene C, adjacent to both, gives MI_AB < (1 - tolerance) *
    min(MI_AC, MI_BC) (``relative``, as ARACNE), or min(MI_AC, MI_BC) - MI_AB > tolerance in units
    of MI (``additive``, as minet). All decisions are made on the network as given, so the order of
    edges and genes does not matter; at tolerance 0, tied weakest edges stay.

    Parameters
    ----------
    edges : DataFrame, or integers [array-like, shape: (E,)]
        A table with columns ``source``, ``target`` (names) and ``mi_bits``, such as
        ``infer_network`` returns; where a pair is there in both directions it is decided once. Or
        the first gene's number of each edge, with ``j`` and ``mi`` beside it, each pair once.
    j : integers [shape: (E,)]
        The second gene's number.
    mi : float32 or float64 [shape: (E,)]
        Mutual information, any unit.
    n_genes : int, optional
        Genes are numbered 0 to ``n_genes`` - 1; the largest number that occurs, plus 1.
    tolerance : float
        ``relative``: 0 to 1; ``additive``: 0 or more, in the unit of MI.
    rule : {"relative", "additive"}
    regulators : sequence, optional
        Names (gene numbers or a mask for arrays). An edge of a regulator is then never removed
        because of a C that is none.
    backend : {"auto", "cpu", "cuda"}
        All give the same answer.

    Returns
    -------
    bool, a Series with the index of the table, or an array [shape: (E,)]
        True where the edge stays: ``edges[data_processing_inequality(edges)]``.

    Raises
    ------
    ValueError
        Missing columns, lengths that differ, self edges, repeated edges, the two directions of a
        pair with unlike MI, MI that is not finite, an impossible tolerance or rule, regulators
        of which none has an edge.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Margolin et al. 2006, BMC Bioinformatics 7 (S1) S7 (DPI, tolerance); Meyer et al.
    2008, BMC Bioinformatics 9:461 (additive rule). Time and memory: see
    ``pairtile.methods.mutual_information.dpi``; 10 million edges of 20,000 genes are no difficulty.

    Examples
    --------
    >>> data_processing_inequality([0, 1, 0, 2], [1, 2, 2, 3], [0.9, 0.8, 0.3, 0.1])
    array([ True,  True, False,  True])
    >>> edges = pd.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"],
    ...                       "mi_bits": [0.9, 0.8, 0.3]})
    >>> edges[data_processing_inequality(edges)]
      source target  mi_bits
    0      a      b      0.9
    1      b      c      0.8
    """
    device = choose(backend).backend
    if isinstance(edges, pd.DataFrame):
        if j is not None or mi is not None or n_genes is not None:
            raise ValueError("j, mi, n_genes: found beside a table of edges; expected none of them")
        return _of_table(edges, regulators, tolerance=tolerance, rule=rule, backend=device)
    if j is None or mi is None:
        raise ValueError("found no j and mi; expected them beside the first genes of the edges")
    first, second = np.asarray(edges), np.asarray(j)
    if n_genes is None:
        n_genes = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    is_regulator = None
    if regulators is not None:
        is_regulator = np.zeros(n_genes, dtype=bool)
        is_regulator[
            listed_genes(regulators, ExpressionTable(np.empty((n_genes, 0)), None, None)).rows
        ] = True
    return surviving_edges(
        first,
        second,
        mi,
        n_genes,
        tolerance=tolerance,
        rule=rule,
        is_regulator=is_regulator,
        backend=device,
    )


def _of_table(
    edges: pd.DataFrame, regulators: Iterable[Hashable] | None, **options: Any
) -> pd.Series[bool]:
    require_columns(edges, EDGE_COLUMNS, "edges")
    numbers, names = pd.factorize(pd.concat([edges["source"], edges["target"]], ignore_index=True))
    if (numbers < 0).any():
        raise ValueError("edges: found a missing name; expected two genes for each edge")
    a, b = numbers[: len(edges)].astype(np.int64), numbers[len(edges) :].astype(np.int64)
    twice = edges.duplicated(["source", "target"]).to_numpy()
    if twice.any():
        source, target = edges.loc[twice, ["source", "target"]].iloc[0]
        raise ValueError(
            f"edges: found {source} - {target} more than once; expected each edge once"
        )
    pair = np.minimum(a, b) * len(names) + np.maximum(a, b)
    _, first, row_pair = np.unique(pair, return_index=True, return_inverse=True)
    values = edges["mi_bits"].to_numpy()
    unlike = np.flatnonzero(values[first][row_pair] != values)
    if unlike.size and not pd.isna(values[unlike]).any():
        source, target = edges[["source", "target"]].iloc[unlike[0]]
        raise ValueError(
            f"edges: found {source} - {target} with another mi_bits than the opposite direction; "
            "expected one for both"
        )
    is_regulator = None
    if regulators is not None and len(edges):
        is_regulator = np.asarray(pd.Index(names).isin(list(regulators)))
        if not is_regulator.any():
            raise ValueError("regulators: found none that has an edge; expected names as in edges")
    kept = surviving_edges(
        a[first], b[first], values[first], len(names), is_regulator=is_regulator, **options
    )
    return pd.Series(kept[row_pair], index=edges.index, dtype=bool, name="kept")
