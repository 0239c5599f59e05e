"""Rows of ``pairs.parquet`` of ``predictor_pairs``: what a search found, and the best of a band.

The state is described in ``predictor_state``. ``i``, ``j``, ``k`` are the item numbers of a set's
predictors, ``j`` -1 where it has one; ``target_row`` is a row of the pair space, ``target`` its
item, -1 for the shuffled targets of the null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.engine.estimator import State
from pairtile.methods.predictor_pairs.best import Best, reduce_best
from pairtile.methods.predictor_pairs.kernels.mean_conditional_entropy import NO_KEY

EVERYTHING = NO_KEY - 1

SET_COLUMNS = ("i", "j", "k")


def rows_schema(cardinality: int) -> pa.Schema:
    """Columns of ``pairs.parquet`` for sets of so many predictors."""
    whole = [*SET_COLUMNS[: max(cardinality, 2)], "target", "target_row", "rank"]
    numbers = [("mce_bits", pa.float64()), ("n_ties", pa.int64())]
    return pa.schema([*((name, pa.int32()) for name in whole), *numbers])


def rows_found(state: State, best: Best, first_row: int) -> dict[str, NDArray[Any]]:
    """What a search found for the rows of the pair space from ``first_row`` on, by column."""
    items = np.asarray(state["predictors"])[best.predictors]
    return _columns(state, items, best.target + np.int32(first_row), best) | {"n_ties": best.n_ties}


def best_of_band(state: State, rows: pa.Table, top: int, null_top: int) -> pa.Table:
    """The ``top`` best sets of each target among those of all tiles of a band, with their ties
    added up; of each shuffled target the ``null_top`` best."""
    column = {name: rows[name].to_numpy() for name in rows.column_names}
    cardinality = int(state["cardinality"][0])
    # Candidates are in the order of the item numbers, so either orders sets alike.
    best = reduce_best(
        column["target_row"],
        np.stack([column[name] for name in SET_COLUMNS[:cardinality]], axis=1),
        np.rint(column["mce_bits"] * 1e9).astype(np.int64),
        column["mce_bits"],
        column["n_ties"],
        top,
    )
    found = _columns(state, best.predictors, best.target, best)
    found["n_ties"] = _ties_of_every_row(best)
    kept = (best.target < state["targets"].size) | (found["rank"] <= null_top)
    schema = rows_schema(cardinality)
    arrays = [pa.array(found[f.name][kept], type=f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def best_keys(known: NDArray[np.int64], best: Best) -> NDArray[np.int64]:
    """The smallest keys of each row, ascending, after those of ``best`` came in."""
    new = np.full_like(known, EVERYTHING)
    new[best.target, _ranks(best.target) - 1] = best.key
    return np.sort(np.concatenate([known, new], axis=1), axis=1)[:, : known.shape[1]]


def _columns(
    state: State, items: NDArray[Any], rows: NDArray[Any], best: Best
) -> dict[str, NDArray[Any]]:
    """All columns but the ties. items : (sets, cardinality), rows : (sets,), rows of the space."""
    targets = np.append(state["targets"], np.int32(-1))
    columns: dict[str, NDArray[Any]] = {
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


def _ranks(rows: NDArray[Any]) -> NDArray[np.int32]:
    """1, 2, ... within each run of equal values."""
    place = np.arange(len(rows))
    first = np.ones(len(rows), dtype=bool)
    first[1:] = rows[1:] != rows[:-1]
    return (place - np.maximum.accumulate(np.where(first, place, 0)) + 1).astype(np.int32)


def _ties_of_every_row(best: Best) -> NDArray[np.int64]:
    """The number of ties on all rows of a key, not on its first alone."""
    return best.n_ties[np.maximum.accumulate(np.where(best.n_ties > 0, np.arange(len(best)), 0))]
