"""The best predictor sets of many targets: one table, made from lists, reduced from parts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations, islice
from math import comb

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.engine.chunk_file import Rows
from pairtile.methods.predictor_pairs.arrays import PredictorArrays
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_KEY, BestLists


@dataclass(frozen=True)
class BestSets:
    """The best sets of every target: rows in ascending (target, key, predictors).

    target      int32 (rows,): row of ``targets``
    predictors  int32 (rows, cardinality): rows of ``predictors``, ascending within a set
    key         int64 (rows,): MCE in 1e-9 bit; sets of equal key tie
    mce_bits    float64 (rows,)
    n_ties      int64 (rows,): on the first row of each (target, key), how many admissible sets have
                this key, reported or not; 0 on the other rows of the same key
    """

    target: NDArray[np.int32]
    predictors: NDArray[np.int32]
    key: NDArray[np.int64]
    mce_bits: NDArray[np.float64]
    n_ties: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.target)


def reduce_best(rows: BestSets, top: int) -> BestSets:
    """The ``top`` best sets of every target from the rows of several calls, in any order.

    The calls covered different sets of the same targets. Exact for any division into calls: the
    k-th best key of all is no more than the k-th best of any call, so that every call that has
    sets of a key that is kept has reported and counted it.
    """
    target, predictors, key = rows.target, rows.predictors, rows.key
    order = np.lexsort((*predictors.T[::-1], key, target))
    target, key, predictors = target[order], key[order], predictors[order]
    rank = _ranks(target)
    new_key = rank == 1
    new_key[1:] |= key[1:] != key[:-1]
    summed = np.zeros(len(target), dtype=np.int64)
    if len(target):
        summed[new_key] = np.add.reduceat(rows.n_ties[order], np.flatnonzero(new_key))
    keep = rank <= top
    return BestSets(
        target=target[keep],
        predictors=predictors[keep],
        key=key[keep],
        mce_bits=rows.mce_bits[order][keep],
        n_ties=summed[keep],
    )


def join_best(parts: list[BestSets], top: int) -> BestSets:
    """``reduce_best`` of tables."""
    names = [column.name for column in fields(BestSets)]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return reduce_best(BestSets(**columns), top)


def all_tied(
    targets: NDArray[np.int32],
    exclude: NDArray[np.int32],
    n_predictors: int,
    cardinality: int,
    first_begin: int,
    first_end: int,
    top: int,
    lags: int = 1,
) -> BestSets:
    """The table of targets for which every set scores 0, as for constant ones.

    targets, exclude : int32 (n,), their rows and their excluded predictors
    """
    sets: list[tuple[int, ...]] = []
    lengths, n_ties = [], []
    for excluded in exclude.tolist():
        own = range(excluded * lags, (excluded + 1) * lags)
        after = [p for p in own if first_begin <= p < n_predictors]
        n_left = n_predictors - first_begin - len(after)
        n_first = first_end - first_begin - sum(p < first_end for p in after)
        n_sets = comb(n_left, cardinality) - comb(n_left - n_first, cardinality)
        # In lexicographic order the first sets begin with the first predictor, and there are as
        # many as are asked for without going far beyond it.
        few = range(first_begin, min(first_begin + top + cardinality + lags, n_predictors))
        left = [p for p in few if p not in own]
        rows = list(islice(combinations(left, cardinality), min(top, n_sets)))
        sets += rows
        lengths.append(len(rows))
        n_ties += ([n_sets] + [0] * (len(rows) - 1)) if rows else []
    n = len(sets)
    return BestSets(
        target=np.repeat(targets, lengths).astype(np.int32),
        predictors=np.array(sets, dtype=np.int32).reshape(n, cardinality),
        key=np.zeros(n, dtype=np.int64),
        mce_bits=np.zeros(n),
        n_ties=np.array(n_ties, dtype=np.int64),
    )


def empty_lists(n_targets: int, top: int, cardinality: int) -> BestLists:
    """Every target's list of best sets, all empty."""
    shape = (n_targets, top)
    return BestLists(
        np.full(shape, NO_KEY),
        np.full((*shape, cardinality), -1, dtype=np.int32),
        np.full(shape, np.nan),
        np.zeros(shape, dtype=np.int64),
        np.zeros(n_targets, dtype=np.int64),
    )


def best_of_lists(lists: BestLists) -> BestSets:
    """One table of the lists of all targets: the first ``filled[target]`` rows of each."""
    rows = np.arange(lists.keys.shape[1])[None, :] < lists.filled[:, None]
    return BestSets(
        target=np.nonzero(rows)[0].astype(np.int32),
        predictors=lists.sets[rows],
        key=lists.keys[rows],
        mce_bits=lists.scores[rows],
        n_ties=lists.ties[rows],
    )


ANY_KEY = NO_KEY - 1
"""No admissible set has a larger key."""

SET_COLUMNS = ("i", "j", "k", "l")


def rows_schema(cardinality: int) -> pa.Schema:
    """Columns of ``pairs.parquet`` for sets of so many predictors."""
    whole = [*SET_COLUMNS[: max(cardinality, 2)], "target", "target_row", "rank"]
    numbers = [("mce_bits", pa.float64()), ("n_ties", pa.int64())]
    return pa.schema([*((name, pa.int32()) for name in whole), *numbers])


def rows_found(state: PredictorArrays, best: BestSets, first_row: int) -> Rows:
    """What a search found for the rows of the pair space from ``first_row`` on, by column."""
    items = np.asarray(state["predictors"])[best.predictors]
    return _columns(state, items, best.target + np.int32(first_row), best) | {"n_ties": best.n_ties}


def best_of_band(state: PredictorArrays, rows: pa.Table, top: int, null_top: int) -> pa.Table:
    """The ``top`` best sets of each target among those of all tiles of a band, with their ties
    added up; of each shuffled target the ``null_top`` best."""
    column = {name: rows[name].to_numpy() for name in rows.column_names}
    cardinality = int(state["cardinality"][0])
    # Candidates are in the order of the item numbers, so either orders sets alike.
    found = BestSets(
        column["target_row"],
        np.stack([column[name] for name in SET_COLUMNS[:cardinality]], axis=1),
        np.rint(column["mce_bits"] * 1e9).astype(np.int64),
        column["mce_bits"],
        column["n_ties"],
    )
    best = reduce_best(found, top)
    columns = _columns(state, best.predictors, best.target, best)
    # The number of ties on all rows of a key, not on its first alone.
    first = np.maximum.accumulate(np.where(best.n_ties > 0, np.arange(len(best)), 0))
    columns["n_ties"] = best.n_ties[first]
    kept = (best.target < state["targets"].size) | (columns["rank"] <= null_top)
    schema = rows_schema(cardinality)
    arrays = [pa.array(columns[f.name][kept], type=f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def best_keys(known: NDArray[np.int64], best: BestSets) -> NDArray[np.int64]:
    """The smallest keys of each row, ascending, after those of ``best`` came in."""
    new = np.full_like(known, ANY_KEY)
    new[best.target, _ranks(best.target) - 1] = best.key
    return np.sort(np.concatenate([known, new], axis=1), axis=1)[:, : known.shape[1]]


def _columns(
    state: PredictorArrays, items: NDArray[np.integer], rows: NDArray[np.integer], best: BestSets
) -> dict[str, NDArray[np.integer | np.floating]]:
    """All columns but the ties. items : (sets, cardinality), rows : (sets,), rows of the space."""
    targets = np.append(state["targets"], np.int32(-1))
    columns: dict[str, NDArray[np.integer | np.floating]] = {
        name: items[:, k].astype(np.int32)
        for k, name in zip(range(items.shape[1]), SET_COLUMNS, strict=False)
    }
    columns.setdefault("j", np.full(len(rows), -1, dtype=np.int32))
    return columns | {
        "target": targets[np.minimum(rows, state["targets"].size)].astype(np.int32),
        "target_row": rows.astype(np.int32),
        "rank": _ranks(rows),
        "mce_bits": best.mce_bits,
    }


def _ranks(rows: NDArray[np.integer]) -> NDArray[np.int32]:
    """1, 2, ... within each run of equal values."""
    place = np.arange(len(rows))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = rows[1:] != rows[:-1]
    return (place - np.maximum.accumulate(np.where(first, place, 0)) + 1).astype(np.int32)
