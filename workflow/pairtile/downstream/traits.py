"""Traits of the samples against the eigengenes of modules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pairtile.arrays import Float64Array, Int32Array
from pairtile.declare.messages import Message, messages_of
from pairtile.downstream.eigengenes import correlations
from pairtile.downstream.given import Q_VALUE, Given
from pairtile.downstream.label_tests import indicators, label_means, label_test, within
from pairtile.engine.estimator import TableSummary
from pairtile.io.annotations import Condition
from pairtile.statistics.correction import known_q_values
from pairtile.statistics.hidden_factors import Exchange

message = messages_of(__package__)

SHIFTS = 999


def run(given: Given) -> TableSummary:
    """Write ``module_traits.tsv``."""
    found = given.conditions(given.config.traits)
    eigengenes = given.table("eigengenes.tsv").set_index("module")[given.samples]
    tests, notes = module_trait_tests(
        eigengenes.to_numpy(dtype=np.float64),
        found.conditions,
        batch=given.batch,
        series=given.series,
        degrees_given_up=given.degrees_given_up,
        seed=given.seed,
    )
    given.write("module_traits.tsv", tests)
    counts = {
        "module_trait_tests": int(tests["p_value"].notna().sum()),
        "module_traits_found": int((tests["q_value"] <= Q_VALUE).sum()),
    }
    return TableSummary(counts, [*found.notes, *notes])


def module_trait_tests(
    eigengenes: Float64Array,
    conditions: Sequence[Condition],
    *,
    batch: Int32Array | None = None,
    series: Int32Array | None = None,
    degrees_given_up: int = 0,
    seed: int = 1,
) -> tuple[pd.DataFrame, list[Message]]:
    """Test each eigengene against each trait.

    p-values are those of ``label_test``, with batches and series as blocks. Where a trait changes
    within series of four samples or more, neighbours in time may be alike: p is at least
    the share of 999 circular shifts of the trait within its series that give as high a correlation
    with the eigengene within series.

    Parameters
    ----------
    eigengenes : float64 array, shape (modules, samples)
    conditions : traits of the same samples
    batch, series : int32 array, shape (samples,)
        Batch, and series (subject, run), of each sample.
    degrees_given_up : int
        Degrees of freedom that were taken off the values before.
    seed : int
        The same seed, the same shifts.

    Returns
    -------
    DataFrame
        The rows of ``module_traits.tsv``, module by module, and what could not be tested.
    """
    parts, notes = [], []
    blocks = [codes for codes in (series, batch) if codes is not None]
    for number, trait in enumerate(conditions):
        known = trait.known
        x = trait.numbers[:, None]
        if trait.kind == "categorical":
            x = np.zeros((known.size, len(trait.labels)))
            x[known] = indicators(trait.codes[known])
            x = x[:, 1:] if len(trait.labels) == 2 else x
        test = label_test(eigengenes, trait, blocks, degrees_given_up)
        p = test.p_value
        if series is not None and not test.of_blocks:
            shifted = _shifted_p(eigengenes[:, known], x[known], series[known], [seed, number])
            p = np.maximum(p, shifted)
        if len(p) and np.isnan(p).all():
            notes.append(message("untested_trait", trait=trait.name))
        elif test.of_blocks:
            notes.append(message("blocks_compared", label=trait.name, n=test.units))
        columns = {
            "module": np.arange(1, len(p) + 1),
            "trait": trait.name,
            "labels": ", ".join(trait.labels),
            "units": test.units,
            "correlation": multiple_correlation(eigengenes[:, known], x[known]),
            "means": label_means(eigengenes, trait),
            "p_value": p,
        }
        parts.append(pd.DataFrame(columns))
    names = ["module", "trait", "labels", "units", "correlation", "means", "p_value", "q_value"]
    if not parts:
        return pd.DataFrame(columns=names), notes
    table = pd.concat(parts, ignore_index=True)
    return table.assign(q_value=known_q_values(table["p_value"]))[names], notes


def multiple_correlation(y: Float64Array, x: Float64Array) -> Float64Array:
    """Of each row of y with the columns of x, (rows,): Pearson's r with one column, which has a
    sign; with several from 0 on.

    y : (rows, samples). x : (samples, columns).
    """
    if x.shape[1] == 1:
        return correlations(x.T, y)[0]
    y = y - y.mean(axis=1, keepdims=True)
    length = np.sqrt((y * y).sum(axis=1))
    explained = ((y @ _basis(x - x.mean(axis=0))) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(explained) / np.where(length > 0, length, 1.0))


def _basis(x: Float64Array) -> Float64Array:
    """Orthonormal columns that span those of x."""
    basis, singular, _ = np.linalg.svd(x, full_matrices=False)
    return np.asarray(basis[:, singular > 1e-9 * max(singular[0], 1e-300)])


def _shifted_p(
    y: Float64Array, x: Float64Array, series: Int32Array, seed: list[int]
) -> Float64Array:
    """p of the correlation within series, against shifts of the trait in each; 0 where series are
    too short."""
    groups = np.unique(series, return_inverse=True)[1].astype(np.int32)
    length = np.bincount(groups)
    if np.median(length) < 4:
        return np.zeros(len(y))
    exchange = Exchange(groups, np.ones(length.size, dtype=bool))
    y, basis = within(y.T, groups).T, _basis(within(x, groups))
    observed = ((y @ basis) ** 2).sum(axis=1) * (1 - 1e-9)
    # Shifts leave the columns orthonormal.
    shifted = basis[exchange.orders(SHIFTS, np.random.default_rng(seed))]
    found = (np.einsum("mn,snk->smk", y, shifted, optimize=True) ** 2).sum(axis=2)
    return np.asarray((1 + (found >= observed).sum(axis=0)) / (1 + SHIFTS))
