"""Data processing inequality on edges as arrays or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.regulators import regulator_rows
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.dpi import data_processing_inequality as surviving_edges

COLUMNS = ("source", "target", "mi_bits")


@overload
def data_processing_inequality(
    edges: pd.DataFrame,
    *,
    tolerance: float = 0.0,
    rule: str = "relative",
    regulators: Sequence[Any] | NDArray[Any] | None = None,
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
    regulators: Sequence[Any] | NDArray[Any] | None = None,
    backend: str = "auto",
) -> NDArray[np.bool_]: ...


def data_processing_inequality(
    edges: Any,
    j: ArrayLike | None = None,
    mi: ArrayLike | None = None,
    *,
    n_genes: int | None = None,
    tolerance: float = 0.0,
    rule: str = "relative",
    regulators: Sequence[Any] | NDArray[Any] | None = None,
    backend: str = "auto",
) -> Any:
    """Say which edges are not the weakest of a triangle: the direct ones, as far as MI can tell.

    An edge AB is removed if any gene C, adjacent to both, gives MI_AB < (1 - tolerance) *
    min(MI_AC, MI_BC) (``relative``, as ARACNE), or min(MI_AC, MI_BC) - MI_AB > tolerance in units
    of MI (``additive``, as minet). All decisions are made on the network as given.

    Parameters
    ----------
    edges : DataFrame, or integers [array-like, shape: (E,)]
        A table with columns ``source``, ``target`` (names) and ``mi_bits``, such as
        ``infer_network`` returns; where a pair is there in both directions it is judged once. Or
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
        is_regulator[regulator_rows(regulators, pd.RangeIndex(n_genes), named=False)] = True
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


def _of_table(edges: pd.DataFrame, regulators: Any, **options: Any) -> pd.Series[bool]:
    missing = [column for column in COLUMNS if column not in edges]
    if missing:
        raise ValueError(
            f"edges: found no column {', '.join(missing)}; expected {', '.join(COLUMNS)}"
        )
    ends = pd.concat([edges["source"], edges["target"]], ignore_index=True)
    numbers, names = pd.factorize(ends)
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
    _, first, of_row = np.unique(pair, return_index=True, return_inverse=True)
    values = edges["mi_bits"].to_numpy()
    unlike = np.flatnonzero(values[first][of_row] != values)
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
    return pd.Series(kept[of_row], index=edges.index, dtype=bool, name="kept")
