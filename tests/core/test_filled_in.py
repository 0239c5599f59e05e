"""Values that are filled in from others are told by their digits, and measured ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from message_codes import codes
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.filled_in import are_filled_in


def imputed(values, missing, number, weighted=False):
    """Each missing value from the nearest rows that have it."""
    known, seen = np.where(missing, 0.0, values), (~missing).astype(float)
    distance = (known**2 @ seen.T + seen @ (known**2).T - 2 * known @ known.T) / (seen @ seen.T)
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1)
    found = values.copy()
    for row, column in zip(*np.nonzero(missing), strict=True):
        near = order[row][~missing[order[row], column]][:number]
        weights = 1 / distance[row, near] if weighted else None
        found[row, column] = np.average(known[near, column], weights=weights)
    return found


@pytest.fixture(params=[0, 1], ids=["unrelated", "modules"])
def table(request):
    draw = np.random.default_rng(5)
    values = 12 + draw.normal(size=(150, 60)) + draw.normal(size=(150, 1))
    values[:75] += request.param * draw.normal(size=60)
    return values, draw.random(values.shape) < 0.15


@pytest.mark.parametrize("number", [5, 10])
def test_means_of_the_nearest_are_told(table, number):
    values, missing = table
    assert are_filled_in(imputed(values, missing, number))
    assert are_filled_in(imputed(values.T, missing.T, number).T)
    # A difference that belongs to the sample may be taken off afterwards.
    of_genes = imputed(values, missing, number)
    assert are_filled_in(of_genes - np.median(of_genes, axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_values_with_more_digits_than_the_others_are_told(table, weighted):
    values, missing = table
    assert are_filled_in(imputed(values.round(2), missing, 10, weighted))


def test_measured_values_are_not(table):
    values, missing = table
    counts = np.random.default_rng(0).poisson(np.exp(values / 3))
    shares = 1e6 * counts / counts.sum(axis=0)
    good = [
        values,
        np.where(missing, np.nan, values),
        values.astype(np.float32),
        values.astype(np.float32).astype(float),
        values.round(2),
        values.round(6),
        np.vectorize(lambda value: float(f"{value:.4g}"))(values),
        np.where(missing, values.round(2).min() / 2**0.5, values.round(2)),  # below detection
        (values.round(2) + (values + 0.1).round(2)) / 2,  # duplicates
        np.hstack([values[:, :40].round(2), values[:, 40:].round(4)]),
        np.vstack([values, (values[:20] + values[20:40]) / 2]),
        np.hstack([values, (values[:, :9] + values[:, 9:18]) / 2]),
        np.vstack([values, values[:20]]),
        np.log2(counts + 1),
        shares,
        np.log2(shares + 1).astype(np.float32).astype(float),
        np.zeros((30, 30)),
        values[:3],
        values[:, :3],
    ]
    assert [k for k, one in enumerate(good) if are_filled_in(one)] == []


@pytest.mark.parametrize("rows", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_rows_of_one_gene_that_were_averaged_are_not(table, rows, share):
    """Whatever their number, and of however many genes there are several."""
    values, _ = table
    probes = values.round(3) + np.random.default_rng(1).normal(0, 0.2, (rows, *values.shape))
    several = np.arange(len(values))[:, None] < share * len(values)
    assert not are_filled_in(np.where(several, probes.round(3).mean(axis=0), values.round(3)))


def alarm(values):
    genes, samples = (
        ["gs"[k] + str(n) for n in range(size)] for k, size in enumerate(values.shape)
    )
    return "values_filled_in" in codes(
        prepare_expression(Expression(values, genes, samples)).warnings
    )


def test_parts_of_reads_are_counted_and_means_of_whole_numbers_are_told(table):
    values, missing = table
    draw = np.random.default_rng(2)
    counts = draw.poisson(np.exp(values / 2)).astype(float)
    shared = sum(draw.poisson(0.05, counts.shape) / hits for hits in range(2, 8))
    assert not alarm((counts + shared).round(2))  # featureCounts -M --fraction
    assert not alarm((counts + shared).round(3))  # Salmon
    assert alarm(imputed(np.exp2(values).round(), missing, 10))


@pytest.mark.parametrize("limit", [0.0, 0.5])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.95])
def test_a_value_that_many_have_does_not_make_other_digits_unusual(share, limit):
    """0, or a limit of detection, which has few decimals; what was filled in among the others is
    found all the same."""
    rng = np.random.default_rng(6)
    values = np.exp(rng.normal(2, 1.5, (300, 1)) + rng.normal(0, 0.7, (300, 60)))
    measured = np.where(rng.random(values.shape) < share, limit, np.round(values, 4))
    assert not are_filled_in(measured)
    filled = measured.copy()
    for row, column in np.argwhere(rng.random(values.shape) < 0.2):
        filled[row, column] = measured[rng.choice(300, 5), column].mean()
    assert are_filled_in(filled)
