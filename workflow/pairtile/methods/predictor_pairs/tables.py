"""Merged predictor sets, tested: entropies, what each predictor adds, p- and q-values; and the
tables ``predictors.tsv`` and ``hyperedges.tsv``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.estimator import MergedResults, TableSummary
from pairtile.io.symbols import add_symbols
from pairtile.methods.predictor_pairs.best_sets import SET_COLUMNS, rows_found
from pairtile.methods.predictor_pairs.network import members, set_q_values
from pairtile.methods.predictor_pairs.null import pooled_p_values, search_p_values
from pairtile.methods.predictor_pairs.predictor_table import PredictorLevels
from pairtile.methods.predictor_pairs.search import (
    PredictorSearch,
    extend_sets,
    set_entropies,
    set_modes,
)
from pairtile.preprocess.null_design import inflation
from pairtile.runtime.files import write_tsv
from pairtile.statistics.ranks import spearman

STORED = "set_"
"""What the columns of tested sets are called in ``scores.npz``: this, and the column's name."""


def tested_sets(opened: PredictorLevels, merged: MergedResults) -> pd.DataFrame:
    """The reported sets of all targets, by item numbers, with all that is known of them.

    Columns as ``network.predictor_sets`` says, and ``target_row``, ``n_samples``. Taken from
    ``merged.scores`` where ``stored_sets`` put them.
    """
    stored = {
        name.removeprefix(STORED): array
        for name, array in merged.scores.items()
        if name.startswith(STORED)
    }
    if stored:
        return pd.DataFrame(stored)
    sets = (_grown(opened, merged.pairs) if opened.sffs else merged.pairs).rename(
        columns={c: f"predictor_{n}" for n, c in enumerate(SET_COLUMNS, start=1)}
    )
    if opened.config.estimator.cardinality > 2:
        sets["search"] = "sffs" if opened.sffs else "exhaustive"
    real = sets[sets["target_row"] < opened.n_targets].reset_index(drop=True)
    real = real.assign(**_entropies(opened, real), **_signs(opened, real))
    real["p_value"] = _p_values(opened, real, sets[sets["target_row"] >= opened.n_targets])
    real["q_value"] = set_q_values(real["p_value"].to_numpy(), real["rank"].to_numpy())
    if opened.lags > 1:
        for column in members(real)[: opened.config.estimator.cardinality]:
            item, place = np.divmod(real[column].to_numpy(), opened.lags)
            real[column.replace("predictor", "lag")] = np.asarray(opened.state["lags"])[place]
            real[column] = item
    return real


def stored_sets(opened: PredictorLevels, sets: pd.DataFrame) -> dict[str, NDArray[np.generic]]:
    """Tested sets as arrays of ``scores.npz``, for the steps after the network.

    Only where growing them took long; else they are tested again sooner than stored.
    """
    if not opened.sffs:
        return {}
    text = sets.select_dtypes(exclude="number").columns
    plain = sets.astype(dict.fromkeys(text, str))
    return {
        f"{STORED}{name}": plain[name].to_numpy(dtype=str if name in text else None)
        for name in sets
    }


def write_predictor_tables(
    sets: pd.DataFrame, kept: pd.DataFrame, items: pd.DataFrame, folder: Path
) -> TableSummary:
    """Write ``predictors.tsv`` (every reported set) and ``hyperedges.tsv`` (those of the
    network)."""
    names = items["name"].to_numpy()
    table, edges = (
        add_symbols(named_sets(some, names), items, ["target", *members(sets)])
        for some in (sets, kept)
    )
    edges.insert(0, "hyperedge", np.arange(1, len(edges) + 1))
    write_tsv(folder / "predictors.tsv", table)
    write_tsv(folder / "hyperedges.tsv", edges)
    return TableSummary({"predictor_rows": len(table), "hyperedges": len(edges)})


def named_sets(sets: pd.DataFrame, names: NDArray[np.object_]) -> pd.DataFrame:
    """The columns of ``predictors.tsv``, with names in place of item numbers."""
    names = np.append(names.astype(object), "")
    genes = members(sets)
    columns = [
        *("target", "rank", *genes, "mce_bits", "target_entropy_bits", "n_ties", "imp_bits"),
        *("p_value", "q_value", "mi_bits", *(f"gain_{k + 1}" for k in range(len(genes)))),
        *(*(f"spearman_{k + 1}" for k in range(len(genes))), "n_samples"),
        *(str(column) for column in sets if str(column).startswith(("mode_", "lag_"))),
        *(("search",) if "search" in sets else ()),
    ]
    named = {column: names[sets[column].to_numpy()] for column in ("target", *genes)}
    return sets[columns].assign(**named).reset_index(drop=True)


def _grown(opened: PredictorLevels, pairs: pd.DataFrame) -> pd.DataFrame:
    """Triples grown from the best pairs of every row of the space. SFFS does not see every set:
    ``n_ties`` is a lower limit."""
    rows = slice(0, opened.n_targets + len(opened.state["null_class"]))
    search = PredictorSearch(
        opened.predictor_levels(), opened.search_settings(opened.top, cardinality=3), opened.device
    )
    best = extend_sets(
        search,
        opened.target_levels(rows),
        opened.excluded(rows),
        pairs["target_row"].to_numpy().astype(np.int32),
        opened.places()[pairs[["i", "j"]].to_numpy()],
    )
    return pd.DataFrame(rows_found(opened.state, best, 0)).astype({"rank": np.int64})


def _entropies(opened: PredictorLevels, sets: pd.DataFrame) -> dict[str, NDArray[np.generic]]:
    """Unpenalised entropies of sets, what each of their predictors adds, and what it does."""
    columns = [c for c in members(sets) if opened.cardinality > 1 or c == "predictor_1"]
    chosen = opened.places()[sets[columns].to_numpy()]
    predictors = opened.predictor_levels()
    targets = opened.target_levels(slice(0, opened.n_targets))
    rows = sets["target_row"].to_numpy().astype(np.int32)
    h_target, h_set, h_subset, n_samples = set_entropies(predictors, targets, rows, chosen)
    gains = h_subset - h_set[:, None]
    result: dict[str, NDArray[np.generic]] = {
        "target_entropy_bits": h_target,
        "mi_bits": np.maximum(h_target - h_set, 0.0),
        "imp_bits": np.maximum(gains.min(axis=1), 0.0),
        "n_samples": n_samples,
        "gain_2": np.full(len(sets), np.nan),  # of single predictors, which have no second one
    }
    for k, mode in enumerate(set_modes(predictors, targets, rows, chosen).T):
        result |= {f"gain_{k + 1}": gains[:, k], f"mode_{k + 1}": mode.astype(object)}
    return result


def _signs(opened: PredictorLevels, sets: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Spearman's rho of each predictor with the target, over transitions in which both have a
    value."""
    values = np.asarray(opened.state["values"])
    after = values[:, opened.state["target_samples"]]
    before = values[:, opened.sources].reshape(-1, after.shape[1])
    targets = sets["target"].to_numpy()
    found = {}
    for k, column in enumerate(members(sets)):
        predictors = sets[column].to_numpy()
        there = predictors >= 0
        rho = np.full(len(sets), np.nan)
        rho[there] = spearman(before, predictors[there], after, targets[there])
        found[f"spearman_{k + 1}"] = rho
    return found


def _p_values(
    opened: PredictorLevels, real: pd.DataFrame, drawn: pd.DataFrame
) -> NDArray[np.float64]:
    of_class = np.asarray(opened.state["null_class"])
    null_bits = np.full(of_class.size, np.nan)
    first = drawn[drawn["rank"] == 1]
    null_bits[first["target_row"].to_numpy() - opened.n_targets] = first["mce_bits"]
    of_target = np.asarray(opened.state["target_class"])
    target_class = of_target[real["target_row"].to_numpy()]
    # For what was removed from the values, sets explain as much more of unrelated targets.
    larger = inflation(opened.state, np.asarray(opened.state["levels"]).shape[1])
    if larger > 1.0:
        entropy = real["target_entropy_bits"]
        real = real.assign(mce_bits=entropy - (entropy - real["mce_bits"]) / larger)
    bits = real["mce_bits"].to_numpy()
    if opened.config.null.permutations == "auto":
        return pooled_p_values(bits, target_class, null_bits, of_class, of_target)
    # A draw without a set is worse than any score.
    keys, null_keys = (
        np.rint(x * 1e9).astype(np.int64) for x in (bits, np.nan_to_num(null_bits, nan=9.0))
    )
    return search_p_values(keys, target_class, null_keys, of_class)
